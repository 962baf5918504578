//! A tree is taken as it is, with what is not committed, and nothing of it changes.

use std::fs;
use std::path::Path;
use std::process::Command;

use ao_git::Git;
use ao_git::forecast::Scratch;
use ao_ports::{Captured, Workspace};

use crate::support::Repo;

/// Returns the files of a captured commit, read through the scratch.
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
    let order = repo.order(&tree.path);
    let place = scratch.path().join("place");
    let Captured { commit, .. } = repo.worktrees.capture(&order, place.to_str().unwrap()).await.unwrap();
    assert!(!ran.exists(), "a program of the tree was run");
    assert_eq!(read(&repo.path(), &place, &["show", &format!("{commit}:README.md")]), "changed");
    assert_eq!(read(&repo.path(), &place, &["show", &format!("{commit}:new")]), "new");
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
    let scratch = tempfile::tempdir().unwrap();
    let scratch = scratch.path();
    let order = repo.order(&tree.path);
    let Captured { commit, .. } = repo.worktrees.capture(&order, scratch.to_str().unwrap()).await.unwrap();
    let files = read(&repo.path(), scratch, &["ls-tree", "-r", "--name-only", &commit]);
    let files: Vec<&str> = files.lines().collect();
    for there in ["file/inside", "folder", "link"] {
        assert!(files.contains(&there), "{there}: {files:?}");
    }
    for not in ["gone", "file", "folder/one", "link/one", "left-out"] {
        assert!(!files.contains(&not), "{not}: {files:?}");
    }
}
