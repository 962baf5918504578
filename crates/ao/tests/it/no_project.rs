//! A command that is run in a folder of no project.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::fleet::{git, make_repository};
use crate::house::House;

/// A daemon with one project, and two folders that belong to none: an empty one, and another repository.
fn house() -> (House, [PathBuf; 2]) {
    let house = House::new();
    house.start();
    let (empty, other) = (house.path("empty"), house.path("other"));
    fs::create_dir(&empty).unwrap();
    make_repository(&other);
    (house, [empty, other])
}

impl House {
    fn count(&self, args: &[&str], list: &str) -> usize {
        let listed = self.ao(args).succeeds().json();
        listed[list].as_array().map_or(0, Vec::len)
    }
}

/// acceptance: J9
#[test]
fn a_command_in_a_folder_of_no_project_touches_no_other_project() {
    let (house, folders) = house();
    house.ao(&["issue", "add", "Ours"]).succeeds();
    git(&house.repository(), &["switch", "--quiet", "-c", "change"]);
    git(&house.repository(), &["commit", "--quiet", "--allow-empty", "-m", "Change"]);
    house.ao(&["pr", "create", "--title", "Ours"]).succeeds();
    let list = house.path("list.md");
    fs::write(&list, "- [ ] Imported\n").unwrap();
    let list = list.display().to_string();
    let commands: &[&[&str]] = &[
        &["new", "Do it"],
        &["new", "Do it", "--issue", "1"],
        &["spawn", "1"],
        &["batch-spawn", "1", "2"],
        &["issue", "add", "Something"],
        &["issue", "import", &list],
        &["issue", "close", "1"],
        &["issue", "edit", "1", "--title", "Theirs"],
        &["issue", "comment", "1", "Hello"],
        &["issue", "label", "1", "+bug"],
        &["issue", "show", "1"],
        &["pr", "close", "1"],
        &["pr", "merge", "1"],
        &["pr", "comment", "1", "Hello"],
        &["pr", "show", "1"],
        &["approve", "1"],
        &["queue", "add", "1"],
        &["queue", "pause"],
        &["check", "run", "1"],
        &["check", "list"],
        &["session", "cleanup"],
        &["session", "claim-pr", "1"],
        &["emit", "nightly-done"],
        &["policy", "show"],
        &["conflicts"],
        &["hooks", "test", "merged"],
    ];
    for folder in &folders {
        for args in commands {
            let ran = house.ao_in(folder, args);
            assert_eq!(ran.code, 1, "ao {}: {}{}", args.join(" "), ran.out, ran.err);
            let told = ran.says("is not inside a project").says("--project").err;
            let path = house.repository().display().to_string();
            assert!(told.contains(&format!("`my-app` ({path})")), "{told}");
        }
    }
    house.ao_in(&folders[1], &["new", "Do it"]).says("`ao start` registers this repository");
    assert_eq!(house.count(&["list", "--json"], "sessions"), 0);
    assert_eq!(house.count(&["issue", "list", "--json"], "issues"), 1);
    let issue = house.ao(&["issue", "show", "1", "--json"]).succeeds().json();
    assert_eq!((&issue["title"], &issue["state"]), (&"Ours".into(), &"open".into()));
    assert_eq!((&issue["labels"], &issue["comments"]), (&Value::Array(vec![]), &Value::Array(vec![])));
    let pull = house.ao(&["pr", "show", "1", "--json"]).succeeds().json();
    assert_eq!(pull["state"], "open");
    assert_eq!(pull["comments"].as_array().map_or(0, Vec::len), 0);
}

/// What says itself which project it is about can be said from anywhere, and lists show all.
#[test]
fn a_project_can_be_named_from_anywhere() {
    let (house, [empty, _]) = house();
    house.ao_in(&empty, &["issue", "add", "Named", "--project", "my-app"]).succeeds();
    house.ao_in(&empty, &["issue", "show", "my-app#1"]).succeeds().says("Named");
    house.ao_in(&empty, &["issue", "list"]).succeeds().says("Named");
    house.ao_in(&empty, &["spawn", "my-app#1"]).succeeds();
    house.ao_in(&empty, &["status"]).succeeds();
    house.ao_in(&empty, &["session", "cleanup", "--all", "--dry-run"]).succeeds();
}

/// A workspace belongs to the project that it was made for, also if it is a clone.
#[test]
fn a_workspace_belongs_to_its_project() {
    let house = House::new();
    house.start();
    for kind in ["worktree", "clone"] {
        let made = house
            .ao(&["new", kind, "--workspace", kind, "--prompt", "[[say hello]]", "--json"])
            .succeeds()
            .json();
        let session = made["session"]["name"].as_str().unwrap().to_owned();
        house.wait_for(&session, "idle");
        let path = house.status(&session)["workspace"]["path"].as_str().unwrap().to_owned();
        house.ao_in(path.as_ref(), &["issue", "add", kind]).succeeds();
        house.agent_runs(&session, "ao issue show 1 && ao check list");
    }
    assert_eq!(house.count(&["issue", "list", "--json"], "issues"), 2);
}
