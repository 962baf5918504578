//! Waits until a file is added to a folder.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A watched folder.
pub(super) struct FolderWatch {
    events: AsyncFd<OwnedFd>,
}

impl FolderWatch {
    /// Watches from now on. Must be called within a tokio runtime.
    pub(super) fn folder(path: &Path) -> io::Result<FolderWatch> {
        let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        // Includes a move of the folder itself, or a replacement would go unnoticed. Its removal is always reported.
        let what = WatchFlags::MOVED_TO | WatchFlags::CREATE | WatchFlags::MOVE_SELF;
        inotify::add_watch(&events, path, what)?;
        Ok(FolderWatch { events: readable(events)? })
    }

    /// Waits until something was added since the last call. The caller reads the folder to see what.
    pub(super) async fn changed(&self) -> io::Result<()> {
        let mut guard = self.events.readable().await?;
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(self.events.get_ref(), &mut buffer);
        loop {
            match reader.next() {
                Ok(_) => {}
                Err(rustix::io::Errno::AGAIN) => break,
                Err(err) => return Err(err.into()),
            }
        }
        guard.clear_ready();
        Ok(())
    }
}

/// Registers a descriptor to be woken when it becomes readable.
#[expect(
    deprecated,
    reason = "its successor is unsafe because of types whose descriptor may change, which that of an `OwnedFd` does not"
)]
fn readable(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(fd, Interest::READABLE)
}
