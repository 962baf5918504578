//! `ao wait`: waits until a session reaches a state.

use std::time::Duration;

use ao_api::{Session, SessionState, WireEnum};
use ao_core::session::StatusWord;
use clap::builder::PossibleValuesParser;

use crate::cli::context::Context;
use crate::cli::{completers, duration_arg};
use crate::client::{event_watch, find_session};
use crate::error::{CommandError, FailureKind};
use crate::show::Canvas;
use crate::{show, ui};

/// Every state of a session, and the two group names that stand for several states.
pub(super) fn states() -> PossibleValuesParser {
    let groups = ["waiting", "error"].map(str::to_owned);
    PossibleValuesParser::new(SessionState::ALL.iter().map(ToString::to_string).chain(groups))
}

/// Returns true if a state is one of those asked for.
pub(super) fn is_one_of(state: SessionState, asked: &[String]) -> bool {
    let word = StatusWord::of_word(&state.to_string());
    word.is_some_and(|word| asked.iter().any(|asked| word.is_meant_by(asked)))
}

/// Wait until a session reaches a state
///
/// Returns at once if it is in that state already. Exits with 0 when one of the states is reached, with 8 after the
/// timeout, with 5 if there is no such session, and with 1 if the session has ended in another way or has used up its
/// budget, so that only a person can continue it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao wait my-app-3 --for idle --timeout 5
  ao wait my-app-3 --for idle,needs_input && ao status my-app-3
  ao wait my-app-3 --for merged --timeout 2h")]
pub(crate) struct Args {
    /// The session: its name, its id, or a unique prefix of either
    #[arg(add = completers::sessions())]
    session: String,
    /// The states to wait for
    #[arg(long = "for", required = true, value_delimiter = ',', value_name = "STATE", value_parser = states())]
    states: Vec<String>,
    /// Maximum time to wait: 30, 30s, 5m, 2h [default: no limit]
    #[arg(long, short, value_parser = duration_arg::parse)]
    timeout: Option<Duration>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let reached = cx.call(async |client| {
        let mut last = None;
        let waiting = async {
            // Use the id from here on: a prefix may match another session later.
            let id = find_session(client, &args.session).await?.id;
            event_watch::until(client, Some(&id), async || {
                let session = find_session(client, &id).await?;
                let state = session.status.state;
                let wanted = is_one_of(state, &args.states);
                // A session without budget is not at rest, but needs a person to continue.
                let settled = wanted || can_only_rest(state) || state == SessionState::Capped;
                if settled {
                    return Ok(Some(session));
                }
                last = Some(session);
                Ok(None)
            })
            .await
        };
        match args.timeout {
            None => waiting.await,
            Some(limit) => match tokio::time::timeout(limit, waiting).await {
                Ok(reached) => reached,
                Err(_) => Err(too_late(args, last.as_ref())),
            },
        }
    })?;
    cx.print(&reached, || ui::line(show::why(&reached.name, &reached.status, Canvas::here())))?;
    if is_one_of(reached.status.state, &args.states) {
        return Ok(());
    }
    let error = format!("`{}` is {}, so {} cannot come", reached.name, reached.status.state, wanted(args));
    let error = CommandError::user(error);
    Err(match reached.status.state {
        SessionState::Capped => {
            error.hint(format!("`ao resume {}` shows which limit it needs", reached.name))
        }
        _ => error,
    })
}

/// Returns true if only a person can move a session out of this state.
pub(super) fn can_only_rest(state: SessionState) -> bool {
    show::is_over(state) || matches!(state, SessionState::Exited | SessionState::SetupFailed)
}

fn wanted(args: &Args) -> String {
    args.states.join(" or ")
}

fn too_late(args: &Args, last: Option<&Session>) -> CommandError {
    let error = match last {
        Some(session) => {
            let why = show::why(&session.name, &session.status, Canvas::here());
            format!("{} was not reached in time; {why}", wanted(args))
        }
        None => format!("{} was not reached in time; the daemon did not answer either", wanted(args)),
    };
    CommandError::new(FailureKind::TimedOut, error)
        .hint(format!("`ao explain {}` shows what it waits for", args.session))
}
