//! Agents outlive the daemon, come back with their conversations, and end without a trace.

use std::fs;
use std::net::TcpListener;

use ao_core::session::{Phase, SessionEvent, SessionInput, StatusWord};

use crate::fleet::{Fleet, Plan, on_both};
use crate::killed;

on_both! {
    a_killed_daemon_finds_every_agent_again_and_sends_nothing_twice;
    a_daemon_that_dies_between_written_and_accepted_neither_loses_nor_repeats;
    a_conversation_that_is_gone_is_begun_afresh_with_the_task;
    an_agent_that_cannot_come_up_is_tried_a_few_times;
    a_server_that_has_left_its_process_tree_ends_with_its_session;
}

/// acceptance: L1
async fn a_killed_daemon_finds_every_agent_again_and_sends_nothing_twice(runtime: &'static str) {
    let mut fleet = Fleet::prepare(Plan::on(runtime));
    // Another process is the daemon that gets three agents going, and is killed.
    killed::daemon(&fleet, "three idle");
    let before = fleet.agent_pids();
    assert_eq!(before.len(), 3);

    fleet.open().await;
    fleet
        .until("all are known to be idle", |state| {
            state
                .live()
                .filter(|session| session.status(crate::fleet::now()).word == StatusWord::Idle)
                .count()
                == 3
        })
        .await;
    assert_eq!(fleet.agent_pids(), before, "the same processes");
    let sessions = fleet.view(|state| state.live().map(|session| session.id).collect::<Vec<_>>()).await;
    for session in sessions {
        let screen = fleet.screen(session).await;
        assert!(screen.iter().any(|line| line.contains("get ready")), "the same terminal: {screen:?}");
        fleet.send(session, "and on").await;
        fleet.until_idle(session, 2).await;
        assert_eq!(fleet.turns(session).await, ["get ready", "and on"]);
    }
    fleet.finish().await;
}

/// acceptance: M6
async fn a_daemon_that_dies_between_written_and_accepted_neither_loses_nor_repeats(runtime: &'static str) {
    let mut fleet = Fleet::prepare(Plan::on(runtime).script("delay-hook UserPromptSubmit 3s"));
    killed::daemon(&fleet, "written");
    fleet.open().await;
    let session = fleet.only_session().await;
    fleet.until_idle(session, 1).await;
    assert_eq!(fleet.turns(session).await, ["get ready"]);
    fleet.send(session, "and on").await;
    fleet.until_idle(session, 2).await;
    assert_eq!(fleet.turns(session).await, ["get ready", "and on"]);
    fleet.finish().await;
}

/// acceptance: L1
#[tokio::test]
async fn a_killed_tmux_server_with_ten_agents_comes_back_with_the_same_conversations() {
    let fleet = Fleet::start(Plan::on("tmux")).await;
    let mut sessions = Vec::new();
    for n in 0..10 {
        sessions.push(fleet.spawn(&format!("fix-{n}"), "get ready").await);
    }
    for session in &sessions {
        fleet.until_idle(*session, 1).await;
    }
    let conversations = fleet.conversations(&sessions).await;
    fleet.kill9(fleet.tmux_server().await);
    for session in &sessions {
        fleet.until_session(*session, "it runs again", |session| session.attempt.0 == 2).await;
        fleet.until_status(*session, StatusWord::Idle).await;
        assert_eq!(fleet.turns(*session).await, ["get ready"], "it remembers, and was not told again");
    }
    assert_eq!(fleet.conversations(&sessions).await, conversations);
    fleet.finish().await;
}

/// acceptance: L2
async fn a_conversation_that_is_gone_is_begun_afresh_with_the_task(runtime: &'static str) {
    let fleet = Fleet::start(Plan::on(runtime)).await;
    let session = fleet.idle("fix").await;
    let before = fleet.session(session).await.launch.conversation.unwrap();
    fs::remove_file(fleet.agents().transcript(before.as_str())).unwrap();
    fleet.kill9(fleet.agent_pid(session));
    fleet
        .until_session(session, "it has a new conversation", move |session| {
            session.launch.conversation.as_ref().is_some_and(|conversation| *conversation != before)
        })
        .await;
    fleet.until_idle(session, 2).await;
    assert_eq!(fleet.turns(session).await, ["get ready"], "the task, once, in the new conversation");
    let said = fleet.events(session).await;
    assert!(
        said.iter().any(|event| matches!(event, SessionEvent::ConversationGone { .. })),
        "and it says so"
    );
    fleet.finish().await;
}

/// acceptance: L2
async fn an_agent_that_cannot_come_up_is_tried_a_few_times(runtime: &'static str) {
    let mut plan = Plan::on(runtime).script("die-at-start 99");
    plan.settings.restarts = 2;
    let fleet = Fleet::start(plan).await;
    let session = fleet.spawn("fix", "get ready").await;
    fleet.until_status(session, StatusWord::Exited).await;
    let seen = fleet.session(session).await;
    assert!(
        matches!(&seen.phase, Phase::Exited { why, .. } if why.contains("did not help")),
        "{:?}",
        seen.phase
    );
    let log: usize = fleet.events(session).await.iter().map(|event| format!("{event:?}").len()).sum();
    assert!(log < 64 * 1024, "{log} bytes");
    fleet.finish().await;
}

/// acceptance: L5
async fn a_server_that_has_left_its_process_tree_ends_with_its_session(runtime: &'static str) {
    let fleet = Fleet::start(Plan::on(runtime)).await;
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let session = fleet.spawn("serve", &format!("[[fork {port}]]")).await;
    fleet.until_idle(session, 1).await;
    assert!(TcpListener::bind(("127.0.0.1", port)).is_err(), "the server listens");
    fleet.tell(session, SessionInput::Stop { by: "ann".into(), why: "done".into() }).await.unwrap();
    fleet.until_status(session, StatusWord::Stopped).await;
    assert!(TcpListener::bind(("127.0.0.1", port)).is_ok(), "its port is free");
    assert_eq!(fleet.processes(), Vec::<i32>::new());
    fleet.finish().await;
}
