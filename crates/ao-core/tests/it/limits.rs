//! Budgets and providers' limits.

use std::time::Duration;

use ao_core::Refusal;
use ao_core::budget::{Limits, Spend};
use ao_core::evidence::{Reading, Source};
use ao_core::session::SessionInput;
use ao_core::{Input, Settings};

use crate::desk::{Desk, TYPED, request, working};

fn dollars(micros: u64) -> Spend {
    Spend { micros: Some(micros), turns: 1, ..Spend::default() }
}

fn with_budget(desk: &mut Desk, micros: u64) -> ao_core::SessionId {
    let session = desk.idle("1");
    let limits = Limits { micros: Some(micros), ..Limits::default() };
    desk.tell(session, SessionInput::Resume { limits: Some(limits) });
    session
}

/// acceptance: B2
#[test]
fn a_spent_budget_stops_every_further_turn_until_there_is_a_new_limit() {
    let mut desk = Desk::new();
    let session = with_budget(&mut desk, 1_000_000);
    desk.wait(10);
    desk.sees(session, Source::Hook, working());
    desk.spends(session, dollars(1_200_000));
    assert_eq!(desk.status(session), "capped: its budget is spent: cost $1.20 of $1.00");
    assert_eq!(desk.told().len(), 1);
    desk.wait(10);
    desk.sees(session, Source::Hook, Reading::Idle);
    desk.send(session, "go on");
    desk.wait(7200);
    assert_eq!(desk.wants(session), Vec::<String>::new(), "no further turn");

    let resume = |limits| Input::Session { session, input: SessionInput::Resume { limits } };
    let refused = desk.try_take(resume(None)).unwrap_err();
    assert_eq!(refused, Refusal::Budget { session, reached: "cost $1.20 of $1.00".into() });
    desk.take(resume(Some(Limits { micros: Some(5_000_000), ..Limits::default() })));
    assert_eq!(desk.session(session).outbox.current.clone().unwrap().text, "go on");
}

/// acceptance: B2
#[test]
fn a_spent_budget_keeps_a_crashed_session_from_starting_again() {
    let mut desk = Desk::new();
    let session = with_budget(&mut desk, 1_000_000);
    desk.spends(session, dollars(1_000_000));
    desk.sees(session, Source::Process, Reading::Exited { code: Some(1) });
    desk.ended(session);
    desk.wait(7200);
    assert_eq!(desk.wants(session), Vec::<String>::new());
    let limits = Some(Limits::default());
    desk.tell(session, SessionInput::Resume { limits });
    desk.wait(60);
    assert_eq!(desk.wants(session), [format!("launch {session} (attempt 2, try 0)")]);
}

#[test]
fn a_limit_below_what_is_spent_already_is_refused() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.wait(60);
    desk.spends(session, Spend { seconds: 100, turns: 1, ..Spend::default() });
    let limits = Limits { seconds: Some(10), ..Limits::default() };
    let lower = Input::Session { session, input: SessionInput::Resume { limits: Some(limits) } };
    let refused = desk.try_take(lower).unwrap_err();
    assert_eq!(refused, Refusal::Budget { session, reached: "time 100 s of 10 s".into() });
}

#[test]
fn near_the_limit_the_agent_is_asked_to_sum_up_once() {
    let mut desk = Desk::new();
    let session = with_budget(&mut desk, 1_000_000);
    desk.spends(session, dollars(850_000));
    desk.spends(session, dollars(900_000));
    let text = desk.session(session).outbox.current.clone().unwrap().text;
    assert!(text.starts_with("Your budget is nearly spent (cost $0.85 of $1.00)."), "{text}");
    assert!(desk.session(session).outbox.waiting.is_empty());
}

/// acceptance: B3
#[test]
fn without_a_cost_turns_and_time_still_count() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    let limits = Limits { micros: Some(1), turns: Some(3), ..Limits::default() };
    desk.tell(session, SessionInput::Resume { limits: Some(limits) });
    desk.spends(session, Spend { turns: 2, seconds: 60, ..Spend::default() });
    assert_eq!(desk.session(session).spend.micros, None);
    assert!(desk.status(session).starts_with("idle"));
    desk.spends(session, Spend { turns: 3, seconds: 90, ..Spend::default() });
    assert_eq!(desk.status(session), "capped: its budget is spent: turns 3 of 3");
}

/// acceptance: B1
#[test]
fn a_providers_limit_holds_the_whole_account_and_ends_by_itself() {
    let mut desk = Desk::new();
    let (first, second) = (desk.idle("1"), desk.idle("2"));
    desk.wait(60);
    let reset = desk.now + Duration::from_secs(600);
    desk.sees(first, Source::Hook, Reading::Limited { until: Some(reset) });
    assert!(desk.status(first).starts_with("rate_limited"), "{}", desk.status(first));
    assert!(desk.status(second).starts_with("rate_limited"), "{}", desk.status(second));
    let third = desk.spawn("3");
    desk.send(second, "hello");
    desk.wait(599);
    assert_eq!(desk.wants(second), Vec::<String>::new());
    assert!(!desk.session(third).takes_slot());
    desk.wait(2);
    assert_eq!(desk.wants(second), [format!("deliver 2 to {second} (try 1)")]);
    assert!(desk.session(third).takes_slot());
    assert!(desk.status(first).starts_with("idle"), "{}", desk.status(first));
}

#[test]
fn a_stop_in_the_time_of_a_limit_wins() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.wait(60);
    let reset = desk.now + Duration::from_secs(600);
    desk.sees(session, Source::Hook, Reading::Limited { until: Some(reset) });
    desk.tell(session, SessionInput::Stop { by: "ann".into(), why: "enough".into() });
    desk.ended(session);
    desk.wait(1200);
    assert_eq!(desk.status(session), "stopped: stopped by ann: enough");
    assert_eq!(desk.wants(session), Vec::<String>::new());
}

#[test]
fn a_projects_daily_budget_holds_all_its_sessions_until_midnight() {
    let mut desk = Desk::with(Settings::default());
    let config = ao_core::project::ProjectConfig {
        path: "~/app".into(),
        default_branch: "main".into(),
        max_live: None,
        daily: Limits { micros: Some(2_000_000), ..Limits::default() },
        ..Default::default()
    };
    let configure = ao_core::project::ProjectInput::Configure(Box::new(config));
    desk.take(Input::Project { project: crate::desk::app(), input: configure });
    let (first, second) = (desk.idle("1"), desk.idle("2"));
    desk.spends(first, dollars(1_500_000));
    assert!(desk.status(second).starts_with("idle"));
    desk.spends(second, dollars(600_000));
    for session in [first, second] {
        assert_eq!(desk.status(session), "capped: today's budget of `app` is spent: cost $2.10 of $2.00");
    }
    desk.take(Input::Spawn(Box::new(request("3", TYPED))));
    let third = desk.state.live_session_of(&crate::desk::task("3")).unwrap();
    assert!(!desk.session(third).takes_slot());
    desk.wait(24 * 3600);
    assert!(desk.session(third).takes_slot());
    assert!(desk.status(first).starts_with("idle"), "{}", desk.status(first));
}

#[test]
fn under_a_hold_no_launch_begins_and_a_stop_does_not_wait_for_one() {
    let mut desk = Desk::new();
    let session = desk.spawn("1");
    desk.make_ready(session);
    desk.tell(session, SessionInput::Pause { by: "ann".into() });
    assert_eq!(desk.wants(session), Vec::<String>::new());
    assert_eq!(desk.status(session), "paused: paused by ann");
    desk.tell(session, SessionInput::Stop { by: "ann".into(), why: String::new() });
    assert_eq!(desk.wants(session), [format!("end {session} (attempt 1, try 0)")]);

    let session = desk.spawn("2");
    desk.make_ready(session);
    desk.tell(session, SessionInput::Stop { by: "ann".into(), why: String::new() });
    desk.tell(session, SessionInput::Pause { by: "ann".into() });
    assert_eq!(desk.wants(session), [format!("end {session} (attempt 1, try 0)")]);
}
