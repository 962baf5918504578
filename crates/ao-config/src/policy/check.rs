//! Checks of a policy: valid expressions, non-empty time windows, existing trust levels.

use ao_core::Timestamp;
use ao_core::policy::AgentTrust;
use ao_core::pull::AuthorStanding;

use super::times::{at, window};
use crate::names::nearest;
use crate::normalize::ConfigMistake;
use crate::shape::{PolicyCases, PolicyConfig};
use crate::tree::ConfigTree;

/// Size limit of a compiled expression: enough for any that is written by hand.
const EXPRESSION: usize = 1 << 20;

/// Returns the mistakes in a policy that was read from this tree.
pub(crate) fn check(policy: &PolicyConfig, tree: &ConfigTree) -> Vec<ConfigMistake> {
    let mut checking = PolicyChecker { tree, mistakes: vec![] };
    for (n, pattern) in policy.forbidden.iter().enumerate() {
        let n = n.to_string();
        if let Err(err) = regex::RegexBuilder::new(&pattern.regex).size_limit(EXPRESSION).build() {
            let why =
                err.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            checking.at(
                &["forbidden", &n, "regex"],
                format!("this is not a valid regular expression: {why}"),
                None,
            );
        }
        checking.paths(&["forbidden", &n, "paths"], &pattern.paths);
        checking.paths(&["forbidden", &n, "except"], &pattern.except);
    }
    for (n, freeze) in policy.freeze.iter().enumerate() {
        if let Err(bad) = window(freeze, Timestamp(0)) {
            checking.at(&["freeze", &n.to_string(), bad.key], bad.what, None);
        }
    }
    for (n, protected) in policy.protected.iter().enumerate() {
        checking.paths(&["protected", &n.to_string(), "paths"], &protected.paths);
        if protected.paths.is_empty() {
            checking.at(&["protected", &n.to_string(), "paths"], "no path is named".into(), None);
        }
    }
    if let Some(needs) = &policy.needs_human {
        checking.paths(&["needsHuman", "paths"], &needs.paths);
    }
    for (name, level) in &policy.trust_levels {
        checking.paths(&["trustLevels", name, "paths"], &level.paths);
    }
    let ours = AgentTrust::known_levels();
    let levels: Vec<&str> = ours.keys().chain(policy.trust_levels.keys()).map(String::as_str).collect();
    for (agent, level) in &policy.trust {
        if !levels.contains(&level.as_str()) {
            let hint = match nearest(level, levels.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known names: {}", levels.join(", ")),
            };
            checking.at(&["trust", agent], format!("there is no trust level called `{level}`"), Some(hint));
        }
    }
    checking.mistakes
}

/// Returns the mistakes in the cases of a policy.
pub(super) fn cases(cases: &PolicyCases, tree: &ConfigTree) -> Vec<ConfigMistake> {
    let mut checking = PolicyChecker { tree, mistakes: vec![] };
    let standings = AuthorStanding::ALL.map(AuthorStanding::word);
    for (n, case) in cases.cases.iter().enumerate() {
        let n = n.to_string();
        if let Some(Err(what)) = case.given.at.as_deref().map(at) {
            checking.at(&["cases", &n, "given", "at"], what, None);
        }
        for (login, standing) in &case.given.approvals {
            if !standings.contains(&standing.as_str()) {
                let what = format!("`{standing}` is not a standing");
                let hint = format!("known names: {}", standings.join(", "));
                checking.at(&["cases", &n, "given", "approvals", login], what, Some(hint));
            }
        }
        if case.expect.verdict.is_none() && case.expect.against.is_none() {
            let hint = "write `expect: allowed`, or `expect: { against: [size] }`".to_owned();
            checking.at(&["cases", &n, "expect"], "the case expects nothing".into(), Some(hint));
        }
    }
    checking.mistakes
}

struct PolicyChecker<'a> {
    tree: &'a ConfigTree,
    mistakes: Vec<ConfigMistake>,
}

impl PolicyChecker<'_> {
    fn at(&mut self, path: &[&str], what: String, hint: Option<String>) {
        self.mistakes.push(ConfigMistake { at: self.tree.follow(path.iter().copied()).at, what, hint });
    }

    /// Checks path patterns. One that matches nothing would protect nothing.
    fn paths(&mut self, path: &[&str], paths: &[String]) {
        for (n, pattern) in paths.iter().enumerate() {
            let what = match pattern.as_str() {
                text if text.trim().is_empty() => "an empty pattern matches no path",
                text if text.starts_with("./") || text.split('/').any(|part| part == "..") => {
                    "paths start at the root of the repository: remove `./` and `..`"
                }
                text if text.contains('{') || text.starts_with('!') => {
                    "a pattern may use `*`, `?`, `**` and a `/` at the end; other characters are literal, so this matches nothing"
                }
                _ => continue,
            };
            let n = n.to_string();
            let whole: Vec<&str> = path.iter().copied().chain([n.as_str()]).collect();
            self.at(&whole, what.to_owned(), None);
        }
    }
}
