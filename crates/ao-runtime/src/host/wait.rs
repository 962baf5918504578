//! Waiting for the kernel to wake us, without asking again and again.

use std::os::fd::OwnedFd;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Waits until the process behind a handle is gone.
pub(crate) async fn gone(pidfd: OwnedFd) -> std::io::Result<()> {
    readable(pidfd)?.readable().await.map(|_| ())
}

/// Lets the kernel wake us when there is something to read.
#[expect(
    deprecated,
    reason = "its successor is unsafe because of types whose descriptor may change, which that of an `OwnedFd` does not"
)]
pub(crate) fn readable(fd: OwnedFd) -> std::io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(fd, Interest::READABLE)
}
