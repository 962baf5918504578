//! Binds the socket and the port.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::time::{Instant, sleep};

use crate::serve::{Bind, ServerError};

/// The maximum length of a socket's path, on the most restrictive system.
const PATH_MOST: usize = 103;
/// The pause between two attempts to bind a port that is in use.
const BIND_PAUSE: Duration = Duration::from_millis(20);
/// The interval at which the existence of the socket is checked.
const SOCKET_LOOKS: Duration = Duration::from_secs(1);

/// A bound port.
#[derive(Debug)]
pub struct Listener {
    pub(crate) listener: TcpListener,
    pub(crate) addr: SocketAddr,
}

impl Listener {
    /// Binds a port; if it is in use, retries for as long as `patience`.
    pub async fn bind(bind: Bind, patience: Duration) -> Result<Listener, ServerError> {
        let Bind { addr, allow_remote } = bind;
        if !addr.ip().to_canonical().is_loopback() && !allow_remote {
            return Err(ServerError::Remote { addr });
        }
        let until = Instant::now() + patience;
        let listener = loop {
            match TcpListener::bind(addr).await {
                Ok(listener) => break listener,
                Err(err) if err.kind() == ErrorKind::AddrInUse && Instant::now() < until => {
                    sleep(BIND_PAUSE).await;
                }
                Err(err) if err.kind() == ErrorKind::AddrInUse => {
                    return Err(ServerError::PortInUse { addr });
                }
                Err(err) => return Err(ServerError::Bind { addr, err }),
            }
        };
        let addr = listener.local_addr().map_err(|err| ServerError::Bind { addr, err })?;
        Ok(Listener { listener, addr })
    }

    /// Returns the address with the bound port.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

/// Our socket on disk.
#[derive(Debug)]
pub(crate) struct Socket {
    path: PathBuf,
    /// Identifies it as ours, not that of a daemon that came after us.
    inode: u64,
}

/// Creates the socket, for our own user only. A socket without a listener is replaced.
pub(crate) async fn unix(path: PathBuf) -> Result<(UnixListener, Socket), ServerError> {
    let failed = |err| ServerError::Socket { path: path.clone(), err };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    if !is_private(folder).map_err(failed)? {
        return Err(ServerError::OpenFolder { folder: folder.to_owned() });
    }
    match fs::symlink_metadata(&path) {
        Ok(found) if !found.file_type().is_socket() => return Err(ServerError::NotASocket { path }),
        Ok(_) if answers(&path).await => return Err(ServerError::SocketInUse { path }),
        _ => {}
    }
    // Created in a private folder, by a path no longer than its own, and moved to its place once no other user can
    // access it.
    let private = tempfile::Builder::new()
        .prefix(".s")
        .rand_bytes(2)
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(folder)
        .map_err(failed)?;
    let made = private.path().join("s");
    if made.as_os_str().len().max(path.as_os_str().len()) > PATH_MOST {
        return Err(ServerError::PathTooLong { path });
    }
    let listener = UnixListener::bind(&made).map_err(failed)?;
    fs::set_permissions(&made, Permissions::from_mode(0o600)).map_err(failed)?;
    let inode = fs::symlink_metadata(&made).map_err(failed)?.ino();
    fs::rename(&made, &path).map_err(failed)?;
    Ok((listener, Socket { path, inode }))
}

/// Returns `true` if no other user can create files in a folder, such as a socket in place of ours: it is a folder, it
/// belongs to our user, and only they may write to it. In a world-writable folder such as `/tmp` it must not be a
/// symbolic link either: its creator could redirect it at any time.
pub fn is_private(folder: &Path) -> io::Result<bool> {
    let above = folder.parent().map(fs::metadata);
    let shared = above.is_some_and(|above| above.is_ok_and(|above| above.mode() & 0o002 != 0));
    let found = if shared { fs::symlink_metadata(folder)? } else { fs::metadata(folder)? };
    let ours = found.uid() == rustix::process::geteuid().as_raw();
    Ok(found.is_dir() && ours && found.mode() & 0o022 == 0)
}

async fn answers(path: &Path) -> bool {
    match UnixStream::connect(path).await {
        Ok(_) => true,
        // The backlog is full: there is a listener, however slow.
        Err(err) => err.kind() == ErrorKind::WouldBlock,
    }
}

impl Socket {
    /// Waits until it is deleted or replaced.
    pub(crate) async fn gone(&self) {
        loop {
            sleep(SOCKET_LOOKS).await;
            match fs::symlink_metadata(&self.path) {
                Ok(found) if found.ino() == self.inode => {}
                Ok(_) => return,
                Err(err) if err.kind() == ErrorKind::NotFound => return,
                // It may still exist; a folder that cannot be read for a moment proves nothing.
                Err(_) => {}
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn remove(self) {
        let removed = match fs::symlink_metadata(&self.path) {
            Ok(found) if found.ino() == self.inode => fs::remove_file(&self.path),
            Ok(_) => Ok(()),
            Err(err) => Err(err),
        };
        if let Err(err) = removed.or_else(ignore_missing) {
            tracing::warn!(path = %self.path.display(), %err, "the socket stays behind");
        }
    }
}

fn ignore_missing(err: io::Error) -> io::Result<()> {
    if err.kind() == ErrorKind::NotFound { Ok(()) } else { Err(err) }
}
