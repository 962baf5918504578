//! Scans the lines that a diff adds for secrets and for the patterns that a policy forbids.
//!
//! ```text
//! diff ─▶ blocks of added lines (file, first line, text) ─▶ rules ─▶ findings: file, line, name of the rule
//! ```
//!
//! A finding names the file, the line and the rule, never the matched text, since that may be a secret. Regular
//! expressions run in time linear in their input, and all of them together have a time limit; a scan that was cut short
//! reports so. Files that git considers binary are scanned if the diff has them as text. Removed lines are not scanned.

mod diff;
mod secrets;

use std::time::{Duration, Instant};

use ao_core::Commit;
use ao_core::policy::{ForbiddenPattern, MOST_FINDINGS, Policy, ScanFinding, ScanResult, glob};
use regex::{Regex, RegexBuilder};

use crate::diff::AddedBlock;

/// Size limit of a compiled pattern, in bytes.
const PATTERN_SIZE_LIMIT: usize = 1 << 20;

/// Time limit of one scan. A scan that takes longer is cut short and marked as failed.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Scans a diff for everything that a policy forbids. Returns `None` if the policy forbids nothing in diffs.
///
/// `whole` is false if the diff was truncated. The scan then reports that the rest was not examined.
pub fn scan(policy: &Policy, head: &Commit, diff: &str, whole: bool) -> Option<ScanResult> {
    scan_until(policy, head, diff, whole, Instant::now() + TIME_LIMIT)
}

fn scan_until(policy: &Policy, head: &Commit, diff: &str, whole: bool, until: Instant) -> Option<ScanResult> {
    let rules = policy.looks_for()?;
    let mut scan = ScanResult { head: head.clone(), rules, found: vec![], more: false, failed: None };
    let mut own = vec![];
    for pattern in &policy.forbidden {
        match RegexBuilder::new(&pattern.regex).size_limit(PATTERN_SIZE_LIMIT).build() {
            Ok(regex) => own.push((pattern, regex)),
            Err(_) => scan.failed = Some(format!("`{}` is not a valid regular expression", pattern.name)),
        }
    }
    if !whole {
        scan.failed = Some("the diff is longer than what is looked through".to_owned());
    }
    for block in diff::added(diff) {
        for (pattern, regex) in &own {
            lines_matching(pattern, regex, &block, until, &mut scan.found);
        }
        if policy.secrets {
            let found = secrets::find(&block.text, MOST_FINDINGS + 1, until);
            scan.found.extend(found.into_iter().map(|(line, rule)| finding(&block, line, rule)));
        }
        scan.found.sort();
        scan.found.dedup();
        if scan.found.len() > MOST_FINDINGS {
            scan.found.truncate(MOST_FINDINGS);
            scan.more = true;
            break;
        }
        if Instant::now() >= until {
            scan.failed = Some("it took too long to look through the diff".to_owned());
            break;
        }
    }
    Some(scan)
}

fn lines_matching(
    pattern: &ForbiddenPattern,
    regex: &Regex,
    block: &AddedBlock,
    until: Instant,
    found: &mut Vec<ScanFinding>,
) {
    let is_in = |paths: &[String]| paths.iter().any(|path| glob::matches(path, &block.file));
    if (!pattern.paths.is_empty() && !is_in(&pattern.paths)) || is_in(&pattern.except) {
        return;
    }
    let in_time = |_: &(usize, &str)| Instant::now() < until;
    let lines = block.text.split('\n').enumerate().take_while(in_time);
    let lines = lines.filter(|(_, line)| regex.is_match(line));
    found.extend(lines.take(MOST_FINDINGS + 1).map(|(line, _)| finding(block, line, &pattern.name)));
}

/// Builds the finding for a line, which is counted from the first line of the block.
fn finding(block: &AddedBlock, line: usize, rule: &str) -> ScanFinding {
    ScanFinding {
        file: block.file.clone(),
        line: block.first_line.saturating_add(u32::try_from(line).unwrap_or(u32::MAX)),
        rule: rule.to_owned(),
    }
}

#[cfg(test)]
mod tests;
