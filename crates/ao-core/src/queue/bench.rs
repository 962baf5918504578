//! A queue for tests, with short constructors for its inputs.

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

pub(super) fn request(number: u64, head: &str, request: MergeRequest) -> QueueInput {
    QueueInput::MergeNow { pull: pull(number), head: commit(head), request }
}

/// A request without special options.
pub(super) fn ann() -> MergeRequest {
    MergeRequest { by: "ann".into(), ..MergeRequest::default() }
}

pub(super) fn base(base: &str) -> QueueInput {
    QueueInput::BaseMoved { base: commit(base), branch: None }
}

pub(super) fn tested(number: u64, head: &str, base: &str, result: TestOutcome) -> QueueInput {
    tested_after(number, head, base, &[], result)
}

/// The result of a test with others merged before it.
pub(super) fn tested_after(
    number: u64,
    head: &str,
    base: &str,
    ahead: &[(u64, &str)],
    result: TestOutcome,
) -> QueueInput {
    let ahead = ahead.iter().map(|(number, head)| part(*number, head)).collect();
    let (pull, head, base) = (pull(number), commit(head), commit(base));
    QueueInput::Tested { pull, head, base, ahead, checks: true, result }
}

pub(super) fn part(number: u64, head: &str) -> LanePart {
    LanePart { pull: pull(number), head: commit(head) }
}

pub(super) fn red(output: &str) -> TestOutcome {
    TestOutcome::Red { output: output.into(), between: String::new() }
}

pub(super) fn conflict(files: &[&str]) -> TestOutcome {
    TestOutcome::Conflict { files: files.iter().map(|file| (*file).to_owned()).collect(), pull: None }
}

pub(super) fn green(tree: &str) -> TestOutcome {
    TestOutcome::Green { tree: tree.into() }
}

pub(super) fn landed(number: u64, head: &str, on: &str) -> QueueInput {
    let (pull, head, commit) = (pull(number), commit(head), commit(on));
    QueueInput::Landed { pull, head, tip: commit.clone(), commit, head_branch: None, with: vec![] }
}

pub(super) fn failed(number: u64, head: &str, base: &str, tries: u32) -> QueueInput {
    let (ahead, why) = (vec![], "no disk".into());
    QueueInput::EffectFailed { pull: pull(number), head: commit(head), base: commit(base), ahead, tries, why }
}

pub(super) fn refused(number: u64, head: &str, base: &str, tip: Option<&str>) -> QueueInput {
    let (tip, why) = (tip.map(commit), "not a fast-forward".into());
    let (pull, head, base) = (pull(number), commit(head), commit(base));
    QueueInput::LandRefused { pull, head, base, tip, why, in_the_way: false }
}

pub(super) fn in_the_way(number: u64, head: &str, base: &str) -> QueueInput {
    let (pull, head, base) = (pull(number), commit(head), commit(base));
    QueueInput::LandRefused { pull, head, base, tip: None, why: "a.rs is dirty".into(), in_the_way: true }
}

pub(super) fn verdict(number: u64, head: &str, objection: Option<&str>) -> QueueInput {
    QueueInput::Verdict { pull: pull(number), head: commit(head), objection: objection.map(str::to_owned) }
}

/// A queue under test, with the pull requests that policy forbids at present.
#[derive(Debug)]
pub(super) struct Bench {
    pub(super) queue: MergeQueue,
    pub(super) now: i64,
    pub(super) against: Vec<u64>,
    /// Pull requests that were merged or closed outside the queue.
    pub(super) over: Vec<u64>,
    /// Pull requests that change the policy.
    pub(super) of_policy: Vec<u64>,
    /// Hooks are asked before anything lands.
    pub(super) asks: bool,
    pub(super) rules: QueueRules,
}

/// Tests one entry at a time.
impl Default for Bench {
    fn default() -> Bench {
        let rules = QueueRules { parallel: 1, batch: 1, ..QueueRules::default() };
        let (queue, against, over, of_policy) = (MergeQueue::default(), vec![], vec![], vec![]);
        Bench { queue, now: 0, against, over, of_policy, asks: false, rules }
    }
}

impl Bench {
    pub(super) fn wide(parallel: u32, batch: u32) -> Bench {
        Bench { rules: QueueRules { parallel, batch, ..QueueRules::default() }, ..Bench::default() }
    }

    pub(super) fn with(mut self, inputs: &[QueueInput]) -> Bench {
        for input in inputs {
            self.events(input).unwrap();
        }
        self
    }

    /// Returns the names of the events, and the work that the queue then wants.
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
        let over = |pull: &PullId| self.over.contains(&pull.number).then(|| "it was merged".to_owned());
        let allowed =
            |pull: &PullId, _: &Commit, _: Option<&MergeRequest>| match self.against.contains(&pull.number) {
                true => Err("not approved".to_owned()),
                false => over(pull).map_or(Ok(()), Err),
            };
        let (rules, asks) = (self.rules.clone(), self.asks);
        let changes_policy = |pull: &PullId| self.of_policy.contains(&pull.number);
        let context = QueueContext {
            rules,
            asks,
            allowed: &allowed,
            still_allowed: &allowed,
            base_of: &|_| None,
            over: &over,
            clash: &|_, _| false,
            changes_policy: &changes_policy,
        };
        let events = decide(&self.queue, &moment, input, &context)?;
        for event in &events {
            evolve(&mut self.queue, event, moment.at);
        }
        Ok(events)
    }

    pub(super) fn work(&self) -> String {
        let after = |others: Vec<LanePart>, word: &str| match others.is_empty() {
            true => String::new(),
            false => {
                let numbers: Vec<String> = others.iter().map(|part| part.pull.number.to_string()).collect();
                format!(" {word} {}", numbers.join(","))
            }
        };
        let wanted = self.queue.work().into_iter().map(|work| match work {
            QueueWork::Test { pull, head, base, ahead, .. } => {
                format!("test {} {head} on {base}{}", pull.number, after(ahead, "after"))
            }
            QueueWork::Land { pull, head, base, with, tree, .. } => {
                format!("land {} {head} on {base} as {tree}{}", pull.number, after(with, "with"))
            }
        });
        let wanted = wanted.collect::<Vec<_>>().join(", ");
        if wanted.is_empty() { "nothing".into() } else { wanted }
    }
}

pub(super) fn bench(inputs: &[QueueInput]) -> Bench {
    Bench::default().with(inputs)
}
