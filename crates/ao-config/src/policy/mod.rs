//! Policies: reads them with a position for every mistake, and merges their layers.
//!
//! A policy comes from two places: the file on the base branch and the project's own `policy`. Where both set a key,
//! the stricter value counts. So people who may merge into the base branch can tighten what the user of this machine
//! configured but not loosen it, and the other way round. Nothing here reads a repository; the caller passes the text.

mod check;
mod layers;
mod times;

use ao_core::policy::POLICY_FILE;
use camino::Utf8Path;
use serde::de::DeserializeOwned;

use crate::error::{ConfigError, Problem, SourceText};
use crate::normalize::{self, ConfigMistake, NormalizeContext};
use crate::refs::Env;
use crate::rule::SchemaRule;
use crate::shape::{PolicyCases, PolicyConfig};
use crate::tree::{ConfigTree, MAX_BYTES};

pub(crate) use check::check;
pub use layers::{MergedPolicy, PolicyLayer, PolicySetting, in_force};
pub use times::at;

/// Reads a policy, or returns everything that is wrong with it.
pub fn read_policy(path: &Utf8Path, text: &str) -> Result<PolicyConfig, ConfigError> {
    read(path, text, "PolicyConfig", "the policy", check)
}

/// Reads cases for a policy.
pub fn read_cases(path: &Utf8Path, text: &str) -> Result<PolicyCases, ConfigError> {
    read(path, text, "PolicyCases", "the cases", check::cases)
}

/// Formats the mistakes in a policy for a notice: one line each, with position and hint.
pub fn in_short(err: &ConfigError) -> String {
    let told = err.problems.iter().map(|problem| {
        let place = problem.place.map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default();
        let hint = problem.hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{}{place}: {}{hint}", problem.file, problem.what)
    });
    told.collect::<Vec<_>>().join("\n")
}

/// Returns the path that mistakes in the policy of a base branch are reported for.
pub fn policy_path() -> &'static Utf8Path {
    Utf8Path::new(POLICY_FILE)
}

fn read<T: DeserializeOwned>(
    path: &Utf8Path,
    text: &str,
    kind: &'static str,
    name: &str,
    check: impl FnOnce(&T, &ConfigTree) -> Vec<ConfigMistake>,
) -> Result<T, ConfigError> {
    if text.len() > MAX_BYTES {
        let what = format!("is larger than it may be ({} KB)", MAX_BYTES / 1024);
        return Err(ConfigError::about(path, what, None));
    }
    let sources = [SourceText { path: path.to_owned(), text: text.to_owned() }];
    let refuse = |mistakes: &[ConfigMistake]| ConfigError {
        problems: mistakes
            .iter()
            .map(|mistake| Problem::at(&sources, mistake.at, mistake.what.clone(), mistake.hint.clone()))
            .collect(),
    };
    let mut tree = ConfigTree::read(0, text)
        .map_err(|bad| refuse(&[ConfigMistake { at: bad.at, what: bad.what, hint: None }]))?;
    let env = Env::new([]);
    let context = NormalizeContext { env: &env, home: None, folders: vec![] };
    let found = normalize::normalize_as(&mut tree, &SchemaRule::named(kind), name, &context);
    if !found.mistakes.is_empty() {
        return Err(refuse(&found.mistakes));
    }
    let read: T = normalize::read_as(&tree).map_err(|mistake| refuse(&[mistake]))?;
    let mistakes = check(&read, &tree);
    if mistakes.is_empty() { Ok(read) } else { Err(refuse(&mistakes)) }
}
