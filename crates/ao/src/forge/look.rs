//! Looks at what is worth asking about, and tells the engine what was seen.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use ao_core::pull::{PullFacts, PullInput};
use ao_core::session::{Session, SessionInput};
use ao_core::{Input, ProjectId, PullId, State, TaskId};
use ao_engine::AskError;
use ao_ports::{Hint, Hints as _, TrackerError};

use super::Forges;
use crate::host::cleanup::order_of;

/// Why nothing was seen.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LookError {
    #[error("{0}")]
    NoForge(String),
    #[error(transparent)]
    Forge(#[from] TrackerError),
    #[error(transparent)]
    Engine(#[from] AskError),
}

impl Forges {
    /// Looks whenever there is a hint, until it is dropped.
    pub(crate) async fn run(self: Arc<Forges>) {
        loop {
            let hints = self.asked.take().await;
            let mut pulls: BTreeMap<ProjectId, BTreeSet<PullId>> = BTreeMap::new();
            let mut tasks: BTreeSet<TaskId> = BTreeSet::new();
            for hint in hints {
                match hint {
                    Hint::Pull(pull) => {
                        pulls.entry(pull.project.clone()).or_default().insert(pull);
                    }
                    Hint::Task(task) => {
                        tasks.insert(task);
                    }
                    Hint::Project(project) => {
                        // Whether or not anything is open: who has broken it wants to know.
                        let found = match self.see_policy(&project).await {
                            Ok(_) => self.pulls_of(&project).await,
                            Err(err) => Err(err),
                        };
                        let found =
                            self.settled(Hint::Project(project.clone()), found.as_ref().map(Clone::clone));
                        pulls.entry(project.clone()).or_default().extend(found.unwrap_or_default());
                        tasks.extend(self.tasks_of(&project).await.unwrap_or_default());
                    }
                }
            }
            for (project, pulls) in pulls {
                let pulls: Vec<PullId> = pulls.into_iter().collect();
                let seen = self.see(&pulls).await;
                for pull in pulls {
                    self.settled(Hint::Pull(pull), seen.as_ref().map(|_| ()));
                }
                let of = project.clone();
                let nobodys = self.handle.view(move |state| {
                    state
                        .pulls
                        .values()
                        .any(|pull| pull.id.project == of && pull.owner.is_none() && pull.is_open())
                });
                if nobodys.await.unwrap_or_default() {
                    self.see_where_sessions_stand(&project).await;
                }
            }
            for task in tasks {
                let seen = self.see_task(&task).await;
                self.settled(Hint::Task(task), seen.as_ref().copied());
            }
        }
    }

    /// Looks at pull requests of one project, and returns what was seen once the engine knows it.
    pub(crate) async fn see(&self, pulls: &[PullId]) -> Result<Vec<(PullId, PullFacts)>, LookError> {
        let Some(first) = pulls.first() else { return Ok(vec![]) };
        let scm = self.scm(&first.project).map_err(LookError::NoForge)?;
        let turn = {
            let mut looking = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
            looking.entry(first.project.clone()).or_default().clone()
        };
        let _turn = turn.lock().await;
        let seen = scm.pulls(pulls).await?;
        // After the look and before the engine hears of it: nothing is judged by an older policy than its base has.
        if self.see_policy(&first.project).await? {
            // What the others add may have to be looked through now.
            self.asked.hint(Hint::Project(first.project.clone()));
        }
        for (pull, facts) in &seen {
            let input = PullInput::Seen(Box::new(facts.clone()));
            self.handle.ask(Input::Pull { pull: pull.clone(), input }).await?;
        }
        self.look_through(&*scm, &seen).await?;
        Ok(seen)
    }

    /// Looks at a task and at those that wait for it, as far as somebody here has to do with them.
    async fn see_task(&self, hinted: &TaskId) -> Result<(), LookError> {
        let changed = hinted.clone();
        let concerned = self.handle.view(move |state| {
            let waits = |(id, facts): (&TaskId, &ao_core::task::TaskFacts)| {
                (*id == changed || facts.blocked_by.contains(&changed)).then(|| id.clone())
            };
            state.tasks.iter().filter_map(waits).collect::<Vec<_>>()
        });
        let tracker = self.tracker(&hinted.project).map_err(LookError::NoForge)?;
        for task in concerned.await? {
            let seen = match tracker.task(&task).await {
                // It is gone, which says nothing about the work on it.
                Err(TrackerError::NotFound { .. }) => continue,
                seen => seen?,
            };
            self.handle.ask(Input::Task { task, facts: Box::new(seen.facts) }).await?;
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

    /// An agent may have renamed its branch, or gone on to another one. That tells whose pull request is whose.
    pub(crate) async fn see_where_sessions_stand(&self, project: &ProjectId) {
        let of = project.clone();
        let orders = self.handle.view(move |state| {
            let Some(project) = state.projects.get(&of) else { return vec![] };
            let with_trees = state.live_in(&of).filter(|session| session.workspace.tree.is_some());
            let order = |session: &Session| (session.spec.workspace.clone(), order_of(project, session));
            with_trees.map(order).collect::<Vec<_>>()
        });
        for (kind, order) in orders.await.unwrap_or_default() {
            let Some(workspace) = self.workspaces.get(&kind) else { continue };
            if let Some(stand) = workspace.whereabouts(&order).await.stand {
                let input = SessionInput::Stands { stand };
                // It may have ended meanwhile.
                self.handle.ask(Input::Session { session: order.session, input }).await.ok();
            }
        }
    }

    /// What came of a look; one that got no answer is repeated later. Where there is nobody to ask, nobody is: whoever is
    /// configured next is asked about everything anyhow.
    fn settled<T>(&self, hint: Hint, outcome: Result<T, &LookError>) -> Option<T> {
        match outcome {
            Ok(done) => {
                self.asked.answered(&hint);
                Some(done)
            }
            Err(LookError::NoForge(_)) => {
                self.asked.answered(&hint);
                None
            }
            Err(err) => {
                tracing::warn!(?hint, %err, "a look at a forge failed; it is repeated");
                self.asked.again(hint);
                None
            }
        }
    }
}
