//! Finds processes that work in a folder.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time to wait for git's housekeeping. It ends by itself, and is no reason to keep a tree.
const HOUSEKEEPING: Duration = Duration::from_secs(10);

/// Returns true if a process works in the folder, `None` where the system does not show it.
///
/// Processes that we may not inspect, of other users or with more privileges, are skipped: none of them is an agent of
/// ours. Treating them as unknown would keep every tree forever on nearly any system.
pub(crate) async fn any_inside(folder: &Path) -> Option<bool> {
    any_inside_each(vec![folder.to_owned()]).await.pop().flatten()
}

/// Checks many folders, with one pass over all processes.
pub(crate) async fn any_inside_each(folders: Vec<PathBuf>) -> Vec<Option<bool>> {
    let unknown = vec![None; folders.len()];
    // Some thousand small reads from `/proc`; still too much to block other tasks.
    tokio::task::spawn_blocking(move || look_patiently(&folders)).await.unwrap_or(unknown)
}

/// Waits until no git process works in these folders or has them as an argument, and returns those that still do when
/// the time is up.
///
/// A git process of ours can outlive its caller: an effect that was dropped, a daemon that was killed. Going on beside
/// it would remove its lock, or restore what it is about to delete.
pub(crate) async fn git_ended(folders: Vec<PathBuf>, limit: Duration) -> Vec<u32> {
    tokio::task::spawn_blocking(move || wait_for_git(&folders, limit)).await.unwrap_or_default()
}

#[cfg(target_os = "linux")]
fn wait_for_git(folders: &[PathBuf], limit: Duration) -> Vec<u32> {
    let end = std::time::Instant::now() + limit;
    loop {
        let found = linux::git_in(folders);
        let left = end.saturating_duration_since(std::time::Instant::now());
        if found.is_empty() || left.is_zero() {
            return found;
        }
        // Processes that it has started meanwhile are found by the next pass.
        linux::wait_for(&found, left);
    }
}

#[cfg(not(target_os = "linux"))]
fn wait_for_git(_: &[PathBuf], _: Duration) -> Vec<u32> {
    vec![]
}

#[cfg(target_os = "linux")]
fn look_patiently(folders: &[PathBuf]) -> Vec<Option<bool>> {
    let resolved: Vec<Option<PathBuf>> = folders.iter().map(|folder| folder.canonicalize().ok()).collect();
    let mut found = linux::look(&resolved);
    let keepers: Vec<u32> = found.iter().flatten().flatten().copied().collect();
    if !keepers.is_empty() && keepers.iter().all(|pid| linux::is_housekeeping(*pid)) {
        linux::wait_for(&keepers, HOUSEKEEPING);
        found = linux::look(&resolved);
    }
    found.into_iter().map(|inside| inside.map(|pids| !pids.is_empty())).collect()
}

#[cfg(not(target_os = "linux"))]
fn look_patiently(folders: &[PathBuf]) -> Vec<Option<bool>> {
    vec![None; folders.len()]
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::io::ErrorKind;
    use std::path::{Path, PathBuf};
    use std::time::{Duration, Instant};

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    /// Returns the processes in each folder; `None` for a folder that could not be checked for certain.
    pub(super) fn look(folders: &[Option<PathBuf>]) -> Vec<Option<Vec<u32>>> {
        let mut found: Vec<Option<Vec<u32>>> =
            folders.iter().map(|folder| folder.as_ref().map(|_| vec![])).collect();
        let Ok(entries) = fs::read_dir("/proc") else { return vec![None; folders.len()] };
        for entry in entries.flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            let Some(places) = places(&entry.path(), pid == std::process::id()) else {
                // It may have ended meanwhile, and then it is in no folder.
                if entry.path().exists() {
                    found.iter_mut().for_each(|found| *found = None);
                }
                continue;
            };
            for (folder, found) in folders.iter().zip(&mut found) {
                if let (Some(folder), Some(found)) = (folder, found)
                    && places.iter().any(|place| place.starts_with(folder))
                {
                    found.push(pid);
                }
            }
        }
        found
    }

    /// Returns every path that a process uses: its working directory, open files, executable and mapped files. `None`
    /// if that could not be determined for another reason than missing privileges.
    fn places(process: &Path, ourselves: bool) -> Option<Vec<PathBuf>> {
        let mut places = vec![];
        for name in ["cwd", "root", "exe"] {
            match fs::read_link(process.join(name)) {
                Ok(place) => places.push(place),
                Err(err) if is_closed(err.kind()) => {}
                Err(_) => return None,
            }
        }
        // Our own open files belong to inspections such as this one.
        if ourselves {
            return Some(places);
        }
        match fs::read_dir(process.join("fd")) {
            Ok(open) => places.extend(open.flatten().filter_map(|open| fs::read_link(open.path()).ok())),
            Err(err) if is_closed(err.kind()) => {}
            Err(_) => return None,
        }
        let maps = fs::read(process.join("maps")).unwrap_or_default();
        let maps = String::from_utf8_lossy(&maps);
        // The path is the sixth field, and the only one with a slash.
        let mut mapped: Vec<&str> =
            maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..])).collect();
        mapped.dedup();
        places.extend(mapped.into_iter().map(PathBuf::from));
        Some(places)
    }

    /// Returns true if the process is closed to us, or has ended.
    fn is_closed(kind: ErrorKind) -> bool {
        matches!(kind, ErrorKind::NotFound | ErrorKind::PermissionDenied)
    }

    /// Returns the git processes that work in one of these folders, or have a path in one among their arguments: git
    /// deletes and creates a worktree from outside of it.
    pub(super) fn git_in(folders: &[PathBuf]) -> Vec<u32> {
        let mut all: Vec<PathBuf> = folders.to_vec();
        all.extend(folders.iter().filter_map(|folder| folder.canonicalize().ok()));
        let inside = |place: &Path| all.iter().any(|folder| place.starts_with(folder));
        let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| {
            let words = words(*pid);
            is_git(&words)
                && (words.iter().any(|word| inside(Path::new(word)))
                    || places(&PathBuf::from(format!("/proc/{pid}")), false)
                        .is_some_and(|places| places.iter().any(|place| inside(place))))
        })
        .collect()
    }

    /// Returns true if a command line is that of git, or of one of its helpers, some of which are run by a shell.
    fn is_git(words: &[String]) -> bool {
        let name =
            |word: &String| Path::new(word).file_name().map(|name| name.to_string_lossy().into_owned());
        words.iter().take(2).filter_map(name).any(|name| name == "git" || name.starts_with("git-"))
    }

    fn words(pid: u32) -> Vec<String> {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    }

    /// Returns true if a process is the housekeeping that git starts in the background after a command.
    pub(super) fn is_housekeeping(pid: u32) -> bool {
        let words = words(pid);
        let git = words.first().is_some_and(|name| Path::new(name).file_name() == Some("git".as_ref()));
        let keeps = |word: &String| matches!(word.as_str(), "maintenance" | "gc" | "repack" | "prune");
        git && words.iter().skip(1).take(3).any(keeps)
    }

    /// Waits until these processes have ended, or the time is up.
    pub(super) fn wait_for(pids: &[u32], limit: Duration) {
        let end = Instant::now() + limit;
        for pid in pids {
            let Some(pid) = Pid::from_raw(pid.cast_signed()) else { continue };
            let Ok(fd) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
            let left = end.saturating_duration_since(Instant::now());
            let left = rustix::event::Timespec::try_from(left).ok();
            poll(&mut [PollFd::new(&fd, PollFlags::IN)], left.as_ref()).ok();
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[tokio::test]
    async fn a_git_that_does_not_end_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().canonicalize().unwrap();
        let folder = vec![place.clone()];
        assert_eq!(git_ended(folder.clone(), Duration::ZERO).await, Vec::<u32>::new());
        // A process in another folder, with this one as its argument.
        let mut git = Command::new("git")
            .args(["hash-object", "--stdin", "--path"])
            .arg(place.join("file"))
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // A program counts as started a moment before the system shows its arguments.
        let line = format!("/proc/{}/cmdline", git.id());
        let end = std::time::Instant::now() + Duration::from_secs(30);
        while std::fs::read(&line).unwrap().is_empty() {
            assert!(std::time::Instant::now() < end, "its arguments are never shown");
            std::thread::yield_now();
        }
        let told = git_ended(folder.clone(), Duration::ZERO).await;
        drop(git.stdin.take());
        assert_eq!(git_ended(folder, Duration::from_secs(60)).await, Vec::<u32>::new());
        assert_eq!(told, [git.id()]);
        git.wait().unwrap();
    }
}
