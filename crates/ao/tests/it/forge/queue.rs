//! The merge queue as its users have it: real checks, real merges, and agents that hear what came of it.

use std::fs;

use serde_json::Value;

use super::times;
use crate::fleet::git;
use crate::house::{House, until};

/// Fails where all of `a`, `b` and `c` are.
const TOGETHER: &str = "    checks: [{ name: unit, command: 'test ! -e a -o ! -e b -o ! -e c || { echo error: a, b and c do not go together; exit 1; }' }]\n";
/// Waits for a file beside the repository, so that a test can look while it runs.
const PATIENT: &str = "    checks: [{ name: unit, command: 'n=0; until test -e \"$GATE\" -o $n -gt 600; do sleep 0.1; n=$((n+1)); done' }]\n";

impl House {
    fn queue(&self) -> Vec<Value> {
        let told = self.ao(&["queue", "--json"]).succeeds().json();
        told["queues"][0]["entries"].as_array().unwrap().clone()
    }

    fn queued(&self) -> Vec<String> {
        self.queue().iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
    }

    /// A worker with a pull request that is approved and green.
    fn approved(&self, title: &str, file: &str) -> (String, String) {
        let (session, number) = self.worker(title, file, "x");
        assert!(self.checked(&number), "{title} is green by itself");
        self.ao(&["pr", "approve", &number]).succeeds();
        (session, number)
    }

    /// The files that each commit of main has, the first one first.
    fn history(&self) -> Vec<Vec<String>> {
        let commits = git(&self.repository(), &["rev-list", "--reverse", "--first-parent", "main"]);
        let files = |commit: &str| git(&self.repository(), &["ls-tree", "-r", "--name-only", commit]);
        commits.lines().map(|commit| files(commit).lines().map(str::to_owned).collect()).collect()
    }
}

/// Three that are green by themselves break only together: the last one hears of it, and main never has all three.
/// acceptance: F13
#[test]
fn of_three_that_break_together_the_culprit_is_found_and_sent_its_output() {
    for rules in ["{ parallel: 3, batch: 1 }", "{ parallel: 2, batch: 3 }"] {
        let house = House::new();
        house.configure_project(&format!("{TOGETHER}    mergeQueue: {rules}"), "");
        house.start();
        let workers: Vec<(String, String)> =
            ["a", "b", "c"].iter().map(|file| house.approved(&format!("Add {file}"), file)).collect();
        house.ao(&["queue", "pause", "until all are there"]).succeeds();
        for (_, number) in &workers {
            house.ao(&["queue", "add", number]).succeeds().says("is queued");
        }
        let shown = house.ao(&["queue"]).succeeds();
        assert!(shown.out.contains("until all are there"), "{}", shown.out);
        house.ao(&["queue", "resume"]).succeeds();
        until("the queue to be empty", || house.queue().is_empty());

        assert_eq!(house.pull(&workers[0].1)["state"], "merged", "{rules}");
        assert_eq!(house.pull(&workers[1].1)["state"], "merged", "{rules}");
        assert_eq!(house.pull(&workers[2].1)["state"], "open", "{rules}");
        let red = |files: &Vec<String>| ["a", "b", "c"].iter().all(|file| files.iter().any(|f| f == file));
        assert!(!house.history().iter().any(red), "main is never red: {:?}", house.history());
        let (culprit, _) = &workers[2];
        until("the culprit to hear of it", || times(&house.turns(culprit), "left the merge queue") == 1);
        let told = house.turns(culprit).join("\n");
        assert!(told.contains("> error: a, b and c do not go together"), "{told}");
        assert!(
            told.contains("Add b") && told.contains("has landed since the branch began"),
            "what landed in between: {told}"
        );
        for (innocent, _) in &workers[..2] {
            assert_eq!(times(&house.turns(innocent), "left the merge queue"), 0, "{rules}");
        }
    }
}

#[test]
fn what_is_queued_can_be_moved_up_held_back_and_taken_out() {
    let house = House::new();
    house.configure_project(
        "    checks: [{ name: unit, command: 'true' }]\n    mergeQueue: { parallel: 1 }",
        "",
    );
    house.start();
    for file in ["a", "b", "c"] {
        house.approved(&format!("Add {file}"), file);
    }
    house.ao(&["queue"]).succeeds().says("nothing is queued");
    house.ao(&["queue", "pause"]).succeeds();
    // With a queue configured, a merge is a place in it.
    house.ao(&["pr", "merge", "1"]).succeeds().says("is queued");
    house.ao(&["queue", "add", "2"]).succeeds();
    house.ao(&["queue", "add", "3", "--priority", "5"]).succeeds();
    assert_eq!(house.queued(), ["my-app!3", "my-app!1", "my-app!2"]);
    house.ao(&["queue", "priority", "2", "9"]).succeeds();
    assert_eq!(house.queued(), ["my-app!2", "my-app!3", "my-app!1"]);
    assert!(house.queue().iter().all(|entry| entry["waits"].as_str().unwrap().contains("paused")));
    house.ao(&["queue", "remove", "3"]).succeeds();
    house.ao(&["queue", "remove", "3"]).exits(1).says("is not in the merge queue");
    house.ao(&["queue", "resume"]).succeeds();
    until("the queue to be empty", || house.queue().is_empty());
    let new = |files: &Vec<String>| files.iter().filter(|file| file.len() == 1).cloned().collect::<String>();
    let grown: Vec<String> = house.history().iter().map(new).collect();
    assert_eq!(grown[grown.len() - 2..], ["b", "ab"], "the urgent one first, and 3 not at all");
    assert_eq!(house.pull("3")["state"], "open");
    // Past the queue, for a person who cannot wait.
    house.ao(&["pr", "merge", "3", "--now"]).succeeds().says("is merged");
}

#[test]
fn what_may_not_be_merged_is_not_queued_and_says_why() {
    let house = House::new();
    house.configure_project("    checks: [{ name: unit, command: 'true' }]", "");
    house.start();
    let (_, number) = house.worker("Add a", "a", "x");
    house.ao(&["queue", "add", &number]).exits(20).says("may not be merged").says("approv");
    house.ao(&["queue", "add", "99"]).exits(5);
    house.ao(&["queue", "priority", &number, "3"]).exits(1).says("is not in the merge queue");
    house.ao(&["pr", "merge", &number, "--queue"]).exits(20);
}

/// Killed while it tests, the daemon tests again, and each lands once.
#[test]
fn a_daemon_that_is_killed_in_the_middle_lands_everything_once() {
    let house = House::new();
    let gate = house.path("gate");
    let rules = "    mergeQueue: { parallel: 2, batch: 2 }";
    let checks = PATIENT.replace("$GATE", &gate.display().to_string());
    house.configure_project(&format!("{checks}{rules}"), "");
    house.start();
    fs::write(&gate, "").unwrap();
    for file in ["a", "b", "c"] {
        house.approved(&format!("Add {file}"), file);
    }
    // Main goes on, so that what the queue tests is something else than what was tested before.
    let repository = house.repository();
    super::commit(&repository, "Main goes on", &[("main.txt", b"x")]);
    fs::remove_file(&gate).unwrap();
    for number in ["1", "2", "3"] {
        house.ao(&["queue", "add", number]).succeeds();
    }
    let testing = || house.queue().iter().filter(|entry| entry["state"] == "testing").count();
    until("tests to run", || testing() >= 2);
    for _ in 0..2 {
        let pid = rustix::process::Pid::from_raw(house.daemon_pid()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        until("it to be gone", || rustix::process::test_kill_process(pid).is_err());
        house.start();
        until("the same tests to run again", || testing() >= 2);
    }
    fs::write(&gate, "").unwrap();
    until("the queue to be empty", || house.queue().is_empty());
    let titles = git(&repository, &["log", "--format=%s", "main"]);
    for file in ["a", "b", "c"] {
        assert_eq!(titles.matches(&format!("Add {file}")).count(), 1, "{titles}");
    }
}

/// Killed between a person's request and its landing, the daemon takes the request up again and merges it once, in the way
/// that was asked for.
#[test]
fn a_merge_that_a_person_asked_for_outlives_a_killed_daemon_and_lands_once() {
    let house = House::new();
    let (gate, repository) = (house.path("gate"), house.repository());
    let hook = format!("until test -e '{}'; do sleep 0.05; done", gate.display());
    // No `mergeQueue` is configured: a merge is on disk all the same.
    house.configure_project("", &format!("hooks: {{ before-merge: {} }}\n", serde_json::json!(hook)));
    house.start();
    super::branch(&repository, "feature", &[("a", b"x")]);
    let number = house.propose("feature", "Add a");
    let merge = ["pr", "merge", &number, "--merge", "--delete-branch"];
    let mut asking = house.command(&repository, &merge).spawn().unwrap();
    let is_asked = || house.queue().iter().any(|entry| entry["state"] == "tested");
    until("the hook to be asked", is_asked);
    let pid = rustix::process::Pid::from_raw(house.daemon_pid()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    until("it to be gone", || rustix::process::test_kill_process(pid).is_err());
    assert!(!asking.wait().unwrap().success(), "it has heard nothing");
    house.start();
    until("the hook to be asked again", is_asked);
    fs::write(&gate, "").unwrap();
    until("it to land", || house.pull(&number)["state"] == "merged");
    assert!(house.queue().is_empty());
    assert_eq!(git(&repository, &["rev-list", "--merges", "--count", "main"]), "1");
    assert_eq!(git(&repository, &["branch", "--format=%(refname:short)"]), "main");
    assert!(house.pull(&number)["mergedBy"].is_string(), "in the name of the one who asked");
    house.ao(&merge).succeeds().says("is merged");
}
