//! Reactions: their configuration, dry runs, and custom events.

use std::sync::Arc;

use ao_api::{EventTaken, NewEvent, Problem, ReactionTest, ReactionTested, Reactions};
use ao_core::incident::{IncidentKind, ObservedProblem as Incident, ProblemId, Subject};
use ao_core::outside::{QuotedKind, fenced};
use ao_core::reaction::{problem_of, rehearse};
use ao_core::session::AgentChoice;
use ao_core::{Input, State as Known};
use axum::Json;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::IntoParams;

use crate::app::App;
use crate::auth::Caller;
use crate::extract::{Asked, Call, Given, find};
use crate::forge::{invalid, project, pull_meant};
use crate::problem::{CodedReply, Failure, Reply, forbidden};
use crate::to_api;

/// The maximum size of an event's data, as JSON.
const DATA_MOST: usize = 16 * 1024;
/// The maximum size of an event's details.
const DETAIL_MOST: usize = 16 * 1024;
/// The maximum length of an event's key.
const KEY_MOST: usize = 200;

/// The project and the agent of reactions.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct For {
    /// The reactions of this project; by default those of all projects.
    project: Option<String>,
    /// The reactions of this agent, by its name or that of a specialist.
    agent: Option<String>,
}

/// Lists the reactions to all kinds of incidents, with the layer that set each field.
#[utoipa::path(
    get, path = "/api/reactions", tag = "reactions", params(For), responses((status = 200, body = Reactions)),
)]
pub(super) async fn list(Call { app, caller }: Call, Asked(wanted): Asked<For>) -> Reply<Reactions> {
    let project = wanted.project.as_deref().map(|named| project(&app, &caller, Some(named))).transpose()?;
    let agent = wanted.agent.as_deref().map(|named| match app.daemon.config.tool_of(named) {
        Some(tool) => AgentChoice { name: tool, specialist: Some(named.into()), ..AgentChoice::default() },
        None => AgentChoice { name: named.into(), ..AgentChoice::default() },
    });
    let look = move |state: &Known| Reactions {
        reactions: to_api::reactions(state, project.as_ref(), agent.as_ref()),
        project_id: project.map(|project| project.to_string()),
        agent: agent.map(|agent| agent.called().to_owned()),
    };
    Ok(Json(app.handle.view(look).await?))
}

/// Returns the steps that an incident would cause now, and why. Nothing is done or stored.
#[utoipa::path(
    post, path = "/api/reactions/test", tag = "reactions", request_body = ReactionTest,
    responses((status = 200, body = ReactionTested)),
)]
pub(super) async fn test(
    Call { app, caller }: Call,
    Given(test): Given<ReactionTest>,
) -> Reply<ReactionTested> {
    let kind = kind(&test.event)?;
    bounded(&test.data, test.detail.as_deref().unwrap_or_default())?;
    let about = subject(&app, &caller, test.session, test.pull, test.project_id).await?;
    let now = app.clock.now();
    app.handle
        .view(move |state| {
            if let IncidentKind::Custom(_) = kind {
                configured(state, &kind, &about)?;
            }
            let real = problem_of(state, now, &about, &kind, test.label.as_deref());
            let example = real.is_none();
            let problem = real.unwrap_or_else(|| match (&kind, &test.label) {
                (IncidentKind::Custom(_), _) => {
                    own(&kind, kind.to_string(), test.data, test.detail.as_deref().unwrap_or_default())
                }
                (_, label) => {
                    let named = label.clone().unwrap_or_else(|| "example".into());
                    let detail =
                        test.detail.as_deref().unwrap_or("(an example: nothing of the kind is there now)");
                    let id = match kind {
                        IncidentKind::LabelAdded => ProblemId::Label(named.clone()),
                        _ => ProblemId::Event(named.clone()),
                    };
                    Incident { kind: kind.clone(), id, revision: named, detail: detail.into() }
                }
            });
            let rehearsal = rehearse(state, now, about, problem);
            Ok(Json(to_api::tested(state, &rehearsal, example)))
        })
        .await?
}

/// Reports a custom event, or that it is over. Reactions to it are configured under `reactions`.
#[utoipa::path(
    post, path = "/api/events", tag = "reactions", request_body = NewEvent,
    responses((status = 202, body = EventTaken)),
)]
pub(super) async fn emit(Call { app, caller }: Call, Given(new): Given<NewEvent>) -> CodedReply<EventTaken> {
    let kind = kind(&new.event)?;
    if !matches!(kind, IncidentKind::Custom(_)) {
        return Err(Problem::new(422, "not-your-event", format!("`{kind}` is what ao itself finds out"))
            .hint(format!("`ao reactions test {kind}` shows what would be done about it"))
            .hint("an event of your own has a name of its own under `reactions`")
            .into());
    }
    bounded(&new.data, &new.detail)?;
    if new.key.as_ref().is_some_and(|key| key.len() > KEY_MOST || key.contains(char::is_control)) {
        return Err(invalid("a key is one line of at most 200 bytes"));
    }
    let about = subject(&app, &caller, new.session, new.pull, new.project_id).await?;
    let (looked_at, of) = (about.clone(), kind.clone());
    app.handle.view(move |state| configured(state, &of, &looked_at)).await??;
    let event = kind.to_string();
    let key = new.key.filter(|key| !key.is_empty()).unwrap_or_else(|| event.clone());
    let input = match new.clear {
        true => Input::Clear { subject: about.clone(), kind, problem: key.clone() },
        false => {
            let Incident { revision, detail, .. } = own(&kind, key.clone(), new.data, &new.detail);
            Input::Raise { subject: about.clone(), kind, problem: key.clone(), revision, detail }
        }
    };
    let happened = app.handle.ask(input).await?.events;
    let told = move |state: &Known| EventTaken {
        event,
        key,
        subject: state.subject_name(&about),
        steps: to_api::steps(state, &happened),
    };
    Ok((StatusCode::ACCEPTED, Json(app.handle.view(told).await?)))
}

fn kind(word: &str) -> Result<IncidentKind, Failure> {
    word.replace('_', "-").parse().map_err(|err: ao_core::incident::BadEventName| {
        Problem::new(422, "unknown-event", err.to_string())
            .hint("`ao reactions list` shows all of them")
            .into()
    })
}

fn bounded(data: &Map<String, Value>, detail: &str) -> Result<(), Failure> {
    if detail.len() > DETAIL_MOST {
        return Err(invalid(
            "the details of an event are 16 KB at most: put the rest into a file and name that",
        ));
    }
    let length = serde_json::to_string(data).map_or(0, |text| text.len());
    if length > DATA_MOST {
        return Err(invalid(
            "the data of an event are 16 KB at most: put the rest into a file and name that",
        ));
    }
    Ok(())
}

/// Returns the subject of an event. An agent may report about its own session only.
async fn subject(
    app: &Arc<App>,
    caller: &Caller,
    session: Option<String>,
    pull: Option<String>,
    named: Option<String>,
) -> Result<Subject, Failure> {
    let subject = match (session, pull) {
        (Some(_), Some(_)) => return Err(invalid("name a session or a pull request, and not both")),
        (Some(session), None) => Subject::Session(find(app, caller.clone(), session, true).await?.id),
        (None, Some(pull)) => {
            let id = pull_meant(app, caller, &pull, named.as_deref()).await?;
            let asked = id.clone();
            if !app.handle.view(move |state| state.pulls.contains_key(&asked)).await? {
                let title = format!("the pull request `{id}` is closed, merged or unknown");
                return Err(Problem::new(404, "unknown-pull", title)
                    .hint("`ao pr list` lists the open ones")
                    .into());
            }
            Subject::Pull(id)
        }
        (None, None) => match caller {
            Caller::Session(agent) => Subject::Session(agent.id),
            _ => Subject::Project(project(app, caller, named.as_deref())?),
        },
    };
    match caller {
        Caller::Session(agent) if subject != Subject::Session(agent.id) => Err(forbidden().into()),
        _ => Ok(subject),
    }
}

/// Refuses an event that has no reaction, because it is most likely misspelt.
fn configured(state: &Known, kind: &IncidentKind, about: &Subject) -> Result<(), Failure> {
    let (project, agent) = state.whose(about);
    if !state.reaction_layers(kind, project, agent).is_empty() {
        return Ok(());
    }
    let own: Vec<String> = to_api::reactions(state, project, agent)
        .into_iter()
        .filter(|reaction| reaction.own)
        .map(|reaction| reaction.event)
        .collect();
    let mut problem = Problem::new(404, "unknown-event", format!("no reaction is configured for `{kind}`"));
    // A name that is nearly a built-in one is a typo, not a custom event.
    let meant = IncidentKind::ours().find(|ours| strsim::levenshtein(ours.word(), kind.word()) <= 2);
    if let Some(meant) = meant {
        problem.candidates = vec![meant.to_string()];
        return Err(problem.hint("`ao reactions list` shows all of them").into());
    }
    let hint = match own.is_empty() {
        true => format!("declare it: `reactions: {{ {kind}: {{ action: notify }} }}`"),
        false => format!("configured are: {}", own.join(", ")),
    };
    problem.candidates = own;
    Err(problem.hint(hint).into())
}

/// The maximum size of each text of an event in a message.
const MOST: usize = 4 * 1024;

/// Converts a custom event to an incident. Its data decides whether it is an update.
fn own(kind: &IncidentKind, key: String, data: Map<String, Value>, detail: &str) -> Incident {
    let revision = json!({ "data": data, "detail": detail }).to_string();
    let mut lines = fenced(QuotedKind::Comment, detail, MOST);
    for (name, value) in &data {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let line = format!("{name}: {}", value.replace(['\n', '\r'], " "));
        lines.push_str(&fenced(QuotedKind::Comment, &line, MOST));
    }
    Incident { kind: kind.clone(), id: ProblemId::Event(key), revision, detail: lines }
}
