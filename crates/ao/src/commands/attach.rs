//! `ao attach`: a session's terminal in the user's own.

mod connection;
mod detach_keys;
mod own_terminal;
mod screen;
mod view;

use std::io::IsTerminal;

use self::detach_keys::DetachKeys;
use self::view::{AttachedView, LeaveReason};
use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::find_session;
use crate::error::CommandError;
use crate::ui;

/// Attach to the terminal of a session
///
/// Your input goes to the agent, and its terminal gets the size of your window until you detach. The agent keeps
/// running afterwards. `--read-only` only watches. While you type, messages to the agent wait.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao attach my-app-3
  ao attach my-app-3 --read-only
  ao attach my-app-3 --detach-keys ctrl-p,ctrl-q")]
pub(crate) struct Args {
    /// The session: its name, its id, or a unique prefix of either
    #[arg(add = completers::sessions())]
    session: String,
    /// Only watch: no input reaches the agent, and its terminal keeps its size
    #[arg(long, short)]
    read_only: bool,
    /// The keys that detach; typing the first one twice sends it once to the agent
    #[arg(long, value_name = "KEYS", default_value = "ctrl-],d")]
    detach_keys: DetachKeys,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(CommandError::user("`ao attach` needs a terminal")
            .hint(format!("`ao logs -f {}` follows the agent's output", args.session)));
    }
    let (name, left) = cx.call(async |client| {
        let session = find_session(client, &args.session).await?;
        let name = session.name.clone();
        let mut room =
            AttachedView::enter(client.clone(), session, args.read_only, args.detach_keys.clone()).await?;
        let left = room.stay().await;
        room.leave().await;
        Ok((name, left?))
    })?;
    // Printed after the terminal is restored, where it stays visible.
    let said = match left {
        LeaveReason::Detached => format!("detached from `{name}`; its agent keeps running"),
        LeaveReason::Ended(Some(code)) => format!("the program of `{name}` has ended with code {code}"),
        LeaveReason::Ended(None) => format!("the program of `{name}` has ended"),
        LeaveReason::Closed => format!("the terminal of `{name}` is no longer shown"),
    };
    ui::note(said);
    Ok(())
}
