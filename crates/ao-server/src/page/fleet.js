// All sessions at a glance, those that wait for a person first.

import { arrange, copy, make, say, show } from './dom.js';
import { GROUPS, deniedInWords, look, messagesInWords, setSince, stateInWords } from './words.js';

/** The view of all sessions. It is made once, and changed where something has changed. */
export function fleetView() {
  const root = copy('fleet');
  const empty = root.querySelector('.empty');
  const groups = new Map(GROUPS.map((group) => [group.id, makeGroup(group)]));
  const cards = new Map();

  function update(sessions) {
    show(empty, sessions.length === 0);
    for (const { id } of GROUPS) {
      const members = inOrder(sessions.filter((session) => look(session.status.state).group === id), id);
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
    const known = new Set(sessions.map((session) => session.id));
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

/** The longest in their state first: they have waited longest. Of the ended, the last to end. */
function inOrder(sessions, group) {
  const key = (session) => `${session.status.since} ${session.name}`;
  const sorted = sessions.sort((a, b) => (key(a) < key(b) ? -1 : 1));
  return group === 'ended' ? sorted.reverse() : sorted;
}

function fillCard(card, session) {
  const part = (name) => card.querySelector(name);
  const { status } = session;
  const link = part('a');
  const href = `#/s/${encodeURIComponent(session.name)}`;
  if (link.getAttribute('href') !== href) link.setAttribute('href', href);
  fillState(card, status);
  setSince(part('time'), status.since);
  say(part('.name'), session.name);
  part('.name').title = session.name;
  say(part('.title'), session.title);
  say(part('.reason'), status.question ?? status.reason);
  const facts = [
    session.projectId,
    session.role === 'worker' ? '' : session.role,
    session.agent.name,
    session.issue ? `#${session.issue.replace(/^#/, '')}` : '',
    session.branch,
    ...session.pulls,
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

/** A state as a word with a colour and a symbol. */
export function fillState(root, status) {
  const { symbol, tone } = look(status.state);
  root.querySelector('.state').dataset.tone = tone;
  say(root.querySelector('.symbol'), symbol);
  say(root.querySelector('.word'), stateInWords(status));
}
