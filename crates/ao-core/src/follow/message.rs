//! Messages about a problem to agents, orchestrators and people.

use super::bounded;
use crate::ask::OpenAsk;
use crate::decide::agent_of;
use crate::health::{BaseVerdict, flake_of};
use crate::incident::{EscalationLevel, Incident, IncidentKind, ONLY_A_PERSON, ProblemId, Subject};
use crate::input::Input;
use crate::notice::NewNotice;
use crate::outside::{QuotedKind, fenced, one_line, shortened};
use crate::pull::CheckState;
use crate::reaction::{ReactionAction, words};
use crate::session::{MessageKind, NewMessage, Sender, Session, SessionInput};
use crate::state::State;

/// Bytes of the evidence for orchestrators and people, who have to judge a problem rather than fix it.
const EVIDENCE: usize = 8 * 1024;

/// Returns the message to the agent whose problem it is.
pub(super) fn to_agent(state: &State, to: &Session, incident: &Incident, detail: &str) -> Input {
    let mut body = body(state, incident, detail);
    if let Some(log) =
        log_file(state, incident).filter(|_| state.settings.sharing_runtimes.contains(&to.spec.runtime))
    {
        body = format!("{}\nThe whole log is also in the file {log}", body.trim_end_matches('\n'));
    }
    news(to, incident, bounded(body))
}

/// Returns the path of the log of a failed check, on the daemon's host.
fn log_file<'a>(state: &'a State, incident: &Incident) -> Option<&'a String> {
    let Subject::Pull(id) = &incident.key.subject else { return None };
    match &state.pulls.get(id)?.failure(&incident.key.problem)?.state {
        CheckState::Failed { log, .. } => log.as_ref(),
        _ => None,
    }
}

/// Returns the message to the orchestrator: the subject, the reason for the escalation, and the evidence.
pub(super) fn to_orchestrator(state: &State, to: &Session, incident: &Incident, why: &str) -> Input {
    // The evidence of a session is its agent's text, no more trusted than a comment.
    let evidence = match incident.key.subject {
        Subject::Session(_) => fenced(QuotedKind::Log, &incident.detail, EVIDENCE),
        _ => shortened(&incident.detail, EVIDENCE),
    };
    let whom = state.subject_name(&incident.key.subject);
    let detail = format!("{whom} ({})\n{evidence}", one_line(why));
    news(to, incident, bounded(body(state, incident, &detail)))
}

/// Returns the notice to a person: the subject by name, the problem, and what was tried.
pub(super) fn to_person(state: &State, incident: &Incident, why: &str) -> Input {
    let key = &incident.key;
    let reaction = state.reaction(&key.kind, &key.subject);
    let whom = match &key.subject {
        Subject::Session(id) => format!("`{}`", state.name_of(*id)),
        other => other.to_string(),
    };
    let evidence = shortened(&incident.detail, EVIDENCE);
    // A template meant for an agent is not for the next level.
    let for_agent = matches!(reaction.action, ReactionAction::SendToAgent | ReactionAction::SpawnAgent);
    let what = match reaction.message.as_deref().filter(|_| !for_agent) {
        Some(message) => words::said(state, incident, Some(message), &evidence),
        None => format!("{} {evidence}", key.kind.default_message()),
    };
    let mut text = format!("{whom}: {what}");
    if why != ONLY_A_PERSON {
        // A part of it may be the output of a command.
        text = format!("{text} ({})", one_line(why));
    }
    for remark in remarks(state, incident) {
        text = format!("{}\n{remark}", text.trim_end());
    }
    if let (IncidentKind::AgentNeedsInput, Some(session)) = (&key.kind, agent_of(state, &key.subject)) {
        text = format!("{text}\n{}", how_to_answer(session, incident));
    }
    // A waiting head is reported once, even if it stops waiting and starts again.
    let told_as = match key.kind {
        IncidentKind::ReviewNeeded => key.to_string(),
        _ => format!("{key} {}", incident.opened),
    };
    Input::Tell(Box::new(NewNotice {
        incident: Some(key.clone()),
        channel: reaction.channel,
        ..NewNotice::new(reaction.level, key.subject.clone(), told_as, bounded(text))
    }))
}

/// Returns the text of the reaction, the evidence, and remarks.
pub(super) fn body(state: &State, incident: &Incident, detail: &str) -> String {
    let reaction = state.reaction(&incident.key.kind, &incident.key.subject);
    // The template is about the attempt that has just begun, and counts those before it.
    let before = Incident { acted: incident.acted.saturating_sub(1), ..incident.clone() };
    let mut body = words::said(state, &before, reaction.message.as_deref(), detail);
    for remark in remarks(state, incident) {
        body = format!("{}\n{remark}", body.trim_end_matches('\n'));
    }
    body
}

/// Returns remarks on the doubts about it, and on what was tried before.
fn remarks(state: &State, incident: &Incident) -> Vec<String> {
    let mut remarks = Vec::new();
    if incident.key.kind == IncidentKind::CiFailed {
        remarks.extend(how_sure(state, incident));
        remarks.extend(what_was_tried(incident));
    }
    if !incident.remark.is_empty() {
        remarks.push(marked(&incident.remark));
    }
    remarks
}

/// Fences the output of a command or a forge, except for its first line.
pub(super) fn marked(text: &str) -> String {
    match text.split_once('\n') {
        Some((first, rest)) => {
            format!("{}\n{}", one_line(first), fenced(QuotedKind::Log, rest, EVIDENCE).trim_end())
        }
        None => one_line(text),
    }
}

fn how_sure(state: &State, incident: &Incident) -> Vec<String> {
    let Subject::Pull(id) = &incident.key.subject else { return vec![] };
    let (Some(pull), Some(project)) = (state.pulls.get(id), state.projects.get(&id.project)) else {
        return vec![];
    };
    let Some(check) = pull.failure(&incident.key.problem) else { return vec![] };
    let mut said = Vec::new();
    match pull.runs.get(&check.name).map_or(1, |runs| runs.failed) {
        0 | 1 => {}
        2 => said.push("It failed twice on the same commit.".to_owned()),
        n => said.push(format!("It failed {n} times on the same commit.")),
    }
    if let Some(flake) = flake_of(&project.flakes, &incident.key.problem) {
        said.push(format!(
            "The same failure has gone away by itself before ({}×), but this time it has not.",
            flake.times
        ));
    }
    let base = project.base.get(&pull.facts.base_branch, &check.name);
    if let Some((_, BaseVerdict::Unknown { why })) = base.and_then(|base| base.found.as_ref()) {
        let (branch, why) = (one_line(&pull.facts.base_branch), one_line(why));
        said.push(format!("Whether `{branch}` itself passes it could not be found out: {why}"));
    }
    said
}

/// The first commit is the head at the first message; the others are the agent's attempts since.
fn what_was_tried(incident: &Incident) -> Option<String> {
    let (told, since) = incident.tried.split_first()?;
    if since.is_empty() {
        return None;
    }
    let since: Vec<String> = since
        .iter()
        .map(|tried| match &tried.title {
            Some(title) => format!("{} {}", tried.commit, one_line(title)),
            None => tried.commit.to_string(),
        })
        .collect();
    let whom = if incident.level == EscalationLevel::Agent { "You were" } else { "The agent was" };
    Some(format!(
        "{whom} told of this on {}; since then: {}; the failure is the same.",
        told.commit,
        since.join("; ")
    ))
}

fn news(to: &Session, incident: &Incident, body: String) -> Input {
    Input::Session {
        session: to.id,
        input: SessionInput::Send(NewMessage {
            from: Sender::Daemon,
            kind: MessageKind::News { incident: incident.key.clone() },
            body,
            interrupt: false,
            key: None,
        }),
    }
}

/// Returns the command that answers an ask, with its options if it has any.
fn how_to_answer(session: &Session, incident: &Incident) -> String {
    let open = session.open_asks();
    let asked = |open: &&OpenAsk| incident.key.problem == ProblemId::Ask(open.number);
    let meant = open.iter().find(asked).or(open.last());
    let options: Vec<&str> =
        meant.iter().flat_map(|open| &open.ask.options).map(|option| option.id.as_str()).collect();
    let answers = match &options[..] {
        [] => "yes|no|TEXT".to_owned(),
        options => options.join("|"),
    };
    let (name, number) = (&session.spec.name, meant.map_or(session.dialogs.questions, |open| open.number));
    format!("Answer with: ao answer {name} {answers} --ask {number}")
}
