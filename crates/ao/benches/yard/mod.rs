//! A place to measure the program in: a home, a repository, a daemon; and how measures are taken and told.
//!
//! Shared by the benches of this crate, none of which needs all of it.

#![allow(dead_code, reason = "each bench uses its own part")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use ao_testkit::scripted;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The program that is measured: the released one, which `cargo xtask bench` names, or else the one of this profile.
pub(crate) static AO: LazyLock<String> =
    LazyLock::new(|| std::env::var("AO_RELEASED").unwrap_or_else(|_| env!("CARGO_BIN_EXE_ao").to_owned()));

pub(crate) struct Yard {
    dir: TempDir,
}

impl Yard {
    pub(crate) fn new() -> Yard {
        Yard::with(json!({ "path": "." }))
    }

    /// With more said of its project.
    pub(crate) fn with(project: Value) -> Yard {
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
            json!({ "SCRIPTED_HOME": yard.path("agents"), "SCRIPTED_HOOK": format!("{} hook", *AO) });
        let config = json!({
            "defaults": { "runtime": "process", "agent": "scripted", "tracker": "local", "notifiers": [] },
            "projects": { "app": project },
            "orchestrator": { "enabled": false },
            "power": { "preventIdleSleep": false },
            "lifecycle": { "maxParallelAgents": 200 },
            "tools": { "scripted": manifest, "quick": { "program": "true", "prompt": "argument" } },
        });
        fs::write(yard.path("app/agent-orchestrator.yaml"), serde_json::to_string_pretty(&config).unwrap())
            .unwrap();
        yard
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn start(&self) {
        self.ao(&["start", "--port", "0"]);
    }

    pub(crate) fn ao(&self, args: &[&str]) -> String {
        self.run(Command::new(&*AO).args(args))
    }

    /// Adds issues to the tracker, and returns their numbers.
    pub(crate) fn issues(&self, count: usize) -> Vec<String> {
        for issue in 1..=count {
            self.ao(&["issue", "add", &format!("Issue {issue}")]);
        }
        (1..=count).map(|issue| issue.to_string()).collect()
    }

    pub(crate) fn run(&self, command: &mut Command) -> String {
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

    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.run(Command::new("git").args(args))
    }

    pub(crate) fn git_with(&self, args: &[&str], input: &str) {
        let file = self.path("tmp/input");
        fs::write(&file, input).unwrap();
        let script = format!("exec git {} < {}", args.join(" "), file.display());
        self.run(Command::new("sh").args(["-c", &script]));
    }

    pub(crate) fn until(&self, what: &str, is_so: impl Fn(&[Value]) -> bool) {
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

    /// What the agents' tools have complained of.
    pub(crate) fn complaints(&self) -> String {
        scripted::AgentHome::new(self.path("agents")).complaints()
    }

    fn daemon_pid(&self) -> u64 {
        let daemon: Value = serde_json::from_str(&self.ao(&["api", "GET", "/daemon"])).unwrap();
        daemon["pid"].as_u64().unwrap()
    }

    /// The processor time that the daemon has used.
    pub(crate) fn used(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.daemon_pid())).unwrap();
        // Behind the name, which may have blanks in it: state, ten numbers, then its own time in both modes.
        let (_, rest) = stat.rsplit_once(") ").unwrap();
        let ticks: u64 = rest.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum();
        // Linux counts in hundredths of a second towards programs, whatever it does itself.
        Duration::from_millis(ticks * 10)
    }

    pub(crate) fn resident_kb(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.daemon_pid())).unwrap();
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

pub(crate) fn plain(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn timed<T>(what: impl FnOnce() -> T) -> Duration {
    let began = Instant::now();
    what();
    began.elapsed()
}

pub(crate) fn in_turns<A, B>(
    rounds: usize,
    ours: impl Fn() -> A,
    theirs: impl Fn() -> B,
) -> (Duration, Duration) {
    let times: Vec<_> = (0..rounds).map(|_| (timed(&ours), timed(&theirs))).collect();
    (
        median(times.iter().map(|(ours, _)| *ours).collect()),
        median(times.iter().map(|(_, theirs)| *theirs).collect()),
    )
}

pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

pub(crate) fn ratio(ours: Duration, theirs: Duration) -> f64 {
    ours.as_secs_f64() / theirs.as_secs_f64()
}

pub(crate) fn both(ours: Duration, theirs: Duration) -> String {
    format!("{:.1} / {:.1} ms", ours.as_secs_f64() * 1e3, theirs.as_secs_f64() * 1e3)
}

/// Tells one line of the table, and whether it is within its limit.
pub(crate) fn row(what: &str, limit: f64, measured: f64, detail: &str) -> bool {
    let within = measured <= limit;
    let verdict = if within { "ok" } else { "over" };
    println!("{what:<58} | {limit:>8.2} | {measured:>8.2} | {verdict} ({detail})");
    within
}
