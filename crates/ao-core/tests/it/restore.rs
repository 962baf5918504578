//! Sessions that have ended, by themselves or by a person's word, and come back.

use ao_core::effect::Effect;
use ao_core::evidence::{Reading, SignalSource};
use ao_core::session::SessionInput;
use ao_core::{Input, Refusal, SessionId};

use crate::desk::{Desk, attempt, exited, stop, task};

/// acceptance: L4
#[test]
fn what_is_closed_or_merged_is_not_started_again() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.tell(session, stop());
    desk.ended(session);
    desk.task("1", &[], true);
    let restore = Input::Session { session, input: SessionInput::Restore };
    assert_eq!(desk.try_take(restore), Err(Refusal::TaskClosed { task: task("1") }));
}

#[test]
fn a_stopped_session_can_be_restored_unless_its_task_has_another() {
    let mut desk = Desk::new();
    let first = desk.idle("1");
    desk.tell(first, stop());
    desk.ended(first);
    let second = desk.spawn("1");
    let restore = |session| Input::Session { session, input: SessionInput::Restore };
    let name = desk.session(second).spec.name.clone();
    let taken = Refusal::TaskTaken { task: task("1"), session: second, name };
    assert_eq!(desk.try_take(restore(first)), Err(taken));
    assert!(desk.state.may_restore(desk.session(first), desk.now).is_err(), "it is not advised either");
    desk.tell(second, stop());
    desk.make_ready(second);
    desk.take(restore(first));
    let Effect::Launch { plan, .. } = desk.wanted(first).remove(0) else { panic!("a launch") };
    assert!(plan.resume);
}

/// Its last process is ended where it ran, before the next one begins elsewhere.
#[test]
fn a_session_is_restored_in_another_runtime_once_nothing_of_it_runs_in_the_first() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    let first = desk.session(session).spec.runtime.clone();
    desk.tell(session, stop());
    let elsewhere =
        || Input::Session { session, input: SessionInput::RestoreIn { runtime: "elsewhere".into() } };
    assert!(desk.try_take(elsewhere()).is_err(), "it is not at rest yet");
    let Effect::End { runtime, .. } = desk.wanted(session).remove(0) else { panic!("an end") };
    assert_eq!(runtime, first);
    desk.ended(session);
    desk.take(elsewhere());
    let Effect::Launch { plan, .. } = desk.wanted(session).remove(0) else { panic!("a launch") };
    assert_eq!((plan.runtime.as_str(), plan.resume), ("elsewhere", true));
}

/// A restore is advised by the rule by which it is taken: never for one that works, is merged or is not wanted any more.
#[test]
fn whatever_may_be_restored_can_be_and_nothing_else() {
    let mut desk = Desk::new();
    let (works, stopped, closed) = (desk.idle("1"), desk.idle("2"), desk.idle("3"));
    for session in [stopped, closed] {
        desk.tell(session, stop());
        desk.ended(session);
    }
    desk.task("3", &[], true);
    for (session, expected) in [(works, false), (stopped, true), (closed, false)] {
        let advised = desk.state.may_restore(desk.session(session), desk.now).is_ok();
        let taken = desk.try_take(Input::Session { session, input: SessionInput::Restore }).is_ok();
        assert_eq!((advised, taken), (expected, expected), "{}", desk.session(session).spec.name);
    }
}

/// A workspace that somebody has removed is made anew at the next start, and a person is told what that costs.
#[test]
fn a_tree_that_is_gone_when_its_agent_starts_is_made_anew() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.tell(session, stop());
    desk.ended(session);
    desk.tell(session, SessionInput::Restore);
    let path = desk.session(session).workspace.path().unwrap().to_owned();
    desk.tell(session, SessionInput::TreeGone { attempt: attempt(1), path: path.clone() });
    assert!(
        desk.wants(session)[0].starts_with("launch"),
        "a late word of an earlier attempt changes nothing"
    );
    desk.tell(session, SessionInput::TreeGone { attempt: attempt(2), path });
    assert_eq!(desk.wants(session), [format!("create workspace of {session} (attempt 2, try 0)")]);
    assert!(desk.told().iter().any(|told| told.contains("recreated from its branch `agent/app-1`")));
    desk.make_ready(session);
    let Effect::Launch { plan, .. } = desk.wanted(session).remove(0) else { panic!("a launch") };
    assert!(plan.resume, "its conversation goes on");
}

/// Makes a session whose process ends again and again until it is not started by itself any more.
fn crashed_for_good(desk: &mut Desk) -> SessionId {
    let session = desk.idle("1");
    desk.sees(session, SignalSource::Process, exited(1));
    desk.ended(session);
    for _ in 0..20 {
        desk.wait(600);
        if desk.wants(session).is_empty() {
            return session;
        }
        desk.launch(session);
        desk.sees(session, SignalSource::Process, exited(1));
        desk.ended(session);
    }
    panic!("it is started for ever: {}", desk.status(session));
}

/// The text that is being brought to it.
fn under_way(desk: &Desk, session: SessionId) -> Option<String> {
    desk.session(session).outbox.current.as_ref().map(|delivery| delivery.text.clone())
}

/// A person who restores it wants the work, whatever its last processes had heard.
#[test]
fn a_restored_session_takes_up_its_work_though_nothing_waits_for_it() {
    let mut desk = Desk::new();
    let session = crashed_for_good(&mut desk);
    assert!(desk.session(session).outbox.is_empty());
    desk.tell(session, SessionInput::Restore);
    desk.launch(session);
    desk.sees(session, SignalSource::Hook, Reading::Idle);
    desk.wait(5);
    let said = under_way(&desk, session).expect("it is told to go on");
    assert_eq!(said, "You were stopped and are started again. See what is done already, and go on.");
}

/// Whoever reads its problems has to find those that stand.
#[test]
fn the_exit_that_a_restore_answers_is_no_problem_any_more() {
    let mut desk = Desk::new();
    let session = crashed_for_good(&mut desk);
    assert_eq!(desk.open_problems(), 1);
    desk.tell(session, SessionInput::Restore);
    assert_eq!(desk.open_problems(), 0);
}

/// The screen shows the prompt a moment longer than the agent stands at it.
#[test]
fn a_prompt_that_is_seen_late_does_not_end_the_turn_that_has_just_begun() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.send(session, "Check `build` fails.");
    desk.write(session);
    let before = desk.now;
    desk.now = desk.now + std::time::Duration::from_secs(1);
    desk.prove(session, "Check `build` fails.");
    let late = ao_core::evidence::Signal {
        at: before,
        ..desk.signal(session, SignalSource::Terminal, Reading::Idle)
    };
    desk.tell(session, SessionInput::Signal(late));
    desk.sees(session, SignalSource::Process, Reading::Exited { code: None });
    desk.ended(session);
    desk.wait(60);
    desk.launch(session);
    desk.sees(session, SignalSource::Hook, Reading::Idle);
    desk.wait(5);
    let said = under_way(&desk, session).expect("it is told to go on");
    assert_eq!(said, "Your last turn was cut off before its end. See what is done already, and go on.");
}
