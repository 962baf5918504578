//! The real program in a home of its own, for tests that drive it from outside: the gauntlet and the soak.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::scripted;

/// A home, a data directory, and a repository `app`. All processes that were started here end with it.
#[derive(Debug)]
pub struct Installation {
    dir: TempDir,
}

/// The outcome of a command.
#[derive(Debug)]
pub struct CommandOutput {
    pub ok: bool,
    pub out: String,
    pub err: String,
}

impl Installation {
    /// Creates an empty home with a git configuration. `prefix` begins the name of its folder.
    pub fn new(prefix: &str) -> Installation {
        let home = Installation { dir: tempfile::Builder::new().prefix(prefix).tempdir().expect("a folder") };
        for folder in ["tmp", "agents", "helpers", "app"] {
            fs::create_dir(home.path(folder)).expect("a folder can be made");
        }
        home.write(
            ".gitconfig",
            "[user]\n name = Ann\n email = ann@example.org\n[gc]\n auto = 0\n[maintenance]\n auto = false\n",
        );
        home
    }

    /// Creates a repository of the files in `app`, without the configuration file.
    pub fn commit_all(&self) {
        self.git(&["init", "--quiet", "--initial-branch=main"]);
        self.git(&["add", "."]);
        self.git(&["commit", "--quiet", "-m", "begin"]);
        self.write("app/.git/info/exclude", "agent-orchestrator.yaml\n");
    }

    pub fn configure(&self, config: &Value) {
        let text = serde_json::to_string_pretty(config).expect("plain data");
        self.write("app/agent-orchestrator.yaml", &text);
    }

    /// Returns the manifest of the scripted agent, with its conversations in this home.
    pub fn scripted_agent(&self) -> Value {
        let mut manifest: Value = serde_json::from_str(scripted::MANIFEST).expect("it is JSON");
        // The same program can have two names, each with an account of its own.
        if let Some(manifest) = manifest.as_object_mut() {
            manifest.remove("name");
        }
        let agents = self.path("agents");
        manifest["program"] = scripted::program().display().to_string().into();
        manifest["conversation_file"] = format!("{}/{{conversation}}.jsonl", agents.display()).into();
        manifest["env"] = serde_json::json!({ "SCRIPTED_HOME": agents, "SCRIPTED_HOOK": format!("{} hook", ao().display()) });
        manifest
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::write(&path, text).unwrap_or_else(|err| panic!("{}: {err}", path.display()));
    }

    /// Runs `ao` as a user does, in the repository. May fail, because the daemon may be dead.
    pub fn ao(&self, args: &[&str]) -> CommandOutput {
        let mut command = Command::new(ao());
        command.args(args);
        self.run(command)
    }

    /// Runs `ao` and parses its output. Returns `None` if it fails.
    pub fn json(&self, args: &[&str]) -> Option<Value> {
        let ran = self.ao(args);
        if ran.ok { serde_json::from_str(&ran.out).ok() } else { None }
    }

    pub fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(args);
        let ran = self.run(command);
        assert!(ran.ok, "git {args:?}: {}", ran.err);
        ran.out.trim().to_owned()
    }

    /// Runs one of the helpers in the user's checkout, and returns true if it succeeds.
    pub fn helps(&self, name: &str, arg: &str) -> bool {
        let mut command = Command::new("sh");
        command.arg(self.path("helpers").join(name)).arg(arg);
        self.run(command).ok
    }

    fn run(&self, mut command: Command) -> CommandOutput {
        let output = command
            .current_dir(self.path("app"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path())
            .env("TMPDIR", self.path("tmp"))
            .env("AO_DATA_DIR", self.path("data"))
            .stdin(Stdio::null())
            .output();
        CommandOutput::of(&output.expect("a program starts"))
    }

    /// Returns the process id of the daemon, if one answers.
    pub fn daemon_pid(&self) -> Option<i32> {
        let daemon = self.json(&["api", "GET", "/daemon"])?;
        i32::try_from(daemon["pid"].as_i64()?).ok()
    }

    /// Kills the daemon, and returns true if one answered.
    pub fn kill_daemon(&self) -> bool {
        let pid = self.daemon_pid().and_then(Pid::from_raw);
        pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok())
    }

    /// Returns the processes that were started here and still run.
    pub fn processes(&self) -> Vec<i32> {
        let (home, data) = (self.dir.path().display(), self.path("data"));
        let marks = [format!("HOME={home}"), format!("AO_DATA_DIR={}", data.display())];
        let entries = fs::read_dir("/proc").expect("there is a /proc").flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let marked = environment
                .split(|byte| *byte == 0)
                .any(|known| marks.iter().any(|mark| known == mark.as_bytes()));
            // A daemon is recognised by its arguments only.
            let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let data = data.as_os_str().as_encoded_bytes();
            marked || arguments.split(|byte| *byte == 0).any(|word| word == data)
        })
        .collect()
    }

    /// Waits until no process that was started here runs any more. Returns those that do not end in time.
    pub fn quiet_within(&self, limit: Duration) -> Vec<i32> {
        let until = Instant::now() + limit;
        loop {
            let left = self.processes();
            if left.is_empty() || Instant::now() >= until {
                return left;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Keeps the folder.
    pub fn keep(mut self) -> PathBuf {
        self.dir.disable_cleanup(true);
        self.dir.path().to_owned()
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        // Twice: a process may have been starting while the first were killed.
        for _ in 0..2 {
            for pid in self.processes().into_iter().filter_map(Pid::from_raw) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

impl CommandOutput {
    fn of(output: &Output) -> CommandOutput {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        CommandOutput { ok: output.status.success(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

/// Returns the path of the program under test, which is built beside the one that drives it.
pub fn ao() -> PathBuf {
    let own = std::env::current_exe().expect("a program knows its own path");
    let profile = own.parent().and_then(Path::parent).expect("examples lie in target/<profile>/examples");
    let ao = profile.join("ao");
    assert!(ao.exists(), "ao is not built: `cargo build -p ao --bins`");
    ao
}
