//! Paths of the data directory and the daemon's socket.

use std::os::unix::ffi::OsStrExt;

use camino::{Utf8Path, Utf8PathBuf};
use rustix::process::getuid;

use crate::error::CommandError;

/// Returns the data directory: the given one, or the user's default.
pub(crate) fn data_dir(given: Option<&Utf8Path>) -> Result<Utf8PathBuf, CommandError> {
    let absolute = |dir: &Utf8Path| match std::path::absolute(dir).map(Utf8PathBuf::from_path_buf) {
        Ok(Ok(absolute)) => absolute,
        _ => dir.to_owned(),
    };
    // An empty value counts as unset, as for the other variables.
    if let Some(dir) = given.filter(|dir| !dir.as_str().is_empty()) {
        return Ok(absolute(dir));
    }
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    // The specification requires to ignore relative paths.
    if let Some(data) = set("XDG_DATA_HOME").map(Utf8PathBuf::from).filter(|data| data.is_absolute()) {
        return Ok(data.join("ao"));
    }
    match set("HOME") {
        Some(home) => Ok(Utf8PathBuf::from(home).join(".local/share/ao")),
        None => Err(CommandError::config("the data directory is unknown: HOME is not set")
            .hint("set AO_DATA_DIR, or pass `--data-dir`")),
    }
}

/// Returns the current folder.
pub(crate) fn here() -> Result<Utf8PathBuf, CommandError> {
    let here = std::env::current_dir().map_err(|err| {
        CommandError::environment(format!("the current folder cannot be used: {err}"))
            .hint("use one that exists")
    })?;
    Utf8PathBuf::from_path_buf(here).map_err(|here| {
        CommandError::environment(format!("the name of the folder `{}` is not UTF-8 text", here.display()))
            .hint("rename it")
    })
}

/// Maximum length of a socket's path on every supported system, without the terminating byte.
const SOCKET_PATH: usize = 103;

/// Returns the daemon's socket for a client. Refuses one that another user could have created: the process behind it
/// would receive everything, and be trusted.
pub(crate) fn way_in(data_dir: &Utf8Path) -> Result<Utf8PathBuf, CommandError> {
    let socket = socket(data_dir);
    let folder = socket.parent().filter(|folder| *folder != data_dir);
    match folder {
        Some(folder) if folder.symlink_metadata().is_ok() && !is_private(folder) => {
            let what = format!("the daemon's socket would be in `{folder}`, which other users can access");
            Err(CommandError::environment(what).hint(format!(
                "check its owner and remove it, or `chmod 700 {folder}` if it is yours; or choose a data directory with a shorter path"
            )))
        }
        _ => Ok(socket),
    }
}

/// Returns the daemon's socket: in the data directory or, if its path is too long for a socket, in a private folder
/// under a name derived from it: the login's runtime folder, or else the temporary folder.
pub(crate) fn socket(data_dir: &Utf8Path) -> Utf8PathBuf {
    let near = data_dir.join("ao.sock");
    if near.as_os_str().as_bytes().len() <= SOCKET_PATH {
        return near;
    }
    let user = getuid().as_raw();
    let set = std::env::var("XDG_RUNTIME_DIR").ok().filter(|dir| !dir.is_empty());
    let login = set.map_or_else(|| format!("/run/user/{user}").into(), Utf8PathBuf::from);
    far(data_dir, &login, &Utf8PathBuf::from(format!("/tmp/ao-{user}")))
}

fn far(data_dir: &Utf8Path, login: &Utf8Path, temporary: &Utf8Path) -> Utf8PathBuf {
    // FNV-1a: enough to distinguish a user's few data directories, and stable across versions.
    let hash = data_dir.as_str().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let name = format!("{hash:016x}.sock");
    let in_login = login.join("ao").join(&name);
    let fits =
        login.is_absolute() && in_login.as_os_str().as_bytes().len() <= SOCKET_PATH && is_private(login);
    let in_temporary = temporary.join(name);
    // A daemon that was started without a login's runtime folder is found from within one.
    let known = in_temporary.exists() && !in_login.exists() && is_private(temporary);
    if fits && !known { in_login } else { in_temporary }
}

fn is_private(folder: &Utf8Path) -> bool {
    ao_server::is_private(folder.as_std_path()).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_socket_lies_in_its_data_folder_unless_that_is_too_deep() {
        assert_eq!(socket("/srv/me/.local/share/ao".into()), "/srv/me/.local/share/ao/ao.sock");
        let deep = Utf8PathBuf::from(format!("/{}", "deep/".repeat(30)));
        let short = socket(&deep);
        assert!(short.as_str().len() <= SOCKET_PATH, "{short}");
        assert_eq!(short, socket(&deep));
        assert_ne!(short, socket(&deep.join("er")));
    }

    #[test]
    fn a_socket_lies_in_the_folder_of_the_login_if_that_is_ours_alone() {
        let home = tempfile::tempdir().unwrap();
        let home = Utf8Path::from_path(home.path()).unwrap();
        let (login, temporary) = (home.join("login"), home.join("temporary"));
        let lies_in = |folder: &Utf8Path| far("/deep".into(), &login, &temporary).starts_with(folder);
        assert!(lies_in(&temporary), "there is no login");
        fs::create_dir(&login).unwrap();
        fs::set_permissions(&login, Permissions::from_mode(0o700)).unwrap();
        assert!(lies_in(&login));
        fs::set_permissions(&login, Permissions::from_mode(0o777)).unwrap();
        assert!(lies_in(&temporary), "anybody could put a socket there");
        fs::set_permissions(&login, Permissions::from_mode(0o700)).unwrap();
        // An existing one is kept.
        let socket = far("/deep".into(), &home.join("none"), &temporary);
        fs::create_dir(&temporary).unwrap();
        fs::set_permissions(&temporary, Permissions::from_mode(0o700)).unwrap();
        fs::write(&socket, "").unwrap();
        assert_eq!(far("/deep".into(), &login, &temporary), socket);
    }
}
