//! Reports which issues have changed as their files are saved. It waits for events of the system and never polls.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::{broadcast, mpsc};
use tokio::time::{Instant, timeout_at};

use super::FileStorage;
use super::cache::FileCache;

/// Editors write, rename and set permissions in sequence; this long after the last event, a file is complete.
const QUIET: Duration = Duration::from_millis(100);

/// Longest delay of a report, however busy the folder is.
const PATIENCE: Duration = Duration::from_secs(2);

/// A hash and the blockers of each file, by number.
type FilePrints = BTreeMap<u64, (u64, BTreeSet<u64>)>;

impl FileStorage {
    /// Reports the numbers of issues that changed, by us or by others, each once, until the future is dropped.
    pub(in crate::local) async fn watch(
        &self,
        mut own: broadcast::Receiver<u64>,
        report: impl Fn(u64) + Send,
    ) {
        let mut folders = WatchedFolders::new(&self.folder.root);
        folders.refresh();
        let mut before = self.look(FileCache::prints).await.unwrap_or_default();
        loop {
            tokio::select! {
                news = own.recv() => match news {
                    Err(broadcast::error::RecvError::Closed) => return,
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                },
                () = folders.changed() => {}
            }
            // Before the look, so that later changes are noticed.
            folders.refresh();
            match self.look(FileCache::prints).await {
                Ok(after) => {
                    different(&before, &after).into_iter().for_each(&report);
                    before = after;
                }
                Err(err) => tracing::warn!(%err, "the issues' files could not be looked at"),
            }
        }
    }
}

/// Returns the issues that were changed, added or removed, and those that wait for one of them.
fn different(before: &FilePrints, after: &FilePrints) -> BTreeSet<u64> {
    let numbers: BTreeSet<u64> = before.keys().chain(after.keys()).copied().collect();
    let changed: BTreeSet<u64> = numbers.into_iter().filter(|n| before.get(n) != after.get(n)).collect();
    let waits = |(_, (_, blockers)): &(&u64, &(u64, BTreeSet<u64>))| !blockers.is_disjoint(&changed);
    let waiting: Vec<u64> = after.iter().filter(waits).map(|(number, _)| *number).collect();
    changed.into_iter().chain(waiting).collect()
}

/// Watches the folder of the issues and its parents, because it may come and go with every branch.
struct WatchedFolders {
    paths: [Utf8PathBuf; 3],
    /// The identity of each folder when its watch began.
    watched: BTreeMap<Utf8PathBuf, (u64, u64)>,
    /// Absent if the system provides none.
    watcher: Option<RecommendedWatcher>,
    news: mpsc::UnboundedReceiver<()>,
}

impl WatchedFolders {
    fn new(root: &Utf8Path) -> WatchedFolders {
        // Events contain resolved paths.
        let root = root.canonicalize_utf8().unwrap_or_else(|_| root.to_owned());
        let paths = [root.clone(), root.join(".ao"), root.join(".ao/issues")];
        let (above, issues) = (paths[1].clone(), paths[2].clone());
        // Unbounded, because the sender cannot wait; it is drained at once.
        let (sender, news) = mpsc::unbounded_channel();
        let report = move |event: Result<Event, notify::Error>| {
            let ours = |path: &std::path::Path| path == above || path.starts_with(&issues);
            let worth_a_look = match &event {
                Ok(event) if matches!(event.kind, EventKind::Access(_)) => false,
                Ok(event) => event.need_rescan() || event.paths.iter().any(|path| ours(path)),
                // An event was missed.
                Err(_) => true,
            };
            if worth_a_look {
                // The watch may be over already.
                _ = sender.send(());
            }
        };
        let watcher = notify::recommended_watcher(report).inspect_err(|err| {
            tracing::warn!(%err, "issues' files are not watched; they are read when they are asked for");
        });
        WatchedFolders { paths, watched: BTreeMap::new(), watcher: watcher.ok(), news }
    }

    /// Watches the folders that exist now. A replaced folder has to be watched again.
    fn refresh(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        for path in &self.paths {
            // Not through a link: its target is not ours.
            let now = path
                .symlink_metadata()
                .ok()
                .filter(|meta| meta.is_dir())
                .map(|meta| (meta.dev(), meta.ino()));
            if self.watched.get(path) == now.as_ref() {
                continue;
            }
            if self.watched.remove(path).is_some() {
                // The system has dropped the watch together with the folder.
                _ = watcher.unwatch(path.as_std_path());
            }
            let Some(now) = now else { continue };
            match watcher.watch(path.as_std_path(), RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.watched.insert(path.clone(), now);
                }
                Err(err) => tracing::warn!(%err, %path, "issues' files are not watched here"),
            }
        }
    }

    /// Waits for an event, and then until there was none for a moment.
    async fn changed(&mut self) {
        if self.news.recv().await.is_none() {
            return std::future::pending().await;
        }
        let last = Instant::now() + PATIENCE;
        while let Ok(Some(())) = timeout_at(last.min(Instant::now() + QUIET), self.news.recv()).await {}
    }
}
