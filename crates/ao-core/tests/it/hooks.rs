//! Hooks: which points have them run, what their word means, and that nobody waits in vain.

use std::time::Duration;

use ao_core::hook::{Hook, HookPoint};
use ao_core::job::{Job, JobInput, JobOrder, JobOutcome, Requester};
use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::schedule::{Obstacle, obstacle};
use ao_core::session::SessionInput;
use ao_core::{DaemonSettings, Effect, Input, Scope, SessionId, wants};

use crate::desk::{Desk, app};

fn with_hooks(desk: &mut Desk, points: &[HookPoint]) {
    let hook = |point: &HookPoint| Hook {
        point: *point,
        command: format!("./{point}.sh"),
        timeout: Duration::from_secs(60),
    };
    let config = ProjectConfig {
        path: "~/app".into(),
        default_branch: "main".into(),
        hooks: points.iter().map(hook).collect(),
        ..ProjectConfig::default()
    };
    desk.take(Input::Project { project: app(), input: ProjectInput::Configure(Box::new(config)) });
}

fn desk(points: &[HookPoint]) -> Desk {
    let mut desk = Desk::new();
    with_hooks(&mut desk, points);
    desk
}

/// The hooks that are to be run now, as their points.
fn open(desk: &Desk) -> Vec<String> {
    let hook = |job: &Job| match &job.order {
        JobOrder::Hook { point, session, .. } => {
            format!("{point} {}", session.map(|id| id.to_string()).unwrap_or_default())
        }
        other => panic!("{other:?} is no hook"),
    };
    desk.state.jobs.values().map(hook).collect()
}

fn answer(desk: &mut Desk, outcome: JobOutcome) {
    let job = desk.state.jobs.values().next().expect("somebody is asked").clone();
    let input = JobInput::Done { tries: job.tries, outcome };
    desk.take(Input::Job { job: job.id, input });
}

fn yes() -> JobOutcome {
    JobOutcome::Done { said: String::new() }
}

fn no(why: &str) -> JobOutcome {
    JobOutcome::Refused { why: why.into() }
}

#[test]
fn a_session_starts_only_after_its_hook_had_its_say() {
    let mut desk = desk(&[HookPoint::BeforeAssign]);
    let session = desk.spawn("1");
    assert_eq!(desk.wants(session), Vec::<String>::new(), "it takes no slot while somebody is asked");
    assert_eq!(desk.state.slots_taken(), 0);
    assert_eq!(open(&desk), [format!("before-assign {session}")]);
    assert_eq!(obstacle(&desk.state, desk.session(session)), Some(Obstacle::Asked));
    desk.take(Input::Schedule);
    assert_eq!(open(&desk).len(), 1, "the same question is asked once");
    answer(&mut desk, yes());
    assert_eq!(desk.state.slots_taken(), 1);
    assert_eq!(open(&desk), Vec::<String>::new());
}

#[test]
fn an_objection_holds_it_with_the_reason_and_resume_asks_again() {
    let mut desk = desk(&[HookPoint::BeforeAssign]);
    let session = desk.spawn("1");
    answer(&mut desk, no("the licence server is down"));
    let held = "paused: the hook `before-assign` objects: the licence server is down";
    assert_eq!(desk.status(session), held);
    assert_eq!(desk.told().len(), 1, "{:?}", desk.told());
    assert!(desk.told()[0].contains("the licence server is down") && desk.told()[0].contains("ao resume"));
    desk.take(Input::Schedule);
    assert_eq!(open(&desk), Vec::<String>::new(), "it is not asked again by itself");
    desk.tell(session, SessionInput::Resume { limits: None });
    assert_eq!(open(&desk), [format!("before-assign {session}")]);
    answer(&mut desk, yes());
    assert_eq!(desk.state.slots_taken(), 1);
    assert_eq!(desk.told().len(), 1, "nobody is told twice");
}

#[test]
fn whoever_could_not_be_asked_has_not_agreed() {
    let mut desk = desk(&[HookPoint::BeforeAssign]);
    let session = desk.spawn("1");
    let job = desk.state.jobs.values().next().unwrap().clone();
    let input = JobInput::Failed { tries: 0, why: "no shell".into(), again: false };
    desk.take(Input::Job { job: job.id, input });
    assert!(desk.status(session).contains("it could not be run: no shell"), "{}", desk.status(session));
}

#[test]
fn a_job_waits_for_a_service_as_often_and_as_long_as_it_asks() {
    let mut desk = desk(&[HookPoint::BeforeAssign]);
    desk.spawn("1");
    let id = *desk.state.jobs.keys().next().unwrap();
    for round in 0..8 {
        let tries = desk.state.jobs[&id].tries;
        let input =
            JobInput::InTheWay { tries, why: "a limit".into(), after: Some(Duration::from_secs(3600)) };
        desk.take(Input::Job { job: id, input });
        desk.wait(3599);
        assert!(desk.state.jobs[&id].again_at.is_some(), "round {round}: it is not tried before");
        desk.wait(2);
        assert_eq!(desk.state.jobs[&id].again_at, None, "round {round}: it is tried then");
    }
    let tries = desk.state.jobs[&id].tries;
    let input = JobInput::Failed { tries, why: "no answer".into(), again: true };
    desk.take(Input::Job { job: id, input });
    assert!(desk.state.jobs.contains_key(&id), "none of those was a try");
}

#[test]
fn who_is_asked_about_lets_the_others_pass() {
    let mut desk = Desk::with(DaemonSettings { max_live: 1, ..DaemonSettings::default() });
    let before = desk.spawn("1");
    let second = desk.spawn("2");
    with_hooks(&mut desk, &[HookPoint::BeforeAssign]);
    assert_eq!(open(&desk), Vec::<String>::new(), "there is no slot to be had, so nobody is asked");
    desk.make_ready(before);
    desk.launch(before);
    desk.tell(before, SessionInput::Stop { by: "ann".into(), why: String::new() });
    desk.ended(before);
    assert_eq!(open(&desk), [format!("before-assign {second}")]);
    let third = desk.spawn("3");
    assert_eq!(open(&desk).len(), 1, "no more are asked about than could start");
    // Stopped while it was being asked about: the answer means nothing, and the next one is asked about.
    desk.tell(second, SessionInput::Stop { by: "ann".into(), why: String::new() });
    answer(&mut desk, yes());
    assert_eq!(open(&desk), [format!("before-assign {third}")]);
}

#[test]
fn a_session_that_ran_before_is_not_asked_about_again() {
    let mut desk = desk(&[HookPoint::BeforeAssign]);
    let session = desk.spawn("1");
    answer(&mut desk, yes());
    desk.make_ready(session);
    desk.launch(session);
    desk.sees(session, ao_core::evidence::SignalSource::Process, crate::desk::exited(0));
    desk.ended(session);
    desk.send(session, "go on");
    assert_eq!(open(&desk), Vec::<String>::new());
    assert_eq!(desk.state.slots_taken(), 1);
}

#[test]
fn points_of_a_session_are_reached_once_each() {
    use HookPoint::{SessionEnded, SessionStarted, WorkspaceCreated};
    let mut desk = desk(&[WorkspaceCreated, SessionStarted, SessionEnded]);
    let session = desk.spawn("1");
    assert_eq!(open(&desk), Vec::<String>::new());
    desk.make_ready(session);
    assert_eq!(open(&desk), [format!("workspace-created {session}")]);
    answer(&mut desk, yes());
    desk.launch(session);
    assert_eq!(open(&desk), [format!("session-started {session}")]);
    let job = desk.state.jobs.values().next().unwrap().clone();
    let JobOrder::Hook { document, .. } = &job.order else { panic!("{job:?}") };
    let document: serde_json::Value = serde_json::from_str(document).unwrap();
    assert_eq!(document["version"], 1);
    assert_eq!(document["hook"], "session-started");
    assert_eq!(document["project"]["defaultBranch"], "main");
    assert_eq!(document["session"]["id"], session.to_string());
    assert_eq!(document["session"]["issue"], "1");
    assert!(!document.to_string().contains("Do task 1."), "a prompt is not told");
    answer(&mut desk, yes());
    // Its process ends and starts again, which is not a start of the session.
    desk.sees(session, ao_core::evidence::SignalSource::Process, crate::desk::exited(0));
    desk.ended(session);
    desk.send(session, "go on");
    desk.launch(session);
    assert_eq!(open(&desk), Vec::<String>::new());
    desk.tell(session, SessionInput::Stop { by: "ann".into(), why: "enough".into() });
    desk.ended(session);
    assert_eq!(open(&desk), [format!("session-ended {session}")]);
}

#[test]
fn a_failing_hook_that_may_not_object_is_told_once_a_day() {
    let mut desk = desk(&[HookPoint::SessionEnded]);
    let fails = |desk: &mut Desk, key: &str| {
        let session: SessionId = desk.spawn(key);
        desk.make_ready(session);
        desk.launch(session);
        desk.tell(session, SessionInput::Stop { by: "ann".into(), why: String::new() });
        desk.ended(session);
        answer(desk, no("`./session-ended.sh` ended with code 3: no such file"));
    };
    let told = |desk: &Desk| desk.told().into_iter().filter(|text| text.contains("hook")).collect::<Vec<_>>();
    fails(&mut desk, "1");
    fails(&mut desk, "2");
    assert_eq!(
        told(&desk),
        ["the hook `session-ended` of `app` failed: `./session-ended.sh` ended with code 3: no such file"]
    );
    desk.wait(25 * 3600);
    fails(&mut desk, "3");
    assert_eq!(told(&desk).len(), 2);
}

/// The question is in the log and its answer is not, so the next daemon asks it again.
#[test]
fn a_question_without_an_answer_is_wanted_again_after_a_restart() {
    let mut desk = desk(&[HookPoint::BeforeAssign]);
    let session = desk.spawn("1");
    let job = desk.state.jobs.values().next().unwrap().clone();
    assert_eq!(job.requester, Requester::Assign(session));
    let again = ao_core::State::from_snapshot(&desk.state.to_snapshot()).unwrap();
    let wanted = wants(&again, &Scope::Job(job.id));
    assert_eq!(wanted, [Effect::RunJob { job: Box::new(job) }]);
}
