//! Checks: asked for, listed, read, run again; and never run unasked.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::Value;

use super::{branch, commit};
use crate::fleet::git;
use crate::house::{House, Ran, until};

/// Each leaves a line in a file outside of its checkout for every time that it really runs.
fn house(checks: &str) -> House {
    let house = House::new();
    let ran = house.path("tmp/ran").display().to_string();
    house.configure_project(&checks.replace("RAN", &ran), "lifecycle: { maxParallelChecks: 4 }\n");
    house.start();
    house
}

impl House {
    /// How often a check has really run.
    fn ran(&self, check: &str) -> usize {
        let lines = fs::read_to_string(self.path("tmp/ran")).unwrap_or_default();
        lines.lines().filter(|line| *line == check).count()
    }

    fn check_runs(&self, args: &[&str]) -> Vec<Value> {
        let listed = self.ao(&[&["check", "list", "--json"], args].concat()).succeeds().json();
        listed["runs"].as_array().unwrap().clone()
    }
}

const WORDS: &str = r#"
    checks:
      - name: words
        command: echo words >> RAN; cat word.txt; ! grep -n bad word.txt
      - name: style
        command: echo style >> RAN; test ! -e ugly.txt
        required: false
      - name: docs
        command: echo docs >> RAN
        paths: ["docs/**", "*.md"]
"#;

#[test]
fn checks_are_run_listed_read_and_run_again_with_exit_codes_for_scripts() {
    let house = house(WORDS);
    branch(&house.repository(), "feature", &[("word.txt", b"a bad word\n"), ("ugly.txt", b"")]);
    house.propose("feature", "Feature");
    assert!(!house.checked("1"));
    let of = |name: &str| {
        let runs = house.check_runs(&["--pull", "1"]);
        runs.iter().find(|run| run["check"] == name).map(|run| run["state"].as_str().unwrap().to_owned())
    };
    assert_eq!((of("words"), of("style")), (Some("failed".into()), Some("failed".into())));
    assert_eq!(of("docs"), Some("skipped".into()), "the change has nothing to do with it");
    assert_eq!((house.ran("words"), house.ran("docs")), (1, 0));
    house.ao(&["pr", "checks", "1"]).exits(18).says("words");
    house.ao(&["check", "logs", "words"]).succeeds().says("a bad word");
    house.ao(&["check", "logs", "nothing"]).exits(5).says("`words`");

    // Asked for once more there is the same answer, and nothing is run for it; unless that is asked for.
    house.ao(&["check", "run", "1", "--only", "words"]).exits(18).says("words");
    assert_eq!(house.ran("words"), 1);
    house.ao(&["check", "rerun", "words", "--pull", "1"]).exits(18).says("a bad word");
    assert_eq!(house.ran("words"), 2);
    house.ao(&["check", "run", "1", "--only", "words", "--again", "--json"]).exits(18);
    assert_eq!(house.ran("words"), 3);
    house.ao(&["check", "run", "1", "--only", "wrods"]).exits(1).says("words, style, docs");
    house.ao(&["check", "run", "--revision", "main", "--only", "docs"]).succeeds();
    assert_eq!(
        house.ran("docs"),
        1,
        "of a commit as it is nobody knows what it changes, so nothing is skipped"
    );
    house.ao(&["check", "run", "--revision", "nowhere"]).exits(1).says("nowhere");
    house.ao(&["check", "run", "9"]).exits(5);

    // What is required stands in the way, and what is not does not.
    house.ao(&["pr", "merge", "1"]).exits(20).says("words");
    git(&house.repository(), &["switch", "--quiet", "feature"]);
    commit(&house.repository(), "Mend it", &[("word.txt", b"a good word\n")]);
    git(&house.repository(), &["switch", "--quiet", "main"]);
    until("words to pass", || of("words").as_deref() == Some("passed"));
    until("style to end", || of("style").as_deref() == Some("failed"));
    house.ao(&["pr", "merge", "1"]).succeeds();
}

#[test]
fn what_would_land_is_checked_and_the_same_tree_only_once() {
    let house = house(WORDS);
    let repository = house.repository();
    branch(&repository, "feature", &[("word.txt", b"a good word\n")]);
    commit(&repository, "The base goes on", &[("ugly.txt", b"")]);
    house.propose("feature", "Feature");
    house.checked("1");
    let runs = house.check_runs(&["--pull", "1"]);
    let style = runs.iter().find(|run| run["check"] == "style").unwrap();
    assert_eq!(style["state"], "failed", "the head has no such file, but what would land has: {style}");
    assert_eq!(house.ran("words"), 1);
    // Another branch with the same tree, and then what lands itself: nothing new has to be run.
    git(&repository, &["branch", "twin", "feature"]);
    house.propose("twin", "Twin");
    house.checked("2");
    let runs = house.check_runs(&["--pull", "2"]);
    let words = runs.iter().find(|run| run["check"] == "words").unwrap();
    assert_eq!(words["state"], "passed");
    assert!(words["sameAs"].is_string(), "{words}");
    house.ao(&["check", "logs", "words", "--pull", "2"]).succeeds().says("a good word");
    house.ao(&["pr", "merge", "1"]).succeeds();
    assert_eq!(house.ran("words"), 1);
    assert_eq!(git(&repository, &["status", "--porcelain"]), "?? agent-orchestrator.yaml");
}

#[test]
fn output_is_followed_as_it_comes_and_a_check_ends_when_the_head_moves() {
    let house = House::new();
    let gate = house.path("tmp/gate");
    let check = format!(
        "    checks:\n      - name: slow\n        command: \"echo begun; until test -e {}; do sleep 0.02; done; echo over\"\n",
        gate.display()
    );
    house.configure_project(&check, "");
    house.start();
    let repository = house.repository();
    branch(&repository, "feature", &[("a.txt", b"a\n")]);
    house.propose("feature", "Feature");
    until("it to run", || house.check_runs(&[]).iter().any(|run| run["state"] == "running"));
    house.ao(&["pr", "checks", "1"]).exits(19).says("slow");

    let told = house.path("tmp/told");
    let follow = |to| {
        let mut following = house.command(&repository, &["check", "logs", "slow", "--pull", "1", "-f"]);
        following.stdout(fs::File::create(to).unwrap()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut following = follow(&told);
    until("its first line", || fs::read_to_string(&told).unwrap() == "begun\n");
    assert!(following.try_wait().unwrap().is_none(), "it goes on for as long as the check does");

    // A new head ends what runs for the old one, and who follows hears of the end.
    let first = house.pull("1")["head"].as_str().unwrap().to_owned();
    git(&repository, &["switch", "--quiet", "feature"]);
    commit(&repository, "More", &[("a.txt", b"b\n")]);
    git(&repository, &["switch", "--quiet", "main"]);
    until("the old run to be cancelled", || {
        let runs = house.check_runs(&["--pull", "1"]);
        runs.iter().any(|run| run["head"] == first.as_str() && run["state"] == "cancelled")
    });
    Ran::of(following.wait_with_output().unwrap()).succeeds();
    assert_eq!(fs::read_to_string(&told).unwrap(), "begun\n");

    let second = house.path("tmp/second");
    until("the new run", || house.check_runs(&[]).iter().any(|run| run["state"] == "running"));
    let following = follow(&second);
    until("its first line", || fs::read_to_string(&second).unwrap() == "begun\n");
    fs::write(gate, "").unwrap();
    Ran::of(following.wait_with_output().unwrap()).succeeds();
    assert_eq!(fs::read_to_string(&second).unwrap(), "begun\nover\n");
    assert!(house.checked("1"));
}

#[test]
fn without_checks_some_are_proposed_and_nothing_is_run_unasked() {
    let house = House::new();
    let ran = house.path("tmp/ran");
    let script = format!("#!/bin/sh\necho ran >> {}\n", ran.display());
    let makefile = format!("test:\n\techo ran >> {}\n", ran.display());
    commit(
        &house.repository(),
        "Build",
        &[("Makefile", makefile.as_bytes()), (".ci/run", script.as_bytes())],
    );
    house.start();
    let proposed = || {
        let listed = house.ao(&["check", "list", "--json"]).succeeds().json();
        assert_eq!(listed["checks"], serde_json::json!([]));
        let proposed = listed["proposed"].as_array().unwrap().clone();
        proposed.iter().map(|it| it["command"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(proposed(), ["make test"]);
    // A script that is there for it is all that is proposed.
    fs::set_permissions(house.repository().join(".ci/run"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(proposed(), [".ci/run"]);
    house.ao(&["check", "list"]).succeeds().says("checks:").says("never run by themselves");
    branch(&house.repository(), "feature", &[("a.txt", b"a\n")]);
    house.propose("feature", "Feature");
    assert_eq!(house.pull("1")["checks"], "none");
    house.ao(&["check", "run", "1"]).exits(1).says("no checks are configured");
    house.ao(&["pr", "merge", "1"]).succeeds();
    assert!(!ran.exists(), "nobody asked for it");
}
