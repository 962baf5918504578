//! Says which issues changed, as their files are saved. It waits for the system to tell and never polls.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::{broadcast, mpsc};
use tokio::time::{Instant, timeout_at};

use super::FileShelf;
use super::known::Known;

/// Editors write, rename and set permissions one after another; this long after the last of it, a file is whole.
const QUIET: Duration = Duration::from_millis(100);

/// However busy the folder is, news of it does not wait longer than this.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the files hold, by number.
type Prints = BTreeMap<u64, (u64, BTreeSet<u64>)>;

impl FileShelf {
    /// Tells the numbers of issues that changed, by us or by anybody else, each once, for as long as it is polled.
    pub(in crate::local) async fn watch(&self, mut own: broadcast::Receiver<u64>, tell: impl Fn(u64) + Send) {
        let mut folders = Folders::new(&self.folder.root);
        folders.refresh();
        let mut before = self.look(Known::prints).await.unwrap_or_default();
        loop {
            tokio::select! {
                news = own.recv() => match news {
                    Err(broadcast::error::RecvError::Closed) => return,
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                },
                () = folders.changed() => {}
            }
            // Ahead of the look, so that what comes behind it is told.
            folders.refresh();
            match self.look(Known::prints).await {
                Ok(after) => {
                    different(&before, &after).into_iter().for_each(&tell);
                    before = after;
                }
                Err(err) => tracing::warn!(%err, "the issues' files could not be looked at"),
            }
        }
    }
}

/// The issues that changed, came or went, and those that wait for one of them.
fn different(before: &Prints, after: &Prints) -> BTreeSet<u64> {
    let numbers: BTreeSet<u64> = before.keys().chain(after.keys()).copied().collect();
    let changed: BTreeSet<u64> = numbers.into_iter().filter(|n| before.get(n) != after.get(n)).collect();
    let waits = |(_, (_, blockers)): &(&u64, &(u64, BTreeSet<u64>))| !blockers.is_disjoint(&changed);
    let waiting: Vec<u64> = after.iter().filter(waits).map(|(number, _)| *number).collect();
    changed.into_iter().chain(waiting).collect()
}

/// The folder of the issues and those above it, because it may come, go, and come again with every branch.
struct Folders {
    paths: [Utf8PathBuf; 3],
    /// Which folder was there when its watch began.
    watched: BTreeMap<Utf8PathBuf, (u64, u64)>,
    /// Absent if the system gives us none.
    watcher: Option<RecommendedWatcher>,
    news: mpsc::UnboundedReceiver<()>,
}

impl Folders {
    fn new(root: &Utf8Path) -> Folders {
        // Events name real paths.
        let root = root.canonicalize_utf8().unwrap_or_else(|_| root.to_owned());
        let paths = [root.clone(), root.join(".ao"), root.join(".ao/issues")];
        let (above, issues) = (paths[1].clone(), paths[2].clone());
        // No bound, because whoever sends cannot wait; it is emptied at once, and nothing is kept in it.
        let (sender, news) = mpsc::unbounded_channel();
        let tell = move |event: Result<Event, notify::Error>| {
            let ours = |path: &std::path::Path| path == above || path.starts_with(&issues);
            let worth_a_look = match &event {
                Ok(event) if matches!(event.kind, EventKind::Access(_)) => false,
                Ok(event) => event.need_rescan() || event.paths.iter().any(|path| ours(path)),
                // Something was missed.
                Err(_) => true,
            };
            if worth_a_look {
                // Nobody listens any more once the watch is over.
                _ = sender.send(());
            }
        };
        let watcher = notify::recommended_watcher(tell).inspect_err(|err| {
            tracing::warn!(%err, "issues' files are not watched; they are read when they are asked for");
        });
        Folders { paths, watched: BTreeMap::new(), watcher: watcher.ok(), news }
    }

    /// Watches those that are there now. A folder that was replaced has to be watched anew.
    fn refresh(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        for path in &self.paths {
            // Not through a link: what is behind it is none of our business.
            let now = path
                .symlink_metadata()
                .ok()
                .filter(|meta| meta.is_dir())
                .map(|meta| (meta.dev(), meta.ino()));
            if self.watched.get(path) == now.as_ref() {
                continue;
            }
            if self.watched.remove(path).is_some() {
                // The system has forgotten it together with the folder.
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

    /// Waits for news, and then until it has been quiet for a moment.
    async fn changed(&mut self) {
        if self.news.recv().await.is_none() {
            return std::future::pending().await;
        }
        let last = Instant::now() + PATIENCE;
        while let Ok(Some(())) = timeout_at(last.min(Instant::now() + QUIET), self.news.recv()).await {}
    }
}
