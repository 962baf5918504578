// Keeps the page true: looks at everything, then hears of every change behind that look.
//
//   look (state at place N) ─► stream of events after N ─► look again, at most twice a second
//          ▲                                      │
//          └── the connection broke: from the start, so nothing that happened meanwhile is missed
//
// Not `EventSource`: that hides the heartbeat, so a connection that died in silence would be taken for a quiet day.

import { Problem } from './api.js';

/** Between two looks. */
const PACE = 500;
/** The daemon sends something every 15 seconds. */
const SILENCE = 40_000;
const RETRY = { first: 500, most: 5000 };
/** A page that nobody sees gives its connection back, because a browser has only six for all pages of one address. */
const RESTING = 15_000;

/**
 * Follows the daemon for as long as the page is open.
 *
 * `look` shows the present and returns its place in the log; `changed` hears `online`, `offline` with the time it began,
 * or `signed-out`.
 */
export function follow({ look, changed }) {
  let stream = null;
  let wake = () => {};
  let since = null;
  const looks = paced(look, (error) => stream?.abort(error));

  document.addEventListener('visibilitychange', () => {
    if (document.hidden) stream?.abort(new Given());
    wake();
  });
  window.addEventListener('online', () => wake());
  window.addEventListener('focus', () => wake());

  const rest = (ms) => new Promise((done) => {
    const timer = setTimeout(done, ms);
    wake = () => { clearTimeout(timer); done(); };
  });

  async function run() {
    let retry = RETRY.first;
    for (;;) {
      try {
        const seq = await looks.now();
        if (document.hidden) {
          await rest(RESTING);
          continue;
        }
        stream = new AbortController();
        await hear(seq, stream, looks.soon, () => {
          since = null;
          retry = RETRY.first;
          changed('online');
        });
      } catch (thrown) {
        const error = stream?.signal.aborted ? stream.signal.reason : thrown;
        if (error instanceof Given) continue;
        const problem = Problem.from(error);
        if (problem.status === 401) {
          changed('signed-out');
          await rest(RESTING);
          continue;
        }
        since ??= Date.now();
        changed('offline', { since, problem });
        await rest(retry);
        retry = Math.min(retry * 2, RETRY.most);
      } finally {
        stream = null;
      }
    }
  }

  run();
  return { soon: looks.soon, again: () => { stream?.abort(new Given()); wake(); } };
}

/** The connection was given back by ourselves. */
class Given extends Error {}

/** Reads events until the connection ends, and says for each that there was one. */
async function hear(seq, stream, happened, opened) {
  const response = await fetch(`/api/events?after=${seq}`, {
    signal: stream.signal, credentials: 'same-origin', cache: 'no-store',
  });
  if (!response.ok) throw await Problem.of(response);
  opened();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const silence = setTimeout(() => stream.abort(new Error('nothing was heard for too long')), SILENCE);
    const { value, done } = await reader.read().finally(() => clearTimeout(silence));
    if (done) throw new Error('the stream ended');
    // A comment is a heartbeat. Which event it was does not matter: the next look shows what came of it.
    if (!/^(:[^\n]*)?\n*$/.test(value)) happened();
  }
}

/** Never two looks at a time, and none sooner than `PACE` behind the one before. */
function paced(look, failed) {
  let running = null;
  let timer = null;
  let last = -Infinity;

  async function once() {
    last = performance.now();
    running = look();
    try {
      return await running;
    } finally {
      running = null;
    }
  }

  return {
    async now() {
      // One that is under way may have begun before what we want to see.
      while (running) await running.catch(() => {});
      return once();
    },
    soon() {
      if (timer !== null) return;
      timer = setTimeout(async () => {
        while (running) await running.catch(() => {});
        timer = null;
        once().catch(failed);
      }, Math.max(0, last + PACE - performance.now()));
    },
  };
}
