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
mod job;
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
    ThreadReply,
};
pub use ao_core::queue::{LandingStrategy, MergeAbilities, TestOutcome};
pub use ao_core::session::ProcessRef;
pub use ao_core::workspace::TreeRef;
pub use check::{
    CheckOrder, CheckRun, CheckSpec, CheckWhat, FailureItem, FailureKind, FailureReport, LogPart, RunFilter,
    RunState, ScmChecks,
};
pub use clock::Clock;
pub use job::{JobError, JobRunner};
pub use lineage::{Descent, Lineage};
pub use notifier::{Notifier, NotifyError};
pub use records::{RecordChange, Records};
pub use reporter::{Report, Reporter};
pub use reviews::{
    CommentPlace, CommitSeen, DiffSide, NewComment, NewReview, PullDetail, PullEdit, PullFilter,
    PullFilterState, PullRow, ReviewComment, ScmReviews, ThreadDetail,
};
pub use runtime::{
    CensusEntry, EndOrder, ExecEnd, ExecOrder, ExecOutcome, OutputPart, Runtime, RuntimeAbilities,
    RuntimeError, Screen, StartSpec, WriteOrder, WriteOutcome,
};
pub use runtimes::Runtimes;
pub use scm::{BaseView, MergeOutcome, MovedBase, NewPull, Scm, ScmError, TidyOrder};
pub use service::{HintReceiver, LookHint, ServiceError};
pub use store::{EventStore, NewRecord, Record, Seq, Snapshot, StoreError};
pub use tracker::{NewTask, TaskComment, TaskEdit, TaskFilter, TaskPage, TaskSeen, Tracker, TrackerError};
pub use view::{Frame, TerminalView, ViewOptions};
pub use workspace::{
    CapturedWorkspace, CleanedFiles, CreatedWorkspace, RebaseOrder, RebaseOutcome, RemovalOutcome, WorkFound,
    Workspace, WorkspaceDrift, WorkspaceError, WorkspaceSurvey,
};

#[cfg(test)]
mod tests {
    use ao_core::effect::{LaunchPlan, SetUpPlan, WorkspacePlan};
    use ao_core::job::{Job, JobOutcome};
    use ao_core::notice::Notice;
    use serde::Serialize;
    use serde::de::DeserializeOwned;

    use super::*;

    fn crosses<T: Serialize + DeserializeOwned>() {}

    /// An adapter in another process gets its arguments and sends its results as JSON.
    #[test]
    fn arguments_and_results_can_be_serialised() {
        crosses::<(WorkspacePlan, SetUpPlan, LaunchPlan, StartSpec, WriteOrder, ExecOrder, EndOrder)>();
        crosses::<(DeliverOrder, AnswerOrder, CancelOrder, LookOrder, FollowOrder, RemoveOrder, TreeRef)>();
        crosses::<(DeliveryOutcome, AnswerOutcome, Cancelled, LaunchPreparation, ProcessRef)>();
        crosses::<(CensusEntry, ExecOutcome, OutputPart, Screen, WriteOutcome, RuntimeAbilities)>();
        crosses::<(CapturedWorkspace, CreatedWorkspace, RebaseOrder, RebaseOutcome, RemovalOutcome)>();
        crosses::<(WorkspaceDrift, WorkspaceSurvey, WorkFound)>();
        crosses::<(TestOrder, TestOutcome, MergeOrder, MergeOutcome, MergeAbilities, NewPull, BaseView)>();
        crosses::<(TidyOrder, MovedBase, NewComment, NewReview, PullDetail, PullEdit, PullFilter, PullRow)>();
        crosses::<(ThreadReply, CheckOrder, CheckRun, RunFilter, LogPart, FailureReport, LookHint)>();
        crosses::<(NewTask, TaskComment, TaskEdit, TaskFilter, TaskPage, TaskSeen)>();
        crosses::<(Job, JobOutcome, Notice, ServiceError)>();
    }
}
