//! `ao pr diff`: the changes of a pull request.

use std::io::{IsTerminal, Write};

use ao_api::{Diff, Thread};

use super::PullArg;
use crate::cli::context::Context;
use crate::error::CommandError;
use crate::show::diff::{DiffOptions, draw, names, parse, safe_lines, stat};
use crate::show::{Canvas, pager};
use crate::ui;

/// Show the changes of a pull request
///
/// On a terminal, numbers the lines, highlights the changed words, and uses a pager if the diff is long. Control and
/// bidirectional characters are written out. Elsewhere prints a plain diff that `git apply` accepts.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao pr diff 7
  ao pr diff 7 --comments
  ao pr diff 7 --stat
  ao pr diff 7 | git apply")]
pub(crate) struct Args {
    #[command(flatten)]
    which: PullArg,
    /// Print the plain diff, on a terminal too
    #[arg(long, conflicts_with_all = ["stat", "name_only", "comments"])]
    patch: bool,
    /// Only show how much changed in each file
    #[arg(long, conflicts_with = "name_only")]
    stat: bool,
    /// Only show the changed paths
    #[arg(long)]
    name_only: bool,
    /// Show the open review threads at their lines
    #[arg(long)]
    comments: bool,
    /// Show resolved threads too
    #[arg(long, requires = "comments")]
    all: bool,
    /// Do not use a pager
    #[arg(long)]
    no_pager: bool,
}

/// The most that the daemon returns.
const DIFF_LIMIT: usize = 16 * 1024 * 1024;

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let (answer, threads) = cx.call(async |client| {
        let named = args.which.named(client).await?;
        let answer = client.pull_diff(&named, Some(DIFF_LIMIT)).reply().await?;
        let threads = match args.comments && !cx.json() {
            true => client.pull(&named).await?.threads,
            false => vec![],
        };
        Ok((answer, threads))
    })?;
    if cx.json() {
        return Ok(ui::raw(answer.json())?);
    }
    let diff = &answer.value;
    let for_person = std::io::stdout().is_terminal();
    let as_patch = (args.patch || !for_person) && !args.stat && !args.name_only && !args.comments;
    if diff.cut && (for_person || !as_patch) {
        ui::note("the diff is too long, and only its beginning is shown");
    }
    if as_patch {
        return plain(diff, for_person, args);
    }
    let files = match parse(&diff.diff, diff.cut) {
        Ok(files) => files,
        Err(err) => {
            ui::note(format_args!("{err}; it is shown unchanged"));
            return plain(diff, for_person, args);
        }
    };
    let canvas = Canvas::here();
    if args.name_only {
        return Ok(ui::text(names(&files))?);
    }
    if args.stat {
        return Ok(ui::text(stat(&files, canvas))?);
    }
    if files.is_empty() {
        ui::note("it changes nothing");
    }
    let threads: Vec<Thread> = threads.into_iter().filter(|thread| args.all || !thread.resolved).collect();
    Ok(pager::show(&draw(&files, DiffOptions { threads: &threads, canvas }), !args.no_pager)?)
}

/// Writes the diff itself: unchanged to a program, and without control characters to a person.
fn plain(diff: &Diff, for_person: bool, args: &Args) -> Result<(), CommandError> {
    if for_person {
        return Ok(pager::show(&safe_lines(&diff.diff), !args.no_pager)?);
    }
    let mut out = std::io::stdout().lock();
    out.write_all(diff.diff.as_bytes())?;
    out.flush()?;
    // A truncated diff must not be taken for the whole change.
    match diff.cut {
        true => Err(CommandError::user("the diff is too long, and only its beginning was printed")
            .hint("`git diff BASE...HEAD` has all of it; `ao pr show` names both")),
        false => Ok(()),
    }
}
