//! What the API needs of forges and trackers beside themselves: the checks that are configured, issues from elsewhere, a
//! reviewer, and what an issue or a pull request says that a session is wished for.

use ao_api::{Check, Checks, ImportOrder, Imported, ImportedIssue, NewSession, Problem, ReviewerWish};
use ao_core::input::SpawnRequest;
use ao_core::pull::{AuthorFacts, PullState};
use ao_core::session::SessionRole;
use ao_core::setup::Origin;
use ao_core::{Input, ProjectId, PullId, Refusal, TaskId};
use ao_engine::AskError;
use ao_ports::{PullDetail, TaskSeen, Tracker, TrackerError};
use ao_tracker::import;

use super::{self as order, Outside};
use crate::config::InForce;
use crate::host::{TheHost, on_disk};
use crate::looks::LookError;
use crate::problem::{engine_problem, forge_problem};

/// How long a check may take that nobody has configured.
const PROPOSED_TIMEOUT: u64 = 30 * 60;

/// The checks of a project, and if there are none what its files suggest.
pub(crate) async fn checks(configs: InForce, project: &ProjectId) -> Result<Checks, Problem> {
    let projects = configs.projects();
    let Some(known) = projects.get(project) else {
        return Err(Problem::new(404, "unknown-project", format!("there is no project `{project}`")));
    };
    let configured: Vec<Check> = known
        .effective()
        .project
        .checks
        .iter()
        .map(|check| Check {
            name: check.name(),
            command: check.command.clone(),
            required: check.required,
            timeout_seconds: check.timeout.0.as_secs(),
            paths: check.paths.clone(),
            because: None,
        })
        .collect();
    if !configured.is_empty() {
        return Ok(Checks { checks: configured, proposed: vec![] });
    }
    let root = known.effective().project.path.clone();
    let found = on_disk(move || ao_scm::checks::propose(&root)).await?;
    let proposed = found.into_iter().map(|proposed| Check {
        name: proposed.name,
        command: proposed.command,
        required: true,
        timeout_seconds: PROPOSED_TIMEOUT,
        paths: vec![],
        because: Some(proposed.because),
    });
    Ok(Checks { checks: vec![], proposed: proposed.collect() })
}

/// Brings issues in from a text, each once.
pub(crate) async fn import(
    tracker: &dyn Tracker,
    project: &ProjectId,
    by: &AuthorFacts,
    order: &ImportOrder,
) -> Result<Imported, Problem> {
    let drafts = match order.format.as_str() {
        "markdown" => import::markdown(&order.text),
        "github" => import::github(&order.text),
        other => {
            let what = format!("`{other}` is no format that issues come in");
            return Err(Problem::new(400, "bad-format", what).hint("there are `markdown` and `github`"));
        }
    };
    let drafts = drafts.map_err(|err| Problem::new(422, "bad-import", err.to_string()))?;
    let made = import::bring_in(tracker, project, by, &drafts, order.dry_run).await.map_err(refused)?;
    let issues = made.into_iter().map(|made| ImportedIssue {
        id: made.task.map(|task| task.to_string()),
        title: made.title,
        result: match made.outcome {
            import::Outcome::Made => "made",
            import::Outcome::Known => "known",
            import::Outcome::WouldBeMade => "would_be_made",
        }
        .to_owned(),
    });
    Ok(Imported { issues: issues.collect() })
}

impl TheHost {
    /// What the tracker and the forge say of what a wish names. The engine hears of the issue, so that it can judge whether
    /// work on it may begin.
    pub(crate) async fn outside(&self, wish: &NewSession, configs: &InForce) -> Result<Outside, Problem> {
        let mut outside = Outside::default();
        if wish.issue.is_none() && wish.claim_pr.is_none() {
            return Ok(outside);
        }
        let known = order::project(wish.project_id.as_deref(), configs)?;
        let (project, effective) = (ProjectId::new(&known.name), known.effective());
        if let Some(issue) = &wish.issue {
            let key = order::issue_key(issue, &effective.tracker.plugin)?;
            let task = TaskId { project: project.clone(), key };
            outside.issue = match self.issue(&task).await {
                Err(NotRead::Unasked(_)) if wish.force => None,
                seen => Some(seen.map_err(Problem::from)?),
            };
        }
        if let Some(number) = wish.claim_pr
            && let Ok(scm) = self.daemon.forges.scm(&project)
        {
            let pull = PullId { project, number };
            let detail = scm.show(&pull).await.map_err(refused)?;
            if detail.facts.state != PullState::Open {
                return Err(Problem::new(409, "pull-over", format!("{pull} is not open any more")));
            }
            outside.pull_branch = Some(detail.facts.head_branch);
        }
        Ok(outside)
    }

    /// Reads the issue that a session is wanted for, and has the engine hear of it.
    async fn issue(&self, wanted: &TaskId) -> Result<TaskSeen, NotRead> {
        let tracker = self.daemon.forges.tracker(&wanted.project).map_err(|why| {
            NotRead::Unasked(Problem::new(
                422,
                "no-tracker",
                format!("issue `{}` cannot be read: {why}", wanted.key),
            ))
        })?;
        let seen = tracker.task(wanted).await.map_err(|err| NotRead::by(&err, wanted))?;
        // Of the names that an issue can be called by, the tracker knows the one that counts.
        let (task, facts) = (seen.task.clone(), Box::new(seen.facts.clone()));
        let id = task.clone();
        let stopping = |err| NotRead::Refused(crate::host::stopping(err));
        let live =
            self.daemon.handle.view(move |state| state.live_session_of(&id)).await.map_err(stopping)?;
        let input = Input::Task { task: task.clone(), facts };
        self.daemon.handle.ask(input).await.map_err(stopping)?;
        // The engine forgets closed ones, so it is said here; those that were blocked by it go on.
        if seen.facts.closed && live.is_none() {
            return Err(NotRead::Refused(engine_problem(AskError::Refused(Refusal::TaskClosed { task }))));
        }
        Ok(seen)
    }

    /// The order for somebody who reads a pull request as it is now, and says what is wrong with it.
    pub(crate) async fn reviewer_of(
        &self,
        pull: &PullDetail,
        wish: &ReviewerWish,
    ) -> Result<SpawnRequest, Problem> {
        let (id, facts) = (&pull.pull, &pull.facts);
        if facts.state != PullState::Open {
            return Err(Problem::new(409, "pull-over", format!("{id} is not open any more")));
        }
        let short: String = facts.head.as_str().chars().take(8).collect();
        let prefix = {
            let projects = self.configs().projects();
            projects.get(&id.project).map(|known| known.effective().session_prefix.to_owned())
        };
        let name =
            format!("{}-review-{}-{short}", prefix.unwrap_or_else(|| id.project.to_string()), id.number);
        let new = NewSession {
            project_id: Some(id.project.to_string()),
            role: Some("reviewer".into()),
            agent: wish.agent.clone(),
            title: Some(format!("Review {id}: {}", ao_core::outside::one_line(&facts.title))),
            prompt: Some(review_prompt(pull, wish.prompt.as_deref())),
            name: Some(name.clone()),
            branch: Some(format!("review/{name}")),
            workspace: Some("worktree".into()),
            ..NewSession::default()
        };
        let mut order = crate::Host::order(self, &new).await?;
        debug_assert_eq!(order.role, SessionRole::Reviewer);
        order.origin = Origin::Read { commit: facts.head.to_string(), pull: id.clone() };
        Ok(order)
    }
}

/// Why the issue of a session is not known.
enum NotRead {
    /// The tracker cannot be asked, now or in this version. A person may start the session all the same.
    Unasked(Problem),
    /// The tracker has answered, and nothing is started by that answer.
    Refused(Problem),
}

impl NotRead {
    fn by(err: &TrackerError, task: &TaskId) -> NotRead {
        let TaskId { project, key } = task;
        match err {
            TrackerError::NotFound { .. } => {
                let what =
                    format!("there is no issue `{key}` in the project `{project}`, so nothing was started");
                NotRead::Refused(
                    Problem::new(404, "unknown-issue", what)
                        .hint(format!("`ao issue list --project {project}` shows the open ones; `ao issue add` writes one down"))
                        .hint("`ao new \"what to do\"` starts a session without an issue"),
                )
            }
            TrackerError::Denied { .. }
            | TrackerError::Limited { .. }
            | TrackerError::Unsupported { .. }
            | TrackerError::Failed(_) => {
                let mut problem = forge_problem(err);
                problem.title = format!("issue `{task}` cannot be read, so nothing was started: {err}");
                NotRead::Unasked(problem)
            }
            TrackerError::Refused { .. } | TrackerError::BadWebhook { .. } => {
                NotRead::Refused(forge_problem(err))
            }
        }
    }
}

impl From<NotRead> for Problem {
    fn from(not_read: NotRead) -> Problem {
        match not_read {
            NotRead::Unasked(problem) => {
                problem.hint("`--force` (`\"force\": true`) starts it all the same, with nothing of the issue but its name")
            }
            NotRead::Refused(problem) => problem,
        }
    }
}

/// What a reviewer is told. The change itself it reads in its checkout.
fn review_prompt(pull: &PullDetail, wish: Option<&str>) -> String {
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
    if let Some(wish) = wish.map(str::trim).filter(|wish| !wish.is_empty()) {
        text += "\n\n";
        text += wish;
    }
    text
}

/// A tracker's or a forge's refusal, as the API tells it.
fn refused(err: TrackerError) -> Problem {
    forge_problem(&err)
}

/// Why a look showed nothing.
pub(crate) fn not_seen(err: LookError) -> Problem {
    match err {
        LookError::NoForge(why) => Problem::new(422, "no-scm", why),
        LookError::Forge(err) => forge_problem(&err),
        LookError::Engine(err) => engine_problem(err),
    }
}
