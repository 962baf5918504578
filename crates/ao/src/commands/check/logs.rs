//! `ao check logs`: the output of a check run.

use std::io::{IsTerminal, Write};

use ao_api::CheckLog;

use super::{RunArg, follow};
use crate::cli::context::Context;
use crate::error::CommandError;

/// Show the output of a check run
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao check logs test
  ao check logs test --pull 7 -f
  ao check logs run_4f2 >log.txt")]
pub(crate) struct Args {
    #[command(flatten)]
    which: RunArg,
    /// Keep printing until the run has ended
    #[arg(long, short)]
    follow: bool,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    cx.call(async |client| {
        let run = args.which.find(client).await?;
        // A reused result comes from another run, which has the output.
        let id = run.same_as.clone().unwrap_or_else(|| run.id.clone());
        let mut from = 0;
        loop {
            let piece = client.check_log(&id, from, false).await?;
            let more = piece.next > from;
            from = piece.next;
            if more {
                show(&piece, cx)?;
            } else if args.follow && !piece.ended {
                return follow_on(client, &id, from, cx).await;
            } else {
                return Ok(());
            }
        }
    })
}

async fn follow_on(
    client: &ao_api::client::Client,
    run: &str,
    from: u64,
    cx: &Context,
) -> Result<(), CommandError> {
    if !cx.json() {
        let run = client.check_run(run).await?;
        return follow::output(client, &run, from).await.map(|_| ());
    }
    let mut from = from;
    loop {
        let piece = client.check_log(run, from, true).await?;
        from = piece.next;
        show(&piece, cx)?;
        if piece.ended {
            return Ok(());
        }
    }
}

fn show(piece: &CheckLog, cx: &Context) -> Result<(), CommandError> {
    cx.print(piece, || {
        let mut out = std::io::stdout().lock();
        // Control characters are removed for a terminal, and kept for a file.
        match std::io::stdout().is_terminal() {
            true => out.write_all(follow::made_safe(&piece.text).as_bytes())?,
            false => out.write_all(piece.text.as_bytes())?,
        }
        out.flush()
    })
}
