//! Shared parts of all tests: a checkout, a tracker, and tasks to put there.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use ao_core::pull::{AuthorFacts, AuthorStanding};
use ao_core::{ProjectId, TaskId, Timestamp};
use ao_ports::{NewTask, TaskFilter, Tracker};
use ao_testkit::contract::tracker::TrackerBench;
use ao_testkit::{ManualClock, MemoryRecords};
use ao_tracker::{Keep, LocalTracker, Options};
use async_trait::async_trait;
use camino::{Utf8Path, Utf8PathBuf};
use tempfile::TempDir;

/// A project with local issues, which goes away with the test.
pub(crate) struct Bench {
    dir: TempDir,
    pub(crate) keep: Keep,
    pub(crate) records: MemoryRecords,
    clock: ManualClock,
}

impl Bench {
    pub(crate) fn store() -> Bench {
        let mut bench = Bench::files();
        bench.keep = Keep::Store;
        bench
    }

    pub(crate) fn files() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(dir.path()).unwrap().join("my app");
        fs::create_dir(&root).unwrap();
        let clock = ManualClock::at(Timestamp(1_767_323_045_000));
        Bench { dir, keep: Keep::Files { root }, records: MemoryRecords::default(), clock }
    }

    pub(crate) fn local(&self) -> LocalTracker {
        let options = Options { project: self.project(), keep: self.keep.clone() };
        LocalTracker::new(options, Arc::new(self.records.clone()), Arc::new(self.clock.clone()))
    }

    /// The root of the checkout.
    pub(crate) fn root(&self) -> Utf8PathBuf {
        Utf8Path::from_path(self.dir.path()).unwrap().join("my app")
    }

    pub(crate) fn folder(&self) -> Utf8PathBuf {
        self.root().join(".ao/issues")
    }

    /// A path beside the checkout.
    pub(crate) fn beside(&self, name: &str) -> Utf8PathBuf {
        Utf8Path::from_path(self.dir.path()).unwrap().join(name)
    }

    /// Writes a file as a person does.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> Utf8PathBuf {
        fs::create_dir_all(self.folder()).unwrap();
        let path = self.folder().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder().join(name)).unwrap()
    }

    /// The names in the folder, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = self.folder().read_dir_utf8().unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().to_owned()).collect();
        names.sort();
        names
    }

    pub(crate) fn id(&self, number: u64) -> TaskId {
        TaskId { project: self.project(), key: number.to_string() }
    }

    pub(crate) fn new_task(&self, title: &str) -> NewTask {
        NewTask {
            project: self.project(),
            title: title.into(),
            body: String::new(),
            labels: BTreeSet::new(),
            priority: 0,
            blocked_by: BTreeSet::new(),
            assignee: None,
            by: ann(),
            key: None,
            closed: false,
        }
    }

    /// The titles of all there are, the last change first.
    pub(crate) async fn titles(&self, tracker: &dyn Tracker) -> BTreeSet<String> {
        let filter = TaskFilter { limit: usize::MAX, ..TaskFilter::default() };
        let found = tracker.list(&self.project(), &filter).await.unwrap();
        found.into_iter().map(|seen| seen.facts.title).collect()
    }
}

#[async_trait]
impl TrackerBench for Bench {
    fn project(&self) -> ProjectId {
        ProjectId::new("my-app")
    }

    fn tracker(&self) -> Arc<dyn Tracker> {
        Arc::new(self.local())
    }

    async fn later(&self) {
        self.clock.advance(1000);
        if self.keep == Keep::Store {
            return;
        }
        // The times of files go on in steps of the system's own.
        let probe = self.beside("probe");
        let now = || {
            fs::write(&probe, "now").unwrap();
            let modified = probe.metadata().unwrap().modified().unwrap();
            modified.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis()
        };
        let before = now();
        while now() <= before + 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

pub(crate) fn ann() -> AuthorFacts {
    AuthorFacts { login: "ann".into(), standing: AuthorStanding::Owner }
}
