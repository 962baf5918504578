//! A repository that is written to all day.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use ao_git::{Git, Queues, Upkeep, upkeep};
use tempfile::TempDir;

use crate::story::git;

fn repository() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "--quiet", "--initial-branch=main"]);
    git(dir.path(), &["config", "user.name", "Ann"]);
    git(dir.path(), &["config", "user.email", "ann@example.org"]);
    git(dir.path(), &["commit", "--quiet", "--allow-empty", "-m", "begin"]);
    dir
}

/// Runs git with many lines of input.
fn feed(dir: &Path, args: &[&str], input: &str) {
    let mut command = Command::new("git");
    let mut child =
        command.args(args).current_dir(dir).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

/// Pins as many heads as a busy day brings.
fn pin(dir: &Path, many: usize) {
    let (tip, _) = git(dir, &["rev-parse", "HEAD"]);
    let lines: String = (0..many).map(|n| format!("update refs/ao/pulls/{n}/head {tip}\n")).collect();
    feed(dir, &["update-ref", "--stdin"], &lines);
}

/// Writes as many loose objects.
fn write_objects(dir: &Path, many: usize) {
    let names: String =
        (0..many).map(|n| format!("{}\n", dir.join("files").join(n.to_string()).display())).collect();
    fs::create_dir(dir.join("files")).unwrap();
    for n in 0..many {
        fs::write(dir.join("files").join(n.to_string()), n.to_string()).unwrap();
    }
    feed(dir, &["hash-object", "-w", "--stdin-paths"], &names);
}

async fn keep(dir: &Path) -> Upkeep {
    upkeep(&Git::plain(dir), &Queues::default()).await.unwrap()
}

fn loose_objects(dir: &Path) -> u64 {
    let (output, _) = git(dir, &["count-objects"]);
    output.split(' ').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn few_loose_refs_and_objects_are_left_alone() {
    let dir = repository();
    pin(dir.path(), 50);
    assert_eq!(keep(dir.path()).await, Upkeep::NotNeeded);
    assert!(dir.path().join(".git/refs/ao/pulls/7/head").exists());
}

#[tokio::test]
async fn many_loose_refs_of_ours_are_packed_and_branches_are_not() {
    let dir = repository();
    pin(dir.path(), 250);
    let before = git(dir.path(), &["for-each-ref"]);
    assert_eq!(keep(dir.path()).await, Upkeep::Done { refs: true, objects: false });
    assert_eq!(git(dir.path(), &["for-each-ref"]), before, "each is where it was");
    assert!(!dir.path().join(".git/refs/ao/pulls/7/head").exists());
    // Git before 2.42 can only pack all.
    if git(dir.path(), &["pack-refs", "--include", "refs/none/*"]).1 {
        assert!(dir.path().join(".git/refs/heads/main").exists(), "somebody may be committing to it");
    }
    assert_eq!(keep(dir.path()).await, Upkeep::NotNeeded);
}

#[tokio::test]
async fn many_loose_objects_are_packed_and_none_is_lost() {
    let dir = repository();
    write_objects(dir.path(), 4000);
    let (blob, _) = git(dir.path(), &["hash-object", "files/17"]);
    assert_eq!(keep(dir.path()).await, Upkeep::Done { refs: false, objects: true });
    assert!(loose_objects(dir.path()) < 100, "{}", loose_objects(dir.path()));
    // It is unreachable, and still there.
    assert_eq!(git(dir.path(), &["cat-file", "-p", &blob]), ("17".to_owned(), true));
    assert_eq!(keep(dir.path()).await, Upkeep::NotNeeded);
}

#[tokio::test]
async fn many_packs_become_few() {
    let dir = repository();
    for round in 0..12 {
        git(dir.path(), &["commit", "--quiet", "--allow-empty", "-m", &format!("round {round}")]);
        assert!(git(dir.path(), &["repack", "--quiet"]).1);
    }
    write_objects(dir.path(), 4000);
    assert_eq!(keep(dir.path()).await, Upkeep::Done { refs: false, objects: true });
    let packs = fs::read_dir(dir.path().join(".git/objects/pack")).unwrap().flatten();
    let packs = packs.filter(|entry| entry.path().extension().is_some_and(|end| end == "pack")).count();
    assert_eq!(packs, 1);
    assert!(git(dir.path(), &["fsck", "--full"]).1);
}

#[tokio::test]
async fn nothing_is_packed_while_the_users_own_git_works_there() {
    let dir = repository();
    pin(dir.path(), 250);
    fs::write(dir.path().join(".git/index.lock"), "").unwrap();
    assert_eq!(keep(dir.path()).await, Upkeep::Busy("`index.lock` exists".into()));
    fs::remove_file(dir.path().join(".git/index.lock")).unwrap();
    // A git that is not our child, here one that a long-lived shell has started.
    let mut shell = Command::new("sh")
        .args(["-c", "git cat-file --batch; true"])
        .current_dir(dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let mut output = keep_unless_done(dir.path()).await;
    while output.is_none() && std::time::Instant::now() < patience {
        output = keep_unless_done(dir.path()).await;
    }
    assert!(output.is_some_and(|output| output.contains("git works in")));
    drop(shell.stdin.take());
    shell.wait().unwrap();
    assert_eq!(keep(dir.path()).await, Upkeep::Done { refs: true, objects: false });
}

/// Returns the reason why nothing was done. Packing done before the shell had started git is undone.
async fn keep_unless_done(dir: &Path) -> Option<String> {
    match keep(dir).await {
        Upkeep::Busy(why) => Some(why),
        _ => {
            pin(dir, 0);
            let (tip, _) = git(dir, &["commit-tree", "-m", "other", "HEAD^{tree}"]);
            let lines: String = (0..250).map(|n| format!("update refs/ao/pulls/{n}/head {tip}\n")).collect();
            feed(dir, &["update-ref", "--stdin"], &lines);
            None
        }
    }
}
