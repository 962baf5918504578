//! Wire types of the HTTP API, separate from those of the core.
//!
//! JSON with keys in camelCase, values of enums in snake_case, times by RFC 3339 in UTC, sizes in bytes. Fields are
//! only ever added; a client must ignore a field that it does not know, and accept new values: in the types below, those are
//! `Unknown`.

#[macro_use]
mod wire_enum;

mod budget;
mod check;
pub mod client;
mod conflict;
mod daemon;
mod event;
mod explain;
mod hook;
mod issue;
mod message;
mod plan;
mod policy;
mod problem;
mod project;
mod pull;
mod queue;
mod reaction;
mod segment;
mod session;
pub mod terminal;
mod work;
mod workspace;

pub use budget::{Budget, BudgetKind, Budgets, LimitedAccount, Limits};
pub use check::{
    Check, CheckFailure, CheckLog, CheckRun, CheckRunState, CheckRuns, Checks, FailureItem, FailureItemKind,
    Flake, Flakes, NewCheckRun,
};
pub use conflict::{
    Conflict, ConflictBranch, ConflictFile, ConflictHunk, ConflictLines, ConflictSource, Conflicts, LeftOut,
};
pub use daemon::{
    ChannelTest, ConfigShown, Daemon, Health, HealthStatus, NewToken, NoticePriority, NotifyChannel,
    NotifyTest, Reloaded, SignIn, Stopping, Token,
};
pub use event::Event;
pub use explain::{
    EvidenceRule, EvidenceSource, Explanation, Incident, IncidentLevel, Queue, Rule, SessionPhase, Signal,
    SignalConfidence, SignalReading,
};
pub use hook::{Hook, HookLog, HookLogs, HookResult, HookTest, HookTested, HookTrigger, Hooks};
pub use issue::{
    ImportOrder, ImportOutcome, ImportSource, Imported, ImportedIssue, Issue, IssueComment, IssueEdit,
    IssueStateFilter, Issues, NewIssue, NewIssueComment, OpenState,
};
pub use jiff::Timestamp;
pub use message::{Answer, Message, MessageSent, MessageState, Messages, NewMessage};
pub use plan::{Advice, AdviceList, AdviceTopic, Plan, Planned, WaitReason};
pub use policy::{MergeRule, PolicyField, PolicyRule, PolicyShown, PolicyVerdict};
pub use problem::Problem;
pub use project::{ConfirmedChanges, NewProject, Project, Projects, RepositoryTrust};
pub use pull::{
    Author, AuthorRole, Claim, Comment, CommentEdit, Commented, Diff, MergeDone, MergeMethod, NewComment,
    NewMerge, NewPull, NewReview, NewReviewComment, NewReviewer, Pull, PullChecks, PullCommit, PullDetail,
    PullEdit, PullMergeability, PullReview, PullStateFilter, PullStatus, Pulls, Resolve, Review,
    ReviewChoice, ReviewResult, Reviewed, Thread, ThreadSide,
};
pub use queue::{MergeQueue, MergeQueues, NewQueueEntry, QueuePause, QueuePriority, QueuedPull, QueuedState};
pub use reaction::{
    ConditionTested, ConfiguredAction, EventTaken, NewEvent, Reaction, ReactionStep, ReactionTest,
    ReactionTested, Reactions, StepKind,
};
pub use segment::segment;
pub use session::{
    Agent, AgentRole, Ask, AskDetail, AskDetailType, AskOption, AskOptionType, AskType, Asks, GivenAnswer,
    Hold, HoldReason, NewSession, OriginalState, Output, ReportedState, Restore, Resume, Session, SessionAsk,
    SessionState, SessionStatus, Sessions, Spawned, Spend, Status, Stop, Tree, TreeState,
};
pub use wire_enum::WireEnum;
pub use work::{ChecksColor, NextParty, ProgressStage, PullSummary, PullWork, ReviewProgress, WorkState};
pub use workspace::{Cleanup, CleanupOrder, Decision, TreeReport, TreeWork};

/// The common prefix of all paths except `/healthz` and `/metrics`.
pub const BASE: &str = "/api";
/// The version of this API. Clients and daemons of the same version are compatible.
pub const VERSION: u32 = 1;
