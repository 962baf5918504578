//! Properties that hold for any inputs in any order.

use proptest::prelude::*;
use proptest::sample::select;

use super::bench::*;
use super::{Lane, LanePart, LaneState, MAX_TRIES, QueueInput, QueueWork, TestOutcome};

fn an_input() -> impl Strategy<Value = QueueInput> {
    let number = || 1..5u64;
    let head = || select(vec!["h1", "h2"]);
    let on = || select(vec!["b1", "b2", "b3"]);
    prop_oneof![
        4 => (number(), head(), -1..2).prop_map(|(number, head, priority)| enqueue(number, head, priority)),
        1 => (number(), head()).prop_map(|(number, head)| request(number, head, ann())),
        1 => number().prop_map(|number| QueueInput::Remove { pull: pull(number), why: String::new() }),
        1 => (number(), -1..2).prop_map(|(n, priority)| QueueInput::Prioritize { pull: pull(n), priority }),
        1 => Just(QueueInput::Pause { why: "x".into() }),
        2 => Just(QueueInput::Resume {}),
        1 => Just(QueueInput::Look {}),
        1 => (number(), head()).prop_map(|(n, head)| QueueInput::HeadMoved { pull: pull(n), head: commit(head) }),
        2 => on().prop_map(base),
        1 => (number(), head(), on(), a_result()).prop_map(|(n, head, on, result)| tested(n, head, on, result)),
        1 => (number(), head(), on()).prop_map(|(number, head, on)| landed(number, head, on)),
        1 => (number(), head(), on(), prop::option::of(on())).prop_map(|(n, head, on, tip)| refused(n, head, on, tip)),
        1 => (number(), head(), on(), 0..3u32).prop_map(|(n, head, on, tries)| failed(n, head, on, tries)),
    ]
}

fn a_result() -> impl Strategy<Value = TestOutcome> {
    select(vec![green("?"), green("?"), green("?"), red("E1"), conflict(&[])])
}

/// Picks one piece of wanted work, and its outcome.
fn a_deed() -> impl Strategy<Value = (usize, u8, TestOutcome)> {
    (0..3usize, 0..10u8, a_result())
}

/// Returns the tree of these heads on a base. A base is named by what has landed on it, so equal trees have equal
/// names.
fn tree(base: &str, heads: &[LanePart]) -> String {
    heads.iter().fold(base.to_owned(), |tree, part| format!("{tree}+{}{}", part.pull.number, part.head))
}

proptest! {
    /// Half of the inputs are results of wanted work; otherwise hardly any landing would ever be reached.
    #[test]
    fn only_what_tested_green_as_this_very_tree_with_policy_holding_is_ever_landed(
        steps in prop::collection::vec(
            (an_input(), a_deed(), any::<bool>(), prop::collection::vec(1..5u64, 0..2)), 1..80,
        ),
        parallel in 1..4u32,
        batch in 1..4u32,
    ) {
        let mut bench = Bench::wide(parallel, batch);
        let mut greens = vec![];
        for (mut input, (which, how, result), does, against) in steps {
            // A landing lane never lands as something else.
            if let QueueInput::Landed { pull, .. } = &input
                && bench.queue.lane_of(pull).is_some_and(Lane::is_landing)
            {
                input = QueueInput::Look {};
            }
            let wanted = bench.queue.work();
            if let (true, Some(work)) = (does, wanted.get(which % wanted.len().max(1))) {
                input = match work.clone() {
                    QueueWork::Test { pull, head, base, ahead, .. } => {
                        QueueInput::Tested { pull, head, base, ahead, checks: true, result }
                    }
                    QueueWork::Land { pull, head, base, tries, .. } if how == 0 => {
                        let (ahead, why) = (vec![], "no disk".into());
                        QueueInput::EffectFailed { pull, head, base, ahead, tries, why }
                    }
                    QueueWork::Land { pull, head, base, .. } if how == 1 => {
                        QueueInput::LandRefused { pull, head, base, tip: None, why: "moved".into(), in_the_way: false }
                    }
                    QueueWork::Land { pull, head, base, with, .. } => {
                        let grown: Vec<LanePart> =
                            with.iter().cloned().chain([LanePart { pull: pull.clone(), head: head.clone() }]).collect();
                        let at = |many: usize| commit(&tree(base.as_str(), &grown[..many]));
                        let with = with.into_iter().enumerate().map(|(place, part)| (part, at(place + 1))).collect();
                        let commit = at(grown.len());
                        QueueInput::Landed { pull, head, tip: commit.clone(), commit, head_branch: None, with }
                    }
                };
            }
            if let QueueInput::Tested { pull, head, base, ahead, result: TestOutcome::Green { tree: told }, .. } =
                &mut input
            {
                let own = LanePart { pull: pull.clone(), head: head.clone() };
                *told = tree(base.as_str(), &[ahead.clone(), vec![own]].concat());
                greens.push(told.clone());
            }
            bench.against = against;
            let refused = bench.events(&input).is_err();

            let queue = &bench.queue;
            for (place, lane) in queue.lanes.iter().enumerate() {
                for part in &lane.parts {
                    prop_assert_eq!(queue.entry(&part.pull).map(|entry| &entry.head), Some(&part.head));
                    prop_assert!(queue.lanes[place + 1..].iter().all(|other| !other.has(&part.pull)));
                }
                prop_assert!(!lane.parts.is_empty() && lane.parts.len() <= batch as usize);
                prop_assert!(place == 0 || !lane.is_landing(), "they land in their order");
                let ahead: Vec<LanePart> = queue.lanes[..place]
                    .iter()
                    .filter(|other| !other.has_failed())
                    .flat_map(|other| other.parts.clone())
                    .collect();
                prop_assert_eq!(&lane.left, &ahead, "it is tested on what is ahead of it");
                if let LaneState::Landing { tree: landing } = &lane.state {
                    let whole = tree(lane.on.as_str(), &lane.parts);
                    prop_assert_eq!(landing, &whole);
                    prop_assert!(greens.contains(&whole), "{} was never green", whole);
                    let against = lane.parts.iter().any(|part| bench.against.contains(&part.pull.number));
                    prop_assert!(refused || !against, "policy is against it");
                }
                prop_assert!(!lane.has_failed() || !lane.left.is_empty());
            }
            prop_assert!(queue.lanes.len() <= parallel as usize);
            for (place, entry) in queue.entries.iter().enumerate() {
                prop_assert!(entry.tries < MAX_TRIES);
                prop_assert!(queue.entries[place + 1..].iter().all(|other| other.pull != entry.pull));
            }
        }
    }

    /// Every entry lands or is rejected in the end, and no test repeats for ever, for any set of incompatible pairs.
    #[test]
    fn a_queue_comes_to_its_end(breaks in prop::collection::vec((1..9u64, 1..9u64), 0..5), parallel in 1..4u32, batch in 1..5u32) {
        let inputs: Vec<_> = std::iter::once(base("m")).chain((1..9).map(|n| enqueue(n, "h", 0))).collect();
        let mut bench = Bench::wide(parallel, batch).with(&inputs);
        let mut tests = 0;
        while let Some(work) = bench.queue.work().into_iter().last() {
            let input = match work {
                QueueWork::Test { pull, head, base, ahead, .. } => {
                    tests += 1;
                    prop_assert!(tests < 200, "there is no end to it");
                    let whole = tree(base.as_str(), &[ahead.clone(), vec![LanePart { pull: pull.clone(), head: head.clone() }]].concat());
                    let has = |number: &u64| whole.contains(&format!("+{number}h"));
                    let result = match breaks.iter().any(|(a, b)| has(a) && has(b)) {
                        true => red("E1"),
                        false => green(&whole),
                    };
                    QueueInput::Tested { pull, head, base, ahead, checks: true, result }
                }
                QueueWork::Land { pull, head, base, with, tree: whole, .. } => {
                    let commits = (1..=with.len()).map(|many| commit(&tree(base.as_str(), &with[..many])));
                    let with = with.iter().cloned().zip(commits).collect();
                    let commit = commit(&whole);
                    QueueInput::Landed { pull, head, tip: commit.clone(), commit, head_branch: None, with }
                }
            };
            bench.events(&input).unwrap();
        }
        prop_assert!(bench.queue.entries.is_empty() && bench.queue.lanes.is_empty());
        let main = bench.queue.base.clone().unwrap().to_string();
        let has = |number: &u64| main.contains(&format!("+{number}h"));
        prop_assert!(!breaks.iter().any(|(a, b)| has(a) && has(b)), "main is red: {}", main);
    }
}
