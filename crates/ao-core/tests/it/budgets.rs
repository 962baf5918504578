//! Budgets that several sessions share.

use ao_core::budget::{BudgetInput, BudgetScope, SpendLimits, UsageTotal};
use ao_core::evidence::{Reading, SignalSource};
use ao_core::incident::{IncidentKind, Subject};
use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::reaction::{ReactionAction, ReactionPatch, ReactionPatches};
use ao_core::session::SessionInput;
use ao_core::{DaemonSettings, Input, Refusal, SessionId};

use crate::desk::{Desk, app, task, working};

fn usd(micros: u64) -> SpendLimits {
    SpendLimits { micros: Some(micros), ..SpendLimits::default() }
}

fn spend(micros: u64) -> UsageTotal {
    UsageTotal { micros: Some(micros), turns: 1, ..UsageTotal::default() }
}

fn configure(desk: &mut Desk, change: impl FnOnce(&mut ProjectConfig)) {
    let mut config =
        ProjectConfig { path: "~/app".into(), default_branch: "main".into(), ..ProjectConfig::default() };
    change(&mut config);
    let input = ProjectInput::Configure(Box::new(config));
    desk.take(Input::Project { project: app(), input });
}

/// Settings under which an idle agent is left alone, for tests that are about something else.
pub(crate) fn no_word_about_idleness() -> Input {
    let record = ReactionPatch { action: Some(ReactionAction::Record), ..ReactionPatch::default() };
    let reactions = ReactionPatches::from([(IncidentKind::AgentIdle, record)]);
    Input::Configure(Box::new(DaemonSettings { reactions, ..DaemonSettings::default() }))
}

fn end(desk: &mut Desk, session: SessionId) {
    desk.tell(session, SessionInput::Stop { by: "ann".into(), why: String::new() });
    desk.ended(session);
}

/// acceptance: B2
#[test]
fn a_second_session_of_a_task_gets_no_fresh_budget() {
    let mut desk = Desk::new();
    configure(&mut desk, |config| config.per_task = usd(2_000_000));
    let first = desk.idle("1");
    desk.spends(first, spend(1_500_000));
    end(&mut desk, first);
    let second = desk.idle("1");
    desk.spends(second, spend(600_000));
    assert_eq!(desk.status(second), "capped: the budget of app#1 is spent: cost $2.10 of $2.00");
    let other = desk.idle("2");
    assert!(desk.status(other).starts_with("idle"), "{}", desk.status(other));
    end(&mut desk, second);
    let third = desk.spawn("1");
    assert_eq!(desk.status(third), "capped: the budget of app#1 is spent: cost $2.10 of $2.00");
    assert!(!desk.session(third).takes_slot(), "no start");
    let exceeded = desk.told().iter().filter(|text| text.contains("budget of app#1")).count();
    assert_eq!(exceeded, 1, "a person hears of it once: {:?}", desk.told());
}

/// acceptance: B2
#[test]
fn going_on_under_a_spent_budget_of_many_takes_a_new_limit_and_says_what_to_type() {
    let mut desk = Desk::new();
    configure(&mut desk, |config| config.total = usd(2_000_000));
    let session = desk.idle("1");
    desk.spends(session, spend(2_000_000));
    let resume = Input::Session { session, input: SessionInput::Resume { limits: None } };
    let refused = desk.try_take(resume).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the whole budget of `app` is spent (cost $2.00 of $2.00); it goes on with a higher limit: \
         `ao resume app-1 --of project --usd 4.00`"
    );
    let raise = |micros| Input::Budget {
        budget: BudgetScope::Project(app()),
        input: BudgetInput::Raise { limits: usd(micros) },
    };
    assert!(matches!(desk.try_take(raise(1_000_000)), Err(Refusal::Invalid { .. })));
    desk.take(raise(4_000_000));
    assert!(desk.status(session).starts_with("idle"), "{}", desk.status(session));
    desk.spends(session, spend(4_000_000));
    assert_eq!(desk.status(session), "capped: the whole budget of `app` is spent: cost $4.00 of $4.00");
}

#[test]
fn a_person_who_paused_a_session_can_take_that_back_whatever_else_holds_it() {
    let mut desk = Desk::new();
    configure(&mut desk, |config| config.total = usd(2_000_000));
    let session = desk.idle("1");
    desk.tell(session, SessionInput::Pause { by: "ann".into() });
    desk.spends(session, spend(2_000_000));
    desk.tell(session, SessionInput::Resume { limits: None });
    assert!(desk.status(session).starts_with("capped"), "{}", desk.status(session));
}

#[test]
fn a_higher_limit_in_the_configuration_lets_everybody_go_on() {
    let mut desk = Desk::new();
    configure(&mut desk, |config| config.total = usd(2_000_000));
    let session = desk.idle("1");
    desk.spends(session, spend(2_000_000));
    assert!(desk.status(session).starts_with("capped"));
    configure(&mut desk, |config| config.total = usd(9_000_000));
    assert!(desk.status(session).starts_with("idle"), "{}", desk.status(session));
    configure(&mut desk, |config| config.total = usd(1_000_000));
    assert!(desk.status(session).starts_with("capped"), "{}", desk.status(session));
}

#[test]
fn a_day_has_one_budget_for_all_projects_and_the_next_day_another() {
    let daily = SpendLimits { turns: Some(4), ..SpendLimits::default() };
    let mut desk = Desk::with(DaemonSettings { daily, ..DaemonSettings::default() });
    let (first, second) = (desk.idle("1"), desk.idle("2"));
    let turns = |turns| UsageTotal { turns, ..UsageTotal::default() };
    desk.spends(first, turns(3));
    assert!(desk.session(first).outbox.current.is_none(), "three of four is not near enough");
    desk.spends(second, turns(1));
    for session in [first, second] {
        assert_eq!(desk.status(session), "capped: today's budget of all projects is spent: turns 4 of 4");
    }
    assert_eq!(desk.state.budget_usage[&BudgetScope::Day].spent.micros, None, "unknown is not nought");
    assert_eq!(
        desk.told(),
        ["host: A budget is spent. today's budget of all projects is spent: turns 4 of 4"]
    );
    desk.wait(24 * 3600);
    assert!(!desk.status(first).starts_with("capped"), "{}", desk.status(first));
}

#[test]
fn near_the_end_of_a_shared_budget_everybody_who_runs_is_asked_to_sum_up_once() {
    let mut desk = Desk::new();
    configure(&mut desk, |config| config.daily = usd(1_000_000));
    let (first, second) = (desk.idle("1"), desk.idle("2"));
    desk.spends(first, spend(850_000));
    desk.spends(second, spend(50_000));
    for session in [first, second] {
        let text = desk.session(session).outbox.current.clone().unwrap().text;
        assert_eq!(
            text,
            "Today's budget of `app` is nearly spent (cost $0.85 of $1.00). Commit what you have and sum up what is \
             left."
        );
        assert!(desk.session(session).outbox.waiting.is_empty());
    }
}

/// acceptance: B2
#[test]
fn a_turn_that_goes_far_beyond_its_budget_is_ended_and_taken_up_again_with_a_new_limit() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.tell(session, SessionInput::Resume { limits: Some(usd(1_000_000)) });
    desk.wait(10);
    desk.sees(session, SignalSource::Hook, working());
    desk.spends(session, spend(1_050_000));
    desk.wait_unseen(60);
    assert_eq!(desk.wants(session), [format!("look at {session}")], "it may end by itself");
    desk.sees(session, SignalSource::Hook, working());
    desk.spends(session, spend(1_150_000));
    desk.wait_unseen(1);
    assert_eq!(desk.wants(session), [format!("end {session} (attempt 1, try 0)")]);
    desk.ended(session);
    assert!(desk.status(session).starts_with("capped"), "{}", desk.status(session));
    assert_eq!(desk.told().len(), 1, "that it was ended is no second thing to tell: {:?}", desk.told());
    desk.wait(3600);
    assert_eq!(desk.wants(session), Vec::<String>::new(), "no start");
    desk.tell(session, SessionInput::Resume { limits: Some(usd(5_000_000)) });
    assert_eq!(desk.wants(session), [format!("launch {session} (attempt 2, try 0)")]);
    desk.launch(session);
    desk.sees(session, SignalSource::Hook, Reading::Idle);
    let text = desk.session(session).outbox.current.clone().unwrap().text;
    assert!(text.starts_with("You were stopped in the middle of a turn"), "{text}");
}

#[test]
fn a_turn_that_ends_soon_after_its_budget_is_spent_is_let_be() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.tell(session, SessionInput::Resume { limits: Some(usd(1_000_000)) });
    desk.wait(10);
    desk.sees(session, SignalSource::Hook, working());
    desk.spends(session, spend(9_000_000));
    desk.wait_unseen(20);
    desk.sees(session, SignalSource::Hook, Reading::Idle);
    desk.wait(3600);
    assert_eq!(desk.count("session.stopping"), 0);
}

#[test]
fn what_was_spent_on_a_task_is_forgotten_with_the_task() {
    let mut desk = Desk::new();
    desk.task("1", &[], false);
    let session = desk.idle("1");
    desk.spends(session, spend(10));
    end(&mut desk, session);
    desk.tell(session, SessionInput::Cleanup);
    desk.tell(session, SessionInput::WorkspaceRemoved { tries: 0, rescue: None });
    desk.wait(30 * 3600);
    assert!(!desk.state.sessions.contains_key(&session), "it is archived");
    assert_eq!(
        desk.state.budget_usage[&BudgetScope::Task(task("1"))].spent.micros,
        Some(10),
        "the task is open"
    );
    desk.task("1", &[], true);
    assert!(!desk.state.budget_usage.contains_key(&BudgetScope::Task(task("1"))));
}

#[test]
fn that_the_budget_of_a_task_is_spent_is_no_problem_once_the_task_is_gone() {
    let open = |desk: &Desk| desk.state.incidents_of(&Subject::Project(app())).count();
    for closed_first in [true, false] {
        let mut desk = Desk::new();
        desk.take(no_word_about_idleness());
        configure(&mut desk, |config| config.per_task = usd(10));
        desk.task("1", &[], false);
        let (session, other) = (desk.idle("1"), desk.idle("2"));
        desk.spends(session, spend(10));
        assert_eq!(open(&desk), 1);
        end(&mut desk, session);
        if closed_first {
            desk.task("1", &[], true);
        }
        desk.tell(session, SessionInput::Cleanup);
        desk.tell(session, SessionInput::WorkspaceRemoved { tries: 0, rescue: None });
        desk.wait(30 * 3600);
        assert!(!desk.state.sessions.contains_key(&session), "it is archived");
        if !closed_first {
            assert_eq!(open(&desk), 1, "the task is open");
            desk.task("1", &[], true);
        }
        desk.wait(3600);
        assert_eq!(open(&desk), 0, "closed first: {closed_first}; {}", desk.status(other));
    }
}

/// The last report of an agent may be long ago when a limit is lowered, or come while there is still time.
#[test]
fn a_turn_far_beyond_a_shared_budget_is_ended_though_nothing_more_is_told() {
    for lowered in [true, false] {
        let mut desk = Desk::new();
        configure(&mut desk, |config| config.total = usd(if lowered { 9_000_000 } else { 1_000_000 }));
        let session = desk.idle("1");
        desk.sees(session, SignalSource::Hook, working());
        desk.spends(session, spend(2_000_000));
        if lowered {
            desk.wait_unseen(60);
            configure(&mut desk, |config| config.total = usd(1_000_000));
        }
        desk.wait_unseen(29);
        assert_eq!(desk.count("session.stopping"), 0, "it may end by itself");
        desk.sees(session, SignalSource::Hook, working());
        desk.wait_unseen(2);
        assert_eq!(desk.count("session.stopping"), 1, "lowered: {lowered}");
    }
}

#[test]
fn a_shared_budget_that_is_just_spent_ends_no_turn_and_is_looked_at_once() {
    let mut desk = Desk::new();
    configure(&mut desk, |config| config.total = usd(1_000_000));
    let session = desk.idle("1");
    desk.sees(session, SignalSource::Hook, working());
    desk.spends(session, spend(1_000_000));
    desk.wait_unseen(60);
    assert_eq!((desk.count("budget.spared"), desk.count("session.stopping")), (1, 0));
    desk.sees(session, SignalSource::Hook, working());
    desk.spends(session, spend(1_200_000));
    assert_eq!(desk.count("session.stopping"), 1, "{}", desk.status(session));
}

/// Time is counted while it passes, whether or not the agent says anything. acceptance: B3
#[test]
fn time_that_is_shared_is_counted_though_nothing_is_said() {
    let mut desk = Desk::new();
    configure(&mut desk, |config| {
        config.daily = SpendLimits { seconds: Some(3600), ..SpendLimits::default() }
    });
    let session = desk.idle("1");
    desk.sees(session, SignalSource::Hook, working());
    desk.wait(3000);
    assert!(!desk.status(session).starts_with("capped"), "{}", desk.status(session));
    desk.wait(700);
    assert!(
        desk.status(session).starts_with("capped: today's budget of `app` is spent: time 36"),
        "{}",
        desk.status(session)
    );
}
