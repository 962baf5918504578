//! Work that is lost or thrown away: a worktree removed by hand, a lost data folder, and a discard.

use std::fs;

use crate::fleet::git;
use crate::house::{House, until};

/// A session with one commit and one file that is not committed.
fn worked(house: &House, title: &str) -> (String, std::path::PathBuf) {
    let task = "[[tool echo one > one.txt && git add . && git commit -qm 'Add one' && echo two > two.txt]]";
    let session = house.session(title, task);
    house.wait_for(&session, "idle");
    let tree = house.repository().join(".worktrees").join(&session);
    until("the agent has worked", || tree.join("two.txt").exists());
    (session, tree)
}

/// A worktree that was removed by hand is made anew when its session goes on; nobody has to know git for that.
#[test]
fn a_worktree_removed_by_hand_is_made_anew_from_its_branch() {
    let house = House::new();
    house.start();
    let (session, tree) = worked(&house, "Add one");
    fs::remove_dir_all(&tree).unwrap();
    house.ao(&["stop", &session]).succeeds();
    house.ao(&["session", "restore", &session]).succeeds();
    house.wait_for(&session, "idle");
    assert_eq!(fs::read_to_string(tree.join("one.txt")).unwrap(), "one\n", "what was committed is there");
    assert!(!tree.join("two.txt").exists());
    let events = house.ao(&["events"]).succeeds().out;
    assert!(events.contains("was deleted; it is recreated from its branch"), "{events}");
    house.ao(&["send", &session, "[[say still here]]"]).succeeds();
}

/// With the data folder lost, the worktrees that it knew are nobody's. They are explained, and never touched.
#[test]
fn a_lost_data_folder_with_worktrees_left_is_explained_with_the_cure() {
    let house = House::new();
    house.start();
    let (session, tree) = worked(&house, "Add one");
    house.ao(&["stop", &session]).succeeds();
    house.ao(&["stop"]).succeeds();
    fs::remove_dir_all(house.path("data")).unwrap();
    house.start();
    let again = house.session("Add one", "[[say hello]]");
    assert_eq!(again, session, "the new one gets the same name");
    house.wait_for(&again, "setup_failed");
    let cure = format!("git worktree remove {}", tree.display());
    let whole = house.status(&again)["status"]["reason"].as_str().unwrap().to_owned();
    assert!(whole.contains("a session that is not in this data folder") && whole.contains(&cure), "{whole}");
    assert!(!whole.contains("ses_"), "{whole}");
    house.ao(&["session", "cleanup", "--dry-run"]).succeeds().says("not in this data folder");
    assert!(tree.join("two.txt").exists(), "nothing of it was touched");

    // The cure works: git refuses until the work is safe, and the session goes on with what is on the branch.
    fs::remove_file(tree.join("two.txt")).unwrap();
    git(&house.repository(), &["worktree", "remove", tree.to_str().unwrap()]);
    house.ao(&["retry", &again]).succeeds();
    house.wait_for(&again, "idle");
    assert!(tree.join("one.txt").exists());
}

/// acceptance: W5
#[test]
fn a_discard_shows_what_is_lost_asks_and_leaves_a_way_back() {
    let house = House::new();
    house.start();
    let (session, tree) = worked(&house, "Add one");
    house.ao(&["session", "kill", &session]).succeeds().says("untracked").says("--discard");
    assert!(tree.exists());
    // Nobody is there to be asked.
    let refused = house.ao(&["session", "kill", &session, "--discard"]).exits(1);
    let refused = refused.says("1 uncommitted file").says("two.txt").says("1 unpushed commit");
    refused.says("Add one").says("--discard --yes");
    assert!(tree.exists());
    house.ao(&["session", "kill", &session, "--yes"]).exits(2);
    house.ao(&["session", "kill", &session, "--discard", "--yes"]).succeeds().says("refs/ao/rescue/");
    assert!(!tree.exists());
    house.ao(&["session", "kill", &session, "--discard", "--yes"]).succeeds().says("already gone");
    house.ao(&["session", "restore", &session]).succeeds();
    house.wait_for(&session, "idle");
    assert_eq!(fs::read_to_string(tree.join("two.txt")).unwrap(), "two\n", "all of it is back");
    assert!(tree.join("one.txt").exists());
}

/// A restore is advised only where it is taken.
#[test]
fn a_restore_is_not_advised_where_it_is_refused() {
    let house = House::new();
    house.start();
    house.ao(&["issue", "add", "One"]).succeeds();
    house.ao(&["spawn", "1", "--prompt", "[[say hello]]"]).succeeds();
    house.wait_for("issue-1", "idle");
    house.ao(&["stop", "issue-1"]).succeeds();
    let advised = |session: &str| {
        let explained = house.ao(&["explain", session]).succeeds().out;
        let sent = house.ao(&["send", session, "go on"]).exits(1).err;
        (explained.contains("session restore"), sent.contains("session restore"))
    };
    assert_eq!(advised("app-1"), (true, true));
    house.ao(&["issue", "close", "1"]).succeeds();
    until("the daemon knows that it is closed", || !house.status("app-1")["canRestore"].as_bool().unwrap());
    assert_eq!(advised("app-1"), (false, false));
    house.ao(&["session", "restore", "app-1"]).exits(1).says("closed");
}

/// Work that was not committed is gone with the folder, and nobody is told otherwise.
#[test]
fn a_worktree_removed_by_hand_is_told_of_and_passes_for_no_work_that_is_kept() {
    let house = House::new();
    house.start();
    let (session, tree) = worked(&house, "Add one");
    house.ao(&["status", &session]).succeeds().says(tree.to_str().unwrap());
    fs::remove_dir_all(&tree).unwrap();
    let told = house.ao(&["status", &session]).succeeds().out;
    assert!(told.contains("was deleted"), "{told}");
    let stopped = house.ao(&["stop", &session]).succeeds().out;
    assert!(stopped.contains("was deleted") && !stopped.contains("kept in"), "{stopped}");
    assert!(stopped.contains(&format!("ao session restore {session}")), "{stopped}");
    house.ao(&["session", "restore", &session]).succeeds();
    house.wait_for(&session, "idle");
    let stopped = house.ao(&["stop", &session]).succeeds().out;
    assert!(stopped.contains("its work is kept in"), "{stopped}");
}
