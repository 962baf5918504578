//! The product as a user has it: the program `ao`, a home, a repository with a configuration file, and scripted agents.
//!
//! Everything goes through the command line and HTTP. Whatever is started in a house ends with it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use ao_testkit::scripted;
use serde_json::Value;
use tempfile::TempDir;

use crate::fleet::{git, make_repository, processes_with};

/// How long anything may take before a test gives up on it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct House {
    dir: TempDir,
}

/// What a command came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl House {
    /// A home with the repository `my-app` and a configuration in it; no daemon yet.
    pub(crate) fn new() -> House {
        House::with("")
    }

    /// The same, with more lines at the end of the configuration.
    pub(crate) fn with(more: &str) -> House {
        let house = House::bare();
        make_repository(&house.repository());
        house.configure(more);
        house
    }

    /// Only a home.
    pub(crate) fn bare() -> House {
        let house = House { dir: tempfile::tempdir().unwrap() };
        for folder in ["tmp", "agents"] {
            fs::create_dir(house.path(folder)).unwrap();
        }
        fs::write(house.path(".gitconfig"), "[user]\n name = Ann\n email = ann@example.org\n").unwrap();
        house
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn repository(&self) -> PathBuf {
        self.path("my-app")
    }

    pub(crate) fn config_file(&self) -> PathBuf {
        self.repository().join("agent-orchestrator.yaml")
    }

    /// Writes the configuration: the scripted agent in the built-in terminal, quick to look.
    pub(crate) fn configure(&self, more: &str) {
        let text = format!("{}{more}", self.usual_config("my-app"));
        fs::write(self.config_file(), text).unwrap();
    }

    /// The same, with more lines about the project, and more at the end.
    pub(crate) fn configure_project(&self, project: &str, more: &str) {
        let usual = self.usual_config("my-app");
        let prefix = "    sessionPrefix: app\n";
        let text = usual.replacen(prefix, &format!("{prefix}{}\n", project.trim_matches('\n')), 1);
        fs::write(self.config_file(), text + more).unwrap();
    }

    /// Keeps issues as files of the repository, and writes one for each of these numbers.
    pub(crate) fn write_issues(&self, numbers: &[u64]) {
        self.configure_project("    tracker: { plugin: local, keep: files }", "");
        let folder = self.repository().join(".ao/issues");
        fs::create_dir_all(&folder).unwrap();
        for number in numbers {
            fs::write(folder.join(format!("{number}.md")), format!("---\ntitle: Issue {number}\n---\n"))
                .unwrap();
        }
    }

    pub(crate) fn usual_config(&self, project: &str) -> String {
        let mut text =
            String::from("defaults: { runtime: process, agent: scripted, tracker: local, notifiers: [] }\n");
        writeln!(text, "projects:\n  {project}:\n    path: .\n    sessionPrefix: app").unwrap();
        writeln!(text, "orchestrator: {{ enabled: false }}\npower: {{ preventIdleSleep: false }}").unwrap();
        writeln!(text, "tools:\n  scripted: {}", self.manifest()).unwrap();
        text
    }

    /// The scripted agent as a configuration describes it. JSON is YAML.
    pub(crate) fn manifest(&self) -> String {
        let mut manifest: Value = serde_json::from_str(scripted::MANIFEST).unwrap();
        let home = self.path("agents");
        manifest["program"] = scripted::program().display().to_string().into();
        manifest["conversation_file"] = format!("{}/{{conversation}}.jsonl", home.display()).into();
        manifest["env"] = serde_json::json!({
            "SCRIPTED_HOME": home,
            "SCRIPTED_HOOK": format!("{} hook", env!("CARGO_BIN_EXE_ao")),
        });
        serde_json::to_string(&manifest).unwrap()
    }
}

/// What a user does.
impl House {
    /// `ao` in the repository.
    pub(crate) fn ao(&self, args: &[&str]) -> Ran {
        self.ao_in(&self.repository(), args)
    }

    pub(crate) fn ao_in(&self, folder: &Path, args: &[&str]) -> Ran {
        Ran::of(self.command(folder, args).output().unwrap())
    }

    /// The command, not run yet. It gets nothing of the caller's environment but the way to its programs.
    pub(crate) fn command(&self, folder: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ao"));
        command.args(args).current_dir(if folder.exists() { folder } else { self.dir.path() });
        self.surround(&mut command);
        command
    }

    pub(crate) fn surround(&self, command: &mut Command) {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path())
            .env("TMPDIR", self.path("tmp"))
            .env("AO_DATA_DIR", self.path("data"))
            // Not the desktop of the person who runs the tests.
            .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
            .stdin(Stdio::null());
    }

    /// Starts the daemon on a free port, with the repository in its care.
    pub(crate) fn start(&self) {
        self.ao(&["start", "--port", "0"]).succeeds();
    }

    /// A session that has taken its task.
    pub(crate) fn session(&self, title: &str, prompt: &str) -> String {
        let spawned = self.ao(&["new", title, "--prompt", prompt, "--json"]).succeeds().json();
        spawned["session"]["name"].as_str().expect("a session has a name").to_owned()
    }

    pub(crate) fn status(&self, session: &str) -> Value {
        self.ao(&["status", session, "--json"]).succeeds().json()
    }

    pub(crate) fn state(&self, session: &str) -> String {
        self.status(session)["status"]["state"].as_str().expect("a session has a state").to_owned()
    }

    pub(crate) fn wait_for(&self, session: &str, states: &str) {
        self.ao(&["wait", session, "--for", states, "--timeout", "60"]).succeeds();
    }

    /// The daemon that runs.
    pub(crate) fn daemon(&self) -> Value {
        self.ao(&["api", "GET", "/daemon"]).succeeds().json()
    }

    pub(crate) fn daemon_pid(&self) -> i32 {
        self.daemon()["pid"].as_i64().expect("a daemon has a pid") as i32
    }

    /// The texts that the agent of a session has taken as turns.
    pub(crate) fn turns(&self, session: &str) -> Vec<String> {
        let conversation =
            self.status(session)["agent"]["conversation"].as_str().unwrap_or_default().to_owned();
        scripted::AgentHome::new(self.path("agents")).turns(&conversation)
    }

    pub(crate) fn agents(&self) -> Vec<i32> {
        let mut pids = processes_with(&format!("SCRIPTED_HOME={}", self.path("agents").display()));
        // Without the programs that they run for a moment, such as hooks, and without the copy of an agent that is about
        // to become one of those.
        pids.retain(|pid| crate::fleet::is_agent(*pid));
        let agents = pids.clone();
        pids.retain(|pid| crate::fleet::parent_of(*pid).is_none_or(|parent| !agents.contains(&parent)));
        pids
    }
}

impl Ran {
    pub(crate) fn of(output: Output) -> Ran {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ran { code: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) }
    }

    #[track_caller]
    pub(crate) fn succeeds(self) -> Ran {
        self.exits(0)
    }

    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|err| panic!("{err}: {}", self.out))
    }

    /// Says this on stdout or stderr.
    #[track_caller]
    pub(crate) fn says(self, what: &str) -> Ran {
        assert!(
            self.out.contains(what) || self.err.contains(what),
            "`{what}` is not said.\nstdout:\n{}\nstderr:\n{}",
            self.out,
            self.err
        );
        self
    }
}

/// A port that nobody listens on now. Another `ao` may have the usual one.
pub(crate) fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}: not after {} s", PATIENCE.as_secs());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Nothing that a house has started outlives it, however its test ends.
impl Drop for House {
    fn drop(&mut self) {
        let mine = format!("AO_DATA_DIR={}", self.path("data").display());
        // The daemon first, so that it starts nothing again; then those that it has started.
        for marks in [
            vec![mine],
            vec![
                format!("SCRIPTED_HOME={}", self.path("agents").display()),
                format!("HOME={}", self.dir.path().display()),
            ],
        ] {
            let marked = marks.iter().flat_map(|mark| processes_with(mark));
            for pid in marked.chain(daemons_of(&self.path("data"))) {
                if let Some(pid) = rustix::process::Pid::from_raw(pid) {
                    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
                }
            }
        }
    }
}

/// The daemons of a data folder, by their arguments: nobody but root is shown what is in their environment.
pub(crate) fn daemons_of(data: &Path) -> Vec<i32> {
    let entries = fs::read_dir("/proc").expect("there is a /proc").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0).skip(1);
        words.next() == Some(b"daemon".as_slice())
            && words.any(|word| word == data.as_os_str().as_encoded_bytes())
    })
    .collect()
}

/// A bare copy of a repository, as a forge has one.
pub(crate) fn bare_copy(of: &Path, to: &Path) {
    let parent = of.parent().unwrap();
    git(parent, &["clone", "--quiet", "--bare", &of.display().to_string(), &to.display().to_string()]);
}
