//! Trees that something still writes in, or works in by another way than standing in it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ao_core::workspace::KeepReason;
use ao_ports::{RemovalOutcome, Workspace};

use crate::support::{Repo, half_made};

/// Ends the process with the test, however that ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Writes files into an ignored folder over and over, by their path alone, until it is dropped. A thread of this process:
/// the gate passes over what we have open ourselves, so it is git that comes upon the files.
struct Writer {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    fn new(folder: PathBuf) -> Writer {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, first) = (stop.clone(), folder.join("0"));
        let thread = std::thread::spawn(move || {
            for number in 0.. {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                if File::create(folder.join(number.to_string())).is_err() {
                    fs::create_dir_all(&folder).ok();
                }
            }
        });
        until("the writer has begun", || first.exists() || first.parent().is_some_and(Path::exists));
        Writer { stop, thread: Some(thread) }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < end, "it never came to be: {what}");
        std::thread::yield_now();
    }
}

/// acceptance: W4
#[tokio::test]
async fn a_removal_under_a_writer_fails_cleanly_and_a_later_one_succeeds() {
    // A writer that is held up for long enough by the system loses the race, and then there is nothing to see.
    for _ in 0..50 {
        if fails_cleanly().await {
            return;
        }
    }
    panic!("no removal ever came upon the writer");
}

async fn fails_cleanly() -> bool {
    let repo = Repo::new();
    repo.commit(".gitignore", "target/\n");
    let tree = repo.merged().await;
    let tip = tree.git(&["rev-parse", "HEAD"]);
    let writing = Writer::new(tree.path.join("target"));
    match repo.worktrees.remove(&repo.order(&tree.path)).await {
        Ok(RemovalOutcome::Removed { .. }) => return false,
        // Another test's child that has not become its program yet has our files open for a moment.
        Ok(RemovalOutcome::Kept { reasons }) => {
            assert_eq!(reasons, [KeepReason::ProcessInside]);
            return false;
        }
        Err(err) => {
            let told = err.to_string();
            assert!(told.contains("because something still writes in it"), "{told}");
        }
    }
    assert_eq!(tree.git(&["rev-parse", "agent/fix"]), tip);
    assert_eq!(tree.git(&["status", "--porcelain"]), "", "it is whole");
    assert!(tree.path.join("fix.txt").exists());
    drop(writing);
    let end = Instant::now() + Duration::from_secs(30);
    while let RemovalOutcome::Kept { reasons } = repo.remove(&tree.path).await {
        assert!(reasons == [KeepReason::ProcessInside] && Instant::now() < end, "{reasons:?}");
    }
    assert!(!tree.path.exists());
    assert_eq!(repo.git(&["branch", "--format=%(refname:short)"]), "main");
    assert!(!repo.path().join(".git/ao/removing/ses_4f").exists());
    true
}

/// As a daemon leaves it that ended while git was deleting files.
#[tokio::test]
async fn a_removal_that_was_cut_off_is_taken_back_and_done_again() {
    for wanted_again in [false, true] {
        cut_off(wanted_again).await;
    }
}

async fn cut_off(wanted_again: bool) {
    let repo = Repo::new();
    let tree = repo.merged().await;
    let git_dir = repo.path().join(".git/worktrees/fix");
    let aside = repo.path().join(".git/ao/removing/ses_4f");
    fs::create_dir_all(aside.parent().unwrap()).unwrap();
    fs::rename(&git_dir, &aside).unwrap();
    fs::write(aside.join("ao-name"), "fix").unwrap();
    fs::remove_file(tree.path.join("README.md")).unwrap();
    tree.write("since.txt", "written by somebody since");
    if wanted_again {
        assert_eq!(repo.create("fix").await.unwrap().path, tree.path.display().to_string());
    }
    assert_eq!(repo.kept(&tree).await, [KeepReason::Untracked]);
    assert_eq!(tree.git(&["status", "--porcelain"]), "?? since.txt", "what was deleted is there again");
    fs::remove_file(tree.path.join("since.txt")).unwrap();
    assert!(matches!(repo.remove(&tree.path).await, RemovalOutcome::Removed { .. }));
    assert!(!tree.path.exists() && !aside.exists());
}

#[tokio::test]
async fn an_open_file_or_a_program_that_runs_from_it_keeps_it() {
    let repo = Repo::new();
    repo.commit(".gitignore", "target/\n");
    let tree = repo.merged().await;
    let target = tree.path.join("target");
    fs::create_dir(&target).unwrap();
    let away = |command: &mut Command| Running(command.current_dir("/").spawn().unwrap());

    let log = File::create(target.join("log")).unwrap();
    let logging = away(Command::new("sleep").arg("1000").stdout(log));
    assert_eq!(repo.kept(&tree).await, [KeepReason::ProcessInside]);
    drop(logging);

    let program = target.join("server");
    fs::copy(which("sleep"), &program).unwrap();
    let server = away(Command::new(&program).arg("1000"));
    let exe = format!("/proc/{}/exe", server.0.id());
    until("the program runs", || fs::read_link(&exe).is_ok_and(|exe| exe == program));
    assert_eq!(repo.kept(&tree).await, [KeepReason::ProcessInside]);
    drop(server);
    assert!(matches!(repo.remove(&tree.path).await, RemovalOutcome::Removed { .. }));
}

/// Git's own housekeeping ends by itself, so it is waited for.
#[tokio::test]
async fn housekeeping_of_git_is_waited_for() {
    let repo = Repo::new();
    let tree = repo.merged().await;
    assert_eq!(tree.git(&["config", "gc.auto"]), "0");
    assert_eq!(tree.git(&["config", "maintenance.auto"]), "false");
    // A stand-in of that name, which works in the tree and ends once a process waits for it.
    let tools = tempfile::tempdir().unwrap();
    let stand_in = tools.path().join("git");
    std::os::unix::fs::symlink(which("sh"), &stand_in).unwrap();
    let mut command = Command::new(&stand_in);
    command.args(["-c", "read line; exit 0", "maintenance"]).current_dir(&tree.path).stdin(Stdio::piped());
    let mut keeping = Running(command.spawn().unwrap());
    let id = keeping.0.id();
    let stdin = keeping.0.stdin.take();
    let ends = std::thread::spawn(move || {
        // A process that waits for another has it open.
        until("it is waited for", || is_waited_for(id));
        drop(stdin);
        keeping.0.wait().unwrap();
    });
    let removal = repo.remove(&tree.path).await;
    ends.join().unwrap();
    assert!(matches!(removal, RemovalOutcome::Removed { .. }), "{removal:?}");
}

/// As a daemon leaves it that was killed while its git was at work.
#[tokio::test]
async fn an_interrupted_step_is_resumed_when_its_git_has_ended() {
    for making in [false, true] {
        let repo = Repo::new();
        let place = if making {
            half_made(&repo, "no files").await.path.into()
        } else {
            let tree = repo.merged().await;
            let aside = repo.path().join(".git/ao/removing/ses_4f");
            fs::create_dir_all(aside.parent().unwrap()).unwrap();
            fs::rename(repo.path().join(".git/worktrees/fix"), &aside).unwrap();
            fs::write(aside.join("ao-name"), "fix").unwrap();
            tree.path
        };
        let lock = repo.path().join(".git/worktrees/fix/index.lock");
        let tools = tempfile::tempdir().unwrap();
        let stand_in = tools.path().join("git");
        std::os::unix::fs::symlink(which("sh"), &stand_in).unwrap();
        let mut command = Command::new(&stand_in);
        command.args(["-c", "read line; exit 0", "git"]).arg(&place).stdin(Stdio::piped());
        let mut left = Running(command.spawn().unwrap());
        let (id, stdin) = (left.0.id(), left.0.stdin.take());
        let line = format!("/proc/{id}/cmdline");
        until("the system shows its arguments", || fs::read(&line).is_ok_and(|line| !line.is_empty()));
        let ends = std::thread::spawn(move || {
            until("it is waited for", || is_waited_for(id));
            let untouched = if making { lock.exists() } else { !lock.parent().unwrap().exists() };
            drop(stdin);
            left.0.wait().unwrap();
            untouched
        });
        repo.create("fix").await.unwrap();
        assert!(ends.join().unwrap(), "nothing was done beside it");
        assert_eq!(crate::support::git(&place, &["status", "--porcelain"]), "");
    }
}

fn is_waited_for(id: u32) -> bool {
    let open = fs::read_dir("/proc/self/fdinfo").unwrap().flatten();
    open.filter_map(|open| fs::read_to_string(open.path()).ok()).any(|text| {
        text.lines().any(|line| line.strip_prefix("Pid:").is_some_and(|pid| pid.trim() == id.to_string()))
    })
}

fn which(program: &str) -> std::path::PathBuf {
    let folders = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.exists());
    found.unwrap_or_else(|| Path::new("/bin").join(program)).canonicalize().unwrap()
}
