//! The specifics of clones: their remote, their settings, and that a clone keeps nothing by itself.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ao_core::effect::WorkspacePlan;
use ao_core::setup::Origin;
use ao_core::workspace::KeepReason;
use ao_core::{Attempt, SessionId};
use ao_ports::{CreatedWorkspace, RemovalOutcome, RemoveOrder, TreeRef, Workspace};
use ao_workspace::{Clones, Options};
use tempfile::TempDir;

use crate::support::{Repo, SESSION, git, removal};

struct Site {
    repo: Repo,
    folder: TempDir,
    clones: Clones,
}

impl Site {
    fn new(repo: Repo) -> Site {
        let folder = tempfile::tempdir().unwrap();
        let clones = Clones::new(folder.path().canonicalize().unwrap(), Options::default());
        Site { repo, folder, clones }
    }

    fn place(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("app")
    }

    async fn create(&self) -> CreatedWorkspace {
        self.clones.create(SESSION, Attempt(1), &self.repo.plan("fix")).await.unwrap()
    }

    fn tree(&self, made: &CreatedWorkspace) -> TreeRef {
        self.repo.tree(made.path.as_ref())
    }

    fn order(&self, made: &CreatedWorkspace) -> RemoveOrder {
        self.repo.order(made.path.as_ref())
    }

    async fn kept(&self, made: &CreatedWorkspace) -> Vec<KeepReason> {
        match self.clones.remove(&self.order(made)).await.unwrap() {
            RemovalOutcome::Kept { reasons } => reasons,
            RemovalOutcome::Removed { .. } => panic!("it was removed"),
        }
    }
}

#[tokio::test]
async fn its_remote_is_the_sources_remote_and_tells_what_that_has() {
    let (repo, remote) = Repo::with_origin();
    let site = Site::new(repo);
    site.repo.git(&["branch", "only-here"]);
    let newer = Repo::pushed_by_a_colleague(&remote, "main", "theirs");
    let made = site.create().await;
    let at = |args: &[&str]| git(made.path.as_ref(), args);
    assert_eq!(made.path, site.place().join("fix").display().to_string());
    assert_eq!(made.base, newer);
    assert_eq!(at(&["remote", "get-url", "origin"]), remote.path().display().to_string());
    assert_eq!(
        at(&["for-each-ref", "--format=%(refname) %(symref)", "refs/remotes"]),
        "refs/remotes/origin/HEAD refs/remotes/origin/main\nrefs/remotes/origin/main"
    );
    assert_eq!(at(&["config", "user.name"]), "Agent ses_4f");
    at(&["commit", "--quiet", "--allow-empty", "-m", "work"]);
    assert_eq!(site.kept(&made).await, [KeepReason::Unpushed]);
    at(&["push", "--quiet", "origin", "agent/fix"]);
    let removal = site.clones.remove(&site.order(&made)).await.unwrap();
    assert_eq!(removal, RemovalOutcome::Removed { rescue: Some("refs/ao/rescue/ses_4f".into()) });
    assert_eq!(fs::read_dir(site.place()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_token_in_an_address_is_kept_where_only_its_owner_can_read_it() {
    let site = Site::new(Repo::new());
    let address = "https://ann:t0ken@127.0.0.1:1/app.git";
    site.repo.git(&["remote", "add", "origin", address]);
    site.repo.git(&["config", "http.extraHeader", "Authorization: t0ken"]);
    let options = Options { fetch: false, ..Options::default() };
    let clones = Clones::new(site.folder.path().canonicalize().unwrap(), options);
    let made = clones.create(SESSION, Attempt(1), &site.repo.plan("fix")).await.unwrap();
    let config = Path::new(&made.path).join(".git/config");
    assert_eq!(git(made.path.as_ref(), &["config", "--get-all", "remote.origin.url"]), address);
    assert_eq!(git(made.path.as_ref(), &["config", "http.extraHeader"]), "Authorization: t0ken");
    assert_eq!(fs::metadata(config).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn it_takes_over_settings_and_no_hooks() {
    let site = Site::new(Repo::new());
    site.repo.git(&["config", "merge.conflictStyle", "diff3"]);
    site.repo.git(&["config", "url.https://example.invalid/.insteadOf", "short:"]);
    site.repo.git(&["config", "core.hooksPath", ".git/hooks"]);
    let hook = site.repo.path().join(".git/hooks/post-checkout");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\ntouch hooked\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(site.repo.path().join(".git/info/exclude"), "*.swp\n").unwrap();
    let made = site.create().await;
    let at = |args: &[&str]| git(made.path.as_ref(), args);
    assert_eq!(at(&["config", "merge.conflictStyle"]), "diff3");
    assert_eq!(at(&["config", "url.https://example.invalid/.insteadOf"]), "short:");
    assert_eq!(at(&["config", "--default", "none", "core.hooksPath"]), "none");
    assert!(!Path::new(&made.path).join(".git/hooks/post-checkout").exists());
    assert!(!Path::new(&made.path).join("hooked").exists());
    assert_eq!(at(&["check-ignore", "a.swp"]), "a.swp");
}

#[tokio::test]
async fn a_sparse_checkout_gives_sparse_clones() {
    let site = Site::new(Repo::new());
    for folder in ["wanted", "unwanted"] {
        fs::create_dir(site.repo.path().join(folder)).unwrap();
        site.repo.write(&format!("{folder}/file.txt"), folder);
    }
    site.repo.commit("top.txt", "top");
    site.repo.git(&["sparse-checkout", "set", "wanted"]);
    let made = site.create().await;
    let path = Path::new(&made.path);
    assert!(path.join("wanted/file.txt").exists() && !path.join("unwanted").exists());
    assert_eq!(git(path, &["status", "--porcelain"]), "");
}

/// Objects are shared by links and not by reference, so a clean-up in the source takes nothing away.
#[tokio::test]
async fn a_clean_up_in_the_source_leaves_it_whole() {
    let site = Site::new(Repo::new());
    site.repo.git(&["switch", "--quiet", "-c", "short-lived"]);
    site.repo.commit("large.txt", "large\n");
    site.repo.git(&["switch", "--quiet", "main"]);
    let plan =
        WorkspacePlan { origin: Origin::Branch, branch: "short-lived".into(), ..site.repo.plan("fix") };
    let made = site.clones.create(SESSION, Attempt(1), &plan).await.unwrap();
    let clone = Path::new(&made.path);
    assert!(!clone.join(".git/objects/info/alternates").exists());
    let object = clone.join(".git/objects").join(&made.base[..2]).join(&made.base[2..]);
    assert_eq!(fs::metadata(object).unwrap().nlink(), 2);
    site.repo.git(&["branch", "-D", "--quiet", "short-lived"]);
    site.repo.git(&["reflog", "expire", "--expire=now", "--all"]);
    site.repo.git(&["gc", "--quiet", "--prune=now"]);
    git(clone, &["fsck", "--strict"]);
    assert!(clone.join("large.txt").exists());
}

#[tokio::test]
async fn branches_and_tags_that_only_it_has_keep_it() {
    let site = Site::new(Repo::new());
    let made = site.create().await;
    let at = |args: &[&str]| git(made.path.as_ref(), args);
    at(&["switch", "--quiet", "-c", "aside"]);
    at(&["commit", "--quiet", "--allow-empty", "-m", "aside"]);
    at(&["switch", "--quiet", "agent/fix"]);
    assert_eq!(site.kept(&made).await, [KeepReason::Unpushed]);
    at(&["tag", "v1", "aside"]);
    at(&["branch", "--quiet", "-D", "aside"]);
    assert_eq!(site.kept(&made).await, [KeepReason::Unpushed]);
    at(&["tag", "-d", "v1"]);
    assert!(matches!(site.clones.remove(&site.order(&made)).await.unwrap(), RemovalOutcome::Removed { .. }));
}

#[tokio::test]
async fn one_that_was_cut_off_while_made_or_removed_is_done_again() {
    let site = Site::new(Repo::new());
    let partial = site.place().join(".making-ses_4f");
    // A foreign folder of that name is left alone.
    fs::create_dir_all(&partial).unwrap();
    site.clones.create(SESSION, Attempt(1), &site.repo.plan("fix")).await.unwrap_err();
    let intent =
        serde_json::json!({ "path": partial, "branch": "agent/fix", "new_branch": true, "base": "" });
    fs::create_dir_all(site.repo.path().join(".git/ao/making")).unwrap();
    fs::write(site.repo.path().join(".git/ao/making/ses_4f"), intent.to_string()).unwrap();
    let made = site.create().await;
    assert!(!partial.exists() && !site.repo.path().join(".git/ao/making/ses_4f").exists());
    assert_eq!(git(made.path.as_ref(), &["status", "--porcelain"]), "");

    fs::rename(&made.path, site.place().join(".removing-ses_4f")).unwrap();
    let removal = site.clones.remove(&site.order(&made)).await.unwrap();
    assert!(matches!(removal, RemovalOutcome::Removed { .. }), "{removal:?}");
    assert_eq!(fs::read_dir(site.place()).unwrap().count(), 0);
}

/// As a daemon leaves it that ended between the move and the last look.
#[tokio::test]
async fn a_clone_that_was_moved_and_not_judged_is_not_deleted() {
    let site = Site::new(Repo::new());
    let made = site.create().await;
    let (path, going) = (Path::new(&made.path), site.place().join(".removing-ses_4f"));
    let aside = || {
        fs::rename(path, &going).unwrap();
        fs::write(going.join("last.txt"), "written in the last moment").unwrap();
    };
    aside();
    assert_eq!(site.kept(&made).await, [KeepReason::Untracked]);
    assert!(path.join("last.txt").exists() && !going.exists(), "it is back in its place");

    aside();
    let by_session = removal(TreeRef { recorded: None, ..site.tree(&made) });
    let removal = site.clones.remove(&by_session).await.unwrap();
    assert_eq!(removal, RemovalOutcome::Kept { reasons: vec![KeepReason::Untracked] });
    assert_eq!(site.create().await, made, "a creation takes it back as well");
    assert!(path.join("last.txt").exists() && !going.exists());

    // Something else has taken its place, so it is judged where it is.
    aside();
    fs::create_dir(path).unwrap();
    site.clones.remove(&site.order(&made)).await.unwrap();
    assert!(going.join("last.txt").exists());
    fs::remove_dir(path).unwrap();
    site.create().await;

    // The rest of a judged clone is deleted.
    fs::rename(path, site.place().join(".deleting-ses_4f")).unwrap();
    fs::remove_dir_all(site.place().join(".deleting-ses_4f/.git")).unwrap();
    let removal = site.clones.remove(&site.order(&made)).await.unwrap();
    assert!(matches!(removal, RemovalOutcome::Removed { .. }), "{removal:?}");
    assert_eq!(fs::read_dir(site.place()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_process_is_found_in_it_though_its_folder_was_given_by_a_link() {
    let site = Site::new(Repo::new());
    let (real, link) = (site.folder.path().join("real"), site.folder.path().join("link"));
    fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let clones = Clones::new(link.join("deep/clones"), Options::default());
    let made = clones.create(SESSION, Attempt(1), &site.repo.plan("fix")).await.unwrap();
    let place = real.canonicalize().unwrap().join("deep/clones/app/fix");
    assert_eq!(made.path, place.display().to_string());
}

#[tokio::test]
async fn a_folder_or_a_name_that_is_not_ours_is_refused() {
    let site = Site::new(Repo::new());
    fs::create_dir_all(site.place().join("fix")).unwrap();
    fs::write(site.place().join("fix/notes.txt"), "mine").unwrap();
    let told = site.clones.create(SESSION, Attempt(1), &site.repo.plan("fix")).await.unwrap_err().to_string();
    assert!(told.contains("was not made by ao"), "{told}");
    let told =
        site.clones.create(SESSION, Attempt(1), &site.repo.plan("../out")).await.unwrap_err().to_string();
    assert!(told.contains("cannot be the name"), "{told}");
    let plan =
        WorkspacePlan { origin: Origin::Tree { path: "/somewhere".into() }, ..site.repo.plan("other") };
    let told = site.clones.create(SessionId(0x50), Attempt(1), &plan).await.unwrap_err().to_string();
    assert!(told.contains("choose the kind `worktree`"), "{told}");
}
