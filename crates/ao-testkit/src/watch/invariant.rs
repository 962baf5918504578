//! The invariants of the simulation.

use std::fmt;

/// A condition that must hold under all faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Invariant {
    MessagesKept,
    AcceptedOnce,
    AnsweredOnce,
    AsksKept,
    OneSessionPerTask,
    OneProcessPerSession,
    UniqueOwner,
    CapsHold,
    IdleYield,
    RetriesBounded,
    EscalatedOnce,
    NothingDeleted,
    LogReplays,
    ReasonsShown,
    NoIntrusiveTyping,
    PortsApart,
    SetUpFirst,
    BudgetHolds,
    LimitsRespected,
    CommitFirst,
    TimeMoves,
    PersonsNotified,
    NewsEscalated,
    NoFalseAlarm,
    NoDeadEnds,
    MainGreen,
    FairRejection,
    LandsInOrder,
    ChangesSeen,
    JobsDone,
    EngineLives,
}

impl Invariant {
    pub const ALL: [Invariant; 31] = [
        Invariant::MessagesKept,
        Invariant::AcceptedOnce,
        Invariant::AnsweredOnce,
        Invariant::AsksKept,
        Invariant::OneSessionPerTask,
        Invariant::OneProcessPerSession,
        Invariant::UniqueOwner,
        Invariant::CapsHold,
        Invariant::IdleYield,
        Invariant::RetriesBounded,
        Invariant::EscalatedOnce,
        Invariant::NothingDeleted,
        Invariant::LogReplays,
        Invariant::ReasonsShown,
        Invariant::NoIntrusiveTyping,
        Invariant::PortsApart,
        Invariant::SetUpFirst,
        Invariant::BudgetHolds,
        Invariant::LimitsRespected,
        Invariant::CommitFirst,
        Invariant::TimeMoves,
        Invariant::PersonsNotified,
        Invariant::NewsEscalated,
        Invariant::NoFalseAlarm,
        Invariant::NoDeadEnds,
        Invariant::MainGreen,
        Invariant::FairRejection,
        Invariant::LandsInOrder,
        Invariant::ChangesSeen,
        Invariant::JobsDone,
        Invariant::EngineLives,
    ];

    pub fn describe(self) -> &'static str {
        match self {
            Invariant::MessagesKept => {
                "every message is waiting, in delivery or in one final state; accepted means read"
            }
            Invariant::AcceptedOnce => "no delivery becomes two turns of one conversation",
            Invariant::AnsweredOnce => "an answer is given once, to the ask that it was for",
            Invariant::AsksKept => "an ask is open until it is answered or withdrawn, also over a restart",
            Invariant::OneSessionPerTask => "never two live sessions on one task",
            Invariant::OneProcessPerSession => "never two live processes of one session or in one workspace",
            Invariant::UniqueOwner => "a path, a branch and a conversation have one owner",
            Invariant::CapsHold => "never more sessions, or processes, than the caps allow",
            Invariant::IdleYield => "no session waits for a slot that an idle session could yield",
            Invariant::RetriesBounded => "nothing is retried more often than the settings allow",
            Invariant::EscalatedOnce => {
                "a person is notified of a problem once, and every problem is resolved or escalated"
            }
            Invariant::NothingDeleted => "nothing is removed that the gate would keep",
            Invariant::LogReplays => "the log replays to the state, from its start and from a snapshot",
            Invariant::ReasonsShown => "every session shows the reason for its status, and is not stuck",
            Invariant::NoIntrusiveTyping => "nothing is typed into a turn, a dialog or a person's draft",
            Invariant::PortsApart => "no two live processes have the same port",
            Invariant::SetUpFirst => "no agent is started in a workspace that is not set up",
            Invariant::BudgetHolds => "no slot, launch or turn while a budget is spent or a session is held",
            Invariant::LimitsRespected => {
                "nothing starts on an account that its provider refuses, and afterwards all resume in order"
            }
            Invariant::CommitFirst => "nothing is done before it is in the log",
            Invariant::TimeMoves => "due timers make progress, and nothing loops",
            Invariant::PersonsNotified => "a failed delivery reaches a person, and no notice is raised twice",
            Invariant::NewsEscalated => {
                "news that an agent does not take is escalated, and no agent stays unreachable"
            }
            Invariant::NoFalseAlarm => {
                "no alarm is raised for a flaky check, or while the base itself is red"
            }
            Invariant::NoDeadEnds => {
                "every open problem has a next step, was escalated to a person, or waits for an answer"
            }
            Invariant::MainGreen => "only a tree that was tested green lands, and ao never makes main red",
            Invariant::FairRejection => "no pull request is rejected for a test with untested ones ahead",
            Invariant::LandsInOrder => {
                "urgent pull requests are tested first, and tests land in the order they were started"
            }
            Invariant::ChangesSeen => {
                "changes at a forge or tracker are seen: soon after a hint, and in the end without one"
            }
            Invariant::JobsDone => "a job that is reported as done has had its effect",
            Invariant::EngineLives => "the engine and the looks neither panic nor give up",
        }
    }
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// A violated invariant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub invariant: Invariant,
    /// Number of inputs that the engine had taken.
    pub step: u64,
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { invariant, step, what } = self;
        write!(f, "{invariant} ({}) at step {step}: {what}", invariant.describe())
    }
}
