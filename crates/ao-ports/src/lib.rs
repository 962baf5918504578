//! The slots of `ao` as small traits in domain words, with the contract on each method.
//!
//! What holds for every port:
//!
//! - **Plain data crosses it.** Arguments and results can be serialised, so an adapter can live in another process and
//!   speak JSON-RPC over stdio. No closures, no file handles, no streams: output is read by offset, news is reported
//!   through [`Reporter`].
//! - **Nothing local is assumed.** A process may run in a container or a pod: a [`ProcessRef`] is made by its runtime
//!   alone, and a path of this machine is meaningful to it only if the runtime
//!   [shares files](RuntimeAbilities::shares_files).
//! - **Abilities are declared**, never guessed from a name.
//! - **Effects can be repeated.** Each method says what a second call with the same fence (session, attempt, delivery)
//!   does, because after a crash the daemon asks again.
//! - **An error means "did not happen" or "cannot tell".** Methods where the difference matters say which.

mod agent;
mod check;
mod clock;
pub mod environment;
mod errand;
mod lineage;
mod notifier;
mod records;
mod reporter;
mod reviews;
mod runtime;
mod runtimes;
mod scm;
pub mod secret;
mod service;
mod store;
mod tracker;
mod view;
mod workspace;

pub use agent::{
    Agent, AgentError, AnswerOutcome, Cancelled, CommandFile, DeliveryOutcome, LaunchPreparation, ProcessIo,
    ProgramCommand,
};
pub use ao_core::order::{
    AnswerOrder, CancelOrder, DeliverOrder, FollowOrder, LookOrder, MergeOrder, RemoveOrder, TestOrder,
};
pub use ao_core::queue::{LandingStrategy, MergeAbilities, TestOutcome};
pub use ao_core::session::ProcessRef;
pub use ao_core::workspace::TreeRef;
pub use check::{
    CheckOrder, CheckRun, CheckSpec, CheckWhat, FailureItem, FailureKind, FailureReport, LogPart, RunFilter,
    RunState, ScmChecks,
};
pub use clock::Clock;
pub use errand::{ErrandError, JobRunner};
pub use lineage::{Descent, Lineage};
pub use notifier::{Notifier, NotifyError};
pub use records::{RecordChange, Records};
pub use reporter::{Report, Reporter};
pub use reviews::{
    CommentPlace, CommitSeen, DiffSide, NewComment, NewReview, PullDetail, PullEdit, PullFilter,
    PullFilterState, PullRow, ReviewComment, ScmReviews, ThreadDetail, ThreadReply,
};
pub use runtime::{
    CensusEntry, EndOrder, ExecEnd, ExecOrder, ExecOutcome, OutputPart, Runtime, RuntimeAbilities,
    RuntimeError, Screen, StartSpec, WriteOrder, WriteOutcome,
};
pub use runtimes::Runtimes;
pub use scm::{BaseView, MergeOutcome, MovedBase, NewPull, Scm, ScmError, TidyOrder};
pub use service::{HintReceiver, LookHint, ServiceError, Webhook};
pub use store::{EventStore, NewRecord, Record, Seq, Snapshot, StoreError};
pub use tracker::{NewTask, TaskComment, TaskEdit, TaskFilter, TaskPage, TaskSeen, Tracker, TrackerError};
pub use view::{Frame, TerminalView, ViewOptions};
pub use workspace::{
    CapturedWorkspace, CleanedFiles, CreatedWorkspace, RebaseOrder, RebaseOutcome, RemovalOutcome, WorkFound,
    Workspace, WorkspaceDrift, WorkspaceError, WorkspaceSurvey,
};
