//! Where agents work: set up, leased, kept and brought back, seen from the daemon.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use ao_core::session::{SessionInput, StatusWord};
use ao_core::setup::{IncludeHow, IncludedFiles, PortRange, Setup};
use ao_core::workspace::WorkspaceState;

use crate::fleet::{Fleet, Plan, git};

fn stop() -> SessionInput {
    SessionInput::Stop { by: "ann".into(), why: "done".into() }
}

/// acceptance: L7
#[tokio::test]
async fn included_files_are_there_and_a_failing_set_up_can_be_tried_again() {
    let mut plan = Plan::on("process");
    plan.project.setup = Setup {
        include: vec![IncludedFiles { pattern: ".env*".into(), how: IncludeHow::Copy }],
        post_create: vec!["echo installing; test -e ../../allowed || { echo no such thing; exit 3; }".into()],
        ..Setup::default()
    };
    let fleet = Fleet::start(plan).await;
    fs::write(fleet.repository().join(".env.local"), "KEY=1\n").unwrap();
    let session = fleet.spawn("fix", "get ready").await;
    fleet.until_status(session, StatusWord::SetupFailed).await;
    let (_, reason) = fleet.status(session).await;
    assert!(reason.contains("no such thing") && reason.contains("setup.log"), "{reason}");
    assert!(fleet.agent_pids().is_empty(), "no agent was started");

    fs::write(fleet.repository().join("allowed"), "").unwrap();
    fleet.tell(session, SessionInput::Retry).await.unwrap();
    fleet.until_idle(session, 1).await;
    let tree = fleet.tree(session).await;
    let included = fs::metadata(tree.join(".env.local")).unwrap();
    assert_eq!(included.permissions().mode() & 0o777, 0o600);
    assert_eq!(git(&tree, &["status", "--porcelain"]), "");
    fleet.finish().await;
}

/// acceptance: L8
#[tokio::test]
async fn two_sessions_have_ports_of_their_own() {
    let mut plan = Plan::on("process");
    plan.project.ports =
        Some(PortRange { names: vec!["PORT".into()], first: 41_000, last: 41_999, exclusive: false });
    let mut fleet = Fleet::start(plan).await;
    let task = "[[tool echo $PORT > port.txt]]";
    let (first, second) = (fleet.spawn("one", task).await, fleet.spawn("two", task).await);
    for session in [first, second] {
        fleet.until_idle(session, 1).await;
    }
    let seen = [fleet.file(first, "port.txt").await, fleet.file(second, "port.txt").await];
    assert_ne!(seen[0], seen[1]);
    for (session, port) in [first, second].into_iter().zip(&seen) {
        assert_eq!(fleet.session(session).await.ports.held["PORT"].to_string(), port.trim());
    }
    // After a restart they are still theirs; after the end they are free.
    fleet.restart().await;
    assert_eq!(fleet.session(first).await.ports.held["PORT"].to_string(), seen[0].trim());
    fleet.tell(first, stop()).await.unwrap();
    fleet.until_status(first, StatusWord::Stopped).await;
    let third = fleet.spawn("three", task).await;
    fleet.until_idle(third, 1).await;
    assert_eq!(fleet.file(third, "port.txt").await, seen[0]);
    fleet.finish().await;
}

/// acceptance: L9
#[tokio::test]
async fn a_branch_that_is_checked_out_elsewhere_gives_a_choice() {
    let fleet = Fleet::start(Plan::on("process")).await;
    let by_hand = fleet.path("by-hand");
    git(&fleet.repository(), &["worktree", "add", "--quiet", "-b", "feature", by_hand.to_str().unwrap()]);
    let session =
        fleet.spawn_with("fix", "get ready", |request| request.branch = Some("feature".into())).await;
    let session = session.unwrap();
    fleet.until_status(session, StatusWord::SetupFailed).await;
    let (_, reason) = fleet.status(session).await;
    assert!(reason.contains(by_hand.to_str().unwrap()) && !reason.contains("fatal:"), "{reason}");
    fleet.finish().await;
}

/// acceptance: W5
#[tokio::test]
async fn a_removed_tree_comes_back_as_it_was() {
    let fleet = Fleet::start(Plan::on("process")).await;
    let session =
        fleet.spawn("fix", "[[tool echo fixed > fix.txt && git add . && git commit -qm fix]]").await;
    fleet.until_idle(session, 1).await;
    let tree = fleet.tree(session).await;
    git(&fleet.repository(), &["merge", "--quiet", "--ff-only", "agent/fix"]);
    fleet.tell(session, stop()).await.unwrap();
    fleet.until_status(session, StatusWord::Stopped).await;
    fleet.tell(session, SessionInput::Cleanup).await.unwrap();
    fleet
        .until_session(session, "its tree is gone", |session| {
            session.workspace.state == WorkspaceState::Removed
        })
        .await;
    assert!(!tree.exists());

    fleet.tell(session, SessionInput::Restore).await.unwrap();
    fleet.until_status(session, StatusWord::Idle).await;
    assert_eq!(fleet.file(session, "fix.txt").await, "fixed\n");
    assert_eq!(git(&fleet.tree(session).await, &["branch", "--show-current"]), "agent/fix");
    fleet.finish().await;
}

/// acceptance: W1
#[tokio::test]
async fn a_tree_with_work_in_it_is_kept_and_says_why() {
    let fleet = Fleet::start(Plan::on("process")).await;
    let session = fleet.spawn("fix", "[[tool echo half > half.txt]]").await;
    fleet.until_idle(session, 1).await;
    fleet.tell(session, stop()).await.unwrap();
    fleet.until_status(session, StatusWord::Stopped).await;
    fleet.tell(session, SessionInput::Cleanup).await.unwrap();
    fleet
        .until_session(session, "it is kept", |session| {
            matches!(session.workspace.state, WorkspaceState::Kept { .. })
        })
        .await;
    let WorkspaceState::Kept { reasons } = fleet.session(session).await.workspace.state else {
        panic!("kept")
    };
    let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
    assert_eq!(reasons, ["it has untracked files"]);
    assert_eq!(fleet.file(session, "half.txt").await, "half\n");
    fleet.finish().await;
}

/// acceptance: W7
#[tokio::test]
async fn an_agent_that_leaves_its_branch_is_flagged() {
    let fleet = Fleet::start(Plan::on("process")).await;
    let session = fleet.spawn("fix", "[[tool git checkout --quiet -b elsewhere]]").await;
    fleet.until_session(session, "it is flagged", |session| session.watch.drift.is_some()).await;
    let drift = fleet.session(session).await.watch.drift.unwrap();
    assert!(drift.contains("elsewhere"), "{drift}");
    fleet.until_told("has left its place").await;
    fleet.finish().await;
}
