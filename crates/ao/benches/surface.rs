//! How quick the program feels: its commands, its daemon's start and size, a message, a crowd of viewers.
//!
//! `cargo bench -p ao --bench surface` prints a table and fails if a limit is passed. Commands that are compared run in turns,
//! so that a noisy machine disturbs both alike. Arguments choose some of `version`, `status`, `start`, `memory`, `send` and
//! `viewers`.

#![expect(clippy::print_stdout, reason = "the table is the output of this program")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use ao_api::client::Client;
use ao_testkit::scripted;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

const AO: &str = env!("CARGO_BIN_EXE_ao");

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    println!("{:<58} | {:>8} | {:>8} |", "what", "limit", "measured");
    type Measure = fn() -> bool;
    let rows: [(&str, Measure); 6] = [
        ("version", version),
        ("status", status),
        ("start", start),
        ("memory", memory),
        ("send", send),
        ("viewers", viewers),
    ];
    let chosen = |name: &str| args.iter().any(|arg| arg == name);
    let all = !rows.iter().any(|(name, _)| chosen(name));
    let mut within = true;
    for (_, measure) in rows.iter().filter(|(name, _)| all || chosen(name)) {
        within &= measure();
    }
    if within { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn row(what: &str, limit: f64, measured: f64, detail: &str) -> bool {
    let within = measured <= limit;
    let verdict = if within { "ok" } else { "over" };
    println!("{what:<58} | {limit:>8.2} | {measured:>8.2} | {verdict} ({detail})");
    within
}

fn version() -> bool {
    let yard = Yard::new();
    let (ours, theirs) = in_turns(300, || yard.ao(&["--version"]), || plain("git", &["--version"]));
    row("`ao --version`, over `git --version`", 1.5, ratio(ours, theirs), &both(ours, theirs))
}

fn status() -> bool {
    let yard = Yard::new();
    yard.start();
    let issues: Vec<String> = (1..=100).map(|issue| issue.to_string()).collect();
    let mut args = vec!["batch-spawn", "--agent", "quick"];
    args.extend(issues.iter().map(String::as_str));
    yard.ao(&args);
    yard.until("all have run", |sessions| {
        sessions.len() == 100 && sessions.iter().all(|session| session["status"]["state"] == "exited")
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
    let issues: Vec<String> = (1..=30).map(|issue| issue.to_string()).collect();
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
                let _: Value = client.post(&format!("/api/sessions/talk/{what}"), &json!({})).await.unwrap();
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

// ── a place to measure in ──

struct Yard {
    dir: TempDir,
}

impl Yard {
    fn new() -> Yard {
        let yard = Yard { dir: tempfile::tempdir().unwrap() };
        for folder in ["app", "agents", "tmp"] {
            fs::create_dir(yard.path(folder)).unwrap();
        }
        fs::write(yard.path(".gitconfig"), "[user]\n name = Ann\n email = ann@example.org\n").unwrap();
        for args in [
            &["init", "--quiet", "--initial-branch=main"] as &[&str],
            &["commit", "--quiet", "--allow-empty", "-m", "begin"],
        ] {
            let mut git = Command::new("git");
            yard.run(git.args(args));
        }
        let mut manifest: Value = serde_json::from_str(scripted::MANIFEST).unwrap();
        manifest["program"] = scripted::program().display().to_string().into();
        manifest["env"] =
            json!({ "SCRIPTED_HOME": yard.path("agents"), "SCRIPTED_HOOK": format!("{AO} hook") });
        let config = json!({
            "defaults": { "runtime": "process", "agent": "scripted", "tracker": "local", "notifiers": [] },
            "projects": { "app": { "path": "." } },
            "orchestrator": { "enabled": false },
            "power": { "preventIdleSleep": false },
            "lifecycle": { "maxParallelAgents": 100 },
            "tools": { "scripted": manifest, "quick": { "program": "true", "prompt": "argument" } },
        });
        fs::write(yard.path("app/agent-orchestrator.yaml"), serde_json::to_string_pretty(&config).unwrap())
            .unwrap();
        yard
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn start(&self) {
        self.ao(&["start", "--port", "0"]);
    }

    fn ao(&self, args: &[&str]) -> String {
        self.run(Command::new(AO).args(args))
    }

    fn run(&self, command: &mut Command) -> String {
        let output = command
            .current_dir(self.path("app"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path())
            .env("TMPDIR", self.path("tmp"))
            .env("AO_DATA_DIR", self.path("data"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn until(&self, what: &str, is_so: impl Fn(&[Value]) -> bool) {
        let end = Instant::now() + Duration::from_secs(300);
        loop {
            let listed: Value = serde_json::from_str(&self.ao(&["list", "--json"])).unwrap();
            if is_so(listed["sessions"].as_array().unwrap()) {
                return;
            }
            assert!(Instant::now() < end, "{what}: not in five minutes");
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn resident_kb(&self) -> u64 {
        let daemon: Value = serde_json::from_str(&self.ao(&["api", "GET", "/daemon"])).unwrap();
        let status = fs::read_to_string(format!("/proc/{}/status", daemon["pid"])).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches("kB").trim().parse().unwrap()
    }
}

/// Whatever was started here ends here.
impl Drop for Yard {
    fn drop(&mut self) {
        let ours = format!("HOME={}", self.dir.path().display());
        let Ok(entries) = fs::read_dir("/proc") else { return };
        for pid in entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()) {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            if environment.split(|byte| *byte == 0).any(|known| known == ours.as_bytes())
                && let Some(pid) = Pid::from_raw(pid)
            {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

// ── measuring ──

fn plain(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn timed<T>(what: impl FnOnce() -> T) -> Duration {
    let began = Instant::now();
    what();
    began.elapsed()
}

fn in_turns<A, B>(rounds: usize, ours: impl Fn() -> A, theirs: impl Fn() -> B) -> (Duration, Duration) {
    let times: Vec<_> = (0..rounds).map(|_| (timed(&ours), timed(&theirs))).collect();
    (
        median(times.iter().map(|(ours, _)| *ours).collect()),
        median(times.iter().map(|(_, theirs)| *theirs).collect()),
    )
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn ratio(ours: Duration, theirs: Duration) -> f64 {
    ours.as_secs_f64() / theirs.as_secs_f64()
}

fn both(ours: Duration, theirs: Duration) -> String {
    format!("{:.1} / {:.1} ms", ours.as_secs_f64() * 1e3, theirs.as_secs_f64() * 1e3)
}
