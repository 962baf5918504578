//! A tree is taken as it is, with what is not committed, and nothing of it changes.

use std::fs;
use std::path::Path;
use std::process::Command;

use ao_git::Git;
use ao_git::forecast::Scratch;
use ao_ports::{Captured, Workspace};

use crate::support::Repo;

/// What a captured commit has, read through the scratch.
fn read(repo: &Path, scratch: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(args)
        .current_dir(repo)
        .env("GIT_OBJECT_DIRECTORY", scratch.join("objects"))
        .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", repo.join(".git/objects"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

#[tokio::test]
async fn uncommitted_and_new_files_are_in_it_and_the_index_is_left_alone() {
    let repo = Repo::new();
    let tree = repo.worked().await;
    let scratch = tempfile::tempdir().unwrap();
    fs::write(Path::new(&tree.path).join("README.md"), "changed\n").unwrap();
    fs::write(Path::new(&tree.path).join("-new file"), "new\n").unwrap();
    fs::write(Path::new(&tree.path).join("large"), vec![b'x'; 2 * 1024 * 1024]).unwrap();
    fs::write(Path::new(&tree.path).join(".gitignore"), "hidden\n").unwrap();
    fs::write(Path::new(&tree.path).join("hidden"), "secret\n").unwrap();
    let before = (tree.git(&["status", "--porcelain"]), tree.git(&["rev-parse", "HEAD"]));
    let objects = repo.git(&["count-objects", "-v"]);
    let order = repo.order(&tree.path);
    let scratch = scratch.path();
    let take = || repo.worktrees.capture(&order, scratch.to_str().unwrap());
    let Captured { commit, .. } = take().await.unwrap();
    let root = &repo.path();
    assert_eq!(read(root, scratch, &["show", &format!("{commit}:README.md")]), "changed");
    assert_eq!(read(root, scratch, &["show", &format!("{commit}:-new file")]), "new");
    let files = read(root, scratch, &["ls-tree", "-r", "--name-only", &commit]);
    assert!(!files.contains("large") && !files.contains("hidden"), "{files}");
    assert_eq!(read(root, scratch, &["rev-parse", &format!("{commit}^")]), before.1);
    // The tree is as it was, and so is the repository.
    assert_eq!((tree.git(&["status", "--porcelain"]), tree.git(&["rev-parse", "HEAD"])), before);
    assert_eq!(repo.git(&["count-objects", "-v"]), objects);
    // The same files are the same commit.
    assert_eq!(take().await.unwrap().commit, commit);
    let git = Scratch::open(scratch, &root.join(".git")).unwrap().git(&Git::plain(root));
    assert!(git.commit(&commit).await.unwrap().is_some());
}

#[tokio::test]
async fn a_tree_without_changes_is_its_head_and_one_in_the_middle_of_a_merge_too() {
    let repo = Repo::new();
    let tree = repo.worked().await;
    let scratch = tempfile::tempdir().unwrap();
    let order = repo.order(&tree.path);
    let take = || repo.worktrees.capture(&order, scratch.path().to_str().unwrap());
    let head = tree.git(&["rev-parse", "HEAD"]);
    assert_eq!(take().await.unwrap().commit, head);
    let changed = tree.git(&["diff", "--name-only", "main", "HEAD"]);
    repo.commit(&changed, "otherwise\n");
    let merge = Command::new("git").args(["merge", "main"]).current_dir(&tree.path).output().unwrap();
    assert!(!merge.status.success(), "it conflicts");
    assert_eq!(take().await.unwrap().commit, head);
}
