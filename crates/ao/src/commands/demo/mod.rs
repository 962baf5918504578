//! `ao demo`: six issues at once in a sample repository, from the issue to the merge.
//!
//! Everything is real except the people: a git repository, a daemon with its own data directory, worktrees,
//! terminals, checks and merges, driven by the user's commands. The agents are scripts unless one is named. The event
//! log proves that each issue went as planned, and the demo fails otherwise.

mod environment;
mod git;
mod history;
mod run;
mod sample;
mod summary;
mod view;

use tokio::signal::unix::{SignalKind, signal};

use crate::cli::context::Context;
use crate::error::{CommandError, FailureKind};
use crate::ui;

use self::environment::DemoEnvironment;
pub(crate) use self::sample::DemoIssue;

/// Watch six issues being worked on and merged at once, in a sample repository
///
/// Six agents work in their own worktrees and terminals: one change merges as it is, one has a failed check and fixes
/// it, one is asked for more by a reviewer, one has a conflict and rebases, one has a flaky check that disturbs no
/// agent, and one touches a protected path and waits for you. Needs git, but no account or network. Everything
/// happens in a temporary directory, with its own daemon, and is removed afterwards.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao demo
  ao demo --yes                  lets the last one through in your place
  ao demo --keep                 leaves all of it there to play with
  ao demo --agent claude-code    real agents, which cost real money")]
pub(crate) struct Args {
    /// Approve the change that waits for you, without asking
    #[arg(long, short)]
    yes: bool,
    /// Keep everything, including the daemon, and print how to explore and remove it
    #[arg(long)]
    keep: bool,
    /// Use this agent instead of the script
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Let the scripted agents work without pauses
    #[arg(long)]
    fast: bool,
}

pub(crate) fn run(args: &Args, _: &Context) -> Result<(), CommandError> {
    let dir = tempfile::Builder::new().prefix("ao-demo-").tempdir().map_err(|err| {
        CommandError::environment(err).hint("set TMPDIR to a directory that you can write to")
    })?;
    let stage = DemoEnvironment::new(dir.path().to_owned(), args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(CommandError::environment)?;
    let outcome = runtime.block_on(async {
        let told = tokio::select! {
            told = run::run(&stage, args) => told,
            signal = interrupted() => Err(CommandError::new(FailureKind::Interrupted(signal), "interrupted")),
        };
        let stays =
            args.keep && !matches!(&told, Err(err) if matches!(err.kind(), FailureKind::Interrupted(_)));
        if !stays {
            // In any case, no daemon or agent of the demo is left behind.
            return (told.and(stage.clear().await), false);
        }
        (told, true)
    });
    // A thread may still wait for a key.
    runtime.shutdown_background();
    let (told, stays) = outcome;
    if stays {
        let _ = dir.keep();
        ui::text(stage.how_to_play())?;
    }
    told
}

/// Waits for Ctrl-C, SIGTERM or a closed terminal. Returns the signal's number.
async fn interrupted() -> u8 {
    let wait = async |kind| match signal(kind) {
        Ok(mut wanted) => wanted.recv().await,
        // Without signals, only the end of the demo ends it.
        Err(_) => std::future::pending().await,
    };
    tokio::select! {
        _ = wait(SignalKind::interrupt()) => 2,
        _ = wait(SignalKind::terminate()) => 15,
        _ = wait(SignalKind::hangup()) => 1,
    }
}

/// Reports an issue that did not go as planned. That is a bug, unless the machine is very slow or the agent is a real
/// one.
fn failed(what: String) -> CommandError {
    CommandError::new(FailureKind::Bug, what)
        .hint("`ao demo --keep` leaves the daemon, the event log and the agents' output there to look at")
}
