//! The issue and the pull requests that a draft names: the one that is taken over, and the one that is reviewed.

use ao_core::input::SpawnRequest;
use ao_core::pull::PullState;
use ao_core::session::SessionRole;
use ao_core::setup::Origin;
use ao_core::{ProjectId, PullId, Refusal, TaskId};
use ao_engine::AskError;
use ao_ports::{PullDetail, ScmError, TaskSeen, TrackerError};

use super::{OutsideFacts, SpawnDraft, SpawnOrders};
use crate::config::InForce;
use crate::error::{DaemonError, ErrorKind};
use crate::looks::{LookError, TaskReceiver};

impl SpawnOrders {
    /// Looks at the issue and the pull request that a draft names. The engine gets the issue, so that it can decide
    /// if work on it may begin.
    pub(super) async fn outside(
        &self,
        draft: &SpawnDraft,
        configs: &InForce,
    ) -> Result<OutsideFacts, DaemonError> {
        let known = super::project(draft.project.as_deref(), configs)?;
        let project = ProjectId::new(&known.name);
        let scm = self.looks.scm(&project).ok();
        let mut outside = OutsideFacts { has_forge: scm.is_some(), ..OutsideFacts::default() };
        if let Some(issue) = &draft.issue {
            let key = super::issue_key(issue, &known)?;
            let task = TaskId { project: project.clone(), key };
            outside.issue = match self.issue(&task).await {
                Err(NotRead::Unasked(_)) if draft.force => None,
                seen => Some(seen.map_err(DaemonError::from)?),
            };
        }
        if let Some(number) = draft.claim_pr
            && let Some(scm) = scm
        {
            let pull = PullId { project, number };
            let seen = scm.pulls(std::slice::from_ref(&pull)).await?.into_iter().next();
            let (_, facts) = seen.ok_or_else(|| ScmError::not_found(format!("the pull request `{pull}`")))?;
            if facts.state != PullState::Open {
                return Err(pull_over(&pull));
            }
            outside.pull_branch = Some(facts.head_branch);
        }
        Ok(outside)
    }

    /// Reads the issue that a session is wanted for. The engine hears of it.
    async fn issue(&self, wanted: &TaskId) -> Result<TaskSeen, NotRead> {
        let of = wanted.clone();
        let live = self.handle.view(move |state| state.live_session_of(&of)).await;
        let live = live.map_err(|err| NotRead::Refused(err.into()))?;
        let seen = self.looks.task(wanted, TaskReceiver::Engine).await;
        let seen = seen.map_err(|err| NotRead::by(err, wanted))?;
        // The engine forgets closed ones, so it is refused here; those that were blocked by it go on.
        if seen.facts.closed && live.is_none() {
            let task = seen.task;
            return Err(NotRead::Refused(AskError::Refused(Refusal::TaskClosed { task }).into()));
        }
        Ok(seen)
    }

    /// Makes the order for a reviewer of a pull request as it is now.
    pub async fn reviewer(
        &self,
        pull: &PullDetail,
        agent: Option<String>,
        look_for: Option<&str>,
    ) -> Result<SpawnRequest, DaemonError> {
        let (id, facts) = (&pull.pull, &pull.facts);
        if facts.state != PullState::Open {
            return Err(pull_over(id));
        }
        let short: String = facts.head.as_str().chars().take(8).collect();
        let prefix = {
            let projects = self.config.configs().projects();
            projects.get(&id.project).map(|known| known.effective().session_prefix.to_owned())
        };
        let name =
            format!("{}-review-{}-{short}", prefix.unwrap_or_else(|| id.project.to_string()), id.number);
        let new = SpawnDraft {
            project: Some(id.project.to_string()),
            role: Some(SessionRole::Reviewer),
            agent,
            title: Some(format!("Review {id}: {}", ao_core::outside::one_line(&facts.title))),
            prompt: Some(review_prompt(pull, look_for)),
            name: Some(name.clone()),
            branch: Some(format!("review/{name}")),
            workspace: self.adapters.read_only_workspace(),
            ..SpawnDraft::default()
        };
        let mut order = self.order(new).await?;
        debug_assert_eq!(order.role, SessionRole::Reviewer);
        order.origin = Origin::Read { commit: facts.head.to_string(), pull: id.clone() };
        Ok(order)
    }
}

fn pull_over(pull: &PullId) -> DaemonError {
    DaemonError::new(ErrorKind::PullOver, format!("{pull} is merged or closed"))
        .hint(format!("`ao pr show {pull}` shows how it ended"))
}

/// The reason why the issue of a session is not known.
enum NotRead {
    /// The tracker cannot be asked, now or in this version. A person may start the session all the same.
    Unasked(DaemonError),
    /// The tracker has answered, and nothing is started by that answer.
    Refused(DaemonError),
}

impl NotRead {
    fn by(err: LookError, task: &TaskId) -> NotRead {
        let TaskId { project, key } = task;
        let err = match err {
            LookError::NoForge(why) | LookError::NoTracker(why) => {
                let what = format!("issue `{key}` cannot be read: {why}");
                return NotRead::Unasked(DaemonError::new(ErrorKind::NoTracker, what));
            }
            LookError::Engine(err) => return NotRead::Refused(err.into()),
            LookError::Service(err) => err,
        };
        match &err {
            TrackerError::NotFound { .. } => {
                let what =
                    format!("there is no issue `{key}` in the project `{project}`, so nothing was started");
                NotRead::Refused(
                    DaemonError::new(ErrorKind::UnknownIssue, what)
                        .hint(format!("`ao issue list --project {project}` shows the open ones; `ao issue add` writes one down"))
                        .hint("`ao new \"what to do\"` starts a session without an issue"),
                )
            }
            TrackerError::Denied { .. }
            | TrackerError::Limited { .. }
            | TrackerError::Unsupported { .. }
            | TrackerError::Failed(_) => {
                let what = format!("issue `{task}` cannot be read, so nothing was started: {err}");
                NotRead::Unasked(DaemonError::new(ErrorKind::Forge(Box::new(err)), what))
            }
            TrackerError::Refused { .. } => NotRead::Refused(err.into()),
        }
    }
}

impl From<NotRead> for DaemonError {
    fn from(not_read: NotRead) -> DaemonError {
        match not_read {
            NotRead::Unasked(problem) => {
                problem.hint("`--force` (`\"force\": true`) starts it all the same, with nothing of the issue but its name")
            }
            NotRead::Refused(problem) => problem,
        }
    }
}

/// Returns the prompt of a reviewer. It reads the change itself in its checkout.
fn review_prompt(pull: &PullDetail, look_for: Option<&str>) -> String {
    let (number, facts) = (pull.pull.number, &pull.facts);
    let base = &facts.base;
    let mut text = format!(
        "You review pull request {id}. The files in this folder are its head, {head}, and only to be read; the change is what \
         `git diff {base}...HEAD` shows, or `ao pr diff {number}`. `ao pr show {number}` has its description and what others have \
         said.\n\nLook for what is wrong: bugs, missing cases, security, tests that prove nothing. Say nothing about what is \
         fine, and nothing that somebody has said already. Then give one review with all your findings, each at its line:\n\n\
         ao pr review {number} --request-changes -b 'the whole in a sentence or two' --at 'path/to/file:12' 'what is wrong there, and \
         what would be right'\n\nWith `--comment` instead of `--request-changes` if nothing has to be changed before it merges. \
         You cannot approve; a person does.",
        id = pull.pull,
        head = facts.head,
    );
    if let Some(look_for) = look_for.map(str::trim).filter(|text| !text.is_empty()) {
        text += "\n\n";
        text += look_for;
    }
    text
}
