//! A new workspace is made ready: by files of the main checkout, by links to it, and by the project's own commands.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ao_core::setup::{IncludeHow, IncludedFiles};
use ao_ports::{RemovalOutcome, TreeRef, Workspace, WorkspaceError};

use crate::provisioned::Bench;
use crate::support::removal;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn copied(patterns: &[&str]) -> Vec<IncludedFiles> {
    patterns
        .iter()
        .map(|pattern| IncludedFiles { pattern: (*pattern).into(), how: IncludeHow::Copy })
        .collect()
}

/// acceptance: L7
#[tokio::test]
async fn included_files_are_copied_for_their_owner_alone_and_do_not_show_in_status() {
    let mut bench = Bench::new().await;
    bench.repo.write(".gitignore", ".env\n");
    bench.repo.write(".env.example", "KEY=\n");
    bench.repo.git(&["add", "."]);
    bench.repo.git(&["commit", "--quiet", "-m", "an example"]);
    bench.main(".env", "KEY=one\n", 0o644);
    bench.main(".env.local", "KEY=two\n", 0o666);
    bench.main("config/app.local.yml", "a: 1\n", 0o644);
    bench.main("secrets/deep/odd [1] name*", "x", 0o644);
    bench.main("secrets/run.sh", "#!/bin/sh\n", 0o755);
    bench.main("other.txt", "not asked for", 0o644);
    bench.desk("fix").await;
    bench.plan.setup.include = copied(&[".env*", "config/*.local.yml", "secrets/**", "none.yml"]);
    bench.set_up().await.unwrap();

    assert_eq!(bench.read(".env"), "KEY=one\n");
    assert_eq!(bench.read(".env.local"), "KEY=two\n");
    assert_eq!(bench.read("secrets/deep/odd [1] name*"), "x");
    for (path, wanted) in [(".env", 0o600), (".env.local", 0o600), ("secrets/run.sh", 0o700)] {
        assert_eq!(mode(&bench.path().join(path)), wanted, "{path}");
    }
    assert!(!bench.path().join("other.txt").exists());
    assert_eq!(bench.git(&["status", "--porcelain", "-uall"]), "");
    assert_eq!(bench.git(&["diff", "HEAD"]), "", "no file that git tracks was touched");
    let shown = bench.repo.git(&["status", "--porcelain", "-uall"]);
    assert!(shown.contains("?? .env.local"), "what the user sees in the main checkout is as before: {shown}");
    let all = ".env\n.env.local\nconfig/app.local.yml\nsecrets/deep/odd [1] name*\nsecrets/run.sh\n";
    assert_eq!(fs::read_to_string(bench.git_dir().join("ao-included")).unwrap(), all);
    assert!(bench.log().contains("`none.yml` is no file of the main checkout"), "{}", bench.log());
}

/// acceptance: L7
#[tokio::test]
async fn a_tracked_file_is_never_written_over() {
    let mut bench = Bench::new().await;
    // Not tracked in the main checkout any more, but on the branch that the session works on.
    bench.repo.write(".env", "tracked\n");
    bench.repo.git(&["add", "."]);
    bench.repo.git(&["commit", "--quiet", "-m", "with it"]);
    bench.repo.git(&["branch", "agent/fix"]);
    bench.repo.git(&["rm", "--quiet", "--cached", ".env"]);
    bench.repo.git(&["commit", "--quiet", "-m", "without it"]);
    bench.main(".env", "mine\n", 0o600);
    bench.desk("fix").await;
    bench.plan.setup.include = copied(&[".env*"]);
    bench.plan.setup.symlinks = vec![".env".into()];
    for gone in [false, true] {
        if gone {
            fs::remove_file(bench.path().join(".env")).unwrap();
        }
        bench.set_up().await.unwrap();
        assert!(bench.log().contains("`.env` is left out: git tracks it on this branch"), "{}", bench.log());
    }
    assert_eq!(bench.git(&["status", "--porcelain"]), "D .env", "also if it was deleted there");
}

#[tokio::test]
async fn repeated_it_renews_what_is_as_it_was_and_leaves_what_was_changed() {
    let mut bench = Bench::new().await;
    bench.main(".env", "one\n", 0o600);
    bench.main(".env.local", "one\n", 0o600);
    bench.desk("fix").await;
    fs::write(bench.path().join(".env.mine"), "the agent's\n").unwrap();
    bench.main(".env.mine", "one\n", 0o600);
    bench.plan.setup.include = copied(&[".env*"]);
    bench.set_up().await.unwrap();
    assert_eq!(bench.read(".env.mine"), "the agent's\n");

    fs::write(bench.path().join(".env.local"), "changed by the agent\n").unwrap();
    for path in [".env", ".env.local", ".env.mine"] {
        bench.main(path, "two\n", 0o600);
    }
    bench.set_up().await.unwrap();
    assert_eq!(bench.read(".env"), "two\n");
    assert_eq!(bench.read(".env.local"), "changed by the agent\n");
    assert_eq!(bench.read(".env.mine"), "the agent's\n");
    assert_eq!(bench.git(&["status", "--porcelain"]), "?? .env.mine", "what the agent makes is seen");
}

#[tokio::test]
async fn a_file_that_was_cut_off_is_written_again() {
    let mut bench = Bench::new().await;
    bench.main(".env", "whole\n", 0o600);
    bench.desk("fix").await;
    fs::write(bench.git_dir().join("ao-included.json"), r#"{".env":null}"#).unwrap();
    fs::write(bench.path().join(".env"), "wh").unwrap();
    bench.plan.setup.include = copied(&[".env"]);
    bench.set_up().await.unwrap();
    assert_eq!(bench.read(".env"), "whole\n");
}

#[tokio::test]
async fn links_are_not_followed_out_of_the_repository_on_either_side() {
    let mut bench = Bench::new().await;
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("passwords"), "secret").unwrap();
    bench.main(".env.real", "inside\n", 0o600);
    let root = bench.repo.path();
    for (target, link) in [
        (outside.path().join("passwords"), ".env.out"),
        (PathBuf::from(".env.real"), ".env.in"),
        (PathBuf::from(".git/config"), ".env.git"),
    ] {
        std::os::unix::fs::symlink(target, root.join(link)).unwrap();
    }
    bench.main("shared/.env", "x", 0o600);
    bench.desk("fix").await;
    // In the workspace, `shared` leads elsewhere.
    std::os::unix::fs::symlink(outside.path(), bench.path().join("shared")).unwrap();
    bench.plan.setup.include = copied(&[".env*", "shared/**"]);
    bench.set_up().await.unwrap();
    assert_eq!(bench.read(".env.in"), "inside\n");
    for path in [".env.out", ".env.git"] {
        assert!(bench.path().join(path).symlink_metadata().is_err(), "{path}");
        assert!(bench.log().contains(&format!("`{path}` is left out")), "{}", bench.log());
    }
    assert!(!outside.path().join(".env").exists());
}

#[tokio::test]
async fn other_sessions_files_are_not_included() {
    let mut bench = Bench::new().await;
    bench.main(".env", "x", 0o600);
    bench.main("vendor/.env", "x", 0o600);
    bench.repo.create_for(0x99, "other").await;
    fs::write(bench.repo.path().join(".worktrees/other/.env"), "theirs").unwrap();
    bench.desk("fix").await;
    bench.plan.setup.include = copied(&["**/.env"]);
    bench.set_up().await.unwrap();
    let included = fs::read_to_string(bench.git_dir().join("ao-included")).unwrap();
    assert_eq!(included, ".env\nvendor/.env\n");
}

#[tokio::test]
async fn files_can_be_linked_or_share_their_blocks() {
    let mut bench = Bench::new().await;
    bench.main("linked.yml", "one\n", 0o644);
    bench.main("cloned.bin", &"x".repeat(100_000), 0o644);
    bench.desk("fix").await;
    bench.plan.setup.include = vec![
        IncludedFiles { pattern: "linked.yml".into(), how: IncludeHow::Symlink },
        IncludedFiles { pattern: "cloned.bin".into(), how: IncludeHow::Reflink },
    ];
    for _ in 0..2 {
        bench.set_up().await.unwrap();
        assert_eq!(
            fs::read_link(bench.path().join("linked.yml")).unwrap(),
            bench.repo.path().join("linked.yml")
        );
        assert_eq!(bench.read("cloned.bin").len(), 100_000);
        assert_eq!(mode(&bench.path().join("cloned.bin")), 0o600);
        assert_eq!(bench.git(&["status", "--porcelain"]), "");
    }
}

#[tokio::test]
async fn a_folder_is_shared_by_a_link_that_git_does_not_show() {
    let mut bench = Bench::new().await;
    // A pattern that matches a folder and no link.
    bench.repo.write(".gitignore", "node_modules/\n");
    bench.repo.git(&["add", "."]);
    bench.repo.git(&["commit", "--quiet", "-m", "ignore"]);
    bench.main("node_modules/left-pad/index.js", "x", 0o644);
    bench.main("web/node_modules/a.js", "x", 0o644);
    bench.desk("fix").await;
    bench.plan.setup.symlinks =
        vec!["node_modules/".into(), "web/node_modules".into(), "README.md".into(), "target".into()];
    for _ in 0..2 {
        bench.set_up().await.unwrap();
        for path in ["node_modules", "web/node_modules"] {
            assert_eq!(fs::read_link(bench.path().join(path)).unwrap(), bench.repo.path().join(path));
        }
        assert!(
            bench.path().join("README.md").symlink_metadata().unwrap().is_file(),
            "tracked, so left alone"
        );
        assert!(bench.path().join("target").symlink_metadata().is_err(), "no link to nothing");
        assert_eq!(bench.git(&["status", "--porcelain"]), "");
    }
    fs::write(bench.path().join("new.js"), "").unwrap();
    assert_eq!(bench.git(&["status", "--porcelain"]), "?? new.js");
}

#[tokio::test]
async fn global_ignores_of_the_user_stay_in_force() {
    let mut bench = Bench::new().await;
    let ignores = tempfile::NamedTempFile::new().unwrap();
    fs::write(ignores.path(), "*.swp").unwrap();
    bench.repo.git(&["config", "core.excludesFile", &ignores.path().display().to_string()]);
    bench.main("a.local", "x", 0o644);
    bench.desk("fix").await;
    fs::write(bench.path().join("x.swp"), "").unwrap();
    bench.plan.setup.include = copied(&["*.local"]);
    for _ in 0..2 {
        bench.set_up().await.unwrap();
        assert_eq!(bench.git(&["status", "--porcelain"]), "");
    }
    assert_eq!(bench.repo.git(&["status", "--porcelain"]), "?? a.local");
}

#[tokio::test]
async fn a_clone_hides_them_in_its_own_exclude_file() {
    let mut bench = Bench::new().await;
    bench.main("a.local", "x", 0o644);
    let folder = tempfile::tempdir().unwrap();
    let clone = folder.path().join("clone");
    let text = |path: &Path| path.display().to_string();
    bench.repo.git(&["clone", "--quiet", ".", &text(&clone)]);
    bench.plan.path = text(&clone);
    bench.plan.setup.include = copied(&["*.local"]);
    for _ in 0..2 {
        bench.set_up().await.unwrap();
        assert_eq!(bench.read("a.local"), "x");
        assert_eq!(bench.git(&["status", "--porcelain"]), "");
    }
    let exclude = fs::read_to_string(clone.join(".git/info/exclude")).unwrap();
    assert_eq!(exclude.matches("/a.local\n").count(), 1);
}

#[tokio::test]
async fn a_path_that_leaves_the_repository_is_refused_in_words() {
    let mut bench = Bench::new().await;
    bench.desk("fix").await;
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), bench.repo.path().join("out")).unwrap();
    for (path, word) in [
        ("../x", "not a path inside the repository"),
        ("/etc/hosts", "not a path inside the repository"),
        (".git/hooks", "belongs to git"),
        ("out/x", "leads out of the repository"),
    ] {
        bench.plan.setup.symlinks = vec![path.into()];
        let WorkspaceError::SetupFailed { why, log, .. } = bench.set_up().await.unwrap_err() else {
            panic!("{path}: not a failed set-up")
        };
        assert!(why.contains(&format!("`{path}`")) && why.contains(word), "{path}: {why}");
        assert!(fs::read_to_string(log.unwrap()).unwrap().contains(&why), "the log tells it too");
    }
}

#[tokio::test]
async fn a_workspace_that_goes_takes_nothing_of_the_main_checkout_with_it() {
    let mut bench = Bench::new().await;
    bench.main(".env", "x", 0o600);
    bench.main("linked.yml", "x", 0o600);
    bench.main("node_modules/a.js", "x", 0o644);
    bench.desk("fix").await;
    bench.plan.setup.include = copied(&[".env"]);
    bench.plan.setup.include.push(IncludedFiles { pattern: "linked.yml".into(), how: IncludeHow::Symlink });
    bench.plan.setup.symlinks = vec!["node_modules".into()];
    bench.set_up().await.unwrap();
    let order = removal(TreeRef { session: bench.session, ..bench.repo.tree(bench.path()) });
    let removal = bench.repo.worktrees.remove(&order).await.unwrap();
    assert!(
        matches!(removal, RemovalOutcome::Removed { .. }),
        "what was put there is no work to be kept: {removal:?}"
    );
    assert!(!bench.path().exists());
    for path in [".env", "linked.yml", "node_modules/a.js"] {
        assert_eq!(fs::read_to_string(bench.repo.path().join(path)).unwrap(), "x", "{path}");
    }
}

#[tokio::test]
async fn the_worktrees_slot_sets_up_by_the_same_way() {
    let mut bench = Bench::new().await;
    bench.main(".env", "x", 0o644);
    bench.desk("fix").await;
    let worktrees = ao_workspace::Worktrees::new();
    worktrees.set_up(bench.session, bench.attempt, &bench.plan).await.expect("nothing is asked for");
    bench.plan.setup.include = copied(&[".env"]);
    worktrees
        .set_up(bench.session, bench.attempt, &bench.plan)
        .await
        .expect_err("there is no place for logs");
    let provision = Some(bench.options.clone());
    let worktrees = ao_workspace::Worktrees::with(ao_workspace::Options { provision, ..Default::default() });
    worktrees.set_up(bench.session, bench.attempt, &bench.plan).await.unwrap();
    assert_eq!(bench.read(".env"), "x");
}
