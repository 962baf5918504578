//! What would run when: rounds within the caps, after blockers, and what waits for something else.

use ao_core::assign::AutoAssign;
use ao_core::evidence::{Reading, SignalSource};
use ao_core::plan::{PlannedWork, WorkPlan, plan};
use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::pull::{AuthorFacts, AuthorStanding};
use ao_core::schedule::Obstacle;
use ao_core::session::{HoldKind, SessionInput};
use ao_core::{DaemonSettings, Input};

use crate::desk::{Desk, app};

fn desk(max_live: u32) -> Desk {
    let mut desk = Desk::with(DaemonSettings { max_live, ..DaemonSettings::default() });
    let config = ProjectConfig {
        path: "~/app".into(),
        default_branch: "main".into(),
        auto_assign: Some(AutoAssign { account: "scripted".into(), ..AutoAssign::default() }),
        ..ProjectConfig::default()
    };
    desk.take(Input::Project { project: app(), input: ProjectInput::Configure(Box::new(config)) });
    desk
}

/// Its variant, in snake_case.
fn name_of(obstacle: &Obstacle) -> String {
    let mut name = String::new();
    for c in format!("{obstacle:?}").chars().take_while(char::is_ascii_alphabetic) {
        if c.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(c.to_ascii_lowercase());
    }
    name
}

fn drawn(plan: &WorkPlan) -> Vec<String> {
    let one = |planned: &PlannedWork| {
        let key = planned.task.as_ref().map_or("-", |task| task.key.as_str());
        let round = planned.round.map_or("waits".into(), |round| round.to_string());
        let why = planned.obstacle.as_ref().map(name_of).unwrap_or_default();
        format!("{key} {round} {why}").trim_end().to_owned()
    };
    plan.running.iter().chain(&plan.next).chain(&plan.waiting).map(one).collect()
}

#[test]
fn a_plan_goes_round_by_round_and_after_what_blocks() {
    let mut desk = desk(2);
    desk.spawn("1");
    desk.spawn("2");
    // A session in the queue comes before the tasks that have none.
    desk.spawn("3");
    desk.task("4", &[], false);
    desk.task("5", &["3"], false);
    desk.task("6", &["5", "1"], false);
    desk.task_with("7", |facts| facts.priority = 9);
    desk.task("8", &["99"], false);
    desk.task_with("9", |facts| {
        facts.trusted = false;
        facts.author = Some(AuthorFacts { login: "eve".into(), standing: AuthorStanding::Outsider });
    });
    let found = plan(&desk.state, desk.now, None);
    assert_eq!(
        drawn(&found),
        [
            "1 0",
            "2 0",
            "7 1 cap",
            "3 1 cap",
            "4 2 cap",
            "5 2 blocked_by",
            "6 3 blocked_by",
            "8 waits blocked_by",
            "9 waits untrusted",
        ]
    );
    assert_eq!(found.next[4].blocked_by.len(), 2);
    let other = plan(&desk.state, desk.now, Some(&ao_core::ProjectId::new("other")));
    assert_eq!(other, WorkPlan::default());
}

#[test]
fn work_whose_process_has_ended_does_not_run() {
    let mut desk = desk(2);
    let session = desk.idle("1");
    desk.spawn("2");
    assert_eq!(drawn(&plan(&desk.state, desk.now, None)), ["1 0", "2 0"]);
    desk.sees(session, SignalSource::Process, Reading::Exited { code: Some(0) });
    desk.ended(session);
    assert_eq!(drawn(&plan(&desk.state, desk.now, None)), ["2 0", "1 waits"]);
}

#[test]
fn what_is_held_waits_and_what_was_worked_on_says_so() {
    let mut desk = desk(1);
    let first = desk.spawn("1");
    let second = desk.spawn("2");
    desk.tell(second, SessionInput::Hold { kind: HoldKind::Person, why: "paused by ann".into() });
    desk.task("3", &[], false);
    assert_eq!(drawn(&plan(&desk.state, desk.now, None)), ["1 0", "3 1 cap", "2 waits held"]);
    desk.task("1", &[], false);
    desk.make_ready(first);
    desk.launch(first);
    desk.tell(first, SessionInput::Stop { by: "ann".into(), why: "enough".into() });
    desk.ended(first);
    let found = drawn(&plan(&desk.state, desk.now, None));
    assert_eq!(found, ["3 1 begun", "2 waits held", "1 waits worked"]);
}

#[test]
fn a_long_list_is_planned_to_its_end() {
    let mut desk = desk(3);
    for n in 1..=100 {
        desk.task(&n.to_string(), &[], false);
    }
    let found = plan(&desk.state, desk.now, None);
    assert_eq!((found.next.len(), found.waiting.len()), (100, 0));
    assert_eq!(found.next.last().unwrap().round, Some(34));
    let keys: Vec<&str> = found.next.iter().map(|one| one.task.as_ref().unwrap().key.as_str()).collect();
    assert_eq!(keys[8..11], ["9", "10", "11"], "as people count");
}

#[test]
fn a_day_is_told_once_with_what_it_brought_and_the_count_begins_anew() {
    let mut desk = desk(2);
    assert!(desk.take(Input::Digest { day: "2026-03-01".into() }).is_empty(), "nothing is nothing to tell");
    let first = desk.spawn("1");
    desk.make_ready(first);
    desk.launch(first);
    desk.tell(first, SessionInput::Stop { by: "ann".into(), why: "enough".into() });
    desk.ended(first);
    let told = |desk: &Desk| {
        let daily = desk.state.notices.values().filter(|notice| notice.key.starts_with("daily "));
        daily.map(|notice| (notice.text.clone(), notice.gathered)).collect::<Vec<_>>()
    };
    desk.take(Input::Digest { day: "2026-03-02".into() });
    desk.take(Input::Digest { day: "2026-03-02".into() });
    let found = told(&desk);
    assert_eq!(found.len(), 1, "{found:?}");
    let (text, gathered) = &found[0];
    assert!(text.starts_with("app: 0 merged, 1 stopped, no one was needed; turns "), "{text}");
    assert!(text.contains("\nnow: 0 running, 0 in the queue, 0 waiting for something else"), "{text}");
    assert_eq!(*gathered, 1, "it waits for no other digest");
    assert!(desk.state.tally.is_empty());
    assert!(desk.take(Input::Digest { day: "2026-03-03".into() }).is_empty());
}

#[test]
fn a_project_is_complete_only_when_no_task_is_next() {
    let mut desk = desk(1);
    let first = desk.spawn("1");
    desk.task("2", &[], false);
    desk.make_ready(first);
    desk.launch(first);
    desk.tell(first, SessionInput::Stop { by: "ann".into(), why: "enough".into() });
    desk.ended(first);
    assert_eq!(desk.count("project.completed"), 0);
}
