//! The truth about an agent: what it does at a real terminal, and what is said of it.

use std::time::Duration;

use ao_core::evidence::{AgentActivity, JudgementRule, SignalSource};
use ao_core::session::{Phase, SessionEvent, SessionInput, StatusWord};

use crate::fleet::{Fleet, Plan, now, on_both};

on_both! {
    a_lost_stop_heals_by_the_screen;
    a_dialog_stays_open_and_is_told_once_until_it_is_answered;
    a_killed_agent_is_seen_to_have_exited_and_restore_works;
    a_silent_agent_with_a_busy_child_is_at_work;
    a_look_that_fails_is_unknown_and_ends_nothing;
    somebody_who_types_into_the_terminal_is_followed;
    a_permission_that_is_granted_at_the_terminal_clears_by_itself;
}

/// acceptance: S1
async fn a_lost_stop_heals_by_the_screen(runtime: &'static str) {
    let fleet = Fleet::start(Plan::on(runtime).script("lose-hook Stop;lose-hook Notification")).await;
    let session = fleet.spawn("fix", "[[work 1s]]").await;
    fleet.until_status(session, StatusWord::Working).await;
    fleet.until_idle(session, 1).await;
    let seen = fleet.session(session).await;
    assert_eq!(
        (seen.judgement.rule, seen.judgement.source),
        (JudgementRule::TurnEnded, Some(SignalSource::Terminal))
    );
    let taken = fleet.when(session, |event| matches!(event, SessionEvent::Accepted { .. })).await;
    assert!(
        seen.activity_since.since(taken) <= Duration::from_secs(60),
        "{:?}",
        seen.activity_since.since(taken)
    );
    fleet.finish().await;
}

/// acceptance: S2
async fn a_dialog_stays_open_and_is_told_once_until_it_is_answered(runtime: &'static str) {
    let fleet = Fleet::start(Plan::on(runtime).script("notify-after 1s")).await;
    let session = fleet.spawn("fix", "[[ask May I delete it?]] [[say done]]").await;
    fleet.until_status(session, StatusWord::NeedsInput).await;
    let (_, reason) = fleet.status(session).await;
    assert!(reason.contains("May I delete it?"), "{reason}");

    // However often somebody looks, it is the same dialog.
    for _ in 0..3 {
        let before = fleet.session(session).await.watch.looked;
        fleet
            .until_session(session, "it is looked at again", move |session| session.watch.looked > before)
            .await;
        assert_eq!(fleet.status(session).await.0, StatusWord::NeedsInput);
    }
    assert_eq!(fleet.notices.texts().len(), 1, "{:?}", fleet.notices.texts());

    fleet
        .tell(session, SessionInput::Answer { by: "ann".into(), question: 1, text: "1".into() })
        .await
        .unwrap();
    fleet.until_idle(session, 1).await;
    assert_eq!(fleet.choices(session).await, ["May I delete it?: 1"]);
    fleet.finish().await;
}

/// acceptance: S3
async fn a_killed_agent_is_seen_to_have_exited_and_restore_works(runtime: &'static str) {
    let mut plan = Plan::on(runtime);
    // With none, a person has to bring it back.
    plan.settings.restarts = 0;
    let fleet = Fleet::start(plan).await;
    let session = fleet.idle("fix").await;
    let conversation = fleet.session(session).await.launch.conversation;
    let killed = now();
    fleet.kill9(fleet.agent_pid(session));
    fleet.until_status(session, StatusWord::Exited).await;
    let seen = fleet.when(session, |event| matches!(event, SessionEvent::Stopping { .. })).await;
    assert!(seen.since(killed) <= Duration::from_secs(10), "{:?}", seen.since(killed));
    fleet.tell(session, SessionInput::Restore).await.unwrap();
    fleet.until_idle(session, 2).await;
    fleet.send(session, "still there?").await;
    fleet.until_idle(session, 3).await;
    assert_eq!(fleet.session(session).await.launch.conversation, conversation);
    let go_on = "You were stopped and are started again. See what is done already, and go on.";
    assert_eq!(fleet.turns(session).await, ["get ready", go_on, "still there?"]);
    fleet.finish().await;
}

/// acceptance: S4
async fn a_silent_agent_with_a_busy_child_is_at_work(runtime: &'static str) {
    let fleet = Fleet::start(Plan::on(runtime)).await;
    // Longer than a claim to be working is believed, and busy now and then.
    let build = "end=$(($(date +%s) + 58)); while [ $(date +%s) -lt $end ]; do \
                 head -c 100000000 /dev/zero | cksum >/dev/null; sleep 0.2; done";
    let session = fleet.spawn("build", &format!("[[silent {build}]]")).await;
    fleet.until_status(session, StatusWord::Working).await;
    fleet
        .until_session(session, "it is quiet, and at work all the same", |session| {
            session.judgement.rule == JudgementRule::BusyButQuiet
        })
        .await;
    let seen = fleet.session(session).await;
    assert_eq!(seen.judgement.activity, AgentActivity::Working);
    assert!(matches!(seen.phase, Phase::Running { .. }));
    assert!(seen.judgement.quiet >= Duration::from_secs(45), "{:?}", seen.judgement);
    fleet.until_idle(session, 1).await;
    assert_eq!(fleet.session(session).await.attempt.0, 1, "it was left alone");
    fleet.finish().await;
}

/// acceptance: S5
async fn a_look_that_fails_is_unknown_and_ends_nothing(runtime: &'static str) {
    let mut plan = Plan::on(runtime);
    plan.settings.human_quiet = Duration::from_secs(1);
    let mut fleet = Fleet::start(plan).await;
    let session = fleet.idle("fix").await;
    let agent = fleet.agent_pid(session);
    // What the runtime looks with is out of its place while the daemon comes back.
    fleet.close().await;
    let hidden = fleet.hide_what_runtimes_look_with();
    fleet.open().await;
    for _ in 0..3 {
        let before = fleet.session(session).await.watch.looked;
        fleet.tell_typed(session).await;
        fleet.until_session(session, "somebody looks", move |session| session.watch.looked > before).await;
        let word = fleet.status(session).await.0;
        assert!(!matches!(word, StatusWord::Exited | StatusWord::Stopped | StatusWord::Retrying), "{word:?}");
    }
    assert_eq!(fleet.agent_pid(session), agent, "nothing was ended");
    assert_eq!(fleet.session(session).await.attempt.0, 1, "and nothing started");

    fleet.show_again(hidden).await;
    fleet.send(session, "still there?").await;
    fleet.until_idle(session, 2).await;
    assert_eq!(fleet.agent_pid(session), agent);
    fleet.finish().await;
}

/// acceptance: S6
async fn somebody_who_types_into_the_terminal_is_followed(runtime: &'static str) {
    let fleet = Fleet::start(Plan::on(runtime)).await;
    // Once its task is proven, not even its hooks tell of anything; only the screen does.
    let session = fleet.spawn("fix", "get ready [[set lose-hook *]]").await;
    fleet.until_idle(session, 1).await;
    fleet.type_into(session, "my own idea [[work 3s]]\r").await;
    fleet.until_status(session, StatusWord::Working).await;
    fleet.until_status(session, StatusWord::Idle).await;
    assert_eq!(fleet.session(session).await.judgement.source, Some(SignalSource::Terminal));
    assert_eq!(fleet.turns(session).await.last().unwrap(), "my own idea [[work 3s]]");
    assert!(fleet.notices.texts().is_empty(), "{:?}", fleet.notices.texts());
    fleet.finish().await;
}

/// acceptance: S8
async fn a_permission_that_is_granted_at_the_terminal_clears_by_itself(runtime: &'static str) {
    let script = "lose-hook PostToolUse;lose-hook PreToolUse;lose-hook Notification";
    let fleet = Fleet::start(Plan::on(runtime).script(script)).await;
    let session = fleet.spawn("fix", "[[ask May I?]] [[work 20s]]").await;
    fleet.until_status(session, StatusWord::NeedsInput).await;
    let granted = now();
    fleet.type_into(session, "1").await;
    fleet.until_status(session, StatusWord::Working).await;
    let cleared = fleet.session(session).await.activity_since;
    assert!(cleared.since(granted) <= Duration::from_secs(5), "{:?}", cleared.since(granted));
    assert_eq!(fleet.choices(session).await, ["May I?: 1"]);
    fleet.finish().await;
}
