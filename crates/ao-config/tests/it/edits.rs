//! An edit of one key leaves the rest of a file unchanged.

use ao_config::edit::{self, EditError};
use ao_config::{Layer, LayerKind, load_edited};
use camino::Utf8Path;
use insta::assert_snapshot;
use proptest::prelude::*;

use super::support::{EXAMPLES, places, read};

const FILE: &str = "\
# our agents
defaults:
  runtime: tmux          # where they run
  notifiers:
    - desktop
    - slack   # the team's

projects:
  # the app itself
  my-app:
    path: ~/my-app
    agent_rules: |
      Be kind.
      Be brief.

    defaultBranch: main
  flow: { path: ~/flow, agent: 'codex' }
power:
";

/// Returns the lines that an edit removed and added.
fn difference(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - same;
    let same_behind = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let out = old[same..old.len() - same_behind].iter().map(|line| format!("-{line}\n"));
    let into = new[same..new.len() - same_behind].iter().map(|line| format!("+{line}\n"));
    out.chain(into).collect()
}

fn set(key: &str, value: &str) -> String {
    match edit::set(FILE, key, value) {
        Ok(after) => difference(FILE, &after),
        Err(err) => err.to_string(),
    }
}

fn unset(key: &str) -> String {
    match edit::unset(FILE, key) {
        Ok(after) => difference(FILE, &after),
        Err(err) => err.to_string(),
    }
}

#[test]
fn a_value_is_replaced_and_its_comment_stays() {
    assert_snapshot!(set("defaults.runtime", "process"), @r"
    -  runtime: tmux          # where they run
    +  runtime: process          # where they run
    ");
    assert_snapshot!(set("projects.flow.agent", "aider"), @r"
    -  flow: { path: ~/flow, agent: 'codex' }
    +  flow: { path: ~/flow, agent: aider }
    ");
    assert_snapshot!(set("projects.my-app.agentRules", "Be quick."), @r"
    -    agent_rules: |
    -      Be kind.
    -      Be brief.
    +    agent_rules: Be quick.
    ");
    assert_snapshot!(set("defaults.notifiers", "[desktop]"), @r"
    -  notifiers:
    -    - desktop
    -    - slack   # the team's
    +  notifiers: [desktop]   # the team's
    ");
}

#[test]
fn a_new_key_goes_where_its_neighbours_are() {
    assert_snapshot!(set("defaults.agent", "codex"), @"+  agent: codex");
    assert_snapshot!(set("projects.my-app.maxParallelAgents", "3"), @"+    maxParallelAgents: 3");
    assert_snapshot!(set("projects.flow.runtime", "docker"), @r"
    -  flow: { path: ~/flow, agent: 'codex' }
    +  flow: { path: ~/flow, agent: 'codex', runtime: docker }
    ");
    assert_snapshot!(set("power.preventIdleSleep", "false"), @"+  preventIdleSleep: false");
    assert_snapshot!(set("port", "4000"), @"+port: 4000");
    assert_snapshot!(set("reactions.ci-failed.retries", "2"), @r"
    +reactions:
    +  ci-failed:
    +    retries: 2
    ");
    assert_snapshot!(set("projects.\"a.b\".path", "~/a b"), @r"
    +  a.b:
    +    path: ~/a b
    ");
}

#[test]
fn texts_that_look_like_something_else_are_quoted() {
    assert_snapshot!(set("projects.my-app.sessionPrefix", "42"), @r#"+    sessionPrefix: "42""#);
    assert_snapshot!(set("projects.my-app.repo", "a: b # c"), @r#"+    repo: "a: b # c""#);
    assert_snapshot!(set("projects.flow.agent", "a, b"), @r#"
    -  flow: { path: ~/flow, agent: 'codex' }
    +  flow: { path: ~/flow, agent: "a, b" }
    "#);
}

#[test]
fn what_cannot_be_done_is_said() {
    assert_snapshot!(set("defaults.runtme", "tmux"), @"there is no key `runtme` in `defaults`: did you mean `runtime`?");
    assert_snapshot!(set("port", "high"), @"`port` has to be a whole number, but is `high`");
    assert_snapshot!(set("reactions.ci-failed.action", "merg"), @"`action` cannot be `merg`; did you mean `merge`?");
    assert_snapshot!(set("defaults", "tmux"), @"`defaults` is a mapping: set one of its keys, such as `defaults.runtime`");
    assert_snapshot!(set("", "tmux"), @"`` is not a valid key: write one such as `defaults.runtime`");
    assert_snapshot!(set("defaults..runtime", "tmux"), @"`defaults..runtime` is not a valid key: write one such as `defaults.runtime`");
    assert_snapshot!(unset("defaults.agent"), @"`defaults.agent` is not in the file");
}

#[test]
fn a_key_is_taken_out_and_comments_stay() {
    assert_snapshot!(unset("defaults.runtime"), @"-  runtime: tmux          # where they run");
    assert_snapshot!(unset("defaults.notifiers"), @r"
    -  notifiers:
    -    - desktop
    -    - slack   # the team's
    ");
    assert_snapshot!(unset("projects.my-app.agentRules"), @r"
    -    agent_rules: |
    -      Be kind.
    -      Be brief.
    ");
    assert_snapshot!(unset("projects.flow.agent"), @r"
    -  flow: { path: ~/flow, agent: 'codex' }
    +  flow: { path: ~/flow }
    ");
    assert_snapshot!(unset("projects.flow.path"), @r"
    -  flow: { path: ~/flow, agent: 'codex' }
    +  flow: { agent: 'codex' }
    ");
    assert_snapshot!(unset("projects.my-app"), @r"
    -  my-app:
    -    path: ~/my-app
    -    agent_rules: |
    -      Be kind.
    -      Be brief.
    -
    -    defaultBranch: main
    ");
}

#[test]
fn anchors_and_aliases_are_not_broken() {
    let shared = "projects:\n  a: &base\n    path: /a\n    agent: codex\n  b:\n    <<: *base\n    path: /b\n";
    let refused = |result: Result<String, EditError>| match result {
        Ok(text) => text,
        Err(err) => err.to_string(),
    };
    assert_snapshot!(refused(edit::set(shared, "projects.a.agent", "aider")), @"`projects.a.agent` cannot be changed without touching more of the file: please edit line 4 by hand");
    assert_snapshot!(refused(edit::unset(shared, "projects.a")), @"`projects.a` cannot be changed without touching more of the file: please edit line 2 by hand");
    let after = edit::set(shared, "projects.b.path", "/c").unwrap();
    assert_snapshot!(difference(shared, &after), @r"
    -    path: /b
    +    path: /c
    ");
}

#[test]
fn projects_are_added_and_removed() {
    let added = edit::add_project(FILE, "docs", &[("path", "~/docs"), ("repo", "org/docs")]).unwrap();
    assert_snapshot!(difference(FILE, &added), @r"
    +  docs:
    +    path: ~/docs
    +    repo: org/docs
    ");
    assert_eq!(read(&added).unwrap().config.projects["docs"].path, "/people/ann/docs");
    assert_eq!(edit::remove_project(&added, "docs").unwrap(), FILE);
    assert_eq!(
        edit::add_project(&added, "docs", &[("path", "/x")]),
        Err(EditError::Present("projects.docs".into()))
    );
    let first = edit::add_project("", "docs", &[("path", "~/docs")]).unwrap();
    assert_eq!(first, "projects:\n  docs:\n    path: ~/docs\n");
}

#[test]
fn a_file_for_one_project_keeps_its_form() {
    let before = EXAMPLES[2].1;
    let after = edit::set(before, "defaults.runtime", "process").unwrap();
    assert_snapshot!(difference(before, &after), @r"
    -runtime:   { plugin: tmux }
    +runtime:   { plugin: process }
    ");
    assert_eq!(read(&after).unwrap().config.defaults.runtime.plugin, "process");
}

#[test]
fn what_an_edit_would_come_to_is_known_before_it_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let (project, local) =
        (folder.join("agent-orchestrator.yaml"), folder.join("agent-orchestrator.local.yaml"));
    std::fs::write(&project, "notifiers: { team: { plugin: slack } }\n").unwrap();
    std::fs::write(&local, "port: 4\n").unwrap();
    let layers = vec![
        Layer { kind: LayerKind::Project, path: project },
        Layer { kind: LayerKind::Local, path: local.clone() },
    ];
    let come_to = |value| {
        let text = edit::set("port: 4\n", "defaults.notifiers", value).unwrap();
        load_edited(layers.clone(), &local, &text, &places()).map(|loaded| loaded.config.defaults.notifiers)
    };
    assert_eq!(come_to("[team]").unwrap(), ["team"]);
    let err = come_to("[taem]").unwrap_err().to_string();
    assert!(err.contains("agent-orchestrator.local.yaml:3:15: there is no notifier called `taem`"), "{err}");
    assert_eq!(std::fs::read_to_string(&local).unwrap(), "port: 4\n");
}

#[test]
fn windows_line_ends_stay() {
    let before = "defaults:\r\n  agent: codex\r\nport: 1\r\n";
    let after = edit::set(before, "defaults.runtime", "tmux").unwrap();
    assert_eq!(after, "defaults:\r\n  agent: codex\r\n  runtime: tmux\r\nport: 1\r\n");
}

#[test]
fn a_file_is_replaced_whole_with_its_permissions_and_through_its_link() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let (file, link) = (folder.join("real.yaml"), folder.join("link.yaml"));
    std::fs::write(&file, "port: 1\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&file, &link).unwrap();
    edit::write(&link, "port: 2\n").unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "port: 2\n");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 2, "nothing is left over");
}

/// Generates keys of every kind, present in an example or not, with valid values.
fn settings() -> impl Strategy<Value = (&'static str, String)> {
    let text = "[ -~]{1,20}"
        .prop_filter("a reference means something", |text| !text.contains('$') && text.trim() == text);
    prop_oneof![
        (1..=65535u16).prop_map(|port| ("port", port.to_string())),
        prop::sample::select(ao_config::names::RUNTIMES)
            .prop_map(|name| ("defaults.runtime", name.to_owned())),
        prop::sample::select(ao_config::names::AGENTS).prop_map(|name| ("defaults.agent", name.to_owned())),
        (0..100u32).prop_map(|n| ("reactions.ci-failed.retries", n.to_string())),
        (1..60u32).prop_map(|n| ("lifecycle.stuckAfter", format!("{n}m"))),
        any::<bool>().prop_map(|yes| ("power.preventIdleSleep", yes.to_string())),
        any::<bool>().prop_map(|yes| ("orchestrator.autoAssign", yes.to_string())),
        // Braces have a meaning in a template.
        text.clone().prop_map(|text| ("reactions.changes-requested.message", text.replace('{', "("))),
        text.prop_map(|text| ("orchestrator.prompt", text)),
    ]
}

/// Returns the value at a key in the merged configuration.
fn value_at(text: &str, key: &str) -> serde_json::Value {
    let config =
        serde_json::to_value(read(text).unwrap_or_else(|err| panic!("{err}\n{text}")).config).unwrap();
    let value = key.split('.').fold(&config, |here, part| &here[part]).clone();
    match value.get("plugin") {
        Some(plugin) => plugin.clone(),
        None => value,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_is_set_is_there_and_every_other_line_stays(
        example in 0..3usize,
        edits in prop::collection::vec(settings(), 1..4),
    ) {
        let mut text = EXAMPLES[example].1.to_owned();
        for (key, value) in edits {
            let after = edit::set(&text, key, &value).unwrap_or_else(|err| panic!("{err}\n{text}"));
            let found = value_at(&after, key);
            let found = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
            prop_assert_eq!(&found, &value, "{} in\n{}", key, after);
            let (old, new): (Vec<&str>, Vec<&str>) = (text.lines().collect(), after.lines().collect());
            let gone: Vec<_> = difference(&text, &after).lines().filter(|line| line.starts_with('-')).map(str::to_owned).collect();
            prop_assert!(gone.len() <= 1, "{:?}", gone);
            prop_assert!(new.len() >= old.len());
            text = after;
        }
        let loaded = read(&text).unwrap();
        prop_assert_eq!(&read(&loaded.show()).unwrap().config, &loaded.config, "{}", loaded.show());
    }

    #[test]
    fn what_is_taken_out_is_gone_and_every_other_line_stays((key, value) in settings()) {
        let before = EXAMPLES[0].1;
        let with = edit::set(before, key, &value).unwrap();
        let without = edit::unset(&with, key).unwrap();
        prop_assert!(read(&without).is_ok());
        let left: Vec<&str> = without.lines().collect();
        prop_assert!(left.iter().all(|line| with.lines().any(|known| known == *line)));
        prop_assert!(edit::unset(&without, key).is_err());
    }
}
