//! Decides the events that follow from an input to the merge queue.

use super::steps::Steps;
use super::{
    Lane, LanePart, MergeQueue, MergeRequest, QueueEvent, QueueInput, QueueRefusal, QueueRejection,
    QueueRules,
};
use crate::outside::cut;
use crate::pull::TEXT_LIMIT;
use crate::{Commit, Moment, PullId};

/// Facts from outside the queue that its decisions depend on.
pub(crate) struct QueueContext<'a> {
    pub(crate) rules: QueueRules,
    /// Hooks are asked before anything lands.
    pub(crate) asks: bool,
    /// Returns the reason why policy forbids a pull request at a head, given the request to merge it, if there is
    /// one.
    pub(crate) allowed: &'a Judge<'a>,
    /// Like `allowed`, but for a pull request whose merge result was tested.
    pub(crate) still_allowed: &'a Judge<'a>,
    /// Returns the base of a pull request, as last seen.
    pub(crate) base_of: &'a dyn Fn(&PullId) -> Option<Commit>,
    /// Returns the reason why a pull request is no longer open, if it is not.
    pub(crate) over: &'a dyn Fn(&PullId) -> Option<String>,
    /// Returns whether two pull requests are predicted to conflict with each other.
    pub(crate) clash: &'a dyn Fn(&PullId, &PullId) -> bool,
    /// Returns whether a pull request changes the policy by which all of them are judged.
    pub(crate) changes_policy: &'a dyn Fn(&PullId) -> bool,
}

/// Returns the reason why a pull request may not be merged.
pub(crate) type Judge<'a> = dyn Fn(&PullId, &Commit, Option<&MergeRequest>) -> Result<(), String> + 'a;

/// Decides the events that follow from an input.
///
/// Results for other heads or another base than those under test are stale and ignored.
pub(crate) fn decide(
    queue: &MergeQueue,
    moment: &Moment,
    input: &QueueInput,
    context: &QueueContext<'_>,
) -> Result<Vec<QueueEvent>, QueueRefusal> {
    let mut steps = Steps { queue: queue.clone(), at: moment.at, events: vec![] };
    let known =
        |pull: &PullId| queue.entry(pull).ok_or_else(|| QueueRefusal::NotQueued { pull: pull.clone() });
    match input {
        QueueInput::Enqueue { pull, head, priority } => {
            (context.allowed)(pull, head, None)
                .map_err(|why| QueueRefusal::NotAllowed { pull: pull.clone(), why })?;
            steps.enqueue(pull, head, *priority);
        }
        QueueInput::MergeNow { pull, head, request } => {
            (context.allowed)(pull, head, Some(request))
                .map_err(|why| QueueRefusal::NotAllowed { pull: pull.clone(), why })?;
            steps.request(pull, head, request);
            if queue.base.is_none()
                && let Some(base) = (context.base_of)(pull)
            {
                steps.base_moved(&base);
            }
        }
        QueueInput::Prioritize { pull, priority } => {
            if known(pull)?.priority != *priority {
                steps.tell(QueueEvent::Reprioritized { pull: pull.clone(), priority: *priority });
            }
        }
        QueueInput::Remove { pull, why } => {
            known(pull)?;
            steps.tell(QueueEvent::Removed { pull: pull.clone(), why: why.clone() });
        }
        QueueInput::Pause { why } if queue.paused.as_ref() != Some(why) => {
            steps.tell(QueueEvent::Paused { why: why.clone() });
        }
        QueueInput::Resume {} if queue.paused.is_some() => steps.tell(QueueEvent::Resumed {}),
        QueueInput::HeadMoved { pull, head }
            if queue.entry(pull).is_some_and(|entry| entry.head != *head) =>
        {
            let why = format!("its head moved to {head}; enqueue it again to land that");
            steps.tell(QueueEvent::Removed { pull: pull.clone(), why });
        }
        // A look taken before the last landing reports where the base was then, so known earlier bases are ignored.
        QueueInput::BaseMoved { base, .. } if !queue.past.contains(base) => steps.base_moved(base),
        QueueInput::Tested { pull, head, base, ahead, checks, result } => {
            if let Some(lane) = queue.in_test(pull, head, base, ahead, *checks) {
                steps.tested(lane, result);
            }
        }
        // Accepted even if the entry is no longer landing: the commits are on the base branch.
        QueueInput::Landed { pull, head, commit, tip, head_branch, with } => {
            let was_landing = in_landing(queue, pull, head).map(|lane| lane.on.clone());
            let last = (LanePart { pull: pull.clone(), head: head.clone() }, commit.clone());
            for (LanePart { pull: landed, head }, commit) in with.iter().cloned().chain([last]) {
                if queue.entry(&landed).is_some_and(|entry| entry.head == head) {
                    let head_branch = head_branch.clone().filter(|_| landed == *pull);
                    steps.tell(QueueEvent::Landed { pull: landed, head, commit, head_branch });
                }
            }
            // If it was no longer landing, the base was seen to move since and may be further along than this tip.
            // The report may also be about an old landing.
            if was_landing.is_some() && was_landing == queue.base && !queue.past.contains(tip) {
                steps.base_moved(tip);
            }
        }
        QueueInput::LandRefused { pull, head, base, tip, why, in_the_way } => {
            if let Some(lane) = in_landing(queue, pull, head).filter(|lane| lane.on == *base) {
                match tip {
                    None if *in_the_way => steps.wait_for_it(lane, why),
                    _ => steps.refused(lane, tip.as_ref(), why),
                }
            }
        }
        QueueInput::TestLimited { pull, head, base, ahead, checks, after } => {
            if let Some(lane) = queue.in_test(pull, head, base, ahead, *checks) {
                steps.wait_for_limit(lane, *after);
            }
        }
        QueueInput::LandLimited { pull, head, base, after } => {
            if let Some(lane) = in_landing(queue, pull, head).filter(|lane| lane.on == *base) {
                steps.wait_for_limit(lane, *after);
            }
        }
        // Applies to this head only; the hooks were not asked about another one.
        QueueInput::Verdict { pull, head, objection } => {
            if let Some(entry) = queue.entry(pull).filter(|entry| entry.head == *head && !entry.cleared) {
                let (pull, head) = (entry.pull.clone(), entry.head.clone());
                steps.tell(match objection {
                    None => QueueEvent::Cleared { pull, head },
                    Some(why) => {
                        let reason = QueueRejection::Vetoed { why: cut(why, TEXT_LIMIT) };
                        QueueEvent::Rejected { pull, head, reason }
                    }
                });
            }
        }
        QueueInput::EffectFailed { pull, head, base, ahead, tries, why } => {
            let tested =
                [true, false].into_iter().find_map(|checks| queue.in_test(pull, head, base, ahead, checks));
            let landed = in_landing(queue, pull, head).filter(|lane| lane.on == *base);
            if let Some(lane) = tested.or(landed).filter(|lane| queue.tries_of(lane) == *tries) {
                steps.broke(lane, why);
            }
        }
        QueueInput::Pause { .. }
        | QueueInput::Resume {}
        | QueueInput::HeadMoved { .. }
        | QueueInput::BaseMoved { .. }
        | QueueInput::Look {} => {}
    }
    steps.advance(context);
    Ok(steps.events)
}

fn in_landing<'a>(queue: &'a MergeQueue, pull: &PullId, head: &Commit) -> Option<&'a Lane> {
    queue.led_by(pull, head).filter(|lane| lane.is_landing())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::MAX_TRIES;
    use crate::queue::bench::*;

    #[test]
    fn a_pull_request_is_tested_on_the_base_and_then_landed() {
        let mut bench = Bench::default();
        assert_eq!(bench.step(&enqueue(1, "h1", 0)), "enqueued => nothing");
        assert_eq!(bench.step(&base("b1")), "base_moved test_started => test 1 h1 on b1");
        assert_eq!(bench.step(&enqueue(2, "h2", 0)), "enqueued => test 1 h1 on b1");
        let step = bench.step(&tested(1, "h1", "b1", green("t1")));
        assert_eq!(step, "test_passed land_started => land 1 h1 on b1 as t1");
        assert_eq!(
            bench.step(&tested(1, "h1", "b1", green("t9"))),
            " => land 1 h1 on b1 as t1",
            "a second result for what is landing already is late"
        );
        assert_eq!(bench.step(&landed(1, "h1", "b2")), "landed base_moved test_started => test 2 h2 on b2");
    }

    #[test]
    fn what_is_green_waits_for_the_word_of_hooks_and_lands_with_it() {
        let mut bench =
            Bench { asks: true, ..bench(&[base("b1"), enqueue(1, "h1", 0), enqueue(2, "h2", 0)]) };
        assert_eq!(bench.step(&tested(1, "h1", "b1", green("t1"))), "test_passed => nothing");
        let unheard: Vec<_> = bench.queue.awaits_word().collect();
        assert_eq!(unheard, [(&pull(1), &commit("h1"), &commit("b1"))]);
        assert_eq!(bench.step(&verdict(1, "h0", None)), " => nothing", "the word was about another head");
        assert_eq!(bench.step(&verdict(1, "h1", None)), "cleared land_started => land 1 h1 on b1 as t1");
        // The base moves: what is tested again needs no second answer of the hooks.
        bench.step(&refused(1, "h1", "b1", Some("b2")));
        let step = bench.step(&tested(1, "h1", "b2", green("t2")));
        assert_eq!(step, "test_passed land_started => land 1 h1 on b2 as t2");
    }

    #[test]
    fn an_objection_takes_it_out_and_the_next_one_has_its_turn() {
        let mut bench =
            Bench { asks: true, ..bench(&[base("b1"), enqueue(1, "h1", 0), enqueue(2, "h2", 0)]) };
        bench.step(&tested(1, "h1", "b1", green("t1")));
        let reason = QueueRejection::Vetoed { why: "code freeze".into() };
        let events = bench.events(&verdict(1, "h1", Some("code freeze"))).unwrap();
        assert_eq!(events[0], QueueEvent::Rejected { pull: pull(1), head: commit("h1"), reason });
        assert_eq!(bench.work(), "test 2 h2 on b1");
        // Enqueued again, the hooks are asked again.
        bench.step(&tested(2, "h2", "b1", red("E1")));
        bench.step(&enqueue(1, "h1", 0));
        assert_eq!(bench.step(&tested(1, "h1", "b1", green("t1"))), "test_passed => nothing");
    }

    #[test]
    fn a_head_that_moves_takes_its_entry_out_with_the_reason() {
        let mut bench = bench(&[base("b1"), enqueue(1, "h1", 0)]);
        let moved = |head| QueueInput::HeadMoved { pull: pull(1), head: commit(head) };
        assert_eq!(bench.step(&moved("h1")), " => test 1 h1 on b1");
        let why = "its head moved to h2; enqueue it again to land that".into();
        assert_eq!(bench.events(&moved("h2")).unwrap(), [QueueEvent::Removed { pull: pull(1), why }]);
        assert_eq!(bench.step(&tested(1, "h1", "b1", green("t1"))), " => nothing", "late");
    }

    #[test]
    fn a_pull_request_is_in_the_queue_once() {
        let mut bench = bench(&[base("b1"), enqueue(1, "h1", 0)]);
        assert_eq!(bench.step(&enqueue(1, "h1", 0)), " => test 1 h1 on b1");
        assert_eq!(bench.step(&enqueue(1, "h1", 3)), "reprioritized => test 1 h1 on b1");
        assert_eq!(bench.step(&enqueue(1, "h2", 0)), "removed enqueued test_started => test 1 h2 on b1");
        assert_eq!(bench.queue.entries.len(), 1);
    }

    #[test]
    fn what_policy_is_against_is_not_taken_in() {
        let mut bench = Bench { against: vec![1], ..Bench::default() };
        assert_eq!(bench.step(&enqueue(1, "h1", 0)), "`my-app!1` may not be merged: not approved");
        let remove = QueueInput::Remove { pull: pull(1), why: "changed my mind".into() };
        assert_eq!(bench.step(&remove), "`my-app!1` is not in the merge queue");
    }

    #[test]
    fn work_that_keeps_breaking_is_given_up_with_the_last_reason() {
        let mut bench = bench(&[base("b1"), enqueue(1, "h1", 0)]);
        assert_eq!(bench.step(&failed(1, "h1", "b1", 0)), "try_failed => test 1 h1 on b1");
        assert_eq!(bench.step(&failed(1, "h1", "b1", 0)), " => test 1 h1 on b1", "heard twice");
        assert_eq!(bench.step(&failed(1, "h1", "b0", 1)), " => test 1 h1 on b1", "late");
        bench.step(&tested(1, "h1", "b1", green("t1")));
        for tries in 0..2 {
            assert_eq!(bench.step(&failed(1, "h1", "b1", tries)), "try_failed => land 1 h1 on b1 as t1");
        }
        let reason = QueueRejection::Broken { why: "broke 3 times, last: no disk".into() };
        let rejected = QueueEvent::Rejected { pull: pull(1), head: commit("h1"), reason };
        assert_eq!(bench.events(&failed(1, "h1", "b1", 2)).unwrap(), [rejected]);
    }

    #[test]
    fn a_refused_landing_is_tested_again_where_the_base_is_now() {
        let landing = [base("b1"), enqueue(1, "h1", 0), tested(1, "h1", "b1", green("t1"))];
        let step = bench(&landing).step(&refused(1, "h1", "b1", Some("b2")));
        assert_eq!(step, "base_moved voided test_started => test 1 h1 on b2");
        let mut bench = bench(&landing);
        assert_eq!(bench.step(&refused(1, "h1", "b0", None)), " => land 1 h1 on b1 as t1", "late");
        for _ in 1..MAX_TRIES {
            let step = bench.step(&refused(1, "h1", "b1", None));
            assert_eq!(step, "try_failed voided test_started => test 1 h1 on b1");
            bench.step(&tested(1, "h1", "b1", green("t1")));
        }
        assert_eq!(bench.step(&refused(1, "h1", "b1", None)), "rejected => nothing");
    }

    /// While a landing is under way its own result determines the base: the look may have seen its outcome already.
    #[test]
    fn a_landing_seen_first_through_its_base_still_counts() {
        let mut bench = bench(&[base("b1"), enqueue(1, "h1", 0), tested(1, "h1", "b1", green("t1"))]);
        assert_eq!(bench.step(&base("b2")), "base_moved => land 1 h1 on b1 as t1");
        bench.over = vec![1];
        assert_eq!(
            bench.step(&QueueInput::Look {}),
            " => land 1 h1 on b1 as t1",
            "it is ours that has merged it"
        );
        assert_eq!(bench.step(&landed(1, "h1", "b2")), "landed => nothing");
        assert_eq!(bench.queue.base, Some(commit("b2")));
        assert_eq!(bench.step(&base("b1")), " => nothing", "a look from before is no news");
    }

    #[test]
    fn what_somebody_else_has_merged_leaves_the_queue() {
        let mut bench = bench(&[base("b1"), enqueue(1, "h1", 0), enqueue(2, "h2", 0)]);
        bench.over = vec![1];
        assert_eq!(bench.step(&QueueInput::Look {}), "removed test_started => test 2 h2 on b1");
    }

    #[test]
    fn a_base_that_was_set_back_is_believed_when_a_landing_says_so() {
        let mut bench = bench(&[base("b1"), base("b2"), enqueue(1, "h1", 0)]);
        assert_eq!(bench.step(&base("b1")), " => test 1 h1 on b2");
        bench.step(&tested(1, "h1", "b2", green("t1")));
        let step = bench.step(&refused(1, "h1", "b2", Some("b1")));
        assert_eq!(step, "base_moved voided test_started => test 1 h1 on b1");
        assert_eq!(bench.step(&base("b2")), "base_moved voided test_started => test 1 h1 on b2");
    }

    #[test]
    fn nobody_without_a_wish_undoes_a_priority() {
        let mut bench = bench(&[base("b1"), enqueue(1, "h1", 3)]);
        assert_eq!(bench.step(&enqueue(1, "h1", 0)), " => test 1 h1 on b1");
        let prioritize = |priority| QueueInput::Prioritize { pull: pull(1), priority };
        assert_eq!(bench.step(&prioritize(0)), "reprioritized => test 1 h1 on b1");
        assert_eq!(bench.step(&prioritize(0)), " => test 1 h1 on b1");
        let unknown = QueueInput::Prioritize { pull: pull(2), priority: 1 };
        assert_eq!(bench.step(&unknown), "`my-app!2` is not in the merge queue");
    }
}
