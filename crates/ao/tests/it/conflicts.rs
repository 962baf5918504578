//! Two agents change the same lines, and hear of it before either of them has committed anything.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::fleet::git;
use crate::house::{House, until};

const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

/// A house whose repository has a file of ten lines.
fn house() -> House {
    let house = House::new();
    fs::write(house.repository().join("lines.txt"), TEN).unwrap();
    git(&house.repository(), &["add", "lines.txt"]);
    git(&house.repository(), &["commit", "--quiet", "-m", "Ten lines"]);
    house.start();
    house
}

impl House {
    /// An agent that has changed the fifth line, and committed nothing.
    fn changes_line_five(&self, title: &str, to: &str) -> String {
        let session = self.session(title, &format!("[[tool sed -i 's/^5$/{to}/' lines.txt]]"));
        until("it is changed", || {
            let tree = self.status(&session)["workspace"]["path"].as_str().map(PathBuf::from);
            tree.is_some_and(|tree| {
                fs::read_to_string(tree.join("lines.txt")).is_ok_and(|text| text.contains(to))
            })
        });
        self.wait_for(&session, "idle");
        session
    }

    fn conflicts(&self) -> Value {
        self.ao(&["conflicts", "--json"]).succeeds().json()
    }

    fn tree(&self, session: &str) -> PathBuf {
        self.status(session)["workspace"]["path"].as_str().expect("it has a tree").into()
    }

    fn forecasts(&self, session: &str) -> Vec<String> {
        self.turns(session).into_iter().filter(|turn| turn.contains("A forecast")).collect()
    }
}

#[test]
fn both_agents_hear_of_a_clash_of_what_they_have_not_committed() {
    let house = house();
    house.ao(&["conflicts"]).succeeds().says("nothing to compare");
    let one = house.changes_line_five("One", "five");
    let other = house.changes_line_five("Other", "FIVE");
    for (session, about) in [(&one, &other), (&other, &one)] {
        until("the agent hears of it", || !house.forecasts(session).is_empty());
        let told = house.forecasts(session).remove(0);
        assert!(told.contains("lines.txt: your lines 5 against 5"), "{told}");
        assert!(told.contains(&format!("session {about} on ")), "{told}");
        assert_eq!(
            git(&house.tree(session), &["diff", "--cached", "--name-only"]),
            "",
            "the index is theirs"
        );
        assert_eq!(git(&house.tree(session), &["diff", "--name-only"]), "lines.txt");
    }

    let pair = format!("{one} × {other}");
    let shown = house.ao(&["conflicts"]).succeeds().says("lines.txt:5 / 5");
    assert!(shown.out.contains(&pair) || shown.out.contains(&format!("{other} × {one}")), "{}", shown.out);
    house
        .ao(&["conflicts", &one, &other])
        .succeeds()
        .says("<<<<<<< ")
        .says("five")
        .says("FIVE")
        .says("before");
    house.ao(&["conflicts", &one, "nobody"]).exits(5).says("nobody").says("ao conflicts");
    let told = house.conflicts();
    assert_eq!(told["clashes"][0]["files"][0]["path"], "lines.txt", "{told}");
    assert_eq!(told["clashes"][0]["files"][0]["hunks"][0]["a"]["first"], 5, "{told}");

    // It is told once, however often it is looked at; and what is undone is no clash any more.
    house.ao(&["send", &other, "[[tool git checkout --quiet lines.txt]]"]).succeeds();
    until("it is over", || house.conflicts()["clashes"] == Value::Array(vec![]));
    house.ao(&["conflicts"]).succeeds().says("all of them merge with each other");
    assert_eq!((house.forecasts(&one).len(), house.forecasts(&other).len()), (1, 1));
}

#[test]
fn an_issue_that_names_a_file_which_an_agent_changes_waits_for_it() {
    let house = house();
    let one = house.changes_line_five("One", "five");
    // Whoever looks has the engine know what it has changed.
    assert_eq!(house.conflicts()["branches"][0]["files"], 1);
    let issue = house
        .ao(&["issue", "add", "Mend the list", "--body", "See `lines.txt:5`.", "--json"])
        .succeeds()
        .json();
    let number = issue["id"].as_str().unwrap().rsplit('#').next().unwrap().to_owned();
    let spawned = house.ao(&["spawn", &number, "--json"]).succeeds().json();
    let held = spawned["session"]["name"].as_str().expect("a session has a name").to_owned();
    assert_eq!(house.state(&held), "queued");
    house.ao(&["explain", &held]).succeeds().says(&format!("`{one}` changes just now: lines.txt"));
    house.ao(&["session", "kill", &one]).succeeds();
    until("it begins", || house.state(&held) != "queued");
}

/// A look reads every tree, and anybody may ask.
#[test]
fn who_asks_again_at_once_is_told_what_was_seen_just_now() {
    let house = house();
    house.changes_line_five("One", "five");
    until("an answer is given twice", || house.conflicts()["at"] == house.conflicts()["at"]);
    let before = house.conflicts()["at"].clone();
    until("it is looked again", || house.conflicts()["at"] != before);
}
