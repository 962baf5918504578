//! Tasks that are begun without anybody's word: which, by whom, how many at a time, and that each is begun once.

use std::collections::{BTreeMap, BTreeSet};

use ao_core::assign::{AutoAssign, SpecialistAgent, task_obstacle};
use ao_core::input::SpawnRequest;
use ao_core::job::{JobInput, JobOrder, JobOutcome};
use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::pull::{AuthorFacts, AuthorStanding};
use ao_core::schedule::{Obstacle, obstacle};
use ao_core::session::{Phase, SessionInput};
use ao_core::task::TaskFacts;
use ao_core::{DaemonSettings, Input, ProjectId, SessionId, State, TaskId};
use proptest::prelude::*;

use crate::desk::{Desk, TYPED, app, request, task};

/// A desk whose project picks up its tasks by itself.
pub(crate) fn picking(settings: DaemonSettings, change: impl FnOnce(&mut ProjectConfig)) -> Desk {
    let mut desk = Desk::with(settings);
    configure(&mut desk, &app(), change);
    desk
}

pub(crate) fn configure(desk: &mut Desk, project: &ProjectId, change: impl FnOnce(&mut ProjectConfig)) {
    let auto = AutoAssign { account: "scripted".into(), ..AutoAssign::default() };
    let mut config = ProjectConfig {
        path: format!("~/{project}"),
        default_branch: "main".into(),
        auto_assign: Some(auto),
        ..ProjectConfig::default()
    };
    change(&mut config);
    let input = ProjectInput::Configure(Box::new(config));
    desk.take(Input::Project { project: project.clone(), input });
}

pub(crate) fn caps(max_live: u32) -> DaemonSettings {
    DaemonSettings { max_live, ..DaemonSettings::default() }
}

pub(crate) fn words(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

pub(crate) fn specialist(id: &str, labels: &[&str], max_parallel: Option<u32>) -> SpecialistAgent {
    SpecialistAgent {
        id: id.into(),
        labels: words(labels),
        max_parallel,
        account: id.into(),
        ..SpecialistAgent::default()
    }
}

fn see(desk: &mut Desk, id: &TaskId, change: impl FnOnce(&mut TaskFacts)) {
    let mut facts = TaskFacts {
        observed: desk.now,
        title: id.key.clone(),
        labels: BTreeSet::new(),
        priority: 0,
        blocked_by: BTreeSet::new(),
        closed: false,
        trusted: true,
        branch: None,
        author: None,
    };
    change(&mut facts);
    desk.now = desk.now + std::time::Duration::from_millis(1);
    facts.observed = desk.now;
    desk.take(Input::Task { task: id.clone(), facts: Box::new(facts) });
}

/// What is to be begun, and by whom.
pub(crate) fn ordered(state: &State) -> Vec<(String, Option<String>)> {
    let orders = state.jobs.values().map(|job| &job.order);
    orders
        .filter_map(|order| match order {
            JobOrder::Assign { task, agent, .. } => Some((task.key.clone(), agent.clone())),
            _ => None,
        })
        .collect()
}

/// Does what the daemon does: makes the sessions that are ordered.
pub(crate) fn begin(desk: &mut Desk) -> Vec<SessionId> {
    let mut made = Vec::new();
    while let Some(job) = desk.state.jobs.values().next().cloned() {
        let JobOrder::Assign { task, agent, .. } = &job.order else { panic!("{job:?}") };
        // The daemon reads the task again, and finds it closed.
        if let Some(facts) = desk.state.tasks.get(task) {
            let mut order: SpawnRequest = request(&task.key, TYPED);
            order.project = task.project.clone();
            order.task = Some(task.clone());
            order.priority = facts.priority;
            order.agent.specialist.clone_from(agent);
            let events = desk.take(Input::Spawn(Box::new(order)));
            made.extend(events.iter().find_map(ao_core::Event::session));
        }
        let outcome = JobOutcome::Done { said: "begun".into() };
        desk.take(Input::Job { job: job.id, input: JobInput::Done { tries: job.tries, outcome } });
    }
    made
}

pub(crate) fn stop(desk: &mut Desk, session: SessionId) {
    if let Phase::Preparing { .. } = desk.session(session).phase {
        desk.make_ready(session);
        desk.launch(session);
    }
    desk.tell(session, SessionInput::Stop { by: "ann".into(), why: "enough".into() });
    if desk.session(session).is_live() {
        desk.ended(session);
    }
}

#[test]
fn a_task_is_begun_once_however_often_it_is_seen() {
    let mut desk = picking(caps(4), |_| {});
    desk.task("1", &[], false);
    assert_eq!(ordered(&desk.state), [("1".into(), None)]);
    desk.task_with("1", |facts| facts.title = "another title".into());
    assert_eq!(ordered(&desk.state).len(), 1);
    let made = begin(&mut desk);
    desk.task_with("1", |facts| facts.title = "a third".into());
    assert_eq!((made.len(), ordered(&desk.state)), (1, vec![]));
    // Its session ends without a merge: another one is a person's word.
    stop(&mut desk, made[0]);
    desk.task_with("1", |facts| facts.title = "a fourth".into());
    desk.wait(3 * 24 * 3600);
    desk.task("1", &[], true);
    desk.task_with("1", |facts| facts.title = "opened again".into());
    assert_eq!(ordered(&desk.state), []);
    assert_eq!(task_obstacle(&desk.state, &task("1"), desk.now), Some(Obstacle::Worked));
    desk.spawn("1");
    let read_back = State::from_snapshot(&desk.state.to_snapshot()).unwrap();
    assert_eq!(read_back.worked, [task("1")].into());
}

/// acceptance: F10
#[test]
fn what_is_blocked_is_begun_when_its_blocker_is_closed() {
    let mut desk = picking(caps(4), |config| {
        config.auto_assign.as_mut().unwrap().exclude_labels = words(&["later"]);
    });
    desk.task_with("9", |facts| facts.labels = words(&["Later"]));
    desk.task("10", &["9"], false);
    assert_eq!(ordered(&desk.state), []);
    assert_eq!(task_obstacle(&desk.state, &task("10"), desk.now), Some(Obstacle::BlockedBy(task("9"))));
    desk.task("9", &[], true);
    assert_eq!(ordered(&desk.state), [("10".into(), None)]);
    assert!(!desk.state.tasks.contains_key(&task("9")), "what is closed and nobody's is forgotten");
}

#[test]
fn an_outsiders_task_waits_for_somebody_who_answers_for_it() {
    let mut desk = picking(caps(4), |config| {
        config.auto_assign.as_mut().unwrap().approval_label = Some("agents-welcome".into());
    });
    let outsider = AuthorFacts { login: "eve".into(), standing: AuthorStanding::Outsider };
    desk.task_with("1", |facts| {
        facts.trusted = false;
        facts.author = Some(outsider.clone());
    });
    assert_eq!(ordered(&desk.state), []);
    let obstacle = task_obstacle(&desk.state, &task("1"), desk.now);
    assert!(
        matches!(&obstacle, Some(Obstacle::Untrusted { author }) if author.contains("eve")),
        "{obstacle:?}"
    );
    desk.task_with("1", |facts| {
        facts.trusted = false;
        facts.author = Some(outsider);
        facts.labels = words(&["Agents-Welcome"]);
    });
    assert_eq!(ordered(&desk.state), [("1".into(), None)]);
    assert_eq!(begin(&mut desk).len(), 1, "the label counts for the session too");
}

#[test]
fn labels_say_who_and_a_full_specialist_lets_the_others_pass() {
    let mut desk = picking(caps(8), |config| {
        config.specialists = vec![specialist("front", &["ui"], Some(1)), specialist("back", &["api"], None)];
        config.auto_assign.as_mut().unwrap().specialists_only = true;
    });
    for (key, label) in [("1", "ui"), ("2", "ui"), ("3", "api"), ("4", "docs")] {
        desk.task_with(key, |facts| facts.labels = words(&[label]));
    }
    let who = |key: &str, id: &str| (key.to_owned(), Some(id.to_owned()));
    assert_eq!(ordered(&desk.state), [who("1", "front"), who("3", "back")]);
    let made = begin(&mut desk);
    let why = |desk: &Desk, key| task_obstacle(&desk.state, &task(key), desk.now);
    assert_eq!(why(&desk, "2"), Some(Obstacle::SpecialistCap { id: "front".into(), max: 1 }));
    assert_eq!(why(&desk, "4"), Some(Obstacle::NoSpecialist));
    // Also a session that a person wishes for waits for its specialist.
    let mut order = request("5", TYPED);
    order.agent.specialist = Some("front".into());
    let wished = desk.take(Input::Spawn(Box::new(order)));
    let wished = wished.iter().find_map(ao_core::Event::session).unwrap();
    let cap = Obstacle::SpecialistCap { id: "front".into(), max: 1 };
    assert_eq!(obstacle(&desk.state, desk.session(wished)), Some(cap));
    stop(&mut desk, made[0]);
    assert!(desk.session(wished).takes_slot(), "who was there first is first");
    assert_eq!(ordered(&desk.state), []);
    stop(&mut desk, wished);
    assert_eq!(ordered(&desk.state), [who("2", "front")]);
}

#[test]
fn nothing_is_picked_up_without_memory_quota_or_budget() {
    let mut desk = picking(DaemonSettings { min_free_mb: 500, ..caps(4) }, |_| {});
    desk.take(Input::Host { free_mb: 100 });
    desk.task("1", &[], false);
    let why = |desk: &Desk| task_obstacle(&desk.state, &task("1"), desk.now);
    assert_eq!((ordered(&desk.state), why(&desk)), (vec![], Some(Obstacle::Memory { free_mb: 100 })));
    let until = desk.now + std::time::Duration::from_secs(60);
    desk.take(Input::AccountLimited { account: "scripted".into(), until });
    desk.take(Input::Host { free_mb: 9000 });
    assert_eq!((ordered(&desk.state), why(&desk)), (vec![], Some(Obstacle::Account("scripted".into()))));
    desk.wait(61);
    assert_eq!(ordered(&desk.state), [("1".into(), None)]);
}

#[test]
fn what_nobody_can_be_given_to_is_told_once_and_tried_again_when_something_changed() {
    let mut desk = picking(caps(4), |_| {});
    desk.task("1", &[], false);
    let fail = |desk: &mut Desk| {
        let orders = desk.run_jobs(|_| Err("the agent is not installed".into()));
        assert_eq!(orders.len(), 1, "{orders:?}");
    };
    fail(&mut desk);
    assert_eq!(desk.told(), ["app#1 was not given to an agent: the agent is not installed"]);
    desk.task("2", &["1"], false);
    assert_eq!(ordered(&desk.state), [], "one failure is no loop");
    let why = task_obstacle(&desk.state, &task("1"), desk.now);
    assert_eq!(why, Some(Obstacle::NotAssigned { why: "the agent is not installed".into() }));
    configure(&mut desk, &app(), |config| config.max_live = Some(3));
    fail(&mut desk);
    assert_eq!(desk.told().len(), 1, "the same reason is not told again");
    desk.wait(3600);
    desk.take(Input::Schedule);
    assert_eq!(ordered(&desk.state), [("1".into(), None)]);
}

#[test]
fn urgent_tasks_come_first_and_then_old_ones() {
    let mut desk = picking(caps(0), |_| {});
    for (key, priority) in [("10", 0), ("9", 0), ("11", 5)] {
        desk.task_with(key, |facts| facts.priority = priority);
    }
    let mut order = Vec::new();
    for room in 1..=3 {
        desk.take(Input::Configure(Box::new(caps(room))));
        order.extend(ordered(&desk.state).into_iter().map(|(key, _)| key));
        begin(&mut desk);
    }
    assert_eq!(order, ["11", "9", "10"]);
}

#[test]
fn projects_take_turns() {
    let mut desk = picking(caps(4), |_| {});
    let web = ProjectId::new("web");
    configure(&mut desk, &web, |_| {});
    desk.take(Input::Configure(Box::new(caps(0))));
    for n in 1..=9 {
        see(&mut desk, &task(&n.to_string()), |facts| facts.priority = 9);
    }
    for n in 1..=2 {
        see(&mut desk, &TaskId { project: web.clone(), key: n.to_string() }, |_| {});
    }
    desk.take(Input::Configure(Box::new(caps(4))));
    begin(&mut desk);
    let running = |desk: &Desk, project: &ProjectId| desk.state.slots_taken_in(project);
    assert_eq!((running(&desk, &app()), running(&desk, &web)), (2, 2), "priorities rank within a project");
}

#[derive(Debug, Clone)]
enum Deed {
    See { project: bool, key: u8, labels: u8, priority: i32, blocked_by: Option<u8>, closed: bool },
    Begin,
    End(usize),
    Memory(bool),
    Restart,
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        5 => (any::<bool>(), 1..9u8, 0..4u8, 0..3i32, proptest::option::weighted(0.2, 1..9u8), proptest::bool::weighted(0.1))
            .prop_map(|(project, key, labels, priority, blocked_by, closed)| Deed::See {
                project, key, labels, priority, blocked_by: blocked_by.filter(|blocker| *blocker < key), closed
            }),
        3 => Just(Deed::Begin),
        3 => any::<usize>().prop_map(Deed::End),
        1 => any::<bool>().prop_map(Deed::Memory),
        1 => Just(Deed::Restart),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// acceptance: L6
    #[test]
    fn no_cap_is_ever_passed_nothing_is_begun_twice_and_nobody_starves(
        all in 1..5u32,
        own in 1..4u32,
        special in 1..3u32,
        deeds in proptest::collection::vec(deed(), 1..60),
    ) {
        let settings = || DaemonSettings { min_free_mb: 500, ..caps(all) };
        let web = ProjectId::new("web");
        let specialists = vec![specialist("front", &["ui"], Some(special)), specialist("back", &["api"], None)];
        let mut desk = picking(settings(), |config| {
            config.max_live = Some(own);
            config.specialists.clone_from(&specialists);
        });
        configure(&mut desk, &web, |config| config.specialists.clone_from(&specialists));
        let mut made: BTreeMap<TaskId, u32> = BTreeMap::new();
        let mut check = |desk: &mut Desk, new: Vec<SessionId>| {
            for session in new {
                let task = desk.session(session).spec.task.clone().unwrap();
                *made.entry(task).or_default() += 1;
            }
            let of = |id: &str| {
                let mut live = desk.state.live().filter(|session| session.takes_slot());
                live.by_ref().filter(|session| session.spec.agent.specialist.as_deref() == Some(id)).count()
            };
            assert!(desk.state.slots_taken() <= all);
            assert!(desk.state.slots_taken_in(&app()) <= own);
            assert!(of("front") <= special as usize);
            assert!(made.values().all(|times| *times == 1), "{made:?}");
        };
        for deed in deeds {
            match deed {
                Deed::See { project, key, labels, priority, blocked_by, closed } => {
                    let project = if project { app() } else { web.clone() };
                    let id = |key: u8| TaskId { project: project.clone(), key: key.to_string() };
                    see(&mut desk, &id(key), |facts| {
                        let both = ["ui", "api"].into_iter().enumerate();
                        let has = both.filter(|(n, _)| labels & (1 << n) != 0);
                        facts.labels = has.map(|(_, label)| label.to_owned()).collect();
                        facts.priority = priority;
                        facts.blocked_by = blocked_by.map(id).into_iter().collect();
                        facts.closed = closed;
                    });
                    check(&mut desk, vec![]);
                }
                Deed::Begin => {
                    let new = begin(&mut desk);
                    check(&mut desk, new);
                }
                Deed::End(which) => {
                    let live: Vec<SessionId> = desk.state.live().map(|session| session.id).collect();
                    if !live.is_empty() {
                        stop(&mut desk, live[which % live.len()]);
                    }
                    check(&mut desk, vec![]);
                }
                Deed::Memory(enough) => {
                    desk.take(Input::Host { free_mb: if enough { 9000 } else { 1 } });
                }
                Deed::Restart => {
                    prop_assert_eq!(&State::from_snapshot(&desk.state.to_snapshot()).unwrap(), &desk.state);
                }
            }
        }
        // With memory, and as sessions end and blockers are closed, everything has its turn.
        desk.take(Input::Host { free_mb: 9000 });
        for _ in 0..64 {
            let new = begin(&mut desk);
            check(&mut desk, new);
            let live: Vec<SessionId> = desk.state.live().map(|session| session.id).collect();
            for session in live {
                stop(&mut desk, session);
            }
            let worked: Vec<TaskId> = desk.state.tasks.keys().filter(|id| desk.state.worked.contains(id)).cloned().collect();
            for id in worked {
                see(&mut desk, &id, |facts| facts.closed = true);
            }
        }
        let left: Vec<&TaskId> = desk
            .state
            .tasks
            .iter()
            .filter(|(id, facts)| !facts.closed && desk.state.open_blockers(facts).next().is_none() && !desk.state.worked.contains(id))
            .map(|(id, _)| id)
            .collect();
        prop_assert!(left.is_empty(), "{:?} never had a turn", left);
    }
}
