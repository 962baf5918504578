//! An agent at work, from its start to its rest.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ao_config::shape::Defaults;
use ao_core::budget::{SpendLimits, UsageTotal};
use ao_core::input::SpawnRequest;
use ao_core::session::{
    AgentChoice, MessageKind, NewMessage, Phase, Sender, Session, SessionInput, SessionRole, StatusReport,
    StatusWord,
};
use ao_core::setup::Origin;
use ao_core::{Input, ProjectId, SessionId};
use ao_engine::AskError;
use ao_ports::{Clock, OutputPart};

use super::tasks::PlannedTask;
use super::workspace::WorkspaceHandle;
use super::{Orchestrator, OrchestratorError, SessionAccess};
use crate::terminals::process_of;

type CompletionCallback =
    Box<dyn FnOnce(SessionCompletion) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

/// An agent that is about to be started.
#[must_use = "nothing is started before `start`"]
pub struct SessionSpawn<'a> {
    orchestrator: &'a Orchestrator,
    task: PlannedTask,
    agent: Option<String>,
    runtime: String,
    workspace: String,
    origin: Origin,
    branch: Option<String>,
    name: Option<String>,
    limits: SpendLimits,
    on_complete: Option<CompletionCallback>,
}

/// The state of an agent at the end of its work, for now or for good.
#[derive(Debug)]
pub struct SessionCompletion {
    pub session: SessionHandle,
    /// `Idle` at the end of a turn, `Exited` with its process, `SetupFailed` if it never began, and `Stopped` or `Merged`
    /// when the session is over.
    pub status: StatusReport,
    /// The code of a process that has exited.
    pub exit_code: Option<i32>,
    pub spend: UsageTotal,
}

/// A way to one session. Cheap to clone.
#[derive(Clone)]
pub struct SessionHandle {
    id: SessionId,
    name: String,
    project: ProjectId,
    ways: SessionAccess,
}

impl<'a> SessionSpawn<'a> {
    pub(super) fn new(orchestrator: &'a Orchestrator, task: PlannedTask) -> SessionSpawn<'a> {
        SessionSpawn {
            orchestrator,
            task,
            agent: None,
            runtime: Defaults::default().runtime.plugin,
            workspace: Defaults::default().workspace.plugin,
            origin: Origin::Base,
            branch: None,
            name: None,
            limits: SpendLimits::default(),
            on_complete: None,
        }
    }

    /// Selects an agent; needed only if there are several.
    pub fn agent(mut self, name: &str) -> SessionSpawn<'a> {
        self.agent = Some(name.to_owned());
        self
    }

    /// Selects the runtime of its process: `process`, the default, or `tmux`.
    pub fn runtime(mut self, name: &str) -> SessionSpawn<'a> {
        self.runtime = name.to_owned();
        self
    }

    /// Selects the kind of workspace that is made with the session: `worktree`, the default, or `clone`.
    pub fn workspace_kind(mut self, kind: &str) -> SessionSpawn<'a> {
        self.workspace = kind.to_owned();
        self
    }

    /// Works in a workspace that is there already, which stays after it.
    pub fn in_workspace(mut self, workspace: &WorkspaceHandle) -> SessionSpawn<'a> {
        self.workspace = workspace.kind().to_owned();
        self.origin = Origin::Tree { path: workspace.path().to_string() };
        self.branch = Some(workspace.branch().to_owned());
        self
    }

    pub fn branch(mut self, branch: &str) -> SessionSpawn<'a> {
        self.branch = Some(branch.to_owned());
        self
    }

    pub fn name(mut self, name: &str) -> SessionSpawn<'a> {
        self.name = Some(name.to_owned());
        self
    }

    pub fn limits(mut self, limits: SpendLimits) -> SessionSpawn<'a> {
        self.limits = limits;
        self
    }

    /// Called once, when the agent has come to rest for the first time: its turn is over and it has nothing left to take, or
    /// its process has exited and is not started again by itself, or the session is over.
    ///
    /// It runs beside everything else and holds nothing up. It is not called if the orchestrator stops before; a later one
    /// finds the session, not the callback.
    pub fn on_complete<F, Fut>(mut self, callback: F) -> SessionSpawn<'a>
    where
        F: FnOnce(SessionCompletion) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.on_complete = Some(Box::new(move |completion| Box::pin(callback(completion))));
        self
    }

    /// Hands the task in. Returns as soon as it is on disk; the agent starts when there is a slot for it.
    pub async fn start(self) -> Result<SessionHandle, OrchestratorError> {
        let daemon = &self.orchestrator.daemon;
        let known = daemon.adapters.agents();
        let name = match (self.agent, &known[..]) {
            (Some(name), _) => name,
            (None, [only]) => only.clone(),
            (None, _) => String::new(),
        };
        let Some(agent) = daemon.adapters.agent(&name) else {
            let known = if known.is_empty() { "none".into() } else { known.join(", ") };
            return Err(OrchestratorError::NoAgent { name, known });
        };
        let project = self.task.project.clone();
        let request = SpawnRequest {
            project: project.clone(),
            task: None,
            role: SessionRole::Worker,
            title: self.task.title,
            prompt: self.task.prompt,
            name: self.name,
            branch: self.branch,
            origin: self.origin,
            agent: AgentChoice { name, abilities: agent.abilities(), ..AgentChoice::default() },
            runtime: self.runtime,
            workspace: self.workspace,
            priority: 0,
            limits: self.limits,
            trusted: false,
        };
        let receipt = daemon.handle.ask(Input::Spawn(Box::new(request))).await?;
        let id = receipt.events.iter().find_map(|stamped| stamped.event.session());
        let id =
            id.ok_or_else(|| OrchestratorError::Failed("a session was wanted and none was made".into()))?;
        let name = daemon
            .handle
            .view(move |state| state.sessions.get(&id).map(|session| session.spec.name.clone()))
            .await?
            .unwrap_or_else(|| id.to_string());
        let session = SessionHandle { id, name, project, ways: self.orchestrator.ways.clone() };
        if let Some(callback) = self.on_complete {
            let session = session.clone();
            self.orchestrator.beside(async move {
                // It fails only if everything stops.
                if let Ok(completion) = session.done().await {
                    callback(completion).await;
                }
            });
        }
        Ok(session)
    }
}

impl SessionHandle {
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Returns the name for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn project(&self) -> &ProjectId {
        &self.project
    }

    /// Returns the session as the log has it.
    pub async fn look(&self) -> Result<Session, OrchestratorError> {
        let id = self.id;
        let found = self
            .ways
            .handle
            .view(move |state| state.sessions.get(&id).map(|session| Session::clone(session)));
        found.await?.ok_or_else(|| OrchestratorError::NoSession(self.name.clone()))
    }

    /// Returns the status, with its time and its reason.
    pub async fn status(&self) -> Result<StatusReport, OrchestratorError> {
        Ok(self.look().await?.status(self.ways.clock.now()))
    }

    /// Explains the status: its name, the rule that won, and the source that decided.
    pub async fn explain(&self) -> Result<String, OrchestratorError> {
        let session = self.look().await?;
        let status = session.status(self.ways.clock.now());
        let mut text = format!("{:?}: {}", status.word, status.reason);
        if let Some(source) = &session.judgement.source {
            text += &format!(" (by {source:?})");
        }
        Ok(text)
    }

    /// Sends a message to the agent. It is delivered once the agent can take it, and counts as sent only then.
    pub async fn send(&self, text: &str) -> Result<(), OrchestratorError> {
        let from = Sender::Person("embedder".into());
        let body = text.to_owned();
        let message = NewMessage { from, kind: MessageKind::Text, body, interrupt: false, key: None };
        self.tell(SessionInput::Send(message)).await
    }

    pub(super) async fn resume(&self, text: &str) -> Result<(), OrchestratorError> {
        if matches!(self.look().await?.phase, Phase::Ended { .. }) {
            self.tell(SessionInput::Restore).await?;
        }
        self.send(text).await
    }

    /// Ends the agent and with it the session. Its workspace stays until it is cleaned up.
    pub async fn stop(&self, why: &str) -> Result<(), OrchestratorError> {
        self.tell(SessionInput::Stop { by: "embedder".into(), why: why.to_owned() }).await
    }

    /// Waits until the agent is at rest with nothing left to take; see [`Spawn::on_complete`].
    pub async fn done(&self) -> Result<SessionCompletion, OrchestratorError> {
        let clock = self.ways.clock.clone();
        let session = self.wait_for(move |session| is_at_rest(session, &*clock)).await?;
        let exit_code = match &session.phase {
            Phase::Exited { code, .. } => *code,
            _ => None,
        };
        let status = session.status(self.ways.clock.now());
        Ok(SessionCompletion { session: self.clone(), status, exit_code, spend: session.usage.spend })
    }

    /// Waits until a condition holds, woken by the session's events.
    pub async fn wait_for(
        &self,
        so: impl Fn(&Session) -> bool + Send + Sync + 'static,
    ) -> Result<Session, OrchestratorError> {
        let (id, so) = (self.id, Arc::new(so));
        // A state may also come about by time alone, without an event.
        const LOOK: Duration = Duration::from_secs(1);
        loop {
            let look = so.clone();
            let (found, seq) = self
                .ways
                .handle
                .view_at(move |state, seq| {
                    let found = state.sessions.get(&id);
                    (found.map(|session| look(session).then(|| Session::clone(session))), seq)
                })
                .await?;
            match found {
                None => return Err(OrchestratorError::NoSession(self.name.clone())),
                Some(Some(session)) => return Ok(session),
                Some(None) => {}
            }
            let mut news = self.ways.handle.subscribe(seq);
            let news = async {
                loop {
                    match news.next().await {
                        Ok(Some(published)) if published.event.session() == Some(id) => return Ok(()),
                        Ok(Some(_)) => {}
                        Ok(None) | Err(_) => return Err(OrchestratorError::Ask(AskError::Stopped)),
                    }
                }
            };
            if let Ok(news) = tokio::time::timeout(LOOK, news).await {
                news?;
            }
        }
    }

    /// Returns the output of its last process from an offset on; also after the process has ended. Waits up to `wait`
    /// for more.
    pub async fn output(
        &self,
        from: u64,
        limit: usize,
        wait: Duration,
    ) -> Result<OutputPart, OrchestratorError> {
        let session = self.look().await?;
        let runtimes = &self.ways.runtimes;
        // A process that has ended is no longer the session's, but its output is kept.
        match process_of(runtimes, &session).await? {
            Some(process) => Ok(runtimes.of(&process)?.output(&process, from, limit, wait).await?),
            None => Ok(OutputPart { from, bytes: vec![], ended: false }),
        }
    }

    async fn tell(&self, input: SessionInput) -> Result<(), OrchestratorError> {
        self.ways.handle.ask(Input::Session { session: self.id, input }).await?;
        Ok(())
    }

    pub(super) fn of(ways: &SessionAccess, session: &Session) -> SessionHandle {
        SessionHandle {
            id: session.id,
            name: session.spec.name.clone(),
            project: session.spec.project.clone(),
            ways: ways.clone(),
        }
    }
}

fn is_at_rest(session: &Session, clock: &dyn Clock) -> bool {
    match &session.phase {
        Phase::Ended { .. } | Phase::SetupFailed { .. } => true,
        // With something left to take it is started again.
        Phase::Exited { .. } | Phase::Resting { .. } => session.outbox.is_empty(),
        Phase::Running { .. } => {
            session.usage.turns > 0
                && session.outbox.is_empty()
                && session.status(clock.now()).word == StatusWord::Idle
        }
        _ => false,
    }
}

impl fmt::Debug for SessionHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionHandle")
            .field("id", &self.id)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

debug_by!(SessionSpawn<'_>: task);
