//! What an input means for the merge queue, and what the queue does next because of it.

use super::steps::Steps;
use super::{Entry, EntryState, MergeQueue, QueueEvent, QueueInput, QueueRefusal, Rejection};
use crate::outside::cut;
use crate::pull::TEXT_LIMIT;
use crate::{Commit, Moment, PullId};

/// Decides what an input means. `allowed` says whether policy holds right now for a pull request at a head, and `asks`
/// whether hooks are to be asked before anything lands.
///
/// Results that belong to another head or base than the one in work are late, and mean nothing.
pub(crate) fn decide(
    queue: &MergeQueue,
    moment: &Moment,
    input: &QueueInput,
    asks: bool,
    allowed: impl Fn(&PullId, &Commit) -> Result<(), String>,
) -> Result<Vec<QueueEvent>, QueueRefusal> {
    let mut steps = Steps { queue: queue.clone(), at: moment.at, events: vec![] };
    match input {
        QueueInput::Enqueue { pull, head, priority } => {
            allowed(pull, head).map_err(|why| QueueRefusal::NotAllowed { pull: pull.clone(), why })?;
            steps.enqueue(pull, head, *priority);
        }
        QueueInput::Remove { pull, why } => {
            queue.entry(pull).ok_or_else(|| QueueRefusal::NotQueued { pull: pull.clone() })?;
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
        QueueInput::BaseMoved { base } => steps.base_moved(base),
        QueueInput::Tested { pull, head, base, result } => {
            if let Some(entry) = in_work(queue, pull, head, base)
                && matches!(entry.state, EntryState::Testing { .. })
            {
                steps.tested(entry, base, result);
            }
        }
        // True whatever we thought of the entry meanwhile: the commit is on the base branch.
        QueueInput::Landed { pull, head, commit } => {
            if let Some(entry) = queue.entry(pull).filter(|entry| entry.head == *head) {
                let (pull, head) = (pull.clone(), head.clone());
                steps.tell(QueueEvent::Landed { pull, head, commit: commit.clone() });
                // If it was landing no longer, the base was seen to move since and may be further along than this.
                if matches!(entry.state, EntryState::Landing { .. })
                    && entry.state.base() == queue.base.as_ref()
                {
                    steps.base_moved(commit);
                }
            }
        }
        QueueInput::LandRefused { pull, head, base, tip, why } => {
            if let Some(entry) = in_work(queue, pull, head, base)
                && matches!(entry.state, EntryState::Landing { .. })
            {
                match tip {
                    Some(tip) if tip != base => steps.base_moved(tip),
                    // Nobody knows what moved, so what was tested counts for nothing, and this cannot go on for ever.
                    _ => {
                        steps.broke(entry, why);
                        steps.void(pull, why);
                    }
                }
            }
        }
        // For this head only: of another one nobody was asked.
        QueueInput::Verdict { pull, head, objection } => {
            if let Some(entry) = queue.entry(pull).filter(|entry| entry.head == *head && !entry.cleared) {
                let (pull, head) = (entry.pull.clone(), entry.head.clone());
                steps.tell(match objection {
                    None => QueueEvent::Cleared { pull, head },
                    Some(why) => {
                        let reason = Rejection::Vetoed { why: cut(why, TEXT_LIMIT) };
                        QueueEvent::Rejected { pull, head, reason }
                    }
                });
            }
        }
        QueueInput::EffectFailed { pull, head, base, tries, why } => {
            if let Some(entry) = in_work(queue, pull, head, base).filter(|entry| entry.tries == *tries) {
                steps.broke(entry, why);
            }
        }
        QueueInput::Pause { .. }
        | QueueInput::Resume {}
        | QueueInput::HeadMoved { .. }
        | QueueInput::Look {} => {}
    }
    steps.advance(asks, allowed);
    Ok(steps.events)
}

fn in_work<'a>(queue: &'a MergeQueue, pull: &PullId, head: &Commit, base: &Commit) -> Option<&'a Entry> {
    queue.entry(pull).filter(|entry| entry.head == *head && entry.state.base() == Some(base))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::bench::*;
    use crate::queue::{MAX_TRIES, TestResult};

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
        assert_eq!(bench.queue.awaits_word(), Some((&pull(1), &commit("h1"), &commit("b1"))));
        assert_eq!(bench.step(&verdict(1, "h0", None)), " => nothing", "the word was about another head");
        assert_eq!(bench.step(&verdict(1, "h1", None)), "cleared land_started => land 1 h1 on b1 as t1");
        // The base moves: what is tested anew has been asked about already.
        bench.step(&base("b2"));
        let step = bench.step(&tested(1, "h1", "b2", green("t2")));
        assert_eq!(step, "test_passed land_started => land 1 h1 on b2 as t2");
    }

    #[test]
    fn an_objection_takes_it_out_and_the_next_one_has_its_turn() {
        let mut bench =
            Bench { asks: true, ..bench(&[base("b1"), enqueue(1, "h1", 0), enqueue(2, "h2", 0)]) };
        bench.step(&tested(1, "h1", "b1", green("t1")));
        let reason = Rejection::Vetoed { why: "code freeze".into() };
        let events = bench.events(&verdict(1, "h1", Some("code freeze"))).unwrap();
        assert_eq!(events[0], QueueEvent::Rejected { pull: pull(1), head: commit("h1"), reason });
        assert_eq!(bench.work(), "test 2 h2 on b1");
        // Enqueued again, it is asked about again.
        bench.step(&tested(2, "h2", "b1", TestResult::Red { output: "E1".into() }));
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
        assert_eq!(bench.step(&failed(1, "h1", "b1", 1)), "try_failed => land 1 h1 on b1 as t1");
        let reason = Rejection::Broken { why: "broke 3 times, last: no disk".into() };
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

    #[test]
    fn a_landing_seen_first_through_its_base_still_counts() {
        let mut bench = bench(&[base("b1"), enqueue(1, "h1", 0), tested(1, "h1", "b1", green("t1"))]);
        assert_eq!(bench.step(&base("b3")), "base_moved voided test_started => test 1 h1 on b3");
        assert_eq!(bench.step(&landed(1, "h1", "b2")), "landed => nothing");
        assert_eq!(bench.queue.base, Some(commit("b3")), "the base does not go back");
    }
}
