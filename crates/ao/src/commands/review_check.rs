//! `ao review-check`: what reviewers and checks still want, and whether the agents know.

use ao_api::client::Client;
use ao_api::{Explanation, Incident, Session};
use serde::Serialize;

use crate::context::Context;
use crate::error::CommandError;
use crate::show::{self, Canvas, Cell, Column, Table};
use crate::{calls, complete, ui};

/// Show pull requests with open reviews, and whether their agents were told
///
/// Lists what reviewers, checks and the forge still want of each session's pull requests, as far as the daemon knows of them:
/// no forge is asked yet.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao review-check
  ao review-check my-app-3
  ao review-check --project my-app --json")]
pub(crate) struct Args {
    /// Only this session
    #[arg(add = complete::sessions())]
    session: Option<String>,
    /// Only those of this project
    #[arg(long, short, add = complete::projects())]
    project: Option<String>,
}

/// What is open for one session.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Open {
    session_id: String,
    session_name: String,
    pulls: Vec<String>,
    incidents: Vec<Incident>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let client = cx.client()?;
    let (looked_at, open) = cx.wait_for(look(args, &client))?;
    if looked_at.with_pulls < looked_at.sessions {
        // To programs too: a list with nothing in it would be taken for reviews with nothing in them.
        ui::note("no forge is asked yet, so only pull requests that the daemon knows of are looked at");
    }
    if cx.json() {
        return Ok(ui::json(&open)?);
    }
    if open.is_empty() {
        let sessions = |count: usize| ui::count(count as u64, "session");
        return Ok(ui::line(match looked_at.with_pulls {
            0 => format!("no pull request is known of {}", sessions(looked_at.sessions)),
            known => format!("nothing is open in the reviews of {}", sessions(known)),
        })?);
    }
    Ok(ui::text(table(&open, Canvas::here()).draw(ui::width()))?)
}

/// How many sessions were looked at, and how many of them have pull requests.
struct LookedAt {
    sessions: usize,
    with_pulls: usize,
}

async fn look(args: &Args, client: &Client) -> Result<(LookedAt, Vec<Open>), CommandError> {
    let sessions = match &args.session {
        Some(session) => vec![calls::session(client, session).await?],
        None => calls::sessions(client).await?.sessions,
    };
    let meant = |session: &&Session| {
        args.project.as_ref().is_none_or(|project| *project == session.project_id)
            && !show::is_over(&session.status.state)
    };
    let sessions: Vec<&Session> = sessions.iter().filter(meant).collect();
    let mut open = Vec::new();
    for session in sessions.iter().filter(|session| session.incidents > 0) {
        let Explanation { incidents, .. } = calls::explain(client, &session.id).await?;
        let incidents: Vec<Incident> = incidents.into_iter().filter(is_of_a_review).collect();
        if !incidents.is_empty() {
            open.push(Open {
                session_id: session.id.clone(),
                session_name: session.name.clone(),
                pulls: session.pulls.clone(),
                incidents,
            });
        }
    }
    let with_pulls = sessions.iter().filter(|session| !session.pulls.is_empty()).count();
    Ok((LookedAt { sessions: sessions.len(), with_pulls }, open))
}

/// Whether it is about a pull request, rather than about the agent.
fn is_of_a_review(incident: &Incident) -> bool {
    const KINDS: [&str; 5] =
        ["ci-failed", "changes-requested", "bot-comments", "merge-conflicts", "label-added"];
    KINDS.contains(&incident.kind.as_str())
}

fn table(open: &[Open], canvas: Canvas) -> Table {
    let mut table = Table::new(&[
        Column::new("SESSION"),
        Column::optional("PULLS"),
        Column::new("WHAT"),
        Column::new("FOR"),
        Column::new("TOLD"),
        Column::new("DETAIL"),
    ]);
    for session in open {
        for incident in &session.incidents {
            let detail = if incident.detail.is_empty() { &incident.problem } else { &incident.detail };
            table.row([
                Cell::styled(&session.session_name, ui::TITLE),
                Cell::new(session.pulls.join(" ")),
                Cell::new(&incident.kind),
                Cell::new(show::age(incident.opened_at, canvas.now)),
                told(incident),
                Cell::new(detail),
            ]);
        }
    }
    table
}

fn told(incident: &Incident) -> Cell {
    match (incident.asked.as_str(), incident.acted) {
        ("nobody", 0) => Cell::styled("nobody yet", ui::BUSY),
        ("nobody", acted) => Cell::styled(format!("{acted}×, given up"), ui::ERROR),
        (asked, 0) => Cell::styled(format!("{asked}, not yet"), ui::BUSY),
        (asked, acted) => Cell::styled(format!("{asked}, {acted}×"), ui::GOOD),
    }
}
