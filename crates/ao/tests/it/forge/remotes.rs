//! Where changes land, with a remote and without one, and what is left of the sessions that made them.

use std::fs;
use std::path::PathBuf;

use super::{branch, commit};
use crate::fleet::git;
use crate::house::{House, bare_copy, until};

/// A worker commits, pushes as plainly as can be, and proposes; what it proposed is merged; its tree goes, and the user's
/// checkout has the change. Returns what `git push` has ended with.
fn loop_once(house: &House) -> String {
    let (repository, pushed) = (house.repository(), house.path("tmp/pushed"));
    let session = house.session(
        "Say hello",
        &format!(
            "[[tool echo hello > hello.txt && git add hello.txt && git commit -qm 'Say hello' && \
             {{ git push -q; echo $? > {}; ao pr create --title 'Say hello'; }}]]",
            pushed.display()
        ),
    );
    house.pull_titled("Say hello", |pull| pull["session"] == session.as_str());
    let tree = PathBuf::from(house.status(&session)["workspace"]["path"].as_str().unwrap());
    assert!(tree.join("hello.txt").exists());
    let before = git(&repository, &["rev-parse", "main"]);
    house.ao(&["pr", "merge", "1", "--squash"]).succeeds().says("is merged");
    assert_eq!(git(&repository, &["rev-parse", "main~1"]), before, "one step");
    assert_eq!(git(&repository, &["log", "-1", "--format=%s", "main"]), "Say hello (my-app!1)");
    assert_eq!(fs::read_to_string(repository.join("hello.txt")).unwrap(), "hello\n", "the checkout follows");
    assert_eq!(git(&repository, &["status", "--porcelain"]), "?? agent-orchestrator.yaml");
    until("the session to be done", || house.state(&session) == "merged");
    until("its tree to go", || !tree.exists());
    fs::read_to_string(pushed).unwrap().trim().to_owned()
}

/// acceptance: W8
#[test]
fn without_a_remote_a_push_goes_to_the_repository_itself() {
    let house = House::new();
    house.start();
    assert_eq!(loop_once(&house), "0");
}

/// acceptance: W8
#[test]
fn with_an_origin_the_agent_pushes_there_and_we_push_nothing() {
    let house = House::new();
    let (repository, origin) = (house.repository(), house.path("origin.git"));
    bare_copy(&repository, &origin);
    git(&repository, &["remote", "add", "origin", &origin.display().to_string()]);
    git(&repository, &["fetch", "--quiet", "origin"]);
    house.start();
    let before = git(&origin, &["rev-parse", "main"]);
    assert_eq!(loop_once(&house), "0");
    assert_eq!(git(&origin, &["rev-parse", "main"]), before, "what lands here is not pushed");
    let there = git(&origin, &["for-each-ref", "--format=%(refname:short)"]);
    assert_eq!(
        there.lines().collect::<Vec<_>>(),
        ["agent/app-say-hello", "main"],
        "only what the agent pushed"
    );
}

#[test]
fn an_origin_that_cannot_be_reached_keeps_nothing_from_landing() {
    let house = House::new();
    git(&house.repository(), &["remote", "add", "origin", &house.path("nowhere.git").display().to_string()]);
    house.start();
    assert_ne!(loop_once(&house), "0", "such a push cannot work");
}

#[test]
fn with_several_remotes_and_none_called_origin_a_push_goes_to_the_repository_itself() {
    let house = House::new();
    for name in ["one", "two"] {
        let remote = house.path(&format!("{name}.git"));
        bare_copy(&house.repository(), &remote);
        git(&house.repository(), &["remote", "add", name, &remote.display().to_string()]);
    }
    house.start();
    assert_eq!(loop_once(&house), "0");
    for name in ["one.git", "two.git"] {
        assert_eq!(git(&house.path(name), &["for-each-ref", "--format=%(refname:short)"]), "main");
    }
}

#[test]
fn changes_of_the_users_are_never_in_danger() {
    let house = House::new();
    let repository = house.repository();
    house.start();
    branch(&repository, "feature", &[("README.md", b"# my app\n"), ("new.txt", b"from the branch\n")]);
    house.propose("feature", "Feature");
    let before = git(&repository, &["rev-parse", "main"]);
    let refused = |file: &str, mine: &str| {
        house.ao(&["pr", "merge", "1"]).exits(20).says(file);
        assert_eq!(fs::read_to_string(repository.join(file)).unwrap(), mine);
        assert_eq!(git(&repository, &["rev-parse", "main"]), before);
        assert_eq!(house.pull("1")["state"], "open");
    };
    // A change that is not committed, and a file that git does not know.
    fs::write(repository.join("README.md"), "# mine\n").unwrap();
    refused("README.md", "# mine\n");
    git(&repository, &["add", "README.md"]);
    refused("README.md", "# mine\n");
    git(&repository, &["checkout", "--quiet", "HEAD", "--", "README.md"]);
    fs::write(repository.join("new.txt"), "mine\n").unwrap();
    refused("new.txt", "mine\n");
    fs::remove_file(repository.join("new.txt")).unwrap();
    // What is not in the way may stay.
    fs::write(repository.join("other.txt"), "mine\n").unwrap();
    house.ao(&["pr", "merge", "1"]).succeeds();
    assert_eq!(fs::read_to_string(repository.join("README.md")).unwrap(), "# my app\n");
    assert_eq!(fs::read_to_string(repository.join("other.txt")).unwrap(), "mine\n");
}

#[test]
fn a_base_that_has_gone_on_is_merged_with_and_a_conflict_is_named() {
    let house = House::new();
    let repository = house.repository();
    house.start();
    branch(&repository, "clean", &[("clean.txt", b"clean\n")]);
    branch(&repository, "clash", &[("README.md", b"# theirs\n")]);
    commit(&repository, "The base goes on", &[("README.md", b"# ours\n")]);
    house.propose("clean", "Clean");
    house.propose("clash", "Clash");
    house.ao(&["pr", "merge", "1", "--merge", "--delete-branch"]).succeeds();
    house.ao(&["pr", "merge", "2", "--anyway"]).exits(20).says("README.md");
    let clash = house.pull("2");
    assert_eq!(
        (&clash["mergeable"], &clash["conflicts"]),
        (&"conflict".into(), &serde_json::json!(["README.md"]))
    );
    assert_eq!(git(&repository, &["branch", "--format=%(refname:short)"]), "clash\nmain");
    assert_eq!(
        git(&repository, &["log", "--format=%p", "-1", "main"]).split(' ').count(),
        2,
        "a commit that joins both"
    );
    house.ao(&["pr", "close", "2"]).succeeds();
    assert_eq!(house.pull("2")["state"], "closed");
}

/// acceptance: W8
#[test]
fn a_session_that_was_squashed_by_hand_is_clean_and_a_kill_can_be_repeated() {
    let house = House::new();
    let repository = house.repository();
    house.start();
    let (session, _) = house.worker("Two steps", "steps.txt", "one\\n");
    house.agent_runs(&session, "echo two >> steps.txt && git commit -qam Two");
    let status = house.status(&session);
    let tree = PathBuf::from(status["workspace"]["path"].as_str().unwrap());
    git(&repository, &["merge", "--quiet", "--squash", status["branch"].as_str().unwrap()]);
    git(&repository, &["commit", "--quiet", "-m", "Both steps"]);
    house.ao(&["session", "kill", &session]).succeeds();
    assert!(!tree.exists(), "all of its work is in main");
    house.ao(&["session", "kill", &session]).succeeds();

    // Somebody has been faster.
    let session = house.session("Gone", "work");
    house.wait_for(&session, "idle");
    let tree = PathBuf::from(house.status(&session)["workspace"]["path"].as_str().unwrap());
    fs::remove_dir_all(&tree).unwrap();
    house.ao(&["session", "kill", &session]).succeeds();
    house.ao(&["session", "kill", &session]).succeeds();
}
