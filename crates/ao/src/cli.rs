//! The command line.

use clap::{Parser, Subcommand};

use crate::commands::{demo, demo_agent, events, hook};
use crate::error::CommandError;

/// Runs many AI coding agents at once, each in its own branch and workspace, and keeps track of what they really do.
#[derive(Debug, Parser)]
#[command(name = "ao", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Examples:
  ao demo                            see the life of one session, on a throw-away repository
  ao events check                    look for faults in the event log
  ao events export > events.ndjson   all that ever happened, one event a line")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Args),
    #[command(subcommand)]
    Events(events::Command),
    #[command(hide = true)]
    DemoAgent(demo_agent::Args),
    #[command(hide = true)]
    Hook(hook::Args),
}

pub(crate) fn run() -> Result<(), CommandError> {
    match Cli::parse().command {
        Command::Demo(args) => demo::run(&args),
        Command::Events(command) => events::run(&command),
        Command::DemoAgent(args) => demo_agent::run(&args),
        Command::Hook(args) => hook::run(&args),
    }
}
