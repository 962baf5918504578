//! Waiting until something has come into a folder.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A folder that is watched.
pub(super) struct Watch {
    events: AsyncFd<OwnedFd>,
}

impl Watch {
    /// Watches from now on. Must be called within a tokio runtime.
    pub(super) fn folder(path: &Path) -> io::Result<Watch> {
        let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        // Also that it was moved away, or nobody would hear of the one in its place. That it was removed is always told.
        let what = WatchFlags::MOVED_TO | WatchFlags::CREATE | WatchFlags::MOVE_SELF;
        inotify::add_watch(&events, path, what)?;
        Ok(Watch { events: readable(events)? })
    }

    /// Waits until something has come since the last call. What it was is for the folder to say.
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

/// Lets the kernel wake us when there is something to read.
#[expect(
    deprecated,
    reason = "its successor is unsafe because of types whose descriptor may change, which that of an `OwnedFd` does not"
)]
fn readable(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(fd, Interest::READABLE)
}
