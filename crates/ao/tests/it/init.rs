//! The first configuration of a repository.

use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;

use crate::place::Place;

#[test]
fn what_nobody_says_is_found_out() {
    let place = Place::new();
    let app = place.repository("my-app");
    place.git(&app, &["remote", "add", "origin", "git@github.com:owner/my-app.git"]);
    place.script("codex", "exit 0");
    assert_snapshot!(place.run(&app, &["init"]), @r"
    exit 0
    -- stdout --
    Wrote [home]/my-app/agent-orchestrator.yaml
      project    my-app (owner/my-app), from branch main
      agent      codex
      runtime    process
      workspace  worktree
      tracker    local
    Next: `ao start`
    -- stderr --
    note: tmux is not installed, so agents run in ao's built-in terminals
    note: there is no desktop for notices, so `notifiers` is empty; `ao config-help notifiers` describes other channels
    ");
    assert_snapshot!(std::fs::read_to_string(app.join("agent-orchestrator.yaml")).unwrap(), @r"
    # Configuration of ao for this repository. `ao config-help` explains every key, `ao config check` finds mistakes.
    # Personal settings go into agent-orchestrator.local.yaml beside this file.

    # port: 3000              # the dashboard and the HTTP API; the file of the first project decides

    defaults:
      runtime: process        # tmux | process
      agent: codex            # claude-code | codex | opencode | gemini | aider | …
      workspace: worktree     # worktree | clone
      tracker: local          # local
      notifiers: []           # desktop | slack | discord | composio | webhook | openclaw | telegram

    projects:
      my-app:
        repo: owner/my-app
        path: .
        defaultBranch: main
        # symlinks: [node_modules]       # shared with your checkout
        # include: [.env]                # copied from your checkout
        # postCreate: [npm install]      # run in each new workspace
        # maxParallelAgents: 3
        # checks: [make test]            # commands that must pass before a merge

    reactions:
      ci-failed:
        auto: true
        action: send-to-agent   # the agent gets the failing checks
        retries: 2              # then you get a notice
      changes-requested:
        auto: true
        action: send-to-agent
        escalateAfter: 30m
      approved-and-green:
        auto: false             # true merges automatically
        action: merge
        strategy: squash        # squash | merge | rebase
    ");
    assert_eq!(place.entries(&app), ["agent-orchestrator.yaml"]);
    assert_snapshot!(place.run(&app, &["config", "check"]), @r"
    exit 0
    -- stdout --
    ok  [home]/my-app/agent-orchestrator.yaml
    1 project: my-app
    ");
}

#[test]
fn on_a_bare_machine_it_says_what_is_missing() {
    let place = Place::new();
    let app = place.repository("my-app");
    assert_snapshot!(place.run(&app, &["init"]), @r"
    exit 0
    -- stdout --
    Wrote [home]/my-app/agent-orchestrator.yaml
      project    my-app, from branch main
      agent      claude-code
      runtime    process
      workspace  worktree
      tracker    local
    Next: `ao start`
    -- stderr --
    note: tmux is not installed, so agents run in ao's built-in terminals
    note: no agent is installed; to get claude-code: `npm install -g @anthropic-ai/claude-code`
    note: there is no desktop for notices, so `notifiers` is empty; `ao config-help notifiers` describes other channels
    ");
}

#[test]
fn what_is_said_counts_and_is_written_to_the_root() {
    let place = Place::new();
    let app = place.repository("my-app");
    let deep = app.join("src/deep");
    std::fs::create_dir_all(&deep).unwrap();
    let args =
        ["init", "--tracker", "github", "--agent", "claude-code", "--runtime", "tmux", "--project", "shop"];
    assert_snapshot!(place.run(&deep, &[&args[..], &["--workspace", "clone", "--json"]].concat()), @r#"
    exit 0
    -- stdout --
    {"agent":"claude-code","config":"[home]/my-app/agent-orchestrator.yaml","defaultBranch":"main","notes":["there is no desktop for notices, so `notifiers` is empty; `ao config-help notifiers` describes other channels"],"path":"[home]/my-app","project":"shop","repo":null,"runtime":"tmux","tracker":"github","warnings":[{"column":12,"file":"[home]/my-app/agent-orchestrator.yaml","hint":"use `local`: `ao config set defaults.tracker local`; `ao issue import` imports the output of `gh issue list --json`","id":"tracker","line":10,"severity":"problem","what":"the tracker `github` is not available in this version yet: `ao spawn ISSUE` refuses, no issue is assigned, and there are no pull requests and checks; sessions by title (`ao new`) work"},{"column":12,"file":"[home]/my-app/agent-orchestrator.yaml","hint":"install tmux, or use the built-in terminal: `ao config set defaults.runtime process`","id":"program","line":7,"severity":"warning","what":"the runtime `tmux` needs the program `tmux`, which is not installed"}],"workspace":"clone"}
    "#);
    assert!(app.join("agent-orchestrator.yaml").is_file());
}

#[test]
fn from_a_linked_worktree_the_main_checkout_gets_the_file() {
    let place = Place::new();
    let app = place.repository("my-app");
    place.git(&app, &["worktree", "add", "--quiet", "../side"]);
    let said = place.run(&place.home.path().join("side"), &["init"]);
    assert!(said.contains("Wrote [home]/my-app/agent-orchestrator.yaml"), "{said}");
    assert!(app.join("agent-orchestrator.yaml").is_file());
}

#[test]
fn a_file_that_is_there_is_kept_unless_one_insists() {
    let place = Place::new();
    let app = place.repository("my-app");
    for name in ["agent-orchestrator.yaml", "ao.config.yaml"] {
        std::fs::write(app.join(name), "# mine\n").unwrap();
        let said = place.run(&app, &["init"]);
        assert!(
            said.contains(&format!("there is a configuration already: `[home]/my-app/{name}`")),
            "{said}"
        );
        assert_eq!(std::fs::read_to_string(app.join(name)).unwrap(), "# mine\n");
        assert_eq!(place.entries(&app), [name]);
        std::fs::remove_file(app.join(name)).unwrap();
    }
    std::fs::write(app.join("agent-orchestrator.yaml"), "# mine\n").unwrap();
    assert!(place.run(&app, &["init", "--force"]).starts_with("exit 0"));
    assert!(std::fs::read_to_string(app.join("agent-orchestrator.yaml")).unwrap().contains("my-app:"));
}

#[test]
fn where_it_cannot_be_done_it_says_why_and_makes_nothing() {
    let place = Place::new();
    let nowhere = place.home.path().join("nowhere");
    std::fs::create_dir(&nowhere).unwrap();
    assert_snapshot!(place.run(&nowhere, &["init"]), @r"
    exit 10
    -- stderr --
    error: `[home]/nowhere` is not in a git repository
    hint: go to a repository; or make one of this folder: `git init && git add . && git commit -m 'First commit'`
    ");
    assert!(place.entries(&nowhere).is_empty());

    place.git(place.home.path(), &["init", "--quiet", "--bare", "bare.git"]);
    assert_snapshot!(place.run(&place.home.path().join("bare.git"), &["init"]), @r"
    exit 12
    -- stderr --
    error: `[home]/bare.git` is a bare repository, which has no files to work on
    hint: use a checkout of it: `git clone [home]/bare.git my-app && cd my-app`
    ");

    place.git(place.home.path(), &["init", "--quiet", "unborn"]);
    let unborn = place.home.path().join("unborn");
    assert_snapshot!(place.run(&unborn, &["init"]), @r"
    exit 11
    -- stderr --
    error: the repository `[home]/unborn` has no commit yet, so there is nothing to start from
    hint: make the first one: `git commit --allow-empty -m 'First commit'`
    ");
    assert!(place.entries(&unborn).is_empty());

    let app = place.repository("my-app");
    assert_snapshot!(place.run(&app, &["init", "--runtime", "tumx"]), @r"
    exit 2
    -- stderr --
    error: there is no runtime `tumx`; did you mean `tmux`?
    hint: there are tmux, process
    ");
    assert_snapshot!(place.run(&app, &["init", "--agent", "hal"]), @r"
    exit 2
    -- stderr --
    error: there is no agent `hal`
    hint: there are claude-code, codex, opencode, gemini, aider, cursor, copilot, qwen, kimicode, goose
    ");
    assert_snapshot!(place.run(&app, &["init", "--project", "my app"]), @r"
    exit 2
    -- stderr --
    error: `my app` cannot be the name of a project
    hint: a name has letters, digits, `-`, `_` and `.` only, and starts with a letter or digit
    ");
    assert!(place.entries(&app).is_empty());
}

#[test]
fn without_git_it_says_so() {
    let place = Place::without_git();
    assert_snapshot!(place.run(place.home.path(), &["init"]), @r"
    exit 13
    -- stderr --
    error: the program `git` was not found
    hint: install git 2.36 or newer
    ");
}

#[test]
fn a_folder_that_cannot_be_written_to_stays_as_it_is() {
    let place = Place::new();
    let app = place.repository("my-app");
    place.give_away(&app);
    std::fs::set_permissions(&app, std::fs::Permissions::from_mode(0o555)).unwrap();
    let told = place.home.told(&place.ao_of_somebody(&app, &["init"]).output().unwrap());
    std::fs::set_permissions(&app, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(told.starts_with("exit 3"), "{told}");
    assert!(told.contains("`[home]/my-app/agent-orchestrator.yaml` could not be written"), "{told}");
    assert!(place.entries(&app).is_empty());
}

#[test]
fn a_repository_of_somebody_else_is_not_read() {
    let place = Place::new();
    let app = place.repository("my-app");
    let mut command = place.ao_of_somebody(&app, &["init"]);
    if !rustix::process::geteuid().is_root() {
        // Git itself offers this to whoever wants to see what it says.
        command.env("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1");
    }
    assert_snapshot!(place.home.told(&command.output().unwrap()), @r"
    exit 3
    -- stderr --
    error: git refuses to read `[home]/my-app`, because it belongs to another user
    hint: if you trust its owner: `git config --global --add safe.directory [home]/my-app`
    ");
}

#[test]
fn checks_that_fit_are_written_as_a_comment_where_nobody_can_be_asked() {
    let place = Place::new();
    let app = place.repository("my-app");
    std::fs::write(app.join("Cargo.toml"), "[package]\n").unwrap();
    for args in [&["init"][..], &["init", "--force", "--yes"]] {
        let said = place.run(&app, args);
        let note = "note: no checks are enabled; `cargo test --workspace` and `cargo clippy --workspace --all-targets -- \
            -D warnings` would fit, and are commented out under `checks` in the file";
        assert!(said.starts_with("exit 0") && said.contains(note), "{said}");
    }
    let file = app.join("agent-orchestrator.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let (_, checks) = text.split_once("    # maxParallelAgents: 3\n").unwrap();
    let (checks, _) = checks.split_once("\nreactions:").unwrap();
    assert_snapshot!(checks, @r"
    # These checks were detected. To enable them, remove the `# ` from the lines below.
    # checks:
    #   - { name: cargo-test, command: 'cargo test --workspace' }
    #   - { name: cargo-clippy, command: 'cargo clippy --workspace --all-targets -- -D warnings' }
    ");
    let on = checks.lines().skip(1).map(|line| format!("{}\n", line.replacen("# ", "", 1)));
    let on = on.collect::<String>();
    std::fs::write(&file, text.replace(checks, &on)).unwrap();
    let shown = place.run(&app, &["config", "show"]);
    assert!(shown.contains("command: cargo test --workspace") || shown.contains("cargo-test"), "{shown}");
}
