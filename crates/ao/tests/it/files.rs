//! Several configuration files in one daemon's care: what is wrong with one of them is told, and harms no other.

use std::fs;

use serde_json::Value;

use crate::fleet::{git, make_repository};
use crate::house::{House, bare_copy, until};

impl House {
    /// A second repository with a configuration of its own.
    fn neighbour(&self, name: &str, config: &str) -> std::path::PathBuf {
        let folder = self.path(name);
        make_repository(&folder);
        fs::write(folder.join("agent-orchestrator.yaml"), config).unwrap();
        folder
    }

    fn projects(&self) -> Vec<String> {
        let told = self.ao(&["api", "GET", "/projects"]).succeeds().json();
        let projects = told["projects"].as_array().unwrap();
        projects.iter().map(|project| project["id"].as_str().unwrap().to_owned()).collect()
    }

    fn problem(&self) -> String {
        self.daemon()["configProblem"].as_str().unwrap_or_default().to_owned()
    }

    /// Whether the log tells of something of this kind.
    fn happened(&self, kind: &str) -> bool {
        self.ao(&["events", "export"]).succeeds().out.contains(&format!("\"{kind}\""))
    }

    /// Restarts the daemon where no file is in the way.
    fn restart(&self) {
        self.ao(&["stop"]).succeeds();
        self.ao_in(&self.path("docs"), &["start", "--port", "0", "--no-orchestrator"]).succeeds();
    }
}

const DOCS: &str = "projects:\n  docs:\n    path: .\norchestrator: { enabled: false }\n";

#[test]
fn a_file_that_cannot_be_read_keeps_its_projects_while_another_is_added() {
    let house = House::new();
    house.start();
    house.ao(&["stop"]).succeeds();
    let good = fs::read_to_string(house.config_file()).unwrap();
    fs::write(house.config_file(), "projects: [\n").unwrap();
    let docs = house.neighbour("docs", DOCS);
    house.ao_in(&docs, &["start", "--port", "0"]).succeeds();
    assert!(house.problem().contains("my-app/agent-orchestrator.yaml"), "{}", house.problem());
    assert!(!house.happened("project.removed"), "nothing of the unreadable file is forgotten");
    fs::write(house.config_file(), good).unwrap();
    until("the mended file counts", || house.projects() == ["docs", "my-app"]);
    assert_eq!(house.daemon()["configProblem"], Value::Null);
}

#[test]
fn one_agent_that_makes_no_sense_stops_neither_the_daemon_nor_the_other_agents() {
    let house = House::new();
    house.start();
    let good = fs::read_to_string(house.config_file()).unwrap();
    fs::write(house.config_file(), format!("{good}  strange: {{ program: x, promt: typed }}\n")).unwrap();
    until("it is told of", || house.problem().contains("tools.strange"));
    house.ao(&["config", "check"]).exits(2).says("tools.strange").says("promt");
    let session = house.session("Say hello", "[[say hello]]");
    house.wait_for(&session, "idle");
    house.ao(&["stop"]).succeeds();
    let docs = house.neighbour("docs", DOCS);
    house.ao_in(&docs, &["start", "--port", "0"]).succeeds();
    assert!(house.problem().contains("tools.strange"), "{}", house.problem());
    house.ao(&["send", &session, "[[say again]]"]).succeeds();
    // Whoever adds such a file is told at once.
    let wrong = house.neighbour("wrong", "projects: { wrong: { path: . } }\ntools: { odd: { args: [a] } }\n");
    house.ao_in(&wrong, &["start"]).exits(2).says("tools.odd");
    assert_eq!(house.projects(), ["docs", "my-app"]);
}

#[test]
fn a_later_file_replaces_no_agent_of_others() {
    let house = House::new();
    house.start();
    let tools = "tools:\n  claude-code: { program: /bin/false }\n  scripted: { program: /bin/false }\n  new-one: { program: /bin/true }\n";
    let docs = house.neighbour("docs", &format!("{DOCS}{tools}"));
    house.ao_in(&docs, &["start"]).succeeds();
    let problem = house.problem();
    assert!(problem.contains("tools.claude-code") && problem.contains("tools.scripted"), "{problem}");
    assert!(!problem.contains("new-one"), "{problem}");
    let session = house.session("Say hello", "[[say hello]]");
    house.wait_for(&session, "idle");
}

#[test]
fn a_repository_that_was_deleted_can_be_forgotten() {
    let house = House::new();
    house.start();
    let docs = house.neighbour("docs", DOCS);
    house.ao_in(&docs, &["start"]).succeeds();
    fs::remove_dir_all(house.repository()).unwrap();
    house.restart();
    assert!(house.problem().contains("ao remove-project my-app"), "{}", house.problem());
    house.ao(&["remove-project", "my-app"]).succeeds();
    assert_eq!(house.daemon()["configProblem"], Value::Null);
    assert_eq!(house.projects(), ["docs"]);
    assert!(house.happened("project.removed"));
    house.ao(&["remove-project", "my-app"]).exits(5);
    house.restart();
    assert_eq!(house.daemon()["configProblem"], Value::Null);
}

#[test]
fn the_projects_of_the_own_file_do_not_keep_another_from_being_forgotten() {
    let house = House::new();
    let docs = house.path("docs");
    make_repository(&docs);
    fs::create_dir_all(house.path(".config/ao")).unwrap();
    let own = format!("projects:\n  docs:\n    path: {}\n", docs.display());
    fs::write(house.path(".config/ao/config.yaml"), own).unwrap();
    house.start();
    assert_eq!(house.projects(), ["docs", "my-app"]);
    let config = fs::read_to_string(house.config_file()).unwrap();
    house.ao(&["remove-project", "my-app"]).succeeds();
    assert_eq!(house.projects(), ["docs"]);
    assert_eq!(fs::read_to_string(house.config_file()).unwrap(), config, "its file stays as it is");
    // That of the user's own file is taken out of there.
    house.ao(&["remove-project", "docs"]).succeeds();
    assert!(!fs::read_to_string(house.path(".config/ao/config.yaml")).unwrap().contains("docs"));
}

#[test]
fn a_project_with_sessions_is_not_forgotten_in_half() {
    let house = House::new();
    house.start();
    let session = house.session("Say hello", "[[say hello]]");
    house.wait_for(&session, "idle");
    house.ao(&["api", "DELETE", "/projects/my-app"]).exits(1).says("my-app");
    assert_eq!(house.projects(), ["my-app"]);
    house.ao(&["api", "POST", "/daemon/reload", "-d", "{}"]).succeeds();
    assert_eq!(house.projects(), ["my-app"]);
}

#[test]
fn nothing_is_made_in_a_repository_without_a_commit() {
    let house = House::new();
    house.start();
    let unborn = house.path("unborn");
    fs::create_dir(&unborn).unwrap();
    git(&unborn, &["init", "--quiet"]);
    fs::write(unborn.join("agent-orchestrator.yaml"), DOCS.replace("docs", "unborn")).unwrap();
    house.ao_in(&unborn, &["start"]).succeeds();
    house.ao(&["issue", "add", "First", "--project", "unborn"]).succeeds();
    house.ao(&["spawn", "1", "--project", "unborn", "--agent", "scripted"]).exits(11).says("no commit");
    let sessions = house.ao(&["list", "--json"]).succeeds().json();
    assert_eq!(sessions["sessions"].as_array().map(Vec::len), Some(0));
    assert_eq!(fs::read_dir(unborn.join(".git/refs/heads")).unwrap().count(), 0);
}

#[test]
fn the_configuration_of_a_cloned_repository_counts_only_after_a_look() {
    let house = House::new();
    house.start();
    let tools = "tools: { sly: { program: /bin/false } }\n";
    let project = "projects:\n  docs:\n    path: .\n    postCreate: [./steal.sh]\n";
    let docs = house.neighbour("docs", &format!("{project}{tools}"));
    git(&docs, &["add", "."]);
    git(&docs, &["commit", "--quiet", "-m", "configured"]);
    let forge = house.path("forge.git");
    bare_copy(&docs, &forge);
    let url = format!("file://{}", forge.display());
    let here = house.path("tmp");
    // A second try is no look.
    for _ in 0..2 {
        let told = house.ao_in(&here, &["start", &url, "--no-orchestrator"]).exits(1);
        let told = told.says("./steal.sh").says("tools.sly").says("--trust");
        assert!(told.err.contains(&format!("ao start {}", here.join("forge").display())), "{}", told.err);
        assert!(here.join("forge/agent-orchestrator.yaml").exists(), "the clone stays");
        assert_eq!(house.projects(), ["my-app"]);
    }
    house.ao_in(&here, &["start", "forge", "--no-orchestrator"]).succeeds();
    assert_eq!(house.projects(), ["docs", "my-app"]);
    // Whoever has started with it has seen it.
    house.ao_in(&here, &["start", &url, "--no-orchestrator"]).succeeds();
    house.ao(&["remove-project", "docs"]).succeeds();
    house.ao_in(&here, &["start", &url, "--no-orchestrator", "--trust"]).succeeds();
    assert_eq!(house.projects(), ["docs", "my-app"]);
}

#[test]
fn a_new_local_file_counts_at_once_and_so_does_an_edit_before_the_watch() {
    let house = House::new();
    house.start();
    let local = house.repository().join("agent-orchestrator.local.yaml");
    fs::write(&local, "lifecycle: { maxParallelAgents: 7 }\n").unwrap();
    until("the new file counts", || house.daemon()["maxParallelAgents"] == 7);
    // A file that is added is watched anew, and what is written meanwhile is not missed.
    let docs = house.neighbour("docs", DOCS);
    house.ao_in(&docs, &["start"]).succeeds();
    fs::write(&local, "lifecycle: { maxParallelAgents: 8 }\n").unwrap();
    until("the edit counts", || house.daemon()["maxParallelAgents"] == 8);
}

#[test]
fn a_restart_that_is_needed_is_said_until_it_has_happened() {
    let house = House::new();
    house.start();
    let good = fs::read_to_string(house.config_file()).unwrap();
    fs::write(house.config_file(), format!("{good}port: 4321\n")).unwrap();
    for _ in 0..2 {
        let told = house.ao(&["api", "POST", "/daemon/reload", "-d", "{}"]).succeeds().json();
        let needs = told["needsRestart"].as_array().unwrap();
        assert!(needs.contains(&"`port`".into()), "{told}");
    }
}

#[test]
fn what_is_not_acted_on_yet_is_said() {
    let house = House::with("plugins: [{ name: mine, source: local, path: ./mine }]\n");
    let told = house.ao(&["config", "check"]).succeeds();
    assert!(told.err.contains("`plugins` has no effect in this version yet"), "{}", told.err);
    house.ao(&["start", "--port", "0"]).succeeds().says("has no effect in this version yet");
}
