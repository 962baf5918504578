//! Reads refs from the files that git keeps them in.
//!
//! A git process costs more than reading all the files that a new worktree needs. The layout is git's documented one
//! (gitrepository-layout(5)). For any other layout, such as a reftable, callers ask git.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Finds the common git directory from the top folder of a repository, or from its git directory. `None` if the files
/// do not show it.
pub fn common_dir(dir: &Path) -> Option<PathBuf> {
    let is_repository = |dir: &Path| dir.join("HEAD").exists() && dir.join("refs").is_dir();
    let git = dir.join(".git");
    match fs::read_to_string(&git) {
        // A worktree: its git directory names that of the repository.
        Ok(text) => {
            let git_dir = dir.join(text.strip_prefix("gitdir: ")?.trim_end());
            let common = fs::read_to_string(git_dir.join("commondir")).ok()?;
            Some(git_dir.join(common.trim_end())).filter(|dir| is_repository(dir))
        }
        Err(_) => [git.as_path(), dir].into_iter().find(|dir| is_repository(dir)).map(Path::to_owned),
    }
}

/// Returns the commit that a ref names, if there is such a ref. `None` if the files do not show it, and git has to be
/// asked.
pub fn find(common_dir: &Path, name: &str) -> Option<Option<String>> {
    if !has_plain_files(common_dir) || !is_plain(name) {
        return None;
    }
    match fs::read_to_string(common_dir.join(name)) {
        // We never create symbolic refs; git resolves them.
        Ok(text) => is_id(text.trim_end()).then(|| Some(text.trim_end().to_owned())),
        // Git writes the packed file before it removes a loose one, so one of the two always has it.
        Err(err)
            if matches!(
                err.kind(),
                ErrorKind::NotFound | ErrorKind::IsADirectory | ErrorKind::NotADirectory
            ) =>
        {
            packed(common_dir, name)
        }
        Err(_) => None,
    }
}

/// The position of a `HEAD`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeadPosition {
    /// The name without `refs/heads/`.
    Branch(String),
    Detached(String),
}

/// Reads the `HEAD` of a git directory. `None` if the file does not show it.
pub fn head(common_dir: &Path, git_dir: &Path) -> Option<HeadPosition> {
    if !has_plain_files(common_dir) {
        return None;
    }
    let text = fs::read_to_string(git_dir.join("HEAD")).ok()?;
    let text = text.trim_end();
    match text.strip_prefix("ref: ") {
        Some(name) => name.strip_prefix("refs/heads/").map(|branch| HeadPosition::Branch(branch.to_owned())),
        None => is_id(text).then(|| HeadPosition::Detached(text.to_owned())),
    }
}

/// Returns true if refs are stored in plain files.
fn has_plain_files(common_dir: &Path) -> bool {
    !common_dir.join("reftable").exists()
}

/// Returns true if a name is a full one and cannot lead out of the refs folder.
fn is_plain(name: &str) -> bool {
    name.starts_with("refs/")
        && name.split('/').all(|part| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock"))
}

fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn packed(common_dir: &Path, name: &str) -> Option<Option<String>> {
    let text = match fs::read_to_string(common_dir.join("packed-refs")) {
        Ok(text) => text,
        Err(err) if err.kind() == ErrorKind::NotFound => return Some(None),
        Err(_) => return None,
    };
    Some(text.lines().find_map(|line| {
        let (id, packed) = line.split_once(' ')?;
        (packed == name && is_id(id)).then(|| id.to_owned())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789012345678901234567890123456789";
    const OTHER: &str = "9876543210987654321098765432109876543210";

    fn repository() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("refs/heads/agent")).unwrap();
        fs::write(dir.path().join("refs/heads/main"), format!("{ID}\n")).unwrap();
        fs::write(dir.path().join("refs/heads/linked"), "ref: refs/heads/main\n").unwrap();
        let packed = format!(
            "# pack-refs with: peeled\n{OTHER} refs/heads/main\n{OTHER} refs/heads/agent\n{OTHER} refs/tags/v1\n^{ID}\n"
        );
        fs::write(dir.path().join("packed-refs"), packed).unwrap();
        dir
    }

    #[test]
    fn a_loose_ref_wins_over_a_packed_one() {
        let dir = repository();
        assert_eq!(find(dir.path(), "refs/heads/main"), Some(Some(ID.into())));
        assert_eq!(find(dir.path(), "refs/heads/agent"), Some(Some(OTHER.into())), "its folder is left over");
        assert_eq!(find(dir.path(), "refs/heads/none"), Some(None));
        assert_eq!(find(dir.path(), "refs/heads/main/below"), Some(None));
    }

    #[test]
    fn refs_that_files_do_not_show_are_left_to_git() {
        let dir = repository();
        assert_eq!(find(dir.path(), "refs/heads/linked"), None);
        assert_eq!(find(dir.path(), "refs/heads/../../secret"), None);
        assert_eq!(find(dir.path(), "HEAD"), None);
        fs::create_dir(dir.path().join("reftable")).unwrap();
        assert_eq!(find(dir.path(), "refs/heads/main"), None);
        assert_eq!(head(dir.path(), dir.path()), None);
    }

    #[test]
    fn a_repository_is_found_from_its_top_its_git_directory_and_its_worktrees() {
        let dir = tempfile::tempdir().unwrap();
        let (top, tree) = (dir.path().join("top"), dir.path().join("tree"));
        let git = top.join(".git");
        fs::create_dir_all(git.join("refs")).unwrap();
        assert_eq!(common_dir(&top), None, "it has no head");
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        assert_eq!(common_dir(&top), Some(git.clone()));
        assert_eq!(common_dir(&git), Some(git.clone()));
        let own = git.join("worktrees/tree");
        fs::create_dir_all(&own).unwrap();
        fs::create_dir(&tree).unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        assert_eq!(common_dir(&tree), None, "its repository is unknown");
        fs::write(own.join("commondir"), "../..\n").unwrap();
        assert_eq!(
            common_dir(&tree).map(|found| found.canonicalize().unwrap()),
            Some(git.canonicalize().unwrap())
        );
        assert_eq!(common_dir(dir.path()), None);
    }

    #[test]
    fn a_head_is_on_a_branch_or_on_a_commit() {
        let dir = repository();
        fs::write(dir.path().join("HEAD"), "ref: refs/heads/agent/x\n").unwrap();
        assert_eq!(head(dir.path(), dir.path()), Some(HeadPosition::Branch("agent/x".into())));
        fs::write(dir.path().join("HEAD"), format!("{ID}\n")).unwrap();
        assert_eq!(head(dir.path(), dir.path()), Some(HeadPosition::Detached(ID.into())));
    }
}
