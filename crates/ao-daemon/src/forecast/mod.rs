//! Finds the branches that will not merge with each other, whenever one of them may have changed, and reports them to
//! the engine.
//!
//! ```text
//!  feed: an agent did something, a pull request moved ──► a moment of quiet ──► look
//!                                                                                │
//!     Input::Forecast ──► engine      `ao conflicts` ◄── what was last seen ◄────┤
//!                                                                                ▼
//!  workspaces: each tree as it is, as a commit ──► ao-git: all pairs, in a scratch folder of our own
//! ```
//!
//! Nothing is polled while no agent works. While one does, its tree is looked at again after a while, because an agent may
//! edit for long without an event. One look at a time for each project, beside the engine.

mod lines;
mod look;
mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ao_core::evidence::{AgentActivity, Reading};
use ao_core::session::SessionEvent;
use ao_core::{Event, ProjectId, SessionId, State};
use ao_engine::{AskError, Handle};
use ao_git::GitError;
use ao_ports::{Clock, Seq, Workspace};
use tokio::time::{Instant, timeout_at};

pub(crate) use look::ForecastResult;
pub use report::{BranchClash, ForecastBranch, ForecastReport};

/// Events come in bursts; a look begins this long after the last one.
const QUIET: Duration = Duration::from_secs(1);
/// However much happens, it is looked at so often.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks, so that a busy fleet leaves something for others to work with.
const PAUSE: Duration = Duration::from_secs(2);
/// While agents work, their trees are looked at this often, whether they say something or not.
const AT_WORK: Duration = Duration::from_secs(60);

/// The forecasts of all projects.
pub struct ProjectForecasts {
    handle: Handle,
    clock: Arc<dyn Clock>,
    workspaces: BTreeMap<String, Arc<dyn Workspace>>,
    /// Ours alone, and empty when the daemon starts.
    folder: PathBuf,
    /// Each project with what is known of it; held only to look one up.
    known: Mutex<BTreeMap<ProjectId, Arc<tokio::sync::Mutex<look::KnownForecast>>>>,
}

/// The reason why there is no forecast.
#[derive(Debug, thiserror::Error)]
pub enum ForecastError {
    #[error("there is no project `{0}`")]
    NoProject(ProjectId),
    #[error("the project `{project}` has no branch `{branch}` to compare with; check `defaultBranch`")]
    NoTarget { project: ProjectId, branch: String },
    #[error(
        "comparing the branches of `{0}` took too long, and was given up; it is tried again when one of them changes"
    )]
    TooSlow(ProjectId),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Scratch(#[from] ao_git::forecast::ScratchError),
    #[error(transparent)]
    Engine(#[from] AskError),
}

/// Projects and sessions that may have changed.
#[derive(Debug, Default)]
struct PendingChanges {
    projects: BTreeSet<ProjectId>,
    sessions: BTreeSet<SessionId>,
    /// The sessions that rest since they were last looked at. To say so again changes nothing.
    resting: BTreeSet<SessionId>,
}

impl PendingChanges {
    fn is_empty(&self) -> bool {
        self.projects.is_empty() && self.sessions.is_empty()
    }

    fn hear(&mut self, event: &Event) {
        use SessionEvent as E;
        match event {
            Event::Pull(pull, _) => drop(self.projects.insert(pull.project.clone())),
            Event::Session(id, E::SignalSeen { signal }) => {
                let acts = match &signal.reading {
                    Reading::Idle => self.resting.insert(*id),
                    reading if reading.is_claim() || matches!(reading, Reading::Exited { .. }) => {
                        self.resting.remove(id);
                        true
                    }
                    _ => false,
                };
                if acts {
                    self.sessions.insert(*id);
                }
            }
            Event::Session(
                id,
                E::Accepted { .. }
                | E::CheckoutChanged { .. }
                | E::Exited { .. }
                | E::Rested { .. }
                | E::Ended { .. }
                | E::WorkspaceRemoved { .. }
                | E::PullLinked { .. },
            ) => {
                // Its next activity is news.
                self.resting.remove(id);
                self.sessions.insert(*id);
            }
            _ => {}
        }
    }

    /// Takes what is to be looked at, and keeps who rests.
    fn take(&mut self) -> PendingChanges {
        let resting = std::mem::take(&mut self.resting);
        std::mem::replace(self, PendingChanges { resting, ..PendingChanges::default() })
    }
}

impl ProjectForecasts {
    pub(crate) fn new(
        handle: Handle,
        clock: Arc<dyn Clock>,
        workspaces: BTreeMap<String, Arc<dyn Workspace>>,
        folder: PathBuf,
    ) -> ProjectForecasts {
        // What an earlier daemon left there can be made again.
        std::fs::remove_dir_all(&folder).ok();
        ProjectForecasts { handle, clock, workspaces, folder, known: Mutex::default() }
    }

    /// Looks whenever something may have changed, until it is dropped.
    pub(crate) async fn run(self: Arc<ProjectForecasts>, seen: Seq) {
        let mut happens = self.handle.subscribe(seen);
        // Who was at work before the daemon started may have changed anything.
        let Ok(projects) = self.handle.view(|state| state.projects.keys().cloned().collect()).await else {
            return;
        };
        let mut news = PendingChanges { projects, ..PendingChanges::default() };
        loop {
            let again = match self.handle.view(at_work).await {
                Ok(sessions) => (!sessions.is_empty()).then(|| Instant::now() + AT_WORK),
                Err(_) => return,
            };
            while news.is_empty() {
                let next = async {
                    match again {
                        Some(again) => timeout_at(again, happens.next()).await.ok(),
                        None => Some(happens.next().await),
                    }
                };
                match next.await {
                    Some(Ok(Some(published))) => news.hear(&published.event),
                    Some(Ok(None) | Err(_)) => return,
                    None => match self.handle.view(at_work).await {
                        Ok(sessions) if sessions.is_empty() => break,
                        Ok(sessions) => news.sessions = sessions,
                        Err(_) => return,
                    },
                }
            }
            let last = Instant::now() + PATIENCE;
            while let Ok(next) = timeout_at(last.min(Instant::now() + QUIET), happens.next()).await {
                match next {
                    Ok(Some(published)) => news.hear(&published.event),
                    Ok(None) | Err(_) => return,
                }
            }
            match self.look_into(news.take()).await {
                Ok(true) => {}
                // The next report of rest is a reason to retry.
                Ok(false) => news.resting.clear(),
                Err(_) => return,
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Returns false if one of the projects could not be looked at.
    async fn look_into(&self, news: PendingChanges) -> Result<bool, AskError> {
        let PendingChanges { mut projects, sessions, .. } = news;
        let those = sessions.clone();
        projects.extend(
            self.handle
                .view(move |state| {
                    let known = those.iter().filter_map(|id| state.sessions.get(id));
                    known.map(|session| session.spec.project.clone()).collect::<Vec<_>>()
                })
                .await?,
        );
        let mut complete = true;
        for project in projects {
            match self.look(&project, Some(&sessions)).await {
                Ok(_) | Err(ForecastError::NoProject(_)) => {}
                Err(ForecastError::Engine(err @ AskError::Stopped)) => return Err(err),
                Err(err) => {
                    complete = false;
                    tracing::warn!(%project, %err, "there is no forecast of conflicts");
                }
            }
        }
        Ok(complete)
    }

    fn known(&self, project: &ProjectId) -> Arc<tokio::sync::Mutex<look::KnownForecast>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(project.clone()).or_default().clone()
    }
}

/// The sessions whose agents work just now.
fn at_work(state: &State) -> BTreeSet<SessionId> {
    let works = state.live().filter(|session| session.judgement.activity == AgentActivity::Working);
    works.map(|session| session.id).collect()
}

debug_by!(ProjectForecasts: folder);

#[cfg(test)]
mod tests {
    use ao_core::evidence::{Confidence, Signal, SignalSource};
    use ao_core::{Attempt, Timestamp};

    use super::*;

    fn says(session: u64, reading: Reading) -> Event {
        let signal = Signal {
            attempt: Attempt(1),
            source: SignalSource::Hook,
            at: Timestamp(0),
            confidence: Confidence::High,
            reading,
        };
        Event::Session(SessionId(session), SessionEvent::SignalSeen { signal })
    }

    /// A tree is looked at once when its agent comes to rest, however often the agent says that it rests.
    #[test]
    fn rest_is_news_once_until_something_is_done() {
        let working = || Reading::Working { doing: String::new() };
        let mut news = PendingChanges::default();
        for (reading, looked_at) in [
            (Reading::Idle, true),
            (Reading::Idle, false),
            (Reading::Alive { busy: false }, false),
            (Reading::Idle, false),
            (working(), true),
            (Reading::Idle, true),
            (Reading::Idle, false),
            (Reading::Exited { code: None }, true),
            (Reading::Idle, true),
        ] {
            news.hear(&says(1, reading.clone()));
            assert_eq!(!news.take().is_empty(), looked_at, "{reading:?}");
        }
        news.hear(&says(2, Reading::Idle));
        assert!(!news.is_empty(), "each for itself");
    }
}
