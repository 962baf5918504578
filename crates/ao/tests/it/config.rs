//! The configuration, looked at and changed.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;

use crate::place::Place;

const CONFIG: &str = "\
# Mine.
defaults:
  runtime: tmux   # for now
projects:
  my-app:
    path: .
";

/// A repository with a configuration.
fn app(place: &Place) -> PathBuf {
    let app = place.repository("my-app");
    std::fs::write(app.join("agent-orchestrator.yaml"), CONFIG).unwrap();
    app
}

fn text(app: &Path) -> String {
    std::fs::read_to_string(app.join("agent-orchestrator.yaml")).unwrap()
}

#[test]
fn one_key_is_set_and_everything_else_stays() {
    let place = Place::new();
    let app = app(&place);
    assert_snapshot!(place.run(&app, &["config", "set", "defaults.runtime", "process"]), @r"
    exit 0
    -- stdout --
    Set defaults.runtime to process in [home]/my-app/agent-orchestrator.yaml
    -- stderr --
    note: no daemon runs; it applies from the next `ao start`
    ");
    assert_eq!(text(&app), CONFIG.replace("tmux ", "process "));
    assert_snapshot!(place.run(&app, &["config", "set", "defaults.runtime", "process", "--json"]), @r#"
    exit 0
    -- stdout --
    {"changed":false,"daemon":null,"file":"[home]/my-app/agent-orchestrator.yaml"}
    "#);
    assert_snapshot!(place.run(&app, &["config", "unset", "defaults.runtime"]), @"
    exit 0
    -- stdout --
    Removed defaults.runtime from [home]/my-app/agent-orchestrator.yaml
    -- stderr --
    note: no daemon runs; it applies from the next `ao start`
    ");
    assert!(!text(&app).contains("runtime:"), "{}", text(&app));
    assert!(text(&app).starts_with("# Mine.\n"));
}

#[test]
fn your_own_file_is_made_when_it_is_first_set() {
    let place = Place::new();
    let app = app(&place);
    assert_snapshot!(place.run(&app, &["config", "set", "--user", "lifecycle.maxParallelAgents", "8"]), @r"
    exit 0
    -- stdout --
    Set lifecycle.maxParallelAgents to 8 in [home]/.config/ao/config.yaml
    -- stderr --
    note: no daemon runs; it applies from the next `ao start`
    ");
    let own = std::fs::read_to_string(place.home.path().join(".config/ao/config.yaml")).unwrap();
    assert_snapshot!(own, @r"
    lifecycle:
      maxParallelAgents: 8
    ");
    assert_eq!(text(&app), CONFIG);
    assert_snapshot!(place.run(&app, &["config", "path"]), @r"
    exit 0
    -- stdout --
    [home]/.config/ao/config.yaml
    [home]/my-app/agent-orchestrator.yaml
    ");
}

#[test]
fn what_would_be_wrong_is_not_written() {
    let place = Place::new();
    let app = app(&place);
    assert_snapshot!(place.run(&app, &["config", "set", "defaults.runtme", "process"]), @r"
    exit 16
    -- stderr --
    error: there is no key `runtme` in `defaults`: did you mean `runtime`?
    hint: `ao config-help` lists all keys
    ");
    assert_snapshot!(place.run(&app, &["config", "set", "defaults.runtime", "spaceship"]), @r"
    exit 2
    -- stderr --
    error: [home]/my-app/agent-orchestrator.yaml:3:12: there is no runtime called `spaceship`
       |
     3 |   runtime: spaceship   # for now
       |            ^
     hint: known names: tmux, process
    hint: the file was not changed
    ");
    assert_snapshot!(place.run(&app, &["config", "set", "port", "many"]), @r"
    exit 2
    -- stderr --
    error: `port` has to be a whole number, but is `many`
    hint: the file was not changed
    ");
    assert_snapshot!(place.run(&app, &["config", "set", "projects.my-app.tracker", "githib"]), @r"
    exit 2
    -- stderr --
    error: [home]/my-app/agent-orchestrator.yaml:7:14: there is no tracker called `githib`
       |
     7 |     tracker: githib
       |              ^
     hint: did you mean `github`?
    hint: the file was not changed
    ");
    assert_snapshot!(place.run(&app, &["config", "unset", "defaults.agent"]), @r"
    exit 1
    -- stderr --
    error: `[home]/my-app/agent-orchestrator.yaml`: `defaults.agent` is not in the file
    ");
    assert_eq!(text(&app), CONFIG);
    assert_eq!(place.entries(&app), ["agent-orchestrator.yaml"]);
}

#[test]
fn everything_that_is_wrong_is_told_at_its_place() {
    let place = Place::new();
    let app = app(&place);
    let file = app.join("agent-orchestrator.yaml");
    std::fs::write(&file, "defaults:\n  runtme: tmux\n  agent: 7\nprojects: []\n").unwrap();
    assert_snapshot!(place.run(&app, &["config", "check"]), @r"
    exit 2
    -- stderr --
    error: [home]/my-app/agent-orchestrator.yaml:2:3: unknown key `runtme` in `defaults`
       |
     2 |   runtme: tmux
       |   ^
     hint: did you mean `runtime`?

    [home]/my-app/agent-orchestrator.yaml:3:10: `agent` has to be a string, but is `7`
       |
     3 |   agent: 7
       |          ^

    [home]/my-app/agent-orchestrator.yaml:4:11: `projects` has to be a mapping, but is a list
       |
     4 | projects: []
       |           ^
    ");
    assert_snapshot!(place.run(&app, &["config", "check", "--json"]), @r#"
    exit 2
    -- stdout --
    {"ok":false,"problems":[{"column":3,"file":"[home]/my-app/agent-orchestrator.yaml","hint":"did you mean `runtime`?","line":2,"what":"unknown key `runtme` in `defaults`"},{"column":10,"file":"[home]/my-app/agent-orchestrator.yaml","hint":null,"line":3,"what":"`agent` has to be a string, but is `7`"},{"column":11,"file":"[home]/my-app/agent-orchestrator.yaml","hint":null,"line":4,"what":"`projects` has to be a mapping, but is a list"}],"warnings":[]}
    -- stderr --
    error: [home]/my-app/agent-orchestrator.yaml:2:3: unknown key `runtme` in `defaults`
       |
     2 |   runtme: tmux
       |   ^
     hint: did you mean `runtime`?

    [home]/my-app/agent-orchestrator.yaml:3:10: `agent` has to be a string, but is `7`
       |
     3 |   agent: 7
       |          ^

    [home]/my-app/agent-orchestrator.yaml:4:11: `projects` has to be a mapping, but is a list
       |
     4 | projects: []
       |           ^
    "#);
    std::fs::write(&file, "defaults: [\n").unwrap();
    assert_snapshot!(place.run(&app, &["config", "check"]), @r"
    exit 2
    -- stderr --
    error: [home]/my-app/agent-orchestrator.yaml:1:11: unclosed bracket '['
       |
     1 | defaults: [
       |           ^
    ");
    assert_snapshot!(place.run(&app, &["config", "set", "port", "3001"]), @r"
    exit 2
    -- stderr --
    error: [home]/my-app/agent-orchestrator.yaml:1:11: unclosed bracket '['
       |
     1 | defaults: [
       |           ^
    ");
    assert_snapshot!(place.run(&app, &["config", "show"]), @r"
    exit 2
    -- stderr --
    error: [home]/my-app/agent-orchestrator.yaml:1:11: unclosed bracket '['
       |
     1 | defaults: [
       |           ^
    ");
    assert_eq!(text(&app), "defaults: [\n");
}

#[test]
fn every_dialect_is_shown_in_one_form() {
    let place = Place::new();
    let app = place.repository("my-app");
    std::fs::write(
        app.join("ao.config.yaml"),
        "tracker: { plugin: github, owner: me, repo: my-app }\nagent: { plugin: codex }\n",
    )
    .unwrap();
    assert_snapshot!(place.run(&app, &["config", "show"]), @r"
    exit 0
    -- stdout --
    defaults:
      agent: codex
      tracker: github
    projects:
      my-app:
        repo: me/my-app
        path: [home]/my-app
    ");
    assert_snapshot!(place.run(&app, &["config", "check", "--json"]), @r#"
    exit 2
    -- stdout --
    {"ok":false,"problems":[{"column":20,"file":"[home]/my-app/ao.config.yaml","hint":"use `local`: `ao config set defaults.tracker local`; `ao issue import` imports the output of `gh issue list --json`","line":1,"what":"the tracker `github` is not available in this version yet: `ao spawn ISSUE` refuses, no issue is assigned, and there are no pull requests and checks; sessions by title (`ao new`) work"}],"warnings":[]}
    -- stderr --
    error: [home]/my-app/ao.config.yaml:1:20: the tracker `github` is not available in this version yet: `ao spawn ISSUE` refuses, no issue is assigned, and there are no pull requests and checks; sessions by title (`ao new`) work
       |
     1 | tracker: { plugin: github, owner: me, repo: my-app }
       |                    ^
     hint: use `local`: `ao config set defaults.tracker local`; `ao issue import` imports the output of `gh issue list --json`
    "#);
}

#[test]
fn a_secret_is_shown_as_the_reference_that_it_is() {
    let place = Place::new();
    let app = app(&place);
    std::fs::write(
        app.join("agent-orchestrator.yaml"),
        format!("{CONFIG}notifiers:\n  team:\n    plugin: slack\n    webhookUrl: ${{SLACK_WEBHOOK_URL}}\n"),
    )
    .unwrap();
    let mut show = place.ao(&app, &["config", "show"]);
    show.env("SLACK_WEBHOOK_URL", "https://hooks.example.invalid/s3cret");
    let told = place.home.told(&show.output().unwrap());
    assert!(told.contains("${SLACK_WEBHOOK_URL}") && !told.contains("s3cret"), "{told}");
}

#[test]
fn without_a_file_the_way_to_one_is_told() {
    let place = Place::new();
    let app = place.repository("my-app");
    for command in [&["config", "check"][..], &["config", "show"], &["config", "path"]] {
        let told = place.run(&app, command);
        assert!(told.starts_with("exit 2") && told.contains("`ao init`"), "{told}");
    }
    assert_snapshot!(place.run(&app, &["config", "set", "port", "3001"]), @r"
    exit 2
    -- stderr --
    error: there is no configuration file here to change
    hint: write one with `ao init`, name one with `--config`, or use your own with `--user`
    ");
    assert_snapshot!(place.run(&app, &["config", "check", "--config", "nowhere.yaml"]), @"
    exit 2
    -- stderr --
    error: the configuration file `nowhere.yaml` does not exist
    hint: choose another one with `--config` or AO_CONFIG, or write one with `ao init`
    ");
}

#[test]
fn a_file_that_cannot_be_written_stays_as_it_is() {
    let place = Place::new();
    let app = app(&place);
    place.give_away(&app);
    std::fs::set_permissions(&app, std::fs::Permissions::from_mode(0o555)).unwrap();
    let mut command = place.ao_of_somebody(&app, &["config", "set", "port", "3001"]);
    let told = place.home.told(&command.output().unwrap());
    std::fs::set_permissions(&app, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(told.starts_with("exit 3"), "{told}");
    assert_eq!(text(&app), CONFIG);
}

#[test]
fn a_project_is_added_once_and_taken_out_again() {
    let place = Place::new();
    let app = app(&place);
    let docs = place.repository("docs");
    place.git(&docs, &["remote", "add", "origin", "https://github.com/org/documentation.git"]);
    assert_snapshot!(place.run(&app, &["add-project", "../docs"]), @r"
    exit 0
    -- stdout --
    Added docs to [home]/my-app/agent-orchestrator.yaml
    -- stderr --
    note: no daemon runs; it applies from the next `ao start`
    ");
    assert_snapshot!(text(&app), @r"
    # Mine.
    defaults:
      runtime: tmux   # for now
    projects:
      my-app:
        path: .
      docs:
        path: ~/docs
        defaultBranch: main
        repo: org/documentation
    ");
    assert_snapshot!(place.run(&app, &["add-project", "../docs"]), @r"
    exit 0
    -- stdout --
    [home]/docs is the project docs already
    ");
    assert_snapshot!(place.run(&app, &["remove-project", "doc"]), @r"
    exit 5
    -- stderr --
    error: there is no project `doc`; did you mean `docs`?
    hint: there are docs, my-app
    ");
    assert_snapshot!(place.run(&app, &["remove-project", "docs"]), @"
    exit 0
    -- stdout --
    Removed docs from [home]/my-app/agent-orchestrator.yaml
    -- stderr --
    note: the repository, its branches and its workspaces stay where they are
    note: no daemon runs; it applies from the next `ao start`
    ");
    assert_eq!(text(&app), CONFIG);
    assert!(docs.join(".git").is_dir());
}

#[test]
fn without_any_file_a_project_is_added_to_your_own() {
    let place = Place::new();
    let docs = place.repository("docs");
    assert_snapshot!(place.run(&docs, &["add-project", "."]), @r"
    exit 0
    -- stdout --
    Added docs to [home]/.config/ao/config.yaml
    -- stderr --
    note: no daemon runs; it applies from the next `ao start`
    ");
    assert_snapshot!(std::fs::read_to_string(place.home.path().join(".config/ao/config.yaml")).unwrap(), @r"
    projects:
      docs:
        path: ~/docs
        defaultBranch: main
    ");
}

#[test]
fn a_project_that_cannot_be_added_changes_nothing() {
    let place = Place::new();
    let app = app(&place);
    assert_snapshot!(place.run(&app, &["add-project", "../nowhere"]), @"
    exit 10
    -- stderr --
    error: `../nowhere` does not exist
    hint: name a folder that exists, or the address of a repository
    ");
    let other = place.repository("other");
    std::fs::create_dir(place.home.path().join("twice")).unwrap();
    place.git(&place.home.path().join("twice"), &["clone", "--quiet", "../my-app"]);
    assert_snapshot!(place.run(&app, &["add-project", "../twice/my-app"]), @r"
    exit 1
    -- stderr --
    error: there is a project `my-app` already, in `[home]/my-app`
    hint: choose another name: `ao add-project ../twice/my-app --project my-app-2`
    ");
    std::fs::write(other.join("agent-orchestrator.yaml"), "projects: { other: { path: . } }\n").unwrap();
    assert_snapshot!(place.run(&app, &["add-project", "../other"]), @r"
    exit 6
    -- stderr --
    error: no daemon answers at [home]/.local/share/ao/ao.sock
      because: No such file or directory (os error 2)
    hint: the repository has a configuration of its own, `[home]/other/agent-orchestrator.yaml`; start with `ao start ../other`
    ");
    assert_eq!(text(&app), CONFIG);
}

#[test]
fn every_key_can_be_asked_about() {
    let place = Place::new();
    let here = place.home.path();
    assert_snapshot!(place.run(here, &["config-help", "defaults.runtime"]), @r"
    exit 0
    -- stdout --
    defaults.runtime
        string, or mapping with `plugin`, by default process
        The runtime of agents: `tmux` or `process`.

    Example:
      ao config set defaults.runtime process

    Keys below it:

    defaults.runtime.plugin
        string
        Its name.
    ");
    assert_snapshot!(place.run(here, &["config-help", "projects.my-app.env"]), @r"
    exit 0
    -- stdout --
    projects.<name>.env
        mapping
        The environment variables of its agents.

    Keys below it:

    projects.<name>.env.pass
        list
        Variables that are passed on from the daemon's own environment.

    projects.<name>.env.secrets
        mapping by name
        Variables whose value is looked up when an agent starts and is never logged.

    projects.<name>.env.set
        mapping by name
        Variables with a fixed value. A value that is a single `${NAME}` is looked up when an agent starts and is never logged.
    ");
    assert_snapshot!(place.run(here, &["config-help", "power", "--json"]), @r#"
    exit 0
    -- stdout --
    {"keys":[{"default":null,"example":null,"is":"mapping","key":"power","text":"Sleep of the computer while agents work."},{"default":"true","example":"true","is":"`true` or `false`","key":"power.preventIdleSleep","text":"Keeps the computer awake while an agent works."}]}
    "#);
    let all = place.run(here, &["config-help"]);
    for key in
        ["port", "projects.<name>.path", "reactions.ci-failed", "reactions.<kind>.retries", "agents[].tool"]
    {
        assert!(all.lines().any(|line| line == key), "{key} is not in\n{all}");
    }
    let about = place.run(here, &["config-help", "budget"]);
    assert!(about.contains("projects.<name>.dailyBudget") && !about.contains("defaults.runtime"), "{about}");
}

#[test]
fn a_key_that_is_none_is_answered_with_the_nearest() {
    let place = Place::new();
    assert_snapshot!(place.run(place.home.path(), &["config-help", "defaults.runtme"]), @r"
    exit 16
    -- stderr --
    error: there is no key `defaults.runtme`; did you mean `defaults.runtime`?
    hint: `ao config-help` lists all keys
    ");
    assert_snapshot!(place.run(place.home.path(), &["config-help", "xyzzy"]), @r"
    exit 16
    -- stderr --
    error: there is no key `xyzzy`
    hint: `ao config-help` lists all keys
    ");
}

#[test]
fn of_changes_at_the_same_time_none_is_lost() {
    let place = Place::new();
    let app = app(&place);
    let keys = ["restarts", "setupTries", "deliveryTries", "noticeTries", "maxParallelAgents"];
    let all: Vec<_> = keys
        .iter()
        .map(|key| place.ao(&app, &["config", "set", &format!("lifecycle.{key}"), "7"]).spawn().unwrap())
        .collect();
    for mut one in all {
        assert!(one.wait().unwrap().success());
    }
    for key in keys {
        assert!(text(&app).contains(&format!("{key}: 7")), "{key} is not in\n{}", text(&app));
    }
}

#[test]
fn odd_files_are_told_of_and_change_nothing() {
    let place = Place::new();
    let app = app(&place);
    assert_snapshot!(place.run(&app, &["config", "check", "nowhere.yaml"]), @r"
    exit 2
    -- stderr --
    error: [home]/my-app/nowhere.yaml: cannot be read: No such file or directory (os error 2)
    ");
    assert_snapshot!(place.run(&app, &["config", "check", "/dev/null"]), @r"
    exit 2
    -- stderr --
    error: /dev/null: is not a file
    ");
    std::fs::write(app.join("latin.yaml"), b"port: 3000\n# caf\xe9\n").unwrap();
    assert_snapshot!(place.run(&app, &["config", "check", "latin.yaml"]), @r"
    exit 2
    -- stderr --
    error: [home]/my-app/latin.yaml: line 2 is not UTF-8 text
    ");
    assert_snapshot!(place.run(&app, &["config", "unset", "--user", "port"]), @r"
    exit 1
    -- stderr --
    error: `[home]/.config/ao/config.yaml`: `port` is not in the file
    ");
    assert!(!place.home.path().join(".config").exists());
}
