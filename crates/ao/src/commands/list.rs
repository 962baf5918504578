//! `ao list`, and `ao session ls`.

use ao_api::{Session, Sessions};

use super::wait::{is_one_of, states};
use crate::cli::completers;
use crate::cli::context::Context;
use crate::error::CommandError;
use crate::show::Canvas;
use crate::{show, ui};

/// List sessions, one per line
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao list
  ao ls --project my-app --state needs_input,blocked
  ao list --state waiting,error
  ao list --json | jq -r '.sessions[] | select(.status.state == \"idle\") | .name'")]
pub(crate) struct Args {
    /// Only sessions of this project
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
    /// Only sessions in one of these states; `waiting` and `error` stand for several each
    #[arg(long, short, value_delimiter = ',', value_name = "STATE", value_parser = states())]
    state: Vec<String>,
    /// Leave out ended sessions
    #[arg(long)]
    live: bool,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let Sessions { sessions, pulls, seq } = cx.call(async |client| Ok(client.sessions().await?))?;
    let known = sessions.len();
    let sessions = sessions.into_iter().filter(|session| args.wants(session)).collect();
    let listed = Sessions { sessions, pulls, seq };
    cx.print(&listed, || {
        if listed.sessions.is_empty() {
            ui::note(match known {
                0 => "there are no sessions yet; `ao spawn ISSUE` starts one".to_owned(),
                known => format!("no session matches; there are {known}"),
            });
        }
        ui::text(show::list(&listed.sessions, Canvas::here()))
    })
}

impl Args {
    fn wants(&self, session: &Session) -> bool {
        self.project.as_ref().is_none_or(|project| *project == session.project_id)
            && (self.state.is_empty() || is_one_of(session.status.state, &self.state))
            && !(self.live && show::is_over(session.status.state))
    }
}
