//! Visits the free text of an input: titles, messages, questions, command output, errors.
//!
//! The daemon masks secrets in each of these texts before the core sees the input, and so before anything is stored, sent or
//! shown. Names, ids and configuration are not free text. The lists below are complete: a new kind of input, and a new
//! field of a known one, does not compile before it is in one of them.

use crate::Input;
use crate::agent_report::{AgentReport, PlanStep, ToolCall, TurnCause, TurnEnd};
use crate::ask::{Ask, AskDetail, AskOption};
use crate::evidence::{Reading, Signal};
use crate::health::BaseVerdict;
use crate::incident::{IncidentInput, ObservedProblem};
use crate::input::SpawnRequest;
use crate::job::{JobInput, JobOrder, JobOutcome};
use crate::notice::{NewNotice, NoticeInput};
use crate::order::ThreadReply;
use crate::policy::ScanResult;
use crate::project::{ProjectInput, RepositorySuspicion};
use crate::pull::{CheckFacts, CheckState, CommentFacts, PullFacts, PullInput, ReviewFacts, ThreadFacts};
use crate::queue::{HeadBranch, QueueInput, TestOutcome};
use crate::session::{NewMessage, SessionInput};
use crate::task::TaskFacts;
use crate::workspace::KeepReason;

/// Receives each text, and may change it.
type TextMask<'a> = &'a mut dyn FnMut(&mut String);

/// A value with free text in it.
pub trait FreeText {
    /// Passes each free text to `mask`.
    fn each_text(&mut self, mask: TextMask<'_>);
}

impl FreeText for String {
    fn each_text(&mut self, mask: TextMask<'_>) {
        mask(self);
    }
}

impl<T: FreeText> FreeText for Box<T> {
    fn each_text(&mut self, mask: TextMask<'_>) {
        (**self).each_text(mask);
    }
}

impl<T: FreeText> FreeText for Option<T> {
    fn each_text(&mut self, mask: TextMask<'_>) {
        self.iter_mut().for_each(|one| one.each_text(mask));
    }
}

impl<T: FreeText> FreeText for Vec<T> {
    fn each_text(&mut self, mask: TextMask<'_>) {
        self.iter_mut().for_each(|one| one.each_text(mask));
    }
}

impl FreeText for Result<String, String> {
    fn each_text(&mut self, mask: TextMask<'_>) {
        let (Ok(text) | Err(text)) = self;
        mask(text);
    }
}

/// Lists all fields of each type: those with free text, and the rest.
macro_rules! text_of_structs {
    ($($kind:ident { $($text:ident)* } else { $($plain:ident)* })*) => {
        $(impl FreeText for $kind {
            fn each_text(&mut self, mask: TextMask<'_>) {
                let $kind { $($text,)* $($plain: _,)* } = self;
                $($text.each_text(mask);)*
            }
        })*
    };
}

/// Lists all variants of each type, with all fields of each: those with free text, and the rest.
macro_rules! text_of_enums {
    ($($kind:ident {
        $($variant:ident $(($one:ident))? $({ $($text:ident)* })? $(else { $($plain:tt)* })?),+ $(,)?
    })*) => {
        $(impl FreeText for $kind {
            fn each_text(&mut self, mask: TextMask<'_>) {
                match self {
                    $($kind::$variant { $(0: $one,)? $($($text,)*)? $($($plain: _,)*)? } => {
                        $($one.each_text(mask);)?
                        $($($text.each_text(mask);)*)?
                    })+
                }
            }
        })*
    };
}

text_of_enums! {
    // Paths of changed files are names: agents and people have to find them.
    Input {
        Task { facts } else { task }, Spawn(request), Project { input } else { project },
        Session { input } else { session }, Pull { input } else { pull }, Queue { input } else { project },
        Incident { input } else { key }, Notice { input } else { notice }, Job { input } else { job },
        Order { order } else { key requester }, Tell(notice), Clear { problem } else { subject kind },
        Raise { problem revision detail } else { subject kind }, Forecast else { project clashes touched },
        Configure else { 0 }, Budget else { budget input }, Host else { free_mb }, Census else { 0 },
        AccountLimited else { account until }, AccountDue else { account }, StrayEnded else { session attempt },
        Digest else { day }, Review else { 0 }, Schedule, Tick,
    }

    ProjectInput {
        PolicyBroken { why }, RepositorySeen { suspicions }, Flaked { signature excerpt } else { check },
        BaseFound { verdict } else { check commit }, Configure else { 0 }, Remove, PolicySeen else { 0 },
        PolicyDue, Complete, StopWork else { by }, StartWork else { by }, AskBase else { branch check commit },
    }
    BaseVerdict { Green, Red { signature excerpt }, Unknown { why } }

    SessionInput {
        Send(message), Signal(signal), Answer { text } else { by question },
        Reported { report } else { attempt source at }, Looked { signals } else { attempt },
        SetupFailed { why } else { attempt }, NotWritten { why } else { attempt delivery tries },
        NotAnswered { why } else { attempt number }, Failed { why } else { effect }, Stop { why } else { by },
        Hold { why } else { kind }, Halt { why }, Drift { drift } else { attempt },
        WorkspaceKept { reasons } else { tries }, WorkspaceReady else { attempt path base as_found },
        SetUp else { attempt }, PortTaken else { attempt port }, Launched else { attempt process conversation },
        ConversationGone else { attempt }, Written else { attempt delivery tries },
        CheckedOut else { checked_out }, TreeGone else { attempt path }, Answered else { attempt number },
        ProcessEnded else { attempt }, WorkspaceRemoved else { tries rescue },
        TurnCancelled else { attempt number cut }, Flooding else { attempt },
        ConversationNamed else { attempt conversation }, PullLinked else { pull }, PullUnlinked else { pull },
        Merged else { pull }, Withdraw else { incident }, Pause else { by }, Resume else { limits }, Retry,
        Restore, RestoreIn else { runtime }, Cleanup, Discard, Clear, Release else { kind },
        LimitOver else { after within }, Flush, Count, Due,
    }
    KeepReason {
        Unknown(why), RemovalFailed(why), NotOurs, MainWorktree, ProcessInside, Uncommitted, Untracked, Stashed,
        Detached, MidOperation, Unpushed, UnknownSession,
    }
    Reading {
        Working { doing }, Asking { question }, Blocked { on }, Unreadable { why }, Started, Idle, LoggedOut,
        Limited else { until }, Alive else { busy }, Exited else { code }, Unheld, HumanTyped,
    }
    AgentReport {
        TurnBegan { cause } else { turn }, TurnEnded { end }, Reply { text }, ToolCall(call), Plan { steps },
        Asked { ask }, Dialog { question details }, Usage else { spend }, AskClosed else { ask },
    }
    TurnCause { User { text } else { delivery }, Agent }
    TurnEnd { Failed { why }, Done, Cancelled, Limited else { until } }
    AskDetail { Tool { name }, Command { command }, Path { path }, Diff { path diff } }

    PullInput { Seen(facts), Scanned(scan), Claim else { session }, Release else { session } }
    CheckState {
        Failed { signature excerpt } else { url log files certain }, Broken { why }, Pending, Passed, Skipped,
    }

    QueueInput {
        Tested { result } else { pull head base ahead checks }, Verdict { objection } else { pull head },
        Remove { why } else { pull }, Pause { why }, LandRefused { why } else { pull head base tip in_the_way },
        EffectFailed { why } else { pull head base ahead tries },
        Landed { head_branch } else { pull head commit tip with }, Enqueue else { pull head priority },
        TestLimited else { pull head base ahead checks after }, LandLimited else { pull head base after },
        MergeNow else { pull head request }, Prioritize else { pull priority }, Resume, Look,
        HeadMoved else { pull head }, BaseMoved else { base branch },
    }
    TestOutcome { Red { output between }, Green else { tree }, Conflict else { files pull } }
    HeadBranch { Left { why }, Deleted }

    IncidentInput {
        Seen(problem), NotHeard { why } else { by }, Job { result } else { round }, Absent, Due, Unsaid,
        Addressed else { commit }, Gone,
    }
    NoticeInput {
        Failed { why } else { channel tries wait }, Withdraw { why }, Addressed else { tries channels },
        Told else { channel tries }, Held else { channel tries until hold }, Due,
    }
    JobInput {
        Failed { why } else { tries again }, InTheWay { why } else { tries after },
        Done { outcome } else { tries }, Due,
    }
    JobOutcome { Done { said }, Refused { why }, BaseRed { signature excerpt }, BaseGreen }
    // The command of a job is the user's own; its document describes the event.
    JobOrder {
        Spawn { title prompt } else { project pull agent }, Assign { why } else { task agent }, Reply(reply),
        Run { document } else { project session command timeout },
        Hook { document } else { project session point hooks }, Settle else { pull tasks },
        Rerun else { pull check commit number }, CheckBase else { project branch commit check },
        Rebase else { pull head base },
    }
}

text_of_structs! {
    TaskFacts { title } else { observed labels priority blocked_by closed trusted branch author }
    SpawnRequest { title prompt } else {
        name project task role agent runtime workspace branch origin priority limits trusted
    }
    NewMessage { body } else { from kind interrupt key }
    NewNotice { text } else { level subject key incident channel }
    RepositorySuspicion { what revision detail } else {}
    ObservedProblem { detail } else { kind id revision }
    Signal { reading } else { attempt source at confidence }
    ToolCall { id tool detail } else { state }
    PlanStep { text } else { state }
    Ask { title details options } else { id kind }
    AskOption { label } else { id kind }
    ThreadReply { text } else { pull thread resolve key }
    PullFacts { title head_title checks reviews threads } else {
        observed_at url head head_branch head_repo head_author base_branch base_remote base draft state author labels
        mergeable no_checks size
    }
    CheckFacts { state } else { name commit required run }
    ReviewFacts { body } else { id author verdict commit revision }
    ThreadFacts { comments } else { id path line resolved }
    CommentFacts { body } else { id author url revision }
    ScanResult { failed } else { head rules found more }
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
