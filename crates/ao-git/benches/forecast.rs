//! Measures the forecast of all pairs of 100 branches, against 100 single merges.
//!
//! `cargo bench -p ao-git` prints a table and fails if a limit is passed. The repository has 10,000 files; each branch edits
//! a few of its own and some that many edit, so that a part of the pairs truly has to be merged. Both sides run in turns on
//! the same repository and are compared by their medians.

#![expect(clippy::print_stdout, reason = "the table is the output of this program")]

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use ao_git::Git;
use ao_git::forecast::{Branch, Forecast, Outlook, Scratch};
use fastrand::Rng;
use tempfile::TempDir;
use tokio::runtime::Runtime;

#[path = "../tests/it/story.rs"]
mod story;

use story::{Files, Story, git};

const FILES: usize = 10_000;
const BRANCHES: usize = 100;
const ROUNDS: usize = 5;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    println!("{:<62} | {:>5} | {:>8} |", "what", "limit", "measured");
    let within = [
        row("100 branches, all pairs / 100 single `git merge-tree`", 3.0, 20, &runtime),
        // Every pair has a file in common, so no merge is skipped. Shows the cost of that case.
        row("the same, where all edit one file", f64::INFINITY, 1, &runtime),
    ];
    if within.iter().all(|within| *within) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// `shared`: the number of files that many branches edit; each branch edits one of them.
fn row(what: &str, limit: f64, shared: usize, runtime: &Runtime) -> bool {
    let dir = TempDir::new().unwrap();
    let tips = repository(dir.path(), shared);
    let main = git(dir.path(), &["rev-parse", "main"]).0;
    let (mut ours, mut bare) = (vec![], vec![]);
    let mut outlook = Outlook::default();
    for round in 0..ROUNDS {
        let begun = Instant::now();
        let scratch =
            Scratch::open(&dir.path().join(format!("scratch{round}")), &dir.path().join(".git")).unwrap();
        let git = scratch.git(&Git::plain(dir.path()));
        outlook = runtime.block_on(Forecast::default().look(&git, &main, &tips)).unwrap();
        ours.push(begun.elapsed());
        let begun = Instant::now();
        single_merges(dir.path(), &tips);
        bare.push(begun.elapsed());
    }
    let (ours, bare) = (median(ours), median(bare));
    let ratio = ours.as_secs_f64() / bare.as_secs_f64();
    let within = ratio <= limit;
    let verdict = if within { "ok" } else { "over" };
    let Outlook { pairs, merged, clashes, .. } = outlook;
    println!(
        "{what:<62} | {limit:>5.2} | {ratio:>8.2} | {verdict} ({ours:.1?} / {bare:.1?}; {pairs} pairs, {merged} merged, {} clash)",
        clashes.len()
    );
    within
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort_unstable();
    all[all.len() / 2]
}

/// Each branch with the next one.
fn single_merges(dir: &Path, tips: &[Branch]) {
    for (nth, branch) in tips.iter().enumerate() {
        let next = &tips[(nth + 1) % tips.len()];
        let mut merge = Command::new("git");
        merge.args(["merge-tree", "--write-tree", &branch.tip, &next.tip]).current_dir(dir);
        let output = merge.output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    }
}

fn repository(dir: &Path, shared: usize) -> Vec<Branch> {
    assert!(git(dir, &["init", "--quiet", "--initial-branch=main", "."]).1);
    let mut rng = Rng::with_seed(7);
    let path = |nth: usize| format!("part{:02}/unit{:02}/file{nth:05}.txt", nth % 50, nth % 20);
    let text = |nth: usize| (0..40).map(|line| format!("file {nth} line {line}\n")).collect::<String>();
    let main: Files = (0..FILES).map(|nth| (path(nth), ("100644", text(nth)))).collect();
    let mut story = Story::default();
    story.commit("main", None, &main);
    for nth in 0..BRANCHES {
        let name = format!("b{nth}");
        story.branch(&name, "main");
        let mut files: Vec<usize> = (0..5).map(|_| rng.usize(shared..FILES)).collect();
        files.push(rng.usize(..shared));
        let edited: Files = files
            .into_iter()
            .map(|file| {
                let line = rng.usize(..40);
                let edited = text(file).replace(&format!(" line {line}\n"), &format!(" edited by {nth}\n"));
                (path(file), ("100644", edited))
            })
            .collect();
        story.edit(&name, &edited);
    }
    story.tell(dir);
    assert!(git(dir, &["repack", "-adq"]).1);
    let branch = |nth: usize| Branch {
        name: format!("b{nth:03}"),
        tip: git(dir, &["rev-parse", &format!("refs/heads/b{nth}")]).0,
        owner: format!("b{nth:03}"),
    };
    (0..BRANCHES).map(branch).collect()
}
