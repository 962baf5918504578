//! The rules, one function each: whether it holds for a pull request, and the evidence.

use std::time::Duration;

use super::{Policy, RuleVerdict, glob};
use crate::Timestamp;
use crate::pull::{CheckState, Green, Mergeable, Pull, PullState, ReviewFacts, ThreadFacts};

pub(super) fn open(pull: &Pull) -> RuleVerdict {
    let (holds, evidence) = match &pull.facts.state {
        PullState::Merged { commit } => (false, format!("merged already as {commit}")),
        PullState::Closed => (false, "closed".into()),
        PullState::Open if pull.facts.draft => (false, "still a draft".into()),
        PullState::Open => (true, "open, and no draft".into()),
    };
    RuleVerdict {
        rule: "open",
        holds,
        evidence,
    }
}

/// Only a known conflict stands in the way: forges forget the answer each time the base moves, and a merge tries
/// anyway, so a queue must not lose its entries over it.
pub(super) fn mergeable(pull: &Pull) -> RuleVerdict {
    let base = &pull.facts.base_branch;
    let (holds, evidence) = match (&pull.conflict, &pull.facts.mergeable) {
        (Some(conflict), _) => (
            false,
            format!("conflicts with {base} in {}", conflict.files.join(", ")),
        ),
        (None, Mergeable::Clean) => (true, format!("merges into {base}")),
        (None, _) => (true, format!("no conflict with {base} is known")),
    };
    RuleVerdict {
        rule: "mergeable",
        holds,
        evidence,
    }
}

pub(super) fn checks(pull: &Pull) -> RuleVerdict {
    let (holds, evidence) = match pull.green() {
        Green::Yes => (true, format!("green on {}", pull.facts.head)),
        Green::Waiting { why } | Green::Red { why } => (false, why),
    };
    RuleVerdict {
        rule: "checks",
        holds,
        evidence,
    }
}

pub(super) fn required_checks(policy: &Policy, pull: &Pull) -> RuleVerdict {
    let passed = |name: &str| {
        pull.facts
            .checks
            .iter()
            .any(|check| check.name == *name && check.state == CheckState::Passed)
    };
    let missing: Vec<&str> = policy
        .required_checks
        .iter()
        .map(String::as_str)
        .filter(|name| !passed(name))
        .collect();
    let evidence = match (policy.required_checks.len(), missing.len()) {
        (0, _) => "none are named".into(),
        (all, 0) => format!("all {all} passed on {}", pull.facts.head),
        (_, _) => format!("not passed on {}: {}", pull.facts.head, missing.join(", ")),
    };
    RuleVerdict {
        rule: "required_checks",
        holds: missing.is_empty(),
        evidence,
    }
}

pub(super) fn approvals(policy: &Policy, pull: &Pull) -> RuleVerdict {
    let (counted, ignored): (Vec<_>, Vec<_>) = pull
        .approvals()
        .into_iter()
        .partition(|review| policy.approvers.include(&review.author));
    let person = counted
        .iter()
        .any(|review| review.author.standing.is_trusted_person());
    let enough = counted.len() as u64 >= u64::from(policy.approvals);
    let mut evidence = format!(
        "{} of {} on {}{}",
        counted.len(),
        policy.approvals,
        pull.facts.head,
        by(&counted)
    );
    let stale = pull.stale_approvals();
    if !stale.is_empty() {
        evidence += &format!("; given on an older head{}", by(&stale));
    }
    if !ignored.is_empty() {
        evidence += &format!("; not counted{}", by(&ignored));
    }
    let lacks_person = policy.human_always && !person;
    if lacks_person {
        evidence += "; a person always has to approve";
    }
    RuleVerdict {
        rule: "approvals",
        holds: enough && !lacks_person,
        evidence,
    }
}

fn by(reviews: &[&ReviewFacts]) -> String {
    let logins: Vec<&str> = reviews
        .iter()
        .map(|review| review.author.login.as_str())
        .collect();
    if logins.is_empty() {
        String::new()
    } else {
        format!(", by {}", logins.join(", "))
    }
}

pub(super) fn changes_requested(pull: &Pull) -> RuleVerdict {
    let objections = pull.changes_requested();
    let evidence = if objections.is_empty() {
        "by nobody".into()
    } else {
        format!("stands{}", by(&objections))
    };
    RuleVerdict {
        rule: "changes_requested",
        holds: objections.is_empty(),
        evidence,
    }
}

/// Threads without a path are plain comments, which forges have no way to resolve.
pub(super) fn threads(policy: &Policy, pull: &Pull) -> RuleVerdict {
    let by_person = |thread: &&ThreadFacts| {
        thread
            .comments
            .iter()
            .any(|comment| comment.author.standing.is_trusted_person())
    };
    let open: Vec<&str> = pull
        .facts
        .threads
        .iter()
        .filter(by_person)
        .filter_map(|thread| thread.path.as_deref())
        .collect();
    let evidence = match (policy.threads_resolved, open.len()) {
        (_, 0) => "none open".into(),
        (true, _) => format!("open in {}", open.join(", ")),
        (false, some) => format!("{some} open, which is allowed"),
    };
    RuleVerdict {
        rule: "threads",
        holds: open.is_empty() || !policy.threads_resolved,
        evidence,
    }
}

pub(super) fn size(policy: &Policy, pull: &Pull) -> RuleVerdict {
    let size = &pull.facts.size;
    let (files, lines) = (size.files.len() as u64, size.added.saturating_add(size.removed));
    let within = |size: u64, most: Option<u64>| most.is_none_or(|most| size <= most);
    let limit = |most: Option<u64>| most.map(|most| format!(" of at most {most}")).unwrap_or_default();
    RuleVerdict {
        rule: "size",
        holds: within(files, policy.max_files) && within(lines, policy.max_lines),
        evidence: format!(
            "{files} files{}, {lines} lines{}",
            limit(policy.max_files),
            limit(policy.max_lines)
        ),
    }
}

pub(super) fn labels(policy: &Policy, pull: &Pull) -> RuleVerdict {
    // Forges do not tell `WIP` from `wip`.
    let has = |label: &&String| {
        pull.facts
            .labels
            .iter()
            .any(|known| known.eq_ignore_ascii_case(label))
    };
    let missing: Vec<&str> = policy
        .required_labels
        .iter()
        .filter(|label| !has(label))
        .map(String::as_str)
        .collect();
    let unwanted: Vec<&str> = policy
        .forbidden_labels
        .iter()
        .filter(has)
        .map(String::as_str)
        .collect();
    let evidence = match (missing.is_empty(), unwanted.is_empty()) {
        (true, true) => "as they should be".into(),
        (false, true) => format!("missing {}", missing.join(", ")),
        (true, false) => format!("forbidden {}", unwanted.join(", ")),
        (false, false) => format!(
            "missing {}; forbidden {}",
            missing.join(", "),
            unwanted.join(", ")
        ),
    };
    RuleVerdict {
        rule: "labels",
        holds: missing.is_empty() && unwanted.is_empty(),
        evidence,
    }
}

pub(super) fn freeze(policy: &Policy, now: Timestamp) -> RuleVerdict {
    let current = policy
        .freeze
        .iter()
        .filter(|freeze| freeze.from <= now && now < freeze.until);
    match current.max_by_key(|freeze| freeze.until) {
        None => RuleVerdict {
            rule: "freeze",
            holds: true,
            evidence: "none now".into(),
        },
        Some(freeze) => RuleVerdict {
            rule: "freeze",
            holds: false,
            evidence: format!("{}, for another {}", freeze.why, roughly(freeze.until.since(now))),
        },
    }
}

pub(super) fn protected(policy: &Policy, pull: &Pull) -> Vec<RuleVerdict> {
    let verdict = |holds, evidence| RuleVerdict {
        rule: "protected",
        holds,
        evidence,
    };
    if policy.protected.is_empty() {
        return vec![verdict(true, "no paths are named".into())];
    }
    if pull.facts.size.files.is_empty() {
        return vec![verdict(false, "the changed files are not known".into())];
    }
    let approvals = pull.approvals();
    policy
        .protected
        .iter()
        .map(|path| {
            let touched = pull
                .facts
                .size
                .files
                .iter()
                .find(|file| glob::matches(&path.glob, file));
            let allowing = approvals
                .iter()
                .find(|review| path.approvers.iter().any(|login| review.author.is(login)));
            match (touched, allowing) {
                (None, _) => verdict(true, format!("{} is not touched", path.glob)),
                (Some(file), Some(review)) => verdict(
                    true,
                    format!(
                        "{} touched by {file}, approved by {}",
                        path.glob, review.author.login
                    ),
                ),
                (Some(file), None) if path.approvers.is_empty() => verdict(
                    false,
                    format!("{} touched by {file}, which nobody may approve", path.glob),
                ),
                (Some(file), None) => {
                    let who = path.approvers.join(" or ");
                    verdict(
                        false,
                        format!("{} touched by {file}, not approved by {who}", path.glob),
                    )
                }
            }
        })
        .collect()
}

fn roughly(time: Duration) -> String {
    match time.as_secs().div_ceil(60) {
        minutes @ 0..60 => format!("{minutes} min"),
        minutes @ 60..2880 => format!("{} h {} min", minutes / 60, minutes % 60),
        minutes => format!("{} days", minutes / 1440),
    }
}

#[cfg(test)]
mod tests {
    use super::super::judge;
    use super::super::{Approvers, Freeze, ProtectedPath};
    use super::*;
    use crate::pull::fixture::*;
    use crate::pull::{ChangeSize, PullFacts, ReviewVerdict, Standing};

    fn against(policy: &Policy, facts: PullFacts) -> Vec<String> {
        let verdict = judge(policy, &pull(facts), Timestamp(1_000));
        verdict
            .against()
            .map(|rule| format!("{}: {}", rule.rule, rule.evidence))
            .collect()
    }

    #[test]
    fn a_pull_request_must_be_open_without_conflict_and_green() {
        let spoiled = |spoil: &dyn Fn(&mut PullFacts)| {
            let mut facts = ready();
            spoil(&mut facts);
            against(&Policy::default(), facts)
        };
        assert_eq!(spoiled(&|_| {}), [""; 0]);
        assert_eq!(spoiled(&|f| f.draft = true), ["open: still a draft"]);
        assert_eq!(spoiled(&|f| f.state = PullState::Closed), ["open: closed"]);
        assert_eq!(spoiled(&|f| f.mergeable = Mergeable::Unknown), [""; 0]);
        let conflict = Mergeable::Conflict {
            files: vec!["a.rs".into()],
        };
        assert_eq!(
            spoiled(&|f| f.mergeable = conflict.clone()),
            ["mergeable: conflicts with main in a.rs"]
        );
        assert_eq!(
            spoiled(&|f| f.checks[0] = failed("build", "E1")),
            ["checks: failed on head1: build"]
        );
        let objection = review("r2", member("ann"), ReviewVerdict::ChangesRequested, "no");
        assert_eq!(
            spoiled(&|f| f.reviews.push(objection.clone())),
            ["changes_requested: stands, by ann"]
        );
        let open = thread("t1", vec![comment("c1", member("ann"), "1")]);
        assert_eq!(
            spoiled(&|f| f.threads.push(open.clone())),
            ["threads: open in src/lib.rs"]
        );
        let plain = ThreadFacts { path: None, ..open };
        assert_eq!(spoiled(&|f| f.threads.push(plain.clone())), [""; 0]);
    }

    #[test]
    fn only_those_count_as_approvers_whom_the_policy_names() {
        let mut facts = ready();
        facts.reviews = vec![
            approved("r1", outsider()),
            approved("r2", agent()),
            approved("r3", bot()),
        ];
        let told = ["approvals: 0 of 1 on head1; not counted, by stranger"];
        assert_eq!(against(&Policy::default(), facts.clone()), told);
        let everyone = Approvers {
            standings: [Standing::Agent, Standing::Bot].into(),
            logins: vec!["Stranger".into(), "ao-agent".into()],
        };
        let policy = Policy {
            approvers: everyone,
            approvals: 2,
            ..Policy::default()
        };
        assert_eq!(
            against(&policy, facts.clone()),
            ["approvals: 1 of 2 on head1, by stranger"]
        );
        facts.reviews.clear();
        let policy = Policy {
            approvals: 0,
            ..Policy::default()
        };
        assert_eq!(against(&policy, facts.clone()), [""; 0]);
        let policy = Policy {
            approvals: 0,
            human_always: true,
            ..Policy::default()
        };
        assert_eq!(
            against(&policy, facts),
            ["approvals: 0 of 0 on head1; a person always has to approve"]
        );
    }

    #[test]
    fn a_protected_path_wants_one_of_its_own_approvers() {
        let judged = |approvers: &[&str], files: &[&str]| {
            let size = ChangeSize {
                files: files.iter().map(|file| (*file).to_owned()).collect(),
                ..ready().size
            };
            let approvers = approvers.iter().map(|login| (*login).to_owned()).collect();
            let protected = vec![ProtectedPath {
                glob: "ci/".into(),
                approvers,
            }];
            against(
                &Policy {
                    protected,
                    ..Policy::default()
                },
                PullFacts { size, ..ready() },
            )
        };
        assert_eq!(judged(&["ann"], &["src/ci/x"]), [""; 0]);
        assert_eq!(judged(&["ann", "Bob"], &["a", "ci/x"]), [""; 0]);
        assert_eq!(
            judged(&["ann", "eve"], &["ci/x"]),
            ["protected: ci/ touched by ci/x, not approved by ann or eve"]
        );
        assert_eq!(
            judged(&[], &["ci/x"]),
            ["protected: ci/ touched by ci/x, which nobody may approve"]
        );
        assert_eq!(
            judged(&["bob"], &[]),
            ["protected: the changed files are not known"]
        );
    }

    #[test]
    fn named_checks_must_have_run_and_labels_must_fit() {
        let mut facts = ready();
        facts.checks.push(check("e2e", CheckState::Skipped));
        facts.labels = ["WIP".to_owned()].into();
        let policy = Policy {
            required_checks: vec!["build".into(), "e2e".into(), "audit".into()],
            required_labels: ["reviewed".to_owned()].into(),
            forbidden_labels: ["wip".to_owned()].into(),
            ..Policy::default()
        };
        let told = [
            "required_checks: not passed on head1: e2e, audit",
            "labels: missing reviewed; forbidden wip",
        ];
        assert_eq!(against(&policy, facts), told);
    }

    #[test]
    fn a_freeze_lasts_from_its_first_moment_until_before_its_last() {
        let freeze = vec![Freeze {
            from: Timestamp(10),
            until: Timestamp(20),
            why: "x".into(),
        }];
        let policy = Policy {
            freeze,
            ..Policy::default()
        };
        for (now, allowed) in [(9, true), (10, false), (19, false), (20, true)] {
            assert_eq!(
                judge(&policy, &pull(ready()), Timestamp(now)).allows(),
                allowed,
                "{now}"
            );
        }
    }
}
