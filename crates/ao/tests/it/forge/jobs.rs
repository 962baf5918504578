//! What reactions have done in the world, through the program itself: a branch rebased, a command run.

use std::fs;

use serde_json::Value;

use super::{commit, times};
use crate::fleet::git;
use crate::house::{House, until};

impl House {
    /// A house in which an event of the user's own has this done about it.
    fn reacting(reaction: &str) -> House {
        let house = House::with(&format!("reactions:\n  wanted: {{ {reaction} }}\n"));
        house.start();
        house
    }

    /// Everything that is in the log of these kinds.
    #[track_caller]
    fn logged(&self, kind: &str) -> Vec<Value> {
        let exported = self.ao(&["events", "export"]).succeeds().out;
        let events = exported.lines().map(|line| serde_json::from_str(line).unwrap());
        events.filter(|event: &Value| event["kind"] == kind).map(|event| event["body"].clone()).collect()
    }
}

#[test]
fn a_branch_is_rebased_once_its_agent_is_at_rest_and_never_under_its_hands() {
    let house = House::reacting("action: rebase, escalateAfter: 10m");
    let (session, number) = house.worker("Work", "a.txt", "ours\\n");
    house.wait_for(&session, "idle");
    let before = house.pull(&number)["head"].as_str().unwrap().to_owned();
    let done = house.path("tmp/done");
    let busy = format!("[[tool while ! test -e {}; do sleep 0.1; done]]", done.display());
    house.ao(&["send", &session, &busy]).succeeds();
    house.wait_for(&session, "working");
    let base = commit(&house.repository(), "In between", &[("b.txt", b"theirs\n")]);
    until("the base to be seen", || house.pull(&number)["base"] == base.as_str());
    house.ao(&["emit", "wanted", "--pr", &number]).succeeds();

    // It is looked at more often than a job is tried.
    until("somebody is in the way", || house.logged("job.delayed").len() > 4);
    assert!(house.logged("job.delayed").iter().all(|it| it["delayed"]["counts"] == false));
    assert_eq!(house.pull(&number)["head"], before.as_str(), "not under its hands");
    fs::write(&done, "").unwrap();
    until("it is rebased", || {
        let head = house.pull(&number)["head"].as_str().unwrap().to_owned();
        head != before && git(&house.repository(), &["merge-base", &head, &base]) == base
    });
    assert_eq!(house.logged("job.failed"), Vec::<Value>::new());
    assert_eq!(times(&house.turns_until_now(&session), "not rebased"), 0);
}

#[test]
fn a_command_is_run_with_the_problem_on_its_input_and_what_it_says_goes_up_if_it_fails() {
    let house = House::bare();
    let (heard, script) = (house.path("tmp/heard.json"), house.path("tmp/mend.sh"));
    let text = format!(
        "cat > {}\nif grep -q fail {0}; then echo 'no luck today' >&2; exit 3; fi\n",
        heard.display()
    );
    fs::write(&script, text).unwrap();
    crate::fleet::make_repository(&house.repository());
    house
        .configure(&format!("reactions:\n  wanted: {{ action: run, command: 'sh {}' }}\n", script.display()));
    house.start();
    let session = house.session("Wait", "Wait for me.");
    house.wait_for(&session, "idle");

    house.ao(&["emit", "wanted", "--session", &session, "--detail", "it works"]).succeeds();
    until("it was run", || house.logged("job.done").len() == 1);
    let document: Value = serde_json::from_str(&fs::read_to_string(&heard).unwrap()).unwrap();
    assert_eq!(document["session"]["name"], session.as_str(), "{document}");
    assert!(document.to_string().contains("it works"), "{document}");
    assert_eq!(house.logged("incident.escalated"), Vec::<Value>::new());

    house
        .ao(&["emit", "wanted", "--session", &session, "--key", "two", "--detail", "it will fail"])
        .succeeds();
    until("a person is asked", || house.logged("incident.escalated").len() == 1);
    let why = house.logged("incident.escalated")[0].to_string();
    assert!(why.contains("the command failed: no luck today"), "{why}");
    house.ao(&["hooks", "logs"]).succeeds().says("run");
    assert_eq!(house.turns(&session).len(), 1, "the agent is left alone");
}

#[test]
fn the_agent_of_a_branch_is_brought_back_and_told_what_is_wanted_once() {
    let house = House::reacting("action: spawn-agent, message: 'See to it: {{ detail }}'");
    let (session, number) = house.worker("Work", "a.txt", "ours\\n");
    house.wait_for(&session, "idle");
    house.ao(&["stop", &session]).succeeds();
    house.wait_for(&session, "stopped");
    house.ao(&["emit", "wanted", "--pr", &number, "--detail", "the hinges squeak"]).succeeds();
    until("it was brought back and told", || times(&house.turns(&session), "the hinges squeak") == 1);
    assert_eq!(house.pull(&number)["session"], session.as_str());
    let sessions = house.ao(&["status", "--json"]).succeeds().json();
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1, "{sessions}");
    assert_eq!(times(&house.turns_until_now(&session), "the hinges squeak"), 1);
}

#[test]
fn an_agent_is_started_for_what_is_no_agents_yet_and_only_one() {
    let house = House::reacting("action: spawn-agent, message: 'See to it: {{ detail }}'");
    let emit =
        || house.ao(&["emit", "wanted", "--project", "my-app", "--detail", "the roof leaks"]).succeeds();
    emit();
    let mut session = String::new();
    until("somebody is at it", || {
        let listed = house.ao(&["status", "--json"]).succeeds().json();
        session = listed["sessions"][0]["name"].as_str().unwrap_or_default().to_owned();
        !session.is_empty()
    });
    until("it knows what is wanted", || times(&house.turns(&session), "the roof leaks") == 1);
    // The same again is no news.
    emit();
    until("the job is over", || house.logged("job.done").len() == 1);
    let listed = house.ao(&["status", "--json"]).succeeds().json();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "{listed}");
}
