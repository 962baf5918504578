//! A tree is taken as it is, with what is not committed, and nothing of it changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ao_core::Commit;
use ao_git::Git;
use ao_git::forecast::Scratch;
use ao_ports::{CapturedWorkspace, Workspace};

use crate::support::Repo;

/// A captured tree, in a folder of its own beside the repository.
struct Taken {
    commit: String,
    scratch: tempfile::TempDir,
    root: PathBuf,
}

impl Taken {
    async fn new(repo: &Repo, tree: &Path) -> Taken {
        let CapturedWorkspace { commit, pack } = repo.worktrees.capture(&repo.tree(tree)).await.unwrap();
        let (scratch, root) = (tempfile::tempdir().unwrap(), repo.path());
        let taken = Taken { commit: commit.to_string(), scratch, root };
        if !pack.is_empty() {
            taken.scratch().add(&Git::plain(&taken.root), &pack).await.unwrap();
        }
        taken
    }

    fn scratch(&self) -> Scratch {
        Scratch::open(self.scratch.path(), &self.root.join(".git")).unwrap()
    }

    /// Reads with the objects of the capture and of the repository.
    async fn read(&self, args: &[&str]) -> String {
        self.scratch().git(&Git::plain(&self.root)).read(args).await.unwrap()
    }

    async fn file(&self, name: &str) -> String {
        self.read(&["show", &format!("{}:{name}", self.commit)]).await
    }
}

#[tokio::test]
async fn uncommitted_and_new_files_are_in_it_and_the_index_is_left_alone() {
    let repo = Repo::new();
    let tree = repo.worked().await;
    fs::write(Path::new(&tree.path).join("README.md"), "changed\n").unwrap();
    fs::write(Path::new(&tree.path).join("-new file"), "new\n").unwrap();
    fs::write(Path::new(&tree.path).join("large"), vec![b'x'; 2 * 1024 * 1024]).unwrap();
    fs::write(Path::new(&tree.path).join(".gitignore"), "hidden\n").unwrap();
    fs::write(Path::new(&tree.path).join("hidden"), "secret\n").unwrap();
    let before = (tree.git(&["status", "--porcelain"]), tree.git(&["rev-parse", "HEAD"]));
    let objects = repo.git(&["count-objects", "-v"]);
    let taken = Taken::new(&repo, &tree.path).await;
    assert_eq!(taken.file("README.md").await, "changed");
    assert_eq!(taken.file("-new file").await, "new");
    let files = taken.read(&["ls-tree", "-r", "--name-only", &taken.commit]).await;
    assert!(!files.contains("large") && !files.contains("hidden"), "{files}");
    assert_eq!(taken.read(&["rev-parse", &format!("{}^", taken.commit)]).await, before.1);
    // The tree is as it was, and so is the repository.
    assert_eq!((tree.git(&["status", "--porcelain"]), tree.git(&["rev-parse", "HEAD"])), before);
    assert_eq!(repo.git(&["count-objects", "-v"]), objects);
    // The same files are the same commit.
    assert_eq!(Taken::new(&repo, &tree.path).await.commit, taken.commit);
}

#[tokio::test]
async fn a_tree_without_changes_is_its_head_and_one_in_the_middle_of_a_merge_too() {
    let repo = Repo::new();
    let tree = repo.worked().await;
    let order = repo.tree(&tree.path);
    let take = || repo.worktrees.capture(&order);
    let head = tree.git(&["rev-parse", "HEAD"]);
    assert_eq!(take().await.unwrap(), CapturedWorkspace { commit: Commit::new(&head), pack: vec![] });
    let changed = tree.git(&["diff", "--name-only", "main", "HEAD"]);
    repo.commit(&changed, "otherwise\n");
    let merge = Command::new("git").args(["merge", "main"]).current_dir(&tree.path).output().unwrap();
    assert!(!merge.status.success(), "it conflicts");
    assert_eq!(take().await.unwrap().commit.as_str(), head);
}

/// Filters, hooks and monitors are programs, and an agent can write any into the settings of its tree.
#[tokio::test]
async fn nothing_that_a_tree_has_configured_is_run() {
    let repo = Repo::new();
    let tree = repo.worked().await;
    let scratch = tempfile::tempdir().unwrap();
    let ran = scratch.path().join("ran");
    let program = format!("touch '{}'; cat", ran.display());
    for (key, value) in [
        ("filter.evil.clean", program.as_str()),
        ("filter.evil.process", program.as_str()),
        ("filter.evil.required", "true"),
        ("core.fsmonitor", program.as_str()),
    ] {
        repo.git(&["config", key, value]);
    }
    let at = Path::new(&tree.path);
    fs::write(at.join(".gitattributes"), "* filter=evil\n").unwrap();
    fs::write(at.join("README.md"), "changed\n").unwrap();
    fs::write(at.join("new"), "new\n").unwrap();
    let taken = Taken::new(&repo, &tree.path).await;
    assert!(!ran.exists(), "a program of the tree was run");
    assert_eq!(taken.file("README.md").await, "changed");
    assert_eq!(taken.file("new").await, "new");
}

#[tokio::test]
async fn files_that_are_gone_and_folders_in_their_place_are_taken_as_they_are() {
    let repo = Repo::new();
    for folder in ["folder", "link"] {
        fs::create_dir(repo.path().join(folder)).unwrap();
    }
    for file in ["gone", "file", "folder/one", "link/one"] {
        repo.commit(file, "1\n");
    }
    let tree = repo.worked().await;
    let at = Path::new(&tree.path);
    fs::remove_file(at.join("gone")).unwrap();
    fs::remove_file(at.join("file")).unwrap();
    fs::create_dir(at.join("file")).unwrap();
    fs::write(at.join("file/inside"), "2\n").unwrap();
    fs::remove_dir_all(at.join("folder")).unwrap();
    fs::write(at.join("folder"), "2\n").unwrap();
    fs::remove_dir_all(at.join("link")).unwrap();
    std::os::unix::fs::symlink("/", at.join("link")).unwrap();
    fs::write(repo.path().join(".git/info/exclude"), "left-out\n").unwrap();
    fs::write(at.join("left-out"), "2\n").unwrap();
    let taken = Taken::new(&repo, &tree.path).await;
    let files = taken.read(&["ls-tree", "-r", "--name-only", &taken.commit]).await;
    let files: Vec<&str> = files.lines().collect();
    for there in ["file/inside", "folder", "link"] {
        assert!(files.contains(&there), "{there}: {files:?}");
    }
    for not in ["gone", "file", "folder/one", "link/one", "left-out"] {
        assert!(!files.contains(&not), "{not}: {files:?}");
    }
}
