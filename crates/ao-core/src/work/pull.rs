//! The next step of a pull request, by its facts, its policy, the merge queue, and its incidents.

use super::{NextStep, WorkStage, WorkTurn, pull_word, waiting_key};
use crate::Timestamp;
use crate::decide::agent_of;
use crate::incident::{
    EscalationLevel, FailureDoubt, Incident, IncidentKey, IncidentKind, ProblemId, Subject,
};
use crate::outside::{cut, one_line};
use crate::policy::{MergeRule, MergeVerdict, RuleVerdict};
use crate::pull::{AuthorStanding, CheckState, ChecksVerdict, Pull, PullState, ThreadFacts};
use crate::reaction::ReactionAction;
use crate::state::State;

/// The number of bytes of evidence or check output that are shown.
const SAID: usize = 160;

/// Returns the next step of a pull request, and who takes it.
///
/// Work for an agent comes first, then what runs by itself, then what waits for a person: a person should not have to
/// read a change that is about to be replaced.
pub(super) fn step(state: &State, pull: &Pull, now: Timestamp) -> NextStep {
    step_of(Place { state, pull, word: pull_word(state, &pull.id) }, now)
}

/// Like `step`, with commands that work in any folder.
pub(super) fn step_anywhere(state: &State, pull: &Pull, now: Timestamp) -> NextStep {
    step_of(Place { state, pull, word: crate::advise::shell(&pull.id.to_string()) }, now)
}

fn step_of(at: Place<'_>, now: Timestamp) -> NextStep {
    let (state, pull) = (at.state, at.pull);
    match &pull.facts.state {
        PullState::Merged { .. } => return at.step(WorkTurn::Done, WorkStage::Merged, "is merged"),
        PullState::Closed => return at.step(WorkTurn::Done, WorkStage::Closed, "was closed without a merge"),
        PullState::Open => {}
    }
    let verdict = state.verdict(pull, now);
    at.queued(&verdict)
        .or_else(|| at.for_its_author())
        .or_else(|| at.checks_run())
        .or_else(|| at.for_a_person(&verdict))
        .unwrap_or_else(|| at.ready(&verdict))
}

/// A pull request in its state.
struct Place<'a> {
    state: &'a State,
    pull: &'a Pull,
    /// Its name on a command line.
    word: String,
}

impl Place<'_> {
    fn step(&self, turn: WorkTurn, stage: WorkStage, says: impl Into<String>) -> NextStep {
        NextStep { turn, stage, says: says.into(), since: self.since(), command: None, then: None }
    }

    fn you(&self, stage: WorkStage, says: impl Into<String>, command: &str) -> NextStep {
        NextStep {
            command: Some(format!("ao {command} {}", self.word)),
            ..self.step(WorkTurn::You, stage, says)
        }
    }

    /// Returns the start of the present step: the time a person was asked or, before that, of the last change.
    fn since(&self) -> Timestamp {
        let asked = self.state.incidents.get(&waiting_key(self.pull));
        asked.map_or(self.pull.changed_at, |incident| incident.opened)
    }

    /// The step of an entry in the merge queue that nothing holds.
    fn queued(&self, verdict: &MergeVerdict) -> Option<NextStep> {
        let queue = self.state.projects.get(&self.pull.id.project)?.queue_with(&self.pull.id)?;
        let place = queue.entries.iter().position(|entry| entry.pull == self.pull.id)?;
        let entry = &queue.entries[place];
        if entry.request.is_some() {
            return Some(self.step(WorkTurn::Queue, WorkStage::MergeQueue, "is being merged"));
        }
        if let Some(way) = &entry.in_the_way {
            if way.times == 0 {
                let says = format!("is tested and waits to land: {}", way.why);
                return Some(self.step(WorkTurn::Wait, WorkStage::MergeQueue, says));
            }
            let says = format!("is tested and cannot land: {}", said(&way.why));
            let step = self.step(WorkTurn::You, WorkStage::Decision, says);
            return Some(NextStep { command: Some("ao queue list".into()), ..step });
        }
        if let Some(why) = &queue.paused {
            let says = format!("waits in the merge queue, which is paused: {}", said(why));
            return Some(self.step(WorkTurn::Wait, WorkStage::MergeQueue, says));
        }
        if entry.held.is_some() && !verdict.allows() {
            return None;
        }
        let says = match place {
            0 => "is next in the merge queue".to_owned(),
            1 => "is in the merge queue, 1 before it".to_owned(),
            before => format!("is in the merge queue, {before} before it"),
        };
        Some(self.step(WorkTurn::Queue, WorkStage::MergeQueue, says))
    }

    /// A draft, a conflict, a failed check or an objection: the author has to change it.
    fn for_its_author(&self) -> Option<NextStep> {
        let pull = self.pull;
        if pull.facts.draft {
            return Some(match self.agent() {
                true => self.step(WorkTurn::Agent, WorkStage::Draft, "is a draft"),
                false => self.you(WorkStage::Draft, "is a draft, and no agent works on it", "pr ready"),
            });
        }
        if pull.conflict.is_some() {
            let what = format!("conflicts with {}", one_line(&pull.facts.base_branch));
            return Some(self.mended(IncidentKind::MergeConflicts, WorkStage::Conflict, what, "pr show"));
        }
        if let ChecksVerdict::Red { .. } = pull.green() {
            let failed: Vec<&str> = pull.failures.keys().map(String::as_str).collect();
            let what = match &failed[..] {
                [] => "fails a check".to_owned(),
                [one] => format!("fails the check `{}`", said(one)),
                some => format!("fails {} checks", some.len()),
            };
            return Some(self.mended(IncidentKind::CiFailed, WorkStage::ChecksFailed, what, "pr checks"));
        }
        self.asked_to_change()
    }

    /// Changes were requested: it is the agent's turn until it has answered, then the reviewer's.
    fn asked_to_change(&self) -> Option<NextStep> {
        let pull = self.pull;
        let objections = pull.changes_requested();
        let policy = self.state.projects.get(&pull.id.project).map(|project| &project.policy);
        let threads: Vec<&ThreadFacts> = match policy.is_none_or(|policy| policy.threads_resolved) {
            true => pull.facts.threads.iter().filter(|thread| by_person(thread)).collect(),
            false => vec![],
        };
        if objections.is_empty() && threads.is_empty() {
            return None;
        }
        let fresh = objections.iter().any(|review| review.commit == pull.facts.head);
        if fresh || threads.iter().any(|thread| !self.answered(thread)) {
            let kind = IncidentKind::ChangesRequested;
            let what = "has changes requested".to_owned();
            return Some(self.mended(kind, WorkStage::ChangesRequested, what, "pr show"));
        }
        let says = match objections.is_empty() {
            true => "has an answer to your comments; look again",
            false => "was changed as you asked; look again",
        };
        Some(self.review(says.to_owned()))
    }

    fn answered(&self, thread: &ThreadFacts) -> bool {
        let key = self.key(IncidentKind::ChangesRequested, ProblemId::Thread(thread.id.clone()));
        let marked = self.state.incidents.get(&key).is_some_and(|incident| {
            incident.answered.is_some() && incident.answered.as_ref() == Some(&incident.revision)
        });
        marked || thread.comments.last().is_some_and(|last| last.author.standing == AuthorStanding::Agent)
    }

    /// A problem that its agent fixes, as long as it is asked to. `command` shows it to a person.
    fn mended(&self, kind: IncidentKind, stage: WorkStage, what: String, command: &str) -> NextStep {
        let subject = Subject::Pull(self.pull.id.clone());
        let open: Vec<&Incident> = self
            .state
            .incidents_of(&subject)
            .filter(|incident| incident.key.kind == kind && incident.absent.is_none())
            .collect();
        if open.iter().any(|incident| matches!(incident.doubt, Some(FailureDoubt::BaseRed {}))) {
            let base = one_line(&self.pull.facts.base_branch);
            return self.step(WorkTurn::Wait, stage, format!("{what}, and {base} itself fails it too"));
        }
        let doubted = !open.is_empty() && open.iter().all(|incident| incident.doubt.is_some());
        if doubted {
            return self.step(WorkTurn::Checks, stage, format!("{what}; it is run again"));
        }
        if let Some(up) = open
            .iter()
            .find(|incident| matches!(incident.level, EscalationLevel::Person | EscalationLevel::None))
        {
            let told = match up.acted {
                0 => "its agent is not asked to mend it".to_owned(),
                1 => "its agent was told once".to_owned(),
                times => format!("its agent was told {times} times"),
            };
            return self.you(stage, format!("{what}; {told}"), command);
        }
        match self.agent() || self.by_itself(&kind) {
            true => self.step(WorkTurn::Agent, stage, what),
            false => self.you(stage, format!("{what}, and no agent works on it"), command),
        }
    }

    /// Checks that run, have yet to run, or could not be run.
    fn checks_run(&self) -> Option<NextStep> {
        let pull = self.pull;
        if pull.facts.checks.is_empty() || pull.green() == ChecksVerdict::Yes {
            return None;
        }
        let pending = pull.facts.checks.iter().filter(|check| check.state == CheckState::Pending);
        let pending: Vec<String> = pending.map(|check| format!("`{}`", said(&check.name))).collect();
        if pending.is_empty() {
            let says = "has a check that could not be run";
            return Some(self.you(WorkStage::ChecksBroken, says, "pr checks"));
        }
        let says = match &pending[..] {
            [one] => format!("waits for the check {one}"),
            some => format!("waits for {} checks", some.len()),
        };
        Some(self.step(WorkTurn::Checks, WorkStage::ChecksPending, says))
    }

    /// Rules of its policy that do not hold: a person reviews it or decides, or a freeze has to end.
    fn for_a_person(&self, verdict: &MergeVerdict) -> Option<NextStep> {
        // Basic rules are covered before, and missing checks hold nothing up.
        let against: Vec<&RuleVerdict> =
            verdict.against().filter(|it| !it.rule.is_basic() && it.rule != MergeRule::Threads).collect();
        let unread = |rule: &&&RuleVerdict| {
            let known = self.pull.scan.as_ref().is_some_and(|scan| scan.head == self.pull.facts.head);
            rule.rule == MergeRule::Patterns && !known
        };
        if against.iter().any(|rule| unread(&rule)) {
            let says = "waits for the policy scan of its added lines";
            return Some(self.step(WorkTurn::Checks, WorkStage::ChecksPending, says));
        }
        let decides = |it: &&&RuleVerdict| !it.rule.is_met_by_review() && it.rule != MergeRule::Freeze;
        if let Some(rule) = against.iter().find(decides) {
            let says = format!("is held by the policy: {} ({})", rule.rule, said(&rule.evidence));
            return Some(self.you(WorkStage::Decision, says, "policy explain"));
        }
        if against.iter().any(|it| it.rule.is_met_by_review()) {
            let pull = self.pull;
            let says = if !pull.approvals().is_empty() {
                "needs another review".to_owned()
            } else if !pull.stale_approvals().is_empty() {
                "has new commits since it was approved, and waits for your review".to_owned()
            } else {
                "waits for your review".to_owned()
            };
            return Some(self.review(says));
        }
        let freeze = against.first()?;
        let says = format!("may be merged after the freeze: {}", said(&freeze.evidence));
        Some(self.step(WorkTurn::Wait, WorkStage::Freeze, says))
    }

    fn review(&self, says: String) -> NextStep {
        let step = self.you(WorkStage::Review, says, "pr diff");
        // Authors cannot approve their own change.
        let author = &self.pull.facts.author;
        let own = self.pull.owner.is_none() && author.standing.is_trusted_person();
        let then = if own { "pr merge" } else { "approve" };
        NextStep { then: Some(format!("ao {then} {}", self.word)), ..step }
    }

    /// Nothing blocks it: it is merged automatically, or by a person.
    fn ready(&self, verdict: &MergeVerdict) -> NextStep {
        let pull = self.pull;
        if self.merged_by_itself(verdict) {
            return self.step(WorkTurn::Queue, WorkStage::MergeQueue, "is merged automatically");
        }
        if pull.approvals().is_empty() {
            let step = self.you(WorkStage::Merge, "is ready, and waits for you to merge it", "pr diff");
            return NextStep { then: Some(format!("ao pr merge {}", self.word)), ..step };
        }
        self.you(WorkStage::Merge, "is approved, and waits for you to merge it", "pr merge")
    }

    fn merged_by_itself(&self, verdict: &MergeVerdict) -> bool {
        let Some(ready) = self.state.readiness(self.pull, verdict) else { return false };
        let key = self.key(ready.kind, ready.id);
        match self.state.incidents.get(&key) {
            Some(incident) => {
                matches!(incident.level, EscalationLevel::Agent | EscalationLevel::Orchestrator)
            }
            None => self.by_itself(&key.kind),
        }
    }

    /// Returns whether a kind of problem is handled even without an agent to send it to.
    fn by_itself(&self, kind: &IncidentKind) -> bool {
        let reaction = self.state.reaction(kind, &Subject::Pull(self.pull.id.clone()));
        let done = matches!(
            reaction.action,
            ReactionAction::SpawnAgent
                | ReactionAction::Rebase
                | ReactionAction::Run
                | ReactionAction::RerunChecks
                | ReactionAction::Merge
        );
        reaction.auto && done
    }

    fn key(&self, kind: IncidentKind, problem: ProblemId) -> IncidentKey {
        IncidentKey { subject: Subject::Pull(self.pull.id.clone()), kind, problem }
    }

    /// Returns whether one of our agents owns it and can get messages.
    fn agent(&self) -> bool {
        let subject = Subject::Pull(self.pull.id.clone());
        agent_of(self.state, &subject).is_some_and(|agent| agent.is_live())
    }
}

/// Returns whether a trusted person opened the thread on a file; other threads are plain comments, which cannot be
/// resolved.
pub(super) fn by_person(thread: &ThreadFacts) -> bool {
    let person = thread.comments.iter().any(|comment| comment.author.standing.is_trusted_person());
    person && thread.path.is_some() && !thread.resolved
}

fn said(text: &str) -> String {
    one_line(&cut(text, SAID))
}
