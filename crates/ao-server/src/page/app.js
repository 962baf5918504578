// The page: who is signed in, what is in view, and whether it is true at this moment.

import { Problem, get, post } from './api.js';
import { byId, copy, make, say, sayWithCode, show, showProblem } from './dom.js';
import { fleetView } from './fleet.js';
import { follow } from './live.js';
import { sessionView } from './session.js';
import { openWish } from './wish.js';
import { GROUPS, clockTime, groupOf, lookOf, tick } from './words.js';

const main = byId('main');
const fleet = fleetView();
let sessions = null;
/** The open pull requests that no session answers for. */
let pulls = [];
let view = null;
/** Where the list of all sessions was left. */
let scrolled = 0;
/** Why a code was not taken. */
let refused = null;

// ── signing in ──

/** The code in the address, which is taken out of it at once: addresses are kept, shown and shared. */
function takeCode() {
  if (!location.hash.startsWith('#code=')) return null;
  // `#code=…`, or `#code=…&session=…` to see that one first.
  const said = new URLSearchParams(location.hash.slice(1));
  const session = said.get('session');
  history.replaceState(null, '', session ? `#/s/${encodeURIComponent(session)}` : location.pathname);
  return said.get('code');
}

async function signIn(code) {
  refused = null;
  try {
    await post('/api/sign-in', { code });
  } catch (error) {
    // Whoever is signed in already goes on anyway; whoever is not is told why.
    refused = Problem.from(error);
  }
}

function showSignIn() {
  if (view?.kind === 'sign-in') return showProblem(view.root.querySelector('.problem'), refused);
  sessions = null;
  const root = copy('sign-in');
  showProblem(root.querySelector('.problem'), refused);
  enter({ kind: 'sign-in', root, update() {} });
  say(byId('summary'), '');
  show(byId('new'), false);
  link('waiting', 'signed out');
}

// ── what is in view ──

function enter(next) {
  if (view?.kind === 'fleet') scrolled = window.scrollY;
  view?.leave?.();
  view = next;
  main.replaceChildren(view.root);
  window.scrollTo(0, view.kind === 'fleet' ? scrolled : 0);
}

function route() {
  const name = /^#\/s\/(.+)$/.exec(location.hash)?.[1];
  if (name === undefined) {
    if (view?.kind !== 'fleet') enter({ kind: 'fleet', ...fleet });
  } else {
    const session = decodeURIComponent(name);
    if (view?.name !== session) enter({ kind: 'session', name: session, ...sessionView(session, () => live.soon()) });
  }
  document.title = title();
}

function title() {
  const waiting = [...(sessions ?? []), ...pulls].filter((one) => groupOf(one) === 'needs-you').length;
  const where = view?.kind === 'session' ? `${view.name} · ao` : 'ao';
  return waiting > 0 ? `(${waiting}) ${where}` : where;
}

// ── what is so ──

/** Looks at everything and shows it. Returns the place in the log that this is true for. */
async function look() {
  const told = await get('/api/sessions');
  if (sessions === null) {
    view = view?.kind === 'sign-in' ? null : view;
    show(byId('new'), true);
    refused = null;
    lookAtDaemon();
  }
  announce(sessions ?? told.sessions, told.sessions);
  sessions = told.sessions;
  pulls = told.pulls ?? [];
  route();
  fleet.update(sessions, pulls);
  summarise();
  if (view.kind === 'session') await view.update(sessions);
  return told.seq;
}

function summarise() {
  const parts = GROUPS.filter(({ folded }) => !folded)
    .map(({ id, count }) => [[...sessions, ...pulls].filter((one) => groupOf(one) === id).length, count])
    .filter(([n]) => n > 0)
    .map(([n, count]) => count(n));
  say(byId('summary'), parts.join(' · '));
  document.title = title();
}

/** Says aloud, for those who listen to the page, what has changed. */
function announce(before, after) {
  const states = new Map(before.map((one) => [one.id, lookOf(one).word]));
  const news = after.filter((one) => states.get(one.id) !== lookOf(one).word)
    .map((one) => [one.name, lookOf(one).word, one.status.question].filter(Boolean).join(', '));
  if (news.length > 0) say(byId('spoken'), `${news.slice(0, 5).join('. ')}.`);
}

/** What is wrong with the configuration is shown until it is not. */
async function lookAtDaemon() {
  try {
    const daemon = await get('/api/daemon');
    const notice = byId('notice');
    show(notice, daemon.configProblem != null);
    if (daemon.configProblem != null) {
      const heading = make('strong', 'The configuration has a mistake; the one before stays in force.');
      const text = make('pre');
      sayWithCode(text, daemon.configProblem);
      notice.replaceChildren(heading, text);
    }
  } catch {
    // The connection says so by itself.
  }
}

function link(state, text) {
  byId('link').dataset.state = state;
  say(byId('link-text'), text);
}

function changed(state, { since } = {}) {
  if (state === 'signed-out') return showSignIn();
  if (state === 'online') {
    lookAtDaemon();
    return link('online', 'live');
  }
  link('offline', `offline since ${clockTime(since)}`);
}

// ── beginning ──

const code = takeCode();
if (code !== null) await signIn(code);
const live = follow({ look, changed });
setInterval(tick, 1000);
byId('skip').addEventListener('click', (event) => {
  // The part behind `#` says what is in view here.
  event.preventDefault();
  main.focus();
});
byId('new').addEventListener('click', () => openWish(sessions ?? [], (session) => {
  location.hash = `#/s/${encodeURIComponent(session.name)}`;
  live.soon();
}));
window.addEventListener('hashchange', async () => {
  const late = takeCode();
  if (late !== null) {
    await signIn(late);
    return live.again();
  }
  if (sessions === null) return;
  route();
  main.focus({ preventScroll: true });
  live.soon();
});
