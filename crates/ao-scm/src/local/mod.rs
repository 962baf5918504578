//! The local forge: pull requests, threads and reviews on any git repository, without a service.
//!
//! ```text
//!  refs ──watch──▶ look ──moves──▶ refresh ──▶ pull_records (open ones also in memory) ──▶ facts
//!                                                  ▲
//!  people, agents ──open, comment, review, edit, merge──┘
//! ```
//!
//! Branches are the repository's own: agents work in worktrees of it, so a commit is visible as soon as it is made,
//! with or without a remote. All commits of a pull request are pinned by refs below `refs/ao/pulls/`. Nothing is ever
//! pushed, no hook of the user is run or changed, and no file of a checkout is touched except by a fast-forward that
//! git itself allows.

mod archive;
mod base_tip;
mod branch_renames;
mod check_service;
mod comments;
mod commits;
mod delete_branch;
mod diff;
mod edit;
mod edit_comment;
mod facts;
mod file_lines;
mod land;
mod line_mapping;
mod look;
mod merge;
mod merge_chain;
mod merge_tree;
mod open;
mod pull_records;
mod record;
mod refresh;
mod repository;
mod review;
mod scm;
mod stack;
mod start_checks;
mod threads;
mod trust;
mod validate;
mod views;
mod watch;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};

use ao_core::{ProjectId, PullId, Timestamp};
use ao_git::{GitError, Queues, Settings};
use ao_ports::{CheckSpec, Clock, HintReceiver, LandingStrategy, LookHint, Records, ScmError, StoreError};
use camino::Utf8PathBuf;
use tokio::sync::Notify;

use archive::ArchiveBacklog;
pub use check_service::{CheckJob, CheckService};
use merge_chain::MergeCache;
use pull_records::{PullEntry, PullRecords, WriteAccess};
use repository::LocalRepository;
use trust::BaseTrust;
pub use trust::Witness;

use crate::error_chain::error_chain;

/// Options of the forge of one project.
#[derive(Debug, Clone)]
pub struct Options {
    pub project: ProjectId,
    /// The user's checkout.
    pub repository: Utf8PathBuf,
    pub default_branch: String,
    pub checks: Vec<CheckSpec>,
    /// Default merge strategy.
    pub strategy: LandingStrategy,
    /// Shared with everything that changes repositories.
    pub queues: Arc<Queues>,
    pub settings: Settings,
    /// Lists the sessions that could have changed the repository. Without it, every change counts as a person's.
    pub witness: Option<Arc<dyn Witness>>,
}

/// The forge of one project.
pub struct LocalScm {
    options: Options,
    repository: LocalRepository,
    pulls: PullRecords,
    merge_cache: MergeCache,
    trust: BaseTrust,
    checks: Arc<dyn CheckService>,
    clock: Arc<dyn Clock>,
    /// Receives hints once a watch runs. Locked only to copy it.
    hints: RwLock<Option<Arc<dyn HintReceiver>>>,
    /// True while the repository's refs are watched, so that the known refs are current.
    watched: AtomicBool,
    /// True if something has moved since the last look.
    dirty: Arc<AtomicBool>,
    /// True if an entry was saved whose checks have not been started yet.
    owes: AtomicBool,
    /// Notified then, so that the watch starts them if the writer does not.
    owing: Notify,
    unarchived: tokio::sync::Mutex<ArchiveBacklog>,
}

/// Errors of a project's local forge.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    #[error("`{path}` is not a git repository that can be used")]
    NoRepository {
        path: Utf8PathBuf,
        #[source]
        err: GitError,
    },
    #[error("git {found} is too old for pull requests in `{path}`; install git 2.39 or newer")]
    OldGit { path: Utf8PathBuf, found: String },
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the record `{key}` cannot be read; it was written by a newer ao, or is damaged")]
    Unreadable {
        key: String,
        #[source]
        err: serde_json::Error,
    },
    #[error(transparent)]
    Forge(#[from] ScmError),
}

impl From<LocalError> for ScmError {
    fn from(err: LocalError) -> ScmError {
        match err {
            LocalError::Forge(err) => err,
            err => ScmError::Failed(error_chain(&err)),
        }
    }
}

impl LocalScm {
    /// Opens the forge of a project and brings it up to date with its repository.
    pub async fn open(
        options: Options,
        records: Arc<dyn Records>,
        checks: Arc<dyn CheckService>,
        clock: Arc<dyn Clock>,
    ) -> Result<LocalScm, LocalError> {
        let repository = LocalRepository::open(&options).await?;
        let pulls = PullRecords::load(options.project.clone(), records).await?;
        let scm = LocalScm {
            options,
            repository,
            pulls,
            merge_cache: MergeCache::default(),
            trust: BaseTrust::default(),
            checks,
            clock,
            hints: RwLock::default(),
            watched: AtomicBool::new(false),
            dirty: Arc::new(AtomicBool::new(true)),
            owes: AtomicBool::new(false),
            owing: Notify::new(),
            unarchived: tokio::sync::Mutex::default(),
        };
        scm.look(&mut *scm.pulls.writing().await).await?;
        scm.start_missing_checks().await;
        Ok(scm)
    }

    /// Returns the default merge strategy.
    pub fn strategy(&self) -> LandingStrategy {
        self.options.strategy
    }

    fn id(&self, number: u64) -> PullId {
        PullId { project: self.options.project.clone(), number }
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Brings the known refs up to date. Free while they are watched and nothing moves.
    async fn up_to_date(&self) -> Result<(), LocalError> {
        if !self.is_behind() {
            return Ok(());
        }
        self.look(&mut *self.pulls.writing().await).await
    }

    /// Does the same for one pull request. A caller that has just pushed may be faster than the watch, so the
    /// branches of the pull request are checked directly: two files, and no process.
    async fn up_to_date_about(&self, pull: &PullId) -> Result<(), LocalError> {
        if !self.is_behind_about(pull) {
            return Ok(());
        }
        self.look(&mut *self.pulls.writing().await).await
    }

    fn is_behind_about(&self, pull: &PullId) -> bool {
        let moved =
            || self.pulls.open_one(pull.number).is_some_and(|entry| self.repository.has_moved(&entry.pull));
        self.is_behind() || moved()
    }

    fn is_behind(&self) -> bool {
        let [watched, dirty, owes] =
            [&self.watched, &*self.dirty, &self.owes].map(|known| known.load(Ordering::SeqCst));
        !watched || dirty || owes
    }

    /// Saves pull requests, and sends hints about them.
    async fn save(&self, writing: &mut WriteAccess, entries: Vec<PullEntry>) -> Result<(), LocalError> {
        let numbers: Vec<u64> = entries.iter().map(|entry| entry.pull.number).collect();
        if entries.iter().any(|entry| self.is_due(&entry.pull)) {
            self.owes.store(true, Ordering::SeqCst);
            self.owing.notify_one();
        }
        self.pulls.save(writing, entries).await?;
        for number in numbers {
            self.hint(LookHint::Pull(self.id(number)));
        }
        Ok(())
    }

    fn hint(&self, hint: LookHint) {
        let hints = self.hints.read().expect("no panic while it is copied").clone();
        if let Some(hints) = hints {
            hints.hint(hint);
        }
    }

    /// Returns a pull request of this project, in any state.
    async fn entry(&self, pull: &PullId) -> Result<Arc<PullEntry>, LocalError> {
        let found = match pull.project == self.options.project {
            true => self.pulls.find(pull.number).await?,
            false => None,
        };
        found.ok_or_else(|| ScmError::not_found(format!("the pull request `{pull}`")).into())
    }
}

impl fmt::Debug for LocalScm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalScm").field("options", &self.options).finish_non_exhaustive()
    }
}
