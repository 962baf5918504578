//! A worktree that another git is just making.
//!
//! Git makes the file `commondir` of a new worktree and fills it a moment later. Whoever lists the worktrees in between gives
//! up, although nothing is wrong: "failed to read .../commondir: Success". Where agents come and go that does happen.

use std::process::Output;
use std::time::Duration;

/// How often is asked again. One that stays half made is one that somebody has broken.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// Whether to ask git once more, after a pause, because it has met a worktree that is not whole yet. `asked` counts.
pub async fn asks_again(output: &Output, asked: &mut u32) -> bool {
    if output.status.success() || *asked >= TRIES || !met_one(&String::from_utf8_lossy(&output.stderr)) {
        return false;
    }
    *asked += 1;
    tokio::time::sleep(PAUSE).await;
    true
}

/// Only an empty file has no error of its own.
fn met_one(complaint: &str) -> bool {
    complaint.lines().any(|line| line.contains("failed to read ") && line.ends_with("commondir: Success"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_empty_file_is_one_that_is_being_made() {
        assert!(met_one("fatal: failed to read /a b/.git/worktrees/app-6/commondir: Success"));
        for other in [
            "fatal: failed to read /a/.git/worktrees/app-6/commondir: Permission denied",
            "fatal: not a git repository",
            "",
        ] {
            assert!(!met_one(other), "{other}");
        }
    }
}
