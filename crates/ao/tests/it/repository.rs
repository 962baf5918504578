//! What a folder is to git, whichever way it is looked at.

use std::path::{Path, PathBuf};

use ao::repository::{GitRepository, RepositoryError};
use camino::Utf8Path;

use crate::place::Place;

async fn at(folder: &Path) -> Result<GitRepository, RepositoryError> {
    GitRepository::at(Utf8Path::from_path(folder).unwrap()).await
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap()
}

#[tokio::test]
async fn every_way_into_a_repository_leads_to_its_main_checkout() {
    let place = Place::new();
    let app = place.repository("my-app");
    place.git(&app, &["worktree", "add", "--quiet", "-b", "side", "../side"]);
    let deep = app.join("src/deep");
    std::fs::create_dir_all(&deep).unwrap();
    std::os::unix::fs::symlink(&app, place.home.path().join("link")).unwrap();
    let ways =
        [app.clone(), deep, app.join(".git"), place.home.path().join("side"), place.home.path().join("link")];
    for way in ways {
        let found = at(&way).await.unwrap_or_else(|err| panic!("{}: {err}", way.display()));
        assert_eq!(real(found.root.as_std_path()), real(&app), "{}", way.display());
        // The main checkout's branch counts, also for who stands in another worktree.
        assert_eq!(found.default_branch, "main");
        assert_eq!(found.name, "my-app");
        assert_eq!(found.remote, None);
    }
}

/// Another agent's worktree, in the moment in which git makes it.
#[tokio::test]
async fn a_worktree_that_is_just_being_made_is_in_nobodys_way() {
    let place = Place::new();
    let app = place.repository("my-app");
    for side in ["../side", "../other"] {
        place.git(&app, &["worktree", "add", "--quiet", side]);
    }
    let commondir = app.join(".git/worktrees/other/commondir");
    let whole = std::fs::read(&commondir).unwrap();
    std::fs::write(&commondir, "").unwrap();
    let side = place.home.path().join("side");
    let making = async {
        tokio::time::sleep(std::time::Duration::from_millis(60)).await;
        std::fs::write(&commondir, &whole).unwrap();
    };
    let (found, ()) = tokio::join!(at(&side), making);
    assert_eq!(real(found.unwrap().root.as_std_path()), real(&app));
}

#[tokio::test]
async fn a_repository_may_keep_its_own_files_elsewhere() {
    let place = Place::new();
    let app = place.home.path().join("apart");
    let elsewhere = place.home.path().join("elsewhere.git");
    place.repository("origin");
    place.git(
        place.home.path(),
        &["clone", "--quiet", "--separate-git-dir", elsewhere.to_str().unwrap(), "origin", "apart"],
    );
    let found = at(&app).await.unwrap();
    assert_eq!(real(found.root.as_std_path()), real(&app));
    // Git itself does not know the way back from a worktree of such a one.
    place.git(&app, &["worktree", "add", "--quiet", "../side"]);
    match at(&place.home.path().join("side")).await {
        Ok(found) => assert_eq!(real(found.root.as_std_path()), real(&app)),
        Err(err) => assert!(err.to_string().contains("main checkout"), "{err}"),
    }
}

#[tokio::test]
async fn a_submodule_is_a_repository_of_its_own() {
    let place = Place::new();
    let app = place.repository("my-app");
    place.repository("lib");
    place.git(&app, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../lib", "lib"]);
    let found = at(&app.join("lib")).await.unwrap();
    assert_eq!(real(found.root.as_std_path()), real(&app.join("lib")));
    assert_eq!(at(&app).await.unwrap().name, "my-app");
}

#[tokio::test]
async fn a_worktree_of_a_bare_repository_has_no_main_checkout() {
    let place = Place::new();
    place.repository("my-app");
    place.git(place.home.path(), &["clone", "--quiet", "--bare", "my-app", "bare.git"]);
    place.git(&place.home.path().join("bare.git"), &["worktree", "add", "--quiet", "../tree", "main"]);
    for folder in ["bare.git", "tree"] {
        let found = at(&place.home.path().join(folder)).await;
        assert!(matches!(found, Err(RepositoryError::Bare(_))), "{folder}: {found:?}");
    }
}

#[tokio::test]
async fn a_clone_starts_from_the_branch_that_its_origin_names() {
    let place = Place::new();
    let app = place.repository("my-app");
    place.git(&app, &["branch", "--move", "main", "trunk"]);
    place.git(place.home.path(), &["clone", "--quiet", "my-app", "mine"]);
    let mine = place.home.path().join("mine");
    place.git(&mine, &["switch", "--quiet", "-c", "fix"]);
    assert_eq!(at(&mine).await.unwrap().default_branch, "trunk");
    place.git(&mine, &["switch", "--quiet", "--detach"]);
    assert_eq!(at(&mine).await.unwrap().default_branch, "trunk");
}

#[tokio::test]
async fn a_token_in_the_address_of_origin_goes_no_further() {
    let place = Place::new();
    let app = place.repository("my-app");
    place.git(&app, &["remote", "add", "origin", "https://me:s3cret@github.com/owner/my-app.git"]);
    let found = at(&app).await.unwrap();
    assert!(!format!("{found:?}").contains("s3cret"), "{found:?}");
}

#[tokio::test]
async fn nothing_of_the_repository_is_run_when_it_is_looked_at() {
    let place = Place::new();
    let app = place.repository("my-app");
    let trap = app.join("trap");
    std::fs::write(&trap, "#!/bin/sh\ntouch \"$(dirname \"$0\")/sprung\"\n").unwrap();
    std::fs::set_permissions(&trap, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    place.git(&app, &["config", "core.fsmonitor", trap.to_str().unwrap()]);
    place.git(&app, &["config", "core.hooksPath", app.to_str().unwrap()]);
    at(&app).await.unwrap();
    assert!(!app.join("sprung").exists());
}
