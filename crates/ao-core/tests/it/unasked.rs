//! What is not begun unasked, who does not keep others waiting, and when all work is said to be done.

use ao_core::assign::{still_wanted, task_obstacle};
use ao_core::budget::{SpendLimits, UsageTotal};
use ao_core::incident::IncidentKind;
use ao_core::job::{JobInput, JobOutcome};
use ao_core::project::ProjectConfig;
use ao_core::pull::{AuthorFacts, AuthorStanding};
use ao_core::schedule::Obstacle;
use ao_core::{Input, SessionId};

use crate::assign::{begin, caps, configure, ordered, picking, specialist, stop, words};
use crate::desk::{Desk, app, task};

fn wrote(standing: AuthorStanding) -> Option<AuthorFacts> {
    Some(AuthorFacts { login: "someone".into(), standing })
}

/// Whether it has been said that all work of the project is done.
fn complete(desk: &Desk) -> bool {
    desk.state.incidents.keys().any(|key| key.kind == IncidentKind::AllComplete)
}

fn excludes_later(config: &mut ProjectConfig) {
    config.auto_assign.as_mut().unwrap().exclude_labels = words(&["later"]);
}

/// A desk that has begun its first task.
fn at_work(change: impl FnOnce(&mut ProjectConfig)) -> (Desk, SessionId) {
    let mut desk = picking(caps(1), change);
    desk.task("1", &[], false);
    let made = begin(&mut desk);
    (desk, made[0])
}

#[test]
fn only_what_a_trusted_person_wrote_or_approved_is_begun_unasked() {
    let cases = [
        (AuthorStanding::Owner, true),
        (AuthorStanding::Member, true),
        (AuthorStanding::Collaborator, true),
        (AuthorStanding::Bot, false),
        (AuthorStanding::Agent, false),
        (AuthorStanding::Outsider, false),
    ];
    for (standing, begins) in cases {
        let mut desk = picking(caps(4), |config| {
            config.auto_assign.as_mut().unwrap().approval_label = Some("agents-welcome".into());
        });
        desk.task_with("1", |facts| facts.author = wrote(standing));
        assert_eq!(!ordered(&desk.state).is_empty(), begins, "{standing}");
        if begins {
            continue;
        }
        let why = task_obstacle(&desk.state, &task("1"), desk.now);
        assert!(
            matches!(&why, Some(Obstacle::Untrusted { author }) if author.contains("someone")),
            "{why:?}"
        );
        desk.task_with("1", |facts| {
            facts.author = wrote(standing);
            facts.labels = words(&["agents-welcome"]);
        });
        assert_eq!(ordered(&desk.state).len(), 1, "{standing}: somebody answers for it by the label");
    }
}

#[test]
fn a_person_may_set_somebody_to_work_on_what_an_agent_wrote() {
    let mut desk = picking(caps(4), |_| {});
    desk.task_with("1", |facts| facts.author = wrote(AuthorStanding::Agent));
    assert_eq!(ordered(&desk.state), []);
    let session = desk.spawn("1");
    assert!(desk.session(session).is_live());
}

#[test]
fn of_two_alike_the_one_whose_account_is_limited_keeps_no_task_from_the_other() {
    let mut desk = picking(caps(4), |config| {
        config.specialists = vec![specialist("first", &["ui"], None), specialist("second", &["ui"], Some(1))];
    });
    let until = desk.now + std::time::Duration::from_secs(600);
    desk.take(Input::AccountLimited { account: "first".into(), until });
    desk.task_with("1", |facts| facts.labels = words(&["ui"]));
    assert_eq!(ordered(&desk.state), [("1".into(), Some("second".into()))]);
    // The other one is full, which passes sooner.
    desk.task_with("2", |facts| facts.labels = words(&["ui"]));
    let why = |desk: &Desk| task_obstacle(&desk.state, &task("2"), desk.now);
    assert_eq!(why(&desk), Some(Obstacle::SpecialistCap { id: "second".into(), max: 1 }));
    desk.take(Input::AccountLimited { account: "second".into(), until });
    assert_eq!(why(&desk), Some(Obstacle::Account("first".into())));
}

#[test]
fn all_is_complete_when_the_last_open_task_is_closed_or_excluded() {
    for excluded in [false, true] {
        let (mut desk, session) = at_work(excludes_later);
        desk.task("2", &[], false);
        // Its turn comes, but the daemon has not begun it yet.
        stop(&mut desk, session);
        assert!(!complete(&desk), "there is another one");
        desk.task_with("2", |facts| match excluded {
            true => facts.labels = words(&["later"]),
            false => facts.closed = true,
        });
        let job = desk.state.jobs.values().next().cloned().expect("it was to be begun");
        assert!(!complete(&desk), "its job is under way");
        let outcome = JobOutcome::Done { said: "not wanted any more".into() };
        let input = JobInput::Done { tries: job.tries, outcome };
        desk.take(Input::Job { job: job.id, input });
        assert!(complete(&desk), "excluded: {excluded}");
    }
}

#[test]
fn what_cannot_be_given_to_anybody_is_still_to_be_done() {
    let (mut desk, session) = at_work(|_| {});
    desk.task("2", &[], false);
    stop(&mut desk, session);
    assert!(!complete(&desk));
    desk.run_jobs(|_| Err("the agent is not installed".into()));
    assert!(!complete(&desk), "nobody has done it");
    desk.task("2", &[], true);
    assert!(complete(&desk));
}

#[test]
fn what_waits_for_a_limit_or_a_budget_to_pass_is_still_to_be_done() {
    let (mut desk, session) = at_work(excludes_later);
    desk.task("2", &[], false);
    let until = desk.now + std::time::Duration::from_secs(600);
    desk.take(Input::AccountLimited { account: "scripted".into(), until });
    stop(&mut desk, session);
    assert_eq!(task_obstacle(&desk.state, &task("2"), desk.now), Some(Obstacle::Account("scripted".into())));
    assert!(!complete(&desk), "it goes on when the limit has passed");
    // Nothing was begun, so no job ends: the task itself is the last to change.
    desk.task_with("2", |facts| facts.labels = words(&["later"]));
    assert!(complete(&desk));
}

#[test]
fn what_a_spent_budget_holds_is_still_to_be_done() {
    let spent = |config: &mut ProjectConfig| {
        excludes_later(config);
        config.total = SpendLimits { turns: Some(3), ..SpendLimits::default() };
    };
    let (mut desk, session) = at_work(spent);
    desk.task("2", &[], false);
    desk.make_ready(session);
    desk.launch(session);
    desk.spends(session, UsageTotal { turns: 3, ..UsageTotal::default() });
    stop(&mut desk, session);
    let why = task_obstacle(&desk.state, &task("2"), desk.now);
    assert!(matches!(why, Some(Obstacle::Held(_))), "{why:?}");
    assert!(!complete(&desk));
    desk.task_with("2", |facts| facts.closed = true);
    assert!(complete(&desk));
}

#[test]
fn what_was_picked_is_wanted_only_as_long_as_it_would_be_picked_again() {
    type Change = fn(&mut Desk);
    let changes: [(&str, Change); 7] = [
        ("it is closed", |desk| desk.task("1", &[], true)),
        ("it is excluded", |desk| desk.task_with("1", |facts| facts.labels = words(&["later"]))),
        ("it is blocked", |desk| desk.task("1", &["9"], false)),
        ("its author is not trusted", |desk| desk.task_with("1", |facts| facts.trusted = false)),
        ("its project picks up nothing", |desk| configure(desk, &app(), |config| config.auto_assign = None)),
        ("its account is limited", |desk| {
            let until = desk.now + std::time::Duration::from_secs(600);
            desk.take(Input::AccountLimited { account: "scripted".into(), until });
        }),
        ("somebody works on it", |desk| {
            desk.spawn("1");
        }),
    ];
    for (what, change) in changes {
        let mut desk = picking(caps(4), excludes_later);
        desk.task("1", &[], false);
        assert_eq!(ordered(&desk.state).len(), 1);
        assert!(still_wanted(&desk.state, &task("1"), desk.now), "its own job is no reason against it");
        change(&mut desk);
        assert!(!still_wanted(&desk.state, &task("1"), desk.now), "{what}");
    }
}

#[test]
fn a_project_that_no_longer_picks_up_tasks_is_complete_with_its_last_session() {
    let (mut desk, session) = at_work(|_| {});
    desk.task("2", &[], false);
    configure(&mut desk, &app(), |config| config.auto_assign = None);
    stop(&mut desk, session);
    assert!(complete(&desk));
}
