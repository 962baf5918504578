//! Policies: read with a place for every mistake, and two layers of one put together.
//!
//! The file on the base branch and the project's own `policy` say the same things. Where both say something, the stricter
//! of the two counts, key by key: whoever may merge into the base branch can tighten what the user of this machine has
//! asked for and cannot loosen it, and the other way round. Nothing here reads a repository; whoever does brings the text.

mod check;
mod layers;
mod when;

use ao_core::policy::POLICY_FILE;
use camino::Utf8Path;
use serde::de::DeserializeOwned;

use crate::error::{ConfigError, Problem, Source};
use crate::fit::{self, Around, Misfit};
use crate::refs::Env;
use crate::rule::Rule;
use crate::shape::{PolicyCases, PolicyConfig};
use crate::tree::{MAX_BYTES, Tree};

pub(crate) use check::check;
pub use layers::{Field, InForce, Said, in_force};
pub use when::at;

/// Where a repository keeps the cases of its policy.
pub const CASES_FILE: &str = ".ao/policy.test.yaml";

/// Reads a policy, or says everything that is wrong with it.
pub fn read_policy(path: &Utf8Path, text: &str) -> Result<PolicyConfig, ConfigError> {
    read(path, text, "PolicyConfig", "the policy", check)
}

/// Reads cases for a policy.
pub fn read_cases(path: &Utf8Path, text: &str) -> Result<PolicyCases, ConfigError> {
    read(path, text, "PolicyCases", "the cases", check::cases)
}

/// What is wrong with a policy in as few words as possible, for a notice: each thing at its place, with what was meant.
pub fn in_short(err: &ConfigError) -> String {
    let told = err.problems.iter().map(|problem| {
        let place = problem.place.map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default();
        let hint = problem.hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{}{place}: {}{hint}", problem.file, problem.what)
    });
    told.collect::<Vec<_>>().join("\n")
}

/// The path that the policy of a base branch is told under.
pub fn policy_path() -> &'static Utf8Path {
    Utf8Path::new(POLICY_FILE)
}

fn read<T: DeserializeOwned>(
    path: &Utf8Path,
    text: &str,
    kind: &'static str,
    name: &str,
    check: impl FnOnce(&T, &Tree) -> Vec<Misfit>,
) -> Result<T, ConfigError> {
    if text.len() > MAX_BYTES {
        let what = format!("is longer than it may be ({} KB)", MAX_BYTES / 1024);
        return Err(ConfigError::about(path, what, None));
    }
    let sources = [Source { path: path.to_owned(), text: text.to_owned() }];
    let refuse = |misfits: &[Misfit]| ConfigError {
        problems: misfits
            .iter()
            .map(|misfit| Problem::at(&sources, misfit.at, misfit.what.clone(), misfit.hint.clone()))
            .collect(),
    };
    let mut tree =
        Tree::read(0, text).map_err(|bad| refuse(&[Misfit { at: bad.at, what: bad.what, hint: None }]))?;
    let env = Env::new([]);
    let around = Around { env: &env, home: None, folders: vec![] };
    let found = fit::fit_as(&mut tree, &Rule::named(kind), name, &around);
    if !found.misfits.is_empty() {
        return Err(refuse(&found.misfits));
    }
    let read: T = serde_path_to_error::deserialize(tree.to_json()).map_err(|err| {
        let parts: Vec<String> = err.path().iter().map(|part| part.to_string()).collect();
        let parts = parts.iter().map(|part| part.trim_matches(['[', ']']));
        refuse(&[Misfit { at: tree.follow(parts).at, what: err.inner().to_string(), hint: None }])
    })?;
    let misfits = check(&read, &tree);
    if misfits.is_empty() { Ok(read) } else { Err(refuse(&misfits)) }
}
