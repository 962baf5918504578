//! The reported state of an agent on a terminal follows its real state, even if hooks are lost or late.

use std::time::Duration;

use ao_core::Timestamp;
use ao_core::evidence::{Reading, Signal, SignalSource};
use ao_ports::{Clock, DeliveryOutcome};
use ao_testkit::WallClock;

use crate::stage::{Set, Stage};

/// The last that a source has said.
fn last(stage: &Stage, source: SignalSource) -> Signal {
    let signals = stage.notebook.signals();
    signals.into_iter().rfind(|signal| signal.source == source).expect("it has said something")
}

/// acceptance: S1
#[tokio::test]
async fn a_lost_stop_heals_by_what_the_screen_shows() {
    let stage = Stage::set(Set { script: "lose-hook Stop", ..Set::default() }).await;
    stage.last_reported("Terminal", "Idle").await;
    stage.writes(1, "[[work 100ms]]").await;
    stage.last_reported("Hook", "Working").await;
    stage.at_prompt().await;
    let working = last(&stage, SignalSource::Hook).at;
    // Late enough to be believed against the hook, though the screen may never have been seen busy.
    let healed = |signal: &Signal| {
        signal.source == SignalSource::Terminal
            && signal.reading == Reading::Idle
            && signal.at > working + Duration::from_secs(5)
    };
    stage.signal(healed).await;
}

/// acceptance: S2
#[tokio::test]
async fn an_open_dialog_is_reported_with_its_text_and_stays_visible() {
    let stage = Stage::set(Set { prompt: Some("[[ask Delete it all?]]"), ..Set::default() }).await;
    stage.last_reported("Hook", "Asking { question: \"Bash: Delete it all?\" }").await;
    stage.last_reported("Terminal", "Asking").await;
    for _ in 0..3 {
        let seen = stage.look().await;
        assert_eq!(
            seen,
            ["Process Alive { busy: false }", "Terminal Asking { question: \"Delete it all?\" }"]
        );
    }
}

/// acceptance: S6
#[tokio::test]
async fn a_person_who_types_into_the_terminal_is_followed() {
    let stage = Stage::set(Set::default()).await;
    stage.last_reported("Terminal", "Idle").await;
    stage.person_types("do this [[work 1s]]\r").await;
    stage.reported("Taken \"do this [[work 1s]]\"").await;
    stage.last_reported("Terminal", "Working").await;
    stage.last_reported("Terminal", "Idle").await;
    stage.last_reported("Hook", "Idle").await;
}

/// acceptance: S8
#[tokio::test]
async fn work_after_a_granted_permission_is_reported_without_a_hook() {
    let stage = Stage::set(Set { prompt: Some("[[ask May I?]] [[work 10m]]"), ..Set::default() }).await;
    stage.last_reported("Hook", "Asking").await;
    let asked = last(&stage, SignalSource::Hook).at;
    stage.person_types("1").await;
    let cleared = |signal: &Signal| {
        signal.source == SignalSource::Terminal
            && matches!(signal.reading, Reading::Working { .. })
            && signal.at > asked + Duration::from_secs(2)
    };
    stage.signal(cleared).await;
    assert_eq!(last(&stage, SignalSource::Hook).reading, Reading::Asking { question: "Bash: May I?".into() });
}

#[tokio::test]
async fn an_unknown_screen_is_reported_as_unknown_and_never_as_idle() {
    let stage = Stage::set(Set { prompt: Some("[[screen unknown]]"), ..Set::default() }).await;
    stage.last_reported("Terminal", "Unreadable").await;
    assert!(stage.look().await[1].starts_with("Terminal Unreadable"));
}

#[tokio::test]
async fn a_dialog_that_was_left_standing_is_over() {
    let set = Set { script: "stale-dialog", prompt: Some("[[ask May I?]] [[say fine]]"), ..Set::default() };
    let stage = Stage::set(set).await;
    stage.last_reported("Terminal", "Asking").await;
    stage.person_types("1").await;
    stage.shows("● fine").await;
    stage.last_reported("Terminal", "Idle").await;
}

#[tokio::test]
async fn a_limit_is_reported_until_it_ends() {
    let stage = Stage::set(Set::default()).await;
    stage.at_prompt().await;
    let now = jiff::Zoned::now();
    let until = &now + jiff::Span::new().hours(1);
    let delivered = stage.deliver(1, 1, &format!("[[limit {}]]", until.strftime("%H:%M"))).await;
    assert!(!matches!(delivered, DeliveryOutcome::Held { .. }), "{delivered:?}");
    stage.last_reported("Terminal", "Limited").await;
    let Reading::Limited { until: Some(told) } = last(&stage, SignalSource::Terminal).reading else {
        panic!("the time was read")
    };
    let hour = told.since(WallClock::default().now());
    assert!(hour > Duration::from_secs(58 * 60) && hour <= Duration::from_secs(3600), "{hour:?}");
    assert!(told > Timestamp(now.timestamp().as_millisecond()));
}

/// Once the exit of a process was seen, there is nothing left to follow.
#[tokio::test]
async fn following_ends_with_the_process() {
    let mut stage = Stage::set(Set { prompt: Some("[[crash 3]]"), ..Set::default() }).await;
    stage.follower_ends().await;
    assert_eq!(stage.look().await, ["Process Exited { code: Some(3) }"]);
}
