//! Whether a policy makes sense: expressions that can be read, times that are some, levels that exist.

use ao_core::Timestamp;
use ao_core::policy::Trust;

use super::when::{at, window};
use crate::fit::Misfit;
use crate::names::nearest;
use crate::shape::{PolicyCases, PolicyConfig};
use crate::tree::Tree;

/// How large an expression may become when it is made ready: enough for any that a person writes.
const EXPRESSION: usize = 1 << 20;

/// What is wrong with a policy whose tree this is.
pub(crate) fn check(policy: &PolicyConfig, tree: &Tree) -> Vec<Misfit> {
    let mut checking = Checking { tree, misfits: vec![] };
    for (n, pattern) in policy.forbidden.iter().enumerate() {
        let n = n.to_string();
        if let Err(err) = regex::RegexBuilder::new(&pattern.regex).size_limit(EXPRESSION).build() {
            let why =
                err.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            checking.at(&["forbidden", &n, "regex"], format!("this is no regular expression: {why}"), None);
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
    let ours = Trust::known_levels();
    let levels: Vec<&str> = ours.keys().chain(policy.trust_levels.keys()).map(String::as_str).collect();
    for (agent, level) in &policy.trust {
        if !levels.contains(&level.as_str()) {
            let hint = match nearest(level, levels.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known are: {}", levels.join(", ")),
            };
            checking.at(
                &["trust", agent],
                format!("there is no level of trust called `{level}`"),
                Some(hint),
            );
        }
    }
    checking.misfits
}

/// What is wrong with the cases of a policy.
pub(super) fn cases(cases: &PolicyCases, tree: &Tree) -> Vec<Misfit> {
    let mut checking = Checking { tree, misfits: vec![] };
    const STANDINGS: [&str; 6] = ["owner", "member", "collaborator", "bot", "agent", "outsider"];
    for (n, case) in cases.cases.iter().enumerate() {
        let n = n.to_string();
        if let Some(Err(what)) = case.given.at.as_deref().map(at) {
            checking.at(&["cases", &n, "given", "at"], what, None);
        }
        for (login, standing) in &case.given.approvals {
            if !STANDINGS.contains(&standing.as_str()) {
                let what = format!("`{standing}` is no standing");
                let hint = format!("known are: {}", STANDINGS.join(", "));
                checking.at(&["cases", &n, "given", "approvals", login], what, Some(hint));
            }
        }
        if case.expect.verdict.is_none() && case.expect.against.is_none() {
            let hint = "write `expect: allowed`, or `expect: { against: [size] }`".to_owned();
            checking.at(&["cases", &n, "expect"], "nothing is expected".into(), Some(hint));
        }
    }
    checking.misfits
}

struct Checking<'a> {
    tree: &'a Tree,
    misfits: Vec<Misfit>,
}

impl Checking<'_> {
    fn at(&mut self, path: &[&str], what: String, hint: Option<String>) {
        self.misfits.push(Misfit { at: self.tree.follow(path.iter().copied()).at, what, hint });
    }

    /// A pattern that fits nothing protects nothing.
    fn paths(&mut self, path: &[&str], paths: &[String]) {
        for (n, pattern) in paths.iter().enumerate() {
            let what = match pattern.as_str() {
                text if text.trim().is_empty() => "an empty pattern fits no path",
                text if text.starts_with("./") || text.split('/').any(|part| part == "..") => {
                    "paths are seen from the root of the repository: leave out `./` and `..`"
                }
                text if text.contains('{') || text.starts_with('!') => {
                    "a pattern has `*`, `?`, `**` and a `/` at the end; other signs stand for themselves, so this fits nothing"
                }
                _ => continue,
            };
            let n = n.to_string();
            let whole: Vec<&str> = path.iter().copied().chain([n.as_str()]).collect();
            self.at(&whole, what.to_owned(), None);
        }
    }
}
