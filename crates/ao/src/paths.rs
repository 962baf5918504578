//! Where things are.

use std::os::unix::ffi::OsStrExt;

use camino::{Utf8Path, Utf8PathBuf};
use rustix::process::getuid;

use crate::error::{CommandError, Kind};

/// The folder with all that ao remembers: the one that was given, or the one for the user's data.
pub(crate) fn data_dir(given: Option<&Utf8Path>) -> Result<Utf8PathBuf, CommandError> {
    let absolute = |dir: &Utf8Path| match std::path::absolute(dir).map(Utf8PathBuf::from_path_buf) {
        Ok(Ok(absolute)) => absolute,
        _ => dir.to_owned(),
    };
    // An empty one counts as none, as it does for the other variables.
    if let Some(dir) = given.filter(|dir| !dir.as_str().is_empty()) {
        return Ok(absolute(dir));
    }
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    // By its specification, a path that is not absolute is to be ignored.
    if let Some(data) = set("XDG_DATA_HOME").map(Utf8PathBuf::from).filter(|data| data.is_absolute()) {
        return Ok(data.join("ao"));
    }
    match set("HOME") {
        Some(home) => Ok(Utf8PathBuf::from(home).join(".local/share/ao")),
        None => {
            Err(CommandError::new(Kind::Config, "it is not known where ao keeps its data: HOME is not set")
                .hint("set AO_DATA_DIR, or give `--data-dir`"))
        }
    }
}

/// The folder that one stands in.
pub(crate) fn here() -> Result<Utf8PathBuf, CommandError> {
    let here = std::env::current_dir().map_err(|err| {
        CommandError::environment(format!("the current folder cannot be used: {err}"))
            .hint("go to one that exists")
    })?;
    Utf8PathBuf::from_path_buf(here).map_err(|here| {
        CommandError::environment(format!("the name of the folder `{}` is not UTF-8 text", here.display()))
            .hint("give it another name")
    })
}

/// The most bytes that the path of a socket can have, with the one that ends it left out, on every system we know.
const SOCKET_PATH: usize = 103;

/// The daemon's socket: in its data folder, or, if that lies too deep for a socket's path, in a folder of the user's own in
/// the place for temporary files, under a name that follows from it.
pub(crate) fn socket(data_dir: &Utf8Path) -> Utf8PathBuf {
    let near = data_dir.join("ao.sock");
    if near.as_os_str().as_bytes().len() <= SOCKET_PATH {
        return near;
    }
    // FNV-1a: enough to tell a user's few data folders apart, and the same in every version.
    let hash = data_dir.as_str().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Utf8PathBuf::from(format!("/tmp/ao-{}/{hash:016x}.sock", getuid().as_raw()))
}

#[cfg(test)]
mod tests {
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
}
