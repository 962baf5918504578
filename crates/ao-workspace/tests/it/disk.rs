//! Disk is freed by what was said, and by nothing else.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use ao_ports::{RemovalOutcome, Workspace};

use crate::support::{Repo, SESSION};

fn du(path: &Path) -> u64 {
    let output = Command::new("du").args(["-s", "-B1"]).arg(path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}

/// acceptance: W6, W9
#[tokio::test]
async fn a_removal_frees_what_the_survey_said() {
    let repo = Repo::new();
    repo.commit(".gitignore", "target\nnode_modules\nlink\n");
    let shared = tempfile::tempdir().unwrap();
    fs::write(shared.path().join("lib.js"), vec![1; 1 << 20]).unwrap();
    let tree = repo.merged().await;
    fs::create_dir(tree.path.join("target")).unwrap();
    fs::write(tree.path.join("target/large"), vec![1; 3 << 20]).unwrap();
    fs::hard_link(tree.path.join("target/large"), tree.path.join("target/again")).unwrap();
    symlink(shared.path(), tree.path.join("node_modules")).unwrap();
    fs::write(repo.path().join(".git/kept"), vec![1; 1 << 20]).unwrap();
    fs::hard_link(repo.path().join(".git/kept"), tree.path.join("link")).unwrap();

    let before = du(&repo.path());
    let trees = [repo.tree(&tree.path)];
    let surveyed = repo.worktrees.survey(&repo.path().display().to_string(), &trees).await.unwrap();
    assert_eq!((surveyed.len(), surveyed[0].session, &surveyed[0].reasons[..]), (1, Some(SESSION), &[][..]));
    assert!(matches!(repo.remove(&tree.path).await, RemovalOutcome::Removed { .. }));
    let freed = before - du(&repo.path());
    let said = surveyed[0].bytes;
    // The rescue ref, its log and their folders take a few blocks.
    assert!(said.abs_diff(freed) <= 64 << 10, "said {said}, freed {freed}");
    assert!(surveyed[0].ignored_bytes >= 3 << 20 && surveyed[0].ignored_bytes < 4 << 20, "{surveyed:?}");
    assert_eq!(fs::metadata(shared.path().join("lib.js")).unwrap().len(), 1 << 20);
}

#[tokio::test]
async fn cleaning_spares_what_is_tracked_included_linked_to_or_a_repository() {
    let repo = Repo::new();
    repo.commit(".gitignore", "target/\n.env*\nnode_modules\n*.log\nvendor/\n");
    let shared = tempfile::tempdir().unwrap();
    fs::write(shared.path().join("lib.js"), "shared").unwrap();
    let tree = repo.worked().await;
    let path = |name: &str| tree.path.join(name);
    for folder in ["target/deep", "vendor/own", "mixed"] {
        fs::create_dir_all(path(folder)).unwrap();
    }
    for name in ["target/tracked", "target/deep/out", ".env", ".env.local", "mixed/a.log", "mixed/notes.txt"]
    {
        tree.write(name, name);
    }
    tree.git(&["add", "--force", "target/tracked"]);
    tree.git(&["commit", "--quiet", "-m", "tracked"]);
    crate::support::git(&path("vendor/own"), &["init", "--quiet"]);
    symlink(shared.path(), path("node_modules")).unwrap();
    symlink(shared.path(), path("target/link")).unwrap();
    let git_dir = repo.path().join(".git/worktrees/fix");
    fs::write(git_dir.join("ao-included"), ".env\nnode_modules\n").unwrap();

    let cleaned = repo.worktrees.clean(&repo.tree(&tree.path)).await.unwrap();
    assert_eq!(cleaned.paths, 5, "deep, out, link, .env.local and a.log");
    for kept in ["target/tracked", ".env", "node_modules/lib.js", "mixed/notes.txt", "vendor/own/.git"] {
        assert!(path(kept).exists(), "{kept}");
    }
    for gone in ["target/deep", "target/link", ".env.local", "mixed/a.log"] {
        assert!(path(gone).symlink_metadata().is_err(), "{gone}");
    }
    assert_eq!(fs::read_to_string(shared.path().join("lib.js")).unwrap(), "shared");
}

#[tokio::test]
async fn nothing_is_cleaned_under_a_process() {
    let repo = Repo::new();
    repo.commit(".gitignore", "target/\n");
    let tree = repo.worked().await;
    fs::create_dir(tree.path.join("target")).unwrap();
    let open = fs::File::create(tree.path.join("target/out")).unwrap();
    let mut writer = Command::new("sleep").arg("1000").stdin(open).spawn().unwrap();
    let told = repo.worktrees.clean(&repo.tree(&tree.path)).await.unwrap_err().to_string();
    writer.kill().unwrap();
    writer.wait().unwrap();
    assert!(told.starts_with("a process works in"), "{told}");
    assert_eq!(repo.worktrees.clean(&repo.tree(&tree.path)).await.unwrap().paths, 2);
}
