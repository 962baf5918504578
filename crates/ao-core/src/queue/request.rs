//! A person's request to merge something at once.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::policy::MergeRule;

/// The way a change lands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LandingStrategy {
    #[default]
    Squash,
    Merge,
    Rebase,
}

/// A request to merge a pull request before everything that waits in the queue, even while the queue is paused.
///
/// It either lands soon or is rejected: where other entries are held until something is settled, the requester gets
/// the reason as the answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MergeRequest {
    /// The person who requested it.
    pub by: String,
    /// The merge strategy; the configured one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<LandingStrategy>,
    /// Deletes its branch once it has landed; as configured if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delete_branch: Option<bool>,
    /// The rules that the person overrides.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub over: BTreeSet<MergeRule>,
}

impl MergeRequest {
    /// Returns whether the checks are run on the merge result.
    pub fn runs_checks(&self) -> bool {
        !self.over.contains(&MergeRule::Checks)
    }
}

/// The head branch of a change that has landed, if it was to be deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeadBranch {
    Deleted {},
    Left { why: String },
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::queue::bench::*;
    use crate::queue::{QueueEvent, QueueInput, QueueRejection};

    fn anyway() -> MergeRequest {
        MergeRequest { over: [MergeRule::Checks].into(), ..ann() }
    }

    #[test]
    fn a_request_goes_before_all_that_is_only_being_tested_and_has_the_queue_to_itself() {
        let mut bench = Bench::wide(2, 1).with(&[base("b1"), enqueue(1, "h1", 0), enqueue(2, "h2", 9)]);
        let step = bench.step(&request(3, "h3", ann()));
        assert_eq!(step, "enqueued voided voided test_started => test 3 h3 on b1");
        assert_eq!(bench.step(&enqueue(4, "h4", 99)), "enqueued => test 3 h3 on b1");
        let step = bench.step(&tested(3, "h3", "b1", green("t3")));
        assert_eq!(step, "test_passed land_started => land 3 h3 on b1 as t3");
        let step = bench.step(&landed(3, "h3", "b2"));
        assert_eq!(
            step,
            "landed base_moved test_started test_started => test 4 h4 on b2, test 2 h2 on b2 after 4"
        );
    }

    #[test]
    fn a_request_waits_for_what_is_landing_and_for_requests_before_it() {
        let mut bench = bench(&[base("b1"), enqueue(1, "h1", 0), tested(1, "h1", "b1", green("t1"))]);
        assert_eq!(bench.step(&request(2, "h2", ann())), "enqueued => land 1 h1 on b1 as t1");
        assert_eq!(bench.step(&request(3, "h3", ann())), "enqueued => land 1 h1 on b1 as t1");
        assert_eq!(bench.step(&landed(1, "h1", "b2")), "landed base_moved test_started => test 2 h2 on b2");
        let step = bench.step(&tested(2, "h2", "b2", red("E1")));
        assert_eq!(step, "rejected test_started => test 3 h3 on b2");
    }

    #[test]
    fn a_pause_holds_no_request_up() {
        let pause = QueueInput::Pause { why: "release".into() };
        let mut bench = bench(&[base("b1"), enqueue(1, "h1", 0), pause]);
        assert_eq!(bench.step(&request(2, "h2", ann())), "enqueued voided test_started => test 2 h2 on b1");
        bench.step(&tested(2, "h2", "b1", green("t2")));
        assert_eq!(bench.step(&landed(2, "h2", "b2")), "landed base_moved => nothing");
    }

    #[test]
    fn a_request_is_rejected_where_others_would_wait() {
        let start = [base("b1"), request(1, "h1", ann())];
        let mut against = Bench { against: vec![1], ..bench(&start) };
        let events = against.events(&tested(1, "h1", "b1", green("t1"))).unwrap();
        let reason = QueueRejection::Held { why: "not approved".into() };
        assert_eq!(events[1], QueueEvent::Rejected { pull: pull(1), head: commit("h1"), reason });
        assert_eq!((events.len(), against.work().as_str()), (2, "nothing"));
        let mut blocked = bench(&start).with(&[tested(1, "h1", "b1", green("t1"))]);
        let events = blocked.events(&in_the_way(1, "h1", "b1")).unwrap();
        let reason = QueueRejection::Held { why: "a.rs is dirty".into() };
        assert_eq!(events, [QueueEvent::Rejected { pull: pull(1), head: commit("h1"), reason }]);
        let (pull, head, base) = (pull(1), commit("h1"), commit("b1"));
        let (ahead, checks, after) = (vec![], true, Duration::from_secs(60));
        let limited = QueueInput::TestLimited { pull, head, base, ahead, checks, after };
        assert_eq!(bench(&start).step(&limited), "rejected => nothing");
    }

    #[test]
    fn the_same_request_again_changes_nothing_and_other_terms_begin_anew() {
        let mut bench = bench(&[base("b1"), enqueue(1, "h1", 0)]);
        let step = bench.step(&request(1, "h1", ann()));
        assert_eq!(step, "removed enqueued test_started => test 1 h1 on b1");
        assert_eq!(bench.step(&request(1, "h1", ann())), " => test 1 h1 on b1");
        assert_eq!(bench.step(&enqueue(1, "h1", 0)), " => test 1 h1 on b1", "it is queued already");
        let step = bench.step(&request(1, "h1", anyway()));
        assert_eq!(step, "removed enqueued test_started => test 1 h1 on b1");
        let late = tested(1, "h1", "b1", red("E1"));
        assert_eq!(bench.step(&late), " => test 1 h1 on b1", "the checks do not count any more");
        let unchecked = QueueInput::Tested {
            pull: pull(1),
            head: commit("h1"),
            base: commit("b1"),
            ahead: vec![],
            checks: false,
            result: green("t1"),
        };
        assert_eq!(bench.step(&unchecked), "test_passed land_started => land 1 h1 on b1 as t1");
        let step = bench.step(&request(1, "h1", ann()));
        assert_eq!(step, " => land 1 h1 on b1 as t1", "it lands this moment");
    }
}
