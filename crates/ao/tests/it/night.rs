//! A night without a person: changes that wait give their slots away, merges close their issues, what was blocked begins, and
//! what somebody has stopped stays stopped.

use serde_json::Value;

use crate::budgets::clock;
use crate::forge::{branch, commit};
use crate::house::{House, until};

impl House {
    /// An issue whose agent adds a file and proposes it.
    fn chore(&self, number: u32, more: &[&str]) {
        let script = format!(
            "[[tool touch f{number} && git add f{number} && git commit -qm 'Change {number}' && git push -q && \
             ao pr create --title 'Change {number}']]"
        );
        let title = format!("Issue {number}");
        let mut args = vec!["issue", "add", &title, "-b", &script];
        args.extend(more);
        self.ao(&args).succeeds();
    }

    fn issue_state(&self, number: &str) -> String {
        let shown = self.ao(&["issue", "show", number, "--json"]).succeeds().json();
        shown["state"].as_str().unwrap().to_owned()
    }

    fn sessions_of(&self, issue: &str) -> Vec<Value> {
        let listed = self.ao(&["list", "--json"]).succeeds().json();
        let all = listed["sessions"].as_array().unwrap().iter();
        all.filter(|session| session["issue"] == issue).cloned().collect()
    }

    fn phase(&self, session: &str) -> String {
        let explained = self.ao(&["explain", session, "--json"]).succeeds().json();
        explained["phase"].as_str().unwrap().to_owned()
    }

    /// Whether it has been said that all work is done.
    fn is_complete(&self) -> bool {
        self.ao(&["events", "export"]).succeeds().out.contains("\"project.completed\"")
    }
}

/// acceptance: J5, L6
#[test]
fn agents_whose_changes_wait_for_a_person_do_not_keep_the_next_task_from_starting() {
    let house = House::with("lifecycle: { maxParallelAgents: 2 }\n");
    house.start();
    let workers: Vec<(String, String)> = (1..=4)
        .map(|n| {
            let made = house.worker(&format!("Change {n}"), &format!("f{n}"), "x");
            assert!(house.agents().len() <= 2, "{:?}", house.agents());
            made
        })
        .collect();
    let (first, number) = &workers[0];
    assert_eq!(house.phase(first), "resting");
    assert_eq!(house.state(first), "idle");
    house.ao(&["status", first]).succeeds().says("paused to free a slot for");

    // It is at rest after a restart too, and news finds it with its conversation.
    house.ao(&["stop"]).succeeds();
    house.start();
    assert_eq!(house.phase(first), "resting");
    let before = house.turns(first);
    assert_eq!(before.len(), 1, "{before:?}");
    house.ao(&["send", first, "Mind the tests."]).succeeds();
    until("it to have taken the message", || {
        house.turns(first).iter().any(|turn| turn.contains("Mind the tests."))
    });
    assert!(house.turns(first).starts_with(&before), "it is the same conversation");
    assert!(house.agents().len() <= 2, "{:?}", house.agents());

    let (resting, _) = workers.iter().find(|(session, _)| house.phase(session) == "resting").unwrap();
    house.ao(&["stop", resting]).succeeds();
    assert_eq!(house.state(resting), "stopped");
    house.ao(&["pr", "merge", number, "--squash", "--anyway"]).succeeds();
    until("it to be merged", || house.state(first) == "merged");
}

/// acceptance: J3
#[test]
fn a_chain_of_blocked_issues_runs_to_its_end_by_itself() {
    let house = House::new();
    let project = "    autoAssign: true\n    checks: ['true']\n    mergeQueue: { parallel: 2 }";
    house.configure_project(project, "lifecycle: { maxParallelAgents: 1 }\n");
    let policy = "approvals: 0\nautoMerge: true\ntrust: { default: high }\n";
    commit(&house.repository(), "A policy", &[(".ao/policy.yaml", policy.as_bytes())]);
    house.start();
    house.chore(1, &[]);
    house.chore(2, &["--blocked-by", "1"]);
    house.chore(3, &["--blocked-by", "2"]);
    until("the last issue to be closed", || house.issue_state("3") == "closed");
    assert_eq!((house.issue_state("1"), house.issue_state("2")), ("closed".into(), "closed".into()));
    for number in 1..=3 {
        assert_eq!(house.sessions_of(&number.to_string()).len(), 1);
        assert!(house.repository().join(format!("f{number}")).exists(), "the user's checkout follows");
    }
    until("somebody to say that all is done", || house.is_complete());
}

/// What a person starts is queued behind its blocker in the same way; and a merge by hand closes what it names.
///
/// acceptance: J3
#[test]
fn a_merge_by_hand_closes_the_issue_of_its_session_and_those_that_it_names() {
    let house = House::new();
    house.start();
    for n in 1..=6 {
        house.chore(n, if n == 2 { &["--blocked-by", "1"] } else { &[] });
    }
    house.ao(&["spawn", "1"]).succeeds();
    let spawned = house.ao(&["spawn", "2", "--json"]).succeeds().json();
    let second = spawned["session"]["name"].as_str().unwrap().to_owned();
    let pull = house.pull_titled("Change 1", |pull| pull["session"].is_string());
    assert_eq!(house.state(&second), "queued");
    // An open one closes nothing, whatever it says.
    branch(&house.repository(), "open", &[("open.txt", b"1")]);
    let body = ["--title", "Closes #3", "--body", "Fixes #4"];
    house.ao(&[&["pr", "create", "--head", "open"], &body[..]].concat()).succeeds();
    house.ao(&["pr", "merge", &pull["number"].to_string(), "--squash", "--anyway"]).succeeds();
    until("its issue to be closed", || house.issue_state("1") == "closed");
    until("the next one to begin", || !house.turns(&second).is_empty());
    assert_eq!((house.issue_state("3"), house.issue_state("4")), ("open".into(), "open".into()));

    let git = |args: &[&str]| crate::fleet::git(&house.repository(), args);
    git(&["switch", "--quiet", "-c", "named"]);
    commit(&house.repository(), "Add it\n\nResolves my-app#5, and see #6.", &[("named.txt", b"1")]);
    git(&["switch", "--quiet", "main"]);
    let made = house
        .ao(&["pr", "create", "--head", "named", "--title", "Fixes #3", "--body", "closes: #4", "--json"])
        .succeeds()
        .json();
    house.ao(&["pr", "merge", &made["number"].to_string(), "--squash", "--anyway"]).succeeds();
    for issue in ["3", "4", "5"] {
        until("what it names to be closed", || house.issue_state(issue) == "closed");
    }
    assert_eq!(house.issue_state("6"), "open");
    assert!(!house.is_complete(), "one is at work, and a pull request is open");
}

#[test]
fn a_project_may_leave_its_issues_open() {
    let house = House::new();
    house.configure_project("    closeMergedIssues: false", "");
    house.start();
    house.chore(1, &[]);
    house.ao(&["spawn", "1"]).succeeds();
    let pull = house.pull_titled("Change 1", |pull| pull["session"].is_string());
    house.ao(&["pr", "merge", &pull["number"].to_string(), "--squash", "--anyway"]).succeeds();
    until("it to be merged", || house.sessions_of("1")[0]["status"]["state"] == "merged");
    until("somebody to say that all is done", || house.is_complete());
    assert_eq!(house.issue_state("1"), "open");
}

/// acceptance: J7
#[test]
fn what_is_stopped_stays_stopped_until_somebody_starts_again() {
    let house = House::new();
    house.configure_project("    autoAssign: true", "lifecycle: { maxParallelAgents: 1 }\n");
    house.start();
    for title in ["One", "Two", "Three"] {
        house.ao(&["issue", "add", title]).succeeds();
    }
    until("the first to begin", || house.sessions_of("1").len() == 1);
    house.ao(&["stop", "--all"]).succeeds().says("automatic assignment is off for my-app").says("ao start");
    house.ao(&["status"]).succeeds().says("no issue starts automatically").says("`ao start`");
    house.ao(&["plan"]).succeeds().says("has stopped all work");

    // Neither time, nor a new issue, nor a daemon that begins anew starts anything.
    let daemon = house.daemon_pid();
    let pid = rustix::process::Pid::from_raw(daemon).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    until("the daemon to be gone", || house.ao(&["api", "GET", "/daemon"]).code != 0);
    let mut again = house.command(&house.repository(), &["daemon", "--port", "0"]);
    let mut again =
        again.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    until("a daemon to be there", || house.ao(&["api", "GET", "/daemon"]).code == 0);
    house.ao(&["issue", "add", "Four"]).succeeds();
    let planned = || {
        let plan = house.ao(&["plan", "--json"]).succeeds().json();
        plan["waiting"].as_array().unwrap().iter().filter(|one| one["reason"] == "stopped").count()
    };
    until("all of them to wait for a person", || planned() == 3);
    assert_eq!(house.agents(), Vec::<i32>::new());
    // What a person starts by hand runs, and nothing else does.
    let session = house.session("By hand", "work");
    house.wait_for(&session, "idle");
    house.ao(&["stop", &session]).succeeds();
    assert_eq!((planned(), house.sessions_of("2").len()), (3, 0));

    house.ao(&["start", "--port", "0"]).succeeds().says("automatic assignment is enabled again for my-app");
    until("the next one to begin", || house.sessions_of("2").len() == 1);
    let status = house.ao(&["status"]).succeeds();
    assert!(!status.out.contains("no issue begins by itself"), "{}", status.out);

    house.ao(&["stop", "--project", "my-app", "--all"]).succeeds().says("automatic assignment is off");
    until("all of them to wait again", || planned() == 2);
    again.kill().ok();
    again.wait().ok();
}

/// A provider's limit is no reason to come back without a word, and it answers no question.
#[test]
fn a_limit_hides_no_question_and_a_resume_under_it_fails_and_says_until_when() {
    let house = House::with("lifecycle: { lookAfter: 1s }\n");
    house.start();
    let asks = house.session("Careful", "[[ask May I delete it?]]");
    house.wait_for(&asks, "needs_input");
    let limited = house.session("Limited", &format!("[[limit {}]]", clock(7200)));
    house.wait_for(&limited, "rate_limited");
    let account = |session: &str| {
        let explained = house.ao(&["explain", session, "--json"]).succeeds().json();
        explained["holds"].as_array().unwrap().len()
    };
    until("the limit to hold all of the account", || account(&asks) == 1);
    assert_eq!(house.state(&asks), "needs_input");
    house.ao(&["status"]).succeeds().says("Needs you").says("May I delete it?");
    let refused = house.ao(&["resume", &limited]).exits(1);
    let refused =
        refused.says("the provider refuses the account `scripted` until").says("resumes automatically");
    refused.says("no command lifts a provider's limit");
}
