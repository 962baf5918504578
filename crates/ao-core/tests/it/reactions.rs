//! Reactions in layers, with conditions and words of their own, and events that users tell of.

use ao_core::health::BaseVerdict;
use ao_core::incident::{EscalationLevel, IncidentKind, ObservedProblem, ProblemId, Subject};
use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::pull::{CheckState, PullFacts, PullInput};
use ao_core::reaction::{
    ConditionJudge, ReactionAction, ReactionPatch, ReactionPatches, context, problem_of, rehearse, sample,
};
use ao_core::{DaemonSettings, Event, Input, SessionId};
use serde_json::Value;

use crate::desk::{Desk, app};
use crate::incidents::{facts, pull, red, with_pull};

fn kind(word: &str) -> IncidentKind {
    word.parse().unwrap()
}

fn said(word: &str, patch: ReactionPatch) -> ReactionPatches {
    [(kind(word), patch)].into()
}

fn own(action: ReactionAction) -> ReactionPatch {
    ReactionPatch { action: Some(action), ..ReactionPatch::default() }
}

/// A judge for tests: an expression is the name of a value, and holds if that is true or not empty.
fn judge(expression: &str, context: &Value) -> Result<bool, String> {
    let found = expression.split('.').try_fold(context, |here, part| here.get(part));
    match found {
        Some(Value::Bool(holds)) => Ok(*holds),
        Some(Value::String(text)) => Ok(!text.is_empty()),
        _ => Err(format!("no {expression}")),
    }
}

fn raise(desk: &mut Desk, session: SessionId, revision: &str) -> Vec<Event> {
    desk.take(Input::Raise {
        subject: Subject::Session(session),
        kind: kind("deploy-failed"),
        problem: "deploy".into(),
        revision: revision.into(),
        detail: "> it broke\n".into(),
    })
}

/// What is on its way to the agent.
fn on_its_way(desk: &Desk, session: SessionId) -> String {
    desk.session(session).outbox.current.as_ref().expect("something is").text.clone()
}

/// A failure that is surely no chance.
fn broken() -> CheckState {
    let mut check = red("E1");
    if let CheckState::Failed { certain, .. } = &mut check {
        *certain = true;
    }
    check
}

/// Nobody doubts it: it is surely no chance, and the base passes.
fn failing(desk: &mut Desk) {
    let seen = facts(desk, "h1", broken());
    see(desk, seen);
}

fn see(desk: &mut Desk, seen: PullFacts) {
    let (check, commit) = (seen.checks[0].name.clone(), seen.base.clone());
    desk.take(Input::Pull { pull: pull(), input: PullInput::Seen(Box::new(seen)) });
    let green = ProjectInput::BaseFound { check, commit, verdict: BaseVerdict::Green {} };
    desk.take(Input::Project { project: app(), input: green });
}

#[test]
fn the_nearest_word_counts_field_by_field() {
    let patch = |attempts, message: &str| ReactionPatch {
        attempts,
        message: Some(message.into()),
        ..ReactionPatch::default()
    };
    let mut desk = Desk::with(DaemonSettings {
        reactions: said("ci-failed", patch(Some(7), "top")),
        agent_reactions: [
            ("scripted".to_owned(), said("ci-failed", patch(None, "tool"))),
            ("ui".to_owned(), said("ci-failed", patch(Some(1), "specialist"))),
        ]
        .into(),
        ..DaemonSettings::default()
    });
    let project = ProjectConfig {
        path: "~/app".into(),
        default_branch: "main".into(),
        reactions: said("ci-failed", patch(Some(5), "project")),
        ..ProjectConfig::default()
    };
    desk.take(Input::Project { project: app(), input: ProjectInput::Configure(Box::new(project)) });
    let session = with_pull(&mut desk);
    let of = |desk: &Desk, subject: Subject| {
        let reaction = desk.state.reaction(&IncidentKind::CiFailed, &subject);
        (reaction.attempts, reaction.message.unwrap())
    };
    assert_eq!(of(&desk, Subject::Host), (7, "top".into()));
    assert_eq!(of(&desk, Subject::Project(app())), (5, "project".into()));
    assert_eq!(of(&desk, Subject::Session(session)), (5, "tool".into()));
    assert_eq!(of(&desk, Subject::Pull(pull())), (5, "tool".into()));
    let mut request = crate::desk::request("9", crate::desk::TYPED);
    request.agent.specialist = Some("ui".into());
    let events = desk.take(Input::Spawn(Box::new(request)));
    let other = events.iter().find_map(Event::session).unwrap();
    assert_eq!(of(&desk, Subject::Session(other)), (1, "specialist".into()));

    // What the file of this project says of agents holds for them here, over what holds for them everywhere.
    let project = ProjectConfig {
        path: "~/app".into(),
        default_branch: "main".into(),
        reactions: said("ci-failed", patch(Some(5), "project")),
        agent_reactions: [
            ("scripted".to_owned(), said("ci-failed", patch(Some(2), "tool here"))),
            ("ui".to_owned(), said("ci-failed", patch(None, "specialist here"))),
        ]
        .into(),
        ..ProjectConfig::default()
    };
    desk.take(Input::Project { project: app(), input: ProjectInput::Configure(Box::new(project)) });
    assert_eq!(of(&desk, Subject::Session(session)), (2, "tool here".into()));
    assert_eq!(of(&desk, Subject::Session(other)), (1, "specialist here".into()));
    assert_eq!(of(&desk, Subject::Project(app())), (5, "project".into()));
}

/// acceptance: F1
#[test]
fn an_agent_is_told_in_the_words_of_the_configuration_with_the_failure_in_them() {
    let message = "{{ session.name }}: `{{ check.name }}` failed on {{ pr.title }}\n{{ errors }}try {{ attempt }} of {{ retries }}";
    let patch = ReactionPatch { message: Some(message.into()), ..ReactionPatch::default() };
    let mut desk =
        Desk::with(DaemonSettings { reactions: said("ci-failed", patch), ..DaemonSettings::default() });
    let session = with_pull(&mut desk);
    failing(&mut desk);
    let told = on_its_way(&desk, session);
    assert!(told.starts_with("app-1: `test` failed on Fix login\ncheck `test` failed on h1\n"), "{told}");
    assert!(told.contains("> assertion failed: login\n") && told.ends_with("try 1 of 3"), "{told}");
    assert_eq!(told.matches("assertion failed").count(), 1, "the details do not follow once more: {told}");
}

/// acceptance: F1
#[test]
fn the_path_of_a_log_reaches_only_an_agent_that_sees_the_files_of_the_host() {
    for (sharing, expected) in [(&["process", "tmux"][..], true), (&["tmux"], false)] {
        let sharing_runtimes = sharing.iter().map(|name| (*name).to_owned()).collect();
        let mut desk = Desk::with(DaemonSettings { sharing_runtimes, ..DaemonSettings::default() });
        let session = with_pull(&mut desk);
        let mut seen = facts(&desk, "h1", broken());
        seen.checks[0].run = Some("run_1".into());
        if let CheckState::Failed { log, .. } = &mut seen.checks[0].state {
            *log = Some("/data/runs/run_1.log".into());
        }
        see(&mut desk, seen);
        let told = on_its_way(&desk, session);
        assert!(told.contains("\nwhole log: `ao check logs run_1`\n"), "{told}");
        assert_eq!(
            told.ends_with("\nThe whole log is also in the file /data/runs/run_1.log"),
            expected,
            "{told}"
        );
        assert_eq!(told.contains("/data/"), expected, "{told}");
    }
}

#[test]
fn words_that_cannot_be_filled_in_are_replaced_by_the_usual_ones() {
    let patch =
        ReactionPatch { message: Some("on {{ data.env }}".into()), ..own(ReactionAction::SendToAgent) };
    let mut desk =
        Desk::with(DaemonSettings { reactions: said("deploy-failed", patch), ..DaemonSettings::default() });
    let session = desk.idle("1");
    raise(&mut desk, session, "{}");
    let told = on_its_way(&desk, session);
    assert!(told.starts_with("Something happened that you should know of.\n> it broke\n"), "{told}");
    assert!(told.contains("the configured message could not be used: undefined value"), "{told}");
}

#[test]
fn if_the_condition_does_not_hold_it_is_recorded_and_if_nobody_can_say_a_person_decides() {
    for (condition, level) in [
        ("session.name", EscalationLevel::Agent),
        ("label", EscalationLevel::None),
        ("nothing", EscalationLevel::Person),
    ] {
        let patch = ReactionPatch { condition: Some(condition.into()), ..ReactionPatch::default() };
        let mut desk =
            Desk::with(DaemonSettings { reactions: said("ci-failed", patch), ..DaemonSettings::default() });
        desk.state = desk.state.clone().judged_by(ConditionJudge(judge));
        with_pull(&mut desk);
        failing(&mut desk);
        let found: Vec<EscalationLevel> =
            desk.state.incidents.values().map(|incident| incident.level).collect();
        assert_eq!(found, [level], "{condition}");
    }
}

/// What was only recorded because a condition did not hold is dealt with as soon as it does.
#[test]
fn a_condition_that_comes_to_hold_counts_for_what_is_open() {
    fn ready(_: &str, context: &Value) -> Result<bool, String> {
        Ok(context["pr"]["labels"].as_array().is_some_and(|labels| !labels.is_empty()))
    }
    let patch = ReactionPatch { condition: Some("ready".into()), ..ReactionPatch::default() };
    let mut desk =
        Desk::with(DaemonSettings { reactions: said("ci-failed", patch), ..DaemonSettings::default() });
    desk.state = desk.state.clone().judged_by(ConditionJudge(ready));
    let session = with_pull(&mut desk);
    failing(&mut desk);
    assert!(desk.session(session).outbox.current.is_none());
    desk.wait(1);
    let mut seen = facts(&desk, "h1", broken());
    seen.labels.insert("ready".into());
    see(&mut desk, seen);
    assert!(on_its_way(&desk, session).contains("check `test` failed"));
}

#[test]
fn an_event_of_ones_own_stays_until_it_is_taken_back_and_is_new_when_it_says_something_new() {
    let mut desk = Desk::with(DaemonSettings {
        reactions: said("deploy-failed", own(ReactionAction::Notify)),
        ..DaemonSettings::default()
    });
    let session = desk.idle("1");
    raise(&mut desk, session, "1");
    raise(&mut desk, session, "1");
    desk.take(Input::Review(Subject::Session(session)));
    assert_eq!((desk.told().len(), desk.state.incidents.len()), (1, 1), "told once, and still there");
    desk.wait(1);
    raise(&mut desk, session, "2");
    assert_eq!((desk.told().len(), desk.state.incidents.len()), (2, 1), "other words are news");
    desk.take(Input::Clear {
        subject: Subject::Session(session),
        kind: kind("deploy-failed"),
        problem: "deploy".into(),
    });
    assert_eq!(desk.state.incidents.len(), 0);
    desk.wait(1);
    raise(&mut desk, session, "2");
    assert_eq!(desk.told().len(), 3, "and so is what was over");
}

#[test]
fn a_rehearsal_says_what_would_happen_and_leaves_no_trace() {
    let mut desk = Desk::new();
    with_pull(&mut desk);
    failing(&mut desk);
    let before = desk.state.clone();
    let subject = Subject::Pull(pull());
    let problem = problem_of(&desk.state, desk.now, &subject, &IncidentKind::CiFailed, None).unwrap();
    let told = rehearse(&desk.state, desk.now, subject.clone(), problem);
    assert_eq!(told.reaction.action, ReactionAction::SendToAgent);
    assert!(
        told.events.iter().any(|stamped| matches!(stamped.event, Event::Session(..))),
        "{:?}",
        told.events
    );
    let label = ObservedProblem {
        kind: IncidentKind::LabelAdded,
        id: ProblemId::Label("x\u{202e}".into()),
        revision: "x".into(),
        detail: "label".into(),
    };
    let told = rehearse(&desk.state, desk.now, subject, label);
    assert_eq!(told.context["label"], "x");
    assert_eq!(desk.state, before);
}

/// What was found right against the sample must not fail against the real thing.
#[test]
fn every_documented_name_is_there_whatever_the_problem_is_about() {
    let mut desk = Desk::with(DaemonSettings {
        reactions: said("deploy-failed", own(ReactionAction::Record)),
        ..DaemonSettings::default()
    });
    let session = with_pull(&mut desk);
    failing(&mut desk);
    raise(&mut desk, session, r#"{"data":{"env":"a\nb","list":["\u001b[2J"]}}"#);
    desk.take(Input::Raise {
        subject: Subject::Host,
        kind: kind("deploy-failed"),
        problem: "p".into(),
        revision: "no JSON".into(),
        detail: String::new(),
    });
    fn names(value: &Value, path: &str, all: &mut Vec<String>) {
        for (key, inner) in value.as_object().into_iter().flatten() {
            let kind = match inner {
                Value::Object(_) => "object",
                Value::Array(_) => "list",
                Value::String(_) => "text",
                Value::Bool(_) => "truth",
                _ => "number",
            };
            all.push(format!("{path}{key} {kind}"));
            if key != "data" {
                names(inner, &format!("{path}{key}."), all);
            }
        }
    }
    let mut documented = vec![];
    names(&sample(), "", &mut documented);
    documented.sort();
    assert_eq!(desk.state.incidents.len(), 3);
    for incident in desk.state.incidents.values() {
        let mut found = vec![];
        names(&context(&desk.state, incident), "", &mut found);
        found.sort();
        assert_eq!(found, documented, "{}", incident.key);
    }
    let own =
        desk.state.incidents.values().find(|incident| incident.key.subject == Subject::Session(session));
    let data = context(&desk.state, own.unwrap())["data"].clone();
    assert_eq!(data, serde_json::json!({ "env": "ab", "list": [""] }));
}
