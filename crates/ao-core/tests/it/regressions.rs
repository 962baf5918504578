//! Stories that once went wrong: each was a bug.

use std::time::Duration;

use ao_core::budget::{BudgetInput, BudgetScope, SpendLimits, UsageTotal};
use ao_core::evidence::{AgentActivity, Reading, SignalSource};
use ao_core::pull::{
    AuthorFacts, AuthorStanding, CheckState, CommentFacts, PullFacts, PullInput, PullState, ThreadFacts,
};
use ao_core::session::SessionInput;
use ao_core::{DaemonSettings, Effect, EffectKey, Input, Refusal, SessionId};

use crate::desk::{Desk, TYPED, asking, attempt, exited, message, request, stop, task, working};
use crate::incidents::{facts, pull, red, with_pull};

#[test]
fn an_agent_that_only_lives_and_shows_nothing_is_unknown_and_then_stuck() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.wait(60);
    desk.sees(session, SignalSource::Hook, working());
    for _ in 0..60 {
        desk.wait(30);
        let a = desk.signal(session, SignalSource::Process, Reading::Alive { busy: false });
        let attempt = desk.session(session).attempt;
        desk.tell(session, SessionInput::Looked { attempt, signals: vec![a] });
    }
    assert_eq!(desk.session(session).judgement.activity, AgentActivity::Unknown);
}

#[test]
fn what_waited_for_a_limit_is_said_when_it_ends() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.wait(60);
    let until = desk.now + Duration::from_secs(600);
    desk.sees(session, SignalSource::Hook, Reading::Limited { until: Some(until) });
    desk.send(session, "go on");
    for _ in 0..120 {
        desk.wait(30);
        desk.sees(session, SignalSource::Process, Reading::Alive { busy: false });
    }
    assert!(!desk.wants(session).is_empty(), "message never delivered");
}

#[test]
fn a_session_restored_before_it_ever_ran_has_its_task() {
    let mut desk = Desk::new();
    let session = desk.spawn("1");
    desk.make_ready(session);
    desk.tell(
        session,
        SessionInput::Failed {
            effect: EffectKey::Launch { session, attempt: attempt(1), tries: 0 },
            why: "x".into(),
        },
    );
    desk.tell(session, stop());
    desk.ended(session);
    desk.tell(session, SessionInput::Restore);
    desk.launch(session);
    desk.wait(1);
    desk.sees(session, SignalSource::Hook, Reading::Idle);
    assert!(!desk.session(session).outbox.is_empty(), "no task");
}

#[test]
fn a_message_sent_while_a_crashed_process_is_ended_wakes_it() {
    let mut desk = Desk::with(DaemonSettings { restarts: 0, ..DaemonSettings::default() });
    let session = desk.idle("1");
    desk.wait(5);
    desk.sees(session, SignalSource::Process, exited(1));
    desk.send(session, "please go on"); // while its end is under way
    desk.ended(session);
    desk.wait(7200);
    assert!(desk.status(session).starts_with("starting") || desk.session(session).outbox.is_empty());
}

#[test]
fn a_failed_try_at_restoring_does_not_forget_the_rescue_ref() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.tell(session, stop());
    desk.ended(session);
    desk.tell(session, SessionInput::Cleanup);
    desk.tell(session, SessionInput::WorkspaceRemoved { tries: 0, rescue: Some("refs/ao/rescue/1".into()) });
    desk.tell(session, SessionInput::Restore);
    let Effect::CreateWorkspace { attempt, tries, plan, .. } = desk.wanted(session).remove(0) else {
        panic!()
    };
    assert!(plan.rescue.is_some());
    desk.tell(
        session,
        SessionInput::Failed {
            effect: EffectKey::CreateWorkspace { session, attempt, tries },
            why: "index.lock".into(),
        },
    );
    desk.wait(10);
    let Effect::CreateWorkspace { plan, .. } = desk.wanted(session).remove(0) else { panic!() };
    assert!(plan.rescue.is_some(), "rescue forgotten");
}

#[test]
fn a_stop_during_a_failing_set_up_clears_up_what_that_left() {
    let mut desk = Desk::new();
    let session = desk.spawn("1");
    desk.tell(session, stop());
    desk.tell(
        session,
        SessionInput::Failed {
            effect: EffectKey::CreateWorkspace { session, attempt: attempt(1), tries: 0 },
            why: "timed out".into(),
        },
    );
    assert!(!desk.wants(session).is_empty());
}

#[test]
fn a_late_word_of_an_exit_does_not_end_a_living_agent() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.wait(10);
    let late = desk.signal(session, SignalSource::Hook, exited(1));
    desk.wait(10);
    desk.sees(session, SignalSource::Process, Reading::Alive { busy: true });
    desk.tell(session, SessionInput::Signal(late));
    assert!(!desk.status(session).starts_with("stopping"));
}

#[test]
fn an_open_dialog_is_looked_at_now_and_then() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.wait(60);
    desk.sees(session, SignalSource::Hook, asking());
    desk.send(session, "hello");
    desk.wait(7200);
    assert!(desk.wants(session).iter().any(|w| w.starts_with("look")));
}

#[test]
fn work_on_the_screen_is_believed_within_seconds_of_the_dialog() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.wait(60);
    desk.sees(session, SignalSource::Hook, asking());
    desk.now = desk.now + Duration::from_secs(2);
    for i in 0..9 {
        desk.sees(session, SignalSource::Terminal, working());
        if i == 6 {
            assert!(desk.status(session).starts_with("working"));
        }
        desk.now = desk.now + Duration::from_secs(1);
    }
}

#[test]
fn a_message_that_was_given_up_does_not_take_the_proof_of_a_longer_one() {
    let mut desk = Desk::with(DaemonSettings { delivery_tries: 1, ..DaemonSettings::default() });
    let session = desk.idle("1");
    desk.wait(60);
    desk.send(session, "go on");
    desk.write(session);
    desk.wait(30);
    assert_eq!(desk.session(session).outbox.failed.len(), 1);
    desk.send(session, "now go on with step 2");
    desk.write(session);
    desk.prove(session, "now go on with step 2");
    assert!(desk.session(session).outbox.current.is_none(), "proof was stolen");
}

fn see(desk: &mut Desk, check: CheckState, comments: Vec<CommentFacts>) {
    desk.now = desk.now + Duration::from_secs(1);
    let mut facts = facts(desk, "c1", check);
    if !comments.is_empty() {
        facts.threads =
            vec![ThreadFacts { id: "t1".into(), path: None, line: None, resolved: false, comments }];
    }
    desk.take(Input::Pull { pull: pull(), input: PullInput::Seen(Box::new(facts)) });
    desk.run_jobs(|_| Err("there is no runner".into()));
}

fn comment(id: &str, body: &str) -> CommentFacts {
    CommentFacts {
        id: id.into(),
        author: AuthorFacts { login: "bob".into(), standing: AuthorStanding::Member },
        body: body.into(),
        url: "https://forge.invalid/7#c".into(),
        revision: "1".into(),
    }
}

/// An agent at work, with a pull request.
fn busy_with_a_pull(desk: &mut Desk) -> SessionId {
    let session = with_pull(desk);
    desk.wait(5);
    desk.sees(session, SignalSource::Hook, working());
    session
}

#[test]
fn a_second_comment_does_not_push_the_first_one_out() {
    let mut desk = Desk::new();
    let session = busy_with_a_pull(&mut desk);
    see(&mut desk, CheckState::Pending, vec![comment("c1", "FIRST")]);
    see(&mut desk, CheckState::Pending, vec![comment("c1", "FIRST"), comment("c2", "SECOND")]);
    desk.now = desk.now + Duration::from_secs(1);
    desk.sees(session, SignalSource::Hook, Reading::Idle);
    let text = desk.session(session).outbox.current.clone().unwrap().text;
    assert!(text.contains("FIRST") && text.contains("SECOND"));
}

#[test]
fn news_that_was_taken_back_is_said_when_the_problem_returns() {
    let mut desk = Desk::new();
    let session = busy_with_a_pull(&mut desk);
    see(&mut desk, red("E1"), vec![]);
    see(&mut desk, CheckState::Passed, vec![]);
    see(&mut desk, red("E1"), vec![]);
    desk.now = desk.now + Duration::from_secs(1);
    desk.sees(session, SignalSource::Hook, Reading::Idle);
    desk.wait(1500);
    assert!(!desk.session(session).outbox.is_empty(), "the agent was never told");
}

#[test]
fn news_of_a_closed_pull_request_is_taken_back() {
    let mut desk = Desk::new();
    let session = busy_with_a_pull(&mut desk);
    see(&mut desk, red("E1"), vec![]);
    desk.now = desk.now + Duration::from_secs(1);
    let f = PullFacts { state: PullState::Closed, ..facts(&desk, "c1", red("E1")) };
    desk.take(Input::Pull { pull: pull(), input: PullInput::Seen(Box::new(f)) });
    assert!(desk.session(session).outbox.is_empty());
}

#[test]
fn an_interrupt_overtakes_what_only_waits_for_its_proof() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.wait(5);
    desk.send(session, "one");
    desk.write(session);
    desk.now = desk.now + Duration::from_secs(1);
    desk.sees(session, SignalSource::Hook, working());
    desk.tell(session, message("STOP", true));
    desk.wait(3);
    for _ in 0..100 {
        desk.wait(30);
        desk.sees(session, SignalSource::Hook, working());
    }
    assert!(desk.wants(session).iter().any(|w| w.starts_with("deliver")));
}

/// acceptance: B2
#[test]
fn neither_a_restore_nor_a_new_attempt_hands_out_a_fresh_budget() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    let limits = SpendLimits { micros: Some(2_000_000), ..SpendLimits::default() };
    desk.tell(session, SessionInput::Resume { limits: Some(limits) });
    let spend = UsageTotal { micros: Some(1_200_000), turns: 1, ..UsageTotal::default() };
    desk.spends(session, spend);
    desk.tell(session, stop());
    desk.ended(session);
    desk.tell(session, SessionInput::Restore);
    desk.launch(session);
    // The agent counts from nought again; we do not.
    desk.spends(session, spend);
    assert_eq!(desk.status(session), "capped: its budget is spent: cost $2.40 of $2.00");
    desk.tell(session, stop());
    desk.ended(session);
    let restore = Input::Session { session, input: SessionInput::Restore };
    let refused = desk.try_take(restore).unwrap_err();
    assert!(
        matches!(&refused, Refusal::Budget { why, .. } if why.contains("cost $2.40 of $2.00")),
        "{refused}"
    );
}

/// acceptance: B3
#[test]
fn an_agent_that_reports_nothing_is_held_by_our_own_count_of_turns_and_time() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    let limits = SpendLimits { turns: Some(2), ..SpendLimits::default() };
    desk.tell(session, SessionInput::Resume { limits: Some(limits) });
    desk.send(session, "and another thing");
    desk.write(session);
    desk.prove(session, "and another thing");
    assert_eq!(desk.status(session), "capped: its budget is spent: turns 2 of 2");

    let session = desk.idle("2");
    let limits = SpendLimits { seconds: Some(600), ..SpendLimits::default() };
    desk.tell(session, SessionInput::Resume { limits: Some(limits) });
    desk.wait(590);
    assert!(desk.status(session).starts_with("idle"), "{}", desk.status(session));
    desk.wait(20);
    assert!(
        desk.status(session).starts_with("capped: its budget is spent: time"),
        "{}",
        desk.status(session)
    );
}

/// acceptance: L4
#[test]
fn a_message_does_not_wake_a_session_whose_task_is_closed() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.sees(session, SignalSource::Process, exited(0));
    desk.ended(session);
    desk.task("1", &[], false);
    desk.task("1", &[], true);
    let refused = desk.try_take(Input::Session { session, input: message("hi", false) }).unwrap_err();
    assert_eq!(refused, Refusal::TaskClosed { task: task("1") });
}

#[test]
fn a_thousand_sessions_let_go_at_once_are_let_go_in_one_step() {
    let mut desk = Desk::with(DaemonSettings { max_live: 0, ..DaemonSettings::default() });
    for n in 0..300 {
        desk.take(Input::Spawn(Box::new(request(&n.to_string(), TYPED))));
    }
    let daily = SpendLimits { turns: Some(0), ..SpendLimits::default() };
    desk.take(Input::Configure(Box::new(DaemonSettings { max_live: 0, daily, ..DaemonSettings::default() })));
    desk.take(Input::Budget { budget: BudgetScope::Day, input: BudgetInput::Count });
    assert_eq!(desk.count("session.held"), 300);
    let limits = SpendLimits::default();
    desk.take(Input::Budget { budget: BudgetScope::Day, input: BudgetInput::Raise { limits } });
    assert_eq!(desk.count("session.released"), 300);
}
