//! Agents that run a turn without a screen, as every named one does: no input, both streams kept, in every runtime.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fleet::make_repository;
use crate::house::{House, Ran, free_port, until};

/// Behaves as each of the real ones does, by the name of its program.
pub(crate) const STAND_IN: &str = include_str!("../fixtures/stand-in.sh");

/// The named agents, each by its program.
pub(crate) const NAMED: [(&str, &str); 10] = [
    ("claude-code", "claude"),
    ("codex", "codex"),
    ("opencode", "opencode"),
    ("gemini", "gemini"),
    ("aider", "aider"),
    ("cursor", "cursor-agent"),
    ("copilot", "copilot"),
    ("qwen", "qwen"),
    ("kimicode", "kimi"),
    ("goose", "goose"),
];

/// Where a program of this machine is.
pub(crate) fn installed(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path).map(|folder| folder.join(program));
    found.find(|path| path.is_file()).unwrap_or_else(|| panic!("{program} is installed"))
}

/// A machine with stand-ins for these programs, in front of all others or with hardly any others.
struct Machine {
    house: House,
    path: String,
}

impl Machine {
    fn new(house: House, programs: &[(&str, &str)]) -> Machine {
        let bin = house.path("bin");
        fs::create_dir(&bin).unwrap();
        for (program, script) in programs {
            let script = script.replace("$AO_FULL_PATH", env!("CARGO_BIN_EXE_ao"));
            fs::write(bin.join(program), script).unwrap();
            fs::set_permissions(bin.join(program), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
        Machine { house, path }
    }

    /// Leaves only the stand-ins and what they need.
    fn without_tmux(mut self) -> Machine {
        let bin = self.house.path("bin");
        for program in ["git", "sh", "cat", "date", "head", "mkdir", "sed"] {
            symlink(installed(program), bin.join(program)).unwrap();
        }
        self.path = bin.display().to_string();
        self
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.house.command(&self.house.repository(), args);
        command.env("PATH", &self.path);
        command
    }

    fn ao(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().unwrap())
    }

    fn pulls(&self) -> usize {
        let listed = self.ao(&["pr", "list", "--json"]).succeeds().json();
        let pulls = listed["pulls"].as_array().or(listed.as_array()).cloned();
        pulls.unwrap_or_else(|| panic!("{listed}")).len()
    }
}

fn issue_to_pull(machine: &Machine, runtime: &str) {
    machine.ao(&["start", "--port", "0"]).succeeds();
    let config = fs::read_to_string(machine.house.config_file()).unwrap();
    assert!(config.contains(&format!("runtime: {runtime} ")), "{config}");
    assert!(config.contains("agent: claude-code "), "{config}");
    // The stand-in speaks no protocol.
    machine.ao(&["config", "set", "projects.my-app.agentConfig.mode", "turns"]).succeeds();
    machine.ao(&["config", "check"]).succeeds();
    machine.ao(&["issue", "add", "Say hello"]).succeeds();
    machine.ao(&["spawn", "1"]).succeeds();
    until("there is a pull request", || machine.pulls() == 1);
    let listed = machine.ao(&["list", "--json"]).succeeds().json();
    let session = listed["sessions"][0]["name"].as_str().unwrap().to_owned();
    let explained = || machine.ao(&["explain", &session]).succeeds().out;
    until("its turn is over", || explained().contains("its turn is over"));
    let told = explained();
    assert!(told.contains("ao logs") && !told.contains("ao attach"), "there is no process: {told}");
    machine.ao(&["plan"]).succeeds().says("Running (0 of ").says("its turn is over");
}

/// acceptance: J1
#[test]
fn with_tmux_a_fresh_repository_goes_from_its_issue_to_a_pull_request() {
    let machine = Machine::new(House::bare(), &[("claude", STAND_IN)]);
    make_repository(&machine.house.repository());
    issue_to_pull(&machine, "tmux");
}

/// acceptance: J1
#[test]
fn without_tmux_a_fresh_repository_goes_from_its_issue_to_a_pull_request() {
    let machine = Machine::new(House::bare(), &[("claude", STAND_IN)]).without_tmux();
    make_repository(&machine.house.repository());
    issue_to_pull(&machine, "process");
}

fn every_named_agent_works(runtime: &str) {
    let stand_ins = NAMED.map(|(_, program)| (program, STAND_IN));
    let house = House::with("lifecycle: { maxParallelAgents: 30 }\n");
    let machine = Machine::new(house, &stand_ins);
    machine.ao(&["config", "set", "defaults.runtime", runtime]).succeeds();
    machine.ao(&["config", "set", "projects.my-app.agent", "claude-code"]).succeeds();
    machine.ao(&["config", "set", "projects.my-app.agentConfig.mode", "turns"]).succeeds();
    machine.ao(&["start", "--port", "0"]).succeeds();
    for (number, (agent, _)) in (1..).zip(NAMED) {
        machine.ao(&["issue", "add", &format!("Work by {agent}")]).succeeds();
        let number = number.to_string();
        machine.ao(&["spawn", &number, "--agent", agent, "--name", agent]).succeeds();
    }
    for (agent, _) in NAMED {
        until(agent, || {
            let told = machine.ao(&["logs", agent]).out;
            told.contains("begun") && told.contains("a word on stderr")
        });
        assert_eq!(machine.house.status(agent)["runtime"], runtime);
    }
    until("every one has opened its pull request", || machine.pulls() == NAMED.len());
}

/// acceptance: J1, J8
#[test]
fn every_named_agent_works_in_tmux() {
    every_named_agent_works("tmux");
}

/// acceptance: J1, J8
#[test]
fn every_named_agent_works_in_a_process_of_its_own() {
    every_named_agent_works("process");
}

/// What went wrong is said on stderr, by agents of every kind.
#[test]
fn what_an_agent_says_on_stderr_is_in_its_log_without_its_secrets() {
    let house = House::new();
    house.configure_project("    env: { secrets: { KEY: APP_KEY } }", "");
    let fails = "#!/bin/sh\necho out\necho \"no login for $KEY\" >&2\nexit 1\n";
    let stays = "#!/bin/sh\necho out\necho \"no login for $KEY\" >&2\nexec sleep 600\n";
    let machine = Machine::new(house, &[("fails", fails), ("stays", stays)]);
    let mut config = fs::read_to_string(machine.house.config_file()).unwrap();
    config +=
        "  one-turn: { program: fails, prompt: argument }\n  lines: { program: stays, prompt: lines }\n";
    fs::write(machine.house.config_file(), config).unwrap();
    let start = machine.command(&["start", "--port", "0"]).env("APP_KEY", "hunter2hunter2").output();
    Ran::of(start.unwrap()).succeeds();
    for (name, agent, runtime) in
        [("a", "one-turn", "tmux"), ("b", "one-turn", "process"), ("c", "lines", "process")]
    {
        let wish = ["new", name, "--name", name, "--agent", agent, "--runtime", runtime, "--prompt", "Do it"];
        machine.ao(&wish).succeeds();
        let mut log = String::new();
        // One that fails is started again, with a log of its own.
        until("its complaint is in the log", || {
            log = machine.ao(&["logs", name]).out;
            log.contains("no login for ")
        });
        assert!(log.contains("out\n") && !log.contains("hunter2"), "{name}: {log}");
    }
}

/// acceptance: J8
#[test]
fn what_cannot_work_is_refused_where_it_is_configured_and_where_it_is_asked_for() {
    let house = House::new();
    let good = fs::read_to_string(house.config_file()).unwrap();
    let pipes = format!("{good}  own: {{ program: sh }}\n");
    // A runtime that is not supported; and one that cannot hold the agent.
    for (config, what) in [
        (good.replace("runtime: process", "runtime: docker"), "the runtime `docker` is not available"),
        (
            pipes.replace("runtime: process, agent: scripted", "runtime: tmux, agent: own"),
            "the agent `own` needs pipes for stdin and stdout, which the runtime `tmux` does not support",
        ),
    ] {
        fs::write(house.config_file(), &config).unwrap();
        let way_out = "ao config set defaults.runtime process";
        house.ao(&["config", "check"]).exits(2).says(what).says(":1:22").says(way_out);
        house.ao(&["doctor"]).exits(3).says(what).says(way_out);
        house.ao(&["start", "--port", "0"]).exits(2).says(what).says(way_out);
        assert!(!house.path("data/ao.sock").exists(), "nothing was started");
        house.ao(&["config", "set", "defaults.runtime", "process"]).succeeds();
        house.ao(&["config", "check"]).succeeds();
    }
    fs::write(house.config_file(), &pipes).unwrap();
    house
        .ao(&["config", "set", "defaults.runtime", "docker"])
        .exits(2)
        .says("is not available in this version yet")
        .says("not changed");
    house
        .ao(&["config", "set", "projects.my-app.agent", "hal"])
        .exits(2)
        .says("there is no agent called `hal`");
    house.start();
    for (args, what) in [
        (["--runtime", "docker"], "the runtime `docker` is not available"),
        (["--runtime", "tumx"], "there is no runtime `tumx`"),
    ] {
        house.ao(&["new", "It", args[0], args[1]]).exits(1).says(what);
    }
    for (key, name) in
        [("agent", "hal"), ("runtime", "docker"), ("runtime", "kubernetes"), ("workspace", "volume")]
    {
        let body = format!(r#"{{"title":"It","{key}":"{name}"}}"#);
        house.ao(&["api", "POST", "/sessions", "-d", &body]).exits(1).says(&format!("{key} `{name}`"));
        house.ao(&["new", "It", &format!("--{key}"), name]).exits(1).says(&format!("{key} `{name}`"));
    }
    house.ao(&["new", "It", "--agent", "own", "--runtime", "tmux"]).exits(1).says("needs pipes");
    let body = r#"{"title":"It","agent":"own","runtime":"tmux"}"#;
    house.ao(&["api", "POST", "/sessions", "-d", body]).exits(1).says("unfit-runtime");
    let listed = house.ao(&["list", "--json"]).succeeds().json();
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(0), "nothing is half made");

    let other = house.path("other");
    make_repository(&other);
    for runtime in ["docker", "kubernetes"] {
        house
            .ao_in(&other, &["init", "--runtime", runtime])
            .exits(2)
            .says("is not available in this version yet");
    }
}

/// A specialist of a file from elsewhere is read, and told of.
#[test]
fn a_specialist_that_cannot_run_fails_the_check_and_is_refused_when_it_is_asked_for() {
    let port = free_port();
    let agents = "agents:\n  - { id: backend, tool: scripted, runtime: docker }\n";
    let house = House::with(&format!("port: {port}\n{agents}"));
    let what = "the runtime `docker` is not available";
    house.ao(&["config", "check"]).exits(2).says(what).says("use `tmux` or `process`");
    house.ao(&["doctor"]).exits(3).says(what);
    house.ao(&["start", "--port", "0"]).succeeds().says("the runtime `docker` is not available");
    house.ao(&["new", "It", "--agent", "backend"]).exits(1).says("the runtime `docker` is not available");
}

#[test]
fn a_stopped_session_goes_on_in_the_runtime_that_is_configured_now() {
    let house = House::new();
    house.ao(&["config", "set", "defaults.runtime", "tmux"]).succeeds();
    house.start();
    let session = house.session("Move", "[[say hello]]");
    house.wait_for(&session, "idle");
    assert_eq!(house.status(&session)["runtime"], "tmux");
    let id = house.status(&session)["id"].as_str().unwrap().to_owned();
    house.ao(&["stop", &session]).succeeds();
    until("it has ended", || house.state(&session) == "stopped");

    house.ao(&["config", "set", "defaults.runtime", "process"]).succeeds();
    house.ao(&["session", "restore", &session]).succeeds();
    house.wait_for(&session, "idle");
    assert_eq!(house.status(&session)["runtime"], "process");
    assert!(house.path("data/processes").join(&id).is_dir(), "it runs there");
    assert_eq!(house.agents().len(), 1);
    assert_eq!(house.turns(&session).len(), 1, "its conversation is the same, and nothing is said again");

    house.ao(&["stop", &session]).succeeds();
    until("it has ended", || house.state(&session) == "stopped");
    house
        .ao(&["session", "restore", &session, "--runtime", "docker"])
        .exits(1)
        .says("is not available in this version yet");
    house.ao(&["session", "restore", &session, "--runtime", "tmux"]).succeeds();
    house.wait_for(&session, "idle");
    assert_eq!(house.status(&session)["runtime"], "tmux", "or in another one, if that is asked for");
    // What it is now, the next daemon knows too.
    house.ao(&["stop"]).succeeds();
    house.start();
    assert_eq!(house.status(&session)["runtime"], "tmux");
}

/// What a process has open, by the names of the files. Of the daemon nobody but root is shown it.
fn open_files(pid: i32) -> Vec<String> {
    let folder = fs::read_dir(format!("/proc/{pid}/fd"));
    let links = folder.into_iter().flatten().filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    links.map(|link| link.display().to_string()).collect()
}

/// A shell may have anything open when it runs `ao start`: a lock, a pipe that somebody waits for the end of.
#[test]
fn what_the_shell_had_open_reaches_neither_the_daemon_nor_an_agent() {
    let shows = "#!/bin/sh\nls -l /proc/self/fd > fds.partial; mv fds.partial fds\n";
    let machine = Machine::new(House::new(), &[("shows", shows)]);
    let mut config = fs::read_to_string(machine.house.config_file()).unwrap();
    config += "  shows: { program: shows, prompt: argument }\n  shows-terminal: { program: shows, prompt: argument, io: terminal }\n";
    fs::write(machine.house.config_file(), config).unwrap();
    let held = machine.house.path("held");
    fs::write(&held, "").unwrap();
    // Not `sh`, which may know numbers of one digit only.
    let line = format!("exec 57<'{}'; exec {} start --port 0", held.display(), env!("CARGO_BIN_EXE_ao"));
    let mut shell = Command::new("bash");
    shell.args(["-c", &line]).current_dir(machine.house.repository());
    machine.house.surround(&mut shell);
    Ran::of(shell.env("PATH", &machine.path).output().unwrap()).succeeds();

    let open = open_files(machine.house.daemon_pid());
    assert!(!open.iter().any(|file| Path::new(file) == held), "the daemon has it: {open:?}");
    for (name, agent, runtime) in [
        ("a", "shows", "process"),
        ("b", "shows", "tmux"),
        ("c", "shows-terminal", "process"),
        ("d", "shows-terminal", "tmux"),
    ] {
        let wish = ["new", name, "--name", name, "--agent", agent, "--runtime", runtime, "--prompt", "Look"];
        machine.ao(&wish).succeeds();
        let mut fds = None;
        until("it has looked", || {
            let path = machine.house.status(name)["workspace"]["path"].as_str().map(ToOwned::to_owned);
            fds = path.and_then(|path| fs::read_to_string(Path::new(&path).join("fds")).ok());
            fds.is_some()
        });
        let fds = fds.unwrap();
        // Its own three, and the folder that it reads.
        let numbers: Vec<i32> = fds
            .lines()
            .filter(|line| line.contains(" -> "))
            .filter_map(|line| line.split(" -> ").next()?.rsplit(' ').next()?.parse().ok())
            .collect();
        assert_eq!(numbers, [0, 1, 2, 3], "{name}: {fds}");
    }
}
