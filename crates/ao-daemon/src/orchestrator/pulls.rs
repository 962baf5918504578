//! Pull requests, and what goes wrong with them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use ao_core::incident::{IncidentEvent, IncidentKey, IncidentKind, Subject};
use ao_core::pull::{AuthorFacts, AuthorStanding, Pull, PullInput};
use ao_core::session::Session;
use ao_core::{Commit, Event, Input, ProjectId, PullId};
use ao_engine::Subscription;
use ao_ports::{NewPull, Scm};

use super::session::SessionHandle;
use super::{Orchestrator, OrchestratorError, SessionAccess};

/// A check that fails on a pull request.
#[derive(Debug, Clone)]
pub struct CiFailure {
    pub pull: PullId,
    /// The session that answers for the pull request.
    pub session: Option<SessionHandle>,
    /// The check, and the mark of this failure among others of it. The same problem on a new commit has the same
    /// text.
    pub problem: String,
    /// The commit on which it was seen.
    pub head: Commit,
    /// The detail that an agent needs to act on it.
    pub detail: String,
}

/// Failures of checks, one after another: those that are open, then those to come. A failure on a new commit comes again.
pub struct CiFailures {
    ways: SessionAccess,
    news: Subscription,
    open: VecDeque<(IncidentKey, String, String)>,
}

impl Orchestrator {
    /// Opens a pull request for a session's branch at the project's forge, and makes the session its owner: problems
    /// with it are the session's from now on.
    ///
    /// The forge in the slot decides if the branch has to be pushed before.
    pub async fn open_pull(
        &self,
        session: &SessionHandle,
        title: &str,
        body: &str,
    ) -> Result<PullId, OrchestratorError> {
        let project = self.project(session.project().as_str()).await?;
        let scm = self.scm(session.project())?;
        let known = session.look().await?;
        let new = NewPull {
            project: session.project().clone(),
            session: Some(session.id()),
            head_branch: known.spec.branch.clone(),
            base_branch: project.config.default_branch.clone(),
            title: title.to_owned(),
            body: body.to_owned(),
            draft: false,
            labels: BTreeSet::new(),
            by: AuthorFacts { login: known.spec.name.clone(), standing: AuthorStanding::Agent },
        };
        let pull = scm.open(&new).await?;
        self.daemon.looks.see(std::slice::from_ref(&pull)).await?;
        let claim = PullInput::Claim { session: session.id() };
        self.daemon.handle.ask(Input::Pull { pull: pull.clone(), input: claim }).await?;
        Ok(pull)
    }

    /// Asks the forges about the open pull requests, in one call for each project, and reports news to the engine.
    /// Returns the number of pull requests that were seen.
    pub async fn refresh_pulls(&self) -> Result<usize, OrchestratorError> {
        let open = self.daemon.handle.view(|state| {
            let mut by_project: BTreeMap<ProjectId, Vec<PullId>> = BTreeMap::new();
            for pull in state.pulls.values().filter(|pull| pull.is_open()) {
                by_project.entry(pull.id.project.clone()).or_default().push(pull.id.clone());
            }
            by_project
        });
        let mut told = 0;
        for (project, pulls) in open.await? {
            // One whose forge was taken out of its slot stays as it was last seen.
            if self.scm(&project).is_ok() {
                told += self.daemon.looks.see(&pulls).await?.len();
            }
        }
        Ok(told)
    }

    /// The checks that fail on pull requests.
    pub async fn ci_failures(&self) -> Result<CiFailures, OrchestratorError> {
        let (open, seq) = self
            .daemon
            .handle
            .view_at(|state, seq| {
                let failed =
                    state.incidents.values().filter(|incident| incident.key.kind == IncidentKind::CiFailed);
                let open = failed.map(|open| (open.key.clone(), open.revision.clone(), open.detail.clone()));
                (open.collect(), seq)
            })
            .await?;
        Ok(CiFailures { ways: self.ways.clone(), news: self.daemon.handle.subscribe(seq), open })
    }

    /// Calls back for each check that fails on a pull request, one after another, until the orchestrator stops.
    pub async fn on_ci_failure<F, Fut>(&self, mut callback: F) -> Result<(), OrchestratorError>
    where
        F: FnMut(CiFailure) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let mut failures = self.ci_failures().await?;
        self.beside(async move {
            while let Ok(Some(failure)) = failures.next().await {
                callback(failure).await;
            }
        });
        Ok(())
    }

    /// A pull request as it was last seen.
    pub async fn pull(&self, pull: &PullId) -> Result<Option<Pull>, OrchestratorError> {
        let id = pull.clone();
        Ok(self.daemon.handle.view(move |state| state.pulls.get(&id).map(|pull| Pull::clone(pull))).await?)
    }

    fn scm(&self, project: &ProjectId) -> Result<Arc<dyn Scm>, OrchestratorError> {
        self.daemon.looks.scm(project).map_err(|_| OrchestratorError::NoScm(project.to_string()))
    }
}

impl CiFailures {
    /// The next one; nothing when the orchestrator has stopped.
    pub async fn next(&mut self) -> Result<Option<CiFailure>, OrchestratorError> {
        loop {
            let Some((key, revision, detail)) = next(&mut self.open, &mut self.news).await? else {
                return Ok(None);
            };
            let Subject::Pull(pull) = key.subject else { continue };
            let id = pull.clone();
            let owner = self.ways.handle.view(move |state| {
                let owner = state.pulls.get(&id)?.owner?;
                state.sessions.get(&owner).map(|session| Session::clone(session))
            });
            let session = owner.await?.map(|session| SessionHandle::of(&self.ways, &session));
            let head = Commit::new(&revision);
            return Ok(Some(CiFailure { pull, session, problem: key.problem.to_string(), head, detail }));
        }
    }
}

async fn next(
    open: &mut VecDeque<(IncidentKey, String, String)>,
    news: &mut Subscription,
) -> Result<Option<(IncidentKey, String, String)>, OrchestratorError> {
    if let Some(found) = open.pop_front() {
        return Ok(Some(found));
    }
    loop {
        let next = news.next().await.map_err(|err| OrchestratorError::Failed(err.to_string()))?;
        let Some(published) = next else { return Ok(None) };
        match &published.event {
            Event::Incident(
                key,
                IncidentEvent::Opened { revision, detail } | IncidentEvent::Revised { revision, detail },
            ) if key.kind == IncidentKind::CiFailed => {
                return Ok(Some((key.clone(), revision.clone(), detail.clone())));
            }
            _ => {}
        }
    }
}

impl fmt::Debug for CiFailures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CiFailures").field("open", &self.open.len()).finish_non_exhaustive()
    }
}
