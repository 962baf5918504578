//! Rules about people and programs, one function each: approvals given, approvals needed, and exceptions.

use super::{HumanNeed, JudgedPull, MergeRule, POLICY_FILE, Policy, ProtectedPath, RuleVerdict, glob};
use crate::pull::{Pull, ReviewFacts, ThreadFacts};

pub(super) fn approvals(policy: &Policy, pull: &Pull) -> RuleVerdict {
    let (counted, ignored): (Vec<_>, Vec<_>) =
        pull.approvals().into_iter().partition(|review| policy.approvers.include(&review.author));
    let enough = counted.len() as u64 >= u64::from(policy.approvals);
    let mut evidence =
        format!("{} of {} on {}{}", counted.len(), policy.approvals, pull.facts.head, by(&counted));
    let stale = pull.stale_approvals();
    if !stale.is_empty() {
        evidence += &format!("; given on an older head{}", by(&stale));
    }
    if !ignored.is_empty() {
        evidence += &format!("; not counted{}", by(&ignored));
    }
    RuleVerdict::new(MergeRule::Approvals, enough, evidence)
}

pub(super) fn changes_requested(pull: &Pull) -> RuleVerdict {
    let objections = pull.changes_requested();
    let logins: Vec<&str> = objections.iter().map(|review| review.author.login.as_str()).collect();
    let evidence = match &logins[..] {
        [] => "none are asked for".to_owned(),
        [one] => format!("{one} has asked for changes"),
        several => format!("{} have asked for changes", several.join(", ")),
    };
    RuleVerdict::new(MergeRule::ChangesRequested, objections.is_empty(), evidence)
}

/// Checks that no review thread is open. Threads without a path are plain comments, which forges cannot resolve.
pub(super) fn threads(policy: &Policy, pull: &Pull) -> RuleVerdict {
    let by_person = |thread: &&ThreadFacts| {
        thread.comments.iter().any(|comment| comment.author.standing.is_trusted_person())
    };
    let open: Vec<&str> =
        pull.facts.threads.iter().filter(by_person).filter_map(|thread| thread.path.as_deref()).collect();
    let evidence = match (policy.threads_resolved, open.len()) {
        (_, 0) => "none open".into(),
        (true, _) => format!("open in {}", open.join(", ")),
        (false, some) => format!("{some} open, which is allowed"),
    };
    RuleVerdict::new(MergeRule::Threads, open.is_empty() || !policy.threads_resolved, evidence)
}

/// Checks whether a person must approve it, regardless of other approvals.
pub(super) fn human(policy: &Policy, case: &JudgedPull<'_>) -> RuleVerdict {
    let verdict = |holds, evidence: String| RuleVerdict::new(MergeRule::Human, holds, evidence);
    let always = policy.human_always.then(|| "always".to_owned());
    let Some(why) = always.or_else(|| policy.human.iter().find_map(|need| needs(need, case))) else {
        return verdict(true, "nothing asks for a person".into());
    };
    match case.person_approved() {
        true => verdict(true, format!("asked for a person ({why}), who has approved")),
        false => verdict(false, format!("a person has to approve: {why}")),
    }
}

/// Returns the reason why a person must approve it, if there is one.
fn needs(need: &HumanNeed, case: &JudgedPull<'_>) -> Option<String> {
    let facts = &case.pull.facts;
    let (files, lines) = (facts.size.files.len() as u64, facts.size.added.saturating_add(facts.size.removed));
    let by_size = !need.paths.is_empty() || need.files.is_some() || need.lines.is_some();
    if by_size && facts.size.files.is_empty() {
        return Some("the changed files are not known".into());
    }
    let touched = |path: &String| {
        let file = facts.size.files.iter().find(|file| glob::matches(path, file))?;
        Some(format!("{path} touched by {file}"))
    };
    if let Some(why) = need.paths.iter().find_map(touched) {
        return Some(why);
    }
    let has = |label: &&String| facts.labels.iter().any(|known| known.eq_ignore_ascii_case(label));
    if let Some(label) = need.labels.iter().find(has) {
        return Some(format!("label {label}"));
    }
    if let Some(most) = need.files.filter(|most| files > *most) {
        return Some(format!("{files} files, more than {most}"));
    }
    if let Some(most) = need.lines.filter(|most| lines > *most) {
        return Some(format!("{lines} lines, more than {most}"));
    }
    let is_author = |name: &&String| case.makers.iter().any(|maker| maker.is(name)) || facts.author.is(name);
    need.authors.iter().find(is_author).map(|name| format!("made by {name}"))
}

/// Checks whether every agent that made it is trusted enough. All count: an agent gains no trust by handing its pull
/// request over, nor does the new owner vouch for it. A person's approval is always enough.
pub(super) fn trust(policy: &Policy, case: &JudgedPull<'_>) -> RuleVerdict {
    let verdict = |holds, evidence: &str| RuleVerdict::new(MergeRule::Trust, holds, evidence);
    if policy.trust.is_empty() {
        return verdict(true, "no levels are named");
    }
    if !case.by_program() {
        return verdict(true, "a person made it");
    }
    if case.person_approved() {
        return verdict(true, "a person has approved it");
    }
    let size = &case.pull.facts.size;
    let mut said = vec![];
    for trust in &policy.trust {
        said.extend(case.makers.iter().map(|maker| trust.judge(maker, size)));
        if case.by_unknown_program() {
            said.push(trust.judge_unknown(size));
        }
    }
    said.sort_by_key(|verdict| verdict.holds);
    said.swap_remove(0)
}

/// Requires a person's approval for a change of the policy itself, even if agents need none otherwise, so that only a
/// person loosens the rules.
pub(super) fn policy_file(case: &JudgedPull<'_>) -> RuleVerdict {
    let verdict = |holds, evidence: String| RuleVerdict::new(MergeRule::PolicyFile, holds, evidence);
    let files = &case.pull.facts.size.files;
    match (files.iter().any(|file| file == POLICY_FILE), case.person_approved()) {
        (_, false) if files.is_empty() => verdict(false, "the changed files are not known".into()),
        (false, _) => verdict(true, format!("{POLICY_FILE} is not touched")),
        (true, true) => verdict(true, format!("{POLICY_FILE} is touched, and a person has approved that")),
        (true, false) => {
            verdict(false, format!("{POLICY_FILE} is touched, which a person always has to approve"))
        }
    }
}

pub(super) fn protected(policy: &Policy, pull: &Pull) -> Vec<RuleVerdict> {
    let verdict = |holds, evidence: String| RuleVerdict::new(MergeRule::Protected, holds, evidence);
    if policy.protected.is_empty() {
        return vec![verdict(true, "no paths are named".into())];
    }
    if pull.facts.size.files.is_empty() {
        return vec![verdict(false, "the changed files are not known".into())];
    }
    let approvals = pull.approvals();
    let judged = |path: &ProtectedPath| {
        let Some(file) = pull.facts.size.files.iter().find(|file| glob::matches(&path.glob, file)) else {
            return verdict(true, format!("{} is not touched", path.glob));
        };
        let may = |review: &&&ReviewFacts| {
            path.standings.contains(&review.author.standing)
                || path.approvers.iter().any(|login| review.author.is(login))
        };
        let allowing: Vec<&ReviewFacts> = approvals.iter().filter(may).copied().collect();
        let touched = format!("{} touched by {file}", path.glob);
        let standings = path.standings.iter().map(|standing| format!("any {standing}"));
        let who: Vec<String> = path.approvers.iter().cloned().chain(standings).collect();
        match (who.is_empty(), allowing.len() as u64 >= u64::from(path.approvals.max(1))) {
            (true, _) => verdict(false, format!("{touched}, which no one may approve")),
            (false, true) => {
                verdict(true, format!("{touched}, approved{}", by(&allowing).replacen(',', "", 1)))
            }
            (false, false) if path.approvals > 1 => {
                let (has, wanted) = (allowing.len(), path.approvals);
                verdict(false, format!("{touched}, {has} of {wanted} approvals of {}", who.join(", ")))
            }
            (false, false) => verdict(false, format!("{touched}, not approved by {}", who.join(" or "))),
        }
    };
    policy.protected.iter().map(judged).collect()
}

/// Lists the reviewers as a suffix: `, by ann, bob`.
fn by(reviews: &[&ReviewFacts]) -> String {
    let logins: Vec<&str> = reviews.iter().map(|review| review.author.login.as_str()).collect();
    if logins.is_empty() { String::new() } else { format!(", by {}", logins.join(", ")) }
}
