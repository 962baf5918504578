//! Carries out an input on the queue, step by step, up to the work that is due next.

use std::time::Duration;

use super::{
    AGAIN, AGAIN_AT_MOST, InTheWay, Lane, LanePart, LaneState, MAX_TRIES, MergeQueue, MergeRequest,
    QueueContext, QueueEntry, QueueEvent, QueueRejection, TestOutcome, evolve,
};
use crate::outside::{QuotedKind, bounded};
use crate::pull::TEXT_LIMIT;
use crate::{Commit, PullId, Timestamp};

/// The events decided so far, and the queue after them.
pub(super) struct Steps {
    pub(super) queue: MergeQueue,
    pub(super) at: Timestamp,
    pub(super) events: Vec<QueueEvent>,
}

impl Steps {
    pub(super) fn tell(&mut self, event: QueueEvent) {
        evolve(&mut self.queue, &event, self.at);
        self.events.push(event);
    }

    pub(super) fn enqueue(&mut self, pull: &PullId, head: &Commit, priority: i32) {
        let known = self.queue.entry(pull).map(|entry| (entry.head == *head, entry.priority));
        let (pull, head) = (pull.clone(), head.clone());
        match known {
            // A call without a priority does not undo an earlier one.
            Some((true, same)) if same == priority || priority == 0 => {}
            Some((true, _)) => self.tell(QueueEvent::Reprioritized { pull, priority }),
            Some((false, _)) => {
                let why = format!("{head} was enqueued instead");
                self.tell(QueueEvent::Removed { pull: pull.clone(), why });
                self.enter(pull, head, priority, None);
            }
            None => self.enter(pull, head, priority, None),
        }
    }

    /// Accepts a request. Repeating the same request changes nothing, nor does another one for an entry that is
    /// landing.
    pub(super) fn request(&mut self, pull: &PullId, head: &Commit, request: &MergeRequest) {
        if let Some(known) = self.queue.entry(pull) {
            let landing = self.queue.lane_of(pull).is_some_and(Lane::is_landing);
            if known.head == *head && (landing || known.request.as_ref() == Some(request)) {
                return;
            }
            let why = format!("{} wants {head} merged at once instead", request.by);
            self.tell(QueueEvent::Removed { pull: pull.clone(), why });
        }
        self.enter(pull.clone(), head.clone(), 0, Some(request.clone()));
    }

    fn enter(&mut self, pull: PullId, head: Commit, priority: i32, request: Option<MergeRequest>) {
        let branch = self.queue.branch.clone();
        self.tell(QueueEvent::Enqueued { pull, head, priority, request, branch });
    }

    pub(super) fn base_moved(&mut self, base: &Commit) {
        if self.queue.base.as_ref() != Some(base) {
            let branch = self.queue.branch.clone();
            self.tell(QueueEvent::BaseMoved { base: base.clone(), branch });
        }
    }

    pub(super) fn tested(&mut self, lane: &Lane, result: &TestOutcome) {
        let Some(LanePart { pull, head }) = lane.last().cloned() else { return };
        let result = match result {
            TestOutcome::Green { tree } => {
                let (base, tree) = (lane.base.clone(), tree.clone());
                return self.tell(QueueEvent::TestPassed { pull, head, base, tree });
            }
            TestOutcome::Red { output, between } => TestOutcome::Red {
                output: bounded(QuotedKind::Log, output, TEXT_LIMIT),
                between: bounded(QuotedKind::Log, between, TEXT_LIMIT / 2),
            },
            conflict @ TestOutcome::Conflict { .. } => conflict.clone(),
        };
        match lane.left.is_empty() {
            true => self.fell(lane, &result),
            // Something ahead of it may be the cause, so it is not settled yet.
            false => self.tell(QueueEvent::TestFailed { pull, head, result }),
        }
    }

    /// Handles a refused landing: the base is elsewhere, or something unknown got in between.
    pub(super) fn refused(&mut self, lane: &Lane, tip: Option<&Commit>, why: &str) {
        match tip {
            Some(tip) if *tip != lane.on => {
                self.base_moved(tip);
                self.void(lane, "the base moved, so it has to be tested again");
            }
            // The cause is unknown, so the test result no longer counts. Counting it as a try keeps this from
            // repeating for ever.
            _ if lane.parts.len() > 1 => self.apart(lane, why),
            _ => {
                self.broke(lane, why);
                self.void(lane, why);
            }
        }
    }

    /// Keeps a lane as it is and retries its landing later, because none of its entries is to blame.
    pub(super) fn wait_for_it(&mut self, lane: &Lane, why: &str) {
        let Some(LanePart { pull, .. }) = lane.last().cloned() else { return };
        if self.queue.request_of(lane).is_some() {
            return self.hold(&pull, bounded(QuotedKind::Log, why, TEXT_LIMIT));
        }
        let times = self.queue.in_the_way_of(lane).map_or(0, |known| known.times).saturating_add(1);
        let after = AGAIN.saturating_mul(1 << (times - 1).min(8)).min(AGAIN_AT_MOST);
        let (why, again_at) = (bounded(QuotedKind::Log, why, TEXT_LIMIT), self.at + after);
        self.tell(QueueEvent::InTheWay { pull, why, times, again_at });
    }

    /// Keeps a lane as it is until the forge takes calls again.
    pub(super) fn wait_for_limit(&mut self, lane: &Lane, after: Duration) {
        let Some(LanePart { pull, .. }) = lane.last().cloned() else { return };
        let (why, again_at) = ("the forge's rate limit is reached".to_owned(), self.at + after);
        match self.queue.request_of(lane) {
            Some(_) => self.hold(&pull, format!("{why}; try again after {}", again_at.utc())),
            None => self.tell(QueueEvent::InTheWay { pull, why, times: 0, again_at }),
        }
    }

    /// Records that the work itself broke. A batch does not reveal the culprit, so each part is retried alone.
    pub(super) fn broke(&mut self, lane: &Lane, why: &str) {
        let Some(LanePart { pull, head }) = lane.last().cloned() else { return };
        let (tries, several) = (self.queue.tries_of(lane) + 1, lane.parts.len() > 1);
        let why = bounded(QuotedKind::Log, why, TEXT_LIMIT);
        if several && (!lane.is_landing() || tries >= MAX_TRIES) {
            self.apart(lane, &why);
        } else if tries < MAX_TRIES {
            self.tell(QueueEvent::TryFailed { pull, tries, why, landing: lane.is_landing() });
        } else {
            let reason = QueueRejection::Broken { why: format!("broke {tries} times, last: {why}") };
            self.tell(QueueEvent::Rejected { pull, head, reason });
        }
    }

    pub(super) fn void(&mut self, lane: &Lane, why: &str) {
        if let Some(last) = lane.last()
            && self.queue.lane_of(&last.pull).is_some()
        {
            self.tell(QueueEvent::Voided { pull: last.pull.clone(), why: why.to_owned() });
        }
    }

    /// Makes an entry wait for an obstacle. A request does not wait: it is rejected.
    fn hold(&mut self, pull: &PullId, why: String) {
        let Some(entry) = self.queue.entry(pull) else { return };
        let (pull, head) = (entry.pull.clone(), entry.head.clone());
        if entry.request.is_some() {
            self.tell(QueueEvent::Rejected { pull, head, reason: QueueRejection::Held { why } });
        } else if entry.held.is_none() {
            self.tell(QueueEvent::Held { pull, why });
        }
    }

    /// Does the work that is due now: voids stale lanes, then lands the first one and starts the next tests.
    pub(super) fn advance(&mut self, context: &QueueContext<'_>) {
        self.let_go(context);
        // Each round removes a lane, so this ends.
        while self.take_back(context) {}
        if !self.queue.policy_due {
            self.resume_tests();
            self.land(context);
            while self.begin(context) {}
        }
    }

    /// Removes entries that were merged or closed outside the queue. A landing of our own is waited for.
    fn let_go(&mut self, context: &QueueContext<'_>) {
        for entry in self.queue.entries.clone() {
            if !self.queue.lane_of(&entry.pull).is_some_and(Lane::is_landing)
                && let Some(why) = (context.over)(&entry.pull)
            {
                self.tell(QueueEvent::Removed { pull: entry.pull, why });
            }
        }
    }

    /// Voids one stale lane, or settles a failed one. Returns whether there was one.
    fn take_back(&mut self, context: &QueueContext<'_>) -> bool {
        let mut ahead: Vec<LanePart> = vec![];
        for lane in self.queue.lanes.clone() {
            if Some(&lane.on) != self.queue.anchor() {
                self.void(&lane, "the base moved, so it has to be tested again");
                return true;
            }
            if lane.left != ahead {
                self.void(&lane, "what was ahead of it will not land, so it has to be tested again");
                return true;
            }
            match &lane.state {
                LaneState::Failed { result } if ahead.is_empty() => {
                    self.fell(&lane, result);
                    return true;
                }
                LaneState::Tested { .. } | LaneState::Landing { .. } => {
                    // A part that is over was merged by this very landing, whose outcome says the rest.
                    let over = |part: &LanePart| (context.over)(&part.pull).is_some();
                    let has_landed = lane.is_landing() && lane.parts.iter().any(over);
                    let against = |part: &LanePart| {
                        let request = self.queue.request_of(&lane);
                        let why = (context.still_allowed)(&part.pull, &part.head, request).err()?;
                        Some((part.pull.clone(), why))
                    };
                    if let Some((pull, why)) = lane.parts.iter().find_map(against).filter(|_| !has_landed) {
                        if self.queue.request_of(&lane).is_none() {
                            self.void(&lane, "policy no longer holds");
                        }
                        self.hold(&pull, why);
                        return true;
                    }
                }
                LaneState::Failed { .. } | LaneState::Testing {} => {}
            }
            // Lanes behind a failed one are tested as if it were gone, which it soon will be.
            if !lane.has_failed() {
                ahead.extend(lane.parts);
            }
        }
        false
    }

    /// Resumes tests that have waited long enough for the forge.
    fn resume_tests(&mut self) {
        for lane in self.queue.lanes.clone().iter().filter(|lane| lane.is_testing()) {
            let waited = self.queue.in_the_way_of(lane).is_some_and(|known| known.again_at <= self.at);
            if let Some(LanePart { pull, .. }) = lane.last().filter(|_| waited && self.queue.paused.is_none())
            {
                self.tell(QueueEvent::TestResumed { pull: pull.clone() });
            }
        }
    }

    fn land(&mut self, context: &QueueContext<'_>) {
        let Some(lane) = self.queue.lanes.first() else { return };
        if self.queue.paused.is_some() && self.queue.request_of(lane).is_none() {
            return;
        }
        let due = self.queue.land_again_at();
        if due.is_some_and(|again_at| again_at > self.at) {
            return;
        }
        let cleared = !context.asks || lane.parts.iter().all(|part| self.queue.is_cleared(part));
        if let (LaneState::Tested { tree }, Some(last), true) = (&lane.state, lane.last(), cleared) {
            let LanePart { pull, head } = last.clone();
            let (base, tree) = (lane.on.clone(), tree.clone());
            self.tell(QueueEvent::LandStarted { pull, head, base, tree });
        } else if due.is_some()
            && let (Some(last), Some(InTheWay { why, times, .. })) =
                (lane.last(), self.queue.in_the_way_of(lane).cloned())
        {
            // New hooks have to be asked first, and a retry that is due must not stay due for ever.
            let (pull, again_at) = (last.pull.clone(), self.at + AGAIN);
            self.tell(QueueEvent::InTheWay { pull, why, times, again_at });
        }
    }

    /// Starts the next lane, if a slot is free and an entry waits. A change of the policy is alone in its lane and
    /// the last one: entries behind it are judged by the new policy.
    fn begin(&mut self, context: &QueueContext<'_>) -> bool {
        let Some(base) = self.queue.anchor().cloned() else { return false };
        let waits =
            |entry: &&QueueEntry| entry.request.is_some() && self.queue.lane_of(&entry.pull).is_none();
        if let Some(entry) = self.queue.entries.iter().find(waits).cloned() {
            return self.begin_request(&entry, context);
        }
        let full = self.queue.lanes.len() >= context.rules.parallel.max(1) as usize;
        let alone = |lane: &Lane| lane.policy || self.queue.request_of(lane).is_some();
        if full || self.queue.paused.is_some() || self.queue.lanes.iter().any(alone) {
            return false;
        }
        let mut policy = false;
        let (mut parts, mut room) = (vec![], context.rules.batch.max(1));
        let waiting: Vec<_> = self.queue.waiting(self.at, context.clash).into_iter().cloned().collect();
        for entry in waiting {
            let most = room.min(entry.most.unwrap_or(u32::MAX).max(1));
            if parts.len() as u32 >= most {
                break;
            }
            match (context.allowed)(&entry.pull, &entry.head, None) {
                Ok(()) if (context.changes_policy)(&entry.pull) => {
                    if parts.is_empty() {
                        policy = true;
                        parts.push(LanePart { pull: entry.pull, head: entry.head });
                    }
                    break;
                }
                Ok(()) => {
                    room = most;
                    parts.push(LanePart { pull: entry.pull, head: entry.head });
                }
                // It is held, and the next one has its turn.
                Err(why) => self.hold(&entry.pull, why),
            }
        }
        let Some(LanePart { pull, head }) = parts.pop() else { return false };
        let sound = self.queue.lanes.iter().filter(|lane| !lane.has_failed());
        let ahead = sound.flat_map(|lane| lane.parts.clone()).collect();
        self.tell(QueueEvent::TestStarted { pull, head, base, ahead, with: parts, policy });
        true
    }

    /// Starts the lane of a request, which has the queue to itself, because it has its own strategy and rules. Lanes
    /// under test give way to it; a landing one is waited for.
    fn begin_request(&mut self, entry: &QueueEntry, context: &QueueContext<'_>) -> bool {
        let QueueEntry { pull, head, request, .. } = entry.clone();
        if let Err(why) = (context.allowed)(&pull, &head, request.as_ref()) {
            self.hold(&pull, why);
            return true;
        }
        for lane in self.queue.lanes.clone() {
            if !lane.is_landing() && self.queue.request_of(&lane).is_none() {
                self.void(&lane, &format!("{pull} is merged first, so it has to be tested again"));
            }
        }
        let Some(base) = self.queue.base.clone().filter(|_| self.queue.lanes.is_empty()) else {
            return false;
        };
        let policy = (context.changes_policy)(&pull);
        self.tell(QueueEvent::TestStarted { pull, head, base, ahead: vec![], with: vec![], policy });
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::queue::QueueInput;
    use crate::queue::bench::*;

    #[test]
    fn an_urgent_one_overtakes_those_that_wait_but_not_the_one_in_work() {
        let mut bench = bench(&[base("b1"), enqueue(1, "h1", 0), enqueue(2, "h2", 0), enqueue(3, "h3", 9)]);
        assert_eq!(bench.work(), "test 1 h1 on b1");
        let red = red("E1");
        assert_eq!(bench.step(&tested(1, "h1", "b1", red)), "rejected test_started => test 3 h3 on b1");
    }

    #[test]
    fn a_base_that_moves_voids_what_was_tested_on_the_old_one() {
        let mut bench = bench(&[base("b1"), enqueue(1, "h1", 0)]);
        assert_eq!(bench.step(&base("b2")), "base_moved voided test_started => test 1 h1 on b2");
        assert_eq!(bench.step(&tested(1, "h1", "b1", green("t1"))), " => test 1 h1 on b2", "late");
        bench.asks = true;
        bench.step(&tested(1, "h1", "b2", green("t2")));
        assert_eq!(bench.step(&base("b3")), "base_moved voided test_started => test 1 h1 on b3");
        assert_eq!(bench.step(&base("b3")), " => test 1 h1 on b3");
    }

    /// Policy is checked again for the current head just before the landing. acceptance: F11
    #[test]
    fn what_tested_green_does_not_land_if_policy_no_longer_holds() {
        let mut bench = bench(&[base("b1"), enqueue(1, "h1", 0), enqueue(2, "h2", 0)]);
        bench.against = vec![1];
        let step = bench.step(&tested(1, "h1", "b1", green("t1")));
        assert_eq!(step, "test_passed voided held test_started => test 2 h2 on b1");
        assert_eq!(bench.queue.entry(&pull(1)).unwrap().held.as_deref(), Some("not approved"));
        assert_eq!(bench.step(&QueueInput::Look {}), " => test 2 h2 on b1", "it is told once");
        bench.against.clear();
        let step = bench.step(&tested(2, "h2", "b1", conflict(&["a.rs"])));
        assert_eq!(step, "rejected test_started => test 1 h1 on b1");
        bench.step(&tested(1, "h1", "b1", green("t1")));
        bench.against = vec![1];
        assert_eq!(bench.step(&QueueInput::Look {}), "voided held => nothing", "not even while landing");
    }

    #[test]
    fn what_is_in_the_way_of_a_landing_is_waited_for_and_costs_nobody_anything() {
        let mut bench = Bench::wide(2, 1).with(&[base("b1"), enqueue(1, "h1", 0), enqueue(2, "h2", 0)]);
        bench.step(&tested_after(2, "h2", "b1", &[(1, "h1")], green("t12")));
        bench.step(&tested(1, "h1", "b1", green("t1")));
        for times in 1..9 {
            assert_eq!(bench.work(), "land 1 h1 on b1 as t1");
            assert_eq!(bench.step(&in_the_way(1, "h1", "b1")), "in_the_way => nothing");
            assert_eq!(bench.step(&QueueInput::Look {}), " => nothing", "not at every look");
            let entry = bench.queue.entry(&pull(1)).unwrap();
            let found = entry.in_the_way.as_ref().unwrap();
            assert_eq!((found.why.as_str(), found.times, entry.tries), ("a.rs is dirty", times, 0));
            assert_eq!(bench.queue.again_at(), Some(found.again_at));
            let waits = found.again_at.0 - bench.now;
            assert!(waits > 0 && waits <= 300_000, "{waits}");
            bench.now = found.again_at.0;
            assert_eq!(bench.step(&QueueInput::Look {}), "land_started => land 1 h1 on b1 as t1");
            assert_eq!(bench.queue.again_at(), None);
        }
        let step = bench.step(&landed(1, "h1", "b2"));
        assert_eq!(
            step, "landed base_moved land_started => land 2 h2 on b2 as t12",
            "nothing is tested twice"
        );
        bench.step(&in_the_way(2, "h2", "b2"));
        bench.asks = true;
        bench.now = bench.queue.again_at().unwrap().0;
        assert_eq!(bench.step(&QueueInput::Look {}), "in_the_way => nothing", "a hook is asked first");
        assert!(bench.queue.again_at().unwrap().0 > bench.now);
    }

    #[test]
    fn a_green_test_forgives_tests_that_broke_but_not_landings() {
        let mut bench = bench(&[base("b1"), enqueue(1, "h1", 0)]);
        for tries in 0..2 {
            bench.step(&failed(1, "h1", "b1", tries));
        }
        bench.step(&tested(1, "h1", "b1", green("t1")));
        assert_eq!(bench.queue.entry(&pull(1)).unwrap().tries, 0);
        bench.step(&refused(1, "h1", "b1", None));
        bench.step(&tested(1, "h1", "b1", green("t1")));
        assert_eq!(bench.queue.entry(&pull(1)).unwrap().tries, 1);
    }

    #[test]
    fn what_changes_the_policy_is_alone_and_nothing_lands_before_it_was_read() {
        let mut bench = Bench { of_policy: vec![2], ..Bench::wide(3, 3) };
        bench.queue.paused = Some("to fill it".into());
        for number in 1..=3 {
            bench.step(&enqueue(number, "h", 0));
        }
        bench.step(&base("b1"));
        bench.step(&QueueInput::Resume {});
        assert_eq!(bench.work(), "test 1 h on b1, test 2 h on b1 after 1", "3 waits for the new policy");
        bench.step(&tested(1, "h", "b1", green("t1")));
        bench.step(&tested_after(2, "h", "b1", &[(1, "h")], green("t12")));
        bench.step(&landed(1, "h", "b2"));
        assert_eq!(bench.work(), "land 2 h on b2 as t12");
        assert_eq!(bench.step(&landed(2, "h", "b3")), "landed base_moved => nothing");
        assert_eq!(bench.step(&QueueInput::Look {}), " => nothing", "nobody has read it yet");
        bench.queue.policy_due = false;
        assert_eq!(bench.step(&QueueInput::Look {}), "test_started => test 3 h on b3");
    }

    #[test]
    fn a_paused_queue_wants_nothing_but_hears_what_was_under_way() {
        let mut bench = bench(&[base("b1"), enqueue(1, "h1", 0)]);
        let pause = QueueInput::Pause { why: "release".into() };
        assert_eq!(bench.step(&pause), "paused => nothing");
        assert_eq!(bench.step(&pause), " => nothing");
        assert_eq!(bench.step(&tested(1, "h1", "b1", green("t1"))), "test_passed => nothing");
        assert_eq!(bench.step(&QueueInput::Resume {}), "resumed land_started => land 1 h1 on b1 as t1");
        bench.step(&pause);
        assert_eq!(bench.step(&landed(1, "h1", "b2")), "landed base_moved => nothing");
    }

    #[test]
    fn each_is_tested_on_those_ahead_of_it_and_keeps_its_result_when_they_land() {
        let mut bench = Bench::wide(3, 1).with(&[base("b1"), enqueue(1, "h1", 0), enqueue(2, "h2", 0)]);
        assert_eq!(bench.work(), "test 1 h1 on b1, test 2 h2 on b1 after 1");
        // The later one finishes first, and waits for the other.
        let step = bench.step(&tested_after(2, "h2", "b1", &[(1, "h1")], green("t12")));
        assert_eq!(step, "test_passed => test 1 h1 on b1");
        assert_eq!(
            bench.step(&enqueue(3, "h3", 0)),
            "enqueued test_started => test 1 h1 on b1, test 3 h3 on b1 after 1,2"
        );
        let step = bench.step(&tested(1, "h1", "b1", green("t1")));
        assert_eq!(step, "test_passed land_started => land 1 h1 on b1 as t1, test 3 h3 on b1 after 1,2");
        let step = bench.step(&landed(1, "h1", "b2"));
        assert_eq!(
            step,
            "landed base_moved land_started => land 2 h2 on b2 as t12, test 3 h3 on b1 after 1,2"
        );
        bench.step(&landed(2, "h2", "b3"));
        let step = bench.step(&tested_after(3, "h3", "b1", &[(1, "h1"), (2, "h2")], green("t123")));
        assert_eq!(step, "test_passed land_started => land 3 h3 on b3 as t123");
    }

    #[test]
    fn when_one_ahead_falls_those_behind_are_tested_anew_without_it() {
        let mut bench = Bench::wide(2, 1).with(&[base("b1"), enqueue(1, "h1", 0), enqueue(2, "h2", 0)]);
        bench.step(&tested_after(2, "h2", "b1", &[(1, "h1")], green("t12")));
        let step = bench.step(&tested(1, "h1", "b1", red("E1")));
        assert_eq!(step, "rejected voided test_started => test 2 h2 on b1");
        let late = tested_after(2, "h2", "b1", &[(1, "h1")], green("t12"));
        assert_eq!(bench.step(&late), " => test 2 h2 on b1", "it was about another tree");
    }

    #[test]
    fn one_that_fails_behind_others_is_judged_only_when_they_have_landed() {
        let mut bench = Bench::wide(3, 1).with(&[base("b1"), enqueue(1, "h1", 0), enqueue(2, "h2", 0)]);
        let fails = tested_after(2, "h2", "b1", &[(1, "h1")], red("E1"));
        assert_eq!(bench.step(&fails), "test_failed => test 1 h1 on b1");
        let step = bench.step(&enqueue(3, "h3", 0));
        assert_eq!(
            step, "enqueued test_started => test 1 h1 on b1, test 3 h3 on b1 after 1",
            "as if 2 were gone"
        );
        let mut innocent = Bench { queue: bench.queue.clone(), ..Bench::wide(3, 1) };
        let step = innocent.step(&tested(1, "h1", "b1", red("E0")));
        assert_eq!(
            step,
            "rejected voided voided test_started test_started => test 2 h2 on b1, test 3 h3 on b1 after 2"
        );
        bench.step(&tested(1, "h1", "b1", green("t1")));
        let step = bench.step(&landed(1, "h1", "b2"));
        assert_eq!(
            step, "landed base_moved rejected => test 3 h3 on b1 after 1",
            "and 3 goes on undisturbed"
        );
        let last = tested_after(3, "h3", "b1", &[(1, "h1")], green("t13"));
        assert_eq!(bench.step(&last), "test_passed land_started => land 3 h3 on b2 as t13");
    }

    #[test]
    fn those_that_are_taken_out_leave_the_others_to_be_tested_anew() {
        let mut bench = Bench::wide(2, 1).with(&[base("b1"), enqueue(1, "h1", 0), enqueue(2, "h2", 0)]);
        let remove = QueueInput::Remove { pull: pull(1), why: "not now".into() };
        assert_eq!(bench.step(&remove), "removed voided test_started => test 2 h2 on b1");
    }
}
