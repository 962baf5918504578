//! Before anybody is woken: is it chance, is it the base's fault, was it tried before?

use std::time::Duration;

use ao_core::incident::{EscalationLevel, FailureDoubt, Incident, IncidentKind};
use ao_core::job::{JobOrder, JobOutcome};
use ao_core::pull::{CheckState, PullFacts, PullInput};
use ao_core::{Commit, Input, SessionId};

use crate::desk::{Desk, app};
use crate::incidents::{facts, listen, pull, red, with_pull};

fn look(desk: &mut Desk, check: CheckState, change: impl FnOnce(&mut PullFacts)) {
    desk.now = desk.now + Duration::from_secs(1);
    let mut seen = facts(desk, "c1", check);
    change(&mut seen);
    desk.take(Input::Pull { pull: pull(), input: PullInput::Seen(Box::new(seen)) });
}

/// The same head, in another run.
fn run(desk: &mut Desk, number: u32, check: CheckState) {
    look(desk, check, |facts| facts.checks[0].run = Some(number.to_string()));
}

fn green(_: &JobOrder) -> Result<JobOutcome, String> {
    Ok(JobOutcome::Done { said: String::new() })
}

/// The re-run is begun, and the base passes.
fn base_green(order: &JobOrder) -> Result<JobOutcome, String> {
    match order {
        JobOrder::CheckBase { .. } => Ok(JobOutcome::BaseGreen {}),
        other => green(other),
    }
}

fn base_red(order: &JobOrder) -> Result<JobOutcome, String> {
    match order {
        JobOrder::CheckBase { .. } => Ok(red_base()),
        other => green(other),
    }
}

fn incident(desk: &Desk, kind: IncidentKind) -> Incident {
    desk.state.incidents.values().find(|it| it.key.kind == kind).cloned().expect("it is open")
}

fn reruns(orders: &[JobOrder]) -> Vec<u32> {
    orders
        .iter()
        .filter_map(|order| match order {
            JobOrder::Rerun { number, check, commit, .. } => {
                assert_eq!((check.as_str(), commit.as_str()), ("test", "c1"));
                Some(*number)
            }
            _ => None,
        })
        .collect()
}

fn untouched(desk: &Desk, session: SessionId) -> bool {
    desk.session(session).outbox.is_empty() && desk.told().is_empty()
}

/// acceptance: F3
#[test]
fn a_flake_that_passes_on_rerun_wakes_nobody_and_is_remembered() {
    let mut desk = Desk::new();
    let session = with_pull(&mut desk);
    run(&mut desk, 1, red("login"));
    assert!(untouched(&desk, session));
    // Both at once, to lose no time.
    let orders = desk.run_jobs(base_green);
    assert_eq!((orders.len(), reruns(&orders)), (2, vec![1]));
    run(&mut desk, 2, CheckState::Pending);
    desk.wait(600);
    run(&mut desk, 2, CheckState::Passed);
    desk.wait(10_000);
    assert!(untouched(&desk, session), "{:?}", desk.told());
    assert_eq!(desk.open_problems(), 0);
    let flake = &desk.state.projects[&app()].flakes[&("test".into(), "login".into())];
    assert_eq!((flake.times, flake.excerpt.as_str()), (1, "assertion failed: login"));
}

/// acceptance: F3
#[test]
fn a_failure_that_fails_again_is_told_and_says_so() {
    let mut desk = Desk::new();
    let session = with_pull(&mut desk);
    run(&mut desk, 1, red("login"));
    desk.run_jobs(base_green);
    run(&mut desk, 2, red("login"));
    let text = desk.session(session).outbox.current.clone().expect("the agent is told").text;
    assert!(text.contains("It failed twice on the same commit."), "{text}");
    assert_eq!(desk.run_jobs(green), [], "nothing more is to be found out");
}

#[test]
fn a_known_flake_is_run_more_often_before_it_is_believed() {
    let mut desk = Desk::new();
    let session = with_pull(&mut desk);
    run(&mut desk, 1, red("login"));
    desk.run_jobs(base_green);
    run(&mut desk, 2, CheckState::Passed);
    for (number, expected) in [(3, vec![2]), (4, vec![3])] {
        run(&mut desk, number, red("login"));
        assert_eq!(reruns(&desk.run_jobs(base_green)), expected);
        assert!(untouched(&desk, session));
    }
    run(&mut desk, 5, red("login"));
    let text = desk.session(session).outbox.current.clone().expect("the agent is told").text;
    assert!(text.contains("It failed 4 times on the same commit."), "{text}");
    assert!(text.contains("has gone away by itself before (1×)"), "{text}");
}

#[test]
fn what_is_surely_no_chance_is_not_run_again() {
    let mut desk = Desk::new();
    let session = with_pull(&mut desk);
    let mut sure = red("E0308");
    if let CheckState::Failed { certain, .. } = &mut sure {
        *certain = true;
    }
    run(&mut desk, 1, sure);
    let orders = desk.run_jobs(base_green);
    assert!(matches!(&orders[..], [JobOrder::CheckBase { .. }]), "{orders:?}");
    assert!(!untouched(&desk, session), "the base is green, so it is told");
}

#[test]
fn a_rerun_that_does_not_come_or_cannot_be_begun_keeps_nobody_waiting_for_ever() {
    let mut desk = Desk::new();
    let session = with_pull(&mut desk);
    run(&mut desk, 1, red("login"));
    desk.run_jobs(base_green);
    desk.wait(1700);
    assert!(untouched(&desk, session));
    desk.wait(200);
    let text = desk.session(session).outbox.current.clone().expect("the agent is told").text;
    assert!(text.contains("It was to be run again, but that run has not come."), "{text}");

    let mut desk = Desk::new();
    let session = with_pull(&mut desk);
    run(&mut desk, 1, red("login"));
    desk.run_jobs(|_| Err("this forge cannot".into()));
    let text = desk.session(session).outbox.current.clone().expect("the agent is told").text;
    assert!(text.contains("It could not be run again: this forge cannot."), "{text}");
    assert!(
        text.contains("Whether `main` itself passes it could not be found out: this forge cannot"),
        "{text}"
    );
}

/// acceptance: F3
#[test]
fn a_red_base_holds_everybody_is_told_once_and_goes_on_when_it_is_green() {
    let mut desk = Desk::new();
    let session = with_pull(&mut desk);
    run(&mut desk, 1, red("login"));
    desk.run_jobs(base_red);
    assert_eq!(desk.told().len(), 1);
    assert!(desk.told()[0].contains("check `test` fails on `main` itself, at b0"), "{:?}", desk.told());
    run(&mut desk, 2, red("login"));
    desk.wait(100_000);
    assert!(desk.session(session).outbox.is_empty(), "nobody is woken");
    assert_eq!((desk.told().len(), incident(&desk, IncidentKind::CiFailed).acted), (1, 0));
    assert_eq!(incident(&desk, IncidentKind::CiFailed).doubt, Some(FailureDoubt::BaseRed {}));

    // The base moves, and is still red; then it is green.
    let moved = |desk: &mut Desk, base: &str| {
        look(desk, red("login"), |facts| {
            facts.checks[0].run = Some("2".into());
            facts.base = Commit::new(base);
        });
    };
    moved(&mut desk, "b1");
    assert_eq!(desk.run_jobs(base_red).len(), 1);
    desk.wait(100_000);
    assert_eq!(desk.told().len(), 1, "once");
    moved(&mut desk, "b2");
    let orders = desk.run_jobs(base_green);
    assert_eq!(reruns(&orders), [2], "it is run again rather than told");
    assert!(desk.session(session).outbox.is_empty());
    look(&mut desk, CheckState::Passed, |facts| facts.base = Commit::new("b2"));
    desk.wait(10_000);
    assert!(desk.open_problems() == 0 && desk.session(session).outbox.is_empty());
    assert!(desk.state.projects[&app()].flakes.is_empty(), "that was no chance");
}

#[test]
fn a_failure_that_outlives_a_red_base_is_told() {
    let mut desk = Desk::new();
    let session = with_pull(&mut desk);
    run(&mut desk, 1, red("login"));
    desk.run_jobs(base_red);
    look(&mut desk, red("login"), |facts| {
        facts.checks[0].run = Some("1".into());
        facts.base = Commit::new("b1");
    });
    desk.run_jobs(base_green);
    look(&mut desk, red("login"), |facts| {
        facts.checks[0].run = Some("2".into());
        facts.base = Commit::new("b1");
    });
    assert!(!desk.session(session).outbox.is_empty());
}

#[test]
fn a_base_that_moves_faster_than_it_is_checked_keeps_nobody_waiting() {
    for (answer, told) in [(JobOutcome::BaseGreen {}, true), (red_base(), false)] {
        let mut desk = Desk::new();
        let session = with_pull(&mut desk);
        run(&mut desk, 1, red("login"));
        let moved = |desk: &mut Desk, base: &str| {
            look(desk, red("login"), |facts| {
                facts.checks[0].run = Some("2".into());
                facts.base = Commit::new(base);
            });
        };
        moved(&mut desk, "b1");
        moved(&mut desk, "b2");
        let mut asked = vec![];
        desk.run_jobs(|order| match order {
            JobOrder::CheckBase { commit, .. } => {
                asked.push(commit.to_string());
                // The answer is about where the base was when it was asked.
                Ok(if asked.len() == 1 { answer.clone() } else { red_base() })
            }
            other => green(other),
        });
        assert_eq!(!desk.session(session).outbox.is_empty(), told);
        let expected: &[&str] = if told { &["b0"] } else { &["b0", "b2"] };
        assert_eq!(asked, expected, "a red one is asked about again where it is now");
    }
}

fn red_base() -> JobOutcome {
    JobOutcome::BaseRed { signature: "login".into(), excerpt: "boom".into() }
}

#[test]
fn a_base_that_turns_red_holds_also_what_was_told_before() {
    let mut desk = Desk::new();
    let session = with_pull(&mut desk);
    run(&mut desk, 1, red("login"));
    desk.run_jobs(base_green);
    run(&mut desk, 2, red("login"));
    assert_eq!(listen(&mut desk, session), 1);
    // Another head fails on another base, and that base is found to be red.
    look(&mut desk, red("login"), |facts| {
        facts.head = Commit::new("c2");
        facts.checks[0].commit = Commit::new("c2");
        facts.base = Commit::new("b1");
    });
    desk.run_jobs(base_red);
    desk.wait(100_000);
    assert_eq!(listen(&mut desk, session), 0);
    assert_eq!(desk.told().len(), 1, "of the base alone: {:?}", desk.told());
    assert_eq!(incident(&desk, IncidentKind::CiFailed).level, EscalationLevel::Agent);
}

#[test]
fn the_same_failure_after_a_fix_says_what_was_tried() {
    let mut desk = Desk::new();
    let session = with_pull(&mut desk);
    let mut texts = vec![];
    for (head, title) in [("c1", "begin"), ("c2", "fix login"), ("c3", "fix login\u{202e} again")] {
        look(&mut desk, red("login"), |facts| {
            facts.head = Commit::new(head);
            facts.head_title = Some(title.into());
            facts.checks[0].commit = Commit::new(head);
        });
        desk.run_jobs(|_| Err("no runner".into()));
        texts.push(desk.session(session).outbox.current.clone().expect("it is told").text);
        listen(&mut desk, session);
    }
    assert!(!texts[0].contains("told of this"), "{}", texts[0]);
    let second = "You were told of this on c1; since then: c2 fix login; the failure is the same.";
    assert!(texts[1].contains(second), "{}", texts[1]);
    let third =
        "You were told of this on c1; since then: c2 fix login; c3 fix login again; the failure is the same.";
    assert!(texts[2].contains(third), "{}", texts[2]);
}
