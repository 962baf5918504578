//! The policies of the projects: read from their base branches when those move, merged with the configuration, and
//! given to the engine before any pull request that they judge.
//!
//! The base branch is the project's default branch, also for pull requests with another target: a branch that an
//! agent has made brings no rules of its own.

use std::collections::BTreeSet;
use std::sync::PoisonError;
use std::time::Duration;

use ao_config::policy::{PolicyLayer, PolicySetting, in_force, in_short, policy_path, read_policy};
use ao_config::shape::PolicyConfig;
use ao_core::policy::{POLICY_FILE, Policy, ScanResult};
use ao_core::project::{ProjectInput, RepositorySuspicion};
use ao_core::pull::{PullFacts, PullInput, PullState};
use ao_core::queue::QueueEvent;
use ao_core::{Commit, Event, Input, ProjectId, PullId, State, Timestamp};
use ao_git::{FileContent, Git};
use ao_ports::{BaseView, MovedBase, Scm, ScmError};
use camino::Utf8Path;

use crate::looks::{LookError, ProjectLooks};

/// A policy may be so long.
const MOST: usize = 1 << 20;
/// So much of a diff is looked through. One that is longer is not looked through to its end, and so not allowed.
const DIFF: usize = 16 << 20;
/// The pause after landings that could not be read.
const UNREAD: Duration = Duration::from_secs(1);
/// About a year: the time zone data of a policy is renewed then.
const YEAR: i64 = 31_556_952_000;

/// A policy as it was last read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReadPolicy {
    /// The tip of the base branch; none if there is no such branch.
    pub(crate) tip: Option<String>,
    own: Option<PolicyConfig>,
    year: i64,
    /// Each key with its value and its source; or the reason why the file cannot be read.
    pub(crate) fields: Result<Vec<PolicySetting>, String>,
}

/// The policy on a base branch.
#[derive(Debug)]
pub struct OnBase {
    pub tip: Option<String>,
    /// Absent if there is no such file; an error text with the place if it cannot be read.
    pub policy: Result<Option<PolicyConfig>, String>,
}

/// A policy with where it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyReport {
    /// True if the base branch has a policy file.
    pub written: bool,
    /// The tip of the base branch; none if there is no such branch.
    pub commit: Option<String>,
    /// Each key with its value and its origin; or why the file cannot be read.
    pub fields: Result<Vec<PolicySetting>, String>,
}

impl ProjectLooks {
    /// Returns the policy of a project, as it was last read.
    pub async fn policy(&self, project: &ProjectId) -> Result<PolicyReport, LookError> {
        let id = project.clone();
        let stand = self.handle.view(move |state| {
            state.projects.get(&id).map(|project| project.policy_stand.clone()).unwrap_or_default()
        });
        let read = self.read_policy(project).await?;
        Ok(PolicyReport { written: stand.await?.written, commit: read.tip, fields: read.fields })
    }

    /// Reads the policy of a project if it may have changed, and reports it to the engine. Returns true if it has.
    pub(crate) async fn see_policy(&self, project: &ProjectId) -> Result<bool, LookError> {
        let Some((branch, own)) = self.policy_source(project).await? else { return Ok(false) };
        let scm = self.scm(project)?;
        let turn = {
            let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
            reading.entry(project.clone()).or_default().clone()
        };
        let _turn = turn.lock().await;
        let now = self.clock.now();
        let year = now.0 / YEAR;
        let tip = self.trusted_tip(&*scm, project).await?;
        let known = self.policies().get(project).cloned();
        let same = |known: &ReadPolicy| {
            tip.as_ref().map(Commit::as_str) == known.tip.as_deref() && known.own == own && known.year == year
        };
        // A policy that was read before the engine knew about its landing is reported again.
        if known.as_ref().is_some_and(same) && !self.awaits_policy(project).await? {
            return Ok(false);
        }
        let read = match &tip {
            Some(tip) => scm.file_at(project, tip, POLICY_FILE, MOST + 1).await,
            None => Ok(None),
        };
        // Nothing is allowed by a policy that cannot be read now, and the caller reads it again.
        let passing = read.as_ref().err().filter(|err| err.may_pass()).cloned();
        let why = |err: ScmError| match err {
            ScmError::Refused { why } => why,
            err => unread(err),
        };
        let policy = read.map_err(why).and_then(parsed);
        let on_base = OnBase { tip: tip.map(|tip| tip.to_string()), policy };
        let (input, fields) = counted(&on_base, own.as_ref(), &branch, now);
        // The engine gets a new project a moment later than we do; the caller retries then.
        let receipt = self.handle.ask(Input::Project { project: project.clone(), input }).await?;
        if let Some(err) = passing {
            return Err(err.into());
        }
        let read = ReadPolicy { tip: on_base.tip, own, year, fields };
        self.policies().insert(project.clone(), read);
        Ok(!receipt.events.is_empty())
    }

    /// Returns the default branch of a project and its configured policy. The engine alone knows the project of a program
    /// that embeds it.
    async fn policy_source(
        &self,
        project: &ProjectId,
    ) -> Result<Option<(String, Option<PolicyConfig>)>, LookError> {
        let configured = self.projects().get(project).map(|known| known.wanted.clone());
        if let Some(wanted) = configured {
            return Ok(Some((wanted.default_branch, wanted.policy)));
        }
        let id = project.clone();
        let branch = move |state: &State| Some(state.projects.get(&id)?.config.default_branch.clone());
        Ok(self.handle.view(branch).await?.map(|branch| (branch, None)))
    }

    /// Returns the tip of the base that the forge trusts. Suspicions are reported to the engine.
    async fn trusted_tip(&self, scm: &dyn Scm, project: &ProjectId) -> Result<Option<Commit>, LookError> {
        let BaseView { tip, held, .. } = scm.base(project).await?;
        let suspicion = |held: MovedBase| RepositorySuspicion {
            revision: held.to.as_ref().map_or_else(|| held.detail.clone(), ToString::to_string),
            what: held.what,
            detail: held.detail,
        };
        let suspicions: Vec<RepositorySuspicion> = held.into_iter().map(suspicion).collect();
        let id = project.clone();
        let known = self.handle.view(move |state| state.projects.get(&id).map(|it| it.suspicions.len()));
        // The engine hears of a new project a moment later than we do.
        if !suspicions.is_empty() || known.await?.is_some_and(|known| known > 0) {
            let input = ProjectInput::RepositorySeen { suspicions };
            self.handle.ask(Input::Project { project: project.clone(), input }).await?;
        }
        Ok(tip)
    }

    /// Has the policy read whenever the merge queue waits for that. Ends with the engine.
    pub(crate) async fn after_landings(&self) -> Result<(), LookError> {
        loop {
            let awaiting = |state: &State, seq| {
                let due = state.projects.iter().filter(|(_, known)| known.queue.policy_due);
                (due.map(|(id, _)| id.clone()).collect::<Vec<_>>(), seq)
            };
            let (due, seq) = self.handle.view_at(awaiting).await?;
            due.iter().for_each(|project| self.look_at(project));
            let mut news = self.handle.subscribe(seq);
            loop {
                match news.next().await {
                    Ok(Some(published)) => {
                        if let Event::Queue(project, QueueEvent::Landed { .. }) = &published.event
                            && self.awaits_policy(project).await?
                        {
                            self.look_at(project);
                        }
                    }
                    Ok(None) => return Ok(()),
                    Err(err) => {
                        tracing::warn!(%err, "landings could not be read; that is repeated");
                        break;
                    }
                }
            }
            tokio::time::sleep(UNREAD).await;
        }
    }

    async fn awaits_policy(&self, project: &ProjectId) -> Result<bool, LookError> {
        let id = project.clone();
        let due = move |state: &State| state.projects.get(&id).is_some_and(|known| known.queue.policy_due);
        Ok(self.handle.view(due).await?)
    }

    /// The policy of a project, read anew if its base has moved.
    pub(crate) async fn read_policy(&self, project: &ProjectId) -> Result<ReadPolicy, LookError> {
        self.see_policy(project).await?;
        let known = self.policies().get(project).cloned();
        known.ok_or_else(|| LookError::NoForge(format!("there is no project `{project}`")))
    }

    /// Looks through what the heads of pull requests add, if their policy asks for it and that was not done yet. Returns those
    /// of which that could not be read; what was read is of exactly the head and base that were seen.
    pub(crate) async fn look_through(
        &self,
        scm: &dyn Scm,
        seen: &[(PullId, PullFacts)],
    ) -> Result<BTreeSet<PullId>, LookError> {
        let mut unread = BTreeSet::new();
        for (pull, facts) in seen.iter().filter(|(_, facts)| facts.state == PullState::Open) {
            let (id, head) = (pull.clone(), facts.head.clone());
            let wanted = self.handle.view(move |state| {
                let policy = &state.projects.get(&id.project)?.policy;
                let rules = policy.looks_for()?;
                let known = state.pulls.get(&id)?.scan.as_ref();
                let done = known.is_some_and(|scan| scan.rules == rules && scan.head == head);
                (!done).then(|| (policy.clone(), rules))
            });
            let Some((policy, rules)) = wanted.await? else { continue };
            let diff = match scm.need_reviews() {
                Ok(reviews) => reviews.diff_at(pull, &facts.head, &facts.base, DIFF).await,
                Err(err) => Err(err),
            };
            let scan = match diff {
                Ok(diff) => found(policy, facts, diff).await,
                Err(err) if err.may_pass() => {
                    tracing::warn!(%pull, %err, "what it adds could not be read; that is repeated");
                    unread.insert(pull.clone());
                    continue;
                }
                Err(err) => Some(ScanResult {
                    head: facts.head.clone(),
                    rules,
                    found: vec![],
                    more: false,
                    failed: Some(err.to_string()),
                }),
            };
            if let Some(scan) = scan {
                let input = PullInput::Scanned(Box::new(scan));
                self.handle.ask(Input::Pull { pull: pull.clone(), input }).await?;
            }
        }
        Ok(unread)
    }
}

/// Scans a diff on another thread, for a bounded time.
async fn found(policy: Policy, facts: &PullFacts, diff: String) -> Option<ScanResult> {
    let head = facts.head.clone();
    // A diff that was cut is exactly as long as was asked for, and one that was not is shorter.
    let look = move || ao_scan::scan(&policy, &head, &diff, diff.len() < DIFF);
    tokio::task::spawn_blocking(look).await.ok().flatten()
}

/// Returns the policy for the engine, and its settings for people.
fn counted(
    on_base: &OnBase,
    own: Option<&PolicyConfig>,
    branch: &str,
    now: Timestamp,
) -> (ProjectInput, Result<Vec<PolicySetting>, String>) {
    match &on_base.policy {
        Err(why) => (ProjectInput::PolicyBroken { why: why.clone() }, Err(why.clone())),
        Ok(file) => {
            let from = format!("{POLICY_FILE} on {branch}");
            let file = file.as_ref().map(|policy| PolicyLayer { from: &from, policy });
            let layers: Vec<PolicyLayer<'_>> =
                file.into_iter().chain(own.map(|policy| PolicyLayer { from: "config", policy })).collect();
            let counts = in_force(&layers, now);
            let policy = (!layers.is_empty()).then(|| Box::new(counts.policy));
            (ProjectInput::PolicySeen(policy), Ok(counts.fields))
        }
    }
}

/// Reads the policy on the base branch of a repository, without a forge.
pub async fn on_base(repository: &Utf8Path, branch: &str) -> OnBase {
    let git = Git::plain(repository.as_std_path());
    let read = async {
        let Some(tip) = git.base_tip(branch).await.map_err(unread)? else { return Ok((None, None)) };
        let bytes = match git.file_at(&tip, POLICY_FILE, MOST + 1).await.map_err(unread)? {
            FileContent::Missing => None,
            FileContent::NotPlain => return Err(format!("{POLICY_FILE} is no plain file")),
            FileContent::Plain(bytes) => Some(bytes),
        };
        Ok((Some(tip), bytes))
    };
    match read.await {
        Ok((tip, bytes)) => OnBase { tip, policy: parsed(bytes) },
        Err(why) => OnBase { tip: None, policy: Err(why) },
    }
}

fn unread(err: impl std::fmt::Display) -> String {
    format!("{POLICY_FILE} could not be read: {err}")
}

fn parsed(bytes: Option<Vec<u8>>) -> Result<Option<PolicyConfig>, String> {
    let Some(bytes) = bytes else { return Ok(None) };
    let text = String::from_utf8(bytes).map_err(|_| format!("{POLICY_FILE} is not UTF-8 text"))?;
    read_policy(policy_path(), &text).map(Some).map_err(|err| in_short(&err))
}
