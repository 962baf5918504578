// States, times and numbers as people read them; the same words as those of `ao status`.

import { now } from './api.js';

/** The groups of sessions in the order in which they are shown. */
export const GROUPS = [
  { id: 'needs-you', title: 'Needs you', count: (n) => `${n} need${n === 1 ? 's' : ''} you` },
  { id: 'at-work', title: 'At work', count: (n) => `${n} at work` },
  { id: 'idle', title: 'Idle', count: (n) => `${n} idle` },
  { id: 'waiting', title: 'Waiting', count: (n) => `${n} waiting` },
  { id: 'other', title: 'Others', count: (n) => `${n} in other states` },
  { id: 'ended', title: 'Ended', count: (n) => `${n} ended`, folded: true },
];

// Colour alone tells nobody anything who does not see it, so each state has a symbol too.
const STATES = {
  needs_input: ['needs-you', '?', 'ask'],
  capped: ['needs-you', '$', 'ask'],
  blocked: ['needs-you', '!', 'bad'],
  setup_failed: ['needs-you', '×', 'bad'],
  exited: ['needs-you', '×', 'bad'],
  unknown: ['needs-you', '~', 'bad'],
  working: ['at-work', '●', 'good'],
  starting: ['at-work', '◔', 'good'],
  setting_up: ['at-work', '◔', 'good'],
  retrying: ['at-work', '↻', 'good'],
  stopping: ['at-work', '◑', 'calm'],
  idle: ['idle', '○', 'info'],
  queued: ['waiting', '…', 'calm'],
  rate_limited: ['waiting', '◌', 'ask'],
  paused: ['waiting', '‖', 'calm'],
  stopped: ['ended', '■', 'calm'],
  merged: ['ended', '✓', 'good'],
};

/** How a state looks. One that is new to us is shown as it is called. */
export function look(state) {
  const [group, symbol, tone] = STATES[state] ?? ['other', '·', 'calm'];
  return { group, symbol, tone };
}

export function stateInWords({ state, quietSeconds }) {
  const word = state.replaceAll('_', ' ');
  return quietSeconds >= 60 ? `${word} (quiet ${span(quietSeconds)})` : word;
}

/** A span of time by its largest unit. */
export function span(seconds) {
  if (seconds < 60) return `${Math.max(0, Math.floor(seconds))}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

export const age = (at) => span((now() - Date.parse(at)) / 1000);

/** Lets a `<time>` show how long ago something was; `tick` keeps it true. */
export function setSince(time, at) {
  if (time.dateTime === at) return;
  time.dateTime = at;
  time.title = new Date(at).toLocaleString();
  time.textContent = age(at);
}

/** Counts all ages on the page on. */
export function tick() {
  for (const time of document.querySelectorAll('time[datetime]')) {
    const text = age(time.dateTime);
    if (time.textContent !== text) time.textContent = text;
  }
}

export const clockTime = (ms) => new Date(ms).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });

export const count = (n, word) => `${n} ${word}${n === 1 ? '' : 's'}`;

/** What of a session's messages has not reached its agent. */
export function messagesInWords({ messagesWaiting, messagesFailed }) {
  const parts = [];
  if (messagesWaiting) parts.push(`${count(messagesWaiting, 'message')} waiting`);
  if (messagesFailed) parts.push(`${count(messagesFailed, 'message')} not accepted`);
  return parts.join(', ');
}

/** What its agent was not allowed to do; its turn may have ended well all the same. */
export function deniedInWords({ deniedTools, lastDeniedTool }) {
  if (!deniedTools) return '';
  return `${count(deniedTools, 'tool call')} denied${lastDeniedTool ? `, the last of ${lastDeniedTool}` : ''}`;
}
