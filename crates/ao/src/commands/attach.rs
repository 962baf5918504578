//! `ao attach`: a session's terminal in the viewer's own.

mod keys;
mod own;
mod picture;
mod room;
mod wire;

use std::io::IsTerminal;

use self::keys::Keys;
use self::room::{Left, Room};
use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::find_session;
use crate::error::{CommandError, Kind};
use crate::ui;

/// Look into the terminal of a session, and take it over
///
/// What you type goes to the agent, and its terminal is as large as your window until you detach. The agent goes on
/// afterwards; `--read-only` only looks and changes nothing. What you type into an agent's terminal counts as a person's
/// typing: messages wait meanwhile.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao attach my-app-3
  ao attach my-app-3 --read-only
  ao attach my-app-3 --detach-keys ctrl-p,ctrl-q")]
pub(crate) struct Args {
    /// The session: its name, its id, or a beginning of either that only it has
    #[arg(add = completers::sessions())]
    session: String,
    /// Only look: nothing that is typed reaches the agent, and its terminal keeps its size
    #[arg(long, short)]
    read_only: bool,
    /// The keys that detach, one after another; the first of them twice sends it once to the agent
    #[arg(long, value_name = "KEYS", default_value = "ctrl-],d")]
    detach_keys: Keys,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(CommandError::new(Kind::User, "`ao attach` needs a terminal, and this is none")
            .hint(format!("`ao logs -f {}` follows what the agent puts out", args.session)));
    }
    let client = cx.client()?;
    let (name, left) = cx.wait_for(async {
        let session = find_session(&client, &args.session).await?;
        let name = session.name.clone();
        let mut room = Room::enter(client, session, args.read_only, args.detach_keys.clone()).await?;
        let left = room.stay().await;
        room.leave().await;
        Ok((name, left?))
    })?;
    // The viewer's terminal is as it was, so this is said where it stays.
    let said = match left {
        Left::Detached => format!("detached from `{name}`; its agent goes on"),
        Left::Ended(Some(code)) => format!("the program of `{name}` has ended with code {code}"),
        Left::Ended(None) => format!("the program of `{name}` has ended"),
        Left::Closed => format!("the terminal of `{name}` is no longer shown"),
    };
    ui::note(said);
    Ok(())
}
