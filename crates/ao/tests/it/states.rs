//! The truth about an agent: what it does at a real terminal, and what is said of it.

use std::time::Duration;

use ao_core::evidence::{Activity, Rule, Source};
use ao_core::session::{Phase, SessionInput, StatusWord};

use crate::fleet::{Fleet, Plan, on_both};

on_both! {
    a_lost_stop_heals_by_the_screen;
    a_dialog_stays_open_and_is_told_once_until_it_is_answered;
    a_killed_agent_is_seen_to_have_exited_and_restore_works;
    a_silent_agent_with_a_busy_child_is_at_work;
    somebody_who_types_into_the_terminal_is_followed;
    a_permission_that_is_granted_at_the_terminal_clears_by_itself;
}

/// acceptance: S1
async fn a_lost_stop_heals_by_the_screen(runtime: &'static str) {
    let fleet = Fleet::start(Plan::on(runtime).script("lose-hook Stop;lose-hook Notification")).await;
    let session = fleet.spawn("fix", "[[work 1s]]").await;
    fleet.until_idle(session, 1).await;
    let judgement = fleet.session(session).await.judgement;
    assert_eq!((judgement.rule, judgement.source), (Rule::TurnEnded, Some(Source::Terminal)));
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
        let before = fleet.session(session).await.looked;
        fleet.until_session(session, "it is looked at again", move |session| session.looked > before).await;
        assert_eq!(fleet.status(session).await.0, StatusWord::NeedsInput);
    }
    assert_eq!(fleet.notices.texts().len(), 1, "{:?}", fleet.notices.texts());

    fleet.tell(session, SessionInput::Answer { by: "ann".into(), text: "1".into() }).await.unwrap();
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
    let conversation = fleet.session(session).await.conversation;
    fleet.kill9(fleet.agent_pid(session));
    fleet.until_status(session, StatusWord::Exited).await;
    fleet.tell(session, SessionInput::Restore).await.unwrap();
    fleet.until_status(session, StatusWord::Idle).await;
    fleet.send(session, "still there?").await;
    fleet.until_idle(session, 2).await;
    assert_eq!(fleet.session(session).await.conversation, conversation);
    assert_eq!(fleet.turns(session).await, ["get ready", "still there?"]);
    fleet.finish().await;
}

/// acceptance: S4
async fn a_silent_agent_with_a_busy_child_is_at_work(runtime: &'static str) {
    let fleet = Fleet::start(Plan::on(runtime)).await;
    // Longer than a claim to be working is believed, and busy now and then.
    let build = "i=0; while [ $i -lt 100 ]; do i=$((i+1)); head -c 20000000 /dev/zero | cksum >/dev/null; sleep 0.5; done";
    let session = fleet.spawn("build", &format!("[[silent {build}]]")).await;
    fleet.until_status(session, StatusWord::Working).await;
    fleet
        .until_session(session, "it is quiet, and at work all the same", |session| {
            session.judgement.rule == Rule::BusyButQuiet
        })
        .await;
    let seen = fleet.session(session).await;
    assert_eq!(seen.judgement.activity, Activity::Working);
    assert!(matches!(seen.phase, Phase::Running { .. }));
    assert!(seen.judgement.quiet >= Duration::from_secs(45), "{:?}", seen.judgement);
    fleet.until_idle(session, 1).await;
    assert_eq!(fleet.session(session).await.attempt.0, 1, "it was left alone");
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
    assert_eq!(fleet.session(session).await.judgement.source, Some(Source::Terminal));
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
    fleet.type_into(session, "1").await;
    fleet.until_status(session, StatusWord::Working).await;
    assert_eq!(fleet.choices(session).await, ["May I?: 1"]);
    fleet.finish().await;
}
