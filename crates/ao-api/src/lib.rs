//! Wire types of the HTTP API, separate from those of the core.
//!
//! JSON with keys in camelCase, values of enums in snake_case, times by RFC 3339 in UTC, sizes in bytes. Fields are
//! only ever added; a client must ignore a field that it does not know, and accept new values.

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

pub use budget::{Budget, Budgets, LimitedAccount, Limits};
pub use check::{
    Check, CheckFailure, CheckLog, CheckRun, CheckRuns, CheckWish, Checks, FailureItem, Flake, Flakes,
};
pub use conflict::{Conflict, ConflictBranch, ConflictFile, ConflictHunk, ConflictLines, Conflicts, LeftOut};
pub use daemon::{
    ChannelTest, ConfigShown, Daemon, Health, NewToken, NotifyChannel, NotifyTest, Reloaded, SignIn,
    Stopping, Token,
};
pub use event::Event;
pub use explain::{Explanation, Incident, Queue, Rule, Signal};
pub use hook::{Hook, HookLog, HookLogs, HookResult, HookTest, HookTested, Hooks};
pub use issue::{
    ImportOrder, Imported, ImportedIssue, Issue, IssueComment, IssueEdit, Issues, NewIssue, NewIssueComment,
};
pub use jiff::Timestamp;
pub use message::{Answer, Message, MessageSent, MessageState, Messages, NewMessage};
pub use plan::{Advice, AdviceList, Plan, Planned};
pub use policy::{PolicyField, PolicyRule, PolicyShown, PolicyVerdict};
pub use problem::Problem;
pub use project::{ConfirmedChanges, NewProject, Project, Projects, RepositoryTrust};
pub use pull::{
    Author, Claim, Comment, CommentEdit, Commented, Diff, MergeDone, MergeWish, NewComment, NewPull,
    NewReview, NewReviewComment, Pull, PullCommit, PullDetail, PullEdit, Pulls, Resolve, Review, Reviewed,
    ReviewerWish, Thread,
};
pub use queue::{MergeQueue, MergeQueues, QueuePause, QueuePriority, QueueWish, QueuedPull};
pub use reaction::{
    ConditionTested, EventTaken, NewEvent, Reaction, ReactionStep, ReactionTest, ReactionTested, Reactions,
};
pub use segment::segment;
pub use session::{
    Agent, Ask, AskDetail, AskOption, Hold, NewSession, Output, Restore, Resume, Session, SessionStatus,
    Sessions, Spawned, Spend, Status, Stop, Tree,
};
pub use work::{PullSummary, PullWork, WorkState};
pub use workspace::{Cleanup, CleanupOrder, Decision, TreeReport, TreeWork};

/// The common prefix of all paths except `/healthz` and `/metrics`.
pub const BASE: &str = "/api";
/// The version of this API. Clients and daemons of the same version are compatible.
pub const VERSION: u32 = 1;
