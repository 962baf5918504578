//! `ao review-check`: open reviews and failed checks, and whether the agents received them.

use ao_api::client::{Client, PullQuery};
use ao_api::{Explanation, Incident, IncidentLevel, Pull, PullReview, PullStateFilter, Session};
use ao_core::incident::IncidentKind;
use serde::Serialize;

use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::sessions;
use crate::error::CommandError;
use crate::show::{Canvas, TableCell, TextTable};
use crate::{show, ui};

/// Show pull requests with open reviews, and whether their agents were notified
///
/// Lists open pull requests with unresolved threads or requested changes, and what checks and the forge still require
/// of each session.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao review-check
  ao review-check my-app-3
  ao review-check --project my-app --json")]
pub(crate) struct Args {
    /// Only this session
    #[arg(add = completers::sessions())]
    session: Option<String>,
    /// Only this project
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
}

/// The open items of a session, or of a pull request without an owner.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct OpenItems {
    session_id: Option<String>,
    session_name: Option<String>,
    pulls: Vec<String>,
    incidents: Vec<Incident>,
    reviews: Vec<OpenReview>,
}

/// The open review items of a pull request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct OpenReview {
    pull: String,
    title: String,
    changes_requested: bool,
    open_threads: usize,
    /// Time of the last activity.
    updated_at: ao_api::Timestamp,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let (looked_at, open) = cx.call(async |client| look(args, client).await)?;
    cx.print(&open, || {
        if open.is_empty() {
            let pulls = ui::count(looked_at.pulls as u64, "open pull request");
            let sessions = ui::count(looked_at.sessions as u64, "session");
            return ui::line(format_args!("there are no open reviews in {pulls} and {sessions}"));
        }
        ui::text(table(&open, Canvas::here()).draw(ui::width()))
    })
}

/// The number of sessions and open pull requests that were checked.
struct CheckedCounts {
    sessions: usize,
    pulls: usize,
}

async fn look(args: &Args, client: &Client) -> Result<(CheckedCounts, Vec<OpenItems>), CommandError> {
    let sessions = sessions(client, args.session.as_deref()).await?;
    let meant = |session: &&Session| {
        args.project.as_ref().is_none_or(|project| *project == session.project_id)
            && !show::is_over(session.status.state)
    };
    let sessions: Vec<&Session> = sessions.iter().filter(meant).collect();
    let mut pulls = pulls(args, client).await;
    if args.session.is_some() {
        pulls.retain(|pull| sessions.iter().any(|session| pull.session.as_ref() == Some(&session.name)));
    }
    let mut open: Vec<OpenItems> = Vec::new();
    for session in &sessions {
        let mut found = OpenItems {
            session_id: Some(session.id.clone()),
            session_name: Some(session.name.clone()),
            pulls: session.pulls.clone(),
            ..OpenItems::default()
        };
        if session.incidents > 0 {
            let Explanation { incidents, .. } = client.explain(&session.id).await?;
            found.incidents = incidents.into_iter().filter(is_of_a_review).collect();
        }
        for pull in pulls.iter().filter(|pull| pull.session.as_ref() == Some(&session.name)) {
            found.reviews.extend(review(client, pull).await?);
        }
        open.push(found);
    }
    let is_claimed =
        |pull: &&Pull| sessions.iter().any(|session| pull.session.as_ref() == Some(&session.name));
    for pull in pulls.iter().filter(|pull| !is_claimed(pull)) {
        let reviews = Vec::from_iter(review(client, pull).await?);
        open.push(OpenItems { pulls: vec![pull.id.clone()], reviews, ..OpenItems::default() });
    }
    open.retain(|open| !open.incidents.is_empty() || !open.reviews.is_empty());
    Ok((CheckedCounts { sessions: sessions.len(), pulls: pulls.len() }, open))
}

/// Lists the open pull requests, as far as forges can be reached.
async fn pulls(args: &Args, client: &Client) -> Vec<Pull> {
    let query = PullQuery {
        project: args.project.clone(),
        state: Some(PullStateFilter::Open),
        ..PullQuery::default()
    };
    match client.pulls(&query).await {
        Ok(pulls) => pulls.pulls,
        Err(err) => {
            // Also for programs: an empty list would read as "no open reviews".
            let why = CommandError::from(err).to_plain();
            ui::note(format_args!(
                "pull requests cannot be listed, so only the messages of sessions are known: {why}"
            ));
            vec![]
        }
    }
}

/// Returns the open review items of a pull request, if there are any.
async fn review(client: &Client, pull: &Pull) -> Result<Option<OpenReview>, CommandError> {
    let threads = client.pull(&pull.id.as_str().into()).await?.threads;
    let review = OpenReview {
        pull: pull.id.clone(),
        title: pull.title.clone(),
        changes_requested: pull.review == PullReview::ChangesRequested,
        open_threads: threads.iter().filter(|thread| !thread.resolved).count(),
        updated_at: pull.updated_at,
    };
    Ok((review.changes_requested || review.open_threads > 0).then_some(review))
}

/// Returns true if an incident is about a pull request, not about the agent.
fn is_of_a_review(incident: &Incident) -> bool {
    use IncidentKind::{BotComments, ChangesRequested, CiFailed, LabelAdded, MergeConflicts};
    // A kind may also be an event of the user's own, so the API has its name.
    matches!(
        incident.kind.parse(),
        Ok(CiFailed | ChangesRequested | BotComments | MergeConflicts | LabelAdded)
    )
}

fn table(open: &[OpenItems], canvas: Canvas) -> TextTable {
    let mut table = TextTable::new(&["SESSION", "PULLS?", "WHAT", "FOR", "TOLD", "DETAIL"]);
    for session in open {
        for review in &session.reviews {
            let mut wants = Vec::new();
            if review.changes_requested {
                wants.push("changes requested".to_owned());
            }
            if review.open_threads > 0 {
                wants.push(ui::count(review.open_threads as u64, "open thread"));
            }
            table.row([
                name(session),
                TableCell::new(&review.pull),
                TableCell::new(wants.join(", ")),
                TableCell::new(show::age(review.updated_at, canvas.now)),
                TableCell::new(""),
                TableCell::new(&review.title),
            ]);
        }
        for incident in &session.incidents {
            let detail = if incident.detail.is_empty() { &incident.problem } else { &incident.detail };
            table.row([
                name(session),
                TableCell::new(session.pulls.join(" ")),
                TableCell::new(&incident.kind),
                TableCell::new(show::age(incident.opened_at, canvas.now)),
                delivery_cell(incident),
                TableCell::new(detail),
            ]);
        }
    }
    table
}

fn name(open: &OpenItems) -> TableCell {
    match &open.session_name {
        Some(name) => TableCell::styled(name, ui::TITLE),
        None => TableCell::styled("-", ui::FAINT),
    }
}

fn delivery_cell(incident: &Incident) -> TableCell {
    match (incident.asked, incident.acted) {
        (IncidentLevel::None, 0) => TableCell::styled("not yet", ui::BUSY),
        (IncidentLevel::None, acted) => TableCell::styled(format!("{acted}×, given up"), ui::ERROR),
        (asked, 0) => TableCell::styled(format!("{asked}, not yet"), ui::BUSY),
        (asked, acted) => TableCell::styled(format!("{asked}, {acted}×"), ui::GOOD),
    }
}
