//! Asks with an id: several are open at once, and each answer reaches its own. Also the other reports of an agent, and
//! cancelled turns.

use ao_core::agent_report::{AgentReport, CallState, PlanStep, StepState, ToolCall, TurnCause, TurnEnd};
use ao_core::ask::{Ask, AskDetail, AskKind, AskOption, OptionKind};
use ao_core::budget::{SpendLimits, UsageTotal};
use ao_core::effect::Effect;
use ao_core::evidence::{AgentActivity, Reading, SignalSource};
use ao_core::session::{AgentAbilities, SessionInput};
use ao_core::{AskId, Input, SessionId};

use crate::desk::{Desk, TYPED, attempt, working};

fn permission(id: &str, command: &str) -> Ask {
    let option = |id: &str, label: &str, kind| AskOption { id: id.into(), label: label.into(), kind };
    Ask {
        id: AskId::new(id),
        kind: AskKind::Permission,
        title: format!("Bash: {command}"),
        details: vec![AskDetail::Command { command: command.into() }],
        options: vec![
            option("allow", "Yes", OptionKind::AllowOnce),
            option("allow_always", "Yes, always", OptionKind::AllowAlways),
            option("reject", "No", OptionKind::RejectOnce),
        ],
    }
}

fn asked(desk: &mut Desk, session: SessionId, ask: Ask) {
    desk.reports(session, AgentReport::Asked { ask });
}

fn answer(question: u32, text: &str) -> SessionInput {
    SessionInput::Answer { by: "ann".into(), question, text: text.into() }
}

fn open(desk: &Desk, session: SessionId) -> Vec<(u32, String)> {
    let asks = desk.session(session).open_asks();
    asks.into_iter().map(|open| (open.number, open.ask.id.to_string())).collect()
}

fn worker(desk: &mut Desk) -> SessionId {
    let session = desk.idle("1");
    desk.wait(5);
    desk.sees(session, SignalSource::Protocol, working());
    session
}

#[test]
fn several_asks_are_open_at_once_and_an_answer_reaches_its_own() {
    let mut desk = Desk::new();
    let session = worker(&mut desk);
    asked(&mut desk, session, permission("a", "ls"));
    asked(&mut desk, session, permission("b", "make"));
    assert_eq!(open(&desk, session), [(1, "a".into()), (2, "b".into())]);
    assert!(desk.status(session).ends_with(": Bash: make"), "{}", desk.status(session));
    assert_eq!(desk.told().len(), 2, "each is reported: {:?}", desk.told());
    assert!(desk.told()[0].ends_with("ao answer app-1 allow|allow_always|reject --question 1"));

    desk.tell(session, answer(1, "yes"));
    let Effect::Answer { order, .. } = desk.wanted(session).remove(0) else { panic!("an answer") };
    assert_eq!((order.ask, order.option.as_deref()), (Some(AskId::new("a")), Some("allow")));
    assert_eq!((&*order.question, &*order.text), ("Bash: ls", "yes"));
    desk.tell(session, SessionInput::Answered { attempt: attempt(1), number: 1 });
    assert_eq!(open(&desk, session), [(2, "b".into())]);
    assert_eq!(desk.told().len(), 2, "the other is known: {:?}", desk.told());

    desk.tell(session, answer(2, "3"));
    desk.tell(session, SessionInput::Answered { attempt: attempt(1), number: 2 });
    assert_eq!(open(&desk, session), []);
    assert_eq!(desk.session(session).judgement.activity, AgentActivity::Working);
}

#[test]
fn an_answer_that_is_no_option_is_refused_with_the_options() {
    let mut desk = Desk::new();
    let session = worker(&mut desk);
    asked(&mut desk, session, permission("a", "ls"));
    let refused = desk.try_take(Input::Session { session, input: answer(1, "perhaps") }).unwrap_err();
    let expected =
        "question 1 of the session `app-1` takes one of these answers: `allow`, `allow_always`, `reject`";
    assert_eq!(refused.to_string(), expected);
    let other = desk.try_take(Input::Session { session, input: answer(7, "yes") }).unwrap_err();
    assert!(other.to_string().contains("it asks now, as question 1: Bash: ls"), "{other}");
}

#[test]
fn an_ask_that_is_reported_again_is_the_same_one_with_more_details() {
    let mut desk = Desk::new();
    let session = worker(&mut desk);
    let brief = Ask { details: vec![], ..permission("a", "ls") };
    for ask in [brief.clone(), brief, permission("a", "ls"), permission("a", "ls")] {
        asked(&mut desk, session, ask);
    }
    assert_eq!(open(&desk, session), [(1, "a".into())]);
    assert_eq!(desk.session(session).open_asks()[0].ask, permission("a", "ls"));
    let reported = desk.log.iter().filter(|it| format!("{it:?}").contains("Asked {")).count();
    assert_eq!((reported, desk.told().len()), (2, 1));
}

#[test]
fn an_ask_stays_open_until_it_is_closed_or_its_turn_ends() {
    let mut desk = Desk::new();
    let session = worker(&mut desk);
    asked(&mut desk, session, permission("a", "ls"));
    // A subagent works on.
    desk.wait(3600);
    desk.sees(session, SignalSource::Protocol, working());
    assert_eq!(desk.session(session).judgement.activity, AgentActivity::NeedsInput);
    desk.reports(session, AgentReport::AskClosed { ask: AskId::new("a") });
    assert_eq!(desk.session(session).judgement.activity, AgentActivity::Working);

    asked(&mut desk, session, permission("b", "ls"));
    desk.wait(1);
    desk.sees(session, SignalSource::Protocol, Reading::Idle);
    assert_eq!(open(&desk, session), []);
    assert_eq!(desk.session(session).judgement.activity, AgentActivity::Idle);
}

#[test]
fn asks_survive_a_restart_of_the_daemon_and_not_that_of_the_agent() {
    let mut desk = Desk::new();
    let session = worker(&mut desk);
    asked(&mut desk, session, permission("a", "ls"));
    desk.state = ao_core::State::from_snapshot(&desk.state.to_snapshot()).unwrap();
    assert_eq!(open(&desk, session), [(1, "a".into())]);
    desk.tell(session, answer(1, "no"));
    assert_eq!(desk.wants(session), [format!("answer 1 to {session}")]);
    desk.sees(session, SignalSource::Process, Reading::Exited { code: Some(1) });
    assert_eq!(open(&desk, session), []);
    asked(&mut desk, session, permission("b", "ls"));
    assert_eq!(open(&desk, session), [], "no process waits for its answer");
}

#[test]
fn a_screen_that_shows_an_answered_ask_for_a_moment_longer_opens_no_other() {
    let mut desk = Desk::new();
    let session = worker(&mut desk);
    asked(&mut desk, session, permission("a", "ls"));
    desk.sees(session, SignalSource::Terminal, Reading::Asking { question: "ls".into() });
    desk.tell(session, answer(1, "yes"));
    desk.tell(session, SessionInput::Answered { attempt: attempt(1), number: 1 });
    desk.sees(session, SignalSource::Terminal, Reading::Asking { question: "ls".into() });
    assert_eq!(desk.session(session).dialogs.questions, 1);
    assert_eq!(desk.told().len(), 1, "{:?}", desk.told());
}

#[test]
fn replies_and_the_reason_of_a_failed_turn_are_shown() {
    let mut desk = Desk::new();
    let session = worker(&mut desk);
    for text in ["I look at the tests.", "I look at the tests.", "Fixed."] {
        desk.reports(session, AgentReport::Reply { text: text.into() });
    }
    assert_eq!(desk.session(session).last_reply.as_deref(), Some("Fixed."));
    let replies = desk.log.iter().filter(|it| format!("{it:?}").contains("Replied")).count();
    assert_eq!(replies, 2, "a repeated one is no news");
    let end = TurnEnd::Failed { why: "no more credit".into() };
    desk.reports(session, AgentReport::TurnEnded { end });
    assert_eq!(desk.session(session).last_reply.as_deref(), Some("failed: no more credit"));
    desk.report_of(session, attempt(0), AgentReport::Reply { text: "stale".into() });
    assert_eq!(desk.session(session).last_reply.as_deref(), Some("failed: no more credit"));
}

#[test]
fn tool_calls_and_turns_of_its_own_are_signs_of_work() {
    let call = |state| {
        let (id, tool, detail) = ("t1".into(), "Bash".into(), "make".into());
        AgentReport::ToolCall(ToolCall { id, tool, detail, state })
    };
    let own_turn = AgentReport::TurnBegan { turn: "t2".into(), cause: TurnCause::Agent {} };
    for (report, doing) in
        [(call(CallState::Running), "Bash: make"), (call(CallState::Ended), ""), (own_turn, "")]
    {
        let mut desk = Desk::new();
        let session = desk.idle("1");
        desk.wait(5);
        desk.reports(session, report);
        let judgement = &desk.session(session).judgement;
        assert_eq!((judgement.activity, &*judgement.detail), (AgentActivity::Working, doing));
    }
}

#[test]
fn a_plan_is_recorded_with_a_bounded_length() {
    let mut desk = Desk::new();
    let session = worker(&mut desk);
    let step = PlanStep { text: "x".repeat(5000), state: StepState::Pending };
    desk.reports(session, AgentReport::Plan { steps: vec![step; 1000] });
    let recorded = desk.log.iter().map(|it| format!("{it:?}")).find(|it| it.contains("PlanChanged")).unwrap();
    assert!(recorded.len() < 20_000, "{}", recorded.len());
}

#[test]
fn an_agent_that_is_logged_out_is_blocked() {
    let mut desk = Desk::new();
    let session = worker(&mut desk);
    desk.wait(1);
    desk.sees(session, SignalSource::Protocol, Reading::LoggedOut);
    let status = desk.status(session);
    assert!(status.starts_with("blocked") && status.ends_with("it is logged out"), "{status}");
}

/// Spends far more than its budget in one turn.
fn overdrawn(desk: &mut Desk) -> SessionId {
    let session = desk.idle_with("1", AgentAbilities { cancel: true, ..TYPED });
    let limits = SpendLimits { micros: Some(1_000_000), ..SpendLimits::default() };
    desk.tell(session, SessionInput::Resume { limits: Some(limits) });
    desk.wait(10);
    desk.sees(session, SignalSource::Protocol, working());
    desk.spends(session, UsageTotal { micros: Some(1_500_000), ..UsageTotal::default() });
    desk.wait_unseen(60);
    desk.sees(session, SignalSource::Protocol, working());
    desk.wait_unseen(1);
    session
}

#[test]
fn an_overdrawn_turn_is_cancelled_before_its_process_is_ended() {
    for cancels in [true, false] {
        let mut desk = Desk::new();
        let session = overdrawn(&mut desk);
        let cancel = format!("cancel the turn of {session} (cancellation 1)");
        assert!(desk.wants(session).contains(&cancel), "{:?}", desk.wants(session));
        desk.state = ao_core::State::from_snapshot(&desk.state.to_snapshot()).unwrap();
        let input = match cancels {
            true => SessionInput::TurnCancelled { attempt: attempt(1), number: 1, cut: true },
            false => {
                let wanted = desk.wanted(session);
                let effect = wanted.iter().find(|effect| matches!(effect, Effect::CancelTurn { .. }));
                let effect = effect.unwrap().key();
                SessionInput::Failed { effect, why: "no socket".into() }
            }
        };
        desk.tell(session, input);
        assert_eq!(desk.wants(session), [format!("end {session} (attempt 1, try 0)")]);
        desk.ended(session);
        assert!(desk.status(session).starts_with("capped"), "{}", desk.status(session));
        let waits = desk.session(session).outbox.waiting.front().unwrap().body.clone();
        assert!(waits.starts_with("You were stopped in the middle of a turn"), "{waits}");
    }
}

#[test]
fn a_turn_that_ended_by_itself_is_not_cut() {
    let mut desk = Desk::new();
    let session = overdrawn(&mut desk);
    desk.tell(session, SessionInput::TurnCancelled { attempt: attempt(1), number: 1, cut: false });
    desk.sees(session, SignalSource::Protocol, Reading::Idle);
    assert!(desk.session(session).outbox.waiting.is_empty());
    assert!(desk.status(session).starts_with("capped"), "{}", desk.status(session));
    // Its result comes once more.
    desk.tell(session, SessionInput::TurnCancelled { attempt: attempt(1), number: 1, cut: true });
    assert!(desk.session(session).outbox.waiting.is_empty());
}
