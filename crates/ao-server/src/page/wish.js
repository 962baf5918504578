// A new session.

import { Problem, get, post } from './api.js';
import { byId, make, showProblem } from './dom.js';

/** Asks what is to be done and starts it; `made` is called with the session that it came to. */
export async function openWish(sessions, made) {
  const dialog = byId('wish');
  const form = byId('wish-form');
  const { title, prompt, issue, project, agent } = form.elements;
  const problem = form.querySelector('.problem');
  const start = form.querySelector('[type=submit]');
  showProblem(problem, null);
  dialog.showModal();
  title.focus();

  let projects = [];
  const usual = () => {
    agent.placeholder = projects.find(({ id }) => id === project.value)?.agent ?? '';
  };
  project.onchange = usual;
  byId('wish-cancel').onclick = () => dialog.close();
  form.onsubmit = async (event) => {
    event.preventDefault();
    const wish = { projectId: project.value, title: title.value, prompt: prompt.value, issue: issue.value, agent: agent.value };
    // What is left empty is for the configuration to say.
    const said = Object.entries(wish).map(([name, value]) => [name, value.trim()]).filter(([, value]) => value !== '');
    start.disabled = true;
    try {
      const { session } = await post('/api/sessions', Object.fromEntries(said), { patience: 60_000 });
      form.reset();
      dialog.close();
      made(session);
    } catch (error) {
      showProblem(problem, Problem.from(error));
    }
    start.disabled = false;
  };

  try {
    ({ projects } = await get('/api/projects'));
    const chosen = project.value;
    project.replaceChildren(...projects.map(({ id }) => make('option', id)));
    if (projects.some(({ id }) => id === chosen)) project.value = chosen;
    const agents = new Set([...projects.map((one) => one.agent), ...sessions.map((one) => one.agent.name)]);
    byId('agents').replaceChildren(...[...agents].sort().map((name) => {
      const option = make('option');
      option.value = name;
      return option;
    }));
    usual();
  } catch (error) {
    showProblem(problem, Problem.from(error));
  }
}
