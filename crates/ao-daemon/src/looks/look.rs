//! Looks at what is worth a look, and reports it to the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use ao_core::pull::{PullFacts, PullInput};
use ao_core::session::{Session, SessionInput};
use ao_core::task::TaskFacts;
use ao_core::{Input, ProjectId, PullId, State, TaskId, Timestamp};
use ao_engine::AskError;
use ao_ports::{HintReceiver as _, LookHint, ServiceError, TaskFilter, TaskSeen, Tracker, TrackerError};
use futures::FutureExt as _;
use tokio::task::{Id, JoinSet};
use tokio::time::timeout;

use super::ProjectLooks;
use crate::cleanup::tree_of;

/// The number of open tasks of a project that are known at a time: those that changed last.
const OPEN_TASKS: usize = 5_000;

/// The time limit of a look at one project.
const LIMIT: Duration = Duration::from_secs(5 * 60);

/// The time between two looks at everything.
pub(super) const POLL: Duration = Duration::from_secs(10 * 60);

/// The reason why a look saw nothing.
#[derive(Debug, thiserror::Error)]
pub enum LookError {
    #[error("{0}")]
    NoForge(String),
    #[error("{0}")]
    NoTracker(String),
    /// The forge or the tracker did not do it.
    #[error(transparent)]
    Service(#[from] ServiceError),
    #[error(transparent)]
    Engine(#[from] AskError),
}

/// The engine's part in a look at a task. It keeps in memory what is worked on or waited for, not every issue there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskReceiver {
    /// The engine hears of it.
    Engine,
    /// The engine hears of it if it knows it already.
    EngineIfKnown,
}

/// The result of a look.
#[derive(Debug, Default)]
struct LookResult {
    seen: Vec<(PullId, PullFacts)>,
    /// Those of which could not be read what they add; that is to be repeated.
    unread: BTreeSet<PullId>,
}

impl ProjectLooks {
    /// Looks whenever there is a hint, until it is dropped. Each project is looked at by itself, one look at a time: what
    /// takes long in one of them holds up no other.
    pub async fn run(self: Arc<ProjectLooks>) {
        tokio::join!(self.clone().look(), self.poll(), async {
            if let Err(err) = self.after_landings().await {
                tracing::warn!(%err, "a policy that lands is read with the next look only");
            }
        });
    }

    /// Has everything looked at now and then, because hints get lost and watches end.
    async fn poll(&self) {
        loop {
            tokio::time::sleep(POLL).await;
            self.projects().keys().for_each(|project| self.look_at(project));
        }
    }

    async fn look(self: Arc<ProjectLooks>) {
        let mut open: BTreeMap<ProjectId, BTreeSet<LookHint>> = BTreeMap::new();
        let mut looks = JoinSet::new();
        let mut busy: BTreeMap<Id, (ProjectId, BTreeSet<LookHint>)> = BTreeMap::new();
        loop {
            tokio::select! {
                biased;
                Some(done) = looks.join_next_with_id() => {
                    let (id, answered) = done.map_or_else(|err| (err.id(), false), |(id, answered)| (id, answered));
                    // One that took too long or has panicked is repeated.
                    for hint in busy.remove(&id).filter(|_| !answered).into_iter().flat_map(|(_, hints)| hints) {
                        tracing::warn!(?hint, "a look at a forge did not end; it is repeated");
                        self.asked.again(hint, None);
                    }
                }
                hints = self.asked.take() => for hint in hints {
                    open.entry(hint.project().clone()).or_default().insert(hint);
                },
            }
            let is_free = |project: &ProjectId| !busy.values().any(|(at_it, _)| at_it == project);
            let free: Vec<ProjectId> = open.keys().filter(|project| is_free(project)).cloned().collect();
            for project in free {
                let hints = open.remove(&project).unwrap_or_default();
                let look = self.clone().look_into(project.clone(), hints.clone());
                let look = timeout(LIMIT, look).map(|ended| ended.is_ok());
                busy.insert(looks.spawn(look).id(), (project, hints));
            }
        }
    }

    /// Looks at everything that the hints of one project are about: the forge first, because a tracker may hang.
    async fn look_into(self: Arc<ProjectLooks>, project: ProjectId, hints: BTreeSet<LookHint>) {
        let whole = LookHint::Project(project.clone());
        let (mut pulls, mut tasks) = (BTreeSet::new(), BTreeSet::new());
        for hint in &hints {
            match hint {
                LookHint::Pull(pull) => drop(pulls.insert(pull.clone())),
                LookHint::Task(task) => drop(tasks.insert(task.clone())),
                LookHint::Project(_) => {}
            }
        }
        let mut listed = Ok(());
        if hints.contains(&whole) {
            // Whether or not anything is open: who has broken it wants to know.
            let found = match self.see_policy(&project).await {
                Ok(_) => self.pulls_of(&project).await,
                Err(err) => Err(err),
            };
            listed = found.map(|found| pulls.extend(found));
        }
        self.look_at_pulls(&project, pulls).await;
        if hints.contains(&whole) {
            let seen = self.see_open_tasks(&project).await;
            // The engine has the listed tasks already; only the others need a look of their own.
            let known = self.tasks_of(&project).await.unwrap_or_default();
            tasks.extend(left_to_ask(known, seen.as_ref().ok()));
            // Where there are no issues, the pull requests may still have to be asked for again; and where there is no
            // forge, the issues.
            if let Err(err @ (LookError::Service(_) | LookError::Engine(_))) = seen {
                listed = Err(err);
            }
            self.settled(whole, listed.as_ref().copied());
        }
        for task in tasks {
            let seen = self.see_task(&task).await;
            self.settled(LookHint::Task(task), seen.as_ref().copied());
        }
    }

    async fn look_at_pulls(&self, project: &ProjectId, pulls: BTreeSet<PullId>) {
        if pulls.is_empty() {
            return;
        }
        let pulls: Vec<PullId> = pulls.into_iter().collect();
        let seen = self.look_and_tell(&pulls).await;
        for pull in pulls {
            match &seen {
                Ok(seen) if seen.unread.contains(&pull) => self.asked.again(LookHint::Pull(pull), None),
                seen => drop(self.settled(LookHint::Pull(pull), seen.as_ref().map(|_| ()))),
            }
        }
        let of = project.clone();
        let nobodys = self.handle.view(move |state| {
            state.pulls.values().any(|pull| pull.id.project == of && pull.owner.is_none() && pull.is_open())
        });
        if nobodys.await.unwrap_or_default() {
            self.see_where_sessions_stand(project).await;
        }
    }

    /// Looks at pull requests of one project, and returns what was seen once the engine knows it.
    pub async fn see(&self, pulls: &[PullId]) -> Result<Vec<(PullId, PullFacts)>, LookError> {
        let LookResult { seen, unread } = self.look_and_tell(pulls).await?;
        unread.into_iter().for_each(|pull| self.asked.again(LookHint::Pull(pull), None));
        Ok(seen)
    }

    async fn look_and_tell(&self, pulls: &[PullId]) -> Result<LookResult, LookError> {
        let Some(first) = pulls.first() else { return Ok(LookResult::default()) };
        let scm = self.scm(&first.project)?;
        let turn = {
            let mut looking = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
            looking.entry(first.project.clone()).or_default().clone()
        };
        let _turn = turn.lock().await;
        let seen = scm.pulls(pulls).await?;
        // After the look and before the engine hears of it: nothing is judged by an older policy than its base has.
        if self.see_policy(&first.project).await? {
            // What the others add may have to be looked through now.
            self.asked.hint(LookHint::Project(first.project.clone()));
        }
        for (pull, facts) in &seen {
            let input = PullInput::Seen(Box::new(facts.clone()));
            self.handle.ask(Input::Pull { pull: pull.clone(), input }).await?;
        }
        let unread = self.look_through(&*scm, &seen).await?;
        Ok(LookResult { seen, unread })
    }

    /// Looks at all open tasks of a project that picks them up by itself, and returns which those are.
    async fn see_open_tasks(&self, project: &ProjectId) -> Result<BTreeSet<TaskId>, LookError> {
        if !self.picks_up(project).await? {
            return Ok(BTreeSet::new());
        }
        let tracker = self.tracker(project)?;
        let open = TaskFilter { closed: Some(false), limit: OPEN_TASKS, ..TaskFilter::default() };
        let tasks = match tracker.list(project, &open).await {
            Err(TrackerError::Unsupported { .. }) => self.changed_tasks(&*tracker, project).await?,
            tasks => tasks?,
        };
        let mut listed = BTreeSet::new();
        for seen in tasks {
            listed.insert(seen.task.clone());
            self.handle.ask(Input::Task { task: seen.task, facts: Box::new(seen.facts) }).await?;
        }
        Ok(listed)
    }

    /// Lists the open tasks of a tracker that cannot list: all changes ever, page by page.
    async fn changed_tasks(
        &self,
        tracker: &dyn Tracker,
        project: &ProjectId,
    ) -> Result<Vec<TaskSeen>, LookError> {
        let (mut tasks, mut page) = (Vec::new(), None);
        loop {
            let found = tracker.changed(project, Timestamp(0), page.as_deref()).await?;
            tasks.extend(found.tasks.into_iter().filter(|seen| !seen.facts.closed));
            match found.next {
                Some(next) if tasks.len() < OPEN_TASKS => page = Some(next),
                _ => return Ok(tasks),
            }
        }
    }

    /// Returns true if a project starts tasks by itself.
    async fn picks_up(&self, project: &ProjectId) -> Result<bool, LookError> {
        let of = project.clone();
        let picks = move |state: &State| {
            state.projects.get(&of).is_some_and(|project| project.config.auto_assign.is_some())
        };
        Ok(self.handle.view(picks).await?)
    }

    /// Looks at a task and at those that wait for it, as far as the engine needs them.
    async fn see_task(&self, hinted: &TaskId) -> Result<(), LookError> {
        let changed = hinted.clone();
        let concerned = self.handle.view(move |state| {
            let waits = |(id, facts): (&TaskId, &TaskFacts)| {
                (*id == changed || facts.blocked_by.contains(&changed)).then(|| id.clone())
            };
            let picked_up = state
                .projects
                .get(&changed.project)
                .is_some_and(|project| project.config.auto_assign.is_some());
            let mut concerned: BTreeSet<TaskId> = state.tasks.iter().filter_map(waits).collect();
            concerned.extend(picked_up.then(|| changed.clone()));
            concerned
        });
        for task in concerned.await? {
            match self.task(&task, TaskReceiver::Engine).await {
                // It does not affect the work on it, but no new work starts.
                Ok(_) | Err(LookError::Service(TrackerError::NotFound { .. })) => {}
                Err(err) => return Err(err),
            }
        }
        Ok(())
    }

    /// Looks at a task, and gives the engine what was seen. A task that is gone is closed for the engine, unless a session
    /// works on it.
    pub async fn task(&self, id: &TaskId, receiver: TaskReceiver) -> Result<TaskSeen, LookError> {
        let seen = match self.tracker(&id.project)?.task(id).await {
            Err(err @ TrackerError::NotFound { .. }) => {
                self.close_missing(id).await?;
                return Err(err.into());
            }
            seen => seen?,
        };
        // Of the names that an issue can be called by, the tracker knows the one that counts.
        let task = seen.task.clone();
        let of = task.clone();
        let takes = match receiver {
            TaskReceiver::Engine => true,
            TaskReceiver::EngineIfKnown => {
                self.handle.view(move |state| state.tasks.contains_key(&of)).await?
            }
        };
        if takes {
            self.handle.ask(Input::Task { task, facts: Box::new(seen.facts.clone()) }).await?;
        }
        Ok(seen)
    }

    /// Lets the engine forget a task that is gone and that no session works on.
    async fn close_missing(&self, id: &TaskId) -> Result<(), LookError> {
        let of = id.clone();
        let idle = self.handle.view(move |state| {
            state.tasks.get(&of).filter(|_| state.live_session_of(&of).is_none()).cloned()
        });
        if let Some(known) = idle.await? {
            // Later than what is known, also if that was seen in this very moment: or it would be passed over.
            let observed = self.clock.now().max(known.observed + Duration::from_millis(1));
            let facts = TaskFacts { closed: true, observed, ..known };
            self.handle.ask(Input::Task { task: id.clone(), facts: Box::new(facts) }).await?;
        }
        Ok(())
    }

    /// The pull requests of a project that are open at its forge, or were when we last looked.
    async fn pulls_of(&self, project: &ProjectId) -> Result<BTreeSet<PullId>, LookError> {
        let Ok(scm) = self.scm(project) else { return Ok(BTreeSet::new()) };
        let mut pulls: BTreeSet<PullId> = scm.open_pulls(project).await?.into_iter().collect();
        let of = project.clone();
        let known = self.handle.view(move |state: &State| {
            let open = state.pulls.values().filter(|pull| pull.id.project == of && pull.is_open());
            open.map(|pull| pull.id.clone()).collect::<Vec<_>>()
        });
        pulls.extend(known.await?);
        Ok(pulls)
    }

    async fn tasks_of(&self, project: &ProjectId) -> Result<Vec<TaskId>, LookError> {
        let of = project.clone();
        let known = self.handle.view(move |state| {
            state.tasks.keys().filter(|task| task.project == of).cloned().collect::<Vec<_>>()
        });
        Ok(known.await?)
    }

    /// Looks at the branches that agents are on. An agent may have renamed its branch, or switched to another one,
    /// and branches decide who owns a pull request.
    pub async fn see_where_sessions_stand(&self, project: &ProjectId) {
        let of = project.clone();
        let trees = self.handle.view(move |state| {
            let Some(project) = state.projects.get(&of) else { return vec![] };
            let with_trees = state.live_in(&of).filter(|session| session.workspace.tree.is_some());
            let tree = |session: &Session| (session.spec.workspace.clone(), tree_of(project, session));
            with_trees.map(tree).collect::<Vec<_>>()
        });
        for (kind, tree) in trees.await.unwrap_or_default() {
            let Some(workspace) = self.workspaces.get(&kind) else { continue };
            if let Some(stand) = workspace.whereabouts(&tree).await.stand {
                let input = SessionInput::CheckedOut { checked_out: stand };
                // It may have ended meanwhile.
                self.handle.ask(Input::Session { session: tree.session, input }).await.ok();
            }
        }
    }

    /// Handles the result of a look; one that failed is repeated later. Without a forge it is not repeated: the next
    /// one that is configured is asked about everything anyway.
    fn settled<T>(&self, hint: LookHint, outcome: Result<T, &LookError>) -> Option<T> {
        match outcome {
            Ok(done) => {
                self.asked.answered(&hint);
                Some(done)
            }
            Err(LookError::NoForge(_) | LookError::NoTracker(_)) => {
                self.asked.answered(&hint);
                None
            }
            Err(LookError::Service(err)) if let Some(after) = err.limited_for() => {
                self.asked.again(hint, Some(after));
                None
            }
            Err(err) => {
                tracing::warn!(?hint, %err, "a look at a forge failed; it is repeated");
                self.asked.again(hint, None);
                None
            }
        }
    }
}

/// Returns the known tasks that a list of open ones has not: closed, gone, or too many for it. All, if there is no
/// list.
fn left_to_ask(known: Vec<TaskId>, listed: Option<&BTreeSet<TaskId>>) -> impl Iterator<Item = TaskId> {
    known.into_iter().filter(move |task| listed.is_none_or(|listed| !listed.contains(task)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tasks_that_were_not_in_the_list_are_asked_for() {
        let task = |key: &str| TaskId { project: ProjectId::new("app"), key: key.into() };
        let known = || vec![task("1"), task("2"), task("3")];
        let listed = BTreeSet::from([task("1"), task("3"), task("4")]);
        assert_eq!(left_to_ask(known(), Some(&listed)).collect::<Vec<_>>(), [task("2")]);
        assert_eq!(left_to_ask(known(), None).collect::<Vec<_>>(), known());
    }
}
