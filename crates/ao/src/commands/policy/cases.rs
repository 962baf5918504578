//! Test cases of a policy: builds the pull request of a case and compares the verdict with the expected one.

use ao_config::policy::at;
use ao_config::shape::{CaseCheck, CaseExpected, CaseGiven, CaseVerdict};
use ao_core::policy::{JudgedPull, MergeVerdict, Policy, judge};
use ao_core::pull::{
    AuthorFacts, AuthorStanding, ChangeSize, CheckFacts, CheckState, CommentFacts, Mergeable, Pull,
    PullConflict, PullFacts, PullMaker, PullState, ReviewFacts, ReviewVerdict, ThreadFacts,
};
use ao_core::{Commit, ProjectId, PullId, Timestamp};

/// Returns the policy's verdict on a case.
pub(super) fn judged(policy: &Policy, given: &CaseGiven, now: Timestamp) -> MergeVerdict {
    // A case without a time gives the same result on every day.
    let now = given.at.as_deref().and_then(|text| at(text).ok()).unwrap_or_else(|| policy.unfrozen_from(now));
    let mut facts = facts(given, now);
    facts.checks = checks(policy, given);
    let mut pull = Pull::at_a_look(&PullId { project: ProjectId::new("case"), number: 1 }, &facts);
    if !given.conflicts.is_empty() {
        let (base, head) = (pull.facts.base.clone(), head());
        pull.conflict = Some(PullConflict { base, head, files: given.conflicts.clone() });
    }
    pull.scan = ao_scan::scan(policy, &head(), &diff(given), true);
    let maker = given
        .agent
        .as_ref()
        .map(|name| PullMaker { name: name.clone(), specialist: given.specialist.clone() });
    judge(policy, &JudgedPull { pull: &pull, makers: maker.as_slice(), maker_known: true, now, broken: None })
}

/// Returns the expectations that were not met, each as a sentence.
pub(super) fn unmet(expected: &CaseExpected, verdict: &MergeVerdict) -> Vec<String> {
    let mut unmet = vec![];
    let word = |allowed: bool| if allowed { "allowed" } else { "refused" };
    if let Some(wanted) = expected.verdict.map(|verdict| verdict == CaseVerdict::Allowed)
        && wanted != verdict.allows()
    {
        unmet.push(format!("expected it to be {}, but it is {}", word(wanted), word(verdict.allows())));
    }
    if let Some(wanted) = &expected.against {
        let against: Vec<&str> = verdict.against().map(|rule| rule.rule.word()).collect();
        let known = |rule: &str| verdict.rules.iter().any(|verdict| verdict.rule.word() == rule);
        for rule in wanted.iter().filter(|rule| !against.contains(&rule.as_str())) {
            let what = if known(rule) { "but it holds" } else { "but there is no such rule" };
            unmet.push(format!("expected `{rule}` to fail, {what}"));
        }
        let mut others: Vec<&str> =
            against.into_iter().filter(|rule| !wanted.iter().any(|wanted| wanted == rule)).collect();
        others.dedup();
        unmet.extend(others.into_iter().map(|rule| format!("`{rule}` fails, which was not expected")));
    }
    if let Some(wanted) = expected.auto_merge
        && wanted != verdict.merges_unasked()
    {
        let not = if wanted { "is not" } else { "is" };
        unmet.push(format!("it {not} merged automatically, which was not expected"));
    }
    unmet
}

fn head() -> Commit {
    Commit::new("head")
}

fn member(login: &str) -> AuthorFacts {
    AuthorFacts { login: login.to_owned(), standing: AuthorStanding::Member }
}

fn facts(given: &CaseGiven, now: Timestamp) -> PullFacts {
    let by_agent = given.agent.is_some();
    let login = given.author.clone().or_else(|| given.agent.clone()).unwrap_or_else(|| "somebody".to_owned());
    let standing = if by_agent { AuthorStanding::Agent } else { AuthorStanding::Member };
    let files = match (given.files.is_empty(), given.added.is_empty()) {
        (false, _) => given.files.clone(),
        (true, false) => given.added.keys().cloned().collect(),
        (true, true) => vec!["src/lib.rs".to_owned()],
    };
    let review = |n: usize, author: AuthorFacts, verdict: ReviewVerdict| ReviewFacts {
        id: format!("{verdict:?} {n}"),
        author,
        verdict,
        commit: head(),
        body: String::new(),
        revision: String::new(),
    };
    let approvals = given.approvals.iter().enumerate().map(|(n, (login, word))| {
        let author = AuthorFacts { login: login.clone(), standing: standing_called(word) };
        review(n, author, ReviewVerdict::Approved)
    });
    let objections = given
        .changes_requested
        .iter()
        .enumerate()
        .map(|(n, login)| review(n, member(login), ReviewVerdict::ChangesRequested));
    PullFacts {
        observed_at: now,
        title: "a case".into(),
        url: String::new(),
        head: head(),
        head_branch: "case".into(),
        head_repo: None,
        head_author: None,
        head_title: None,
        no_checks: false,
        base_branch: "main".into(),
        base_remote: None,
        base: Commit::new("base"),
        draft: given.draft,
        state: PullState::Open,
        author: AuthorFacts { login, standing },
        labels: given.labels.iter().cloned().collect(),
        mergeable: match given.conflicts.is_empty() {
            true => Mergeable::Clean,
            false => Mergeable::Conflict { files: given.conflicts.clone() },
        },
        checks: vec![],
        reviews: approvals.chain(objections).collect(),
        threads: given.open_threads.iter().enumerate().map(|(n, path)| thread(n, path)).collect(),
        size: ChangeSize { files, added: given.lines.unwrap_or(10), removed: 0 },
    }
}

fn standing_called(word: &str) -> AuthorStanding {
    let known = AuthorStanding::ALL.into_iter().find(|standing| standing.word() == word);
    known.unwrap_or(AuthorStanding::Outsider)
}

fn checks(policy: &Policy, given: &CaseGiven) -> Vec<CheckFacts> {
    let check = |name: &str, state| CheckFacts {
        name: name.to_owned(),
        commit: head(),
        state,
        required: false,
        run: None,
    };
    if given.checks.is_empty() {
        let required = policy.required_checks.iter().map(String::as_str);
        return required.chain(["a check"]).map(|name| check(name, CheckState::Passed)).collect();
    }
    let failed = || CheckState::Failed {
        signature: String::new(),
        excerpt: String::new(),
        url: String::new(),
        log: None,
        files: vec![],
        certain: false,
    };
    let state = |state: &CaseCheck| match state {
        CaseCheck::Passed => CheckState::Passed,
        CaseCheck::Failed => failed(),
        CaseCheck::Pending => CheckState::Pending,
        CaseCheck::Skipped => CheckState::Skipped,
    };
    given.checks.iter().map(|(name, said)| check(name, state(said))).collect()
}

fn thread(n: usize, path: &str) -> ThreadFacts {
    let comment = CommentFacts {
        id: format!("c{n}"),
        author: member("a-reviewer"),
        body: "?".into(),
        url: String::new(),
        revision: String::new(),
    };
    ThreadFacts {
        id: format!("t{n}"),
        path: Some(path.to_owned()),
        comments: vec![comment],
        ..ThreadFacts::default()
    }
}

/// Builds the diff that adds the lines of a case.
fn diff(given: &CaseGiven) -> String {
    let file = |(file, text): (&String, &String)| {
        let lines: String = text.lines().map(|line| format!("+{line}\n")).collect();
        format!("--- /dev/null\n+++ b/{file}\n@@ -0,0 +1,{} @@\n{lines}", text.lines().count())
    };
    given.added.iter().map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A case gives the same result on a Saturday, unless it is about one.
    #[test]
    fn what_a_case_leaves_out_stands_in_nobodys_way() {
        let text = "approvals: 0\nrequiredChecks: [unit]\n\
            freeze:\n  - { from: fri 16:00, until: mon 08:00 }\n  - { from: mon 08:00, until: mon 09:00 }\n";
        let said = ao_config::policy::read_policy("policy.yaml".into(), text).unwrap();
        let saturday = at("2026-11-21 12:00").unwrap();
        let said = [ao_config::policy::PolicyLayer { from: "file", policy: &said }];
        let policy = ao_config::policy::in_force(&said, saturday).policy;
        let against = |given: &CaseGiven| -> Vec<&str> {
            judged(&policy, given, saturday).against().map(|rule| rule.rule.word()).collect()
        };
        assert_eq!(against(&CaseGiven::default()), [""; 0]);
        let on_saturday = CaseGiven { at: Some("2026-11-21 12:00".into()), ..CaseGiven::default() };
        assert_eq!(against(&on_saturday), ["freeze"]);
        let others = CaseGiven {
            checks: [("lint".to_owned(), CaseCheck::Passed)].into_iter().collect(),
            ..CaseGiven::default()
        };
        assert_eq!(against(&others), ["required_checks"]);
    }
}
