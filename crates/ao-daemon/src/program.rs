//! Other programs on this machine: finds them, and runs them with a time limit.

use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use ao_config::catalog::PluginInfo;
use tokio::process::Command;
use tokio::time::timeout;

#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    #[error("the program `{0}` was not found")]
    Missing(String),
    #[error("the program `{program}` could not be started")]
    NotRun {
        program: String,
        #[source]
        err: io::Error,
    },
    #[error("`{program}` was not done after {} s, and was ended", .after.as_secs())]
    TooSlow { program: String, after: Duration },
}

/// Finds a program in `PATH`.
pub fn find(name: &str) -> Option<PathBuf> {
    find_in(std::env::var_os("PATH")?.as_os_str(), name)
}

/// Returns true if the program that a plugin needs is installed.
pub fn is_there(plugin: &PluginInfo) -> bool {
    plugin.program.as_deref().is_none_or(|program| find(program).is_some())
}

fn find_in(path: &OsStr, name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|file| runs(file));
    }
    std::env::split_paths(path).map(|folder| folder.join(name)).find(|file| runs(file))
}

fn runs(file: &Path) -> bool {
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Runs a command without input. It is killed if it exceeds the time limit.
pub async fn ask(mut command: Command, limit: Duration) -> Result<Output, ProgramError> {
    let program = command.as_std().get_program().to_string_lossy().into_owned();
    let folder_is_there = command.as_std().get_current_dir().is_none_or(Path::exists);
    // Its output is parsed, so it must be in one language.
    command.stdin(Stdio::null()).env("LC_ALL", "C").kill_on_drop(true);
    match timeout(limit, command.output()).await {
        Ok(Ok(output)) => Ok(output),
        Ok(Err(err)) if err.kind() == io::ErrorKind::NotFound && folder_is_there => {
            Err(ProgramError::Missing(program))
        }
        Ok(Err(err)) => Err(ProgramError::NotRun { program, err }),
        Err(_) => Err(ProgramError::TooSlow { program, after: limit }),
    }
}

/// Returns git for a folder, with our environment and guarded against what the repository names.
pub async fn git(folder: &Path) -> Result<Command, ProgramError> {
    let folder_is_there = folder.exists();
    ao_git::command(folder, false).await.map_err(|err| match err.kind() {
        io::ErrorKind::NotFound if folder_is_there => ProgramError::Missing("git".to_owned()),
        _ => ProgramError::NotRun { program: "git".to_owned(), err },
    })
}

/// Returns output as text without its last line end.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_run_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tool");
        std::fs::write(&file, "#!/bin/sh\n").unwrap();
        assert_eq!(find_in(folder.path().as_os_str(), "tool"), None);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find_in(folder.path().as_os_str(), "tool"), Some(file));
        assert_eq!(find_in(folder.path().as_os_str(), "other"), None);
    }

    #[tokio::test]
    async fn a_program_that_hangs_is_ended() {
        let mut command = Command::new("sleep");
        command.arg("600");
        let err = ask(command, Duration::from_millis(50)).await.unwrap_err();
        assert!(matches!(err, ProgramError::TooSlow { .. }), "{err}");
    }
}
