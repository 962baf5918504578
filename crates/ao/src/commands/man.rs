//! `ao man`: the manual pages.

use std::io::Write;

use camino::{Utf8Path, Utf8PathBuf};
use clap::Command;
use clap_mangen::Man;

use crate::cli::context::Context;
use crate::cli::reference::is_for_people;
use crate::error::{CommandError, FailureKind};
use crate::{cli, ui};

/// Print a manual page, or write all pages to a folder
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao man | man -l -
  ao man session cleanup | man -l -
  ao man --dir ~/.local/share/man/man1")]
pub(crate) struct Args {
    /// The command to describe [default: ao itself]
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Write all pages to this folder, creating it if needed
    #[arg(long, value_name = "DIR", conflicts_with = "command", value_hint = clap::ValueHint::DirPath)]
    dir: Option<Utf8PathBuf>,
}

pub(crate) fn run(args: &Args, _cx: &Context) -> Result<(), CommandError> {
    let mut root = cli::command();
    root.build();
    if let Some(dir) = &args.dir {
        let pages = write_all(&root, dir).map_err(|err| {
            CommandError::environment(format!("the manual cannot be written to `{dir}`: {err}"))
        })?;
        return Ok(ui::line(format_args!("{} written to {dir}", ui::count(pages, "page")))?);
    }
    let mut command = &root;
    for word in &args.command {
        command =
            command.find_subcommand(word).filter(|command| is_for_people(command)).ok_or_else(|| {
                CommandError::user(format!("there is no command `ao {}`", args.command.join(" ")))
                    .hint("`ao help` lists all")
            })?;
    }
    let mut page = Vec::new();
    render(command, &mut page).map_err(|err| CommandError::new(FailureKind::Bug, err))?;
    Ok(std::io::stdout().write_all(&page)?)
}

/// Writes the pages of a command and of all its subcommands: `ao-session-kill.1`.
fn write_all(command: &Command, dir: &Utf8Path) -> std::io::Result<u64> {
    std::fs::create_dir_all(dir)?;
    let mut page = Vec::new();
    render(command, &mut page)?;
    std::fs::write(dir.join(format!("{}.1", file_name(command))), page)?;
    let mut pages = 1;
    for below in command.get_subcommands().filter(|below| is_for_people(below)) {
        pages += write_all(below, dir)?;
    }
    Ok(pages)
}

fn render(command: &Command, page: &mut Vec<u8>) -> std::io::Result<()> {
    // A page is named after the whole command, as in `man ao-session-kill`.
    let named = command.clone().name(file_name(command)).disable_help_subcommand(true);
    Man::new(named).render(page)
}

fn file_name(command: &Command) -> String {
    command.get_display_name().unwrap_or(command.get_name()).to_owned()
}
