//! How much the merge queue costs beside what it does: a hundred changes with a check that does nothing, from the word that they
//! may land until the last of them has; over the bare merges and check runs that this takes.
//!
//! `cargo bench -p ao --bench queue` prints a table and fails if a limit is passed. Arguments choose some of `single` (one
//! change a test) and `batch` (eight).

#![expect(clippy::print_stdout, reason = "the table is the output of this program")]

mod yard;

use std::fmt::Write as _;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use ao_api::client::Client;
use serde_json::{Value, json};

use self::yard::{Yard, both, ratio, row, timed};

const PULLS: usize = 100;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    println!("{:<58} | {:>8} | {:>8} |", "what", "limit", "measured");
    let rows = [("single", 3, 1), ("batch", 2, 8)];
    let chosen = |name: &str| args.iter().any(|arg| arg == name);
    let all = !rows.iter().any(|(name, ..)| chosen(name));
    let mut within = true;
    for (_, parallel, batch) in rows.iter().filter(|(name, ..)| all || chosen(name)) {
        within &= queue(*parallel, *batch);
    }
    if within { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn queue(parallel: usize, batch: usize) -> bool {
    let yard = Yard::with(json!({
        "path": ".",
        "checks": [{ "name": "noop", "command": "true" }],
        "mergeQueue": { "parallel": parallel, "batch": batch },
    }));
    branches(&yard);
    let theirs = timed(|| by_hand(&yard, batch));
    yard.start();
    propose(&yard);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = Client::socket(yard.path("data/ao.sock"));
    let ours = runtime.block_on(lands(&client));
    let files = yard.run(Command::new("git").args(["ls-tree", "-r", "--name-only", "main"]));
    assert_eq!(files.matches("feat-").count(), PULLS, "all of them have landed");
    let what = format!("{PULLS} changes, {parallel} tests of {batch} at a time, over by hand");
    row(&what, 1.5, ratio(ours, theirs), &both(ours, theirs))
}

/// From the moment that nothing holds them up until the last one has landed, as those hear it who watch.
async fn lands(client: &Client) -> Duration {
    let order = json!({ "project": "app" });
    let _: Value = client.post("/api/queue/pause", &order).await.unwrap();
    for number in 1..=PULLS {
        let review = json!({ "verdict": "approve", "body": "", "comments": [] });
        let _: Value =
            client.post(format!("/api/pulls/{number}/reviews?project=app"), &review).await.unwrap();
        let wish = json!({ "pull": number.to_string(), "project": "app" });
        let _: Value = client.post("/api/queue", &wish).await.unwrap();
    }
    let mut events = client.events(None, None).await.unwrap();
    let began = Instant::now();
    let _: Value = client.post("/api/queue/resume", &order).await.unwrap();
    let mut landed = 0;
    while landed < PULLS {
        let event = events.next().await.unwrap().unwrap();
        assert!(event.data.get("rejected").is_none(), "{:?}", event.data);
        landed += usize::from(event.data.get("landed").is_some());
    }
    began.elapsed()
}

/// A hundred branches that each add a file.
fn branches(yard: &Yard) {
    let mut import = String::new();
    for n in 1..=PULLS {
        let at = 1_700_000_000 + n;
        writeln!(
            import,
            "commit refs/heads/feat-{n}\ncommitter Ann <ann@example.org> {at} +0000\ndata 4\nfeat"
        )
        .unwrap();
        writeln!(import, "from refs/heads/main^0\nM 100644 inline feat-{n}.txt\ndata 2\nx\n").unwrap();
    }
    yard.git_with(&["fast-import", "--quiet"], &import);
}

/// An agent proposes them, so that a person may approve them.
fn propose(yard: &Yard) {
    let prompt = format!(
        "[[tool for n in $(seq 1 {PULLS}); do ao pr create --head feat-$n --title \"Feature $n\" || exit 1; done]]"
    );
    yard.ao(&["new", "Propose", "--prompt", &prompt]);
    let end = Instant::now() + Duration::from_secs(300);
    loop {
        let listed = yard.ao(&["pr", "list", "--limit", "200", "--json"]);
        let listed: Value = serde_json::from_str(&listed).unwrap();
        let pulls = listed["pulls"].as_array().unwrap();
        if pulls.len() == PULLS && pulls.iter().all(|pull| pull["checks"] == "passed") {
            return;
        }
        assert!(
            Instant::now() < end,
            "not all were proposed and checked in five minutes: {}",
            yard.complaints()
        );
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// What a person would type to land the same: for every batch a checkout, a merge of each, the check, and the way back.
fn by_hand(yard: &Yard, batch: usize) {
    let tree = yard.path("by-hand").display().to_string();
    yard.git(&["branch", "by-hand", "main"]);
    let numbers: Vec<usize> = (1..=PULLS).collect();
    for numbers in numbers.chunks(batch) {
        yard.git(&["worktree", "add", "--quiet", "--detach", &tree, "by-hand"]);
        for n in numbers {
            yard.git(&["-C", &tree, "merge", "--quiet", "--no-edit", "--no-ff", &format!("feat-{n}")]);
        }
        yard.run(Command::new("sh").args(["-c", "true"]));
        yard.git(&["-C", &tree, "push", "--quiet", ".", "HEAD:refs/heads/by-hand"]);
        yard.git(&["worktree", "remove", "--force", &tree]);
    }
}
