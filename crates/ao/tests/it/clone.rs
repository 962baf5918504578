//! Clones of repositories from elsewhere: whole, or not at all.

use std::path::Path;
use std::process::{Command, Stdio};

use ao::git::clone::{CloneError, clone};
use ao::git::url::GitUrl;
use ao::repository::RepositoryError;
use camino::{Utf8Path, Utf8PathBuf};
use tempfile::TempDir;

/// A repository to clone, and a folder to clone it into.
struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place { dir: tempfile::tempdir().unwrap() };
        std::fs::create_dir(place.parent()).unwrap();
        place
    }

    fn with_commit() -> Place {
        let place = Place::new();
        git(place.dir.path(), &["init", "--quiet", "--initial-branch", "trunk", "their-app"]);
        let theirs = place.dir.path().join("their-app");
        let who = ["-c", "user.name=They", "-c", "user.email=they@example.invalid"];
        git(&theirs, &[&who[..], &["commit", "--quiet", "--allow-empty", "-m", "First"]].concat());
        place
    }

    fn url(&self) -> GitUrl {
        GitUrl::parse(&format!("file://{}/their-app", self.dir.path().display())).unwrap().unwrap()
    }

    fn parent(&self) -> Utf8PathBuf {
        Utf8PathBuf::from_path_buf(self.dir.path().join("here")).unwrap()
    }

    fn entries(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .parent()
            .read_dir_utf8()
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_owned())
            .collect();
        names.sort();
        names
    }
}

fn git(folder: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.args(args).current_dir(folder).stdin(Stdio::null());
    assert!(command.status().unwrap().success(), "git {args:?}");
}

#[tokio::test]
async fn a_clone_is_made_beside_where_one_stands_and_used_the_second_time() {
    let place = Place::with_commit();
    let first = clone(&place.url(), &place.parent()).await.unwrap();
    assert!(first.fresh);
    assert_eq!(first.repository.name, "their-app");
    assert_eq!(first.repository.default_branch, "trunk");
    assert_eq!(place.entries(), ["their-app"]);

    let second = clone(&place.url(), &place.parent()).await.unwrap();
    assert!(!second.fresh);
    assert_eq!(second.repository, first.repository);
}

#[tokio::test]
async fn an_empty_folder_is_as_good_as_none() {
    let place = Place::with_commit();
    std::fs::create_dir(place.parent().join("their-app")).unwrap();
    assert!(clone(&place.url(), &place.parent()).await.unwrap().fresh);
}

#[tokio::test]
async fn what_is_there_already_is_not_touched() {
    let place = Place::with_commit();
    let folder = place.parent().join("their-app");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("mine.txt"), "mine").unwrap();
    let err = clone(&place.url(), &place.parent()).await.unwrap_err();
    assert!(matches!(&err, CloneError::Occupied { .. }), "{err}");
    assert_eq!(std::fs::read_to_string(folder.join("mine.txt")).unwrap(), "mine");
    assert_eq!(place.entries(), ["their-app"]);
}

#[tokio::test]
async fn a_clone_of_something_else_is_not_taken_for_this_one() {
    let place = Place::with_commit();
    let folder = place.parent().join("their-app");
    git(place.parent().as_std_path(), &["init", "--quiet", "their-app"]);
    git(folder.as_std_path(), &["remote", "add", "origin", "https://example.invalid/other/app"]);
    let err = clone(&place.url(), &place.parent()).await.unwrap_err();
    assert!(matches!(&err, CloneError::Occupied { .. }), "{err}");
}

#[tokio::test]
async fn nothing_is_left_of_a_clone_that_fails() {
    let place = Place::new();
    let err = clone(&place.url(), &place.parent()).await.unwrap_err();
    let CloneError::Refused { said, .. } = &err else { panic!("{err}") };
    assert!(
        said.contains("does not appear to be a git repository") || said.contains("does not exist"),
        "{said}"
    );
    assert!(place.entries().is_empty(), "{:?}", place.entries());
}

#[tokio::test]
async fn nothing_is_left_of_a_clone_without_a_commit() {
    let place = Place::new();
    git(place.dir.path(), &["init", "--quiet", "their-app"]);
    let err = clone(&place.url(), &place.parent()).await.unwrap_err();
    let CloneError::Unusable { err: why, .. } = &err else { panic!("{err}") };
    assert!(matches!(**why, RepositoryError::Unborn(_)), "{why}");
    assert!(place.entries().is_empty(), "{:?}", place.entries());
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_to_is_named() {
    let place = Place::with_commit();
    let gone = place.parent().join("not-there");
    let err = clone(&place.url(), &gone).await.unwrap_err();
    assert_eq!(err.to_string(), format!("`{gone}` cannot hold a clone"));
    assert!(!Utf8Path::exists(&gone));
}
