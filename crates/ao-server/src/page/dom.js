// Small words for building the page. Whatever the server says becomes text here, and never markup.

export const byId = (id) => document.getElementById(id);

/** A copy of a template's one element. */
export const copy = (id) => byId(id).content.firstElementChild.cloneNode(true);

/** Sets a text only if it is another one, so that nothing is announced, selected away or drawn for nothing. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function show(element, shown) {
  if (element.hidden === shown) element.hidden = !shown;
}

/** An element with a text. */
export function make(tag, text = '', className = '') {
  const element = document.createElement(tag);
  if (text !== '') element.textContent = text;
  if (className !== '') element.className = className;
  return element;
}

/** Sets a text whose parts between backticks are commands. */
export function sayWithCode(element, text) {
  if (element.textContent === text.replaceAll('`', '') && element.hasChildNodes()) return;
  const parts = text.split('`');
  // An odd number of backticks is no pair of them.
  if (parts.length % 2 === 0) return say(element, text);
  element.replaceChildren(...parts.map((part, at) => (at % 2 === 1 ? make('code', part) : document.createTextNode(part))));
}

/** Makes the children of an element these, moving only what stands elsewhere. */
export function arrange(parent, children) {
  const focused = parent.contains(document.activeElement) ? document.activeElement : null;
  children.forEach((child, at) => {
    if (parent.children[at] !== child) parent.insertBefore(child, parent.children[at] ?? null);
  });
  while (parent.children.length > children.length) parent.lastElementChild.remove();
  // What is moved loses the focus.
  if (focused?.isConnected && document.activeElement !== focused) focused.focus({ preventScroll: true });
}

/** Shows a problem with what to do about it, or takes it away. */
export function showProblem(box, problem) {
  show(box, problem != null);
  if (problem == null) return box.replaceChildren();
  const parts = [make('strong')];
  sayWithCode(parts[0], problem.title);
  if (problem.detail) parts.push(make('p', problem.detail));
  const hints = [...(problem.hints ?? [])];
  if (problem.candidates?.length) hints.push(`there are: ${problem.candidates.join(', ')}`);
  if (hints.length) {
    const list = make('ul');
    for (const hint of hints) {
      const item = make('li');
      sayWithCode(item, hint);
      list.append(item);
    }
    parts.push(list);
  }
  box.replaceChildren(...parts);
}

/** Asks before something that cannot be taken back lightly. */
export function confirm({ title, text, yes }) {
  const dialog = byId('confirm');
  say(byId('confirm-title'), title);
  say(byId('confirm-text'), text);
  say(byId('confirm-yes'), yes);
  dialog.returnValue = '';
  byId('confirm-yes').onclick = () => dialog.close('yes');
  byId('confirm-no').onclick = () => dialog.close('');
  dialog.showModal();
  byId('confirm-no').focus();
  return new Promise((done) => {
    dialog.addEventListener('close', () => done(dialog.returnValue === 'yes'), { once: true });
  });
}
