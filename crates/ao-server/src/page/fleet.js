// All work at a glance, what waits for a person first.

import { arrange, copy, make, say, show } from './dom.js';
import {
  GROUPS, blocksInWords, commandsOf, deniedInWords, groupOf, lookOf, messagesInWords, pullInWords, setSince,
} from './words.js';

/** The view of all sessions. It is made once, and changed where something has changed. */
export function fleetView() {
  const root = copy('fleet');
  const empty = root.querySelector('.empty');
  const groups = new Map(GROUPS.map((group) => [group.id, makeGroup(group)]));
  const cards = new Map();

  /** Shows sessions, and the pull requests that none of them answers for. */
  function update(sessions, pulls = []) {
    const all = [...sessions, ...pulls.map(withoutSession)];
    show(empty, all.length === 0);
    for (const { id } of GROUPS) {
      const members = inOrder(all.filter((one) => groupOf(one) === id), id);
      const { box, list, count } = groups.get(id);
      say(count, String(members.length));
      arrange(list, members.map((session) => {
        if (!cards.has(session.id)) cards.set(session.id, copy('card'));
        const card = cards.get(session.id);
        fillCard(card, session);
        return card;
      }));
      show(box, members.length > 0);
    }
    const known = new Set(all.map((one) => one.id));
    for (const id of cards.keys()) if (!known.has(id)) cards.delete(id);
  }

  root.append(...[...groups.values()].map(({ box }) => box));
  return { root, update };
}

function makeGroup({ id, title, folded }) {
  const box = copy('group');
  box.hidden = true;
  box.open = !folded;
  box.dataset.group = id;
  say(box.querySelector('h2'), title);
  return { box, list: box.querySelector('ul'), count: box.querySelector('.count') };
}

/** A pull request that no session answers for, in the shape of one. */
function withoutSession({ projectId, work }) {
  return { id: work.pull.id, name: work.pull.id, title: work.pull.title, projectId, work, pulls: [] };
}

const sinceOf = ({ work, status }) => work?.since ?? status?.since;

/** The longest in their state first: they have waited longest; before them, who keeps most others waiting. Of the ended, the
 * last to end. */
function inOrder(members, group) {
  const key = (one) => `${sinceOf(one)} ${one.name}`;
  const sorted = members.sort((a, b) => (key(a) < key(b) ? -1 : 1));
  if (group === 'needs-you') sorted.sort((a, b) => (b.work?.unblocks ?? 0) - (a.work?.unblocks ?? 0));
  return group === 'ended' ? sorted.reverse() : sorted;
}

function fillCard(card, session) {
  const part = (name) => card.querySelector(name);
  const { status, work } = session;
  const link = part('a');
  const href = status ? `#/s/${encodeURIComponent(session.name)}` : '#/';
  if (link.getAttribute('href') !== href) link.setAttribute('href', href);
  fillState(card, session);
  setSince(part('time'), sinceOf(session));
  say(part('.name'), session.name);
  part('.name').title = session.name;
  say(part('.title'), session.title);
  const says = lookOf(session).byPull ? work.says : status.question ?? status.reason;
  say(part('.reason'), [says, blocksInWords(work)].filter(Boolean).join('; '));
  const commands = groupOf(session) === 'needs-you' ? commandsOf(work) : [];
  const next = part('.next');
  show(next, commands.length > 0);
  say(next, commands.join('\n'));
  const facts = [
    pullInWords(work),
    session.projectId,
    !session.role || session.role === 'worker' ? '' : session.role,
    session.agent?.name,
    session.issue ? `#${session.issue.replace(/^#/, '')}` : '',
    session.branch,
    ...session.pulls.filter((id) => id !== work?.pull?.id),
    deniedInWords(session),
    messagesInWords(session),
  ].filter(Boolean);
  const box = part('.facts');
  if (box.dataset.told !== facts.join('\n')) {
    box.dataset.told = facts.join('\n');
    box.replaceChildren(...facts.map((fact) => make('span', fact)));
    box.lastElementChild?.classList.toggle('loud', messagesInWords(session) !== '');
  }
}

/** How far it has come, as a word with a colour and a symbol. */
export function fillState(root, session) {
  const { symbol, tone, word } = lookOf(session);
  root.querySelector('.state').dataset.tone = tone;
  say(root.querySelector('.symbol'), symbol);
  say(root.querySelector('.word'), word);
}
