// Calls to the daemon, and what is said when one is not answered or refused.

/** A refusal or a failure, as RFC 9457 has it. */
export class Problem extends Error {
  constructor({ title, status = 0, detail, hints = [], candidates = [], type = '' }) {
    super(title);
    Object.assign(this, { title, status, detail, hints, candidates, word: type.replace(/^urn:ao:/, '') });
  }

  static async of(response) {
    const told = await response.json().catch(() => null);
    if (told?.title) return new Problem({ ...told, status: response.status });
    return new Problem({ title: `the daemon answered ${response.status}`, status: response.status });
  }

  /** Whatever was thrown, as a problem. */
  static from(error) {
    if (error instanceof Problem) return error;
    return new Problem({
      title: 'the daemon does not answer',
      detail: error?.name === 'TimeoutError' ? 'it took too long' : undefined,
      hints: ['`ao status` shows whether it runs, `ao start` starts it'],
      type: 'unreachable',
    });
  }
}

/** How long a call may take that does not wait by itself. */
const PATIENCE = 20_000;

export async function call(method, path, body, { signal, patience = PATIENCE } = {}) {
  const limits = [AbortSignal.timeout(patience), ...(signal ? [signal] : [])];
  const request = { method, signal: AbortSignal.any(limits), credentials: 'same-origin', cache: 'no-store' };
  if (body !== undefined) {
    request.headers = { 'content-type': 'application/json' };
    request.body = JSON.stringify(body);
  }
  const response = await fetch(path, request);
  setClock(response);
  if (!response.ok) throw await Problem.of(response);
  if (response.status === 204) return null;
  return response.json();
}

export const get = (path, options) => call('GET', path, undefined, options);
export const post = (path, body, options) => call('POST', path, body, options);

export const sessionPath = (session, rest = '') => `/api/sessions/${encodeURIComponent(session)}${rest}`;

let ahead = 0;

/** The time by the daemon's clock: ages are counted from what it says, and the browser may be on another machine. */
export const now = () => Date.now() + ahead;

function setClock(response) {
  const date = Date.parse(response.headers.get('date') ?? '');
  // The header has whole seconds, so less than two may be no difference at all.
  const difference = date - Date.now();
  if (Number.isFinite(difference)) ahead = Math.abs(difference) < 2000 ? 0 : difference;
}
