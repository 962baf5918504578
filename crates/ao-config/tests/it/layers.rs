//! The user's, the project's and the local file override each other, field by field.

use std::time::Duration;

use ao_config::{Env, Layer, LayerKind, Loaded, Places, find, load, parse_layers, parse_str};
use ao_core::incident::IncidentKind;
use camino::{Utf8Path, Utf8PathBuf};

use super::support::{EXAMPLES, places, places_with, read};

fn layered(texts: &[(LayerKind, &str)]) -> Loaded {
    let name = |kind| match kind {
        LayerKind::User => "/people/ann/.config/ao/config.yaml",
        LayerKind::Project => "/repo/here/agent-orchestrator.yaml",
        LayerKind::Local => "/repo/here/agent-orchestrator.local.yaml",
    };
    let texts: Vec<_> = texts.iter().map(|(kind, text)| (*kind, Utf8Path::new(name(*kind)), *text)).collect();
    parse_layers(&texts, &places()).unwrap_or_else(|err| panic!("{err}"))
}

#[test]
fn later_layers_win_field_by_field() {
    use LayerKind::{Local, Project, User};
    let loaded = layered(&[
        (User, "port: 1\ndefaults: { agent: codex, runtime: process }\nlifecycle: { stuckAfter: 5m }\n"),
        (
            Project,
            "port: 2\ndefaults: { agent: aider }\nprojects: { app: { path: app, defaultBranch: dev } }\n",
        ),
        (Local, "projects: { app: { agent: gemini } }\n"),
    ]);
    let config = &loaded.config;
    assert_eq!(config.port, 2);
    assert_eq!(
        (config.defaults.agent.as_str(), config.defaults.runtime.plugin.as_str()),
        ("aider", "process")
    );
    assert_eq!(config.settings().stuck_after, Duration::from_secs(300));
    let app = config.effective("app").unwrap();
    assert_eq!((app.agent, app.project.default_branch.as_str()), ("gemini", "dev"));
    assert_eq!(app.project.path, "/repo/here/app");
}

#[test]
fn reactions_are_merged_field_by_field_whatever_they_are_called() {
    use LayerKind::{Local, Project, User};
    let loaded = layered(&[
        (User, "reactions: { ci_failed: { retries: 5, message: mine } }\n"),
        (Project, "reactions: { ci-failed: { escalateAfter: 10m, message: ours } }\n"),
        (Local, "orchestrator: { reaction_handlers: { ci_failure: { max_retries: 1 } } }\n"),
    ]);
    let ci = loaded.config.settings().reaction(&IncidentKind::CiFailed);
    assert_eq!((ci.attempts, ci.escalate_after), (1, Duration::from_secs(600)));
    assert_eq!(ci.message.as_deref(), Some("ours"));
}

#[test]
fn a_project_has_its_own_word_on_reactions() {
    let text = "reactions: { ci-failed: { retries: 5, message: all } }\n\
        projects:\n  a: { path: /a, reactions: { ci-failed: { retries: 1 } } }\n  b: { path: /b }\n";
    let config = read(text).unwrap().config;
    let attempts = |project| config.reactions_of(project).core()[&IncidentKind::CiFailed].attempts;
    assert_eq!((attempts("a"), attempts("b"), attempts("none")), (Some(1), Some(5), Some(5)));
    assert_eq!(config.reactions_of("a").0[&IncidentKind::CiFailed].message.as_deref(), Some("all"));
}

#[test]
fn short_and_long_forms_of_a_plugin_are_one() {
    use LayerKind::{Local, Project};
    let loaded = layered(&[
        (Project, "defaults: { runtime: { plugin: docker, image_name: node } }\n"),
        (Local, "defaults: { runtime: docker }\n"),
    ]);
    assert_eq!(loaded.config.defaults.runtime.options["imageName"], "node");
}

#[test]
fn a_list_takes_the_place_of_a_list_and_nothing_takes_the_place_of_nothing() {
    use LayerKind::{Local, Project};
    let loaded = layered(&[
        (Project, "defaults: { notifiers: [desktop, slack] }\nport: 7\n"),
        (Local, "defaults: { notifiers: [telegram] }\nport:\n"),
    ]);
    assert_eq!(loaded.config.defaults.notifiers, ["telegram"]);
    assert_eq!(loaded.config.port, 7);
}

#[test]
fn every_layer_is_named_in_what_is_wrong_with_it() {
    let texts = [
        (LayerKind::User, Utf8Path::new("/u.yaml"), "prot: 1\n"),
        (LayerKind::Project, Utf8Path::new("/p.yaml"), "defaults: { agnt: x }\n"),
    ];
    let err = parse_layers(&texts, &places()).unwrap_err();
    let places: Vec<_> = err.problems.iter().map(|problem| (problem.file.as_str(), problem.place)).collect();
    assert_eq!(places, [("/u.yaml", Some((1, 1))), ("/p.yaml", Some((1, 13)))]);
}

#[test]
fn references_are_typed_by_where_they_stand() {
    let text = "port: ${PORT:-3000}\npower: { preventIdleSleep: '${SLEEPLESS}' }\ndefaults: { agent: '${WHO:-codex}' }\n\
        projects: { app: { path: '${HOME_OF_APP}/app' } }\n";
    let places = places_with(&[("SLEEPLESS", "false"), ("HOME_OF_APP", "/srv")]);
    let loaded = ao_config::parse_str(Utf8Path::new("/x/ao.yaml"), text, &places)
        .unwrap_or_else(|err| panic!("{err}"));
    assert_eq!(loaded.config.port, 3000);
    assert!(!loaded.config.power.prevent_idle_sleep);
    assert_eq!(loaded.config.defaults.agent, "codex");
    assert_eq!(loaded.config.projects["app"].path, "/srv/app");
    assert!(loaded.show().contains("port: ${PORT:-3000}"), "{}", loaded.show());
}

/// A folder with files, and a home beside it.
struct Disk {
    _folder: tempfile::TempDir,
    root: Utf8PathBuf,
}

impl Disk {
    fn with(files: &[(&str, &str)]) -> Disk {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8PathBuf::try_from(folder.path().canonicalize().unwrap()).unwrap();
        for (name, text) in files {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Disk { _folder: folder, root }
    }

    fn places(&self, cwd: &str, variables: &[(&str, &str)]) -> Places {
        let cwd = self.root.join(cwd);
        std::fs::create_dir_all(&cwd).unwrap();
        let variables = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).replace("ROOT", self.root.as_str())));
        Places { env: Env::new(variables), cwd, home: Some(self.root.join("home")) }
    }

    fn found(&self, cwd: &str, variables: &[(&str, &str)]) -> Vec<String> {
        let layers = find(&self.places(cwd, variables)).unwrap_or_else(|err| panic!("{err}"));
        let told =
            |Layer { kind, path }: Layer| format!("{kind:?} {}", path.strip_prefix(&self.root).unwrap());
        layers.into_iter().map(told).collect()
    }
}

#[test]
fn files_are_found_where_they_are_said_to_be() {
    let disk = Disk::with(&[
        ("home/.config/ao/config.yaml", ""),
        ("xdg/ao/config.yaml", ""),
        ("repo/agent-orchestrator.yaml", ""),
        ("repo/agent-orchestrator.local.yaml", ""),
        ("repo/old/ao.config.yaml", ""),
        ("other/my.yaml", ""),
    ]);
    let user = "User home/.config/ao/config.yaml";
    let project = "Project repo/agent-orchestrator.yaml";
    let local = "Local repo/agent-orchestrator.local.yaml";
    assert_eq!(disk.found("nowhere", &[]), [user]);
    assert_eq!(disk.found("repo", &[]), [user, project, local]);
    assert_eq!(disk.found("repo/a/b/c", &[]), [user, project, local]);
    assert_eq!(disk.found("repo/old", &[]), [user, "Project repo/old/ao.config.yaml"]);
    assert_eq!(disk.found("repo", &[("AO_CONFIG", "ROOT/other/my.yaml")]), [user, "Project other/my.yaml"]);
    assert_eq!(disk.found("repo", &[("AO_CONFIG", "../other/my.yaml")])[0], user);
    assert_eq!(disk.found("repo", &[("AO_CONFIG", "")]), [user, project, local]);
    assert_eq!(disk.found("nowhere", &[("XDG_CONFIG_HOME", "ROOT/xdg")]), ["User xdg/ao/config.yaml"]);
    assert_eq!(
        disk.found("nowhere", &[("XDG_CONFIG_HOME", "xdg")]),
        [user],
        "a relative one is to be ignored"
    );
    assert_eq!(disk.found("x", &[("AO_CONFIG", "ROOT/home/.config/ao/config.yaml")]).len(), 1);
}

#[test]
fn a_named_file_that_is_not_there_is_said() {
    let disk = Disk::with(&[]);
    let err = load(&disk.places("x", &[("AO_CONFIG", "gone.yaml")])).unwrap_err();
    assert!(err.to_string().contains("x/gone.yaml: AO_CONFIG names a file that does not exist"), "{err}");
}

#[test]
fn without_any_file_the_defaults_hold() {
    let disk = Disk::with(&[]);
    let loaded = load(&disk.places("x", &[])).unwrap();
    assert_eq!(loaded.config, ao_config::Config::default());
    assert_eq!(loaded.config.settings(), ao_core::DaemonSettings::default());
    assert!(loaded.main_file().is_none());
}

#[test]
fn a_folder_belongs_to_the_nearest_project() {
    let text = "projects:\n  all: { path: . }\n  part: { path: parts/one }\n";
    let disk = Disk::with(&[("repo/agent-orchestrator.yaml", text)]);
    let loaded = load(&disk.places("repo/parts/one/src", &[])).unwrap();
    let of = |path: &str| loaded.project_of(&disk.root.join(path));
    assert_eq!(of("repo/parts/one/src"), Some("part"));
    assert_eq!(of("repo/parts"), Some("all"));
    assert_eq!(of("repo/parts/one-more"), Some("all"));
    assert_eq!(of("elsewhere"), None);
}

#[test]
fn what_is_shown_is_read_as_the_same() {
    let more = "notifiers:\n  team: { plugin: slack, webhook_url: '${HOOK}', deep: { a: [1, 2.5, true, null, 'no'] } }\n\
        projects:\n  app:\n    path: ./app\n    tracker: { plugin: linear, team_id: '007' }\n    include: [.env, { pattern: x, how: symlink }]\n\
        \x20   env: { set: { A: 1.10, B: yes, C: '${X:-y}' }, secrets: { T: TOKEN, F: { file: t } } }\n    postCreate: ['echo ${PWD}']\n\
        \x20   agentRules: |\n      one\n        two: 3\n\n    budget: { usd: 1.5, time: 90m }\nlifecycle: { minFreeMemory: 2 GiB }\n";
    for (name, text) in EXAMPLES.iter().copied().chain([("more", more)]) {
        let first = read(text).unwrap_or_else(|err| panic!("{name}: {err}"));
        let again = read(&first.show()).unwrap_or_else(|err| panic!("{name}: {err}\n{}", first.show()));
        assert_eq!(first.config, again.config, "{name}:\n{}", first.show());
        assert_eq!(first.show(), again.show(), "{name}");
        let whole = serde_json::to_value(&first.config).unwrap();
        assert_eq!(serde_json::from_value::<ao_config::Config>(whole).unwrap(), first.config);
    }
}

#[test]
fn budgets_have_a_place_for_every_scope_and_the_spellings_of_all_dialects() {
    let text = "dailyBudget: { usd: 20 }\nlifecycle: { auto_resume: false }\nprojects:\n  a:\n    path: /a\n    \
        task_budget: { usd: 2.5 }\n    daily-budget: { turns: 40 }\n    totalBudget: { tokens: 9, time: 2h }\n    \
        auto_resume: true\n  b: { path: /b }\n";
    let loaded = layered(&[(LayerKind::Project, text)]);
    let settings = loaded.config.settings();
    assert_eq!((settings.daily.micros, settings.auto_resume), (Some(20_000_000), false));
    let core = |name: &str| loaded.config.projects[name].core(&Env::default());
    let project = core("a");
    assert_eq!((project.per_task.micros, project.daily.turns), (Some(2_500_000), Some(40)));
    assert_eq!((project.total.tokens, project.total.seconds), (Some(9), Some(7200)));
    assert_eq!((project.auto_resume, core("b").auto_resume), (Some(true), None));
}

/// Creates a checkout like git's, with a commit on these branches.
fn checkout(branches: &[&str], head: &str) -> (tempfile::TempDir, Utf8PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = Utf8PathBuf::from_path_buf(dir.path().canonicalize().unwrap()).unwrap().join("My App");
    std::fs::create_dir_all(root.join(".git/refs/heads")).unwrap();
    std::fs::write(root.join(".git/HEAD"), format!("ref: refs/heads/{head}\n")).unwrap();
    for branch in branches {
        std::fs::write(root.join(".git/refs/heads").join(branch), "0000\n").unwrap();
    }
    (dir, root)
}

#[test]
fn a_file_without_projects_is_about_the_repository_that_it_is_in() {
    let (_dir, root) = checkout(&["master", "topic"], "topic");
    let file = root.join("agent-orchestrator.yaml");
    let loaded = parse_str(&file, "defaults: { agent: codex }\n", &places()).unwrap();
    let project = &loaded.config.projects["My-App"];
    assert_eq!(project.path, root);
    assert_eq!(project.default_branch, "master", "and not what happens to be checked out");
    assert!(loaded.names("My-App"));
    assert_eq!(loaded.implicit.as_ref().map(|project| project.name.as_str()), Some("My-App"));

    // A file that names projects is about those alone.
    let named = parse_str(&file, "projects: { docs: { path: ./docs } }\n", &places()).unwrap();
    assert_eq!(named.config.projects.keys().collect::<Vec<_>>(), ["docs"]);
    // A project that the user has named already is not added twice.
    let own = format!("projects: {{ mine: {{ path: \"{root}\" }} }}\n");
    let texts = [
        (LayerKind::User, Utf8Path::new("/srv/own.yaml"), own.as_str()),
        (LayerKind::Project, &file, "{}\n"),
    ];
    let both = parse_layers(&texts, &places()).unwrap();
    assert_eq!(both.config.projects.keys().collect::<Vec<_>>(), ["mine"]);
    // Another project of the user with the same name stays unchanged.
    let other = "projects: { My-App: { path: /elsewhere } }\n";
    let texts =
        [(LayerKind::User, Utf8Path::new("/srv/own.yaml"), other), (LayerKind::Project, &file, "{}\n")];
    let both = parse_layers(&texts, &places()).unwrap();
    assert_eq!(both.config.projects.keys().collect::<Vec<_>>(), ["My-App", "My-App-2"]);
    assert_eq!(both.config.projects["My-App-2"].path, root);
}

#[test]
fn a_file_without_projects_outside_of_a_repository_is_about_none() {
    let dir = tempfile::tempdir().unwrap();
    let file = Utf8PathBuf::from_path_buf(dir.path().join("agent-orchestrator.yaml")).unwrap();
    let loaded = parse_str(&file, "defaults: { agent: codex }\n", &places()).unwrap();
    assert!(loaded.config.projects.is_empty() && loaded.implicit.is_none());
}
