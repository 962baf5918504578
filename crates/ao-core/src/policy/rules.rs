//! Rules about the change itself, one function each.

use std::time::Duration;

use super::{MergeRule, Policy, RuleVerdict};
use crate::Timestamp;
use crate::pull::{CheckState, ChecksVerdict, Mergeable, Pull, PullConflict, PullState};

/// The number of findings that the evidence lists.
const NAMED: usize = 5;

pub(super) fn open(pull: &Pull) -> RuleVerdict {
    let verdict = |holds, evidence: &str| RuleVerdict::new(MergeRule::Open, holds, evidence);
    match &pull.facts.state {
        PullState::Merged { commit } => verdict(false, &format!("merged already as {commit}")),
        PullState::Closed => verdict(false, "closed").with_next("reopen it: `ao pr reopen`"),
        PullState::Open if pull.facts.draft => {
            verdict(false, "a draft").with_next("mark it as ready: `ao pr ready`")
        }
        PullState::Open => verdict(true, "open, and no draft"),
    }
}

/// Objects only to a known conflict. Forges forget the answer each time the base moves, and a merge tries anyway, so
/// a queue must not lose its entries over an unknown one.
pub(super) fn mergeable(pull: &Pull) -> RuleVerdict {
    let base = &pull.facts.base_branch;
    let (holds, evidence) = match (&pull.conflict, &pull.facts.mergeable) {
        (Some(PullConflict { files, .. }), _) | (None, Mergeable::Conflict { files }) => {
            match files.as_slice() {
                [] => (false, format!("conflicts with `{base}`")),
                files => (false, format!("conflicts with `{base}` in {}", files.join(", "))),
            }
        }
        (None, Mergeable::Clean) => (true, format!("merges into {base}")),
        (None, Mergeable::Unknown) => (true, format!("no conflict with {base} is known")),
    };
    RuleVerdict::new(MergeRule::Mergeable, holds, evidence)
}

pub(super) fn checks(pull: &Pull) -> RuleVerdict {
    let (holds, evidence) = match pull.green() {
        ChecksVerdict::Yes => (true, format!("green on {}", pull.facts.head)),
        ChecksVerdict::Unchecked => (true, "none are configured".to_owned()),
        ChecksVerdict::Waiting { why } | ChecksVerdict::Red { why } => (false, why),
    };
    RuleVerdict::new(MergeRule::Checks, holds, evidence)
}

pub(super) fn required_checks(policy: &Policy, pull: &Pull) -> RuleVerdict {
    let passed = |name: &str| {
        pull.facts.checks.iter().any(|check| check.name == *name && check.state == CheckState::Passed)
    };
    let missing: Vec<&str> =
        policy.required_checks.iter().map(String::as_str).filter(|name| !passed(name)).collect();
    let verdict =
        |evidence: String| RuleVerdict::new(MergeRule::RequiredChecks, missing.is_empty(), evidence);
    match (policy.required_checks.len(), missing.len()) {
        (0, _) => verdict("none are named".into()),
        (all, 0) => verdict(format!("all {all} passed on {}", pull.facts.head)),
        (_, _) if pull.facts.no_checks && pull.facts.checks.is_empty() => verdict(format!(
            "not configured: {}",
            missing.join(", ")
        ))
        .with_next(
            "add them to the project's `checks`, or take them out of the policy; until then they cannot pass",
        ),
        (_, _) => verdict(format!("not passed on {}: {}", pull.facts.head, missing.join(", "))),
    }
}

pub(super) fn size(policy: &Policy, pull: &Pull) -> RuleVerdict {
    let size = &pull.facts.size;
    if size.files.is_empty() && (policy.max_files.is_some() || policy.max_lines.is_some()) {
        return RuleVerdict::new(MergeRule::Size, false, "the changed files are not known");
    }
    let (files, lines) = (size.files.len() as u64, size.added.saturating_add(size.removed));
    let within = |size: u64, most: Option<u64>| most.is_none_or(|most| size <= most);
    let limit = |most: Option<u64>| most.map(|most| format!(" of at most {most}")).unwrap_or_default();
    RuleVerdict::new(
        MergeRule::Size,
        within(files, policy.max_files) && within(lines, policy.max_lines),
        format!("{files} files{}, {lines} lines{}", limit(policy.max_files), limit(policy.max_lines)),
    )
}

pub(super) fn labels(policy: &Policy, pull: &Pull) -> RuleVerdict {
    // Forges compare labels without regard to case.
    let has = |label: &&String| pull.facts.labels.iter().any(|known| known.eq_ignore_ascii_case(label));
    let missing: Vec<&str> =
        policy.required_labels.iter().filter(|label| !has(label)).map(String::as_str).collect();
    let unwanted: Vec<&str> = policy.forbidden_labels.iter().filter(has).map(String::as_str).collect();
    let evidence = match (missing.is_empty(), unwanted.is_empty()) {
        (true, true) => "as they should be".into(),
        (false, true) => format!("missing {}", missing.join(", ")),
        (true, false) => format!("forbidden {}", unwanted.join(", ")),
        (false, false) => format!("missing {}; forbidden {}", missing.join(", "), unwanted.join(", ")),
    };
    RuleVerdict::new(MergeRule::Labels, missing.is_empty() && unwanted.is_empty(), evidence)
}

/// Checks the findings in the added lines. A scan of another head or for other rules counts as unknown.
pub(super) fn patterns(policy: &Policy, pull: &Pull) -> RuleVerdict {
    let verdict = |holds, evidence: String| RuleVerdict::new(MergeRule::Patterns, holds, evidence);
    let Some(rules) = policy.looks_for() else { return verdict(true, "none are named".into()) };
    let head = &pull.facts.head;
    let Some(scan) = pull.scan.as_ref().filter(|scan| scan.rules == rules && scan.head == *head) else {
        return verdict(false, format!("the added lines of {head} have not been looked through yet"));
    };
    if !scan.found.is_empty() {
        let named = scan.found.iter().take(NAMED);
        let mut found: Vec<String> =
            named.map(|found| format!("{}:{} ({})", found.file, found.line, found.rule)).collect();
        match (scan.found.len().saturating_sub(NAMED), scan.more) {
            (0, _) => {}
            (more, false) => found.push(format!("and {more} more")),
            (more, true) => found.push(format!("and more than {more} more")),
        }
        return verdict(false, format!("found in {}", found.join(", ")));
    }
    match &scan.failed {
        Some(why) => verdict(false, format!("the added lines could not be looked through: {why}")),
        None => verdict(true, format!("nothing was found in the added lines of {head}")),
    }
}

pub(super) fn freeze(policy: &Policy, now: Timestamp) -> RuleVerdict {
    match policy.frozen(now) {
        None => RuleVerdict::new(MergeRule::Freeze, true, "none now"),
        Some(on) => {
            let left = roughly(on.until.since(now));
            RuleVerdict::new(MergeRule::Freeze, false, format!("{}, for another {left}", on.why))
        }
    }
}

fn roughly(time: Duration) -> String {
    match time.as_secs().div_ceil(60) {
        minutes @ 0..60 => format!("{minutes} min"),
        minutes @ 60..2880 => format!("{} h {} min", minutes / 60, minutes % 60),
        minutes => format!("{} days", minutes / 1440),
    }
}
