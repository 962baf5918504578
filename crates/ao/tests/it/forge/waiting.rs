//! Changes that wait for a person: shown first, advised, and told of once.

use serde_json::Value;

use super::branch;
use crate::house::{House, until};
use crate::notify::listener;

/// The work of a session, as programs read it.
fn work(house: &House, session: &str) -> Value {
    house.status(session)["work"].clone()
}

/// How many notices were ever raised.
fn raised(house: &House) -> usize {
    house.ao(&["events", "--after", "0", "--json"]).succeeds().out.matches("\"notice.raised\"").count()
}

/// acceptance: J4, J10
#[test]
fn a_change_that_waits_for_review_is_shown_and_advised_with_the_command_that_helps() {
    let house = House::new();
    house.configure_project(
        "    checks:\n      - { name: test, command: 'true' }",
        "lifecycle: { maxParallelAgents: 2 }\n",
    );
    house.start();
    let (first, one) = house.worker("First change", "one.txt", "1");
    let (second, two) = house.worker("Second change", "two.txt", "2");
    // All slots are taken, or were until a moment ago; both changes wait for a person all the same.
    house.session("Third", "[[say hello]]");
    assert!(house.checked(&one) && house.checked(&two));
    for session in [&first, &second] {
        until("its change to wait for a review", || work(&house, session)["stage"] == "review");
    }
    let told = work(&house, &first);
    assert_eq!(
        (&told["turn"], &told["pull"]["checks"], &told["pull"]["review"], &told["command"], &told["then"]),
        (
            &Value::from("you"),
            &Value::from("green"),
            &Value::from("waiting"),
            &Value::from(format!("ao pr diff {one}")),
            &Value::from(format!("ao approve {one}"))
        ),
        "{told}"
    );
    let shown = house.ao(&["status"]).succeeds();
    let needs = shown.out.split("\n\n").next().unwrap();
    assert!(needs.starts_with("Needs you\n"), "{}", shown.out);
    for (session, number) in [(&first, &one), (&second, &two)] {
        assert!(needs.contains(session.as_str()), "{}", shown.out);
        assert!(needs.contains(&format!("→ ao pr diff {number} then ao approve {number}")), "{}", shown.out);
    }
    house.ao(&["status", &first]).succeeds().says("waits for your review").says("checks green");
    house.ao(&["list"]).succeeds().says("yours").says(&format!("!{one}")).says("green");
    let advice = house.ao(&["advise", "--json"]).succeeds().json();
    let review = |number: &str| {
        let all = advice["advice"].as_array().unwrap();
        all.iter()
            .find(|one| one["kind"] == "review" && one["subject"] == format!("my-app!{number}"))
            .cloned()
    };
    let advised = review(&one).unwrap_or_else(|| panic!("{advice}"));
    assert!(review(&two).is_some(), "{advice}");
    // What is advised works as it stands, and does no harm.
    let words: Vec<&str> = advised["do"].as_str().unwrap().split_whitespace().skip(1).collect();
    house.ao(&words).succeeds().says("one.txt");
    let then: Vec<&str> = told["then"].as_str().unwrap().split_whitespace().skip(1).collect();
    house.ao(&then).succeeds().says("is approved and merged");
    until("the merge to be seen", || work(&house, &first)["turn"] == "done");
    let advice = house.ao(&["advise"]).succeeds();
    assert!(!advice.out.contains(&format!("my-app!{one} ")), "{}", advice.out);
}

/// A pull request without a session of ours is work too.
#[test]
fn a_change_without_a_session_is_shown_and_nothing_is_said_to_be_done() {
    let house = House::new();
    house.start();
    house.ao(&["advise"]).succeeds().says("Nothing needs you now");
    branch(&house.repository(), "by-hand", &[("hand.txt", b"1")]);
    let number = house.propose("by-hand", "By hand");
    until("it to be known", || house.ao(&["status"]).succeeds().out.contains(&format!("my-app!{number}")));
    let shown = house.ao(&["status"]).succeeds();
    assert!(shown.out.starts_with("Needs you\n"), "{}", shown.out);
    assert!(shown.out.contains("no checks"), "{}", shown.out);
    let advice = house.ao(&["advise"]).succeeds();
    assert!(!advice.out.contains("Nothing needs you now"), "{}", advice.out);
    house.ao(&["pr", "close", &number]).succeeds();
    until("it to be closed", || house.ao(&["advise"]).succeeds().out.contains("Nothing needs you now"));
}

/// acceptance: J4
#[test]
fn many_changes_that_wait_are_told_of_together_and_once() {
    let (port, heard) = listener();
    let house = House::with(&format!(
        "notifiers:\n  team: {{ plugin: webhook, url: 'http://127.0.0.1:{port}/hook' }}\n\
         notificationRouting: {{ urgent: [team], action: [team], warning: [team], info: [team] }}\n"
    ));
    house.start();
    let mut numbers = vec![];
    for n in 0..5 {
        let (_, number) = house.worker(&format!("Change {n}"), &format!("{n}.txt"), "1");
        numbers.push(number);
    }
    let about_reviews = || -> Vec<String> {
        let heard = heard.lock().unwrap();
        heard
            .iter()
            .filter(|request| request.contains("wait for you") || request.contains("waits for you"))
            .cloned()
            .collect()
    };
    until("a digest", || !about_reviews().is_empty());
    let told = about_reviews();
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(told[0].contains("5 pull requests wait for you"), "{}", told[0]);
    for number in &numbers {
        assert!(told[0].contains(&format!("my-app!{number}: ")), "{}", told[0]);
    }
    // A start is no reason to tell it again.
    let before = raised(&house);
    house.ao(&["stop"]).succeeds();
    house.start();
    until("all to be shown again", || {
        house.ao(&["status"]).succeeds().out.matches(" review ").count() >= numbers.len()
    });
    assert_eq!(raised(&house), before);
    assert_eq!(about_reviews().len(), 1);
}

/// Checks run on the merged tree, so a change that conflicts has none that could come to an end.
///
/// acceptance: J10
#[test]
fn an_approval_of_a_change_that_conflicts_does_not_wait_for_its_checks() {
    let house = House::new();
    house.configure_project("    checks:\n      - { name: test, command: 'true' }", "");
    house.start();
    let (_, one) = house.worker("One way", "same.txt", "1");
    let (_, two) = house.worker("Another way", "same.txt", "2");
    house.ao(&["approve", &one]).succeeds();
    until("the other one to conflict", || {
        let shown = house.ao(&["pr", "show", &two, "--json"]).succeeds().json();
        shown["mergeable"] == "conflict" || shown["pull"]["mergeable"] == "conflict"
    });
    house.ao(&["approve", &two]).exits(20).says("conflicts with `main`");
}
