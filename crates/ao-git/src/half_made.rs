//! Handles a worktree that another git is just creating.
//!
//! Git creates the file `commondir` of a new worktree and fills it a moment later. A git that lists the worktrees in
//! between fails, although nothing is wrong: "failed to read .../commondir". Where agents come and go, that happens.

use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(20);
/// A worktree that stays unfinished for longer is broken.
const MAKING: Duration = Duration::from_secs(2);

/// Returns true, after a pause, if git should be called again because it met a worktree that is not complete yet. Git
/// was called in `dir`, and may name the file relative to it.
pub async fn asks_again(output: &Output, dir: &Path) -> bool {
    let asks = !output.status.success() && met_one(&String::from_utf8_lossy(&output.stderr), dir);
    if asks {
        tokio::time::sleep(PAUSE).await;
    }
    asks
}

/// The text behind the file name is an unrelated errno, so only the age of the file counts.
fn met_one(complaint: &str, dir: &Path) -> bool {
    let named = complaint.lines().find_map(|line| {
        let (_, rest) = line.split_once("failed to read ")?;
        let end = rest.rfind("commondir:")? + "commondir".len();
        rest.get(..end)
    });
    let age = |path: &str| fs::metadata(dir.join(path)).ok()?.modified().ok()?.elapsed().ok();
    named.and_then(age).is_some_and(|age| age < MAKING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_of_a_moment_ago_is_of_one_that_is_being_made() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("app 6");
        fs::create_dir(&file).unwrap();
        let file = file.join("commondir");
        let dir = folder.path();
        let complaint = |why: &str| format!("fatal: failed to read {}: {why}", file.display());
        assert!(!met_one(&complaint("No such file or directory"), dir), "it is not there");
        let made = fs::File::create(&file).unwrap();
        for why in ["Success", "Undefined error: 0", "No such file or directory"] {
            assert!(met_one(&complaint(why), dir), "{why}");
        }
        assert!(met_one("fatal: failed to read app 6/commondir: Success", dir), "seen from there");
        made.set_modified(std::time::SystemTime::now() - Duration::from_secs(10)).unwrap();
        assert!(!met_one(&complaint("Success"), dir), "it stays as it is");
        for other in ["fatal: not a git repository", "fatal: failed to read commondir", ""] {
            assert!(!met_one(other, dir), "{other}");
        }
    }
}
