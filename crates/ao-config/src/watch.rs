//! Tells when a configuration file changed, so that it can be read again.
//!
//! It reads nothing itself. Whoever hears of a change loads the files again, and keeps what it has if they are wrong.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use crate::find::{LOCAL_FILE, Layer, LayerKind, Places};

/// Editors write, rename and set permissions one after another; this long after the last of it, a file is whole.
const QUIET: Duration = Duration::from_millis(100);

/// However busy a file is, news of it does not wait longer than this.
const PATIENCE: Duration = Duration::from_secs(2);

/// Watches files. Dropping it ends the watch.
#[derive(Debug)]
pub struct Watcher {
    /// Files by their names, in the folders that are watched.
    changes: mpsc::UnboundedReceiver<PathBuf>,
    /// What was heard of and not told yet, because whoever waited for it has given up.
    heard: BTreeSet<PathBuf>,
    _watcher: RecommendedWatcher,
}

/// Why nothing is watched.
#[derive(Debug, thiserror::Error)]
#[error("failed to watch `{path}` for changes")]
pub struct WatchError {
    pub path: Utf8PathBuf,
    #[source]
    pub err: notify::Error,
}

/// The files to watch for a configuration: its own, and those that would join it if they were made.
pub fn files(layers: &[Layer], places: &Places) -> Vec<Utf8PathBuf> {
    let mut files: BTreeSet<Utf8PathBuf> = layers.iter().map(|layer| layer.path.clone()).collect();
    files.extend(places.user_file());
    let project = layers.iter().find(|layer| layer.kind == LayerKind::Project);
    files.extend(project.map(|layer| layer.path.with_file_name(LOCAL_FILE)));
    files.into_iter().collect()
}

impl Watcher {
    /// Watches the folders of these files, because an editor that saves puts a new file in the place of the old one.
    /// Folders that do not exist are left out.
    pub fn new(files: &[Utf8PathBuf]) -> Result<Watcher, WatchError> {
        let (sender, changes) = mpsc::unbounded_channel();
        // A link's target is a file in some other folder, and changes there.
        let real = |path: &Utf8PathBuf| path.canonicalize_utf8().ok();
        let folder_real =
            |path: &Utf8PathBuf| Some(path.parent()?.canonicalize_utf8().ok()?.join(path.file_name()?));
        let files: BTreeSet<Utf8PathBuf> =
            files.iter().flat_map(|path| [real(path), folder_real(path)]).flatten().collect();
        let watched = files.clone();
        let tell = move |event: Result<Event, notify::Error>| {
            let Ok(event) = event else { return };
            if matches!(event.kind, EventKind::Access(_)) {
                return;
            }
            for path in event.paths {
                if Utf8Path::from_path(&path).is_some_and(|path| watched.contains(path)) {
                    // Nobody listens any more once the watch is dropped.
                    let _ = sender.send(path);
                }
            }
        };
        let failed = |path: &Utf8Path, err| WatchError { path: path.to_path_buf(), err };
        let mut watcher = notify::recommended_watcher(tell).map_err(|err| failed(Utf8Path::new("."), err))?;
        let folders: BTreeSet<&Utf8Path> = files.iter().filter_map(|path| path.parent()).collect();
        for folder in folders {
            watcher
                .watch(folder.as_std_path(), RecursiveMode::NonRecursive)
                .map_err(|err| failed(folder, err))?;
        }
        Ok(Watcher { changes, heard: BTreeSet::new(), _watcher: watcher })
    }

    /// Waits for a change, and then until it has been quiet for a moment. Returns the files that changed.
    ///
    /// Can be given up at any time; the next call tells of what was missed, or of what came after.
    pub async fn changed(&mut self) -> Vec<Utf8PathBuf> {
        if self.heard.is_empty() {
            let Some(first) = self.changes.recv().await else { return std::future::pending().await };
            self.heard.insert(first);
        }
        let last = Instant::now() + PATIENCE;
        while let Ok(Some(path)) = timeout_at(last.min(Instant::now() + QUIET), self.changes.recv()).await {
            self.heard.insert(path);
        }
        let changed = std::mem::take(&mut self.heard);
        changed.into_iter().filter_map(|path| Utf8PathBuf::try_from(path).ok()).collect()
    }
}
