//! What an agent is doing, as time passes and signals come, go missing, or lie.

use std::time::Duration;

use ao_core::Input;
use ao_core::evidence::{Confidence, Reading, Signal, SignalSource};
use ao_core::input::SpawnRequest;
use ao_core::session::{SessionInput, SessionRole};

use crate::desk::{Desk, TYPED, asking, request, working};

/// acceptance: S1
#[test]
fn a_lost_stop_is_healed_by_a_look_within_a_minute() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.wait(60);
    desk.sees(session, SignalSource::Hook, working());
    // The stop is lost. Half a minute of silence later somebody looks, and sees a prompt.
    desk.wait(30);
    assert_eq!(desk.wants(session), [format!("look at {session}")]);
    let signals = vec![
        desk.signal(session, SignalSource::Process, Reading::Alive { busy: false }),
        desk.signal(session, SignalSource::Terminal, Reading::Idle),
    ];
    let attempt = desk.session(session).attempt;
    desk.tell(session, SessionInput::Looked { attempt, signals });
    assert_eq!(desk.status(session), "idle: the turn has ended; the agent is at its prompt");
}

/// acceptance: S4
#[test]
fn a_long_silent_build_is_work_and_is_left_alone() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.wait(60);
    desk.sees(session, SignalSource::Hook, working());
    for _ in 0..40 {
        desk.wait(30);
        let alive = desk.signal(session, SignalSource::Process, Reading::Alive { busy: true });
        let attempt = desk.session(session).attempt;
        desk.tell(session, SessionInput::Looked { attempt, signals: vec![alive] });
        assert!(desk.status(session).starts_with("working"), "{}", desk.status(session));
    }
    assert_eq!(desk.session(session).judgement.to_string(), "working (quiet 20m)");
    assert_eq!(desk.told(), Vec::<String>::new());
}

/// acceptance: S2
#[test]
fn an_open_dialog_is_told_once_and_never_decays() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.wait(60);
    desk.sees(session, SignalSource::Hook, asking());
    for _ in 0..60 {
        desk.wait(30);
        desk.sees(session, SignalSource::Hook, asking());
    }
    let told = "needs_input: a dialog is open; only an answer or new work closes it: Allow `rm`?";
    assert_eq!(desk.status(session), told);
    assert_eq!(desk.told().len(), 1);
    assert!(desk.told()[0].contains("Allow `rm`?"));
}

/// acceptance: S8
#[test]
fn a_granted_permission_shows_by_the_work_that_follows() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.wait(60);
    desk.sees(session, SignalSource::Hook, asking());
    desk.wait(120);
    desk.sees(session, SignalSource::Terminal, working());
    assert!(desk.status(session).starts_with("working"), "{}", desk.status(session));
    // And the next dialog is news again.
    desk.wait(20);
    desk.sees(session, SignalSource::Hook, asking());
    assert_eq!(desk.told().len(), 2);
}

/// acceptance: S9
#[test]
fn an_idle_orchestrator_is_at_rest_and_not_stuck() {
    let mut desk = Desk::new();
    let wish = SpawnRequest { role: SessionRole::Orchestrator, task: None, ..request("0", TYPED) };
    let events = desk.take(Input::Spawn(Box::new(wish)));
    let session = events.iter().find_map(|event| event.session()).unwrap();
    desk.make_ready(session);
    desk.launch(session);
    desk.sees(session, SignalSource::Hook, Reading::Idle);
    desk.write(session);
    desk.prove(session, "Do task 0.");
    let events = desk.log.len();
    desk.wait(7200);
    assert!(desk.status(session).starts_with("idle"), "{}", desk.status(session));
    assert_eq!(desk.told(), Vec::<String>::new());
    assert_eq!(desk.log.len(), events, "an idle agent costs nothing");
}

#[test]
fn an_agent_of_which_nothing_is_known_is_stuck_after_a_while_and_told_once() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.wait(60);
    desk.sees(session, SignalSource::Hook, working());
    for _ in 0..100 {
        desk.wait(30);
        if let Some(effect) = desk.wanted(session).pop() {
            desk.tell(session, SessionInput::Failed { effect: effect.key(), why: "no such socket".into() });
        }
    }
    assert!(desk.status(session).starts_with("unknown"), "{}", desk.status(session));
    assert_eq!(desk.told().len(), 1);
}

#[test]
fn a_signal_from_the_future_does_not_outlive_those_that_follow() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.wait(60);
    let mut early = desk.signal(session, SignalSource::Hook, asking());
    early.at = early.at + std::time::Duration::from_secs(3600);
    desk.tell(session, SessionInput::Signal(early));
    desk.wait(5);
    desk.sees(session, SignalSource::Hook, Reading::Idle);
    assert!(desk.status(session).starts_with("idle"), "{}", desk.status(session));
}

#[test]
fn a_census_of_resting_agents_leaves_no_trace_after_the_first() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    for _ in 0..10 {
        desk.wait(30);
        desk.sees(session, SignalSource::Process, Reading::Alive { busy: false });
    }
    assert_eq!(desk.log.iter().filter(|it| format!("{it:?}").contains("Alive")).count(), 1);
    // It says something, and the next look at its process is worth a note again.
    desk.sees(session, SignalSource::Hook, working());
    desk.wait(30);
    desk.sees(session, SignalSource::Process, Reading::Alive { busy: false });
    assert_eq!(desk.log.iter().filter(|it| format!("{it:?}").contains("Alive")).count(), 2);
}

/// The screen is read as it changes, and hooks are programs that take their time: what the hook of a turn's beginning says
/// may arrive when the turn's first dialog is on the screen already.
#[test]
fn a_dialog_that_a_late_report_hides_for_a_moment_is_told_once() {
    let ask = |question: &str| Reading::Asking { question: question.into() };
    // What is read off a screen counts for more if it is a dialog.
    let shows = |desk: &mut Desk, session, question: &str| {
        let signal = desk.signal(session, SignalSource::Terminal, ask(question));
        desk.tell(session, SessionInput::Signal(Signal { confidence: Confidence::Medium, ..signal }));
    };
    let mut desk = Desk::new();
    let session = desk.idle("1");
    let before = desk.told().len();
    let moment = |desk: &mut Desk| desk.now = desk.now + Duration::from_millis(120);
    desk.wait(10);
    shows(&mut desk, session, "May I write a file?");
    assert_eq!(desk.told().len(), before + 1);
    moment(&mut desk);
    desk.sees(session, SignalSource::Hook, working());
    moment(&mut desk);
    desk.sees(session, SignalSource::Hook, ask("Bash: May I write a file?"));
    moment(&mut desk);
    shows(&mut desk, session, "May I write a file?");
    assert_eq!(desk.told().len(), before + 1, "{:#?}", desk.told());
    // Another question is another dialog, and so is the same one after somebody has typed, or after a while.
    shows(&mut desk, session, "May I delete it?");
    assert_eq!(desk.told().len(), before + 2);
    moment(&mut desk);
    desk.sees(session, SignalSource::Terminal, Reading::HumanTyped);
    desk.sees(session, SignalSource::Hook, working());
    moment(&mut desk);
    desk.sees(session, SignalSource::Hook, ask("May I delete it?"));
    assert_eq!(desk.told().len(), before + 3);
    desk.sees(session, SignalSource::Hook, working());
    desk.wait(10);
    desk.sees(session, SignalSource::Hook, ask("May I delete it?"));
    assert_eq!(desk.told().len(), before + 4);
}
