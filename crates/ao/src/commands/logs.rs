//! `ao logs`: the output of a session's agent.

use std::io::Write;
use std::time::Duration;

use ao_api::client::{Client, ClientError};
use ao_api::{Output, SessionState};
use tokio::time::Instant;

use super::wait;
use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::event_watch::EventWatch;
use crate::client::{event_watch, find_session};
use crate::error::CommandError;
use crate::ui;

/// A response that came sooner than this was not waited for.
const AT_ONCE: Duration = Duration::from_millis(300);
/// Bytes to read first when looking for the last lines.
const SMALL_TAIL: u64 = 64 * 1024;
/// Output without line ends is not read further back than this.
const LARGEST_TAIL: u64 = 32 * 1024 * 1024;

/// Show the output of a session's agent
///
/// Shows stdout and stderr, or the text of its terminal without colours and cursor movements, as far back as it is
/// recorded; `ao attach` shows the terminal itself. `--setup` shows the output of the commands that set up its
/// workspace.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao logs my-app-3 --tail 50
  ao logs my-app-3 -f
  ao logs my-app-3 --setup")]
pub(crate) struct Args {
    /// The session: its name, its id, or a unique prefix of either
    #[arg(add = completers::sessions())]
    session: String,
    /// Keep printing new output until the program ends
    #[arg(long, short, conflicts_with = "setup")]
    follow: bool,
    /// Show the output of its set-up commands
    #[arg(long)]
    setup: bool,
    /// Only show the last lines
    #[arg(long, short = 'n', value_name = "LINES")]
    tail: Option<usize>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    cx.call(async |client| {
        if !args.setup {
            return output(args, client, cx).await;
        }
        let log = client.setup_log(&args.session).await?;
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
    // Use the id from here on: a prefix may match another session later.
    let session = find_session(client, &args.session).await?;
    let mut from = 0;
    if let Some(lines) = args.tail {
        let piece = last_piece(client, &session.id, lines).await?;
        show(&piece, cx)?;
        from = piece.next;
        if !args.follow {
            return Ok(());
        }
    }
    let mut news: Option<EventWatch> = None;
    let mut rests = false;
    loop {
        let asked = Instant::now();
        let asked_for = client.output(&session.id, from, args.follow).await;
        let piece = match or_nothing(asked_for, client, &session.id, from).await {
            Ok(piece) => piece,
            // A long wait can outlast the daemon; the output is recorded, so nothing is missed.
            Err(err) if args.follow && event_watch::is_away(&err) => {
                let here = async || find_session(client, &session.id).await.map(Some);
                event_watch::until(client, None, here).await?;
                continue;
            }
            Err(err) => return Err(err.into()),
        };
        from = piece.next;
        if piece.next > piece.from {
            show(&piece, cx)?;
            rests = false;
            continue;
        }
        if !args.follow || piece.ended || rests {
            return Ok(());
        }
        // Read the output once more before believing that it has ended.
        rests = can_only_rest(client, &session.id).await?;
        if rests || asked.elapsed() >= AT_ONCE {
            continue;
        }
        // Without a process there is no output to wait for, and a process starts with an event. Subscribe before
        // asking, so that none is missed.
        match &mut news {
            Some(news) => news.next(client, Some(&session.id)).await?,
            None => news = Some(EventWatch::open(client, Some(&session.id)).await?),
        }
    }
}

/// Returns true if a session has no process and gets none unless a person acts.
async fn can_only_rest(client: &Client, session: &str) -> Result<bool, CommandError> {
    let session = find_session(client, session).await?;
    let rests = wait::can_only_rest(session.status.state);
    if session.status.state == SessionState::SetupFailed {
        let name = &session.name;
        ui::note(format_args!(
            "the set-up of `{name}` failed, so nothing runs; `ao logs {name} --setup` shows why"
        ));
    }
    Ok(rests)
}

/// Returns the last lines of the output, reading more and more until they are complete.
async fn last_piece(client: &Client, session: &str, lines: usize) -> Result<Output, CommandError> {
    let mut size = SMALL_TAIL;
    let mut piece = or_nothing(client.output_tail(session, size).await, client, session, 0).await?;
    let mut is_all = piece.from == 0;
    // The first line may be incomplete, so one more is needed.
    while !is_all && line_ends(&piece.text) <= lines && size < LARGEST_TAIL {
        size *= 8;
        let from = piece.next.saturating_sub(size);
        piece = read(client, session, from, piece.next).await?;
        // Older output may have been deleted.
        is_all = from == 0 || piece.from > from;
    }
    piece.text = last_lines(&piece.text, lines).to_owned();
    Ok(piece)
}

/// Returns the output; nothing if no program was started yet.
async fn or_nothing(
    answer: Result<Output, ClientError>,
    client: &Client,
    session: &str,
    from: u64,
) -> Result<Output, ClientError> {
    use SessionState::{Queued, SettingUp, SetupFailed, Starting};
    match answer {
        Err(ClientError::Refused(problem)) if problem.word() == "unreadable-output" => {
            let state = find_session(client, session).await?.status.state;
            match matches!(state, Queued | SettingUp | SetupFailed | Starting) {
                true => Ok(Output { from, next: from, text: String::new(), ended: false }),
                false => Err(ClientError::Refused(problem)),
            }
        }
        answer => answer,
    }
}

/// Reads the output between two offsets as one piece.
async fn read(client: &Client, session: &str, from: u64, end: u64) -> Result<Output, CommandError> {
    let mut all = client.output(session, from, false).await?;
    while all.next < end {
        let piece = client.output(session, all.next, false).await?;
        if piece.next <= all.next {
            break;
        }
        all.text.push_str(&piece.text);
        (all.next, all.ended) = (piece.next, piece.ended);
    }
    Ok(all)
}

fn show(piece: &Output, cx: &Context) -> Result<(), CommandError> {
    match cx.json() {
        true => Ok(ui::json(piece)?),
        false => write(&piece.text),
    }
}

fn write(text: &str) -> Result<(), CommandError> {
    // Not through anstream: the text has no colours, and a piece may end anywhere.
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

fn line_ends(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// Returns the last lines of a text.
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
