//! Health of a project's checks beside any one pull request: flaky failures, and checks that the base fails itself.
//!
//! Both are remembered so that agents are not woken for failures that they did not cause. Nothing here runs anything.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::incident::{IncidentKind, ObservedProblem, ProblemId};
use crate::keyed::Keyed;
use crate::outside::{QuotedKind, cut, fenced, one_line};
use crate::pull::TEXT_LIMIT;
use crate::{Commit, Timestamp};

/// Number of flaky failures that are remembered, the newest.
const FLAKES_KEPT: usize = 200;
/// Number of checks whose result on the base is remembered, the newest.
const CHECKS_KEPT: usize = 200;
/// Bytes of a failure on the base that are kept.
const EXCERPT: usize = 2 * 1024;

/// The flaky failures, by check and signature.
pub type FlakyFailures = BTreeMap<(String, String), FlakyFailure>;

/// A failure that was gone when the same commit was checked again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlakyFailure {
    pub check: String,
    pub signature: String,
    /// The first line of its last failure.
    pub excerpt: String,
    pub times: u32,
    pub first: Timestamp,
    pub last: Timestamp,
}

/// Results of checks on the bases of a project's pull requests.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BaseHealth {
    /// The checks by branch and name.
    #[serde(with = "crate::keyed")]
    pub checks: BTreeMap<(String, String), BaseCheck>,
}

/// One check on one base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseCheck {
    pub branch: String,
    pub check: String,
    /// The tip that is being checked.
    pub asked: Option<Commit>,
    /// The last result, and its tip.
    pub found: Option<(Commit, BaseVerdict)>,
    /// Time of the last question or result.
    pub at: Timestamp,
    /// Time of the last result.
    pub found_at: Option<Timestamp>,
}

/// Result of a check on a base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BaseVerdict {
    /// It passes.
    Green {},
    /// It fails.
    Red { signature: String, excerpt: String },
    /// It could not be run. This holds no agent up.
    Unknown { why: String },
}

/// A base as one failed pull request sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BaseState {
    Unasked,
    Asked,
    Green,
    Red,
    /// It fails too, but with another signature.
    Otherwise,
    Unknown,
}

impl BaseHealth {
    pub fn get(&self, branch: &str, check: &str) -> Option<&BaseCheck> {
        self.checks.get(&key(branch, check))
    }

    /// Returns how the base relates to a failure. A base that failed the same way is red until a newer tip is shown not to be;
    /// one that fails in another way explains nothing.
    pub(crate) fn view(&self, branch: &str, check: &str, signature: &str, tip: &Commit) -> BaseState {
        let Some(known) = self.get(branch, check) else { return BaseState::Unasked };
        match &known.found {
            Some((_, BaseVerdict::Red { signature: its, .. })) if its == signature => BaseState::Red,
            Some((of, BaseVerdict::Red { .. })) if of == tip => BaseState::Otherwise,
            Some((of, BaseVerdict::Green {})) if of == tip => BaseState::Green,
            Some((of, BaseVerdict::Unknown { .. })) if of == tip => BaseState::Unknown,
            _ if known.asked.as_ref() == Some(tip) => BaseState::Asked,
            _ => BaseState::Unasked,
        }
    }

    /// Returns the time of the last result for any tip of a base, if it was not red.
    pub(crate) fn not_red_at(&self, branch: &str, check: &str) -> Option<Timestamp> {
        self.get(branch, check).filter(|known| !known.is_red()).and_then(|known| known.found_at)
    }

    /// Returns true if the check has to be run on this tip. One question at a time: where the base moves faster than it
    /// is checked, there would else never be an answer.
    pub(crate) fn needs(&self, branch: &str, check: &str, tip: &Commit) -> bool {
        self.get(branch, check)
            .is_none_or(|known| known.asked.is_none() && known.found.as_ref().is_none_or(|(of, _)| of != tip))
    }

    /// Returns the branches that wait for a result of this tip.
    pub(crate) fn waiting(&self, check: &str, tip: &Commit) -> Vec<String> {
        let waits = |known: &&BaseCheck| known.check == check && known.asked.as_ref() == Some(tip);
        self.checks.values().filter(waits).map(|known| known.branch.clone()).collect()
    }

    /// Returns the checks that this branch fails itself.
    pub fn red_on<'a>(&'a self, branch: &'a str) -> impl Iterator<Item = &'a BaseCheck> {
        self.checks.values().filter(move |known| known.branch == branch && known.is_red())
    }

    /// Returns one problem for each check that a base fails, if that explains the failure of a pull request.
    pub(crate) fn problems(&self, explains: impl Fn(&BaseCheck, &str) -> bool) -> Vec<ObservedProblem> {
        let red = self.checks.values().filter_map(|known| match &known.found {
            Some((commit, BaseVerdict::Red { signature, excerpt })) if explains(known, signature) => {
                Some((known, commit, excerpt))
            }
            _ => None,
        });
        red.map(|(known, commit, excerpt)| ObservedProblem {
            kind: IncidentKind::BaseRed,
            id: ProblemId::BaseCheck { branch: known.branch.clone(), check: known.check.clone() },
            revision: commit.to_string(),
            detail: format!(
                "check `{}` fails on `{}` itself, at {commit}; no agent is notified until it passes there\n{}",
                one_line(&known.check),
                one_line(&known.branch),
                fenced(QuotedKind::Log, excerpt, TEXT_LIMIT)
            ),
        })
        .collect()
    }

    pub(crate) fn asked(&mut self, branch: &str, check: &str, commit: &Commit, at: Timestamp) {
        let known = self.checks.entry(key(branch, check)).or_insert_with(|| BaseCheck {
            branch: branch.to_owned(),
            check: check.to_owned(),
            asked: None,
            found: None,
            at,
            found_at: None,
        });
        known.asked = Some(commit.clone());
        known.at = at;
        keep_newest(&mut self.checks, CHECKS_KEPT, |known| (known.is_red(), known.at));
    }

    pub(crate) fn found(
        &mut self,
        branch: &str,
        check: &str,
        commit: &Commit,
        verdict: &BaseVerdict,
        at: Timestamp,
    ) {
        if let Some(known) = self.checks.get_mut(&key(branch, check)) {
            known.asked = known.asked.take().filter(|asked| asked != commit);
            known.found = Some((commit.clone(), verdict.clone()));
            known.at = at;
            known.found_at = Some(at);
        }
    }
}

impl Keyed for FlakyFailure {
    type Key = (String, String);

    fn key(&self) -> (String, String) {
        key(&self.check, &self.signature)
    }
}

impl Keyed for BaseCheck {
    type Key = (String, String);

    fn key(&self) -> (String, String) {
        key(&self.branch, &self.check)
    }
}

impl BaseCheck {
    pub fn is_red(&self) -> bool {
        matches!(self.found, Some((_, BaseVerdict::Red { .. })))
    }
}

impl BaseVerdict {
    pub(crate) fn bounded(self) -> BaseVerdict {
        match self {
            BaseVerdict::Red { signature, excerpt } => {
                BaseVerdict::Red { signature: cut(&signature, EXCERPT), excerpt: cut(&excerpt, EXCERPT) }
            }
            BaseVerdict::Unknown { why } => BaseVerdict::Unknown { why: cut(&why, EXCERPT) },
            green => green,
        }
    }
}

/// Counts one more flaky failure.
pub(crate) fn count_flake(
    flakes: &mut FlakyFailures,
    check: &str,
    signature: &str,
    excerpt: &str,
    at: Timestamp,
) {
    let flake = flakes.entry(key(check, signature)).or_insert_with(|| FlakyFailure {
        check: check.to_owned(),
        signature: signature.to_owned(),
        excerpt: String::new(),
        times: 0,
        first: at,
        last: at,
    });
    flake.times = flake.times.saturating_add(1);
    flake.last = at;
    flake.excerpt = excerpt.to_owned();
    keep_newest(flakes, FLAKES_KEPT, |flake| flake.last);
}

/// Returns the flake that this problem is an instance of.
pub(crate) fn flake_of<'a>(flakes: &'a FlakyFailures, problem: &ProblemId) -> Option<&'a FlakyFailure> {
    match problem {
        ProblemId::Check { check, signature } => flakes.get(&key(check, signature)),
        _ => None,
    }
}

fn key(one: &str, other: &str) -> (String, String) {
    (one.to_owned(), other.to_owned())
}

fn keep_newest<K: Ord + Clone, T, A: Ord>(map: &mut BTreeMap<K, T>, most: usize, age: impl Fn(&T) -> A) {
    while map.len() > most {
        let Some(oldest) = map.iter().min_by_key(|(_, one)| age(one)).map(|(key, _)| key.clone()) else {
            return;
        };
        map.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_red_until_another_tip_is_shown_not_to_be() {
        let (b1, b2) = (Commit::new("b1"), Commit::new("b2"));
        let mut base = BaseHealth::default();
        assert_eq!(base.view("main", "test", "E1", &b1), BaseState::Unasked);
        base.asked("main", "test", &b1, Timestamp(1));
        assert_eq!(base.view("main", "test", "E1", &b1), BaseState::Asked);
        assert!(!base.needs("main", "test", &b1) && !base.needs("main", "test", &b2), "one at a time");
        let red = BaseVerdict::Red { signature: "E1".into(), excerpt: "boom".into() };
        base.found("main", "test", &b1, &red, Timestamp(2));
        assert_eq!(
            base.view("main", "test", "E1", &b2),
            BaseState::Red,
            "nobody has looked at the new tip yet"
        );
        assert_eq!(base.problems(|_, _| true)[0].id.to_string(), "main test");
        assert!(!base.needs("main", "test", &b1) && base.needs("main", "test", &b2));
        assert_eq!(base.not_red_at("main", "test"), None);
        base.asked("main", "test", &b2, Timestamp(3));
        assert_eq!(base.view("main", "test", "E1", &b2), BaseState::Red);
        assert_eq!(base.waiting("test", &b2), ["main"]);
        base.found("main", "test", &b2, &BaseVerdict::Green {}, Timestamp(4));
        assert_eq!(base.view("main", "test", "E1", &b2), BaseState::Green);
        assert_eq!(base.view("main", "test", "E1", &b1), BaseState::Unasked);
        assert_eq!(base.not_red_at("main", "test"), Some(Timestamp(4)));
        assert_eq!((base.problems(|_, _| true), base.waiting("test", &b2)), (vec![], vec![]));
    }

    #[test]
    fn names_with_blanks_are_not_mixed_up() {
        let mut flakes = FlakyFailures::new();
        count_flake(&mut flakes, "unit tests", "login", "boom", Timestamp(1));
        count_flake(&mut flakes, "unit", "tests login", "boom", Timestamp(2));
        assert_eq!(flakes.values().map(|flake| flake.times).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn only_the_newest_flakes_are_remembered_and_each_counts_how_often() {
        let mut flakes = FlakyFailures::new();
        for n in 0..300_i64 {
            count_flake(&mut flakes, "test", &format!("E{n}"), "boom", Timestamp(n));
        }
        count_flake(&mut flakes, "test", "E299", "bang", Timestamp(400));
        assert_eq!(flakes.len(), 200);
        let flake = &flakes[&key("test", "E299")];
        assert_eq!(
            (flake.times, flake.first, flake.last, flake.excerpt.as_str()),
            (2, Timestamp(299), Timestamp(400), "bang")
        );
        assert!(!flakes.contains_key(&key("test", "E99")) && flakes.contains_key(&key("test", "E100")));
    }
}
