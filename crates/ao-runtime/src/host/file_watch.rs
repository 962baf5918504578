//! Watches files for changes, without polling.
//!
//! ```text
//!  process ──writes──► output.log ──► kernel ──► inotify ──► one task ──► those who listen to that file
//! ```
//!
//! One inotify instance for all files: a user has few of those, often 128 over all programs, but thousands of watches.
//! A file is watched only while a caller waits for it. Watching a folder covers the files in it, including new ones.

use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;
use tokio::sync::watch::{Receiver, Sender};
use tokio::task::JoinSet;

use super::wait;

/// Watches files. Opened on first use.
#[derive(Default)]
pub(crate) struct FileWatcher {
    open: Mutex<Option<OpenWatcher>>,
}

struct OpenWatcher {
    watched: Arc<WatchedFiles>,
    /// The reader task. Dropping it ends all watches.
    task: JoinSet<()>,
}

struct WatchedFiles {
    inotify: AsyncFd<OwnedFd>,
    /// By the kernel's watch number. Locked while a watch is added or removed, so that both always agree.
    files: Mutex<HashMap<i32, Sender<()>>>,
}

/// A watch on one file.
pub(crate) struct FileWatch {
    watched: Arc<WatchedFiles>,
    file: i32,
    heard: Receiver<()>,
}

impl FileWatcher {
    /// Watches a file from now on. Writes after this has returned are noticed.
    pub(crate) fn listen(&self, path: &Path) -> io::Result<FileWatch> {
        let mut open = self.open.lock().expect("no thread panics while opening it");
        if open.as_mut().is_some_and(|open| open.task.try_join_next().is_some()) {
            *open = None;
        }
        let open = match &mut *open {
            Some(open) => open,
            none => none.insert(OpenWatcher::new()?),
        };
        let watched = open.watched.clone();
        let mut files = watched.files.lock().expect("no thread panics while counting");
        // The kernel returns the same number for a file that is already watched.
        let file = inotify::add_watch(
            &watched.inotify,
            path,
            WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::MOVED_TO,
        )?;
        let heard = files.entry(file).or_default().subscribe();
        drop(files);
        Ok(FileWatch { watched, file, heard })
    }
}

impl FileWatch {
    /// Returns when the file was written to since the last call. Cancel-safe. An error means that no further change
    /// will be noticed.
    pub(crate) async fn heard(&mut self) -> io::Result<()> {
        self.heard.changed().await.map_err(io::Error::other)
    }
}

impl Drop for FileWatch {
    fn drop(&mut self) {
        let mut files = self.watched.files.lock().expect("no thread panics while counting");
        // This one counts too.
        if files.get(&self.file).is_some_and(|sender| sender.receiver_count() == 1) {
            files.remove(&self.file);
            // Fails only if the file is gone, and the watch with it.
            let _ = inotify::remove_watch(&self.watched.inotify, self.file);
        }
    }
}

impl OpenWatcher {
    fn new() -> io::Result<OpenWatcher> {
        let inotify = wait::readable(inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?)?;
        let watched = Arc::new(WatchedFiles { inotify, files: Mutex::default() });
        let mut task = JoinSet::new();
        task.spawn(hear(watched.clone()));
        Ok(OpenWatcher { watched, task })
    }
}

async fn hear(watched: Arc<WatchedFiles>) {
    loop {
        let heard = match watched.inotify.readable().await {
            Ok(mut ready) => ready.try_io(|inotify| watched.pass_on(inotify.get_ref())),
            Err(err) => Ok(Err(err)),
        };
        if let Ok(Err(err)) = heard {
            tracing::warn!(%err, "output cannot be listened to any more");
            // All current watches get an error; the next call opens inotify again.
            watched.files.lock().expect("no thread panics while counting").clear();
            return;
        }
    }
}

impl WatchedFiles {
    /// Reads one batch of events and wakes the watches of the files that were written to.
    fn pass_on(&self, inotify: &OwnedFd) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(inotify, &mut space);
        loop {
            let event = match events.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(err) => return Err(err.into()),
            };
            let files = self.files.lock().expect("no thread panics while counting");
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                // Events were lost, so wake every watch.
                files.values().for_each(|sender| sender.send_replace(()));
            } else if let Some(sender) = files.get(&event.wd()) {
                sender.send_replace(());
            }
            drop(files);
            if events.is_buffer_empty() {
                return Ok(());
            }
        }
    }
}
