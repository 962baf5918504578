//! `cargo xtask generate`: writes the files that are generated from the code, such as the configuration reference.
//!
//! Each crate that generates some has an example called `generate-` and its own name, which prints them as one JSON
//! object of path and text. A test of that crate compares them with the files in git, so that `cargo xtask test` needs
//! no step for it.

use std::collections::BTreeMap;
use std::process::{ExitCode, Stdio};

use anyhow::{Context, Result, ensure};

use crate::process::{cargo, root, shown, success_if};
use crate::say;

/// Write the files that are generated from the code.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only report which files are out of date.
    #[arg(long)]
    check: bool,
}

/// The crates that generate files. The configuration's are generated from those of the agents, so these come first.
const MAKERS: &[&str] = &["ao-agent", "ao-config", "ao-server", "ao"];

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut stale = 0;
    for maker in MAKERS {
        for (path, text) in made_by(maker)? {
            let file = root().join(&path);
            if std::fs::read_to_string(&file).is_ok_and(|known| known == text) {
                continue;
            }
            stale += 1;
            if args.check {
                say!("{path} is out of date: run `cargo xtask generate`");
            } else {
                std::fs::write(&file, text).with_context(|| format!("failed to write `{path}`"))?;
                say!("wrote {path}");
            }
        }
    }
    if stale == 0 {
        say!("all files are up to date");
    }
    Ok(success_if(!args.check || stale == 0))
}

fn made_by(maker: &str) -> Result<BTreeMap<String, String>> {
    let mut command = cargo(&format!("run --quiet --package {maker} --example generate-{maker}"));
    say::aside(format_args!("$ {}", shown(&command)));
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "`{}` failed", shown(&command));
    serde_json::from_slice(&output.stdout).with_context(|| format!("failed to read the output of {maker}"))
}
