// Messages to an agent, and what became of each.

import { Problem, post, sessionPath } from './api.js';
import { make, say, showProblem } from './dom.js';

/** How long a call waits for the agent to take the message. */
const WAIT_SECONDS = 30;
/** Of those that the agent took, so many stay in sight. */
const SHOWN = 5;
/** The place of what has no number yet. */
const LAST = Number.MAX_SAFE_INTEGER;

/** The messages of a session with the box to write one. `again` asks for another look. */
export function talkView(section, session, again) {
  const list = section.querySelector('ol');
  const form = section.querySelector('form');
  const box = form.elements.message;
  const problem = section.querySelector('.problem');
  /** Those that were sent from here: number, text and how far it has come. */
  const sent = [];
  let outbox = [];
  let waiting = 0;

  async function send(text) {
    // A second try of the same message must not be a second message.
    const message = { key: freshKey(), content: text, state: 'sending' };
    sent.push(message);
    draw();
    // Only one call at a time waits for the agent: a browser has few connections, and events tell the rest.
    const waitSeconds = waiting === 0 ? WAIT_SECONDS : 0;
    waiting += 1;
    try {
      const body = { content: text, key: message.key, waitSeconds };
      const told = await post(sessionPath(session, '/message'), body, { patience: (WAIT_SECONDS + 20) * 1000 });
      if (message.state !== 'accepted') Object.assign(message, told.message, { content: text });
      showProblem(problem, null);
    } catch (error) {
      sent.splice(sent.indexOf(message), 1);
      showProblem(problem, Problem.from(error));
      // Nothing that somebody wrote is lost.
      if (box.value === '') box.value = text;
    } finally {
      waiting -= 1;
      draw();
    }
  }

  function draw() {
    const numbers = new Set(sent.map((message) => message.number));
    const others = outbox.filter((message) => !numbers.has(message.number));
    const done = sent.filter((message) => message.state === 'accepted');
    for (const old of done.slice(0, -SHOWN)) sent.splice(sent.indexOf(old), 1);
    const all = [...others, ...sent].sort((a, b) => (a.number ?? LAST) - (b.number ?? LAST));
    list.replaceChildren(...all.map(line));
  }

  /** A call that waits for the agent has not told the number yet, but the outbox may have the message already. */
  function adopt() {
    const claimed = new Set(sent.map((message) => message.number));
    for (const message of sent.filter(({ number }) => number === undefined)) {
      const own = outbox.findLast((one) => one.content === message.content && one.state !== 'failed' && !claimed.has(one.number));
      if (own === undefined) continue;
      claimed.add(own.number);
      Object.assign(message, { number: own.number, state: own.state, reason: own.reason });
    }
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const text = box.value.trim();
    if (text === '') return;
    box.value = '';
    send(text);
  });
  box.addEventListener('keydown', (event) => {
    // While an input method composes, Enter is its own.
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  });

  return {
    /** What waits or was given up is what the daemon says. What it no longer has, the agent took. */
    update(messages) {
      outbox = messages;
      adopt();
      for (const message of sent.filter(({ state }) => state === 'queued' || state === 'written')) {
        const known = outbox.find((one) => one.number === message.number);
        message.missed = known ? 0 : (message.missed ?? 0) + 1;
        if (known) Object.assign(message, { state: known.state, reason: known.reason });
        // This look may have begun before the message was there. The next one has not.
        else if (message.missed === 1) again();
        else Object.assign(message, { state: 'accepted', reason: undefined });
      }
      draw();
    },
  };
}

const TONES = { sending: 'calm', queued: 'calm', written: 'info', accepted: 'good', failed: 'bad' };
const SYMBOLS = { sending: '…', queued: '…', written: '→', accepted: '✓', failed: '×' };

function line(message) {
  const item = make('li');
  const state = make('span', '', 'state');
  state.dataset.tone = TONES[message.state] ?? 'calm';
  const symbol = make('span', SYMBOLS[message.state] ?? '·', 'symbol');
  symbol.setAttribute('aria-hidden', 'true');
  state.append(symbol, make('span', message.state === 'failed' ? 'not accepted' : message.state, 'word'));
  const text = make('span', '', 'text');
  say(text, message.content ?? '');
  item.append(state, text);
  if (message.reason) item.append(make('span', message.reason, 'faint'));
  return item;
}

/** Not `randomUUID`: that is there only for pages of this machine or over TLS. */
function freshKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
