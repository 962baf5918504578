//! The daemon as its API sees it: the configuration, the terminals, the disk, the channels.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::Host;
use ao_api::{
    ChannelTest, Checks, Cleanup, CleanupOrder, ConfigShown, Conflict, Conflicts, Daemon as About, HookLog,
    HookTested, Hooks, ImportOrder, Imported, NewProject, NewSession, NotifyChannel, NotifyTest, Output,
    PolicyField, PolicyShown, Problem, Project, Reloaded, ReviewerWish,
};
use ao_config::shape::Permissions;
use ao_core::hook::HookPoint;
use ao_core::input::SpawnRequest;
use ao_core::project::ProjectInput;
use ao_core::pull::{AuthorFacts, PullFacts};
use ao_core::session::{AgentAbilities, Session};
use ao_core::{Attempt, Input, ProjectId, PullId, Refusal, SessionId};
use ao_engine::AskError;
use ao_ports::{PullDetail, Scm, TerminalView, Tracker, ViewOptions};
use async_trait::async_trait;
use camino::{Utf8Path, Utf8PathBuf};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::config::combination::{self, Unfit};
use crate::config::{self, InForce, apply};
use crate::daemon::Daemon;
use crate::error::{DaemonError, ErrorKind};
use crate::repository::{self, Repository};
use crate::secrets::{self, Secrets};
use crate::spawn::{self as order, named as forge};
use crate::terminals::{Views, output};
use crate::{channels, chores, cleanup};

/// The daemon, its configuration, and what is told of it.
pub struct TheHost {
    pub(crate) daemon: Arc<Daemon>,
    pub(crate) data_dir: Utf8PathBuf,
    configs: Mutex<InForce>,
    /// The agents that are plugged in, as they were described.
    agents: Mutex<apply::Agents>,
    /// What held for all when the daemon was started, as some of it cannot change while it runs.
    pub(crate) started_with: Arc<ao_config::Loaded>,
    /// One for all who look, as they share who has control.
    views: Views,
    /// One change of the configuration at a time. Not `configs`: a change waits for the engine.
    changing: tokio::sync::Mutex<()>,
    about: Mutex<About>,
    /// The page in the browser, for the links in notices.
    pub(crate) page: ao_notifier::Page,
    pub(crate) changed: tokio::sync::Notify,
    pub(crate) stop: CancellationToken,
}

impl TheHost {
    /// Reads the configuration and tells the engine of it.
    pub async fn open(
        daemon: Arc<Daemon>,
        data_dir: &Utf8Path,
        configs: InForce,
        about: About,
        page: ao_notifier::Page,
        stop: CancellationToken,
    ) -> Result<TheHost, DaemonError> {
        let host = TheHost {
            views: Views::new(daemon.runtimes.clone()),
            daemon,
            data_dir: data_dir.to_owned(),
            agents: Mutex::default(),
            started_with: configs.main.clone(),
            configs: Mutex::new(configs.clone()),
            changing: tokio::sync::Mutex::new(()),
            about: Mutex::new(about),
            page,
            changed: tokio::sync::Notify::new(),
            stop,
        };
        host.put_in_force(configs).await?;
        Ok(host)
    }

    /// Where browsers find us, once that is known.
    pub fn listens_at(&self, url: Option<String>) {
        self.page.set(url.as_deref());
        self.about.lock().unwrap_or_else(PoisonError::into_inner).url = url;
    }

    /// Lets jobs start sessions from now on, by the configuration in force.
    pub fn serve_jobs(self: &Arc<TheHost>) {
        let host: Arc<dyn Host> = self.clone();
        self.daemon.errands.serve(Arc::downgrade(&host));
    }

    /// Waits until the configuration was put in force anew.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    pub fn in_force(&self) -> InForce {
        self.configs().clone()
    }

    pub(crate) fn configs(&self) -> MutexGuard<'_, InForce> {
        self.configs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn agents(&self) -> MutexGuard<'_, apply::Agents> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a project's folder is a repository that work can begin in. What is wrong is told before anything is made.
    async fn is_repository(&self, project: &ProjectId) -> Result<(), Problem> {
        let Some(path) =
            self.configs().projects().get(project).map(|known| known.effective().project.path.clone())
        else {
            return Ok(());
        };
        // Asking git takes a while, and the usual case can be seen at once.
        let folder = path.clone();
        if on_disk(move || repository::is_born(&folder)).await? {
            return Ok(());
        }
        let wrong = match Repository::at(&path).await {
            Ok(_) => return Ok(()),
            Err(err) => DaemonError::from(err),
        };
        let word = match wrong.kind {
            ErrorKind::UnbornRepository => "unborn-repository",
            ErrorKind::BareRepository => "bare-repository",
            ErrorKind::MissingProgram => "missing-program",
            _ => "not-a-repository",
        };
        let mut problem = Problem::new(422, word, wrong.to_plain());
        problem.hints = wrong.hints;
        Err(problem)
    }

    /// The project of a session, with the secrets that its agent was given.
    async fn secrets_of(&self, session: &Session) -> Result<Secrets, Problem> {
        let project = session.spec.project.clone();
        let environment = self
            .daemon
            .handle
            .view(move |state| state.projects.get(&project).map(|project| project.config.environment.clone()))
            .await;
        let environment = environment.ok().flatten();
        // Looked up again: a file may have got another one since.
        on_disk(move || {
            let variable = |name: &str| std::env::var(name).ok();
            secrets::learn(environment.iter().flat_map(|of| secrets::of_project(of, variable)));
            secrets::known()
        })
        .await
    }
}

#[async_trait]
impl Host for TheHost {
    fn about(&self) -> About {
        let mut about = self.about.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let configs = self.configs();
        about.configs = configs.layers().iter().map(|layer| layer.path.to_string()).collect();
        let problems = configs.problems();
        about.config_problem = (!problems.is_empty()).then(|| problems.join("\n"));
        about.max_parallel_agents = configs.main.config.lifecycle.max_parallel_agents;
        about
    }

    async fn order(&self, wish: &NewSession) -> Result<SpawnRequest, Problem> {
        let (mut wish, configs) = (order::with_project_of_issue(wish.clone())?, self.in_force());
        // Names and branches are made of them.
        for text in [&mut wish.title, &mut wish.prompt].into_iter().flatten() {
            secrets::known().mask_in(text);
        }
        let plugged = PluggedIn { daemon: self.daemon.clone(), agents: self.agents().clone() };
        let outside = self.outside(&wish, &configs).await?;
        let order = on_disk(move || order::whole(&wish, &configs, &outside, &plugged)).await??;
        self.is_repository(&order.project).await?;
        // Measured before anybody is let in, so that nobody slips in between two looks.
        chores::tell_memory(&self.daemon.handle).await.map_err(stopping)?;
        Ok(order)
    }

    async fn runtime_of(&self, session: &Session, asked_for: Option<&str>) -> Result<String, Problem> {
        let (session, configs) = (session.clone(), self.in_force());
        let plugged = PluggedIn { daemon: self.daemon.clone(), agents: self.agents().clone() };
        let asked_for = asked_for.map(str::to_owned);
        on_disk(move || order::runtime_of(&session, asked_for.as_deref(), &configs, &plugged)).await?
    }

    fn project(&self, named: Option<&str>) -> Result<ProjectId, Problem> {
        order::project(named, &self.configs()).map(|known| ProjectId::new(&known.name))
    }

    fn tool_of(&self, agent: &str) -> Option<String> {
        let configs = self.configs();
        let mut specialists = configs.main.config.agents.iter();
        specialists.find(|specialist| specialist.id == agent).map(|specialist| specialist.tool.clone())
    }

    fn default_branch(&self, project: &ProjectId) -> Option<String> {
        let projects = self.configs().projects();
        projects.get(project).map(|known| known.effective().project.default_branch.clone())
    }

    fn scm(&self, project: &ProjectId) -> Result<Arc<dyn Scm>, Problem> {
        self.daemon.forges.scm(project).map_err(|why| Problem::new(422, "no-scm", why))
    }

    async fn see(&self, pulls: &[PullId]) -> Result<Vec<(PullId, PullFacts)>, Problem> {
        self.daemon.forges.see(pulls).await.map_err(forge::not_seen)
    }

    async fn policy(&self, project: &ProjectId) -> Result<PolicyShown, Problem> {
        let id = project.clone();
        let stand = self.daemon.handle.view(move |state| {
            state.projects.get(&id).map(|project| project.policy_stand.clone()).unwrap_or_default()
        });
        let read = self.daemon.forges.read_policy(project).await.map_err(forge::not_seen)?;
        let stand = stand.await.map_err(stopping)?;
        let (fields, broken) = match read.fields {
            Ok(fields) => (fields, None),
            Err(why) => (vec![], Some(why)),
        };
        let fields = fields.into_iter().map(|field| PolicyField {
            key: field.key.to_owned(),
            value: field.value,
            from: field.from,
        });
        Ok(PolicyShown {
            project_id: project.to_string(),
            written: stand.written,
            commit: read.tip,
            broken,
            fields: fields.collect(),
        })
    }

    fn tracker(&self, project: &ProjectId) -> Result<Arc<dyn Tracker>, Problem> {
        self.daemon.forges.tracker(project).map_err(|why| Problem::new(422, "no-tracker", why))
    }

    async fn checks(&self, project: &ProjectId) -> Result<Checks, Problem> {
        forge::checks(self.in_force(), project).await
    }

    async fn conflicts(&self, project: &ProjectId) -> Result<Conflicts, Problem> {
        self.daemon.forecasts.conflicts(project).await
    }

    async fn conflict(&self, project: &ProjectId, a: &str, b: &str) -> Result<Conflict, Problem> {
        self.daemon.forecasts.conflict(project, a, b).await
    }

    async fn import(
        &self,
        project: &ProjectId,
        by: &AuthorFacts,
        order: &ImportOrder,
    ) -> Result<Imported, Problem> {
        forge::import(&*self.tracker(project)?, project, by, order).await
    }

    async fn see_where_sessions_stand(&self, project: &ProjectId) {
        self.daemon.forges.see_where_sessions_stand(project).await;
    }

    async fn reviewer(&self, pull: &PullDetail, wish: &ReviewerWish) -> Result<SpawnRequest, Problem> {
        self.reviewer_of(pull, wish).await
    }

    fn projects(&self) -> Vec<Project> {
        let projects = self.configs().projects();
        let told = |(id, known): (&ProjectId, &config::Known)| {
            let effective = known.effective();
            Project {
                id: id.to_string(),
                path: effective.project.path.to_string(),
                default_branch: effective.project.default_branch.clone(),
                repo: effective.project.repo.clone(),
                config: known.loaded.main_file().map(ToString::to_string),
                agent: effective.agent.to_owned(),
                runtime: effective.runtime.plugin.clone(),
                workspace: effective.workspace.plugin.clone(),
                live_sessions: 0,
                max_parallel_agents: effective.project.max_parallel_agents,
                auto_assign: false,
                stopped_by: None,
            }
        };
        projects.iter().map(told).collect()
    }

    async fn add(&self, project: &NewProject) -> Result<Vec<String>, Problem> {
        let _one_at_a_time = self.changing.lock().await;
        let file = Utf8PathBuf::from(&project.config);
        if !file.is_absolute() {
            return Err(Problem::new(400, "bad-config", format!("`{file}` is no absolute path")));
        }
        let (before, added) = (self.in_force(), file.clone());
        let configs = on_disk(move || before.with(&added)).await?.map_err(bad_config)?;
        let named = configs.projects();
        let named = named.iter().filter(|(_, known)| known.file.as_ref() == Some(&file));
        let named: Vec<String> = named.map(|(id, _)| id.to_string()).collect();
        self.put_in_force(configs).await.map_err(bad_config)?;
        Ok(named)
    }

    async fn remove(&self, project: &str) -> Result<(), Problem> {
        let _one_at_a_time = self.changing.lock().await;
        let id = ProjectId::new(project);
        let configs = self.in_force();
        let Some(file) = configs.file_to_forget(project).map(ToOwned::to_owned) else {
            return Err(not_forgotten(project, &configs));
        };
        let remove =
            || self.daemon.handle.ask(Input::Project { project: id.clone(), input: ProjectInput::Remove });
        let before = configs.clone();
        let without = on_disk(move || before.without(&file)).await?.map_err(bad_config)?;
        // The engine comes last: a project that it has forgotten, and the list of files has not, would come back.
        self.put_in_force(without).await.map_err(bad_config)?;
        match remove().await {
            // It may be gone by what is in force already.
            Ok(_) | Err(AskError::Refused(Refusal::UnknownProject(_))) => Ok(()),
            Err(err) => {
                self.put_in_force(configs).await.map_err(bad_config)?;
                Err(Problem::new(409, "project-in-use", err.to_string()))
            }
        }
    }

    async fn reload(&self) -> Result<Reloaded, Problem> {
        let _one_at_a_time = self.changing.lock().await;
        let before = self.in_force();
        let configs = on_disk(move || before.again()).await?.map_err(bad_config)?;
        let changes = self.put_in_force(configs).await.map_err(bad_config)?;
        let problems = self.configs().problems();
        let needs_restart = self.needs_restart();
        match problems.is_empty() {
            true => Ok(Reloaded { configs: self.about().configs, changes, needs_restart }),
            false => {
                let mut problem = Problem::new(
                    422,
                    "bad-config",
                    "the configuration is wrong; what was in force before stays so",
                );
                problem.detail = Some(problems.join("\n"));
                Err(problem.hint("`ao config check` shows it again once it is mended"))
            }
        }
    }

    fn config(&self) -> ConfigShown {
        let configs = self.configs();
        let files = configs.layers().iter().map(|layer| layer.path.to_string()).collect();
        ConfigShown { files, yaml: configs.main.show() }
    }

    async fn output(&self, session: &Session, from: u64, limit: u32, wait: bool) -> Result<Output, Problem> {
        let secrets = self.secrets_of(session).await?;
        let until = Instant::now() + if wait { output::WAIT } else { Duration::ZERO };
        let runtimes = &self.daemon.runtimes;
        let session = output::begun(&self.daemon.handle, runtimes, session, until).await;
        let format = self.agents().get(&session.spec.agent.name).map(|agent| agent.output.format);
        output::read(runtimes, &session, from, limit, until, &secrets, format.unwrap_or_default()).await
    }

    async fn setup_log(&self, session: &Session) -> Result<String, Problem> {
        let options = ao_workspace::provision::Options::new(self.data_dir.join("logs"));
        let path = options.setup_log(session.id);
        match tokio::fs::read(&path).await {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(err) if err.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
            Err(err) => Err(Problem::new(500, "unreadable-output", format!("`{}`: {err}", path.display()))),
        }
    }

    async fn attach(
        &self,
        session: &Session,
        options: ViewOptions,
    ) -> Result<Box<dyn TerminalView>, Problem> {
        self.views.attach(session, options).await
    }

    async fn cleanup(&self, order: &CleanupOrder) -> Result<Cleanup, Problem> {
        cleanup::clean_up(&self.daemon, order).await
    }

    async fn notify_test(&self, test: &NotifyTest) -> Result<Vec<ChannelTest>, Problem> {
        channels::test(&self.in_force(), &self.page, test).await
    }

    async fn notify_list(&self) -> Result<Vec<NotifyChannel>, Problem> {
        let fares = self
            .daemon
            .handle
            .view(channels::Fares::of)
            .await
            .map_err(|err| Problem::new(503, "stopping", err.to_string()))?;
        Ok(channels::list(&self.in_force(), &self.page, &fares))
    }

    /// A session's token says whose it is: `ses_…/attempt/token`. The last part is what proves it.
    fn session_of(&self, token: &str) -> Option<(SessionId, Attempt)> {
        let mut parts = token.splitn(3, '/');
        let (session, attempt, proof) = (parts.next()?, parts.next()?, parts.next()?);
        let (session, attempt) = (session.parse::<SessionId>().ok()?, Attempt(attempt.parse().ok()?));
        self.daemon.spool.knows(proof, session, attempt).then_some((session, attempt))
    }

    fn token_for(&self, session: &Session) -> Option<String> {
        let attempt = session.running_attempt()?;
        let (_, proof) = self.daemon.spool.token(session.id, attempt);
        Some(format!("{}/{attempt}/{proof}", session.id))
    }

    async fn hooks(&self, project: Option<&ProjectId>) -> Result<Hooks, Problem> {
        self.hooks_of(project).await
    }

    async fn hook_logs(&self) -> Result<Vec<HookLog>, Problem> {
        self.hook_logs_told().await
    }

    async fn hook_log(&self, id: &str) -> Result<HookLog, Problem> {
        self.hook_log_told(id).await
    }

    async fn hook_test(
        &self,
        project: &ProjectId,
        point: HookPoint,
        session: Option<SessionId>,
    ) -> Result<HookTested, Problem> {
        self.try_hooks(project, point, session).await
    }

    fn stop(&self) {
        self.stop.cancel();
    }
}

struct PluggedIn {
    pub(crate) daemon: Arc<Daemon>,
    agents: apply::Agents,
}

impl order::Plugged for PluggedIn {
    fn abilities(&self, agent: &str) -> Option<AgentAbilities> {
        self.daemon.agent(agent).map(|agent| agent.abilities())
    }

    fn program(&self, agent: &str) -> Option<String> {
        self.agents.get(agent).map(|known| known.program.clone())
    }

    fn agents(&self) -> Vec<String> {
        self.daemon.agents()
    }

    fn fits(&self, agent: &str, runtime: &str) -> Result<(), Unfit> {
        // Of an agent that somebody else has made only its launch can tell.
        self.agents.get(agent).map_or(Ok(()), |options| combination::holds(options, runtime))
    }

    fn takes(&self, agent: &str, permissions: Option<Permissions>, model: Option<&str>) -> Result<(), Unfit> {
        // Of an agent that somebody else has made only its launch can tell.
        self.agents.get(agent).map_or(Ok(()), |options| combination::takes(options, permissions, model))
    }

    fn workspaces(&self) -> Vec<String> {
        ["worktree", "clone"].map(str::to_owned).into()
    }

    fn ao(&self) -> String {
        self.daemon.ao()
    }

    fn is_installed(&self, program: &str) -> bool {
        crate::program::find(program).is_some()
    }
}

/// Does what waits for the disk where nobody else waits for it.
pub(crate) async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|err| Problem::new(500, "failed", format!("the work was not done: {err}")))
}

/// Why a project cannot be forgotten with its file: there is none, or the file names others too.
fn not_forgotten(project: &str, configs: &InForce) -> Problem {
    let projects = configs.projects();
    match projects.get(&ProjectId::new(project)) {
        Some(known) => {
            let file = known.loaded.main_file().map(ToString::to_string).unwrap_or_default();
            let what = format!("the project `{project}` is in `{file}`, with others");
            Problem::new(409, "configured", what)
                .hint(format!("take it out with `ao remove-project {project}`"))
        }
        None => {
            let names: Vec<String> = projects.keys().map(ToString::to_string).collect();
            let mut problem =
                Problem::new(404, "unknown-project", format!("there is no project `{project}`"));
            problem.candidates = order::nearest(project, &names);
            problem
        }
    }
}

fn bad_config(err: DaemonError) -> Problem {
    let mut problem = Problem::new(422, "bad-config", err.to_plain());
    problem.hints = err.hints;
    problem
}

pub(crate) fn stopping(err: ao_engine::AskError) -> Problem {
    Problem::new(503, "stopping", err.to_string())
}

impl std::fmt::Debug for TheHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TheHost").field("data_dir", &self.data_dir).finish_non_exhaustive()
    }
}
