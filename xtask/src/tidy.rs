//! `cargo xtask tidy`: remembers the few things we would forget, and says how to fix what it finds.
//!
//! Everything is read once, into a [`Tree`] and [`Packages`]; each rule is then a function from those to findings,
//! in a file of its own, with tests that show it can fail.

mod acceptance;
mod arrows;
mod env_vars;
mod leftovers;
mod links;
mod purity;
mod rust_text;
mod sources;
mod wired;

use std::fmt;
use std::process::ExitCode;

use anyhow::Result;

use crate::process::{root, success_if};
use sources::{Packages, Tree};

/// Check the things we would otherwise forget.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// List which acceptance cases the tests name, and where.
    #[arg(long)]
    acceptance: bool,
}

/// Something to put right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// A file, a file with a line, or a crate.
    place: String,
    what: String,
    fix: String,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.acceptance {
        let covered = acceptance::covered(&Tree::read(root())?);
        for (id, places) in &covered {
            say!("{id:<4} {}", places.join(", "));
        }
        say!("{} acceptance cases are named by tests", covered.len());
        return Ok(ExitCode::SUCCESS);
    }

    let findings = check()?;
    for finding in &findings {
        say!("{finding}");
    }
    match findings.len() {
        0 => say!("tidy"),
        many => say!("\n{many} to fix"),
    }
    Ok(success_if(findings.is_empty()))
}

/// Everything that is not as it should be.
pub(crate) fn check() -> Result<Vec<Finding>> {
    let tree = Tree::read(root())?;
    let packages = Packages::read()?;
    Ok([
        arrows::check(&packages),
        purity::check_dependencies(&packages),
        purity::check_sources(&tree),
        wired::check(&tree),
        env_vars::check(&tree),
        leftovers::check(&tree, root()),
        acceptance::check(&tree),
        links::check(&tree),
    ]
    .concat())
}

impl Finding {
    fn new(place: impl Into<String>, what: impl Into<String>, fix: impl Into<String>) -> Finding {
        Finding { place: place.into(), what: what.into(), fix: fix.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n    fix: {}", self.place, self.what, self.fix)
    }
}
