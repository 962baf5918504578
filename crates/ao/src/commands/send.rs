//! `ao send`: delivers a message and reports whether the agent has accepted it.

use std::time::Duration;

use ao_api::client::Client;
use ao_api::{MessageSent, MessageState, NewMessage};
use camino::Utf8PathBuf;
use tokio::time::{Instant, sleep};

use crate::cli::context::Context;
use crate::cli::{completers, duration_arg, text_input};
use crate::client::retry::{CallRetry, KNOCK};
use crate::client::{find_session, retry};
use crate::error::{CommandError, FailureKind};
use crate::ui;

/// The longest that the daemon waits in one call, in seconds.
const ONE_CALL: u64 = 300;

/// Send a message to an agent, and wait until it is accepted
///
/// The message is stored first, and delivered when the agent is idle: never into a dialog, while a person types, or
/// during a turn, unless you pass `--interrupt`. Exits with 0 when the agent has accepted it, with 7 if delivery was
/// given up (the outbox keeps the text), and with 8 if it still waits.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao send my-app-3 \"Please add tests for this change\"
  ao send my-app-3 --file review.md
  git diff | ao send my-app-3 -
  ao send my-app-3 \"Stop that\" --interrupt
  ao send my-app-3 \"When you have time: update the docs\" --no-wait")]
pub(crate) struct Args {
    /// The session: its name, its id, or a unique prefix of either
    #[arg(add = completers::sessions())]
    session: String,
    /// The message; `-` reads it from stdin
    #[arg(required_unless_present = "file", conflicts_with = "file", allow_hyphen_values = true)]
    text: Option<String>,
    /// Read the message from this file
    #[arg(long, short, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: Option<Utf8PathBuf>,
    /// Interrupt a running turn instead of waiting for its end
    #[arg(long)]
    interrupt: bool,
    /// Maximum time to wait for the agent to accept it: 30, 30s, 5m, 2h
    #[arg(long, short, default_value = "2m", value_parser = duration_arg::parse)]
    timeout: Duration,
    /// Do not wait for delivery
    #[arg(long, conflicts_with = "timeout")]
    no_wait: bool,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let content = content(args)?;
    let sent = cx.call(async |client| deliver(client, args, content).await)?;
    if cx.json() {
        ui::json(&sent)?;
    }
    let MessageSent { session_name: name, message, .. } = &sent;
    let reason = message.reason.as_deref().unwrap_or("the daemon gives no reason");
    match message.state {
        MessageState::Accepted if cx.json() => Ok(()),
        MessageState::Accepted => {
            Ok(ui::line(format_args!("{name} has accepted it (message {})", message.number))?)
        }
        MessageState::Queued | MessageState::Written if args.no_wait => match cx.json() {
            true => Ok(()),
            false => Ok(ui::line(format_args!("queued for {name} (message {})", message.number))?),
        },
        MessageState::Failed => {
            let error = match reason.starts_with("not accepted") {
                true => reason.to_string(),
                false => format!("not accepted: {reason}"),
            };
            Err(CommandError::new(FailureKind::NotAccepted, error)
                .hint(format!(
                    "the outbox of `{name}` keeps the text as message {}; `ao status {name}` shows it",
                    message.number
                ))
                .hint(format!("`ao attach {name}` shows what the agent's terminal looks like")))
        }
        MessageState::Queued => Err(late(format!("still queued for `{name}`: {reason}"))),
        MessageState::Written => {
            Err(late(format!("it was written to `{name}`, but the agent has not accepted it yet: {reason}")))
        }
    }
}

fn late(error: String) -> CommandError {
    CommandError::new(FailureKind::TimedOut, error).hint("it stays in the outbox and will be delivered")
}

/// Sends the message and waits for the result. It has a key, so it can be sent again: after a broken connection, and
/// to wait longer than one call allows.
async fn deliver(client: &Client, args: &Args, content: String) -> Result<MessageSent, CommandError> {
    let deadline = Instant::now() + args.timeout;
    // By id, because a key is known to one session only: a prefix that now matches another session would send the
    // text again there.
    let session = find_session(client, &args.session).await?.id;
    let key = retry::key();
    let mut tries = CallRetry::until(deadline);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let seconds = left.as_millis().div_ceil(1000).min(ONE_CALL.into());
        let message = NewMessage {
            content: content.clone(),
            interrupt: args.interrupt,
            key: Some(key.clone()),
            wait_seconds: (!args.no_wait).then_some(u32::try_from(seconds).unwrap_or(u32::MAX)),
        };
        match client.send(&session, &message).await {
            Ok(sent) => {
                tries.answered();
                let settled = matches!(sent.message.state, MessageState::Accepted | MessageState::Failed);
                if settled || args.no_wait || Instant::now() >= deadline {
                    return Ok(sent);
                }
                // Avoids a busy loop with a daemon that answers early.
                sleep(KNOCK).await;
            }
            Err(err) => tries.again(err).await?,
        }
    }
}

fn content(args: &Args) -> Result<String, CommandError> {
    let content = match (&args.text, &args.file) {
        (_, Some(file)) => text_input::file(file)?,
        (Some(dash), None) if dash == "-" => text_input::stdin("message")?,
        (text, None) => text.clone().unwrap_or_default(),
    };
    if content.trim().is_empty() {
        return Err(CommandError::user("the message is empty, so nothing was sent"));
    }
    Ok(content)
}
