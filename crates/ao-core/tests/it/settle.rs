//! What a merge settles, when all work is done, and work that somebody has stopped.

use std::time::Duration;

use ao_core::assign::{still_wanted, task_obstacle};
use ao_core::incident::IncidentKind;
use ao_core::job::{JobOrder, JobOutcome};
use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::pull::{CheckState, PullFacts, PullInput, PullState};
use ao_core::schedule::Obstacle;
use ao_core::session::SessionInput;
use ao_core::{Commit, Input, PullId, SessionId, TaskId};

use crate::assign::{begin, caps, configure, ordered, picking};
use crate::desk::{Desk, app, task};
use crate::incidents::facts;

fn pull(number: u64) -> PullId {
    PullId { project: app(), number }
}

fn seen(desk: &mut Desk, number: u64, change: impl FnOnce(&mut PullFacts)) {
    desk.now = desk.now + Duration::from_secs(1);
    let mut facts = facts(desk, &format!("c{number}"), CheckState::Passed);
    facts.head_branch = format!("branch-{number}");
    change(&mut facts);
    desk.take(Input::Pull { pull: pull(number), input: PullInput::Seen(Box::new(facts)) });
}

fn propose(desk: &mut Desk, session: SessionId, number: u64) {
    seen(desk, number, |_| {});
    desk.take(Input::Pull { pull: pull(number), input: PullInput::Claim { session } });
}

fn merge(desk: &mut Desk, number: u64) {
    seen(desk, number, |facts| facts.state = PullState::Merged { commit: Commit::new("m") });
}

/// What is to be closed, by the pull request that settles it.
fn settles(desk: &Desk) -> Vec<(u64, Vec<TaskId>)> {
    let orders = desk.state.jobs.values().map(|job| &job.order);
    orders
        .filter_map(|order| match order {
            JobOrder::Settle { pull, tasks } => Some((pull.number, tasks.clone())),
            _ => None,
        })
        .collect()
}

fn complete(desk: &Desk) -> bool {
    desk.state.incidents.keys().any(|key| key.kind == IncidentKind::AllComplete)
}

fn done() -> Result<JobOutcome, String> {
    Ok(JobOutcome::Done { said: String::new() })
}

/// acceptance: J3
#[test]
fn a_merge_settles_the_issue_of_its_session_and_what_was_blocked_begins() {
    let mut desk = picking(caps(4), |_| {});
    desk.task("1", &[], false);
    desk.task("2", &["1"], false);
    let first = begin(&mut desk)[0];
    desk.make_ready(first);
    desk.launch(first);
    propose(&mut desk, first, 1);
    merge(&mut desk, 1);
    assert_eq!(settles(&desk), [(1, vec![task("1")])], "in the same step, so that no crash falls between");
    desk.ended(first);
    assert!(!complete(&desk), "its issue is not closed yet, and another one waits for it");
    assert_eq!(ordered(&desk.state), []);
    desk.run_jobs(|_| done());
    assert!(!complete(&desk), "the next one waits for the tracker's word only");
    desk.task("1", &[], true);
    assert_eq!(ordered(&desk.state), [("2".into(), None)]);
}

/// The session may be long gone when its change is merged.
#[test]
fn the_link_outlives_the_session() {
    let mut desk = Desk::new();
    desk.task("1", &[], false);
    let session = desk.idle("1");
    propose(&mut desk, session, 1);
    desk.tell(session, SessionInput::Stop { by: "ann".into(), why: String::new() });
    desk.ended(session);
    assert!(!complete(&desk), "its change is still to be merged");
    desk.tell(session, SessionInput::Cleanup);
    let tries = desk.session(session).workspace.tries;
    desk.tell(session, SessionInput::WorkspaceRemoved { tries, rescue: None });
    desk.wait(400 * 24 * 3600);
    assert!(!desk.state.sessions.contains_key(&session), "it is history");
    merge(&mut desk, 1);
    assert_eq!(settles(&desk), [(1, vec![task("1")])]);
}

#[test]
fn an_issue_with_another_change_to_come_stays_open_and_so_does_one_whose_change_was_given_up() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    propose(&mut desk, session, 1);
    propose(&mut desk, session, 2);
    merge(&mut desk, 1);
    assert_eq!(settles(&desk), [(1, vec![])], "what it names itself is found out all the same");
    desk.run_jobs(|_| done());
    merge(&mut desk, 2);
    assert_eq!(settles(&desk), [(2, vec![task("1")])]);

    let mut desk = Desk::new();
    let session = desk.idle("1");
    propose(&mut desk, session, 1);
    desk.take(Input::Pull { pull: pull(1), input: PullInput::Release { session } });
    merge(&mut desk, 1);
    assert_eq!(settles(&desk), [(1, vec![])], "a person has said that it is not that session's");
}

#[test]
fn a_project_may_leave_its_issues_open() {
    let mut desk = Desk::new();
    let config = ProjectConfig {
        path: "~/app".into(),
        default_branch: "main".into(),
        leave_issues_open: true,
        ..ProjectConfig::default()
    };
    desk.take(Input::Project { project: app(), input: ProjectInput::Configure(Box::new(config)) });
    let session = desk.idle("1");
    propose(&mut desk, session, 1);
    merge(&mut desk, 1);
    assert_eq!(settles(&desk), []);
    desk.ended(session);
    assert!(complete(&desk));
}

#[test]
fn what_could_not_be_closed_is_told_to_a_person() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    propose(&mut desk, session, 1);
    merge(&mut desk, 1);
    desk.ended(session);
    desk.run_jobs(|_| Err("the tracker says no".into()));
    let told = "app!1 was merged, but its issues were not closed: the tracker says no; close them with `ao issue close`";
    assert!(desk.told().contains(&told.to_owned()), "{:?}", desk.told());
}

/// acceptance: J3
#[test]
fn all_work_is_done_only_when_nothing_is_proposed_and_nothing_is_left_to_begin() {
    let mut desk = picking(caps(4), |_| {});
    let session = desk.idle("1");
    propose(&mut desk, session, 1);
    seen(&mut desk, 2, |facts| facts.head_branch = "somebody".into());
    desk.task("8", &["9"], false);
    merge(&mut desk, 1);
    desk.ended(session);
    desk.run_jobs(|_| done());
    assert!(!complete(&desk), "a pull request is open, and an issue waits for another");
    seen(&mut desk, 2, |facts| facts.state = PullState::Closed);
    assert!(!complete(&desk), "an issue waits for another");
    desk.task("8", &["9"], true);
    assert!(complete(&desk));
    seen(&mut desk, 3, |facts| facts.head_branch = "more".into());
    desk.wait(3600);
    assert!(!complete(&desk), "there is something to do again");
}

/// acceptance: J7
#[test]
fn stopped_work_stays_stopped_until_somebody_starts_again() {
    let mut desk = picking(caps(4), |_| {});
    desk.task("1", &[], false);
    assert_eq!(ordered(&desk.state).len(), 1);
    let work = |input| Input::Project { project: app(), input };
    desk.take(work(ProjectInput::StopWork { by: "ann".into() }));
    assert!(!still_wanted(&desk.state, &task("1"), desk.now), "not even what was picked already is begun");
    desk.run_jobs(|_| done());
    desk.task("2", &[], false);
    desk.wait(24 * 3600);
    // The configuration is read again with every start of the daemon.
    configure(&mut desk, &app(), |config| config.max_live = Some(3));
    assert_eq!(ordered(&desk.state), []);
    let why = task_obstacle(&desk.state, &task("2"), desk.now);
    assert_eq!(why, Some(Obstacle::Stopped { by: "ann".into() }));
    assert!(!complete(&desk));
    let by_hand = desk.spawn("1");
    assert!(desk.session(by_hand).takes_slot(), "a person's own word counts");
    assert_eq!(ordered(&desk.state), []);
    desk.take(work(ProjectInput::StartWork { by: "ann".into() }));
    assert_eq!(ordered(&desk.state), [("2".into(), None)]);
    assert!(desk.take(work(ProjectInput::StartWork { by: "ann".into() })).is_empty(), "said twice");
}
