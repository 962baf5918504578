//! What must hold, whatever goes wrong.

use std::fmt;

/// What must hold, whatever goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Invariant {
    MessagesKept,
    AcceptedOnce,
    OneSessionPerTask,
    OneProcessPerSession,
    Unique,
    CapsHold,
    IdleYield,
    RetriesBounded,
    EscalatedOnce,
    NothingDeleted,
    LogReplays,
    Understandable,
    NoRudeTyping,
    PortsApart,
    SetUpFirst,
    BudgetHolds,
    LimitsHeeded,
    CommitFirst,
    TimeMoves,
    PersonsTold,
    NobodyDeaf,
    NoFalseAlarm,
    NoDeadEnds,
    MainGreen,
    FairlyJudged,
    LandsInOrder,
    EngineLives,
}

impl Invariant {
    pub const ALL: [Invariant; 27] = [
        Invariant::MessagesKept,
        Invariant::AcceptedOnce,
        Invariant::OneSessionPerTask,
        Invariant::OneProcessPerSession,
        Invariant::Unique,
        Invariant::CapsHold,
        Invariant::IdleYield,
        Invariant::RetriesBounded,
        Invariant::EscalatedOnce,
        Invariant::NothingDeleted,
        Invariant::LogReplays,
        Invariant::Understandable,
        Invariant::NoRudeTyping,
        Invariant::PortsApart,
        Invariant::SetUpFirst,
        Invariant::BudgetHolds,
        Invariant::LimitsHeeded,
        Invariant::CommitFirst,
        Invariant::TimeMoves,
        Invariant::PersonsTold,
        Invariant::NobodyDeaf,
        Invariant::NoFalseAlarm,
        Invariant::NoDeadEnds,
        Invariant::MainGreen,
        Invariant::FairlyJudged,
        Invariant::LandsInOrder,
        Invariant::EngineLives,
    ];

    pub fn describe(self) -> &'static str {
        match self {
            Invariant::MessagesKept => "each message waits, is under way or has one end; accepted means read",
            Invariant::AcceptedOnce => "no delivery becomes two turns of one conversation",
            Invariant::OneSessionPerTask => "never two live sessions on one task",
            Invariant::OneProcessPerSession => "never two live processes of one session or in one workspace",
            Invariant::Unique => "a path, a branch and a conversation belong to one session",
            Invariant::CapsHold => "never more sessions, or processes, than the caps allow",
            Invariant::IdleYield => "nobody waits for a slot whose agent only waits for others",
            Invariant::RetriesBounded => "nothing is tried more often than the settings say",
            Invariant::EscalatedOnce => "a person hears of a problem once, and every problem ends or is told",
            Invariant::NothingDeleted => "nothing is removed that the gate would keep",
            Invariant::LogReplays => "the log replays to the state, from its start and from a snapshot",
            Invariant::Understandable => "every session says why it is where it is, and is not stuck there",
            Invariant::NoRudeTyping => "nothing is typed into a turn, a dialog or a person's draft",
            Invariant::PortsApart => "no two live processes have the same port",
            Invariant::SetUpFirst => "no agent is started in a workspace that is not set up",
            Invariant::BudgetHolds => "no slot, launch or turn while a budget is spent or a session is held",
            Invariant::LimitsHeeded => {
                "nothing starts on an account that its provider refuses, and afterwards all go on in order"
            }
            Invariant::CommitFirst => "nothing is done that is not in the log first",
            Invariant::TimeMoves => "what is due makes progress, and nothing spins",
            Invariant::PersonsTold => "a failed delivery reaches a person, and no notice is raised twice",
            Invariant::NobodyDeaf => {
                "news that an agent does not take goes to the next one, and no agent stays out of reach"
            }
            Invariant::NoFalseAlarm => "nobody is woken for a flake, or while the base itself is red",
            Invariant::NoDeadEnds => {
                "every open problem has a next step, a person who knows, or somebody to wait for"
            }
            Invariant::MainGreen => {
                "only what was green as this very tree lands, and main is never red by our hand"
            }
            Invariant::FairlyJudged => {
                "nobody leaves the merge queue for what was tested with others unfinished"
            }
            Invariant::LandsInOrder => "the urgent are tested first, and what was begun first lands first",
            Invariant::EngineLives => "the engine neither panics nor gives up",
        }
    }
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// One that did not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub invariant: Invariant,
    /// How many inputs the engine had taken.
    pub step: u64,
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { invariant, step, what } = self;
        write!(f, "{invariant} ({}) at step {step}: {what}", invariant.describe())
    }
}
