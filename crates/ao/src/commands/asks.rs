//! `ao asks`: what agents ask people.

use crate::cli::completers;
use crate::cli::context::Context;
use crate::error::CommandError;
use crate::show::{self, Canvas};
use crate::ui;

/// List what agents ask you
///
/// An agent asks for a permission, for a choice, or for a text. Long details, such as the diff of a large file, are
/// shortened; with `--ask` all of one ask is shown. `ao answer` answers it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao asks                     lists the open asks of all sessions, the oldest first
  ao asks my-app-3            lists those of one session
  ao asks my-app-3 --ask 4    shows all of one, such as a long diff
  ao asks --json | jq -r '.asks[].ask.title'")]
pub(crate) struct Args {
    /// The session: its name, its id, or a unique prefix of either [default: all]
    #[arg(add = completers::sessions())]
    session: Option<String>,
    /// Show all of this ask: its number, the agent's id of it, or a unique prefix of that
    #[arg(long, value_name = "ID", requires = "session")]
    ask: Option<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    if let (Some(session), Some(ask)) = (&args.session, &args.ask) {
        let ask = cx.call(async |client| Ok(client.ask(session, ask).await?))?;
        return cx.print(&ask, || ui::text(show::whole_ask(&ask, Canvas::here())));
    }
    let listed = cx.call(async |client| Ok(client.asks(args.session.as_deref()).await?))?;
    cx.print(&listed, || match listed.asks.is_empty() {
        true => ui::line("no agent asks anything"),
        false => ui::text(show::asks(&listed.asks, Canvas::here())),
    })
}
