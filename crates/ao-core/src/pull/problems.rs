//! Problems of a pull request, with what its agent needs to know to act on them.
//!
//! Level-triggered: each call returns all problems that exist, so nothing is lost when nobody listened at the right
//! moment. Whether a problem is new, and how often it may be told, is for the incidents to say.

use super::asks::new_comments;
use super::{AuthorStanding, CheckFacts, CheckState, Mergeable, Pull, PullState, ReviewFacts, TEXT_LIMIT};
use crate::incident::{IncidentKind, ObservedProblem, ProblemId};
use crate::outside::{QuotedKind, fenced, one_line};
use crate::text::shell_quoted;

/// Number of conflicting files that are named; the agent sees the others as soon as it rebases.
const FILES_NAMED: usize = 50;

const ELSEWHERE: &str = "None of the files that this failure names is changed by this pull request.\n";

impl Pull {
    /// Returns the problems that exist now.
    pub fn problems(&self) -> Vec<ObservedProblem> {
        match &self.facts.state {
            PullState::Merged { commit } => vec![ObservedProblem {
                kind: IncidentKind::PrMerged,
                id: ProblemId::Merged,
                revision: commit.to_string(),
                detail: format!("{} was merged as {commit}", self.facts.url),
            }],
            PullState::Closed => vec![ObservedProblem {
                kind: IncidentKind::PrClosed,
                id: ProblemId::Closed,
                revision: self.facts.head.to_string(),
                detail: format!("{} was closed without a merge", self.facts.url),
            }],
            PullState::Open => {
                let mut problems: Vec<ObservedProblem> =
                    self.failures.values().filter_map(|check| self.ci_failed(check)).collect();
                problems.extend(self.asks());
                problems.extend(self.merge_conflict());
                problems.extend(self.approved_and_green());
                problems.extend(self.facts.labels.iter().map(|label| label_added(label)));
                problems
            }
        }
    }

    /// Returns the news about a problem for a receiver who was informed of it at revision `told`.
    ///
    /// For a thread these are the comments written or edited since then, so that each is delivered once.
    pub fn news_since(&self, kind: &IncidentKind, problem: &ProblemId, told: &str) -> Option<String> {
        if let Some(thread) = self.asking_thread(kind, problem) {
            return new_comments(kind, thread, told);
        }
        let found = self.problems().into_iter().find(|found| found.kind == *kind && found.id == *problem)?;
        (found.revision != told).then_some(found.detail)
    }

    fn merge_conflict(&self) -> Option<ObservedProblem> {
        let conflict = self.conflict.as_ref()?;
        let (branch, base) = (one_line(&self.facts.head_branch), &self.facts.base_branch);
        let mut files: Vec<String> =
            conflict.files.iter().take(FILES_NAMED).map(|file| format!("- {}\n", one_line(file))).collect();
        if let Some(more @ 1..) = conflict.files.len().checked_sub(FILES_NAMED) {
            files.push(format!("- and {more} more\n"));
        }
        Some(ObservedProblem {
            kind: IncidentKind::MergeConflicts,
            id: ProblemId::Base(base.clone()),
            revision: format!("{}+{}", conflict.base, conflict.head),
            detail: format!(
                "`{branch}` conflicts with `{base}` at {base_tip}:\n{files}run: {command}\n\
                 to go back to where the branch was before: {head}",
                base_tip = conflict.base,
                files = files.concat(),
                command = self.rebase_command(),
                head = conflict.head,
            ),
        })
    }

    /// Returns the command by which an agent rebases its work onto the present base.
    fn rebase_command(&self) -> String {
        let base = &self.facts.base_branch;
        match &self.facts.base_remote {
            None => format!("git rebase {}", shell_quoted(base)),
            Some(remote) => {
                let target = shell_quoted(&format!("{remote}/{base}"));
                format!(
                    "git fetch {} && git rebase {target} && git push --force-with-lease",
                    shell_quoted(remote)
                )
            }
        }
    }

    fn ci_failed(&self, check: &CheckFacts) -> Option<ObservedProblem> {
        let CheckState::Failed { signature, excerpt, url, files, .. } = &check.state else {
            return None;
        };
        let (name, commit, changed) = (&check.name, &check.commit, &self.facts.size.files);
        // Not its path: an agent in a container does not see the files of the daemon's host.
        let log =
            check.run.iter().map(|run| format!("whole log: `ao check logs {run}`\n")).collect::<String>();
        let elsewhere =
            !files.is_empty() && !changed.is_empty() && !files.iter().any(|file| changed.contains(file));
        let elsewhere = if elsewhere { ELSEWHERE } else { "" };
        Some(ObservedProblem {
            kind: IncidentKind::CiFailed,
            id: ProblemId::Check { check: name.clone(), signature: signature.clone() },
            revision: commit.to_string(),
            detail: format!(
                "check `{}` failed on {commit}\n{}\n{log}{elsewhere}{}",
                one_line(name),
                one_line(url),
                fenced(QuotedKind::Log, excerpt, TEXT_LIMIT)
            ),
        })
    }

    fn approved_and_green(&self) -> Option<ObservedProblem> {
        let trusted = |review: &&ReviewFacts| review.author.standing != AuthorStanding::Outsider;
        let approvers: Vec<&str> =
            self.approvals().into_iter().filter(trusted).map(|review| review.author.login.as_str()).collect();
        let ready = !self.facts.draft
            && self.green().allows()
            && !approvers.is_empty()
            && self.changes_requested().is_empty()
            && self.facts.mergeable == Mergeable::Clean;
        ready.then(|| ObservedProblem {
            kind: IncidentKind::ApprovedAndGreen,
            // Another head is another readiness, unrelated to the one before it.
            id: ProblemId::Head(self.facts.head.clone()),
            revision: self.facts.head.to_string(),
            detail: format!(
                "{} {} and is approved by {}",
                self.facts.url,
                self.checked_words(),
                approvers.join(", ")
            ),
        })
    }
}

fn label_added(label: &str) -> ObservedProblem {
    ObservedProblem {
        kind: IncidentKind::LabelAdded,
        id: ProblemId::Label(label.to_owned()),
        revision: label.to_owned(),
        detail: format!("label `{}`", one_line(label)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Commit;
    use crate::pull::fixture::*;
    use crate::pull::{PullFacts, ReviewVerdict};

    /// acceptance: F1
    #[test]
    fn a_failed_check_brings_its_lines_its_commit_its_url_and_its_log() {
        let mut check = CheckFacts { run: Some("run_1".into()), ..failed("build", "E0308") };
        if let CheckState::Failed { excerpt, .. } = &mut check.state {
            *excerpt = format!("first\n{}\nlast", "x".repeat(5_000_000));
        }
        let found = pull(PullFacts { checks: vec![check], ..facts(1) }).problems();
        assert_eq!(found[0].id.to_string(), "build E0308");
        let detail = &found[0].detail;
        let beginning = "check `build` failed on head1\nhttps://ci/build\n\
                         whole log: `ao check logs run_1`\n> first\n";
        assert!(detail.starts_with(beginning) && detail.ends_with("> last\n"), "{detail}");
        assert!(detail.len() < TEXT_LIMIT + 512);
    }

    #[test]
    fn a_failure_in_files_that_the_change_does_not_touch_is_marked_so() {
        let named = |named: &[&str], changed: &[&str]| {
            let mut check = failed("build", "E0308");
            if let CheckState::Failed { files, .. } = &mut check.state {
                *files = named.iter().map(|file| (*file).to_owned()).collect();
            }
            let mut look = PullFacts { checks: vec![check], ..facts(1) };
            look.size.files = changed.iter().map(|file| (*file).to_owned()).collect();
            pull(look).problems()[0].detail.contains(ELSEWHERE)
        };
        assert!(named(&["src/other.rs"], &["src/lib.rs"]));
        assert!(!named(&["src/other.rs", "src/lib.rs"], &["src/lib.rs"]));
        assert!(!named(&[], &["src/lib.rs"]), "it names none");
        assert!(!named(&["src/other.rs"], &[]), "what is changed is not known");
    }

    /// The problem stays the same while the check flickers, so its budget does too. acceptance: F2
    #[test]
    fn a_check_that_flips_between_failed_and_pending_stays_one_problem() {
        let red = vec![problem(IncidentKind::CiFailed, "build E1", "head1")];
        let mut looks = vec![];
        for at in (1..40).step_by(2) {
            looks.push(PullFacts { checks: vec![failed("build", "E1")], ..facts(at) });
            assert_eq!(problems(looks.clone()), red);
            looks.push(PullFacts { checks: vec![check("build", CheckState::Pending)], ..facts(at + 1) });
            assert_eq!(problems(looks.clone()), red);
        }
        looks.push(facts(41));
        assert_eq!(problems(looks.clone()), red, "a re-run may take the check away for a moment");
        looks.push(PullFacts { checks: vec![check("build", CheckState::Passed)], ..facts(42) });
        assert_eq!(problems(looks), []);
    }

    #[test]
    fn a_new_head_forgets_failures_until_it_fails_itself() {
        let old = PullFacts { checks: vec![failed("build", "E1")], ..facts(1) };
        let new = PullFacts { head: Commit::new("head2"), ..facts(2) };
        assert_eq!(problems(vec![old.clone(), new.clone()]), []);
        let fails = CheckFacts { commit: Commit::new("head2"), ..failed("build", "E1") };
        let again = PullFacts { checks: vec![fails], ..new };
        assert_eq!(problems(vec![old, again]), [problem(IncidentKind::CiFailed, "build E1", "head2")]);
    }

    /// The second conflict is a new revision; a new computation of the forge, or a move of the base, is not.
    /// acceptance: F7
    #[test]
    fn a_conflict_that_was_resolved_and_came_back_has_a_new_revision() {
        let look = |at, head: &str, base: &str, mergeable| PullFacts {
            head: Commit::new(head),
            base: Commit::new(base),
            mergeable,
            ..facts(at)
        };
        let conflict = || Mergeable::Conflict { files: vec!["a.rs".into()] };
        let mut looks = vec![];
        let mut step = |look| {
            looks.push(look);
            problems(looks.clone())
        };
        let first = [problem(IncidentKind::MergeConflicts, "main", "base1+head1")];
        assert_eq!(step(look(1, "head1", "base1", conflict())), first);
        assert_eq!(step(look(2, "head1", "base2", Mergeable::Unknown)), first);
        assert_eq!(step(look(3, "head1", "base2", conflict())), first);
        assert_eq!(step(look(4, "head2", "base2", Mergeable::Unknown)), []);
        assert_eq!(step(look(5, "head2", "base2", Mergeable::Clean)), []);
        let second = [problem(IncidentKind::MergeConflicts, "main", "base3+head2")];
        assert_eq!(step(look(6, "head2", "base3", conflict())), second);
    }

    #[test]
    fn a_conflict_comes_with_the_exact_command_and_the_way_back() {
        let mergeable = Mergeable::Conflict { files: vec!["b.rs".into(), "a.rs".into()] };
        let detail = |base: &str| {
            let look = PullFacts { base_branch: base.into(), mergeable: mergeable.clone(), ..facts(1) };
            pull(look).problems()[0].detail.clone()
        };
        assert_eq!(
            detail("main"),
            "`feat` conflicts with `main` at base1:\n- a.rs\n- b.rs\n\
             run: git fetch origin && git rebase origin/main && git push --force-with-lease\nto go back to where the branch was before: head1"
        );
        assert!(detail("x;id").contains("git rebase 'origin/x;id' && git push --force-with-lease\n"));
        let here = PullFacts { base_remote: None, mergeable: mergeable.clone(), ..facts(1) };
        assert!(pull(here).problems()[0].detail.contains("run: git rebase main\n"));
    }

    #[test]
    fn ready_means_open_green_approved_and_nothing_against_it() {
        assert_eq!(problems(vec![ready()]), [problem(IncidentKind::ApprovedAndGreen, "head1", "head1")]);
        let breaks: [&dyn Fn(&mut PullFacts); 7] = [
            &|f| f.draft = true,
            &|f| f.checks.clear(),
            &|f| f.checks[0].state = CheckState::Pending,
            &|f| f.reviews[0].commit = Commit::new("before"),
            &|f| f.reviews[0].author = outsider(),
            &|f| {
                f.reviews.push(review("r2", member("ann"), ReviewVerdict::ChangesRequested, ""));
            },
            &|f| f.mergeable = Mergeable::Unknown,
        ];
        for (which, spoil) in breaks.iter().enumerate() {
            let mut spoiled = ready();
            spoil(&mut spoiled);
            assert_eq!(problems(vec![spoiled]), [], "{which}");
        }
    }

    #[test]
    fn the_end_of_a_pull_request_is_its_only_problem() {
        let mut look = PullFacts { checks: vec![failed("build", "E1")], ..facts(1) };
        look.labels = ["urgent".to_owned()].into();
        assert_eq!(problems(vec![look.clone()]).len(), 2);
        look.state = PullState::Closed;
        assert_eq!(problems(vec![look.clone()]), [problem(IncidentKind::PrClosed, "closed", "head1")]);
        look.state = PullState::Merged { commit: Commit::new("m1") };
        assert_eq!(problems(vec![look]), [problem(IncidentKind::PrMerged, "merged", "m1")]);
    }
}
