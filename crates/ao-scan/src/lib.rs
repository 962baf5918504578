//! Looks through the lines that a diff adds, for secrets and for patterns of one's own.
//!
//! ```text
//! diff ─▶ blocks of added lines (file, first line, text) ─▶ rules ─▶ findings: file, line, name of the rule
//! ```
//!
//! What was found is never told, only where: it may be a secret. Expressions take time in proportion to what they look
//! through, whatever stands in it. Files that git takes for binary are not looked through, nor is what a diff removes.

mod diff;
mod secrets;

use ao_core::Commit;
use ao_core::policy::{Finding, MOST_FINDINGS, Pattern, Policy, Scan, glob};
use regex::{Regex, RegexBuilder};

use crate::diff::Block;

/// How large an expression may become when it is made ready.
const EXPRESSION: usize = 1 << 20;

/// Looks through a diff for all that a policy forbids. None if it forbids nothing there.
///
/// `whole` says whether the diff is all that the head adds. If it is not, what is missing was not looked through, and that
/// is told.
pub fn scan(policy: &Policy, head: &Commit, diff: &str, whole: bool) -> Option<Scan> {
    let rules = policy.looks_for()?;
    let mut scan = Scan { head: head.clone(), rules, found: vec![], more: false, failed: None };
    let mut own = vec![];
    for pattern in &policy.forbidden {
        match RegexBuilder::new(&pattern.regex).size_limit(EXPRESSION).build() {
            Ok(regex) => own.push((pattern, regex)),
            Err(_) => scan.failed = Some(format!("`{}` is no regular expression", pattern.name)),
        }
    }
    if !whole {
        scan.failed = Some("the diff is longer than what is looked through".to_owned());
    }
    for block in diff::added(diff) {
        for (pattern, regex) in &own {
            lines_matching(pattern, regex, &block, &mut scan.found);
        }
        if policy.secrets {
            let found = secrets::find(&block.text);
            scan.found.extend(found.into_iter().map(|(at, rule)| finding(&block, at, rule)));
        }
        scan.found.sort();
        scan.found.dedup();
        if scan.found.len() > MOST_FINDINGS {
            scan.found.truncate(MOST_FINDINGS);
            scan.more = true;
            break;
        }
    }
    Some(scan)
}

fn lines_matching(pattern: &Pattern, regex: &Regex, block: &Block, found: &mut Vec<Finding>) {
    let is_in = |paths: &[String]| paths.iter().any(|path| glob::matches(path, &block.file));
    if (!pattern.paths.is_empty() && !is_in(&pattern.paths)) || is_in(&pattern.except) {
        return;
    }
    let mut at = 0;
    for line in block.text.split('\n') {
        if regex.is_match(line) {
            found.push(finding(block, at, &pattern.name));
        }
        at += line.len() + 1;
    }
}

fn finding(block: &Block, at: usize, rule: &str) -> Finding {
    let before = block.text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
    Finding {
        file: block.file.clone(),
        line: block.first_line.saturating_add(u32::try_from(before).unwrap_or(u32::MAX)),
        rule: rule.to_owned(),
    }
}

#[cfg(test)]
mod tests;
