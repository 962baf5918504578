//! A queue for tests, and the inputs it is fed, made of as few words as possible.

use super::*;
use crate::{Moment, ProjectId};

pub(super) fn pull(number: u64) -> PullId {
    PullId { project: ProjectId::new("my-app"), number }
}

pub(super) fn commit(name: &str) -> Commit {
    Commit::new(name)
}

pub(super) fn enqueue(number: u64, head: &str, priority: i32) -> QueueInput {
    QueueInput::Enqueue { pull: pull(number), head: commit(head), priority }
}

pub(super) fn base(base: &str) -> QueueInput {
    QueueInput::BaseMoved { base: commit(base) }
}

pub(super) fn tested(number: u64, head: &str, base: &str, result: TestResult) -> QueueInput {
    QueueInput::Tested { pull: pull(number), head: commit(head), base: commit(base), result }
}

pub(super) fn green(tree: &str) -> TestResult {
    TestResult::Green { tree: tree.into() }
}

pub(super) fn landed(number: u64, head: &str, on: &str) -> QueueInput {
    QueueInput::Landed { pull: pull(number), head: commit(head), commit: commit(on) }
}

pub(super) fn failed(number: u64, head: &str, base: &str, tries: u32) -> QueueInput {
    let why = "no disk".into();
    QueueInput::EffectFailed { pull: pull(number), head: commit(head), base: commit(base), tries, why }
}

pub(super) fn refused(number: u64, head: &str, base: &str, tip: Option<&str>) -> QueueInput {
    let (tip, why) = (tip.map(commit), "not a fast-forward".into());
    QueueInput::LandRefused { pull: pull(number), head: commit(head), base: commit(base), tip, why }
}

pub(super) fn verdict(number: u64, head: &str, objection: Option<&str>) -> QueueInput {
    QueueInput::Verdict { pull: pull(number), head: commit(head), objection: objection.map(str::to_owned) }
}

/// A queue under test, with the pull requests that policy is against right now.
#[derive(Debug, Default)]
pub(super) struct Bench {
    pub(super) queue: MergeQueue,
    pub(super) now: i64,
    pub(super) against: Vec<u64>,
    /// Whether hooks are asked before anything lands.
    pub(super) asks: bool,
}

impl Bench {
    /// Returns the names of the events, and what the queue wants then.
    pub(super) fn step(&mut self, input: &QueueInput) -> String {
        match self.events(input) {
            Ok(events) => {
                let names = events.iter().map(|event| serde_json::to_value(event).unwrap());
                let names = names.map(|event| event.as_object().unwrap().keys().next().unwrap().clone());
                format!("{} => {}", names.collect::<Vec<_>>().join(" "), self.work())
            }
            Err(refusal) => refusal.to_string(),
        }
    }

    pub(super) fn events(&mut self, input: &QueueInput) -> Result<Vec<QueueEvent>, QueueRefusal> {
        self.now += 1;
        let moment = Moment { at: Timestamp(self.now), seed: 0 };
        let allowed = |pull: &PullId, _: &Commit| match self.against.contains(&pull.number) {
            true => Err("not approved".to_owned()),
            false => Ok(()),
        };
        let events = decide(&self.queue, &moment, input, self.asks, allowed)?;
        for event in &events {
            evolve(&mut self.queue, event, moment.at);
        }
        Ok(events)
    }

    pub(super) fn work(&self) -> String {
        match self.queue.work() {
            Some(Work::Test { pull, head, base, .. }) => format!("test {} {head} on {base}", pull.number),
            Some(Work::Land { pull, head, base, tree, .. }) => {
                format!("land {} {head} on {base} as {tree}", pull.number)
            }
            None => "nothing".into(),
        }
    }
}

pub(super) fn bench(inputs: &[QueueInput]) -> Bench {
    let mut bench = Bench::default();
    for input in inputs {
        bench.events(input).unwrap();
    }
    bench
}
