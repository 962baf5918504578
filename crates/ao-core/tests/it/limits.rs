//! Budgets and providers' limits.

use std::time::Duration;

use ao_core::Refusal;
use ao_core::budget::{SpendLimits, UsageTotal};
use ao_core::evidence::{Reading, SignalSource};
use ao_core::incident::{IncidentKind, Subject};
use ao_core::input::SpawnRequest;
use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::session::{HoldKind, SessionEvent, SessionInput};
use ao_core::{DaemonSettings, Event, Input};

use crate::desk::{Desk, TYPED, asking, request, working};

fn dollars(micros: u64) -> UsageTotal {
    UsageTotal { micros: Some(micros), turns: 1, ..UsageTotal::default() }
}

fn with_budget(desk: &mut Desk, micros: u64) -> ao_core::SessionId {
    let session = desk.idle("1");
    let limits = SpendLimits { micros: Some(micros), ..SpendLimits::default() };
    desk.tell(session, SessionInput::Resume { limits: Some(limits) });
    session
}

/// acceptance: B2
#[test]
fn a_spent_budget_stops_every_further_turn_until_there_is_a_new_limit() {
    let mut desk = Desk::new();
    let session = with_budget(&mut desk, 1_000_000);
    desk.wait(10);
    desk.sees(session, SignalSource::Hook, working());
    desk.spends(session, dollars(1_200_000));
    assert_eq!(desk.status(session), "capped: its budget is spent: cost $1.20 of $1.00");
    assert_eq!(desk.told().len(), 1);
    desk.wait(10);
    desk.sees(session, SignalSource::Hook, Reading::Idle);
    desk.send(session, "go on");
    desk.wait(7200);
    assert_eq!(desk.wants(session), Vec::<String>::new(), "no further turn");

    let resume = |limits| Input::Session { session, input: SessionInput::Resume { limits } };
    let refused = desk.try_take(resume(None)).unwrap_err();
    assert_eq!(
        refused,
        Refusal::Budget {
            session,
            why: "the budget of `app-1` is spent (cost $1.20 of $1.00)".into(),
            retype: "ao resume app-1 --usd 2.40".into()
        }
    );
    desk.take(resume(Some(SpendLimits { micros: Some(5_000_000), ..SpendLimits::default() })));
    assert_eq!(desk.session(session).outbox.current.clone().unwrap().text, "go on");
}

/// acceptance: B2
#[test]
fn a_spent_budget_keeps_a_crashed_session_from_starting_again() {
    let mut desk = Desk::new();
    let session = with_budget(&mut desk, 1_000_000);
    desk.spends(session, dollars(1_000_000));
    desk.sees(session, SignalSource::Process, Reading::Exited { code: Some(1) });
    desk.ended(session);
    desk.wait(7200);
    assert_eq!(desk.wants(session), Vec::<String>::new());
    let limits = Some(SpendLimits::default());
    desk.tell(session, SessionInput::Resume { limits });
    desk.wait(60);
    assert_eq!(desk.wants(session), [format!("launch {session} (attempt 2, try 0)")]);
}

#[test]
fn a_limit_below_what_is_spent_already_is_refused() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.wait(60);
    desk.spends(session, UsageTotal { seconds: 100, turns: 1, ..UsageTotal::default() });
    let limits = SpendLimits { seconds: Some(10), ..SpendLimits::default() };
    let lower = Input::Session { session, input: SessionInput::Resume { limits: Some(limits) } };
    let refused = desk.try_take(lower).unwrap_err();
    assert_eq!(
        refused,
        Refusal::Budget {
            session,
            why: "the budget of `app-1` is spent (time 100 s of 10 s)".into(),
            retype: "ao resume app-1 --time 200s".into()
        }
    );
}

#[test]
fn a_session_that_has_ended_is_neither_paused_nor_resumed() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.tell(session, SessionInput::Stop { by: "ann".into(), why: String::new() });
    desk.ended(session);
    for input in [SessionInput::Resume { limits: None }, SessionInput::Pause { by: "ann".into() }] {
        let refused = desk.try_take(Input::Session { session, input }).unwrap_err();
        assert!(matches!(refused, Refusal::Ended { restorable: true, .. }), "{refused}");
    }
    let limits = SpendLimits { micros: Some(5_000_000), ..SpendLimits::default() };
    desk.tell(session, SessionInput::Resume { limits: Some(limits) });
    assert_eq!(desk.session(session).usage.limits, limits, "a restore may need it");
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
    let limits = SpendLimits { micros: Some(1), turns: Some(3), ..SpendLimits::default() };
    desk.tell(session, SessionInput::Resume { limits: Some(limits) });
    desk.spends(session, UsageTotal { turns: 2, seconds: 60, ..UsageTotal::default() });
    assert_eq!(desk.session(session).usage.spend.micros, None);
    assert!(desk.status(session).starts_with("idle"));
    desk.spends(session, UsageTotal { turns: 3, seconds: 90, ..UsageTotal::default() });
    assert_eq!(desk.status(session), "capped: its budget is spent: turns 3 of 3");
}

/// acceptance: B1
#[test]
fn a_providers_limit_holds_the_whole_account_and_ends_by_itself() {
    let mut desk = Desk::new();
    let (first, second) = (desk.idle("1"), desk.idle("2"));
    desk.wait(60);
    let reset = desk.now + Duration::from_secs(600);
    desk.sees(first, SignalSource::Hook, Reading::Limited { until: Some(reset) });
    assert!(desk.status(first).starts_with("rate_limited"), "{}", desk.status(first));
    assert!(desk.status(second).starts_with("rate_limited"), "{}", desk.status(second));
    let third = desk.spawn("3");
    desk.send(second, "hello");
    desk.wait(599);
    assert_eq!(desk.wants(second), Vec::<String>::new());
    assert!(!desk.session(third).takes_slot());
    desk.wait(50);
    assert_eq!(desk.wants(second), [format!("deliver 2 to {second} (try 1)")]);
    assert!(desk.session(third).takes_slot());
    // The one whose turn was cut short is told to take it up again.
    let text = desk.session(first).outbox.current.clone().unwrap().text;
    assert_eq!(text, "The provider's limit is over. Go on where you were stopped.");
}

fn limit(desk: &mut Desk, seconds: u64) {
    let until = desk.now + Duration::from_secs(seconds);
    desk.take(Input::AccountLimited { account: "scripted".into(), until });
}

/// When each was let go, in that order.
fn releases(desk: &Desk) -> Vec<(ao_core::SessionId, ao_core::Timestamp)> {
    let released = desk.log.iter().filter_map(|stamped| match &stamped.event {
        Event::Session(id, SessionEvent::Released { kind: HoldKind::Account }) => Some((*id, stamped.at)),
        _ => None,
    });
    released.collect()
}

#[test]
fn who_waits_for_its_turn_after_a_limit_is_not_said_to_be_limited_still() {
    let mut desk = Desk::new();
    let all: Vec<_> = (0..4).map(|n| desk.idle(&n.to_string())).collect();
    limit(&mut desk, 600);
    assert!(desk.status(all[3]).contains("holds until"), "{}", desk.status(all[3]));
    desk.wait(605);
    let waiting = all.iter().filter(|session| desk.session(**session).resume.at.is_some());
    let waiting: Vec<String> = waiting.map(|session| desk.status(*session)).collect();
    assert!(!waiting.is_empty());
    for status in waiting {
        assert!(status.starts_with("rate_limited: the provider's limit is over; it resumes in "), "{status}");
    }
}

/// acceptance: B1
#[test]
fn after_a_limit_the_most_urgent_goes_first_and_they_do_not_go_all_at_once() {
    let mut desk = Desk::new();
    let ordinary: Vec<_> = (0..4).map(|n| desk.idle(&n.to_string())).collect();
    let urgent = SpawnRequest { priority: 5, ..request("9", TYPED) };
    let urgent = desk.take(Input::Spawn(Box::new(urgent))).iter().find_map(Event::session).unwrap();
    desk.wait(60);
    let reset = desk.now + Duration::from_secs(600);
    limit(&mut desk, 600);
    desk.wait(1200);
    let released = releases(&desk);
    let mut order = vec![urgent];
    order.extend(ordinary);
    assert_eq!(released.iter().map(|(id, _)| *id).collect::<Vec<_>>(), order);
    for (place, (_, at)) in released.iter().enumerate() {
        let stretch = place as u64 * 15..=(place as u64 + 1) * 15;
        assert!(stretch.contains(&at.since(reset).as_secs()), "{place} at {:?}", at.since(reset));
    }
}

#[test]
fn a_fleet_of_any_size_is_back_within_a_quarter_of_an_hour() {
    let mut desk = Desk::with(DaemonSettings { max_live: 0, ..DaemonSettings::default() });
    for n in 0..200 {
        desk.spawn(&n.to_string());
    }
    limit(&mut desk, 60);
    desk.wait(60 + 15 * 60);
    assert_eq!(releases(&desk).len(), 200);
}

#[test]
fn those_who_still_wait_when_the_next_limit_comes_keep_their_place() {
    let mut desk = Desk::new();
    let sessions: Vec<_> = (0..3).map(|n| desk.idle(&n.to_string())).collect();
    limit(&mut desk, 60);
    desk.wait(60 + 15);
    assert_eq!(releases(&desk).iter().map(|(id, _)| *id).collect::<Vec<_>>(), [sessions[0]]);
    limit(&mut desk, 600);
    desk.wait(599);
    assert_eq!(releases(&desk).len(), 1, "nobody goes on under the new limit");
    desk.wait(60);
    let order: Vec<_> = releases(&desk).iter().map(|(id, _)| *id).collect();
    assert_eq!(order, [sessions[0], sessions[1], sessions[2], sessions[0]]);
}

/// acceptance: B1, L4
#[test]
fn work_that_is_no_longer_wanted_is_not_taken_up_again() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.task("1", &[], false);
    desk.sees(
        session,
        SignalSource::Hook,
        Reading::Limited { until: Some(desk.now + Duration::from_secs(60)) },
    );
    desk.task("1", &[], true);
    desk.wait(120);
    let told = "the provider's limit is over, but app#1 is closed; `ao resume` lets it go on";
    assert_eq!(desk.status(session), format!("paused: {told}"));
    assert_eq!(desk.wants(session), Vec::<String>::new());
    assert_eq!(desk.told(), [format!("`app-1` was not resumed: {told}")]);
    desk.tell(session, SessionInput::Resume { limits: None });
    assert!(desk.status(session).starts_with("idle"), "{}", desk.status(session));
}

/// acceptance: B1
#[test]
fn without_auto_resume_a_person_decides_and_is_told_once() {
    let mut desk = Desk::with(DaemonSettings { auto_resume: false, ..DaemonSettings::default() });
    let (first, second) = (desk.idle("1"), desk.idle("2"));
    limit(&mut desk, 60);
    desk.wait(3600);
    for session in [first, second] {
        assert!(desk.status(session).starts_with("paused: the provider's limit is over"));
    }
    assert_eq!(
        desk.told(),
        [
            "the provider's limit for `scripted` is over; autoResume is off, so 2 sessions wait until `ao resume`: \
          app-1, app-2"
        ]
    );
    desk.tell(first, SessionInput::Resume { limits: None });
    assert!(desk.status(first).starts_with("idle"), "{}", desk.status(first));
    assert!(desk.status(second).starts_with("paused"));
}

#[test]
fn a_project_may_say_otherwise_about_going_on_by_itself() {
    let mut desk = Desk::with(DaemonSettings { auto_resume: false, ..DaemonSettings::default() });
    let config = ProjectConfig {
        path: "~/app".into(),
        default_branch: "main".into(),
        auto_resume: Some(true),
        ..Default::default()
    };
    let input = ProjectInput::Configure(Box::new(config));
    desk.take(Input::Project { project: crate::desk::app(), input });
    let session = desk.idle("1");
    limit(&mut desk, 60);
    desk.wait(80);
    assert!(desk.status(session).starts_with("idle"), "{}", desk.status(session));
}

#[test]
fn a_limit_without_an_end_is_waited_for_longer_each_time_and_not_without_bound() {
    let mut desk = Desk::new();
    let (session, other) = (desk.idle("1"), desk.idle("2"));
    for minutes in [15, 30, 60, 60] {
        desk.wait(60);
        let since = desk.now;
        desk.sees(session, SignalSource::Hook, Reading::Limited { until: None });
        desk.wait(10);
        desk.sees(other, SignalSource::Hook, Reading::Limited { until: None });
        assert_eq!(desk.state.accounts["scripted"].since(since).as_secs(), minutes * 60);
        desk.wait(minutes * 60 + 30);
        assert!(desk.state.accounts.is_empty());
        for session in [session, other] {
            desk.sees(session, SignalSource::Hook, Reading::Idle);
        }
    }
    // After an hour without one, the count begins anew.
    desk.wait(2 * 3600);
    let since = desk.now;
    desk.sees(session, SignalSource::Hook, Reading::Limited { until: None });
    assert_eq!(desk.state.accounts["scripted"].since(since).as_secs(), 15 * 60);
}

#[test]
fn a_limit_is_an_incident_of_its_account_for_as_long_as_it_holds() {
    let mut desk = Desk::new();
    desk.idle("1");
    limit(&mut desk, 600);
    let incident = desk.state.incidents_of(&Subject::Host).next().expect("it is an incident").clone();
    assert_eq!(
        (&incident.key.kind, incident.key.problem.to_string().as_str()),
        (&IncidentKind::RateLimited, "scripted")
    );
    assert!(incident.detail.ends_with("waiting: app-1"), "{}", incident.detail);
    assert!(incident.detail.contains(" UTC; "), "{}", incident.detail);
    assert_eq!(desk.told(), Vec::<String>::new(), "it is enough to know, unless somebody configures more");
    desk.wait(700);
    assert_eq!(desk.state.incidents_of(&Subject::Host).count(), 0);
}

#[test]
fn a_stop_in_the_time_of_a_limit_wins() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.wait(60);
    let reset = desk.now + Duration::from_secs(600);
    desk.sees(session, SignalSource::Hook, Reading::Limited { until: Some(reset) });
    desk.tell(session, SessionInput::Stop { by: "ann".into(), why: "enough".into() });
    desk.ended(session);
    desk.wait(1200);
    assert_eq!(desk.status(session), "stopped: stopped by ann: enough");
    assert_eq!(desk.wants(session), Vec::<String>::new());
}

#[test]
fn a_projects_daily_budget_holds_all_its_sessions_until_midnight() {
    let mut desk = Desk::with(DaemonSettings::default());
    desk.take(crate::budgets::no_word_about_idleness());
    let config = ao_core::project::ProjectConfig {
        path: "~/app".into(),
        default_branch: "main".into(),
        max_live: None,
        daily: SpendLimits { micros: Some(2_000_000), ..SpendLimits::default() },
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

/// The end of a limit answers no question and mends no crash.
#[test]
fn a_limit_hides_neither_a_question_nor_a_block_nor_a_crash() {
    let mut desk = Desk::new();
    let [asks, blocked, crashed, idle] = ["1", "2", "3", "4"].map(|key| desk.idle(key));
    desk.wait(1);
    desk.sees(asks, SignalSource::Hook, asking());
    desk.sees(blocked, SignalSource::Hook, Reading::Blocked { on: "the licence".into() });
    for _ in 0..=desk.state.settings.restarts {
        desk.sees(crashed, SignalSource::Process, Reading::Exited { code: Some(1) });
        desk.ended(crashed);
        desk.wait(120);
        if desk.status(crashed).starts_with("starting") {
            desk.launch(crashed);
        }
    }
    assert!(desk.status(crashed).starts_with("exited"), "{}", desk.status(crashed));
    limit(&mut desk, 600);
    for (session, word, why) in [
        (asks, "needs_input", "Allow `rm`?"),
        (blocked, "blocked", "the licence"),
        (crashed, "exited", "code 1"),
    ] {
        let status = desk.status(session);
        assert!(status.starts_with(word) && status.contains(why), "{status}");
        assert!(status.contains("besides, the provider's limit for `scripted` holds until"), "{status}");
    }
    assert!(desk.status(idle).starts_with("rate_limited"), "{}", desk.status(idle));
}

#[test]
fn a_crash_under_the_limit_of_another_is_no_limit_of_its_own() {
    let mut desk = Desk::new();
    let (crashed, limited) = (desk.idle("1"), desk.idle("2"));
    let until = Some(desk.now + std::time::Duration::from_secs(600));
    desk.sees(limited, SignalSource::Protocol, Reading::Limited { until });
    desk.sees(crashed, SignalSource::Process, Reading::Exited { code: None });
    desk.ended(crashed);
    desk.wait(700);
    let why = format!("{:?}", desk.session(crashed).phase);
    assert!(!why.contains("limit"), "{why}");
}

/// Some agents exit with 0 when the provider refuses more.
#[test]
fn an_exit_with_0_after_a_limit_is_no_end_of_the_turn() {
    for late in [false, true] {
        let mut desk = Desk::new();
        let session = desk.idle("1");
        desk.sees(session, SignalSource::Protocol, Reading::Working { doing: String::new() });
        let limited = Reading::Limited { until: Some(desk.now + std::time::Duration::from_secs(600)) };
        let exited = Reading::Exited { code: Some(0) };
        if late {
            desk.sees(session, SignalSource::Process, exited);
            desk.ended(session);
            desk.sees(session, SignalSource::Protocol, limited);
        } else {
            desk.sees(session, SignalSource::Protocol, limited);
            desk.sees(session, SignalSource::Process, exited);
            desk.ended(session);
        }
        assert!(desk.status(session).starts_with("rate_limited"), "{late}: {}", desk.status(session));
        desk.wait(700);
        let status = desk.status(session);
        assert!(!status.starts_with("idle") && !status.starts_with("exited"), "it goes on: {late} {status}");
    }
}

#[test]
fn a_resume_under_a_limit_says_until_when_and_is_refused() {
    for (auto_resume, then) in [(true, "resumes automatically"), (false, "`ao resume`")] {
        let mut desk = Desk::with(DaemonSettings { auto_resume, ..DaemonSettings::default() });
        let session = desk.idle("1");
        limit(&mut desk, 600);
        let until = desk.state.accounts["scripted"].utc();
        let resume = || Input::Session { session, input: SessionInput::Resume { limits: None } };
        let refused = desk.try_take(resume()).unwrap_err().to_string();
        assert!(refused.contains(&until.to_string()) && refused.contains(then), "{refused}");
        // What a person has said is taken back all the same.
        desk.tell(session, SessionInput::Pause { by: "ann".into() });
        desk.take(resume());
        assert!(desk.status(session).starts_with("rate_limited"), "{}", desk.status(session));
    }
}
