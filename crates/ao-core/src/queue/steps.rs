//! What the queue does because of an input, step by step, up to what is due next.

use super::{Entry, EntryState, MAX_TRIES, MergeQueue, QueueEvent, Rejection, TestResult, evolve};
use crate::outside::{Kind, bounded};
use crate::pull::TEXT_LIMIT;
use crate::{Commit, PullId, Timestamp};

/// Events decided so far, and the queue as it is after them.
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
            Some((true, same)) if same == priority => {}
            Some((true, _)) => self.tell(QueueEvent::Reprioritized { pull, priority }),
            Some((false, _)) => {
                let why = format!("{head} was enqueued instead");
                self.tell(QueueEvent::Removed { pull: pull.clone(), why });
                self.tell(QueueEvent::Enqueued { pull, head, priority });
            }
            None => self.tell(QueueEvent::Enqueued { pull, head, priority }),
        }
    }

    pub(super) fn base_moved(&mut self, base: &Commit) {
        if self.queue.base.as_ref() != Some(base) {
            self.tell(QueueEvent::BaseMoved { base: base.clone() });
        }
    }

    pub(super) fn tested(&mut self, entry: &Entry, base: &Commit, result: &TestResult) {
        let (pull, head) = (entry.pull.clone(), entry.head.clone());
        let reason = match result {
            TestResult::Green { tree } => {
                return self.tell(QueueEvent::TestPassed {
                    pull,
                    head,
                    base: base.clone(),
                    tree: tree.clone(),
                });
            }
            TestResult::Red { output } => Rejection::Red { output: bounded(Kind::Log, output, TEXT_LIMIT) },
            TestResult::Conflict { files } => Rejection::Conflict { files: files.clone() },
        };
        self.tell(QueueEvent::Rejected { pull, head, reason });
    }

    pub(super) fn broke(&mut self, entry: &Entry, why: &str) {
        let (pull, tries, why) = (entry.pull.clone(), entry.tries + 1, bounded(Kind::Log, why, TEXT_LIMIT));
        if tries < MAX_TRIES {
            self.tell(QueueEvent::TryFailed { pull, tries, why });
        } else {
            let reason = Rejection::Broken { why: format!("broke {tries} times, last: {why}") };
            self.tell(QueueEvent::Rejected { pull, head: entry.head.clone(), reason });
        }
    }

    pub(super) fn void(&mut self, pull: &PullId, why: &str) {
        if self.queue.entry(pull).is_some() {
            self.tell(QueueEvent::Voided { pull: pull.clone(), why: why.to_owned() });
        }
    }

    pub(super) fn hold(&mut self, pull: &PullId, why: String) {
        if self.queue.entry(pull).is_some_and(|entry| entry.held.is_none()) {
            self.tell(QueueEvent::Held { pull: pull.clone(), why });
        }
    }

    /// Does what is due now: takes back what no longer counts, then lands what was tested or begins the next test.
    pub(super) fn advance(&mut self, asks: bool, allowed: impl Fn(&PullId, &Commit) -> Result<(), String>) {
        if let Some(entry) = self.queue.active().cloned() {
            if entry.state.base() != self.queue.base.as_ref() {
                self.void(&entry.pull, "the base moved, so it has to be tested again");
            } else if let EntryState::Tested { .. } | EntryState::Landing { .. } = entry.state
                && let Err(why) = allowed(&entry.pull, &entry.head)
            {
                self.void(&entry.pull, "policy no longer holds");
                self.hold(&entry.pull, why);
            }
        }
        let (None, Some(base)) = (&self.queue.paused, self.queue.base.clone()) else {
            return;
        };
        match self.queue.active().cloned() {
            Some(Entry { pull, head, cleared, state: EntryState::Tested { base, tree }, .. })
                if cleared || !asks =>
            {
                self.tell(QueueEvent::LandStarted { pull, head, base, tree });
            }
            Some(_) => {}
            None => {
                for Entry { pull, head, .. } in self.queue.entries.clone() {
                    match allowed(&pull, &head) {
                        Ok(()) => return self.tell(QueueEvent::TestStarted { pull, head, base }),
                        // It steps aside and the next one has its turn.
                        Err(why) => self.hold(&pull, why),
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::queue::bench::*;
    use crate::queue::{QueueInput, Work};

    #[test]
    fn an_urgent_one_overtakes_those_that_wait_but_not_the_one_in_work() {
        let mut bench = bench(&[base("b1"), enqueue(1, "h1", 0), enqueue(2, "h2", 0), enqueue(3, "h3", 9)]);
        assert_eq!(bench.work(), "test 1 h1 on b1");
        let red = TestResult::Red { output: "E1".into() };
        assert_eq!(bench.step(&tested(1, "h1", "b1", red)), "rejected test_started => test 3 h3 on b1");
    }

    #[test]
    fn a_base_that_moves_voids_what_was_tested_on_the_old_one() {
        let mut bench = bench(&[base("b1"), enqueue(1, "h1", 0)]);
        assert_eq!(bench.step(&base("b2")), "base_moved voided test_started => test 1 h1 on b2");
        assert_eq!(bench.step(&tested(1, "h1", "b1", green("t1"))), " => test 1 h1 on b2", "late");
        bench.step(&tested(1, "h1", "b2", green("t2")));
        assert_eq!(bench.step(&base("b3")), "base_moved voided test_started => test 1 h1 on b3");
        assert_eq!(bench.step(&base("b3")), " => test 1 h1 on b3");
    }

    /// Policy is asked again for the current head when it counts. acceptance: F11
    #[test]
    fn what_tested_green_does_not_land_if_policy_no_longer_holds() {
        let mut bench = bench(&[base("b1"), enqueue(1, "h1", 0), enqueue(2, "h2", 0)]);
        bench.against = vec![1];
        let step = bench.step(&tested(1, "h1", "b1", green("t1")));
        assert_eq!(step, "test_passed voided held test_started => test 2 h2 on b1");
        assert_eq!(bench.queue.entry(&pull(1)).unwrap().held.as_deref(), Some("not approved"));
        assert_eq!(bench.step(&QueueInput::Look {}), " => test 2 h2 on b1", "it is told once");
        bench.against.clear();
        let step = bench.step(&tested(2, "h2", "b1", TestResult::Conflict { files: vec!["a.rs".into()] }));
        assert_eq!(step, "rejected test_started => test 1 h1 on b1");
        bench.step(&tested(1, "h1", "b1", green("t1")));
        bench.against = vec![1];
        assert_eq!(bench.step(&QueueInput::Look {}), "voided held => nothing", "not even while landing");
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

    /// The serial part: each of the three is green alone, and the world says what they are together. acceptance: F13
    #[test]
    fn of_three_that_break_only_together_the_last_one_gets_the_output_and_main_stays_green() {
        let mut bench = bench(&[base("main"), enqueue(1, "a", 0), enqueue(2, "b", 0), enqueue(3, "c", 0)]);
        let mut told = None;
        while let Some(work) = bench.queue.work() {
            let input = match work {
                Work::Test { pull, head, base, .. } => {
                    let tree = format!("{base}+{head}");
                    let result = match ["a", "b", "c"].iter().all(|part| tree.contains(&format!("+{part}"))) {
                        true => TestResult::Red { output: format!("{tree} is broken") },
                        false => green(&tree),
                    };
                    QueueInput::Tested { pull, head, base, result }
                }
                Work::Land { pull, head, tree, .. } => {
                    QueueInput::Landed { pull, head, commit: commit(&tree) }
                }
            };
            for event in bench.events(&input).unwrap() {
                if let QueueEvent::Rejected { pull, reason, .. } = event {
                    told = Some((pull.number, reason));
                }
            }
        }
        assert_eq!(bench.queue.base, Some(commit("main+a+b")));
        assert_eq!(told, Some((3, Rejection::Red { output: "main+a+b+c is broken".into() })));
    }

    fn an_input() -> impl Strategy<Value = QueueInput> {
        let number = || 1..4u64;
        let head = || select(vec!["h1", "h2"]);
        let on = || select(vec!["b1", "b2", "b3"]);
        let result = select(vec![
            green("t1"),
            green("t2"),
            TestResult::Red { output: "E1".into() },
            TestResult::Conflict { files: vec![] },
        ]);
        prop_oneof![
            3 => (number(), head(), -1..2).prop_map(|(number, head, priority)| enqueue(number, head, priority)),
            1 => number().prop_map(|number| QueueInput::Remove { pull: pull(number), why: String::new() }),
            1 => Just(QueueInput::Pause { why: "x".into() }),
            2 => Just(QueueInput::Resume {}),
            1 => Just(QueueInput::Look {}),
            1 => (number(), head()).prop_map(|(n, head)| QueueInput::HeadMoved { pull: pull(n), head: commit(head) }),
            2 => on().prop_map(base),
            6 => (number(), head(), on(), result).prop_map(|(n, head, on, result)| tested(n, head, on, result)),
            1 => (number(), head(), on()).prop_map(|(number, head, on)| landed(number, head, on)),
            1 => (number(), head(), on(), prop::option::of(on())).prop_map(|(n, head, on, tip)| refused(n, head, on, tip)),
            1 => (number(), head(), on(), 0..3u32).prop_map(|(n, head, on, tries)| failed(n, head, on, tries)),
        ]
    }

    proptest! {
        /// Results are steered towards the work that is wanted, or hardly any landing would ever be reached.
        #[test]
        fn only_what_tested_green_on_this_very_base_with_policy_holding_is_ever_landed(
            steps in prop::collection::vec((an_input(), any::<bool>(), prop::collection::vec(1..4u64, 0..2)), 1..60),
        ) {
            let mut bench = Bench::default();
            let mut greens = vec![];
            for (mut input, steer, against) in steps {
                if let (QueueInput::Tested { result, .. }, true) = (&input, steer)
                    && let Some(Work::Test { pull, head, base, .. }) = bench.queue.work()
                {
                    input = QueueInput::Tested { pull, head, base, result: result.clone() };
                }
                if let QueueInput::Tested { pull, head, base, result: TestResult::Green { tree } } = &input {
                    greens.push((pull.clone(), head.clone(), base.clone(), tree.clone()));
                }
                bench.against = against;
                let refused = bench.events(&input).is_err();

                if let Some(Work::Land { pull, head, base, tree, .. }) = bench.queue.work() {
                    prop_assert_eq!(Some(&base), bench.queue.base.as_ref());
                    prop_assert!(refused || !bench.against.contains(&pull.number));
                    prop_assert!(greens.contains(&(pull, head, base, tree)));
                }
                let queue = &bench.queue;
                let in_work = queue.entries.iter().filter(|entry| entry.state != EntryState::Waiting);
                prop_assert!(in_work.count() <= 1);
                for (place, entry) in queue.entries.iter().enumerate() {
                    prop_assert!(entry.tries < MAX_TRIES);
                    prop_assert!(queue.entries[place + 1..].iter().all(|other| other.pull != entry.pull));
                }
            }
        }
    }
}
