// What a session's program puts out, as it comes.

import { Problem, get, sessionPath } from './api.js';
import { say, show } from './dom.js';

/** What is shown of the past. */
const TAIL = 64 * 1024;
/** More than this is let go at the top. */
const MOST = 256 * 1024;
/** A program that draws all the time is not followed stroke by stroke. */
const PACE = 200;
/** An answer with nothing in it that comes sooner than it should is no reason to ask again at once. */
const PAUSE = 2000;
/** The daemon waits 25 seconds for output. */
const PATIENCE = 40_000;

/** Shows the output of a session in a section until it is stopped. */
export function outputView(section, session) {
  const pre = section.querySelector('pre');
  const what = section.querySelector('.what');
  const down = section.querySelector('.down');
  const stop = new AbortController();
  let attempt = null;
  let length = 0;
  let reading = null;

  const atEnd = () => pre.scrollHeight - pre.scrollTop - pre.clientHeight < 24;
  const toEnd = () => { pre.scrollTop = pre.scrollHeight; };
  pre.addEventListener('scroll', () => show(down, !atEnd()));
  down.addEventListener('click', () => { toEnd(); pre.focus(); });

  function add(text) {
    const stay = !atEnd();
    pre.append(text);
    length += text.length;
    while (length > MOST && pre.childNodes.length > 1) {
      length -= pre.firstChild.length;
      pre.firstChild.remove();
    }
    if (stay) show(down, true);
    else toEnd();
  }

  async function read(signal) {
    pre.replaceChildren();
    length = 0;
    let next = null;
    for (;;) {
      // A page that nobody sees gives its connection back.
      if (document.hidden) await seen(signal);
      const began = performance.now();
      try {
        const query = next === null ? `tail=${TAIL}` : `from=${next}&wait=true`;
        const piece = await get(sessionPath(session, `/output?${query}`), { signal, patience: PATIENCE });
        // A tail may begin in the middle of a line.
        const cut = next === null && piece.from > 0 ? piece.text.indexOf('\n') + 1 : 0;
        next = piece.next;
        if (piece.text) add(piece.text.slice(cut).replaceAll('\r', ''));
        say(what, piece.ended ? 'its program has ended' : length === 0 ? 'nothing yet' : '');
        if (piece.ended && !piece.text) return;
        const least = piece.text ? PACE : PAUSE;
        if (performance.now() - began < least) await pause(least, signal);
      } catch (error) {
        if (signal.aborted) return;
        say(what, Problem.from(error).title);
        await pause(PAUSE, signal);
      }
    }
  }

  return {
    /** Begins anew whenever the program was started anew. */
    update(current) {
      if (current === attempt) return;
      attempt = current;
      reading?.abort();
      reading = new AbortController();
      read(AbortSignal.any([reading.signal, stop.signal])).catch(() => {});
    },
    stop: () => stop.abort(),
  };
}

function pause(ms, signal) {
  return new Promise((done, gone) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', () => { clearTimeout(timer); gone(signal.reason); }, { once: true });
  });
}

function seen(signal) {
  return new Promise((done, gone) => {
    document.addEventListener('visibilitychange', done, { once: true, signal });
    signal.addEventListener('abort', () => gone(signal.reason), { once: true });
  });
}
