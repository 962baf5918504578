//! A project without checks: it merges as its policy says, and no word is said of a check that is to come.

use serde_json::Value;

use crate::house::{House, Ran, until};

/// Says nothing of a check that has not reported, runs or is waited for.
#[track_caller]
fn awaits_no_check(ran: Ran) -> Ran {
    let said = format!("{}{}", ran.out, ran.err);
    for claim in ["no check has", "its checks", "the checks", "still running", "pending"] {
        assert!(!said.contains(claim), "`{claim}` in\n{said}");
    }
    ran
}

fn rule<'a>(explained: &'a Value, name: &str) -> &'a Value {
    let rules = explained["rules"].as_array().unwrap();
    rules.iter().find(|rule| rule["rule"] == name).unwrap_or_else(|| panic!("{name}: {explained}"))
}

/// acceptance: J6
#[test]
fn without_checks_a_change_is_merged_unasked_as_its_policy_says() {
    let house = House::new();
    house.configure_project("    policy: { approvals: 1, autoMerge: true }", "");
    house.start();
    let (session, number) = house.worker("Add a", "a", "x");
    for args in [
        &["status"][..],
        &["status", &session],
        &["advise"],
        &["pr", "list"],
        &["pr", "show", &number],
        &["pr", "checks", &number],
        &["policy", "explain", &number],
    ] {
        awaits_no_check(house.ao(args).succeeds());
    }
    let explained = house.ao(&["policy", "explain", &number, "--json"]).succeeds().json();
    let checks = rule(&explained, "checks");
    assert_eq!((&checks["holds"], &checks["evidence"]), (&true.into(), &"none are configured".into()));
    // Only the approval is missing, for the queue and for a merge alike.
    for args in [["queue", "add", &number], ["pr", "merge", &number]] {
        awaits_no_check(house.ao(&args).exits(20).says("approvals"));
    }
    house.ao(&["pr", "approve", &number]).succeeds();
    until("it to land unasked", || house.pull(&number)["state"] == "merged");
    house.ao(&["wait", &session, "--for", "merged", "--timeout", "60"]).succeeds();
    assert!(
        house.turns(&session).iter().all(|turn| !turn.contains("no check")),
        "{:?}",
        house.turns(&session)
    );
}

/// acceptance: J6
#[test]
fn without_checks_and_with_no_approval_asked_for_nothing_is_in_the_way() {
    let house = House::new();
    house.configure_project("    policy: { approvals: 0, autoMerge: true }", "");
    house.start();
    let (_, number) = house.worker("Add a", "a", "x");
    until("it to land unasked", || house.pull(&number)["state"] == "merged");
}

/// acceptance: J6
#[test]
fn the_queue_takes_and_lands_what_has_no_checks() {
    let house = House::new();
    house.configure_project("    mergeQueue: { parallel: 2, batch: 2 }", "");
    house.start();
    house.ao(&["queue", "pause", "for a look"]).succeeds();
    for file in ["a", "b", "c"] {
        let (_, number) = house.worker(&format!("Add {file}"), file, "x");
        house.ao(&["pr", "approve", &number]).succeeds();
        awaits_no_check(house.ao(&["queue", "add", &number]).succeeds().says("is queued"));
    }
    awaits_no_check(house.ao(&["queue"]).succeeds());
    house.ao(&["queue", "resume"]).succeeds();
    for number in ["1", "2", "3"] {
        until("it to land", || house.pull(number)["state"] == "merged");
    }
}

#[test]
fn checks_count_from_when_they_are_configured_until_they_are_taken_away() {
    let house = House::new();
    house.start();
    let (_, number) = house.worker("Add a", "a", "x");
    house.ao(&["pr", "approve", &number]).succeeds();
    assert_eq!(house.pull(&number)["checks"], "none");
    house.ao(&["config", "set", "projects.my-app.checks", "['false']"]).succeeds();
    until("it to be checked from now on", || house.pull(&number)["checks"] == "failed");
    house.ao(&["queue", "add", &number]).exits(20).says("checks (");
    house.ao(&["config", "unset", "projects.my-app.checks"]).succeeds();
    until("no check to count", || house.pull(&number)["checks"] == "none");
    until("the queue to take it", || house.ao(&["queue", "add", &number]).code == 0);
    until("it to land", || house.pull(&number)["state"] == "merged");
}

#[test]
fn a_required_check_that_is_not_configured_is_told_as_that() {
    let house = House::new();
    house.configure_project("    policy: { approvals: 0, requiredChecks: [unit] }", "");
    house.start();
    let (_, number) = house.worker("Add a", "a", "x");
    let told = house.ao(&["policy", "explain", &number]).succeeds();
    awaits_no_check(told.says("not configured: unit").says("add them to the project's `checks`"));
}
