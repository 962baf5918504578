// States, times and numbers as people read them; the same words as those of `ao status`.

import { now } from './api.js';

/** The groups of sessions in the order in which they are shown. */
export const GROUPS = [
  { id: 'needs-you', title: 'Needs you', count: (n) => `${n} need${n === 1 ? 's' : ''} you` },
  { id: 'at-work', title: 'At work', count: (n) => `${n} at work` },
  { id: 'on-its-way', title: 'In checks or merge queue', count: (n) => `${n} in checks or merge queue` },
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

// How far work has come, where its pull request says so: symbol and tone.
const STAGES = {
  draft: ['◌', 'calm'],
  conflict: ['×', 'bad'],
  checks_failed: ['×', 'bad'],
  checks_broken: ['!', 'bad'],
  checks_pending: ['◔', 'good'],
  changes_requested: ['↻', 'ask'],
  review: ['?', 'ask'],
  decision: ['!', 'bad'],
  merge: ['✓', 'ask'],
  merge_queue: ['⇢', 'good'],
  freeze: ['‖', 'calm'],
  closed: ['■', 'calm'],
};

const TURNS = { you: 'needs-you', agent: 'at-work', checks: 'on-its-way', queue: 'on-its-way', wait: 'waiting', done: 'ended' };

/** The group that a piece of work is shown in: by whose turn it is, and by its process where a daemon tells no more. */
export function groupOf({ work, status }) {
  if (work?.turn === 'agent' && work.stage === 'idle') return 'idle';
  return TURNS[work?.turn] ?? look(status?.state).group;
}

/** How a piece of work looks: by its pull request, or else by its process. */
export function lookOf({ work, status }) {
  const stage = STAGES[work?.stage];
  if (!stage) return { ...look(status?.state), word: status ? stateInWords(status) : work.stage, byPull: false };
  return { symbol: stage[0], tone: stage[1], word: work.stage.replaceAll('_', ' '), byPull: true };
}

/** The pull request in a few words: `!7 · checks green · approved`. */
export function pullInWords(work) {
  const { pull } = work ?? {};
  if (!pull) return '';
  if (work.turn === 'done') return `!${pull.number}`;
  const checks = pull.checks === 'none' ? 'no checks' : `checks ${pull.checks}`;
  const review = { none: '', waiting: 'waits for review' }[pull.review] ?? pull.review.replaceAll('_', ' ');
  const queued = pull.queued ? `number ${pull.queued} in the merge queue` : '';
  return [`!${pull.number}`, checks, review, queued].filter(Boolean).join(' · ');
}

/** Whose turn it is. */
export const turnInWords = (work) => ({
  you: 'yours', agent: 'its agent’s', checks: 'the checks’', queue: 'the merge queue’s',
}[work?.turn] ?? '');

/** What to type, if a person can do something. */
export const commandsOf = (work) => [work?.command, work?.then].filter(Boolean);

export const blocksInWords = (work) => (work?.unblocks ? `blocks ${count(work.unblocks, 'other')}` : '');

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
