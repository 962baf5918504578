//! The forge in the box: pull requests, threads and reviews on any git repository, with no service behind it.
//!
//! ```text
//!  refs ──watch──▶ look ──what moved──▶ renew ──▶ book (records, and what is open in memory) ──▶ facts
//!                                                  ▲
//!  people, agents ──open, comment, review, edit, merge──┘
//! ```
//!
//! Branches are the repository's own: agents work in worktrees of it, so a commit is there the moment it is made, with or
//! without a remote. Everything that a pull request speaks of is pinned by refs below `refs/ao/pulls/`. Nothing is ever
//! pushed, no hook of the user is run or changed, and no file of a checkout is touched but by a fast-forward that git
//! itself agrees to.

mod archive;
mod base;
mod book;
mod branch;
mod checking;
mod checks;
mod commits;
mod diff;
mod edit;
mod facts;
mod file;
mod land;
mod lines;
mod look;
mod merge;
mod names;
mod open;
mod people;
mod record;
mod renamed;
mod renew;
mod repository;
mod review;
mod reword;
mod scm;
mod stack;
mod talk;
mod threads;
mod train;
mod tree;
mod trust;
mod watch;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};

use ao_core::{ProjectId, PullId, Timestamp};
use ao_git::{GitError, Queues, Settings};
use ao_ports::CheckSpec;
use ao_ports::StoreError;
use ao_ports::{Clock, Records};
use ao_ports::{Hint, Hints, TrackerError};
use ao_ports::{ScmError, Strategy};
use camino::Utf8PathBuf;
use tokio::sync::Notify;

use archive::Unarchived;
use book::{Book, Entry, Writing};
pub use checks::{Checks, Job};
use repository::Repository;
use train::Makings;
use trust::Trust;
pub use trust::Witness;

use crate::told::told;

/// What a project's forge is about.
#[derive(Debug, Clone)]
pub struct Options {
    pub project: ProjectId,
    /// The user's checkout.
    pub repository: Utf8PathBuf,
    pub default_branch: String,
    pub checks: Vec<CheckSpec>,
    /// How changes land unless somebody says otherwise.
    pub strategy: Strategy,
    /// Those of everybody who changes repositories.
    pub queues: Arc<Queues>,
    pub settings: Settings,
    /// Who could have changed the repository. Without it, every change of it is a person's.
    pub witness: Option<Arc<dyn Witness>>,
}

/// The forge of one project.
pub struct LocalScm {
    options: Options,
    repository: Repository,
    book: Book,
    makings: Makings,
    trust: Trust,
    checks: Arc<dyn Checks>,
    clock: Arc<dyn Clock>,
    /// Whom news are told, once somebody watches. Held only to take a copy.
    hints: RwLock<Option<Arc<dyn Hints>>>,
    /// Whether the repository's refs are watched, so that what is known of them is up to date.
    watched: AtomicBool,
    /// Whether something has moved since the last look.
    dirty: Arc<AtomicBool>,
    /// Whether something was kept whose checks have not been started yet.
    owes: AtomicBool,
    /// Told then, so that whoever watches starts them if nobody else does.
    owing: Notify,
    unarchived: tokio::sync::Mutex<Unarchived>,
}

/// Why the forge of a project could not do what it was asked.
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
    Forge(#[from] TrackerError),
}

impl From<LocalError> for TrackerError {
    fn from(err: LocalError) -> TrackerError {
        match err {
            LocalError::Forge(err) => err,
            err => TrackerError::Failed(told(&err)),
        }
    }
}

impl From<LocalError> for ScmError {
    fn from(err: LocalError) -> ScmError {
        match err {
            LocalError::Forge(err) => ScmError::Forge(err),
            err => ScmError::Failed(told(&err)),
        }
    }
}

impl LocalScm {
    /// Opens the forge of a project and brings it up to date with its repository, whatever has happened there meanwhile.
    pub async fn open(
        options: Options,
        records: Arc<dyn Records>,
        checks: Arc<dyn Checks>,
        clock: Arc<dyn Clock>,
    ) -> Result<LocalScm, LocalError> {
        let repository = Repository::open(&options).await?;
        let book = Book::load(options.project.clone(), records).await?;
        let scm = LocalScm {
            options,
            repository,
            book,
            makings: Makings::default(),
            trust: Trust::default(),
            checks,
            clock,
            hints: RwLock::default(),
            watched: AtomicBool::new(false),
            dirty: Arc::new(AtomicBool::new(true)),
            owes: AtomicBool::new(false),
            owing: Notify::new(),
            unarchived: tokio::sync::Mutex::default(),
        };
        scm.look(&mut *scm.book.writing().await).await?;
        scm.start_missing_checks().await;
        Ok(scm)
    }

    /// How changes land unless somebody says otherwise.
    pub fn strategy(&self) -> Strategy {
        self.options.strategy
    }

    fn id(&self, number: u64) -> PullId {
        PullId { project: self.options.project.clone(), number }
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Sees to it that what is known of the refs is so. Costs nothing while they are watched and nothing moves.
    async fn up_to_date(&self) -> Result<(), LocalError> {
        if !self.is_behind() {
            return Ok(());
        }
        self.look(&mut *self.book.writing().await).await
    }

    /// The same for what is about one pull request. Whoever has just pushed may ask before the watch has heard of it, so
    /// its branches are looked at themselves: two files, and no process.
    async fn up_to_date_about(&self, pull: &PullId) -> Result<(), LocalError> {
        if !self.is_behind_about(pull) {
            return Ok(());
        }
        self.look(&mut *self.book.writing().await).await
    }

    fn is_behind_about(&self, pull: &PullId) -> bool {
        let moved =
            || self.book.open_one(pull.number).is_some_and(|entry| self.repository.has_moved(&entry.pull));
        self.is_behind() || moved()
    }

    fn is_behind(&self) -> bool {
        let [watched, dirty, owes] =
            [&self.watched, &*self.dirty, &self.owes].map(|known| known.load(Ordering::SeqCst));
        !watched || dirty || owes
    }

    /// Keeps what is new about some pull requests, and tells that there is news.
    async fn save(&self, writing: &mut Writing, entries: Vec<Entry>) -> Result<(), LocalError> {
        let numbers: Vec<u64> = entries.iter().map(|entry| entry.pull.number).collect();
        if entries.iter().any(|entry| self.is_due(&entry.pull)) {
            self.owes.store(true, Ordering::SeqCst);
            self.owing.notify_one();
        }
        self.book.save(writing, entries).await?;
        for number in numbers {
            self.hint(Hint::Pull(self.id(number)));
        }
        Ok(())
    }

    fn hint(&self, hint: Hint) {
        let hints = self.hints.read().expect("nobody panics while copying it").clone();
        if let Some(hints) = hints {
            hints.hint(hint);
        }
    }

    /// A pull request of this project, whatever has become of it.
    async fn entry(&self, pull: &PullId) -> Result<Arc<Entry>, LocalError> {
        let found = match pull.project == self.options.project {
            true => self.book.find(pull.number).await?,
            false => None,
        };
        found.ok_or_else(|| TrackerError::not_found(format!("the pull request `{pull}`")).into())
    }
}

impl fmt::Debug for LocalScm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalScm").field("options", &self.options).finish_non_exhaustive()
    }
}
