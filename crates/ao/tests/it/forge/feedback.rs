//! What an agent is told, what it is spared, and when a person hears of it.

use std::fs;

use serde_json::Value;

use super::{commit, times};
use crate::fleet::git;
use crate::house::{House, until};

/// A check that says of a change what the file outside of the repository says: pass, or fail with these words. The base passes.
fn checked_by(house: &House, reaction: &str, more: &str) {
    let verdict = house.path("verdict");
    fs::write(&verdict, "").unwrap();
    let project = format!(
        "    checks:\n      - name: unit\n        command: 'test ! -e a.txt || test ! -s {verdict} || {{ cat {verdict}; exit 1; }}'\n\
         \x20   reactions:\n      ci-failed: {{ {reaction} }}\n",
        verdict = verdict.display()
    );
    house.configure_project(&project, more);
}

impl House {
    fn verdict(&self, words: &str) {
        fs::write(self.path("verdict"), words).unwrap();
    }

    /// What people were told.
    fn notices(&self) -> Vec<String> {
        let events = self.ao(&["events", "--json", "--after", "0"]).succeeds().out;
        let events = serde_json::Deserializer::from_str(&events).into_iter::<Value>().map(Result::unwrap);
        let raised = events.filter(|event| event["kind"] == "notice.raised");
        let notices = raised.map(|event| event["data"]["raised"]["notice"].clone());
        // That a green change waits for a review is told, too, and is no failure.
        let failures = notices.filter(|notice| notice["incident"]["kind"] != "review-needed");
        failures.map(|notice| notice["text"].as_str().unwrap().to_owned()).collect()
    }

    /// Runs the checks of a pull request once more, and waits for their end.
    fn rerun(&self, number: &str) {
        let run = self.pull(number)["checkRuns"][0]["id"].as_str().unwrap().to_owned();
        // It waits for the end, and says by its exit code how that was.
        let ran = self.ao(&["check", "rerun", &run]);
        assert!([0, 18].contains(&ran.code), "{ran:?}");
    }
}

/// A flake that passes on its second run wakes nobody, and is remembered. acceptance: F3
#[test]
fn a_flake_wakes_nobody() {
    let house = House::new();
    let count = house.path("count");
    let project = format!(
        "    checks:\n      - name: unit\n        command: 'echo run >> {count}; test $(wc -l < {count}) -gt 1 || \
         {{ echo \"FAILED tests/test_net.py::test_slow - TimeoutError\"; exit 1; }}'\n",
        count = count.display()
    );
    house.configure_project(&project, "");
    house.start();
    let (session, number) = house.worker("Work", "a.txt", "a\\n");
    assert!(house.checked_after_doubt(&number), "the second run has passed");
    until("the base to be asked too", || fs::read_to_string(&count).unwrap().lines().count() == 3);
    let turns = house.turns_until_now(&session);
    assert_eq!(turns.len(), 2, "the task and the marker: {turns:#?}");
    assert_eq!(house.notices(), Vec::<String>::new());
    let flakes = house.ao(&["check", "flakes", "--json"]).succeeds().json();
    assert_eq!(
        (&flakes["flakes"][0]["check"], &flakes["flakes"][0]["times"]),
        (&"unit".into(), &1.into()),
        "{flakes}"
    );
}

impl House {
    /// Waits until the checks have passed, or have failed for good.
    fn checked_after_doubt(&self, number: &str) -> bool {
        until("the second run", || {
            let runs = self.pull(number)["checkRuns"].as_array().unwrap().clone();
            let ended = |run: &Value| run["state"] == "passed" || run["state"] == "failed";
            runs.iter().any(|run| run["state"] == "passed")
                || runs.iter().filter(|run| ended(run)).count() > 1
        });
        self.checked(number)
    }
}

/// Main itself is red: one word to a person, and nobody is woken; afterwards everything goes on by itself. acceptance: F3
#[test]
fn a_red_base_wakes_nobody_and_is_said_once() {
    let house = House::new();
    house.configure_project(
        "    checks:\n      - name: unit\n        command: 'test ! -e broken || { echo \"error: broken\"; exit 1; }'\n",
        "",
    );
    commit(&house.repository(), "Break it", &[("broken", b"x")]);
    house.start();
    let (one, first) = house.worker("One", "a.txt", "a\\n");
    let (two, second) = house.worker("Two", "b.txt", "b\\n");
    until("a person to be told", || !house.notices().is_empty());
    for (session, number) in [(&one, &first), (&two, &second)] {
        assert!(!house.checked(number));
        let turns = house.turns_until_now(session);
        assert_eq!(turns.len(), 2, "the task and the marker: {turns:#?}");
    }
    let held = house.ao(&["explain", &one, "--json"]).succeeds().json()["incidents"][0]["held"].clone();
    assert_eq!(held, "the base itself fails; no agent is notified until it passes");
    let notices = house.notices();
    assert_eq!(notices.len(), 1, "{notices:#?}");
    assert!(notices[0].contains("`unit`") && notices[0].contains("main"), "{notices:?}");

    git(&house.repository(), &["rm", "--quiet", "broken"]);
    git(&house.repository(), &["commit", "--quiet", "-m", "Mend it"]);
    for number in [&first, &second] {
        until("the pull request to be green", || house.pull(number)["checks"] == "passed");
    }
    assert_eq!(house.turns_until_now(&one).len(), 3, "the task and two markers");
    assert_eq!(house.notices().len(), 1);
}

/// However often it flickers: so many attempts, one word to a person, silence; and anew after it was truly gone.
/// acceptance: F2
#[test]
fn a_failure_that_flickers_has_one_budget() {
    let house = House::new();
    checked_by(&house, "retries: 2, escalateAfter: 1s, rerun: 0", "lifecycle: { stableClear: 2s }\n");
    house.start();
    house.verdict("error: the same every time\n");
    let (session, number) = house.worker("Work", "a.txt", "a\\n");
    let told = |house: &House| times(&house.turns(&session), "the same every time");
    until("a person to be told", || !house.notices().is_empty());
    for _ in 0..5 {
        house.rerun(&number);
    }
    assert_eq!((told(&house), house.notices().len()), (2, 1), "{:#?}", house.notices());
    let evidence = &house.notices()[0];
    assert!(evidence.contains("the same every time") && evidence.contains('2'), "{evidence}");

    house.verdict("");
    house.rerun(&number);
    until("the problem to be over", || {
        let shown = house.ao(&["explain", &session, "--json"]).succeeds().json();
        // That it waits for a review now is no problem of the kind.
        let open = shown["incidents"].as_array().cloned().unwrap_or_default();
        open.iter().all(|incident| incident["kind"] == "review-needed")
    });
    house.verdict("error: the same every time\n");
    house.rerun(&number);
    until("the agent to be told anew", || told(&house) > 2);
}

/// A reaction without words of its own says what its event means; if the agent cannot be told, a person is. acceptance: F4
#[test]
fn a_failure_is_told_in_default_words_and_to_a_person_if_the_agent_does_not_take_them() {
    const WORDS: &str = "A check failed on your pull request. Fix the cause and push.";
    let house = House::new();
    checked_by(&house, "rerun: 0", "lifecycle: { proofWait: 1s }\n");
    house.start();
    house.verdict("error: it is red\n");
    let (listens, _) = house.worker("Listen", "a.txt", "a\n");
    until("the agent to be told", || times(&house.turns(&listens), WORDS) == 1);
    assert!(house.notices().is_empty(), "{:#?}", house.notices());

    let prompt = "[[tool echo b > a.txt && git add . && git commit -qm Deaf && ao pr create --title Deaf]]\n\
                  [[set never-submit]]";
    let deaf = house.session("Deaf", prompt);
    until("a person to be told", || !house.notices().is_empty());
    let notices = house.notices();
    assert!(notices[0].contains(&deaf) && notices[0].contains("not accepted"), "{notices:#?}");
    assert_eq!(times(&house.turns(&deaf), WORDS), 0);
}

/// After the fix the thread is answered with the commit, and resolved because it was configured so. acceptance: F6
#[test]
fn a_thread_is_answered_with_the_commit_that_answers_it() {
    let house = House::new();
    house.configure_project("    reactions:\n      changes-requested: { resolve: true }\n", "");
    house.start();
    let (session, number) = house.worker("Work", "a.txt", "a\\n");
    house.wait_for(&session, "idle");
    let fix = "[[tool echo b >> a.txt && git commit -qam 'Say more' ]]";
    house.ao(&["pr", "comment", &number, &format!("Say more. {fix}"), "--at", "a.txt:1"]).succeeds();
    let mut thread = Value::Null;
    until("the thread to be answered", || {
        thread = house.pull(&number)["threads"][0].clone();
        thread["resolved"] == true
    });
    let head = house.pull(&number)["head"].as_str().unwrap().to_owned();
    let comments = thread["comments"].as_array().unwrap();
    assert_eq!(comments.len(), 2, "{thread:#}");
    let answer = comments[1]["body"].as_str().unwrap();
    assert!(answer.contains(&head[..7]) && answer.contains("Say more"), "{answer}");
    let turns = house.turns_until_now(&session);
    assert_eq!(turns.len(), 3, "the task, the comment, the marker; our answer wakes nobody: {turns:#?}");
}

const WAY_BACK: &str = "to go back to where the branch was before";

/// Conflict, resolved, conflict again: two messages, each with the base, the command and the way back. acceptance: F7
#[test]
fn each_conflict_is_told_with_the_way_out_and_the_way_back() {
    let house = House::new();
    house.start();
    let (session, number) = house.worker("Work", "a.txt", "ours\\n");
    let mut told = Vec::new();
    for round in 1..=2 {
        house.wait_for(&session, "idle");
        let rescue = house.pull(&number)["head"].as_str().unwrap().to_owned();
        let base =
            commit(&house.repository(), "In between", &[("a.txt", format!("theirs {round}\n").as_bytes())]);
        until("the conflict to be told", || times(&house.turns(&session), WAY_BACK) == round);
        let turns = house.turns(&session);
        let message = turns.iter().rfind(|turn| turn.contains(WAY_BACK)).unwrap().clone();
        for part in ["main", &base, &rescue, "a.txt", "git rebase main"] {
            assert!(message.contains(part), "`{part}` is not told in round {round}:\n{message}");
        }
        told.push(message);
        house.agent_runs(&session, "git rebase -q -X theirs main || git rebase --skip");
        until("the conflict to be over", || house.pull(&number)["mergeable"] == "clean");
    }
    assert_eq!(times(&house.turns_until_now(&session), WAY_BACK), 2, "{told:#?}");
}

/// Approved and green, with `auto: true`: it lands as configured, and its branch goes. Without it, nothing lands.
/// acceptance: F11
#[test]
fn what_is_approved_and_green_lands_as_the_configuration_says() {
    let house = House::new();
    house.configure_project(
        "    checks: [{ name: unit, command: 'true' }]\n    reactions:\n      approved-and-green: { auto: true, action: merge, strategy: merge, deleteAfter: true }\n",
        "",
    );
    house.start();
    let (session, number) = house.worker("Work", "a.txt", "a\\n");
    house.wait_for(&session, "idle");
    let branch = house.pull(&number)["headBranch"].as_str().unwrap().to_owned();
    assert_eq!(house.pull(&number)["state"], "open", "nobody has approved it");
    house.ao(&["pr", "approve", &number]).succeeds();
    until("it to land", || house.pull(&number)["state"] == "merged");
    let parents = git(&house.repository(), &["rev-list", "--parents", "-1", "main"]);
    assert_eq!(parents.split(' ').count(), 3, "by a merge commit: {parents}");
    until("its branch to go", || git(&house.repository(), &["branch", "--list", &branch]).is_empty());
}
