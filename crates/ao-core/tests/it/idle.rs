//! Agents with nothing to do: a worker whose work is not done, and a project in which all of it is.

use std::time::Duration;

use ao_core::budget::UsageTotal;
use ao_core::evidence::{Reading, SignalSource};
use ao_core::incident::{IncidentKind, Subject};
use ao_core::reaction::{ReactionPatch, ReactionPatches};
use ao_core::session::SessionInput;
use ao_core::{DaemonSettings, Input, PullId, SessionId};

use crate::desk::{Desk, app, working};

/// The agent takes what was said to it, and stops again after so many seconds.
fn answers(desk: &mut Desk, session: SessionId, seconds: u64) {
    desk.write(session);
    let text = desk.session(session).outbox.current.clone().unwrap().text;
    desk.prove(session, &text);
    desk.wait(1);
    desk.sees(session, SignalSource::Hook, working());
    desk.wait(seconds);
    desk.sees(session, SignalSource::Hook, Reading::Idle);
}

fn idle_incidents(desk: &Desk, session: SessionId) -> usize {
    let subject = Subject::Session(session);
    desk.state.incidents_of(&subject).filter(|it| it.key.kind == IncidentKind::AgentIdle).count()
}

#[test]
fn a_worker_that_stops_without_a_pull_request_is_told_twice_and_then_a_person_is() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.wait(590);
    assert_eq!(idle_incidents(&desk, session), 0);
    desk.wait(20);
    let text = desk.session(session).outbox.current.clone().expect("it is told").text;
    assert!(text.starts_with("You have stopped."), "{text}");
    answers(&mut desk, session, 60);
    desk.wait(610);
    answers(&mut desk, session, 60);
    assert_eq!(desk.told(), Vec::<String>::new());
    desk.wait(610);
    assert!(desk.session(session).outbox.is_empty(), "it is not told a third time");
    assert_eq!(desk.told().len(), 1, "{:?}", desk.told());
    desk.wait(7 * 3600);
    assert_eq!(desk.told().len(), 1, "{:?}", desk.told());
}

#[test]
fn a_worker_with_a_pull_request_or_under_a_hold_waits_and_is_not_idle() {
    let mut desk = Desk::new();
    let (with_pull, held, driven) = (desk.idle("1"), desk.idle("2"), desk.idle("3"));
    desk.tell(with_pull, SessionInput::PullLinked { pull: PullId { project: app(), number: 7 } });
    desk.tell(held, SessionInput::Pause { by: "ann".into() });
    for _ in 0..6 {
        desk.wait(300);
        desk.sees(driven, SignalSource::Terminal, Reading::HumanTyped);
        for session in [with_pull, held, driven] {
            assert_eq!(idle_incidents(&desk, session), 0);
        }
    }
    desk.wait(610);
    assert_eq!(idle_incidents(&desk, driven), 1, "the person has gone");
}

#[test]
fn a_pull_request_ends_the_idleness() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.wait(610);
    assert_eq!(idle_incidents(&desk, session), 1);
    desk.tell(session, SessionInput::PullLinked { pull: PullId { project: app(), number: 7 } });
    desk.wait(2 * 3600);
    assert_eq!(idle_incidents(&desk, session), 0);
    assert_eq!(desk.told(), Vec::<String>::new());
}

#[test]
fn how_long_is_too_long_can_be_configured() {
    let patience =
        |seconds| ReactionPatch { threshold: Some(Duration::from_secs(seconds)), ..ReactionPatch::default() };
    let reactions = ReactionPatches::from([
        (IncidentKind::AgentIdle, patience(60)),
        (IncidentKind::AgentStuck, patience(120)),
    ]);
    let mut desk = Desk::with(DaemonSettings { reactions, ..DaemonSettings::default() });
    let (idle, stuck) = (desk.idle("1"), desk.idle("2"));
    desk.wait(1);
    desk.sees(stuck, SignalSource::Hook, Reading::Unreadable { why: "broken".into() });
    let broken = |desk: &mut Desk| {
        for _ in 0..4 {
            desk.wait_unseen(31);
            desk.sees(stuck, SignalSource::Process, Reading::Unreadable { why: "broken".into() });
            let attempt = desk.session(stuck).attempt;
            desk.tell(stuck, SessionInput::Looked { attempt, signals: vec![] });
        }
    };
    desk.wait(59);
    assert_eq!(idle_incidents(&desk, idle), 1);
    assert_eq!(desk.told(), Vec::<String>::new());
    broken(&mut desk);
    let kinds: Vec<_> =
        desk.state.incidents_of(&Subject::Session(stuck)).map(|it| it.key.kind.clone()).collect();
    if desk.status(stuck).starts_with("unknown") {
        assert_eq!(kinds, [IncidentKind::AgentStuck]);
    } else {
        panic!("nothing should be known of it: {}", desk.status(stuck));
    }
}

fn stop(desk: &mut Desk, session: SessionId) {
    desk.tell(session, SessionInput::Stop { by: "ann".into(), why: String::new() });
    desk.ended(session);
}

#[test]
fn when_the_last_worker_has_ended_a_person_hears_so_once_with_a_summary() {
    let mut desk = Desk::new();
    desk.wait(3600);
    assert_eq!(desk.count("project.completed"), 0, "nothing was begun");
    let (first, second) = (desk.idle("1"), desk.idle("2"));
    desk.spends(first, UsageTotal { micros: Some(1_200_000), turns: 3, ..UsageTotal::default() });
    stop(&mut desk, first);
    assert_eq!(desk.told(), Vec::<String>::new(), "one is still at work");
    stop(&mut desk, second);
    assert_eq!(desk.told(), ["app: All work is done. 0 merged, 2 stopped; turns 4, cost at least $1.20"]);
    desk.wait(3600);
    assert_eq!(desk.count("project.completed"), 1);
    let third = desk.spawn("3");
    desk.wait(3600);
    assert_eq!(desk.state.incidents_of(&Subject::Project(app())).count(), 0, "there is work again");
    desk.take(Input::Session {
        session: third,
        input: SessionInput::Stop { by: "ann".into(), why: String::new() },
    });
    desk.make_ready(third);
    assert_eq!(desk.count("project.completed"), 2, "{}", desk.status(third));
    let told = desk.told().pop().unwrap();
    assert_eq!(told, "app: All work is done. 0 merged, 1 stopped; turns 0, cost unknown");
}

#[test]
fn a_worker_that_was_brought_back_is_summed_up_once() {
    let mut desk = Desk::new();
    let (first, second) = (desk.idle("1"), desk.idle("2"));
    let spend = |micros, turns| UsageTotal { micros: Some(micros), turns, ..UsageTotal::default() };
    desk.spends(first, spend(1_000_000, 3));
    stop(&mut desk, first);
    desk.tell(first, SessionInput::Restore);
    desk.make_ready(first);
    desk.launch(first);
    desk.spends(first, spend(500_000, 2));
    desk.spends(second, spend(0, 1));
    stop(&mut desk, second);
    assert_eq!(desk.told(), Vec::<String>::new(), "one is at work again");
    stop(&mut desk, first);
    let told = desk.told().pop().unwrap();
    assert!(told.starts_with("app: All work is done. 0 merged, 2 stopped; "), "{told}");
    assert!(told.ends_with("$1.50"), "{told}");
    desk.wait(3600);

    // After the summary, only what is new is in the next one.
    desk.tell(first, SessionInput::Restore);
    desk.make_ready(first);
    desk.launch(first);
    desk.spends(first, spend(250_000, 1));
    stop(&mut desk, first);
    let told = desk.told().pop().unwrap();
    assert!(told.starts_with("app: All work is done. 0 merged, 1 stopped; "), "{told}");
    assert!(told.ends_with("$0.25"), "{told}");
}
