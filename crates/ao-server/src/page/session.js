// One session in full: where it stands and why, what it puts out, what it asks, and what can be done.

import { Problem, get, post, sessionPath } from './api.js';
import { confirm, copy, make, say, sayWithCode, show, showProblem } from './dom.js';
import { fillState } from './fleet.js';
import { outputView } from './output.js';
import { talkView } from './talk.js';
import { commandsOf, count, deniedInWords, lookOf, pullInWords, setSince, span, stateInWords, turnInWords } from './words.js';

const OVER = ['stopped', 'merged'];

/** For so many milliseconds a question that has replaced another one cannot be answered. */
const UNREAD = 700;

// What can be done in which states. The daemon decides; this only keeps out of sight what would be refused.
const ACTIONS = [
  { word: 'resume', label: 'Resume', body: {}, when: (session) => session.holds.length > 0, primary: true },
  { word: 'restore', label: 'Restore', when: ({ status, canRestore }) => canRestore && ['exited', 'stopped'].includes(status.state), primary: true },
  { word: 'retry', label: 'Try again', when: ({ status }) => status.state === 'setup_failed', primary: true },
  {
    word: 'pause', label: 'Pause',
    when: ({ status, holds }) => holds.length === 0 && !['stopping', 'exited', 'setup_failed', ...OVER].includes(status.state),
  },
  { word: 'stop', label: 'Stop', body: {}, when: ({ status }) => !['stopping', ...OVER].includes(status.state), asks: true },
];

/** The view of a session by its name or id. `changed` is called when something was done. */
export function sessionView(name, changed) {
  const root = copy('session');
  const part = (selector) => root.querySelector(selector);
  const output = outputView(part('.output'), name);
  const talk = talkView(part('.talk'), name, changed);
  const question = part('.question');
  const headProblem = part('.head > .problem');
  say(part('h1'), name);
  root.dataset.known = 'not-yet';

  async function act(action, session) {
    if (action.asks) {
      const text = 'Its agent is ended. Its branch and its workspace are kept, and it can be restored.';
      if (!await confirm({ title: `Stop ${session.name}?`, text, yes: 'Stop' })) return;
    }
    await tell(`/${action.word}`, action.body, headProblem);
  }

  async function tell(rest, body, problemBox) {
    root.setAttribute('aria-busy', 'true');
    try {
      await post(sessionPath(name, rest), body);
      showProblem(problemBox, null);
    } catch (error) {
      showProblem(problemBox, Problem.from(error));
    }
    root.removeAttribute('aria-busy');
    changed();
  }

  const answerForm = part('.answer');
  const asked = { number: null, since: 0 };
  const answer = (text) => {
    const box = question.querySelector('.problem');
    // Nobody can have read a question that has just taken the place of another one under the pointer.
    if (asked.number === null || performance.now() - asked.since < UNREAD) {
      return showProblem(box, new Problem({ title: 'The question has just changed; read it first.' }));
    }
    return tell('/answer', { answer: text, question: asked.number }, box);
  };
  for (const button of answerForm.querySelectorAll('[data-answer]')) {
    button.addEventListener('click', () => answer(button.dataset.answer));
  }
  answerForm.addEventListener('submit', (event) => {
    event.preventDefault();
    const text = answerForm.elements.answer.value.trim();
    if (text === '') return answerForm.elements.answer.focus();
    answerForm.elements.answer.value = '';
    answer(text);
  });

  let actionsShown = '';
  function fill(session) {
    const { status } = session;
    root.dataset.known = 'yes';
    say(part('h1'), session.name);
    say(part('.title'), session.title);
    const { byPull } = lookOf(session);
    fillState(part('.head'), session);
    setSince(part('.now time'), (byPull && session.work.since) || status.since);
    // A question is shown on its own, and need not be told twice.
    const told = status.question ? `: ${status.question}` : '';
    const reason = told && status.reason.endsWith(told) ? status.reason.slice(0, -told.length) : status.reason;
    say(part('.head .reason'), byPull ? session.work.says : reason);
    show(question, status.state === 'needs_input');
    say(part('.asked'), status.question ?? status.reason);
    const number = status.questionNumber ?? null;
    if (number !== asked.number) {
      asked.since = asked.number === null ? -UNREAD : performance.now();
      asked.number = number;
    }
    const actions = ACTIONS.filter(({ when }) => when(session));
    const words = actions.map(({ word }) => word).join(' ');
    if (words !== actionsShown) {
      actionsShown = words;
      part('.actions').replaceChildren(...actions.map((action) => {
        const button = make('button', action.label, action.primary ? 'primary' : '');
        button.type = 'button';
        button.addEventListener('click', () => act(action, session));
        return button;
      }));
    }
    show(part('.say'), !OVER.includes(status.state));
    fillAbout(part('.about'), session);
    output.update(session.attempt);
  }

  return {
    root,
    /** Shows what is known of it now. */
    async update(sessions) {
      try {
        const listed = sessions.find((one) => one.name === name || one.id === name);
        const [session, told] = await Promise.all([
          listed ?? get(sessionPath(name)),
          get(sessionPath(name, '/explain')),
        ]);
        fill(session);
        fillWhy(root, told);
        talk.update(told.messages);
        if (headProblem.dataset.of === 'look') showProblem(headProblem, null);
        headProblem.dataset.of = '';
      } catch (error) {
        const problem = Problem.from(error);
        // Whether we are signed in, or the daemon is there, is not this view's to tell.
        if (problem.status === 401 || problem.status === 0) throw error;
        headProblem.dataset.of = 'look';
        if (root.dataset.known === 'not-yet') root.dataset.known = 'no';
        showProblem(headProblem, problem);
      }
    },
    leave: () => output.stop(),
  };
}

/** What was told last in each view, so that nothing is drawn anew while it stays the same. */
const whys = new WeakMap();

function fillAbout(list, session) {
  const { agent, workspace, spend } = session;
  const { work, status } = session;
  const facts = {
    turn: turnInWords(work),
    pull: pullInWords(work),
    'to do': work?.turn === 'you' ? commandsOf(work).join('  then  ') : '',
    process: lookOf(session).byPull ? `${stateInWords(status)}: ${status.reason}` : '',
    project: session.projectId,
    role: session.role === 'worker' ? '' : session.role,
    issue: session.issue ?? '',
    agent: [agent.name, agent.model, agent.account].filter(Boolean).join(', '),
    'runs in': session.attempt > 1 ? `${session.runtime}, start ${session.attempt}` : session.runtime,
    branch: session.branch,
    workspace: workspace ? (workspace.state === 'ready' ? workspace.path : `${workspace.path} (${workspace.state})`) : '',
    kept: workspace?.reasons.join('; ') ?? '',
    pulls: session.pulls.filter((id) => id !== work?.pull?.id).join(', '),
    denied: deniedInWords(session),
    ports: Object.entries(session.ports).map(([name, port]) => `${name}=${port}`).join(' '),
    held: session.holds.map(({ why }) => why).join('; '),
    used: [
      spend.usd == null ? 'cost unknown' : `$${spend.usd.toFixed(2)}`,
      spend.tokens == null ? '' : count(spend.tokens, 'token'),
      count(spend.turns, 'turn'),
      span(spend.seconds),
    ].filter(Boolean).join(', '),
    budget: (session.budgets ?? []).map(budgetLine).join('; '),
    made: new Date(session.createdAt).toLocaleString(),
    id: session.id,
  };
  const told = Object.entries(facts).filter(([, value]) => value !== '');
  // Left alone while nothing changes, so that what somebody is selecting stays selected.
  if (list.dataset.told === JSON.stringify(told)) return;
  list.dataset.told = JSON.stringify(told);
  list.replaceChildren(...told.flatMap(([name, value]) => [make('dt', name), make('dd', value)]));
}

/** What is spent of one budget; what nobody could tell is unknown, and never nought. */
function budgetLine({ scope, of, spend, limits, partlyUnknown, marked, capped }) {
  const least = partlyUnknown ? 'at least ' : '';
  const parts = [
    limits.usd == null ? '' : `${spend.usd == null ? 'unknown' : `${least}$${spend.usd.toFixed(2)}`} of $${limits.usd.toFixed(2)}`,
    limits.tokens == null ? '' : `${spend.tokens == null ? 'unknown' : `${least}${spend.tokens}`} of ${count(limits.tokens, 'token')}`,
    limits.turns == null ? '' : `${spend.turns} of ${count(limits.turns, 'turn')}`,
    limits.seconds == null ? '' : `${span(spend.seconds)} of ${span(limits.seconds)}`,
  ].filter(Boolean).join(', ');
  const whose = { session: 'its own', day: 'all, today', 'project-day': `${of}, today`, project: `${of}, ever` }[scope] ?? of;
  return `${whose}: ${parts}${capped ? ' (spent)' : marked ? ' (nearly spent)' : ''}`;
}

function fillWhy(root, told) {
  // Ages are counted here, and are no news.
  const news = JSON.stringify({ ...told, messages: null, signals: told.signals.map((signal) => ({ ...signal, ageSeconds: 0 })) });
  if (whys.get(root) === news) return;
  whys.set(root, news);
  const won = told.rules.find((rule) => rule.won);
  const queue = told.queue && [
    told.queue.before === 0 ? 'It is next in line' : `${told.queue.before} before it in line`, told.queue.obstacle,
  ].filter(Boolean).join('; ');
  const rule = won ? `${won.meaning}, so it is ${won.says.replaceAll('_', ' ')} (rule ${won.rule}).`
    : queue ?? told.status.reason;
  say(root.querySelector('.rule'), [rule, told.drift].filter(Boolean).join(' '));

  const rows = told.signals.map((signal) => {
    const row = make('tr', '', signal.decided ? 'decided' : '');
    const what = make('td');
    what.append(make('span', signal.detail || signal.reading, 'detail'));
    what.title = `${signal.reading}, ${signal.confidence} confidence: ${signal.detail}`;
    const time = make('time');
    setSince(time, signal.at);
    const ageCell = make('td', '', 'number');
    ageCell.append(time);
    const source = make('th', signal.source);
    source.scope = 'row';
    if (signal.decided) source.append(make('span', 'decided', 'badge'));
    row.append(source, what, ageCell);
    return row;
  });
  root.querySelector('.why tbody').replaceChildren(...rows);
  show(root.querySelector('.why table'), rows.length > 0);
  show(root.querySelector('.why .none'), rows.length === 0);

  show(root.querySelector('.open'), told.incidents.length > 0);
  root.querySelector('.incidents').replaceChildren(...told.incidents.map((incident) => {
    const item = make('li', `${incident.kind}: ${incident.detail || incident.problem}`);
    item.append(make('span', ` asked: ${incident.asked}`, 'faint'));
    return item;
  }));
  show(root.querySelector('.next'), told.next.length > 0);
  root.querySelector('.commands').replaceChildren(...told.next.map((command) => {
    const item = make('li');
    sayWithCode(item, `\`${command}\``);
    return item;
  }));
}
