//! Commands of the user's whose programs leave their group, their session and their environment, and are ended all the same.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use crate::forge::{branch, commit};
use crate::house::{House, until};

/// A program that only its own words are known by.
struct Escaped {
    seconds: String,
    begun: String,
}

impl Escaped {
    fn new(house: &House, nth: u32) -> Escaped {
        let begun = house.path(&format!("tmp/begun{nth}")).display().to_string();
        Escaped { seconds: format!("98765.{}{nth}", std::process::id()), begun }
    }

    /// Starts it, and waits until it runs.
    fn command(&self) -> String {
        let Escaped { seconds, begun } = self;
        format!(
            "(env -i setsid sh -c ': > {begun}; exec sleep {seconds}' > /dev/null 2>&1 < /dev/null &); \
             until test -e {begun}; do sleep 0.02; done"
        )
    }

    fn pids(&self) -> Vec<i32> {
        let words = format!("sleep\0{}\0", self.seconds);
        let pids = fs::read_dir("/proc").unwrap().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == words.as_bytes()))
            .collect()
    }

    fn runs(&self) -> bool {
        !self.pids().is_empty()
    }
}

impl Drop for Escaped {
    fn drop(&mut self) {
        for pid in self.pids().into_iter().filter_map(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

fn house(checks: &[(&str, String, &str)]) -> House {
    let house = House::new();
    let checks: Vec<String> = checks
        .iter()
        .map(|(name, command, timeout)| {
            format!("{{ name: {name}, command: {command:?}, timeout: {timeout}, retries: 0 }}")
        })
        .collect();
    house.configure_project(&format!("    checks: [{}]", checks.join(", ")), "");
    house.start();
    branch(&house.repository(), "work", &[("b.txt", b"b")]);
    house
}

fn has_ended(house: &House, state: &str) -> bool {
    let listed = house.ao(&["check", "list", "--json"]).succeeds().json();
    listed["runs"].as_array().unwrap().iter().any(|run| run["state"] == state)
}

#[test]
fn what_escapes_from_a_check_ends_with_it() {
    let folder = House::bare();
    let (passes, hangs) = (Escaped::new(&folder, 1), Escaped::new(&folder, 2));
    let checks =
        [("passes", passes.command(), "1m"), ("hangs", format!("{}; sleep 600", hangs.command()), "2s")];
    let house = house(&checks);
    let number = house.propose("work", "Something");
    assert!(!house.checked(&number));
    assert!(has_ended(&house, "passed") && has_ended(&house, "failed"));
    for escaped in [&passes, &hangs] {
        assert!(fs::exists(&escaped.begun).unwrap());
        until("what has escaped is ended", || !escaped.runs());
    }
}

#[test]
fn what_escapes_from_a_check_that_is_cancelled_ends_with_it() {
    let folder = House::bare();
    let escaped = Escaped::new(&folder, 3);
    let house = house(&[("hangs", format!("{}; test -e c.txt || sleep 600", escaped.command()), "10m")]);
    house.propose("work", "Something");
    until("it runs", || escaped.runs());
    crate::fleet::git(&house.repository(), &["switch", "--quiet", "work"]);
    fs::remove_file(&escaped.begun).unwrap();
    commit(&house.repository(), "More", &[("c.txt", b"c")]);
    until("it is cancelled", || has_ended(&house, "cancelled"));
    until("the next one passes", || has_ended(&house, "passed"));
    until("what has escaped is ended", || !escaped.runs());
}

/// acceptance: G4
#[test]
fn what_escapes_from_a_check_is_ended_by_the_next_daemon() {
    let folder = House::bare();
    let escaped = Escaped::new(&folder, 4);
    let house = house(&[("hangs", format!("{}; sleep 600", escaped.command()), "10m")]);
    house.propose("work", "Something");
    until("it runs", || escaped.runs());
    let first = escaped.pids();
    kill_process(Pid::from_raw(house.daemon_pid()).unwrap(), Signal::KILL).unwrap();
    fs::remove_file(&escaped.begun).unwrap();
    assert_eq!(escaped.pids(), first, "nobody is there to end it");
    until("another daemon starts", || house.ao(&["start", "--port", "0"]).code == 0);
    until("what has escaped is ended", || escaped.pids().iter().all(|pid| !first.contains(pid)));
}

#[test]
fn what_escapes_from_set_up_commands_goes_with_the_workspace() {
    let house = House::new();
    let (stays, fails) = (Escaped::new(&house, 5), Escaped::new(&house, 6));
    let commands = format!("    postCreate: [{:?}]", stays.command());
    house.configure_project(&commands, "");
    house.start();
    let session = house.session("Feature", "[[say done]]");
    house.wait_for(&session, "idle");
    assert!(stays.runs(), "a server that set-up commands start is for the agent");
    house.ao(&["session", "kill", &session]).succeeds();
    until("it goes with the workspace", || !stays.runs());

    let commands = format!("    postCreate: [{:?}]", format!("{}; exit 3", fails.command()));
    house.configure_project(&commands, "");
    house.ao(&["start", "--port", "0"]).succeeds();
    let session = house.session("Other", "[[say done]]");
    until("it fails", || house.state(&session) == "setup_failed");
    until("what has escaped is ended", || !fails.runs());
}

#[test]
fn what_escapes_from_a_hook_ends_with_it() {
    let house = House::new();
    let escaped = Escaped::new(&house, 7);
    let hook = serde_json::json!(format!("cat > $HOME/told; {}", escaped.command()));
    house.configure(&format!("hooks: {{ beforeAssign: {hook} }}\n"));
    house.start();
    let session = house.session("Feature", "[[say done]]");
    house.wait_for(&session, "idle");
    assert!(
        fs::read_to_string(house.path("told")).unwrap().contains("Feature"),
        "it is told what it is about"
    );
    assert!(fs::exists(&escaped.begun).unwrap());
    assert!(!escaped.runs());
}
