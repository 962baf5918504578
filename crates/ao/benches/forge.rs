//! How quick the forge in the box is: a check from push to result, and a long list.
//!
//! `cargo bench -p ao --bench forge` prints a table and fails if a limit is passed. What is compared runs in turns, so that a
//! noisy machine disturbs both alike. Arguments choose some of `check` and `list`.

#![expect(clippy::print_stdout, reason = "the table is the output of this program")]

mod yard;

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, ExitCode};
use std::time::Instant;

use ao_api::client::Client;
use serde_json::{Value, json};

use self::yard::{Yard, both, in_turns, median, ratio, row, timed};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    println!("{:<58} | {:>8} | {:>8} |", "what", "limit", "measured");
    type Measure = fn() -> bool;
    let rows: [(&str, Measure); 2] = [("check", check), ("list", list)];
    let chosen = |name: &str| args.iter().any(|arg| arg == name);
    let all = !rows.iter().any(|(name, _)| chosen(name));
    let mut within = true;
    for (_, measure) in rows.iter().filter(|(name, _)| all || chosen(name)) {
        within &= measure();
    }
    if within { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A check that does nothing, in a repository of a thousand files: from the moment that the branch has moved to the moment
/// that somebody who watches hears the result; over what a person would type to do the same.
fn check() -> bool {
    const ROUNDS: usize = 40;
    let yard = Yard::with(json!({ "path": ".", "checks": [{ "name": "noop", "command": "true" }] }));
    fill(&yard, 1000);
    yard.git(&["switch", "--quiet", "-c", "feat"]);
    yard.change("feat.txt", "0");
    yard.git(&["switch", "--quiet", "main"]);
    yard.change("main.txt", "main has gone on");
    yard.start();
    yard.ao(&["pr", "create", "--head", "feat", "--title", "Feature"]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = Client::socket(yard.path("data/ao.sock"));
    let (mut ours, mut theirs) = (vec![], vec![]);
    runtime.block_on(async {
        let mut events = client.events(None, None).await.unwrap();
        for round in 0..ROUNDS {
            let commit = yard.next_commit("feat", &format!("round {round}"));
            let began = Instant::now();
            yard.git(&["update-ref", "refs/heads/feat", &commit]);
            loop {
                let event = events.next().await.unwrap().unwrap();
                let check = &event.data["check_reported"]["check"];
                if check["commit"] == commit.as_str() && check["state"] == "passed" {
                    break;
                }
            }
            ours.push(began.elapsed());
            theirs.push(timed(|| by_hand(&yard)));
        }
    });
    let (ours, theirs) = (median(ours), median(theirs));
    row("a no-op check, push to result, over doing it by hand", 1.3, ratio(ours, theirs), &both(ours, theirs))
}

fn by_hand(yard: &Yard) {
    let tree = yard.path("by-hand").display().to_string();
    yard.git(&["worktree", "add", "--quiet", "--detach", &tree, "main"]);
    yard.git(&["-C", &tree, "merge", "--quiet", "--no-edit", "feat"]);
    yard.run(Command::new("sh").args(["-c", "true"]));
    yard.git(&["worktree", "remove", "--force", &tree]);
}

fn list() -> bool {
    const PULLS: usize = 1000;
    let yard = Yard::new();
    fill(&yard, 10);
    let mut import = String::new();
    for n in 0..PULLS {
        writeln!(
            import,
            "commit refs/heads/feat-{n}\ncommitter Ann <ann@example.org> {} +0000\ndata 4\nfeat",
            1_700_000_000 + n
        )
        .unwrap();
        writeln!(import, "from refs/heads/main^0\nM 100644 inline feat-{n}.txt\ndata 2\nx\n").unwrap();
    }
    yard.git_with(&["fast-import", "--quiet"], &import);
    yard.start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = Client::socket(yard.path("data/ao.sock"));
    runtime.block_on(async {
        for n in 0..PULLS {
            let new = json!({ "head": format!("feat-{n}"), "title": format!("Feature number {n}, which is one of many") });
            let _: Value = client.post("/api/pulls", &new).await.unwrap();
        }
    });
    let all = PULLS.to_string();
    let whole = yard.ao(&["pr", "list", "--limit", &all]);
    assert!(whole.lines().count() >= PULLS, "all of them are listed");
    let (ours, bare) = in_turns(100, || yard.ao(&["pr", "list"]), || yard.ao(&["--version"]));
    let within =
        row("`ao pr list` with 1,000 PRs, over `ao --version`", 3.0, ratio(ours, bare), &both(ours, bare));
    let whole = || yard.ao(&["pr", "list", "--limit", &all]);
    let (ours, bare) = in_turns(100, whole, || yard.ao(&["--version"]));
    within & row("the same, all of them shown", 8.0, ratio(ours, bare), &both(ours, bare))
}

fn fill(yard: &Yard, files: usize) {
    for n in 0..files {
        let folder = yard.path(&format!("app/src/part-{}", n / 50));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("file-{n}.txt")), format!("line {n}\n").repeat(100)).unwrap();
    }
    yard.git(&["add", "src"]);
    yard.git(&["commit", "--quiet", "-m", "files"]);
}

impl Yard {
    fn change(&self, file: &str, text: &str) {
        fs::write(self.path("app").join(file), text).unwrap();
        self.git(&["add", file]);
        self.git(&["commit", "--quiet", "-m", text]);
    }

    /// A commit on top of a branch that no branch has yet: another line in its file.
    fn next_commit(&self, branch: &str, text: &str) -> String {
        let script = format!(
            "export GIT_INDEX_FILE={index}; git read-tree {branch} && blob=$(echo '{text}' | git hash-object -w --stdin) && \
             git update-index --add --cacheinfo 100644,$blob,feat.txt && \
             git commit-tree -p {branch} -m '{text}' $(git write-tree)",
            index = self.path("tmp/index").display(),
        );
        self.run(Command::new("sh").args(["-c", &script])).trim().to_owned()
    }
}
