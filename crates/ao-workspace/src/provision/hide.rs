//! Hides the included files from a workspace's `git status`, without changing any tracked file.
//!
//! Most of them are ignored anyway (`.env`), and then there is nothing to do. Others are not: `node_modules/` in a
//! `.gitignore` matches a folder, but no link of that name.
//!
//! A clone has its own `info/exclude`. The worktrees of one repository share theirs with the main checkout: a line in
//! it would hide the user's own untracked file from the user, and an agent's new file in all other sessions. So a
//! worktree gets its own `core.excludesFile`, in the settings that only it sees. Since there can be only one, it begins
//! with a copy of the user's.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::error::ProvisionError;
use super::record::replace;
use ao_git::Git;

const EXCLUDE: &str = "ao-exclude";
/// Paths per call, far from the limit of a command line.
const AT_ONCE: usize = 200;

/// The git directories of a workspace.
#[derive(Debug)]
pub(super) struct WorkspaceGitDirs {
    pub(super) own: PathBuf,
    /// The same as its own, unless it is a worktree of another checkout.
    pub(super) common: PathBuf,
}

impl WorkspaceGitDirs {
    pub(super) async fn of(workspace: &Path) -> Result<WorkspaceGitDirs, ProvisionError> {
        let args = ["rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir"];
        let output = Git::plain(workspace).read(&args).await?;
        let (own, common) = output.split_once('\n').unwrap_or((&output, &output));
        Ok(WorkspaceGitDirs { own: own.into(), common: common.into() })
    }
}

/// Hides paths of a workspace that git would show.
pub(super) async fn hide(
    root: &Path,
    workspace: &Path,
    dirs: &WorkspaceGitDirs,
    paths: &[String],
) -> Result<(), ProvisionError> {
    let users = users_excludes(root).await?;
    let shown = listed(workspace, &users, &["--others", "--exclude-standard"], paths).await?;
    let lines: Vec<String> =
        paths.iter().filter(|path| shown.contains(*path)).map(|path| line(path)).collect();
    if dirs.own == dirs.common {
        let info = dirs.own.join("info");
        fs::create_dir_all(&info).map_err(ProvisionError::file("make", &info))?;
        return add(&info.join("exclude"), &lines);
    }
    let own = dirs.own.join(EXCLUDE);
    if lines.is_empty() && !own.exists() {
        return Ok(());
    }
    replace(&own, read(&users)?.as_bytes())?;
    add(&own, &lines)?;
    let own = own.to_string_lossy();
    Git::plain(workspace).write(&["config", "--worktree", "core.excludesFile", &own]).await?;
    Ok(())
}

/// Returns the paths that git tracks in a workspace.
pub(super) async fn tracked(workspace: &Path, paths: &[String]) -> Result<HashSet<String>, ProvisionError> {
    listed(workspace, Path::new(""), &["--cached"], paths).await
}

async fn listed(
    workspace: &Path,
    excludes: &Path,
    which: &[&str],
    paths: &[String],
) -> Result<HashSet<String>, ProvisionError> {
    let excludes = format!("core.excludesFile={}", excludes.display());
    let mut found = HashSet::new();
    for some in paths.chunks(AT_ONCE) {
        let mut args = vec!["-c", &excludes, "--literal-pathspecs", "ls-files", "-z"];
        args.extend_from_slice(which);
        args.push("--");
        args.extend(some.iter().map(String::as_str));
        let output = Git::plain(workspace).read(&args).await?;
        found.extend(output.split('\0').filter(|path| !path.is_empty()).map(str::to_owned));
    }
    Ok(found)
}

/// Returns the user's global ignore file, as the main checkout sees it.
async fn users_excludes(root: &Path) -> Result<PathBuf, ProvisionError> {
    let args = ["config", "--type=path", "--default", "", "--get", "core.excludesFile"];
    let output = Git::plain(root).read(&args).await?;
    if !output.is_empty() {
        return Ok(root.join(output));
    }
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")));
    Ok(config.map(|config| config.join("git/ignore")).unwrap_or_default())
}

/// Appends lines to a file that are not in it yet.
fn add(file: &Path, lines: &[String]) -> Result<(), ProvisionError> {
    let known = read(file)?;
    let mut text = known.clone();
    for line in lines.iter().filter(|line| !known.lines().any(|known| known == line.as_str())) {
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        text = format!("{text}{gap}{line}\n");
    }
    if text == known { Ok(()) } else { replace(file, text.as_bytes()) }
}

fn read(file: &Path) -> Result<String, ProvisionError> {
    match fs::read(file) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(err) if matches!(err.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(String::new()),
        // The user's own file, which git skips as well if it cannot be read.
        Err(err) if err.kind() == ErrorKind::PermissionDenied => Ok(String::new()),
        Err(err) => Err(ProvisionError::file("read", file)(err)),
    }
}

/// Returns the pattern that matches one path and nothing else.
fn line(path: &str) -> String {
    let special = |c: char| matches!(c, '\\' | '*' | '?' | '[' | ' ');
    let escaped = path.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c]));
    std::iter::once('/').chain(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_its_path_only() {
        assert_eq!(line("a/.env"), "/a/.env");
        assert_eq!(line("!odd [1] *?\\"), "/!odd\\ \\[1]\\ \\*\\?\\\\");
    }

    #[test]
    fn lines_are_added_once() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("exclude");
        fs::write(&file, "*.swp")?;
        for _ in 0..2 {
            add(&file, &["/.env".into(), "/node_modules".into()]).expect("it can be written");
        }
        assert_eq!(fs::read_to_string(&file)?, "*.swp\n/.env\n/node_modules\n");
        Ok(())
    }
}
