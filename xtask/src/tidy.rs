//! `cargo xtask tidy`: rules of this repository that no other tool checks, each with a fix.
//!
//! Everything is read once, into a [`SourceTree`] and [`PackageGraph`]; each rule is a function from those to findings, in a file
//! of its own, with tests that show it can fail.

mod acceptance;
mod arrows;
mod env_vars;
mod leftovers;
mod links;
mod prose;
mod purity;
mod rust_text;
mod sources;
mod test_modules;

use std::fmt;
use std::process::ExitCode;

use anyhow::Result;

use crate::process::{root, success_if};
use sources::{PackageGraph, SourceTree};

/// Check the rules that no other tool checks.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// List the acceptance cases that tests name, and where.
    #[arg(long)]
    acceptance: bool,
}

/// A violation of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TidyFinding {
    /// A file, a file with a line, or a crate.
    place: String,
    what: String,
    fix: String,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.acceptance {
        let covered = acceptance::covered(&SourceTree::read(root())?);
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

/// Returns all violations.
pub(crate) fn check() -> Result<Vec<TidyFinding>> {
    let tree = SourceTree::read(root())?;
    let packages = PackageGraph::read()?;
    Ok([
        arrows::check(&packages),
        purity::check_dependencies(&packages),
        purity::check_sources(&tree),
        test_modules::check(&tree),
        env_vars::check(&tree),
        leftovers::check(&tree, root()),
        acceptance::check(&tree),
        links::check(&tree),
        prose::check(&tree),
    ]
    .concat())
}

impl TidyFinding {
    fn new(place: impl Into<String>, what: impl Into<String>, fix: impl Into<String>) -> TidyFinding {
        TidyFinding { place: place.into(), what: what.into(), fix: fix.into() }
    }
}

impl fmt::Display for TidyFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n    fix: {}", self.place, self.what, self.fix)
    }
}
