//! `ao demo`: the life of one session on a throw-away repository.
//!
//! Nothing in it is played: a real git repository, a real log, the real engine, a real process. Only the agent is a script
//! instead of a model. Each step waits until the events show that it happened, and the demo fails if one does not.

mod describe;
mod repo;
mod story;
mod timeline;

use std::sync::Arc;
use std::time::Duration;

use ao_ports::{EndOrder, Runtime};
use ao_runtime::{Processes, Shim};
use camino::{Utf8Path, Utf8PathBuf};
use tokio::signal::unix::{SignalKind, signal};

use crate::clock::SystemClock;
use crate::error::{CommandError, Kind};
use crate::ui;

/// See the life of one session, on a throw-away repository
///
/// A scripted agent takes a task in its own worktree, outlives a restart of the daemon, gets a message, asks a question,
/// and is stopped; its work is kept until it is safe elsewhere. Needs git, and neither an account nor a network. All of it
/// happens in a temporary directory.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao demo
  ao demo --keep   leaves the repository and the event log there to look at")]
pub(crate) struct Args {
    /// Leave everything that was made, and say where
    #[arg(long)]
    keep: bool,
    /// Let the agent do its work without pauses
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
            told = story::tell(&stage) => told,
            signal = interrupted() => Err(CommandError::new(Kind::Interrupted(signal), "interrupted")),
        };
        // Whatever happened, no agent of the demo is left behind.
        told.and(end_agents(&stage).await)
    });
    if args.keep {
        let _ = dir.keep();
        ui::line(format_args!(
            "\nKept in {}; look at it with\n  {} events export --data-dir {}",
            stage.dir,
            quoted(&stage.program),
            quoted(stage.data_dir().as_str())
        ))?;
    }
    outcome
}

/// A word as a shell takes it for one.
fn quoted(word: &str) -> String {
    if word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+:@".contains(c)) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
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

/// Where the demo takes place.
struct Stage {
    dir: Utf8PathBuf,
    /// This very program, which is the agent too.
    program: String,
    pause: Duration,
    keep: bool,
}

impl Stage {
    fn new(dir: std::path::PathBuf, args: &Args) -> Result<Stage, CommandError> {
        let utf8 = |path: std::path::PathBuf| {
            Utf8PathBuf::from_path_buf(path).map_err(|path| {
                CommandError::environment(format!("the path `{}` is no UTF-8", path.display()))
            })
        };
        Ok(Stage {
            dir: utf8(dir)?,
            program: utf8(std::env::current_exe().map_err(CommandError::environment)?)?.into_string(),
            pause: Duration::from_millis(if args.fast { 20 } else { 600 }),
            keep: args.keep,
        })
    }

    fn repository(&self) -> Utf8PathBuf {
        self.dir.join("hello")
    }

    fn data_dir(&self) -> Utf8PathBuf {
        self.dir.join("data")
    }

    fn shim(&self) -> Shim {
        Shim { program: self.program.clone().into(), args: vec![crate::daemon::SHIM.into()] }
    }

    fn processes(&self) -> Utf8PathBuf {
        self.data_dir().join("processes")
    }
}

async fn end_agents(stage: &Stage) -> Result<(), CommandError> {
    if !Utf8Path::exists(&stage.processes()) {
        return Ok(());
    }
    let options = ao_runtime::Options {
        grace: Duration::from_secs(1),
        ..ao_runtime::Options::new(stage.processes(), stage.shim())
    };
    let runtime = Processes::new(options, Arc::new(SystemClock));
    for left in runtime.census().await.map_err(CommandError::environment)? {
        let order = EndOrder { session: left.session, attempt: left.attempt, process: None };
        runtime.end(&order).await.map_err(CommandError::environment)?;
    }
    Ok(())
}
