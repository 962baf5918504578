//! What is missing on a machine, what it means, and what mends it.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

use insta::assert_snapshot;
use serde_json::Value;

use crate::house::House;
use crate::place::Place;

impl Place {
    /// What was found about one thing: level, what, and what mends it.
    fn found(&self, folder: &Path, args: &[&str], id: &str) -> String {
        let output = self.ao(folder, &[&["doctor", "--json"], args].concat()).output().unwrap();
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        let checks = told["checks"].as_array().unwrap().iter().filter(|check| check["id"] == id);
        let text = |value: &Value| {
            value.as_str().unwrap_or("-").replace(&self.home.path().display().to_string(), "[home]")
        };
        let lines = checks.map(|check| {
            let fixed = check["fixed"].as_str().map(|_| format!(" | fixed: {}", text(&check["fixed"])));
            format!(
                "{}: {} | {}{}",
                text(&check["level"]),
                text(&check["what"]),
                text(&check["fix"]),
                fixed.unwrap_or_default()
            )
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    fn data_dir(&self) -> std::path::PathBuf {
        self.home.path().join(".local/share/ao")
    }
}

/// What was told, without what differs between machines: the git that is there, the disk's room, the port, the limits.
fn same_everywhere(told: &str) -> String {
    let mut kept = Vec::new();
    let mut keeps = true;
    for line in told.lines().take_while(|line| !line.starts_with("-- stderr")) {
        // What stands below a finding belongs to it.
        if !line.starts_with(' ') {
            let id = line.split_whitespace().nth(1).unwrap_or_default();
            keeps = !["git", "disk", "port", "files", "watches"].contains(&id);
        }
        if keeps {
            kept.push(line);
        }
    }
    kept.join("\n")
}

/// acceptance: N3
#[test]
fn a_clean_machine_hears_of_each_missing_thing_and_how_to_get_it() {
    let place = Place::new();
    let app = place.repository("my-app");
    let told = place.run(&app, &["doctor"]);
    assert_snapshot!(same_everywhere(&told), @"
    exit 3
    -- stdout --
    warning  identity   git does not know your user.name and user.email
                        agents commit under their own names, but your commits and merges need yours
                        fix: git config --global user.name 'Your Name' && git config --global user.email you@example.com
    warning  config     [home]/my-app has no configuration file
                        `ao start` writes one
                        fix: ao init
    warning  runtime    tmux is not installed
                        it is not needed: agents run in ao's built-in terminals, and outlive the daemon there too
                        fix: install tmux with your system's package manager
    ok       runtime    agents can run in ao's built-in terminals
    problem  agent      no agent is installed
                        `ao demo` shows what happens without one; real work needs one
                        fix: install npm with your system's package manager, then: npm install -g @anthropic-ai/claude-code
    warning  data       [home]/.local/share/ao does not exist yet
                        `ao start` creates it
                        fix: mkdir -p -m 700 [home]/.local/share/ao
    ok       daemon     none runs; `ao start` starts one
    ");
}

#[test]
fn without_git_nothing_works_and_it_says_so() {
    let place = Place::without_git();
    let told = place.run(place.home.path(), &["doctor"]);
    assert!(told.starts_with("exit 3"), "{told}");
    assert_snapshot!(place.found(place.home.path(), &[], "git"), @r"problem: git is not installed | install git with your system's package manager");
}

#[test]
fn an_old_git_is_told_from_a_new_one() {
    let place = Place::without_git();
    place.script("git", "echo git version 2.20.1");
    assert_snapshot!(place.found(place.home.path(), &[], "git"), @r"problem: git version 2.20.1 is too old; 2.36 or newer is needed | install git with your system's package manager");
}

#[test]
fn what_is_configured_is_what_is_looked_for() {
    let place = Place::new();
    let app = place.repository("my-app");
    std::fs::write(
        app.join("agent-orchestrator.yaml"),
        "defaults: { runtime: tmux, agent: claude-code, tracker: github }\nprojects:\n  my-app: { path: ., agent: codex }\n  gone: { path: ../gone }\n",
    )
    .unwrap();
    place.script("codex", "exit 0");
    assert_snapshot!(place.found(&app, &[], "runtime"), @r"problem: agents are to run in tmux, and `tmux` is not installed | install tmux with your system's package manager; or run agents without it: `ao config set defaults.runtime process`");
    assert_snapshot!(place.found(&app, &[], "agent"), @r"
    problem: claude-code is configured, and its program `claude` is not installed | install npm with your system's package manager, then: npm install -g @anthropic-ai/claude-code
    ok: codex is [home]/bin/codex | -
    ");
    assert_snapshot!(place.found(&app, &[], "tracker"), @r"problem: [home]/my-app/agent-orchestrator.yaml:1: the tracker `github` is not available in this version yet: `ao spawn ISSUE` refuses, no issue is assigned, and there are no pull requests and checks; sessions by title (`ao new`) work | use `local`: `ao config set defaults.tracker local`; `ao issue import` imports the output of `gh issue list --json`");
    assert_snapshot!(place.found(&app, &[], "project"), @"
    problem: gone: `[home]/gone` does not exist | ao config set projects.gone.path <folder>; or `ao remove-project gone`
    ok: my-app is [home]/my-app | -
    ");
}

#[test]
fn a_token_makes_no_tracker_available_and_is_never_shown() {
    let place = Place::new();
    let app = place.repository("my-app");
    std::fs::write(
        app.join("agent-orchestrator.yaml"),
        "defaults: { tracker: github }\nprojects: { my-app: { path: . } }\n",
    )
    .unwrap();
    let mut doctor = place.ao(&app, &["doctor"]);
    doctor.env("GITHUB_TOKEN", "ghp_s3cret");
    let told = place.home.told(&doctor.output().unwrap());
    assert!(told.contains("the tracker `github` is not available in this version yet"), "{told}");
    assert!(!told.contains("GITHUB_TOKEN") && !told.contains("s3cret"), "{told}");
}

#[test]
fn a_wrong_configuration_is_shown_where_it_is_wrong() {
    let place = Place::new();
    let app = place.repository("my-app");
    std::fs::write(app.join("agent-orchestrator.yaml"), "defaults: { runtme: tmux }\n").unwrap();
    let told = place.run(&app, &["doctor"]);
    assert!(told.starts_with("exit 3"), "{told}");
    assert!(told.contains("agent-orchestrator.yaml:1:13: unknown key `runtme`"), "{told}");
}

#[test]
fn what_can_be_mended_without_harm_is_mended_only_when_asked() {
    let place = Place::new();
    let app = place.repository("my-app");
    let data = place.data_dir();
    assert_snapshot!(place.found(&app, &[], "data"), @"warning: [home]/.local/share/ao does not exist yet | mkdir -p -m 700 [home]/.local/share/ao");
    assert!(!data.exists());
    assert!(!app.join("agent-orchestrator.yaml").exists());
    assert_snapshot!(place.found(&app, &["--fix"], "data"), @"ok: [home]/.local/share/ao does not exist yet | mkdir -p -m 700 [home]/.local/share/ao | fixed: made [home]/.local/share/ao");
    assert_eq!(data.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert!(app.join("agent-orchestrator.yaml").is_file());

    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_snapshot!(place.found(&app, &[], "data"), @r"problem: [home]/.local/share/ao is open to other users of this machine | chmod 700 [home]/.local/share/ao");
    assert_snapshot!(place.found(&app, &["--fix"], "data"), @r"ok: [home]/.local/share/ao is open to other users of this machine | chmod 700 [home]/.local/share/ao | fixed: chmod 700 [home]/.local/share/ao");
    assert_eq!(data.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert_snapshot!(place.found(&app, &["--fix"], "data"), @r"ok: [home]/.local/share/ao exists and is private | -");
}

#[test]
fn a_socket_that_leads_nowhere_is_removed_and_one_that_is_listened_on_is_not() {
    let place = Place::new();
    let data = place.data_dir();
    std::fs::create_dir_all(&data).unwrap();
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o700)).unwrap();
    let socket = data.join("ao.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    drop(listener);
    assert_snapshot!(place.found(place.home.path(), &[], "daemon"), @r"warning: none runs, but an earlier one left its socket: [home]/.local/share/ao/ao.sock | rm [home]/.local/share/ao/ao.sock");
    assert!(socket.exists());
    assert_snapshot!(place.found(place.home.path(), &["--fix"], "daemon"), @r"ok: none runs, but an earlier one left its socket: [home]/.local/share/ao/ao.sock | rm [home]/.local/share/ao/ao.sock | fixed: removed [home]/.local/share/ao/ao.sock");
    assert!(!socket.exists());
    assert_snapshot!(place.found(place.home.path(), &[], "daemon"), @r"ok: none runs; `ao start` starts one | -");

    let _listener = UnixListener::bind(&socket).unwrap();
    let found = place.found(place.home.path(), &["--fix"], "daemon");
    let told = format!("problem: the daemon (pid {}) has not answered for 10 s", std::process::id());
    assert!(found.starts_with(&told), "{found}");
    assert!(socket.exists());
}

#[test]
fn a_port_that_somebody_else_has_is_a_problem() {
    let place = Place::new();
    let app = place.repository("my-app");
    let somebody = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = somebody.local_addr().unwrap().port();
    let config = |port| format!("port: {port}\nprojects: {{ my-app: {{ path: . }} }}\n");
    std::fs::write(app.join("agent-orchestrator.yaml"), config(port)).unwrap();
    let found = place.found(&app, &[], "port");
    assert!(found.starts_with(&format!("problem: port {port} cannot be used")), "{found}");
    drop(somebody);
    let found = place.found(&app, &[], "port");
    assert!(found.starts_with(&format!("ok: {port} is free")), "{found}");
}

/// A file that people write by hand can be wrong, and whoever looks for its issue is told so.
#[test]
fn a_file_of_an_issue_with_a_mistake_is_named_by_the_list_and_by_the_doctor() {
    let house = House::new();
    house.configure_project("    tracker: { plugin: local, keep: files }", "");
    let issues = house.repository().join(".ao/issues");
    std::fs::create_dir_all(&issues).unwrap();
    std::fs::write(issues.join("1.md"), "---\ntitle: Right\n---\n").unwrap();
    std::fs::write(issues.join("2.md"), "---\ntitle: Wrong\ntitle: Twice\n---\n").unwrap();
    house.start();
    let listed = house.ao(&["issue", "list"]).succeeds();
    assert!(listed.out.contains("Right") && !listed.out.contains("Wrong"), "{}", listed.out);
    let wrong = "issues/2.md:3: `title` appears twice";
    assert!(listed.err.contains(wrong), "{}", listed.err);
    let listed = house.ao(&["issue", "list", "--json"]).succeeds().json();
    let warnings = listed["warnings"].as_array().unwrap();
    assert!(warnings.len() == 1 && warnings[0].as_str().unwrap().contains(wrong), "{listed}");
    house.ao(&["doctor"]).says(wrong);
}
