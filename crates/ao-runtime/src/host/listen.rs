//! Hearing that files have grown, without asking again and again.
//!
//! ```text
//!  process ──writes──► output.log ──► kernel ──► inotify ──► one task ──► those who listen to that file
//! ```
//!
//! One inotify for all files: a user may have few of those, often 128 over all programs, but watches by the thousand. A
//! file is watched only while somebody listens. To listen to a folder is to listen to the files in it, new ones too.

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

/// Where one can listen to files. Opened by the first who does.
#[derive(Default)]
pub(crate) struct Ear {
    open: Mutex<Option<Open>>,
}

struct Open {
    watched: Arc<Watched>,
    /// The one task. Dropping it ends the hearing.
    task: JoinSet<()>,
}

struct Watched {
    inotify: AsyncFd<OwnedFd>,
    /// By the kernel's number for the file. Held while a watch is added or removed, so that both always agree.
    files: Mutex<HashMap<i32, Sender<()>>>,
}

/// Somebody who listens to one file.
pub(crate) struct Listening {
    watched: Arc<Watched>,
    file: i32,
    heard: Receiver<()>,
}

impl Ear {
    /// Listens to a file from now on. What is written after this has returned is heard.
    pub(crate) fn listen(&self, path: &Path) -> io::Result<Listening> {
        let mut open = self.open.lock().expect("nobody panics while opening it");
        if open.as_mut().is_some_and(|open| open.task.try_join_next().is_some()) {
            *open = None;
        }
        let open = match &mut *open {
            Some(open) => open,
            none => none.insert(Open::new()?),
        };
        let watched = open.watched.clone();
        let mut files = watched.files.lock().expect("nobody panics while counting");
        // The same number again for a file that is watched already.
        let file = inotify::add_watch(
            &watched.inotify,
            path,
            WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::MOVED_TO,
        )?;
        let heard = files.entry(file).or_default().subscribe();
        drop(files);
        Ok(Listening { watched, file, heard })
    }
}

impl Listening {
    /// Returns when the file has been written to since the last time. Cancel-safe. An error means that nothing will be
    /// heard any more.
    pub(crate) async fn heard(&mut self) -> io::Result<()> {
        self.heard.changed().await.map_err(io::Error::other)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut files = self.watched.files.lock().expect("nobody panics while counting");
        // One is this.
        if files.get(&self.file).is_some_and(|sender| sender.receiver_count() == 1) {
            files.remove(&self.file);
            // Fails only if the file is gone, and the watch with it.
            let _ = inotify::remove_watch(&self.watched.inotify, self.file);
        }
    }
}

impl Open {
    fn new() -> io::Result<Open> {
        let inotify = wait::readable(inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?)?;
        let watched = Arc::new(Watched { inotify, files: Mutex::default() });
        let mut task = JoinSet::new();
        task.spawn(hear(watched.clone()));
        Ok(Open { watched, task })
    }
}

async fn hear(watched: Arc<Watched>) {
    loop {
        let heard = match watched.inotify.readable().await {
            Ok(mut ready) => ready.try_io(|inotify| watched.pass_on(inotify.get_ref())),
            Err(err) => Ok(Err(err)),
        };
        if let Ok(Err(err)) = heard {
            tracing::warn!(%err, "output cannot be listened to any more");
            // Whoever listens is told so; the next who wants to opens the ear anew.
            watched.files.lock().expect("nobody panics while counting").clear();
            return;
        }
    }
}

impl Watched {
    /// Wakes those whose files were written to, by one reading of what has happened.
    fn pass_on(&self, inotify: &OwnedFd) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(inotify, &mut space);
        loop {
            let event = match events.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(err) => return Err(err.into()),
            };
            let files = self.files.lock().expect("nobody panics while counting");
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                // Some were lost, and nobody knows whose.
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
