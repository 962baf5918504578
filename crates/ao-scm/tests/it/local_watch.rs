//! Noticing what happens in a repository, without asking again and again.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ao_core::pull::{CheckState, Mergeable};
use ao_ports::{LookHint, RunState, Scm};

use crate::local_support::{Desk, Heard, facts, git, new_pull, open, project, pull};

/// Runs a test while the forge watches, until the test is over.
async fn watched<T>(scm: &ao_scm::local::LocalScm, heard: &Arc<Heard>, test: impl Future<Output = T>) -> T {
    tokio::select! {
        biased;
        () = scm.watch(heard.clone()) => panic!("nothing is watched"),
        done = test => done,
    }
}

#[tokio::test]
async fn a_commit_in_a_worktree_is_noticed_and_checked_at_once() {
    let desk = Desk::new().with_checks(&[("test", true)]);
    let scm = desk.open().await;
    desk.push("agent/x", "x", "1");
    let id = open(&scm, "agent/x", "main").await;
    let tree = desk.side_path("tree");
    desk.git(&["worktree", "add", "--quiet", tree.to_str().unwrap(), "agent/x"]);
    let heard = Arc::new(Heard::default());
    watched(&scm, &heard, async {
        heard.until("the first look", async || facts(&scm, &id).await.head == desk.tip("agent/x")).await;
        heard.take();
        std::fs::write(tree.join("x"), "2").unwrap();
        git(&tree, &["commit", "--quiet", "-am", "second"]);
        let (head, began) = (desk.tip("agent/x"), Instant::now());
        // Asked is the runner and not the forge, so that nothing but the watch can have seen it.
        heard.until("its checks", async || desk.checks.heads().contains(&head)).await;
        assert!(began.elapsed() < Duration::from_secs(5));
        heard.until("a hint", async || heard.take().contains(&LookHint::Pull(pull(1)))).await;
        assert_eq!(facts(&scm, &id).await.head, head);
    })
    .await;
}

#[tokio::test]
async fn branches_in_new_folders_packed_ones_and_fetched_ones_are_noticed() {
    let desk = Desk::with_origin().with_checks(&[("test", true)]);
    let scm = desk.open().await;
    let heard = Arc::new(Heard::default());
    desk.push("x", "x", "0");
    open(&scm, "x", "main").await;
    watched(&scm, &heard, async {
        let seen = async |head: ao_core::Commit, what: &str| {
            heard.until(what, async || desk.checks.heads().contains(&head)).await;
        };
        // Its folders come with it, go with it, and come again.
        for round in 1..4 {
            desk.git(&["branch", "-m", "x", "deep/er/x"]);
            seen(desk.push("deep/er/x", "x", &format!("{round} deep")), "a new folder").await;
            desk.git(&["branch", "-m", "deep/er/x", "x"]);
            seen(desk.push("x", "x", &format!("{round} flat")), "back").await;
        }
        desk.git(&["pack-refs", "--all", "--prune"]);
        seen(desk.push("x", "x", "after packing"), "after packing").await;
        desk.git(&["push", "--quiet", "origin", "x"]);
        desk.git(&["branch", "-D", "x"]);
        let there = desk.side_path("clone");
        git(&desk.path(), &["clone", "--quiet", "-b", "x", "../origin.git", there.to_str().unwrap()]);
        std::fs::write(there.join("x"), "at the remote").unwrap();
        let by =
            ["-c", "user.name=Bob", "-c", "user.email=bob@example.invalid", "commit", "--quiet", "-am", "x"];
        git(&there, &by);
        git(&there, &["push", "--quiet", "origin", "x"]);
        desk.git(&["fetch", "--quiet", "origin"]);
        seen(desk.tip("origin/x"), "fetched").await;
    })
    .await;
}

#[tokio::test]
async fn the_watch_starts_checks_that_a_dropped_caller_did_not() {
    let desk = Desk::new().with_checks(&[("test", true)]);
    let scm = desk.open().await;
    let heard = Arc::new(Heard::default());
    let head = desk.push("x", "x", "1");
    watched(&scm, &heard, async {
        scm.open_pulls(&project()).await.unwrap();
        desk.records.die_after_change(scm.open(&new_pull("x", "main"))).await;
        heard.until("its checks", async || desk.checks.heads().contains(&head)).await;
    })
    .await;
}

#[tokio::test]
async fn a_moved_base_and_an_ended_check_send_hints() {
    let desk = Desk::new().with_checks(&[("test", true)]);
    desk.checks.let_be("test", RunState::Running);
    let scm = desk.open().await;
    desk.push("x", "README.md", "one\nX\nthree\nfour\nfive\n");
    let id = open(&scm, "x", "main").await;
    let heard = Arc::new(Heard::default());
    watched(&scm, &heard, async {
        desk.push("main", "README.md", "one\nM\nthree\nfour\nfive\n");
        heard
            .until("a conflict", async || {
                matches!(facts(&scm, &id).await.mergeable, Mergeable::Conflict { .. })
            })
            .await;
        heard.take();
        desk.checks.end("test", RunState::Passed);
        heard.until("news of the check", async || heard.take().contains(&LookHint::Pull(pull(1)))).await;
        assert_eq!(facts(&scm, &id).await.checks[0].state, CheckState::Passed);
    })
    .await;
}

/// Logs every call of git, when the test below runs itself.
const COUNT: &str = "GIT_CALLS_FILE";

#[tokio::test]
async fn with_two_hundred_open_a_move_costs_a_handful_of_processes() {
    let Ok(calls) = std::env::var(COUNT) else { return count_in_a_child() };
    let desk = Desk::new();
    let tree = desk.git(&["rev-parse", "HEAD^{tree}"]);
    let mut lines = String::new();
    for number in 0..200 {
        let commit = desk.git(&["commit-tree", "-p", "main", "-m", &format!("change {number}"), &tree]);
        lines += &format!("create refs/heads/agent/{number} {commit}\n");
    }
    std::fs::write(desk.side_path("refs"), &lines).unwrap();
    let script = format!("git update-ref --stdin < '{}'", desk.side_path("refs").display());
    assert!(Command::new("sh").args(["-c", &script]).current_dir(desk.path()).status().unwrap().success());
    let scm = desk.open().await;
    for number in 0..200 {
        open(&scm, &format!("agent/{number}"), "main").await;
    }
    let told = || std::fs::read_to_string(&calls).unwrap();
    let heard = Arc::new(Heard::default());
    watched(&scm, &heard, async {
        let ids = scm.open_pulls(&project()).await.unwrap();
        heard.until("the first look", async || facts(&scm, &pull(200)).await.base == desk.tip("main")).await;
        std::fs::write(&calls, "").unwrap();
        scm.pulls(&ids).await.unwrap();
        assert_eq!(told(), "", "to read them all costs no process at all");

        let base = desk.push("main", "m", "m");
        let ours = |line: &&str| {
            line.starts_with("--no-optional-locks") || line.starts_with("update-ref --no-deref")
        };
        heard
            .until("all bases", async || {
                heard.take();
                scm.pulls(&ids).await.unwrap().iter().all(|(_, facts)| facts.base == base)
            })
            .await;
        let told = told();
        let ours: Vec<&str> = told.lines().filter(ours).collect();
        let count = |what: &str| ours.iter().filter(|line| line.contains(what)).count();
        assert_eq!(count("merge-tree"), 1, "{ours:#?}");
        assert!(count("for-each-ref --format=%(objectname)") <= 3, "{ours:#?}");
        assert!(ours.len() <= 12, "{ours:#?}");
    })
    .await;
}

/// Runs the test in a process of its own, where every git is one that writes down its call.
fn count_in_a_child() {
    let dir = tempfile::tempdir().unwrap();
    let (calls, wrapper) = (dir.path().join("calls"), dir.path().join("git"));
    std::fs::write(&calls, "").unwrap();
    let path = std::env::var("PATH").unwrap();
    let script =
        format!("#!/bin/sh\nprintf '%s\\n' \"$*\" >> '{}'\nPATH='{path}' exec git \"$@\"\n", calls.display());
    std::fs::write(&wrapper, script).unwrap();
    std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).unwrap();
    let name = "local_watch::with_two_hundred_open_a_move_costs_a_handful_of_processes";
    let output = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(COUNT, &calls)
        .env("PATH", format!("{}:{path}", dir.path().display()))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("1 passed"), "{told}");
}
