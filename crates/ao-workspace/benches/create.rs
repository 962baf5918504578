//! Compares a new worktree with a bare `git worktree add`, alone and in a burst.
//!
//! `cargo bench -p ao-workspace` prints a table and fails if a limit is passed. Both sides of a comparison work on copies
//! of the same repository, run in turns, and are compared by their medians, so that a noisy machine disturbs both alike.

#![expect(clippy::print_stdout, reason = "the table is the output of this program")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use ao_core::effect::WorkspacePlan;
use ao_core::setup::Origin;
use ao_core::{Attempt, ProjectId, SessionId};
use ao_ports::Workspace;
use ao_workspace::Worktrees;
use futures::future::join_all;
use tempfile::TempDir;
use tokio::runtime::Runtime;

const FILES: usize = 1000;
const BURST: u64 = 50;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    println!("{:<58} | {:>5} | {:>8} |", "what", "limit", "measured");
    let within = [
        row("one worktree of 1,000 files / bare `git worktree add`", 1.2, one(&runtime)),
        row("the first one after a start / bare `git worktree add`", 1.2, first(&runtime)),
        row("a burst of 50 / 50 bare ones one after another", 1.0, burst(&runtime)),
    ];
    if within.iter().all(|within| *within) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn row(what: &str, limit: f64, (ours, bare): (Duration, Duration)) -> bool {
    let ratio = ours.as_secs_f64() / bare.as_secs_f64();
    let within = ratio <= limit;
    let verdict = if within { "ok" } else { "over" };
    println!("{what:<58} | {limit:>5.2} | {ratio:>8.2} | {verdict} ({ours:.1?} / {bare:.1?})");
    within
}

/// One worktree alone, in a repository that has some already.
fn one(runtime: &Runtime) -> (Duration, Duration) {
    let (ours, bare) = (Place::new(), Place::new());
    let worktrees = Worktrees::new();
    ours.make(runtime, &worktrees, 1);
    bare.make_bare(1);
    turns(20, |number| ours.make(runtime, &worktrees, number + 2), |number| bare.make_bare(number + 2))
}

/// One worktree by an adapter that knows nothing of the repository yet.
fn first(runtime: &Runtime) -> (Duration, Duration) {
    let (ours, bare) = (Place::new(), Place::new());
    turns(20, |number| ours.make(runtime, &Worktrees::new(), number + 1), |number| bare.make_bare(number + 1))
}

/// Many at once, against as many one after another.
fn burst(runtime: &Runtime) -> (Duration, Duration) {
    let ours = |_| {
        let place = Place::new();
        let worktrees = Worktrees::new();
        let start = Instant::now();
        runtime.block_on(join_all((1..=BURST).map(|number| place.create(&worktrees, number))));
        start.elapsed()
    };
    let bare = |_| {
        let place = Place::new();
        (1..=BURST).map(|number| place.make_bare(number)).sum()
    };
    turns(3, ours, bare)
}

fn turns(
    rounds: u64,
    mut ours: impl FnMut(u64) -> Duration,
    mut bare: impl FnMut(u64) -> Duration,
) -> (Duration, Duration) {
    let (mut all_ours, mut all_bare) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        all_ours.push(ours(round));
        all_bare.push(bare(round));
    }
    (median(all_ours), median(all_bare))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// A repository of its own.
struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "--quiet", "-b", "main"]);
        git(dir.path(), &["config", "user.name", "Ann"]);
        git(dir.path(), &["config", "user.email", "ann@example.invalid"]);
        for number in 0..FILES {
            let folder = dir.path().join(format!("folder-{}", number / 50));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(format!("file-{number}")), format!("line of {number}\n").repeat(100))
                .unwrap();
        }
        git(dir.path(), &["add", "."]);
        git(dir.path(), &["commit", "--quiet", "-m", "first"]);
        Place { dir }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    fn make(&self, runtime: &Runtime, worktrees: &Worktrees, number: u64) -> Duration {
        let start = Instant::now();
        runtime.block_on(self.create(worktrees, number));
        start.elapsed()
    }

    async fn create(&self, worktrees: &Worktrees, number: u64) {
        let plan = WorkspacePlan {
            project: ProjectId::new("app"),
            repository: self.path().display().to_string(),
            kind: "worktree".into(),
            name: format!("n{number}"),
            branch: format!("agent/n{number}"),
            base_branch: "main".into(),
            origin: Origin::Base,
            rescue: None,
        };
        worktrees.create(SessionId(number), Attempt(1), &plan).await.unwrap();
    }

    fn make_bare(&self, number: u64) -> Duration {
        let (branch, path) = (format!("agent/n{number}"), format!(".worktrees/n{number}"));
        let start = Instant::now();
        git(self.dir.path(), &["worktree", "add", "--quiet", "-b", &branch, &path]);
        start.elapsed()
    }
}

fn git(dir: &Path, args: &[&str]) {
    let output = Command::new("git").args(args).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}
