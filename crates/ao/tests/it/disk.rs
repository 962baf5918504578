//! What is on disk from the command line: nothing of anybody's is lost, and what is said to be freed is.

use std::fs;

use crate::fleet::git;
use crate::house::{House, until};

/// acceptance: W9
#[test]
fn a_dry_run_says_size_decision_and_reason_and_the_disk_is_freed_by_what_it_says() {
    let house = House::new();
    house.start();
    let clean = house.session("Clean", "[[say hello]]");
    let dirty = house.session("Dirty", "[[say hello]]");
    for session in [&clean, &dirty] {
        house.wait_for(session, "idle");
        house.ao(&["stop", session]).succeeds();
    }
    let tree = |session: &str| house.status(session)["workspace"]["path"].as_str().unwrap().to_owned();
    let (clean_tree, dirty_tree) = (tree(&clean), tree(&dirty));
    fs::write(format!("{dirty_tree}/notes.txt"), "not to be lost").unwrap();
    fs::write(format!("{clean_tree}/big.o"), vec![7; 3 << 20]).unwrap();
    git(clean_tree.as_ref(), &["add", "big.o"]);
    git(clean_tree.as_ref(), &["commit", "--quiet", "-m", "big"]);
    // Safe elsewhere, so nothing would be lost.
    let branch = house.status(&clean)["branch"].as_str().unwrap().to_owned();
    git(&house.repository(), &["merge", "--quiet", "--ff-only", &branch]);

    let dry = house.ao(&["session", "cleanup", "--dry-run", "--json"]).succeeds().json();
    let report = |session: &str| {
        dry["trees"].as_array().unwrap().iter().find(|tree| tree["sessionName"] == *session).unwrap().clone()
    };
    assert_eq!(
        (&report(&clean)["decision"], &report(&dirty)["decision"]),
        (&"remove".into(), &"keep".into())
    );
    assert!(report(&dirty)["reasons"][0].as_str().unwrap().contains("untracked"), "{}", report(&dirty));
    assert!(report(&clean)["bytes"].as_u64().unwrap() >= 3 << 20);
    assert!(fs::exists(&clean_tree).unwrap());
    let shown = house.ao(&["session", "cleanup", "--dry-run"]).succeeds();
    assert!(shown.out.contains("untracked") && shown.out.contains(&clean), "{}", shown.out);

    let done = house.ao(&["session", "cleanup", "--all", "--json"]).succeeds().json();
    assert_eq!(done["freedBytes"], dry["freedBytes"]);
    assert!(!fs::exists(&clean_tree).unwrap());
    assert_eq!(fs::read_to_string(format!("{dirty_tree}/notes.txt")).unwrap(), "not to be lost");
    house.ao(&["session", "restore", &clean]).succeeds();
    until("the tree is back", || fs::exists(format!("{clean_tree}/big.o")).unwrap());
}

/// acceptance: W3
#[test]
fn kill_and_cleanup_from_the_main_checkout_leave_it_as_it_is() {
    let house = House::new();
    house.start();
    let session = house.session("Say hello", "[[say hello]]");
    house.wait_for(&session, "idle");
    fs::write(house.repository().join("mine.txt"), "mine").unwrap();
    let before = git(&house.repository(), &["rev-parse", "HEAD"]);
    house.ao(&["session", "kill", &session]).succeeds();
    house.ao(&["session", "kill", &session]).succeeds();
    house.ao(&["session", "cleanup"]).succeeds();
    house.ao(&["session", "kill", "my-app"]).exits(5);
    assert_eq!(git(&house.repository(), &["rev-parse", "HEAD"]), before);
    assert_eq!(fs::read_to_string(house.repository().join("mine.txt")).unwrap(), "mine");
    assert!(house.repository().join(".git").is_dir());
    // A session that works in the main checkout itself: its end removes nothing of it.
    let path = house.repository().display().to_string();
    let trees = house.ao(&["session", "cleanup", "--dry-run", "--json"]).succeeds().json();
    let main = trees["trees"].as_array().unwrap().iter().find(|tree| tree["path"] == path.as_str());
    assert!(main.is_none_or(|tree| tree["decision"] == "keep"), "{main:?}");
}

#[test]
fn a_broken_repository_is_told_of_and_the_others_are_cleaned_up() {
    let house = House::new();
    house.start();
    let docs = house.path("docs");
    crate::fleet::make_repository(&docs);
    fs::write(docs.join("agent-orchestrator.yaml"), house.usual_config("docs")).unwrap();
    house.ao_in(&docs, &["start"]).succeeds();
    let session = house.session("Say hello", "[[say hello]]");
    house.wait_for(&session, "idle");
    house.ao(&["stop", &session]).succeeds();
    fs::remove_dir_all(docs.join(".git")).unwrap();
    let done = house.ao(&["session", "cleanup", "--all", "--json"]).succeeds().json();
    let trees = done["trees"].as_array().unwrap();
    let of = |project: &str| trees.iter().filter(|tree| tree["projectId"] == *project).collect::<Vec<_>>();
    let broken = of("docs");
    assert_eq!((broken.len(), &broken[0]["decision"]), (1, &"keep".into()), "{done}");
    assert!(broken[0]["reasons"][0].as_str().unwrap().contains("cannot be looked at"), "{done}");
    assert!(of("my-app").iter().any(|tree| tree["sessionName"] == *session && tree["decision"] == "remove"));
}
