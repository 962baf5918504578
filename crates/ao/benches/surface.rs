//! How quick the program feels: its commands, its daemon's start and size, a message, a crowd of viewers.
//!
//! `cargo bench -p ao --bench surface` prints a table and fails if a limit is passed. Commands that are compared run in turns,
//! so that a noisy machine disturbs both alike. Arguments choose some of `version`, `status`, `start`, `memory`, `send`,
//! `viewers` and `fleet`.

#![expect(clippy::print_stdout, reason = "the table is the output of this program")]

mod yard;

use std::fs;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ao_api::client::Client;
use serde_json::{Value, json};

use self::yard::{Yard, both, in_turns, median, plain, ratio, row, timed};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    println!("{:<58} | {:>8} | {:>8} |", "what", "limit", "measured");
    type Measure = fn() -> bool;
    let rows: [(&str, Measure); 7] = [
        ("version", version),
        ("status", status),
        ("start", start),
        ("memory", memory),
        ("send", send),
        ("viewers", viewers),
        ("fleet", fleet),
    ];
    let chosen = |name: &str| args.iter().any(|arg| arg == name);
    let all = !rows.iter().any(|(name, _)| chosen(name));
    let mut within = true;
    for (_, measure) in rows.iter().filter(|(name, _)| all || chosen(name)) {
        within &= measure();
    }
    if within { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn version() -> bool {
    let yard = Yard::new();
    let (ours, theirs) = in_turns(300, || yard.ao(&["--version"]), || plain("git", &["--version"]));
    row("`ao --version`, over `git --version`", 1.5, ratio(ours, theirs), &both(ours, theirs))
}

fn status() -> bool {
    let yard = Yard::new();
    yard.start();
    let issues = yard.issues(100);
    let mut args = vec!["batch-spawn", "--agent", "quick"];
    args.extend(issues.iter().map(String::as_str));
    yard.ao(&args);
    yard.until("all have run", |sessions| {
        sessions.len() == 100 && sessions.iter().all(|session| session["status"]["state"] == "idle")
    });
    let (ours, bare) = in_turns(200, || yard.ao(&["status", "--json"]), || yard.ao(&["--version"]));
    row(
        "`ao status --json` with 100 sessions, over `ao --version`",
        3.0,
        ratio(ours, bare),
        &both(ours, bare),
    )
}

/// From nothing to an answer of the API, without what the program itself takes to run.
fn start() -> bool {
    let mut times = Vec::new();
    let yard = Yard::new();
    for _ in 0..15 {
        let _ = fs::remove_dir_all(yard.path("data"));
        let began = Instant::now();
        yard.ao(&["start", "--port", "0"]);
        times.push(began.elapsed());
        yard.ao(&["stop"]);
    }
    let version = median((0..50).map(|_| timed(|| yard.ao(&["--version"]))).collect());
    let whole = median(times);
    let more = (whole.saturating_sub(version)).as_secs_f64() * 1e3;
    row("`ao start` to the API answering, cold, over `ao --version`, ms", 100.0, more, &both(whole, version))
}

fn memory() -> bool {
    let yard = Yard::new();
    yard.start();
    let issues = yard.issues(30);
    let mut args = vec!["batch-spawn"];
    args.extend(issues.iter().map(String::as_str));
    yard.ao(&args);
    yard.until("all are idle", |sessions| {
        sessions.len() == 30 && sessions.iter().all(|session| session["status"]["state"] == "idle")
    });
    let resident = yard.resident_kb() as f64 / 1024.0;
    row("memory of the daemon with 30 idle sessions, MB", 30.0, resident, "VmRSS")
}

fn send() -> bool {
    const MESSAGES: usize = 200;
    let yard = Yard::new();
    yard.start();
    yard.ao(&["new", "Talk", "--name", "talk", "--prompt", "[[say hello]]"]);
    let mut times = Vec::new();
    for n in 0..MESSAGES {
        yard.ao(&["wait", "talk", "--for", "idle", "--timeout", "60"]);
        let text = format!("message {n}");
        times.push(timed(|| yard.ao(&["send", "talk", &text])));
    }
    times.sort();
    let (half, most) = (times[MESSAGES / 2], times[MESSAGES * 99 / 100]);
    let detail = format!("half within {:.1} ms", half.as_secs_f64() * 1e3);
    row("`ao send` to an idle scripted agent, accepted, p99, ms", 50.0, most.as_secs_f64() * 1e3, &detail)
}

fn viewers() -> bool {
    const VIEWERS: usize = 1000;
    let yard = Yard::new();
    yard.start();
    yard.ao(&["new", "Talk", "--name", "talk", "--prompt", "[[say hello]]"]);
    yard.ao(&["wait", "talk", "--for", "idle", "--timeout", "60"]);
    let before = yard.resident_kb();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (memory, delays) = runtime.block_on(async {
        let client = Client::socket(yard.path("data/ao.sock"));
        let mut viewers = tokio::task::JoinSet::new();
        let (ready, mut all_ready) = tokio::sync::mpsc::channel::<()>(VIEWERS);
        for _ in 0..VIEWERS {
            let (client, ready) = (client.clone(), ready.clone());
            viewers.spawn(async move {
                let mut events = client.events(None, None).await.unwrap();
                ready.send(()).await.unwrap();
                let mut seen = Vec::new();
                while seen.len() < 20 {
                    let event = events.next().await.unwrap().unwrap();
                    if event.kind.contains("paused")
                        || event.kind.contains("hold")
                        || event.kind.contains("held")
                        || event.kind.contains("released")
                    {
                        seen.push((event.seq, Instant::now()));
                    }
                }
                seen
            });
        }
        for _ in 0..VIEWERS {
            all_ready.recv().await.unwrap();
        }
        let memory = (yard.resident_kb() - before) as f64 / VIEWERS as f64;
        let mut begun = Vec::new();
        for _ in 0..10 {
            for what in ["pause", "resume"] {
                let _: Value = client.post(format!("/api/sessions/talk/{what}"), &json!({})).await.unwrap();
                begun.push(Instant::now());
                tokio::time::sleep(Duration::from_millis(400)).await;
            }
        }
        let mut last = vec![Duration::ZERO; begun.len()];
        while let Some(seen) = viewers.join_next().await {
            for (n, (_, at)) in seen.unwrap().into_iter().enumerate() {
                last[n] = last[n].max(at.saturating_duration_since(begun[n]));
            }
        }
        (memory, last)
    });
    let slowest = delays.iter().max().unwrap().as_secs_f64() * 1e3;
    row("1,000 viewers of events: memory of the daemon for each, KB", 100.0, memory, "VmRSS")
        & row(
            "the same: delay of an event to the last of them, ms",
            250.0,
            slowest,
            "the slowest of 20 events",
        )
}

/// 200 agents: the daemon's own time while they do nothing, and their end.
fn fleet() -> bool {
    const AGENTS: usize = 200;
    /// The tree of each agent is looked at once after its turn, one after the other; that is over by then.
    const SETTLES: Duration = Duration::from_secs(120);
    /// Longer than the time between two comparisons of what should be with what is.
    const WATCHED: Duration = Duration::from_secs(65);
    let yard = Yard::new();
    yard.start();
    let issues = yard.issues(AGENTS);
    for some in issues.chunks(50) {
        let mut args = vec!["batch-spawn"];
        args.extend(some.iter().map(String::as_str));
        yard.ao(&args);
    }
    yard.until("all are idle", |sessions| {
        sessions.len() == AGENTS && sessions.iter().all(|session| session["status"]["state"] == "idle")
    });
    std::thread::sleep(SETTLES);
    let (began, before) = (Instant::now(), yard.used());
    std::thread::sleep(WATCHED);
    let share = (yard.used() - before).as_secs_f64() / began.elapsed().as_secs_f64() * 100.0;
    let stopped = timed(|| yard.ao(&["stop", "--all"])).as_secs_f64();
    row("daemon with 200 idle sessions, % of a core", 1.0, share, "its own time, all threads")
        & row("`ao stop --all` with 200 sessions, s", 5.0, stopped, "until the last has ended")
}
