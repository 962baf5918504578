//! The files of a new worktree: submodules, large files, sparse checkouts.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ao_core::Attempt;
use ao_core::workspace::KeepReason;
use ao_ports::{CreatedWorkspace, RemovalOutcome, Workspace};
use ao_workspace::{Options, Worktrees};

use crate::support::{Repo, SESSION, git};

/// Git fetches no submodule from a path unless that is allowed; only this test allows it.
fn trusting() -> Worktrees {
    let settings = vec![("protocol.file.allow".to_owned(), "always".to_owned())];
    Worktrees::with(Options { settings, ..Options::default() })
}

/// A repository with a submodule in `lib`, which has one in `deep`.
fn with_submodules() -> (Repo, [Repo; 2]) {
    let (repo, lib, deep) = (Repo::new(), Repo::new(), Repo::new());
    let add = |to: &Repo, what: &Repo, place: &str| {
        let address = what.path().display().to_string();
        to.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &address, place]);
        to.git(&["commit", "--quiet", "-m", "with a submodule"]);
    };
    add(&lib, &deep, "deep");
    add(&repo, &lib, "lib");
    (repo, [lib, deep])
}

async fn made(repo: &Repo, worktrees: &Worktrees) -> CreatedWorkspace {
    worktrees.create(SESSION, Attempt(1), &repo.plan("fix")).await.unwrap()
}

/// acceptance: L9
#[tokio::test]
async fn submodules_are_initialised_and_go_with_the_tree() {
    let (repo, _modules) = with_submodules();
    let worktrees = trusting();
    let made = made(&repo, &worktrees).await;
    let path = Path::new(&made.path);
    assert!(path.join("lib/README.md").exists() && path.join("lib/deep/README.md").exists());
    assert_eq!(git(path, &["status", "--porcelain"]), "");
    let removal = worktrees.remove(&repo.order(path)).await.unwrap();
    assert!(matches!(removal, RemovalOutcome::Removed { .. }), "{removal:?}");
    assert!(!path.exists());
}

#[tokio::test]
async fn work_in_a_submodule_keeps_the_tree() {
    let (repo, _modules) = with_submodules();
    let worktrees = trusting();
    let made = made(&repo, &worktrees).await;
    let deep = Path::new(&made.path).join("lib/deep");
    let kept = async || {
        let order = repo.order(made.path.as_ref());
        let RemovalOutcome::Kept { reasons } = worktrees.remove(&order).await.unwrap() else {
            panic!("removed")
        };
        reasons
    };
    fs::write(deep.join("new.txt"), "new").unwrap();
    let reasons = kept().await;
    assert!(reasons.contains(&KeepReason::Untracked), "{reasons:?}");
    git(&deep, &["add", "."]);
    git(&deep, &["stash", "push", "--quiet"]);
    assert_eq!(kept().await, [KeepReason::Stashed]);
    git(&deep, &["stash", "drop", "--quiet"]);
    // Committed on a branch that is not checked out: the files show nothing of it.
    let before = git(&deep, &["rev-parse", "HEAD"]);
    git(&deep, &["switch", "--quiet", "-c", "work"]);
    let me = ["-c", "user.name=Ann", "-c", "user.email=ann@example.invalid"];
    git(&deep, &[&me[..], &["commit", "--quiet", "--allow-empty", "-m", "mine"]].concat());
    git(&deep, &["checkout", "--quiet", &before]);
    assert_eq!(kept().await, [KeepReason::Unpushed]);
}

/// Git is forced to remove a tree with submodules, so it does not look itself.
#[tokio::test]
async fn a_change_in_a_submodule_during_removal_keeps_it() {
    let (repo, _modules) = with_submodules();
    let hooks = repo.path().join(".git/hooks").display().to_string();
    let settings = [("protocol.file.allow", "always"), ("core.hooksPath", &hooks)];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    let worktrees = Worktrees::with(Options { settings, ..Options::default() });
    let made = made(&repo, &worktrees).await;
    let late = Path::new(&made.path).join("lib/late.txt");
    // Git runs this hook when the rescue ref is written: after the gate has looked, and before anything is deleted.
    let hook = repo.path().join(".git/hooks/reference-transaction");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(
        &hook,
        format!("#!/bin/sh\ngrep -q refs/ao/rescue && echo late > '{}'\nexit 0\n", late.display()),
    )
    .unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let removal = worktrees.remove(&repo.order(made.path.as_ref())).await.unwrap();
    let RemovalOutcome::Kept { reasons } = removal else { panic!("it was removed") };
    assert!(reasons.contains(&KeepReason::Untracked), "{reasons:?}");
    assert!(late.exists() && !repo.path().join(".git/ao/removing/ses_4f").exists());
    fs::remove_file(&hook).unwrap();
    fs::remove_file(&late).unwrap();
    let removal = worktrees.remove(&repo.order(made.path.as_ref())).await.unwrap();
    assert!(matches!(removal, RemovalOutcome::Removed { .. }), "{removal:?}");
}

#[tokio::test]
async fn a_submodule_that_cannot_be_had_is_named_and_tried_again() {
    let (repo, _modules) = with_submodules();
    let told = repo.create("fix").await.unwrap_err().to_string();
    assert!(told.contains("failed to initialise the submodules of"), "{told}");
    let made = made(&repo, &trusting()).await;
    assert!(Path::new(&made.path).join("lib/deep/README.md").exists());
}

#[tokio::test]
async fn large_files_stay_pointers_and_the_tree_is_clean() {
    let repo = Repo::new();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n";
    repo.write(".gitattributes", "*.bin filter=lfs -text\n");
    repo.commit("large.bin", pointer);
    // As the program's own installation sets it up, but one that cannot be asked for anything.
    let program = repo.path().join(".git/lfs-filter");
    fs::write(&program, "#!/bin/sh\ncase \"$1\" in clean) cat ;; *) echo downloaded ;; esac\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    for (key, value) in [("clean", "clean"), ("smudge", "smudge")] {
        repo.git(&["config", &format!("filter.lfs.{key}"), &format!("{} {value}", program.display())]);
    }
    repo.git(&["config", "filter.lfs.process", "/nonexistent/git-lfs filter-process"]);
    repo.git(&["config", "filter.lfs.required", "true"]);
    let made = made(&repo, &repo.worktrees).await;
    let large = Path::new(&made.path).join("large.bin");
    assert_eq!(fs::read_to_string(&large).unwrap(), pointer);
    repo.git(&["config", "--unset", "filter.lfs.process"]);
    assert_eq!(git(made.path.as_ref(), &["status", "--porcelain"]), "");
    assert!(matches!(repo.remove(made.path.as_ref()).await, RemovalOutcome::Removed { .. }));
}

#[tokio::test]
async fn a_sparse_checkout_gives_sparse_worktrees() {
    let repo = Repo::new();
    for folder in ["wanted", "unwanted"] {
        fs::create_dir(repo.path().join(folder)).unwrap();
        repo.write(&format!("{folder}/file.txt"), folder);
    }
    repo.commit("top.txt", "top");
    repo.git(&["sparse-checkout", "set", "wanted"]);
    let made = made(&repo, &repo.worktrees).await;
    let path = Path::new(&made.path);
    assert!(path.join("wanted/file.txt").exists() && path.join("top.txt").exists());
    assert!(!path.join("unwanted").exists());
    assert_eq!(git(path, &["status", "--porcelain"]), "");
    assert_eq!(git(path, &["config", "user.name"]), "Agent ses_4f");
    assert!(matches!(repo.remove(path).await, RemovalOutcome::Removed { .. }));
}
