//! `ao demo`: six issues at once on a throw-away repository, from the issue to the merge.
//!
//! Nothing in it is played but the people: a real git repository, the real daemon with a data folder of its own, real
//! worktrees, terminals, checks and merges, driven by the commands that a user has. The agents are scripts instead of models
//! unless one is named. Each tale is known by what the event log says of it, and the demo fails if one does not happen.

mod ending;
mod git;
mod history;
mod sample;
mod stage;
mod story;
mod view;

use tokio::signal::unix::{SignalKind, signal};

use crate::error::{CommandError, Kind};
use crate::ui;

pub(crate) use self::sample::Tale;
use self::stage::Stage;

/// See six issues become merges at once, on a throw-away repository
///
/// Six agents work in worktrees and terminals of their own: one change merges as it is, one has a red check and repairs it,
/// one is asked for more by a reviewer, one runs into a conflict and rebases, one has a flaky check that wakes nobody, and one
/// touches a protected path and waits for you. Needs git, and neither an account nor a network. All of it happens in a
/// temporary directory, with a daemon of its own, and is gone afterwards.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao demo
  ao demo --yes                  lets the last one through in your place
  ao demo --keep                 leaves all of it there to play with
  ao demo --agent claude-code    real agents, which cost real money")]
pub(crate) struct Args {
    /// Let the change through that waits for you, without asking
    #[arg(long, short)]
    yes: bool,
    /// Leave everything that was made, with the daemon, and say how to look around and how to remove it
    #[arg(long)]
    keep: bool,
    /// Let this agent do the work instead of a script
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Let the scripted agents do their work without pauses
    #[arg(long)]
    fast: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), CommandError> {
    let dir = tempfile::Builder::new().prefix("ao-demo-").tempdir().map_err(|err| {
        CommandError::environment(err).hint("set TMPDIR to a directory that you can write to")
    })?;
    let stage = Stage::new(dir.path().to_owned(), args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(CommandError::environment)?;
    let outcome = runtime.block_on(async {
        let told = tokio::select! {
            told = story::tell(&stage, args) => told,
            signal = interrupted() => Err(CommandError::new(Kind::Interrupted(signal), "interrupted")),
        };
        let stays = args.keep && !matches!(&told, Err(err) if matches!(err.kind(), Kind::Interrupted(_)));
        if !stays {
            // Whatever happened, neither the daemon nor an agent of the demo is left behind.
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

/// Waits until somebody wants the demo to end: Ctrl-C, a polite kill, a closed terminal. Returns the signal's number.
async fn interrupted() -> u8 {
    let wait = async |kind| match signal(kind) {
        Ok(mut wanted) => wanted.recv().await,
        // Then only the demo's own end ends it.
        Err(_) => std::future::pending().await,
    };
    tokio::select! {
        _ = wait(SignalKind::interrupt()) => 2,
        _ = wait(SignalKind::terminate()) => 15,
        _ = wait(SignalKind::hangup()) => 1,
    }
}

/// A tale that did not happen. That is our fault, unless the machine is very slow or the agent is a real one.
fn failed(what: String) -> CommandError {
    CommandError::new(Kind::Bug, what)
        .hint("`ao demo --keep` leaves the daemon, the event log and the agents' output there to look at")
}
