//! The first configuration file of a project.

use ao_config::init::{self, InitCheck, InitValues};
use ao_config::{Places, parse_str};
use camino::Utf8Path;
use insta::assert_snapshot;

use super::support::{catalog, places, read};

fn init(project: &str, path: &str) -> InitValues {
    InitValues {
        project: project.into(),
        repo: Some("owner/my-app".into()),
        path: path.into(),
        default_branch: "main".into(),
        tracker: "github".into(),
        agent: "codex".into(),
        runtime: "process".into(),
        workspace: "clone".into(),
        notifiers: vec!["desktop".into()],
        schema: None,
        checks: vec![],
        runs_checks: false,
    }
}

fn with_checks(runs_checks: bool) -> String {
    let check = |name: &str, command: &str| InitCheck { name: name.into(), command: command.into() };
    let checks = vec![check("npm-test", "npm ci && npm test"), check("odd", "it's: {odd} # really")];
    init::template(&InitValues { checks, runs_checks, ..init("my-app", ".") }, &catalog())
}

#[test]
fn checks_that_fit_are_switched_on_or_left_as_a_comment() {
    let commands = |text: &str| {
        let loaded = read(text).unwrap_or_else(|err| panic!("{err}\n{text}"));
        let checks = &loaded.config.projects["my-app"].checks;
        checks.iter().map(|check| (check.name(), check.command.clone())).collect::<Vec<_>>()
    };
    let expected = [("npm-test", "npm ci && npm test"), ("odd", "it's: {odd} # really")];
    let expected: Vec<_> = expected.map(|(name, command)| (name.to_owned(), command.to_owned())).into();
    assert_eq!(commands(&with_checks(true)), expected);
    let off = with_checks(false);
    assert_eq!(commands(&off), []);
    // Without the `# ` before them, the lines are valid, as the comment promises.
    let (before, commented) = off.split_once("# checks:\n").unwrap();
    let uncommented = format!("{before}checks:\n{}", commented.replace("    #   - ", "      - "));
    assert_eq!(commands(&uncommented), expected, "{uncommented}");
    assert!(before.trim_end().ends_with("remove the `# ` from the lines below."), "{before}");
}

#[test]
fn a_first_file_is_one_to_read_and_to_load() {
    let text = init::template(&init("my-app", "."), &catalog());
    assert_snapshot!(text, @r"
    # Configuration of ao for this repository. `ao config-help` explains every key, `ao config check` finds mistakes.
    # Personal settings go into agent-orchestrator.local.yaml beside this file.

    # port: 3000              # the dashboard and the HTTP API; the file of the first project decides

    defaults:
      runtime: process        # tmux | process
      agent: codex            # claude-code | codex | aider | cursor | opencode | …
      workspace: clone        # worktree | clone
      tracker: github         # not available yet; use local
      notifiers: [desktop]    # desktop | slack | discord | composio | webhook | openclaw | telegram

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
    let config = read(&text).unwrap_or_else(|err| panic!("{err}")).config;
    let app = config.effective("my-app").unwrap();
    assert_eq!(
        (app.agent, app.runtime.plugin.as_str(), app.workspace.plugin.as_str()),
        ("codex", "process", "clone")
    );
    assert_eq!(app.project.path, "/repo/here");
}

#[test]
fn odd_names_do_not_break_a_first_file() {
    for (project, path) in
        [("42", "/a: b #c"), ("true", "[x]"), ("a.b", "'\"\\"), ("no", "*x"), ("x", "~/ü n/- y")]
    {
        let text = init::template(&init(project, path), &catalog());
        let places = Places { home: Some("/people/ann".into()), ..places() };
        let config = parse_str(Utf8Path::new("/r/ao.yaml"), &text, &places)
            .unwrap_or_else(|err| panic!("{err}\n{text}"))
            .config;
        let expected = if let Some(rest) = path.strip_prefix("~/") {
            Utf8Path::new("/people/ann").join(rest)
        } else {
            Utf8Path::new("/r").join(path)
        };
        assert_eq!(config.projects[project].path, expected);
    }
}
