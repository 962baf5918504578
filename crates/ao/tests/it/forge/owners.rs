//! Whose pull request it is.

use std::fs;

use super::{branch, commit};
use crate::fleet::git;
use crate::house::{House, bare_copy};

/// acceptance: F8
#[test]
fn a_session_keeps_its_pull_request_when_it_renames_its_branch() {
    let house = House::new();
    house.start();
    let (session, _) = house.worker("First", "a.txt", "a\\n");
    let (old, before) = (house.pull("1")["head"].clone(), house.pull("1")["headBranch"].clone());
    let before = before.as_str().unwrap().to_owned();
    house.agent_runs(&session, "git branch -m my/renamed && echo b >> a.txt && git commit -qam More");
    // It may be looked at between the two.
    let pull = house.pull_titled("First", |pull| pull["headBranch"] == "my/renamed" && pull["head"] != old);
    let tip = git(&house.repository(), &["rev-parse", "my/renamed"]);
    assert_eq!((&pull["head"], &pull["session"]), (&tip.as_str().into(), &session.as_str().into()));
    // What is said of it goes on to reach its agent.
    house.ao(&["pr", "comment", "1", "After the renaming.", "--at", "a.txt:2"]).succeeds();
    assert_eq!(super::times(&house.turns_until_now(&session), "After the renaming."), 1);

    // A stranger's branch that has the old name is not its own, and neither is one that has the new name.
    let stranger = house.path("stranger");
    bare_copy(&house.repository(), &house.path("stranger.git"));
    git(&house.path(""), &["clone", "--quiet", "stranger.git", "stranger"]);
    for name in [before.as_str(), "my/renamed"] {
        git(&stranger, &["switch", "--quiet", "-C", name, "main"]);
        commit(&stranger, "Strange", &[("strange.txt", name.as_bytes())]);
        git(&stranger, &["push", "--quiet", "--force", "origin", name]);
    }
    let url = house.path("stranger.git").display().to_string();
    git(&house.repository(), &["remote", "add", "stranger", &url]);
    git(&house.repository(), &["fetch", "--quiet", "stranger"]);
    house.propose(&before, "Strange");
    let strange = house.pull_titled("Strange", |_| true);
    assert_eq!(strange["session"], serde_json::Value::Null, "{strange}");
    assert_eq!(strange["head"], git(&stranger, &["rev-parse", &before]).as_str());
    let first = house.pull("1");
    assert_eq!((&first["head"], &first["session"]), (&tip.as_str().into(), &session.as_str().into()));
}

/// acceptance: F8
#[test]
fn several_stacked_and_forked_pull_requests_belong_to_the_session_that_made_them() {
    let house = House::new();
    bare_copy(&house.repository(), &house.path("fork.git"));
    git(&house.repository(), &["remote", "add", "fork", &house.path("fork.git").display().to_string()]);
    house.start();
    let (session, _) = house.worker("First", "a.txt", "a\\n");
    let write =
        |name: &str| format!("echo {name} > {name}.txt && git add {name}.txt && git commit -qm {name}");
    house.agent_runs(
        &session,
        &format!(
            "git switch -q -c second main && {} && ao pr create --title Second && \
             git switch -q -c third && {} && ao pr create --title Third --base second",
            write("second"),
            write("third")
        ),
    );
    let mine = |title: &str| {
        let pull = house.pull_titled(title, |pull| pull["session"] == session.as_str());
        house.pull(&pull["number"].to_string())
    };
    let (second, third) = (mine("Second"), mine("Third"));
    assert_eq!((&third["stackedOn"], &second["stacked"]), (&second["id"], &serde_json::json!([third["id"]])));
    assert_eq!(third["files"], serde_json::json!(["third.txt"]), "a stacked one shows its own change");
    // What is only in a fork, or was proposed by somebody else, is known by who made the commits.
    house.agent_runs(
        &session,
        &format!(
            "git switch -q -c forked main && {} && git push -q fork forked && git switch -q third && git branch -qD forked",
            write("forked")
        ),
    );
    house.propose("forked", "Forked");
    assert_eq!(mine("Forked")["headBranch"], "forked");
    house.agent_runs(
        &session,
        &format!("git switch -q -c fifth main && {} && git switch -q third", write("fifth")),
    );
    house.propose("fifth", "Fifth");
    mine("Fifth");
    // What a person made is nobody's.
    branch(&house.repository(), "persons", &[("p.txt", b"p\n")]);
    house.propose("persons", "Person's");
    assert_eq!(house.pull_titled("Person's", |_| true)["session"], serde_json::Value::Null);
    let named = house.status(&session)["pulls"].as_array().map(Vec::len);
    assert_eq!(named, Some(5), "{}", house.status(&session));
    // Where its base lands, one that is stacked goes on to that one's own base.
    house.ao(&["pr", "merge", &second["number"].to_string()]).succeeds();
    let third = house.pull_titled("Third", |pull| pull["baseBranch"] == "main");
    assert_eq!(house.pull(&third["number"].to_string())["files"], serde_json::json!(["third.txt"]));
}

#[test]
fn a_pull_request_is_claimed_and_released_by_word() {
    let house = House::new();
    house.start();
    let (session, _) = house.worker("First", "a.txt", "a\\n");
    let other = house.session("Other", "work");
    house.ao(&["pr", "release", "1"]).succeeds().says("no session owns");
    house.agent_runs(&session, "echo b >> a.txt && git commit -qam More");
    let tip = git(&house.repository(), &["rev-parse", house.pull("1")["headBranch"].as_str().unwrap()]);
    let released = house.pull_titled("First", |pull| pull["head"] == tip.as_str());
    assert_eq!(released["session"], serde_json::Value::Null, "it is not taken back by the next commit");
    house.ao(&["pr", "claim", "1", &other]).succeeds().says(&other);
    house.ao(&["pr", "comment", "1", "Who answers?", "--at", "a.txt:1"]).succeeds();
    assert_eq!(super::times(&house.turns_until_now(&other), "Who answers?"), 1);
    assert_eq!(super::times(&house.turns_until_now(&session), "Who answers?"), 0);
    // One of a person's, by the session's own command.
    branch(&house.repository(), "persons", &[("p.txt", b"p\n")]);
    house.propose("persons", "Person's");
    house.ao(&["session", "claim-pr", &session, "2"]).succeeds();
    assert_eq!(house.pull("2")["session"], session.as_str());
    house.ao(&["pr", "claim", "1", "nobody"]).exits(5);
    house.ao(&["pr", "claim", "99", &other]).exits(5);
}

#[test]
fn a_session_on_the_default_branch_adopts_nothing() {
    let house = House::new();
    house.start();
    let session = house.session("Astray", "work");
    house.wait_for(&session, "idle");
    house.agent_runs(
        &session,
        "echo x > x.txt && git add x.txt && git commit -qm X && git branch work-of-a-session && \
         git switch -q --ignore-other-worktrees main",
    );
    house.propose("work-of-a-session", "Nobody's");
    let other = house.session("Another", "work");
    house.turns_until_now(&other);
    assert_eq!(house.pull("1")["session"], serde_json::Value::Null);
    assert_eq!(fs::read_to_string(house.repository().join("README.md")).unwrap(), "# app\n");
}
