//! A configuration that names no project.

use std::fs;

use crate::fleet::make_repository;
use crate::house::House;

impl House {
    /// A configuration without projects in the repository.
    fn configure_nothing(&self) {
        let text = self
            .usual_config("my-app")
            .replace("projects:\n  my-app:\n    path: .\n    sessionPrefix: app\n", "");
        assert!(!text.contains("projects"));
        fs::write(self.config_file(), text).unwrap();
    }

    fn known(&self) -> Vec<String> {
        let known = self.ao(&["api", "GET", "/projects"]).succeeds().json();
        let known = known["projects"].as_array().unwrap().iter();
        known.map(|project| project["id"].as_str().unwrap().to_owned()).collect()
    }
}

#[test]
fn a_configuration_without_projects_is_about_its_repository() {
    let house = House::new();
    house.configure_nothing();
    house.ao(&["config", "check"]).succeeds().says("1 project: my-app");
    house.ao(&["start", "--port", "0"]).succeeds().says("my-app");
    assert_eq!(house.known(), ["my-app"]);
    let session = house.session("Say hello", "[[say hello]]");
    assert_eq!(session, "my-app-say-hello");
    house.wait_for(&session, "idle");
    house.ao(&["add-project", "."]).succeeds().says("The daemon now manages my-app");
}

#[test]
fn to_add_another_project_keeps_the_one_that_was_not_named() {
    let house = House::new();
    house.configure_nothing();
    house.start();
    make_repository(&house.path("docs"));
    house.ao(&["add-project", "../docs"]).succeeds().says("Added docs");
    assert_eq!(house.known(), ["docs", "my-app"]);
    house.ao(&["config", "check"]).succeeds().says("2 projects: docs, my-app");
}

#[test]
fn a_repository_whose_file_names_others_is_added_to_it() {
    let house = House::new();
    house.start();
    let (other, docs) = (house.path("other"), house.path("docs"));
    make_repository(&other);
    make_repository(&docs);
    let file = other.join("agent-orchestrator.yaml");
    fs::write(&file, house.usual_config("docs").replace("path: .", "path: ../docs")).unwrap();
    house
        .ao_in(&other, &["add-project", "."])
        .succeeds()
        .says("Added other")
        .says("The daemon now manages other");
    assert_eq!(house.known(), ["docs", "my-app", "other"]);
    house.ao_in(&other, &["issue", "add", "Ours"]).succeeds().says("other#1");
    // Said again, it is so already.
    house.ao_in(&other, &["add-project", "."]).succeeds().says("The daemon now manages other");
}

#[test]
fn a_file_outside_of_a_repository_that_names_nothing_is_told_of() {
    let house = House::bare();
    let folder = house.path("empty");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("agent-orchestrator.yaml"), "defaults: { agent: codex, notifiers: [] }\n").unwrap();
    house
        .ao_in(&folder, &["config", "check"])
        .succeeds()
        .says("no project is named")
        .says("ao add-project PATH");
    house.ao_in(&folder, &["doctor"]).says("no project is named");
}
