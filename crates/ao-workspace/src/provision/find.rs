//! Finds the paths of the main checkout that a workspace gets.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use ao_core::setup::{IncludeHow, Setup};

use super::error::ProvisionError;
use ao_git::Git;
// Our own folder in the repository: other sessions work in there.
use crate::worktree::paths::FOLDER as WORKTREES;

/// A path to include, relative to the root of both the main checkout and the workspace, and how it gets there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IncludedPath {
    pub(super) path: String,
    pub(super) how: IncludeHow,
    /// Named explicitly and not matched by a pattern, so a link may lead anywhere its owner made it lead.
    pub(super) named: bool,
}

/// Finds everything that the settings name. If two name the same path, the first one counts.
///
/// A missing file is noted, and is not an error: `.env.local` is for those who have one.
pub(super) async fn wishes(
    root: &Path,
    setup: &Setup,
    tell: &mut Vec<String>,
) -> Result<Vec<IncludedPath>, ProvisionError> {
    let mut wishes = Vec::new();
    for include in &setup.include {
        let pattern = checked(&include.pattern)?;
        let files = untracked(root, pattern).await?;
        if files.is_empty() {
            tell.push(format!("`{pattern}` is no file of the main checkout that git does not track"));
        }
        wishes.extend(files.into_iter().map(|path| IncludedPath { path, how: include.how, named: false }));
    }
    for link in &setup.symlinks {
        let path = checked(link)?.to_owned();
        stays_inside(root, &path)?;
        match root.join(&path).symlink_metadata() {
            Ok(_) => wishes.push(IncludedPath { path, how: IncludeHow::Symlink, named: true }),
            // A dangling link would be worse than none: the command that creates the folder would fail.
            Err(_) => {
                tell.push(format!("`{path}` is not in the main checkout, so there is nothing to link to"));
            }
        }
    }
    let mut known = HashSet::new();
    wishes.retain(|wish| known.insert(wish.path.clone()));
    Ok(wishes)
}

/// Returns the untracked files that match a pattern, ignored or not.
///
/// Found by git itself, because only git knows what it tracks. It walks only where the pattern can match (`.env*` opens
/// no `node_modules`), follows no links, and enters neither `.git` nor other repositories.
async fn untracked(root: &Path, pattern: &str) -> Result<Vec<String>, ProvisionError> {
    let args = [
        "ls-files",
        "-z",
        "--others",
        "--",
        &format!(":(top,glob){pattern}"),
        &format!(":(top,exclude){WORKTREES}"),
    ];
    let found = Git::plain(root).read(&args).await?;
    // A name with a trailing slash is another repository, and one with a line end cannot be recorded line by line.
    let usable = |path: &&str| !path.is_empty() && !path.ends_with('/') && !path.contains('\n');
    Ok(found.split('\0').filter(usable).map(str::to_owned).collect())
}

/// Rejects a path that leaves the repository by its text alone, and returns it without trailing slashes.
fn checked(path: &str) -> Result<&str, ProvisionError> {
    let bare = path.trim_end_matches('/');
    let normal = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if bare.is_empty() || path.starts_with('/') || path.contains(['\n', '\0']) || bare == "." {
        return Err(ProvisionError::Outside { path: path.to_owned() });
    }
    if !Path::new(bare).components().all(normal) {
        return Err(ProvisionError::Outside { path: path.to_owned() });
    }
    let first = Path::new(bare).components().find(|part| matches!(part, Component::Normal(_)));
    if first.is_some_and(|part| [".git", WORKTREES].iter().any(|reserved| part.as_os_str() == *reserved)) {
        return Err(ProvisionError::Reserved { path: path.to_owned() });
    }
    Ok(bare.trim_start_matches("./"))
}

/// Rejects a path whose folder is, by some link on the way, somewhere else.
fn stays_inside(root: &Path, path: &str) -> Result<(), ProvisionError> {
    let folder = root.join(path).parent().map(Path::to_owned).unwrap_or_default();
    match folder.canonicalize() {
        Ok(folder) if !is_inside(root, &folder) => Err(ProvisionError::LeadsOut { path: path.to_owned() }),
        _ => Ok(()),
    }
}

/// Returns the file behind a path, if it is in the repository and neither git's nor another session's.
pub(super) fn real_file(root: &Path, path: &str) -> Option<PathBuf> {
    let file = root.join(path).canonicalize().ok()?;
    (file.is_file() && is_inside(root, &file)).then_some(file)
}

fn is_inside(root: &Path, path: &Path) -> bool {
    path.starts_with(root)
        && ![".git", WORKTREES].iter().any(|reserved| path.starts_with(root.join(reserved)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_to_stay_in_the_repository() {
        for path in ["/etc/passwd", "../other/.env", "a/../../b", "", "/", ".", "a\nb"] {
            let err = checked(path).expect_err(path);
            assert!(matches!(err, ProvisionError::Outside { .. }), "{path}: {err}");
        }
        for path in [".git/config", ".git", ".worktrees/x/.env", "./.git/hooks"] {
            let err = checked(path).expect_err(path);
            assert!(matches!(err, ProvisionError::Reserved { .. }), "{path}: {err}");
        }
        for (path, bare) in [("node_modules/", "node_modules"), ("./a/.env*", "a/.env*"), (".gitx", ".gitx")]
        {
            assert_eq!(checked(path).unwrap(), bare);
        }
    }
}
