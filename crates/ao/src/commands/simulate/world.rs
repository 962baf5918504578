//! A made-up world: agents that finish, fail, ask, stop and crash, checks that are red or flaky, reviewers with
//! opinions, branches that conflict, and a person who answers after a while. The seed decides everything.
//!
//! It is no forecast: the frequency of problems is made up; the reactions to them are real.

mod forge;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ao_config::shape::Config;
use ao_core::assign::task_obstacle;
use ao_core::errand::{ErrandEvent, JobOrder};
use ao_core::evidence::Reading;
use ao_core::incident::{IncidentKind, Subject};
use ao_core::notice::NoticeEvent;
use ao_core::queue::QueueEvent;
use ao_core::schedule::Obstacle;
use ao_core::session::{MessageKind, SessionEvent};
use ao_core::task::TaskFacts;
use ao_core::{Event, Input, ProjectId, SessionId, TaskId, Timestamp};
use serde_json::Value;

use super::action::SimulatedAction;
use super::simulation::Simulation;
use crate::error::{CommandError, FailureKind};

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;

/// Simulates a made-up world and returns what would have been done.
pub(super) fn play(
    simulation: Simulation,
    config: &Config,
    seed: u64,
    sessions: u32,
    days: u32,
) -> Result<Vec<SimulatedAction>, CommandError> {
    let projects: Vec<SimulatedProject> = config
        .projects
        .keys()
        .filter_map(|name| config.effective(name))
        .map(|it| SimulatedProject { id: ProjectId::new(it.name), base: it.project.default_branch.clone() })
        .collect();
    if projects.is_empty() {
        return Err(CommandError::new(FailureKind::Config, "the configuration has no project to simulate")
            .hint("name one under `projects:`, or name another file with `--config`"));
    }
    let ends = simulation.now + Duration::from_secs(u64::from(days) * 24 * HOUR);
    let mut world = SimulatedWorld {
        simulation,
        random: fastrand::Rng::with_seed(seed),
        projects,
        to_come: BTreeMap::new(),
        drawn: 0,
        pulls: BTreeMap::new(),
    };
    // People think of work in the first three quarters of the time.
    let span = u64::from(days) * 18 * HOUR;
    for number in 1..=sessions {
        let at = world.random.u64(0..span);
        world.later(at, WorldEvent::Wish(number));
    }
    world.goes_on(ends);
    world.simulation.ended()
}

/// The next thing to happen in the world.
#[derive(Debug, Clone)]
enum WorldEvent {
    /// A person requests work on an issue.
    Wish(u32),
    /// An agent has worked long enough.
    Worked(SessionId),
    /// The checks of a pull request end; `can_fail` if they may be red.
    Checked {
        pull: u64,
        can_fail: bool,
    },
    /// A failed check was run again.
    Rerun {
        pull: u64,
    },
    Reviewed {
        pull: u64,
    },
    /// An agent has dealt with a message.
    Mended {
        pull: u64,
    },
    Landed {
        pull: u64,
    },
    /// A person answers a session that asked.
    Answered(SessionId),
}

/// A pull request on the simulated forge.
#[derive(Debug, Clone)]
struct SimulatedPull {
    project: ProjectId,
    facts: Value,
    session: SessionId,
    flaky: bool,
    commits: u32,
    reviewed: u32,
}

/// A project of the world.
#[derive(Debug, Clone)]
struct SimulatedProject {
    id: ProjectId,
    base: String,
}

struct SimulatedWorld {
    simulation: Simulation,
    random: fastrand::Rng,
    projects: Vec<SimulatedProject>,
    to_come: BTreeMap<(Timestamp, u64), WorldEvent>,
    drawn: u64,
    pulls: BTreeMap<u64, SimulatedPull>,
}

impl SimulatedWorld {
    fn goes_on(&mut self, ends: Timestamp) {
        loop {
            // Timers of the core come before events of the world.
            let next = self.to_come.keys().next().map_or(ends, |(at, _)| *at);
            let next = self.simulation.state.next_due().map_or(next, |due| due.min(next));
            if next >= ends || self.simulation.is_endless() {
                break;
            }
            self.simulation.until(next);
            self.react();
            while let Some(entry) =
                self.to_come.first_entry().filter(|entry| entry.key().0 <= self.simulation.now)
            {
                let act = entry.remove();
                self.act(act);
                self.react();
            }
        }
    }

    fn later(&mut self, seconds: u64, act: WorldEvent) {
        self.drawn += 1;
        self.to_come.insert((self.simulation.now + Duration::from_secs(seconds), self.drawn), act);
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.random.u32(0..100) < percent
    }

    /// Returns a time between `seconds` and twice that.
    fn about(&mut self, seconds: u64) -> u64 {
        self.random.u64(seconds..seconds * 2)
    }

    /// Reacts to what the core has done.
    fn react(&mut self) {
        while let Some(stamped) = self.simulation.next_event() {
            match stamped.event {
                Event::Session(id, SessionEvent::Accepted { .. }) => {
                    self.simulation.busy.insert(id);
                    self.simulation.shows(id, Reading::Working { doing: "its task".into() });
                    let worked = self.about(15 * MINUTE);
                    self.later(worked, WorldEvent::Worked(id));
                }
                Event::Session(_, SessionEvent::MessageQueued { message, .. }) => {
                    let MessageKind::News { incident } = &message.kind else { continue };
                    if let Subject::Pull(pull) = &incident.subject {
                        let mended = self.about(10 * MINUTE);
                        self.later(mended, WorldEvent::Mended { pull: pull.number });
                    }
                }
                Event::Errand(_, ErrandEvent::Wanted { errand }) => {
                    if let JobOrder::Rerun { pull, .. } = &errand.order {
                        let run = self.about(4 * MINUTE);
                        self.later(run, WorldEvent::Rerun { pull: pull.number });
                    }
                }
                Event::Queue(_, QueueEvent::Enqueued { pull, .. }) => {
                    let tested = self.about(5 * MINUTE);
                    self.later(tested, WorldEvent::Landed { pull: pull.number });
                }
                Event::Notice(_, NoticeEvent::Raised { notice }) => {
                    let kind = notice.incident.as_ref().map(|incident| &incident.kind);
                    match (&notice.subject, kind) {
                        (Subject::Session(id), _) => {
                            let (id, back) = (*id, self.about(HOUR));
                            self.later(back, WorldEvent::Answered(id));
                        }
                        // The person merges it some time after the notice.
                        (Subject::Pull(pull), Some(IncidentKind::ApprovedAndGreen)) => {
                            let (pull, back) = (pull.number, self.about(2 * HOUR));
                            self.later(back, WorldEvent::Landed { pull });
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
    }

    fn act(&mut self, act: WorldEvent) {
        match act {
            WorldEvent::Wish(number) => self.wish(number),
            WorldEvent::Worked(session) => self.worked(session),
            WorldEvent::Checked { pull, can_fail } => self.checked(pull, can_fail),
            WorldEvent::Rerun { pull } => self.rerun(pull),
            WorldEvent::Reviewed { pull } => self.reviewed(pull),
            WorldEvent::Mended { pull } => self.mended(pull),
            WorldEvent::Landed { pull } => self.landed(pull),
            WorldEvent::Answered(session) => {
                self.simulation.shows(session, Reading::Working { doing: "what you said".into() });
                self.simulation.busy.insert(session);
                let worked = self.about(10 * MINUTE);
                self.later(worked, WorldEvent::Worked(session));
            }
        }
    }

    fn wish(&mut self, number: u32) {
        let project = self.projects[self.random.usize(0..self.projects.len())].id.clone();
        let task = TaskId { project, key: number.to_string() };
        let facts = TaskFacts {
            observed: self.simulation.now,
            title: format!("Issue {number}"),
            labels: self.some_labels(),
            priority: self.random.i32(0..4),
            blocked_by: BTreeSet::new(),
            closed: false,
            trusted: true,
            branch: None,
            author: None,
        };
        self.simulation.take(Input::Task { task: task.clone(), facts: Box::new(facts) });
        // An issue that is assigned automatically needs no person.
        let state = &self.simulation.state;
        let obstacle = task_obstacle(state, &task, self.simulation.now);
        let by_itself = obstacle.is_some_and(|obstacle| obstacle != Obstacle::NoSpecialist);
        if by_itself || state.live_session_of(&task).is_some() {
            return;
        }
        let request = self.simulation.crew.request(state, &task, None);
        self.simulation.take(Input::Spawn(Box::new(request)));
    }

    /// Picks up to two labels, of those in the configuration and one that is not.
    fn some_labels(&mut self) -> BTreeSet<String> {
        let known = self.simulation.crew.labels.len();
        let mut labels = BTreeSet::new();
        for _ in 0..self.random.usize(0..3) {
            let at = self.random.usize(0..=known);
            labels.insert(self.simulation.crew.labels.get(at).cloned().unwrap_or_else(|| "later".into()));
        }
        labels
    }

    /// Ends a turn of an agent: mostly with a pull request, otherwise with a problem.
    fn worked(&mut self, session: SessionId) {
        self.simulation.busy.remove(&session);
        let known = self.simulation.state.sessions.get(&session);
        let Some(branch) = known.filter(|it| it.is_live()).map(|it| it.spec.branch.clone()) else { return };
        if self.pulls.values().any(|pull| pull.session == session) {
            self.simulation.shows(session, Reading::Idle);
            return;
        }
        match self.random.u32(0..100) {
            0..8 => {
                self.simulation
                    .shows(session, Reading::Asking { question: "May I install a package?".into() });
            }
            8..14 => self.simulation.shows(session, Reading::Exited { code: Some(1) }),
            14..22 => self.simulation.shows(session, Reading::Idle),
            22..26 => {
                let until = Some(self.simulation.now + Duration::from_secs(HOUR));
                self.simulation.shows(session, Reading::Limited { until });
            }
            _ => {
                self.simulation.shows(session, Reading::Idle);
                self.propose(session, &branch);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::simulate::action::ActionKind;
    use crate::commands::simulate::{MORNING, config};

    fn deeds(yaml: &str, seed: u64) -> Vec<SimulatedAction> {
        played(&format!("projects: {{ app: {{ path: /tmp/app }} }}\n{yaml}"), seed)
    }

    fn played(yaml: &str, seed: u64) -> Vec<SimulatedAction> {
        let config = config(yaml);
        play(Simulation::new(&config, MORNING), &config, seed, 12, 1).expect("there is a project")
    }

    fn count(deeds: &[SimulatedAction], is: impl Fn(&ActionKind) -> bool) -> usize {
        deeds.iter().filter(|deed| is(&deed.what)).count()
    }

    #[test]
    fn a_seed_gives_the_same_world_again_and_another_one_another() {
        assert_eq!(deeds("", 3), deeds("", 3));
        assert_ne!(deeds("", 3), deeds("", 4));
    }

    #[test]
    fn what_is_configured_is_what_is_done() {
        let merges = |what: &ActionKind| matches!(what, ActionKind::Merge {});
        assert_eq!(count(&deeds("", 1), merges), 0, "merging is off until somebody switches it on");
        let auto = deeds("reactions: { approved-and-green: { auto: true, action: merge } }", 1);
        assert!(count(&auto, merges) > 3, "{auto:#?}");
        let told =
            |what: &ActionKind| matches!(what, ActionKind::Reaction { event, .. } if event == "ci-failed");
        assert!((1..10).any(|seed| count(&deeds("", seed), told) > 0));
        assert!(
            (1..10)
                .all(|seed| count(&deeds("reactions: { ci-failed: { action: record } }", seed), told) == 0)
        );
        let waits = |what: &ActionKind| matches!(what, ActionKind::Wait { .. });
        assert!(count(&deeds("lifecycle: { maxParallelAgents: 1 }", 1), waits) > 0);
    }

    #[test]
    fn a_flake_wakes_nobody_and_a_real_failure_does() {
        let all: Vec<SimulatedAction> = (1..20).flat_map(|seed| deeds("", seed)).collect();
        let doubted = count(&all, |what| matches!(what, ActionKind::Doubt { event } if event == "ci-failed"));
        let told =
            count(&all, |what| matches!(what, ActionKind::Reaction { event, .. } if event == "ci-failed"));
        assert!(told > 0 && doubted > told, "{doubted} doubted, {told} told");
    }

    #[test]
    fn issues_that_are_picked_up_by_themselves_get_their_sessions_and_their_specialists() {
        let yaml = "projects: { app: { path: /tmp/app, autoAssign: { labels: [docs, bug] } } }\n\
                    agents: [{ id: writer, tool: claude-code, config: { filters: { labels: [docs] } } }]\n\
                    reactions: { approved-and-green: { auto: true, action: merge } }";
        let all: Vec<SimulatedAction> = (1..6).flat_map(|seed| played(yaml, seed)).collect();
        let begun = |words: &str| {
            count(
                &all,
                |what| matches!(what, ActionKind::Errand { order } if order.starts_with("starts the task") && order.contains(words)),
            )
        };
        assert!(begun("") > begun("writer") && begun("writer") > 0, "{all:#?}");
        // As many as were requested, so each was started once.
        assert!(begun("") <= 60, "{} begun", begun(""));
        let one = "projects: { app: { path: /tmp/app, autoAssign: true } }\n\
                   reactions: { approved-and-green: { auto: true, action: merge } }";
        let alone = played(one, 1);
        let begun =
            count(&alone, |what| matches!(what, ActionKind::Errand { order } if order.starts_with("begins")));
        assert_eq!(begun, 12);
        assert!(
            count(&alone, |what| matches!(what, ActionKind::Merge {})) > 3,
            "their agents work: {alone:#?}"
        );
    }

    #[test]
    fn every_project_has_a_part() {
        let yaml = "projects: { app: { path: /tmp/app }, web: { path: /tmp/web } }\n\
                    reactions: { approved-and-green: { auto: true, action: merge } }";
        let all = played(yaml, 1);
        for project in ["app!", "web!"] {
            let of_it = all.iter().filter(|deed| deed.about.starts_with(project));
            assert!(
                of_it.filter(|deed| deed.what == ActionKind::Merge {}).count() > 0,
                "{project}: {all:#?}"
            );
        }
    }
}
