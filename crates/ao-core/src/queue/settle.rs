//! Settles a failed lane, once nothing is ahead of it that could be the cause.

use super::steps::Steps;
use super::{Lane, LanePart, QueueEvent, QueueRejection, TestOutcome};
use crate::PullId;

impl Steps {
    /// Rejects a part that failed alone. Of several, finds the culprit by testing halves instead of the whole.
    pub(super) fn fell(&mut self, lane: &Lane, result: &TestOutcome) {
        let Some(last) = lane.last().cloned() else { return };
        match result {
            TestOutcome::Green { .. } => {}
            TestOutcome::Red { output, between } if lane.parts.len() == 1 => {
                let reason = QueueRejection::Red { output: output.clone(), between: between.clone() };
                self.reject(last, reason);
            }
            TestOutcome::Red { .. } => self.halve(lane),
            TestOutcome::Conflict { files, pull } => {
                let who = pull.as_ref().unwrap_or(&last.pull);
                match lane.parts.iter().position(|part| part.pull == *who) {
                    Some(0) => {
                        self.reject(lane.parts[0].clone(), QueueRejection::Conflict { files: files.clone() });
                    }
                    // It conflicts with one of its own batch: that one lands first, then the remaining conflict is
                    // judged.
                    Some(_) => self.split(
                        lane,
                        vec![(vec![who.clone()], 1)],
                        "it conflicts with another one of its batch",
                    ),
                    None => self.void(lane, "one ahead of it conflicts, so it has to be tested again"),
                }
            }
        }
    }

    /// Tests each part alone from now on.
    pub(super) fn apart(&mut self, lane: &Lane, why: &str) {
        self.split(lane, vec![(pulls(&lane.parts), 1)], why);
    }

    /// Tests halves. The second half is known to fail together with the first, so it is split further at once.
    fn halve(&mut self, lane: &Lane) {
        let (first, second) = lane.parts.split_at(lane.parts.len().div_ceil(2));
        let halves = [(first, first.len()), (second, second.len() / 2)]
            .map(|(half, most)| (pulls(half), most.max(1) as u32));
        self.split(lane, halves.to_vec(), "the checks failed on all of them together");
    }

    fn split(&mut self, lane: &Lane, groups: Vec<(Vec<PullId>, u32)>, why: &str) {
        for (pulls, most) in groups {
            self.tell(QueueEvent::Split { pulls, most, why: why.to_owned() });
        }
        self.void(lane, why);
    }

    fn reject(&mut self, LanePart { pull, head }: LanePart, reason: QueueRejection) {
        self.tell(QueueEvent::Rejected { pull, head, reason });
    }
}

fn pulls(parts: &[LanePart]) -> Vec<PullId> {
    parts.iter().map(|part| part.pull.clone()).collect()
}

#[cfg(test)]
mod tests {
    use crate::queue::bench::*;
    use crate::queue::{QueueEvent, QueueInput, QueueRejection, QueueWork, TestOutcome};

    /// Plays a queue to its end in a world where heads are letters, a tree is all its letters, and `red_tree` decides
    /// which trees fail. Returns the final base, the rejected entries with their output, and the number of tests.
    fn play(bench: &mut Bench, red_tree: impl Fn(&str) -> bool) -> (String, Vec<(u64, String)>, usize) {
        let (mut told, mut tests) = (vec![], 0);
        while let Some(work) = bench.queue.work().into_iter().next() {
            let input = match work {
                QueueWork::Test { pull, head, base, ahead, .. } => {
                    tests += 1;
                    let heads = ahead.iter().map(|part| part.head.as_str()).chain([head.as_str()]);
                    let tree = std::iter::once(base.as_str()).chain(heads).collect::<Vec<_>>().join("+");
                    let result = match red_tree(&tree) {
                        true => red(&format!("{tree} is broken")),
                        false => green(&tree),
                    };
                    QueueInput::Tested { pull, head, base, ahead, checks: true, result }
                }
                QueueWork::Land { pull, head, base, with, tree, .. } => {
                    assert!(!red_tree(&tree), "main is never red");
                    let mut at = base.to_string();
                    let mut grown = |head: &str| {
                        at = format!("{at}+{head}");
                        commit(&at)
                    };
                    let with: Vec<_> =
                        with.into_iter().map(|part| (part.clone(), grown(part.head.as_str()))).collect();
                    let landed = grown(head.as_str());
                    assert_eq!(landed.as_str(), tree, "what lands is what was tested");
                    QueueInput::Landed {
                        pull,
                        head,
                        tip: landed.clone(),
                        commit: landed,
                        head_branch: None,
                        with,
                    }
                }
            };
            for event in bench.events(&input).unwrap() {
                if let QueueEvent::Rejected { pull, reason: QueueRejection::Red { output, .. }, .. } = event {
                    told.push((pull.number, output));
                }
            }
        }
        (bench.queue.base.as_ref().unwrap().to_string(), told, tests)
    }

    fn letters(parallel: u32, batch: u32, letters: &str) -> Bench {
        let enqueued = letters.chars().zip(1..).map(|(head, number)| enqueue(number, &head.to_string(), 0));
        // Paused, so that all are enqueued before the first test starts.
        let pause = QueueInput::Pause { why: "wait".into() };
        let inputs: Vec<_> =
            [base("main"), pause].into_iter().chain(enqueued).chain([QueueInput::Resume {}]).collect();
        Bench::wide(parallel, batch).with(&inputs)
    }

    /// Each of the three is green alone, but not all of them together. acceptance: F13
    #[test]
    fn of_three_that_break_only_together_the_last_one_gets_the_output_and_main_stays_green() {
        let all = |tree: &str| ["a", "b", "c"].iter().all(|part| tree.contains(&format!("+{part}")));
        for (parallel, batch) in [(1, 1), (2, 1), (3, 1), (1, 4), (2, 4), (3, 2)] {
            let (main, told, _) = play(&mut letters(parallel, batch, "abc"), all);
            assert_eq!(main, "main+a+b", "{parallel} {batch}");
            assert_eq!(told, [(3, "main+a+b+c is broken".to_owned())], "{parallel} {batch}");
        }
    }

    #[test]
    fn a_batch_that_is_green_takes_one_test_and_lands_as_one() {
        let mut bench = letters(2, 4, "abcd");
        assert_eq!(bench.work(), "test 4 d on main after 1,2,3");
        let (main, told, tests) = play(&mut bench, |_| false);
        assert_eq!((main.as_str(), told.len(), tests), ("main+a+b+c+d", 0, 1));
    }

    #[test]
    fn the_one_that_breaks_a_batch_is_found_by_halves_and_the_others_land() {
        for culprit in ["a", "b", "c", "d", "e", "f", "g", "h"] {
            let (main, told, tests) =
                play(&mut letters(1, 8, "abcdefgh"), |tree| tree.contains(&format!("+{culprit}")));
            assert_eq!(told.len(), 1);
            assert!(told[0].1.ends_with(&format!("{culprit} is broken")), "{told:?}");
            let kept: Vec<&str> = main.split('+').skip(1).collect();
            assert!(kept.len() == 7 && !kept.contains(&culprit), "{main}");
            assert!(tests < 8, "{culprit} took {tests} tests, which is no better than one by one");
        }
    }

    #[test]
    fn one_that_conflicts_within_its_batch_waits_for_the_others_and_is_then_judged() {
        let mut bench = letters(1, 3, "abc");
        let ahead = [(1, "a"), (2, "b")];
        let conflicts = TestOutcome::Conflict { files: vec!["x.rs".into()], pull: Some(pull(2)) };
        let step = bench.step(&tested_after(3, "c", "main", &ahead, conflicts));
        assert_eq!(step, "split voided test_started => test 1 a on main");
        bench.step(&tested(1, "a", "main", green("t")));
        assert_eq!(bench.step(&landed(1, "a", "b1")), "landed base_moved test_started => test 2 b on b1");
        let step = bench.step(&tested(2, "b", "b1", conflict(&["x.rs"])));
        assert_eq!(step, "rejected test_started => test 3 c on b1");
    }

    #[test]
    fn a_batch_whose_work_breaks_is_tried_one_by_one() {
        let mut bench = letters(1, 2, "ab");
        let broken = QueueInput::EffectFailed {
            pull: pull(2),
            head: commit("b"),
            base: commit("main"),
            ahead: vec![part(1, "a")],
            tries: 0,
            why: "no disk".into(),
        };
        assert_eq!(bench.step(&broken), "split voided test_started => test 1 a on main");
        let landing = letters(1, 2, "ab").with(&[tested_after(2, "b", "main", &[(1, "a")], green("t"))]);
        let mut bench = landing;
        assert_eq!(bench.work(), "land 2 b on main as t with 1");
        assert_eq!(
            bench.step(&broken),
            "try_failed => land 2 b on main as t with 1",
            "a landing is tried again"
        );
        let step = bench.step(&refused(2, "b", "main", None));
        assert_eq!(step, "split voided test_started => test 1 a on main");
    }

    #[test]
    fn a_batch_that_was_seen_merged_in_part_waits_for_its_outcome() {
        let mut bench = letters(1, 2, "ab").with(&[tested_after(2, "b", "main", &[(1, "a")], green("t"))]);
        bench.over = vec![2];
        assert_eq!(bench.step(&QueueInput::Look {}), " => land 2 b on main as t with 1");
    }

    #[test]
    fn an_old_merge_that_is_found_again_does_not_move_the_base_back() {
        let mut bench = letters(1, 1, "ab").with(&[tested(1, "a", "main", green("t"))]);
        let (pull, head) = (pull(1), commit("a"));
        let (commit, tip) = (commit("m1"), commit("m2"));
        let found = QueueInput::Landed { pull, head, commit, tip, head_branch: None, with: vec![] };
        assert_eq!(bench.step(&found), "landed base_moved test_started => test 2 b on m2");
    }

    #[test]
    fn a_batch_that_landed_and_was_seen_before_its_result_is_counted_once() {
        let mut bench = letters(2, 2, "abc").with(&[tested_after(2, "b", "main", &[(1, "a")], green("t"))]);
        assert_eq!(bench.work(), "land 2 b on main as t with 1, test 3 c on main after 1,2");
        bench.over = vec![1, 2];
        assert_eq!(
            bench.step(&base("m2")),
            "base_moved => land 2 b on main as t with 1, test 3 c on main after 1,2"
        );
        let landed = QueueInput::Landed {
            pull: pull(2),
            head: commit("b"),
            commit: commit("m2"),
            tip: commit("m2"),
            head_branch: None,
            with: vec![(part(1, "a"), commit("m1"))],
        };
        assert_eq!(bench.step(&landed), "landed landed => test 3 c on main after 1,2");
        let step = bench.step(&tested_after(3, "c", "main", &[(1, "a"), (2, "b")], green("tc")));
        assert_eq!(step, "test_passed land_started => land 3 c on m2 as tc");
        assert_eq!(bench.step(&landed), " => land 3 c on m2 as tc", "heard twice");
    }
}
