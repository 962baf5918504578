//! Visits the free text of an input: titles, messages, questions, command output, errors.
//!
//! The daemon masks secrets in each of these texts before the core sees the input, and so before anything is stored, sent or
//! shown. Names, ids and configuration are not free text. Every match is exhaustive: a new kind of input does not compile until
//! this module lists which of its fields are text. A new field of a known kind has to be remembered here.

use crate::Input;
use crate::evidence::{Reading, Signal};
use crate::health::BaseVerdict;
use crate::incident::IncidentInput;
use crate::job::{JobInput, JobOrder, JobOutcome};
use crate::notice::NoticeInput;
use crate::policy::ScanResult;
use crate::project::ProjectInput;
use crate::pull::{CheckState, PullFacts, PullInput};
use crate::queue::{HeadBranch, QueueInput, TestOutcome};
use crate::session::SessionInput;
use crate::workspace::KeepReason;

/// Receives each text, and may change it.
type TextMask<'a> = &'a mut dyn FnMut(&mut String);

impl Input {
    /// Passes each free text to `mask`.
    pub fn each_text(&mut self, mask: TextMask<'_>) {
        match self {
            Input::Task { facts, .. } => mask(&mut facts.title),
            Input::Spawn(request) => {
                mask(&mut request.title);
                mask(&mut request.prompt);
            }
            Input::Project { input, .. } => visit_project(input, mask),
            Input::Session { input, .. } => visit_session(input, mask),
            Input::Pull { input, .. } => match input {
                PullInput::Seen(facts) => facts.each_text(mask),
                PullInput::Scanned(scan) => visit_scan(scan, mask),
                PullInput::Claim { .. } | PullInput::Release { .. } => {}
            },
            Input::Queue { input, .. } => visit_queue(input, mask),
            Input::Incident { input, .. } => visit_incident(input, mask),
            Input::Notice { input, .. } => match input {
                NoticeInput::Failed { why, .. } | NoticeInput::Withdraw { why } => mask(why),
                NoticeInput::Addressed { .. }
                | NoticeInput::Told { .. }
                | NoticeInput::Held { .. }
                | NoticeInput::Due => {}
            },
            Input::Job { input, .. } => match input {
                JobInput::Failed { why, .. } | JobInput::InTheWay { why, .. } => mask(why),
                JobInput::Done { outcome, .. } => visit_outcome(outcome, mask),
                JobInput::Due => {}
            },
            Input::Order { order, .. } => visit_order(order, mask),
            Input::Tell(new) => mask(&mut new.text),
            Input::Clear { problem, .. } => mask(problem),
            Input::Raise { problem, revision, detail, .. } => {
                mask(problem);
                mask(revision);
                mask(detail);
            }
            // Paths of changed files are names: agents and people have to find them.
            Input::Forecast { .. }
            | Input::Configure(_)
            | Input::Budget { .. }
            | Input::Host { .. }
            | Input::Census(_)
            | Input::AccountLimited { .. }
            | Input::AccountDue { .. }
            | Input::StrayEnded { .. }
            | Input::Digest { .. }
            | Input::Review(_)
            | Input::Schedule
            | Input::Tick => {}
        }
    }
}

fn visit_project(input: &mut ProjectInput, mask: TextMask<'_>) {
    match input {
        ProjectInput::PolicyBroken { why } => mask(why),
        ProjectInput::RepositorySeen { suspicions } => {
            for suspicion in suspicions {
                mask(&mut suspicion.what);
                mask(&mut suspicion.revision);
                mask(&mut suspicion.detail);
            }
        }
        ProjectInput::Flaked { signature, excerpt, .. } => {
            mask(signature);
            mask(excerpt);
        }
        ProjectInput::BaseFound { verdict, .. } => match verdict {
            BaseVerdict::Red { signature, excerpt } => {
                mask(signature);
                mask(excerpt);
            }
            BaseVerdict::Unknown { why } => mask(why),
            BaseVerdict::Green {} => {}
        },
        ProjectInput::Configure(_)
        | ProjectInput::Remove
        | ProjectInput::PolicySeen(_)
        | ProjectInput::PolicyDue
        | ProjectInput::Complete
        | ProjectInput::StopWork { .. }
        | ProjectInput::StartWork { .. }
        | ProjectInput::AskBase { .. } => {}
    }
}

fn visit_session(input: &mut SessionInput, mask: TextMask<'_>) {
    match input {
        SessionInput::Send(message) => mask(&mut message.body),
        SessionInput::Answer { text, .. } => mask(text),
        SessionInput::Reported { report, .. } => report.visit_texts(mask),
        SessionInput::Signal(signal) => visit_signal(signal, mask),
        SessionInput::Looked { signals, .. } => {
            signals.iter_mut().for_each(|signal| visit_signal(signal, mask));
        }
        SessionInput::SetupFailed { why, .. }
        | SessionInput::NotWritten { why, .. }
        | SessionInput::NotAnswered { why, .. }
        | SessionInput::Failed { why, .. }
        | SessionInput::Stop { why, .. }
        | SessionInput::Hold { why, .. }
        | SessionInput::Halt { why } => mask(why),
        SessionInput::Drift { drift, .. } => drift.iter_mut().for_each(mask),
        SessionInput::WorkspaceKept { reasons, .. } => {
            reasons.iter_mut().for_each(|reason| visit_reason(reason, mask));
        }
        SessionInput::WorkspaceReady { .. }
        | SessionInput::SetUp { .. }
        | SessionInput::PortTaken { .. }
        | SessionInput::Launched { .. }
        | SessionInput::ConversationGone { .. }
        | SessionInput::Written { .. }
        | SessionInput::CheckedOut { .. }
        | SessionInput::TreeGone { .. }
        | SessionInput::Answered { .. }
        | SessionInput::ProcessEnded { .. }
        | SessionInput::WorkspaceRemoved { .. }
        | SessionInput::TurnCancelled { .. }
        | SessionInput::Flooding { .. }
        | SessionInput::ConversationNamed { .. }
        | SessionInput::PullLinked { .. }
        | SessionInput::PullUnlinked { .. }
        | SessionInput::Merged { .. }
        | SessionInput::Withdraw { .. }
        | SessionInput::Pause { .. }
        | SessionInput::Resume { .. }
        | SessionInput::Retry
        | SessionInput::Restore
        | SessionInput::RestoreIn { .. }
        | SessionInput::Cleanup
        | SessionInput::Discard
        | SessionInput::Clear
        | SessionInput::Release { .. }
        | SessionInput::LimitOver { .. }
        | SessionInput::Flush
        | SessionInput::Count
        | SessionInput::Due => {}
    }
}

fn visit_reason(reason: &mut KeepReason, mask: TextMask<'_>) {
    match reason {
        KeepReason::Unknown(why) | KeepReason::RemovalFailed(why) => mask(why),
        KeepReason::NotOurs
        | KeepReason::MainWorktree
        | KeepReason::ProcessInside
        | KeepReason::Uncommitted
        | KeepReason::Untracked
        | KeepReason::Stashed
        | KeepReason::Detached
        | KeepReason::MidOperation
        | KeepReason::Unpushed
        | KeepReason::UnknownSession => {}
    }
}

fn visit_signal(signal: &mut Signal, mask: TextMask<'_>) {
    match &mut signal.reading {
        Reading::Working { doing: text }
        | Reading::Asking { question: text }
        | Reading::Blocked { on: text }
        | Reading::Unreadable { why: text } => mask(text),
        Reading::Started
        | Reading::Idle
        | Reading::LoggedOut
        | Reading::Limited { .. }
        | Reading::Alive { .. }
        | Reading::Exited { .. }
        | Reading::Unheld
        | Reading::HumanTyped => {}
    }
}

fn visit_scan(scan: &mut ScanResult, mask: TextMask<'_>) {
    scan.failed.iter_mut().for_each(mask);
}

fn visit_queue(input: &mut QueueInput, mask: TextMask<'_>) {
    match input {
        QueueInput::Tested { result, .. } => match result {
            TestOutcome::Red { output, between } => {
                mask(output);
                mask(between);
            }
            TestOutcome::Green { .. } | TestOutcome::Conflict { .. } => {}
        },
        QueueInput::Verdict { objection, .. } => objection.iter_mut().for_each(mask),
        QueueInput::Remove { why, .. }
        | QueueInput::Pause { why }
        | QueueInput::LandRefused { why, .. }
        | QueueInput::EffectFailed { why, .. }
        | QueueInput::Landed { head_branch: Some(HeadBranch::Left { why }), .. } => mask(why),
        QueueInput::Enqueue { .. }
        | QueueInput::TestLimited { .. }
        | QueueInput::LandLimited { .. }
        | QueueInput::MergeNow { .. }
        | QueueInput::Prioritize { .. }
        | QueueInput::Resume {}
        | QueueInput::Look {}
        | QueueInput::HeadMoved { .. }
        | QueueInput::BaseMoved { .. }
        | QueueInput::Landed { .. } => {}
    }
}

fn visit_incident(input: &mut IncidentInput, mask: TextMask<'_>) {
    match input {
        IncidentInput::Seen(problem) => mask(&mut problem.detail),
        IncidentInput::NotHeard { why, .. } => mask(why),
        IncidentInput::Job { result: Ok(text) | Err(text), .. } => mask(text),
        IncidentInput::Absent
        | IncidentInput::Due
        | IncidentInput::Unsaid
        | IncidentInput::Addressed { .. }
        | IncidentInput::Gone => {}
    }
}

fn visit_outcome(outcome: &mut JobOutcome, mask: TextMask<'_>) {
    match outcome {
        JobOutcome::Done { said: text } | JobOutcome::Refused { why: text } => mask(text),
        JobOutcome::BaseRed { signature, excerpt } => {
            mask(signature);
            mask(excerpt);
        }
        JobOutcome::BaseGreen {} => {}
    }
}

fn visit_order(order: &mut JobOrder, mask: TextMask<'_>) {
    match order {
        JobOrder::Spawn { title, prompt, .. } => {
            mask(title);
            mask(prompt);
        }
        JobOrder::Assign { why, .. } => mask(why),
        JobOrder::Reply(reply) => mask(&mut reply.text),
        // The command is the user's own; the document describes the event.
        JobOrder::Run { document, .. } | JobOrder::Hook { document, .. } => mask(document),
        JobOrder::Settle { .. }
        | JobOrder::Rerun { .. }
        | JobOrder::CheckBase { .. }
        | JobOrder::Rebase { .. } => {}
    }
}

impl PullFacts {
    /// Passes each free text to `mask`.
    pub fn each_text(&mut self, mask: TextMask<'_>) {
        mask(&mut self.title);
        self.head_title.iter_mut().for_each(&mut *mask);
        for check in &mut self.checks {
            match &mut check.state {
                CheckState::Failed { signature, excerpt, .. } => {
                    mask(signature);
                    mask(excerpt);
                }
                CheckState::Broken { why } => mask(why),
                CheckState::Pending | CheckState::Passed | CheckState::Skipped => {}
            }
        }
        self.reviews.iter_mut().for_each(|review| mask(&mut review.body));
        let comments = self.threads.iter_mut().flat_map(|thread| &mut thread.comments);
        comments.for_each(|comment| mask(&mut comment.body));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ProjectId, SessionId};

    fn masked(mut input: Input) -> String {
        input.each_text(&mut |text| *text = text.replace("s3cret", "•••"));
        format!("{input:?}")
    }

    /// Each of these once reached the store unmasked.
    #[test]
    fn text_of_policies_places_and_scans_is_masked() {
        let secret = || "near s3cret".to_owned();
        let project = |input| Input::Project { project: ProjectId::new("app"), input };
        let session = |input| Input::Session { session: SessionId(1), input };
        let attempt = crate::Attempt(1);
        let scan = ScanResult {
            head: crate::Commit::new("c1"),
            rules: String::new(),
            found: vec![],
            more: false,
            failed: Some(secret()),
        };
        let pull = crate::PullId { project: ProjectId::new("app"), number: 1 };
        for input in [
            project(ProjectInput::PolicyBroken { why: secret() }),
            session(SessionInput::Drift { attempt, drift: Some(secret()) }),
            session(SessionInput::Halt { why: secret() }),
            session(SessionInput::WorkspaceKept { tries: 0, reasons: vec![KeepReason::Unknown(secret())] }),
            Input::Pull { pull, input: PullInput::Scanned(Box::new(scan)) },
        ] {
            let text = masked(input);
            assert!(text.contains("near •••") && !text.contains("s3cret"), "{text}");
        }
    }
}
