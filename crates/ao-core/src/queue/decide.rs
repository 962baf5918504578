//! What an input means for the merge queue, and what the queue does next because of it.

use super::evolve;
use super::{
    Entry, EntryState, MAX_TRIES, MergeQueue, QueueEvent, QueueInput, QueueRefusal, Rejection, TestResult,
};
use crate::pull::{TEXT_LIMIT, cut};
use crate::{Commit, Moment, PullId, Timestamp};

/// Decides what an input means. `allowed` says whether policy holds right now for a pull request at a head.
///
/// Results that belong to another head or base than the one in work are late, and mean nothing.
pub(crate) fn decide(
    queue: &MergeQueue,
    moment: &Moment,
    input: &QueueInput,
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
                // If the base was seen to move since, it may be further along than this commit.
                if entry.state.base().is_some() && entry.state.base() == queue.base.as_ref() {
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
    steps.advance(allowed);
    Ok(steps.events)
}

fn in_work<'a>(queue: &'a MergeQueue, pull: &PullId, head: &Commit, base: &Commit) -> Option<&'a Entry> {
    queue.entry(pull).filter(|entry| entry.head == *head && entry.state.base() == Some(base))
}

/// Events decided so far, and the queue as it is after them.
struct Steps {
    queue: MergeQueue,
    at: Timestamp,
    events: Vec<QueueEvent>,
}

impl Steps {
    fn tell(&mut self, event: QueueEvent) {
        evolve(&mut self.queue, &event, self.at);
        self.events.push(event);
    }

    fn enqueue(&mut self, pull: &PullId, head: &Commit, priority: i32) {
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

    fn base_moved(&mut self, base: &Commit) {
        if self.queue.base.as_ref() != Some(base) {
            self.tell(QueueEvent::BaseMoved { base: base.clone() });
        }
    }

    fn tested(&mut self, entry: &Entry, base: &Commit, result: &TestResult) {
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
            TestResult::Red { output } => Rejection::Red { output: cut(output, TEXT_LIMIT) },
            TestResult::Conflict { files } => Rejection::Conflict { files: files.clone() },
        };
        self.tell(QueueEvent::Rejected { pull, head, reason });
    }

    fn broke(&mut self, entry: &Entry, why: &str) {
        let (pull, tries, why) = (entry.pull.clone(), entry.tries + 1, cut(why, TEXT_LIMIT));
        if tries < MAX_TRIES {
            self.tell(QueueEvent::TryFailed { pull, tries, why });
        } else {
            let reason = Rejection::Broken { why: format!("broke {tries} times, last: {why}") };
            self.tell(QueueEvent::Rejected { pull, head: entry.head.clone(), reason });
        }
    }

    fn void(&mut self, pull: &PullId, why: &str) {
        if self.queue.entry(pull).is_some() {
            self.tell(QueueEvent::Voided { pull: pull.clone(), why: why.to_owned() });
        }
    }

    fn hold(&mut self, pull: &PullId, why: String) {
        if self.queue.entry(pull).is_some_and(|entry| entry.held.is_none()) {
            self.tell(QueueEvent::Held { pull: pull.clone(), why });
        }
    }

    /// Does what is due now: takes back what no longer counts, then lands what was tested or begins the next test.
    fn advance(&mut self, allowed: impl Fn(&PullId, &Commit) -> Result<(), String>) {
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
            Some(Entry { pull, head, state: EntryState::Tested { base, tree }, .. }) => {
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
