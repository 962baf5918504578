//! `ao logs`: what the program of a session has put out.

use std::collections::VecDeque;
use std::io::Write;
use std::time::Duration;

use ao_api::client::Client;
use tokio::time::{Instant, sleep};

use crate::context::Context;
use crate::error::CommandError;
use crate::{calls, complete, follow, ui};

/// An answer that came sooner than this was not waited for.
const AT_ONCE: Duration = Duration::from_millis(300);

/// Show what the agent of a session has put out
///
/// The text of its terminal, without colours and movements, as far back as it is kept; `ao attach` shows the terminal
/// itself. With `--setup`, what the commands have put out that made its workspace ready.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao logs my-app-3 --tail 50
  ao logs my-app-3 -f
  ao logs my-app-3 --setup")]
pub(crate) struct Args {
    /// The session: its name, its id, or a beginning of either that only it has
    #[arg(add = complete::sessions())]
    session: String,
    /// Go on showing what comes, until the program ends
    #[arg(long, short, conflicts_with = "setup")]
    follow: bool,
    /// What its set-up commands have put out
    #[arg(long)]
    setup: bool,
    /// Only the last lines of what there is
    #[arg(long, short = 'n', value_name = "LINES")]
    tail: Option<usize>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let client = cx.client()?;
    cx.wait_for(async {
        if !args.setup {
            return output(args, &client, cx).await;
        }
        let log = calls::setup_log(&client, &args.session).await?;
        if log.is_empty() && !cx.json() {
            ui::note(format_args!("no set-up commands were run for `{}`", args.session));
        }
        match cx.json() {
            true => Ok(ui::json(&log)?),
            false => write(args.tail.map_or(log.as_str(), |lines| last_lines(&log, lines))),
        }
    })
}

async fn output(args: &Args, client: &Client, cx: &Context) -> Result<(), CommandError> {
    let mut kept = VecDeque::new();
    let (mut from, mut wait) = (0, false);
    loop {
        let asked = Instant::now();
        let piece = match calls::output(client, &args.session, from, wait).await {
            Ok(piece) => piece,
            // A long wait can outlast the daemon; the output is kept, so nothing is missed.
            Err(err) if wait && follow::is_away(&err) => {
                let here = async || calls::session(client, &args.session).await.map(Some);
                follow::until(client, None, here).await?;
                continue;
            }
            Err(err) => return Err(err.into()),
        };
        let dry = piece.next <= piece.from;
        from = piece.next;
        let ended = piece.ended && dry;
        match (cx.json(), args.tail) {
            (true, _) if dry => {}
            (true, _) => ui::json(&piece)?,
            // What is there now is gathered and cut; what comes behind it is shown as it comes.
            (false, Some(_)) if !wait => kept.push_back(piece.text),
            (false, _) => write(&piece.text)?,
        }
        if dry && !wait {
            if let Some(lines) = args.tail
                && !cx.json()
            {
                let text: String = kept.drain(..).collect();
                write(last_lines(&text, lines))?;
            }
            if !args.follow {
                return Ok(());
            }
            wait = true;
        }
        if ended {
            return Ok(());
        }
        if dry && wait && asked.elapsed() < AT_ONCE {
            started(client, &args.session).await?;
        }
    }
}

/// Returns when a session has a process, or never will have one again. Without one there is nothing to wait for in its
/// output, and asking for more of it would go on in a circle.
async fn started(client: &Client, session: &str) -> Result<(), CommandError> {
    let has_process = async || {
        let session = calls::session(client, session).await?;
        let before =
            matches!(session.status.state.as_str(), "queued" | "setting_up" | "starting" | "retrying");
        Ok((!before).then_some(()))
    };
    follow::until(client, Some(session), has_process).await?;
    sleep(AT_ONCE).await;
    Ok(())
}

fn write(text: &str) -> Result<(), CommandError> {
    // Not through anstream: the text has no colours, and pieces of it may end anywhere.
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// The end of a text, from the beginning of a line on.
fn last_lines(text: &str, lines: usize) -> &str {
    if lines == 0 {
        return "";
    }
    let body = text.strip_suffix('\n').unwrap_or(text);
    match body.rmatch_indices('\n').nth(lines - 1) {
        Some((at, _)) => &text[at + 1..],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_begin_at_a_line() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc\n");
        assert_eq!(last_lines("a\nb\nc", 1), "c");
        assert_eq!(last_lines("a\nb\n", 5), "a\nb\n");
        assert_eq!(last_lines("a\n\n\n", 2), "\n\n");
        assert_eq!(last_lines("a\n", 0), "");
        assert_eq!(last_lines("", 3), "");
    }
}
