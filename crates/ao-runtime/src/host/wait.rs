//! Waits for the kernel, without polling.

use std::os::fd::OwnedFd;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Waits until the process behind a handle is gone.
pub(crate) async fn gone(pidfd: OwnedFd) -> std::io::Result<()> {
    readable(pidfd)?.readable().await.map(|_| ())
}

/// Registers a descriptor to be woken when it becomes readable.
#[expect(
    deprecated,
    reason = "its successor is unsafe because of types whose descriptor may change, which that of an `OwnedFd` does not"
)]
pub(crate) fn readable(fd: OwnedFd) -> std::io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(fd, Interest::READABLE)
}
