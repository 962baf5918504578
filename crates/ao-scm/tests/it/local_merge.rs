//! Landing: three strategies, all pinned, and what happens to checkouts.

use ao_core::pull::PullState;
use ao_ports::{LandingStrategy, MergeOrder, MergeOutcome, Scm, ScmReviews as _};

use crate::local_support::{Desk, facts, in_the_way, merge, merged, open, order, refused};

/// Commits as another author.
fn commit_as(desk: &Desk, branch: &str, file: &str, who: &str) {
    desk.git(&["checkout", "--quiet", "--detach", &format!("refs/heads/{branch}")]);
    desk.write(file, who);
    desk.git(&["add", "."]);
    let author = format!("{who} <{who}@example.invalid>");
    desk.git(&[
        "commit",
        "--quiet",
        "--author",
        &author,
        "--date",
        "@1000000000 +0200",
        "-m",
        &format!("by {who}"),
    ]);
    desk.git(&["update-ref", &format!("refs/heads/{branch}"), "HEAD"]);
    desk.git(&["checkout", "--quiet", "main"]);
}

#[tokio::test]
async fn a_squash_is_one_commit_by_the_first_author_that_names_the_others() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.git(&["branch", "x"]);
    commit_as(&desk, "x", "a", "carl");
    commit_as(&desk, "x", "b", "dora");
    commit_as(&desk, "x", "c", "carl");
    let id = open(&scm, "x", "main").await;
    let commit = merged(merge(&scm, &id, LandingStrategy::Squash).await);
    assert_eq!(desk.log("%an|%cn|%s", "main~1..main"), ["carl|Ann|Change x (my-app!1)"]);
    let message = desk.git(&["log", "-1", "--format=%B", commit.as_str()]);
    insta::assert_snapshot!(message, @"
    Change x (my-app!1)

    Because.

    Co-authored-by: dora <dora@example.invalid>
    ");
}

#[tokio::test]
async fn a_merge_has_both_parents() {
    let desk = Desk::new();
    let scm = desk.open().await;
    let head = desk.push("x", "x", "x");
    let id = open(&scm, "x", "main").await;
    let base = desk.tip("main");
    let commit = merged(merge(&scm, &id, LandingStrategy::Merge).await);
    assert_eq!(desk.git(&["log", "-1", "--format=%P", commit.as_str()]), format!("{base} {head}"));
    assert_eq!(desk.git(&["log", "-1", "--format=%s", "main"]), "Merge my-app!1: Change x");
    assert_eq!(desk.tip("main"), commit);
}

#[tokio::test]
async fn a_rebase_keeps_commits_authors_and_dates_on_top_of_the_base() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.git(&["branch", "x"]);
    commit_as(&desk, "x", "a", "carl");
    commit_as(&desk, "x", "b", "dora");
    desk.push("main", "m", "m");
    let id = open(&scm, "x", "main").await;
    let base = desk.tip("main");
    let commit = merged(merge(&scm, &id, LandingStrategy::Rebase).await);
    assert_eq!(desk.log("%an|%ad|%s", &format!("{base}..main")).len(), 2);
    let told =
        desk.git(&["log", "--reverse", "--date=raw", "--format=%an|%ad|%s", &format!("{base}..{commit}")]);
    assert_eq!(told, "carl|1000000000 +0200|by carl\ndora|1000000000 +0200|by dora");
    assert_eq!(desk.log("%P", "main").last().unwrap().split(' ').count(), 1, "it is linear");
}

#[tokio::test]
async fn a_rebase_onto_its_own_start_keeps_the_very_commits() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "a", "1");
    let head = desk.push("x", "b", "2");
    let id = open(&scm, "x", "main").await;
    assert_eq!(merged(merge(&scm, &id, LandingStrategy::Rebase).await), head);
    assert_eq!(desk.tip("main"), head);
}

#[tokio::test]
async fn a_rebase_whose_steps_conflict_is_refused_though_a_squash_would_do() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "README.md", "one\nX\nthree\nfour\nfive\n");
    desk.push("x", "README.md", "one\nM\nthree\nfour\nfive\n");
    desk.push("main", "README.md", "one\nM\nthree\nfour\nfive\n");
    desk.push("x", "x", "x");
    let id = open(&scm, "x", "main").await;
    let base = desk.tip("main");
    let why = refused(merge(&scm, &id, LandingStrategy::Rebase).await);
    assert!(why.contains("README.md") && why.contains("squash"), "{why}");
    assert_eq!(desk.tip("main"), base);
    merged(merge(&scm, &id, LandingStrategy::Squash).await);
}

#[tokio::test]
async fn nothing_but_what_was_tested_is_merged() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    let tested = order(&scm, &id, LandingStrategy::Squash).await;

    let other = MergeOrder { tree: desk.git(&["rev-parse", "main^{tree}"]), ..tested.clone() };
    assert!(refused(scm.merge(&other).await.unwrap()).contains("other files"));

    desk.push("x", "x", "2");
    assert!(refused(scm.merge(&tested).await.unwrap()).contains("not tested"), "the head has moved");

    let tested = order(&scm, &id, LandingStrategy::Squash).await;
    let tip = desk.push("main", "m", "m");
    let MergeOutcome::Refused { tip: told, why, in_the_way: false } = scm.merge(&tested).await.unwrap()
    else {
        panic!("merged")
    };
    assert_eq!((told, desk.tip("main")), (Some(tip.clone()), tip), "{why}");
    assert_eq!(facts(&scm, &id).await.state, PullState::Open);
}

#[tokio::test]
async fn a_draft_and_a_closed_one_are_not_merged() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    let edit = |draft, closed| ao_ports::PullEdit { draft, closed, ..Default::default() };
    scm.edit(&id, &edit(Some(true), None)).await.unwrap();
    assert!(refused(merge(&scm, &id, LandingStrategy::Squash).await).contains("draft"));
    let tested = order(&scm, &id, LandingStrategy::Squash).await;
    scm.edit(&id, &edit(Some(false), Some(true))).await.unwrap();
    assert!(refused(scm.merge(&tested).await.unwrap()).contains("closed"));
}

#[tokio::test]
async fn a_checkout_with_changes_in_the_way_stays_as_it_is_and_its_files_are_named() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "README.md", "one\nX\nthree\nfour\nfive\n");
    let id = open(&scm, "x", "main").await;
    desk.write("README.md", "my own unsaved words\n");
    let (main, status) = (desk.tip("main"), desk.git(&["status", "--porcelain"]));
    let why = in_the_way(merge(&scm, &id, LandingStrategy::Squash).await);
    assert!(why.contains("README.md") && why.contains("commit, stash or move them"), "{why}");
    assert_eq!(desk.read("README.md"), "my own unsaved words\n");
    assert_eq!((desk.tip("main"), desk.git(&["status", "--porcelain"])), (main, status));
    assert_eq!(facts(&scm, &id).await.state, PullState::Open);

    desk.git(&["checkout", "--quiet", "--", "README.md"]);
    merged(merge(&scm, &id, LandingStrategy::Squash).await);
    assert!(desk.read("README.md").contains('X'));
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
}

#[tokio::test]
async fn files_that_git_does_not_know_are_not_overwritten_and_other_changes_are_no_obstacle() {
    let desk = Desk::new();
    desk.write(".gitignore", ".env\n");
    desk.commit("ignores");
    let scm = desk.open().await;
    desk.push("x", "new.txt", "theirs\n");
    desk.git(&["checkout", "--quiet", "--detach", "x"]);
    desk.write(".env", "theirs\n");
    desk.git(&["add", "--force", ".env"]);
    desk.git(&["commit", "--quiet", "-m", "adds what is ignored"]);
    desk.git(&["update-ref", "refs/heads/x", "HEAD"]);
    desk.git(&["checkout", "--quiet", "main"]);
    let id = open(&scm, "x", "main").await;
    desk.write(".env", "SECRET\n");
    desk.write("README.md", "changed, and not by the merge\n");
    let why = in_the_way(merge(&scm, &id, LandingStrategy::Squash).await);
    assert!(why.contains(".env"), "{why}");
    assert_eq!(desk.read(".env"), "SECRET\n");
    std::fs::remove_file(desk.path().join(".env")).unwrap();
    merged(merge(&scm, &id, LandingStrategy::Squash).await);
    assert_eq!(desk.read("README.md"), "changed, and not by the merge\n");
    assert_eq!(desk.read("new.txt"), "theirs\n");
}

#[tokio::test]
async fn a_base_that_is_checked_out_nowhere_moves_all_the_same() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    desk.git(&["checkout", "--quiet", "-b", "elsewhere"]);
    let commit = merged(merge(&scm, &id, LandingStrategy::Squash).await);
    assert_eq!(desk.tip("main"), commit);
    assert!(!desk.path().join("x").exists(), "the checkout is on another branch");
}

#[tokio::test]
async fn a_base_that_only_origin_has_becomes_a_branch_here_and_nothing_is_pushed() {
    let desk = Desk::with_origin();
    let scm = desk.open().await;
    desk.push("x", "x", "1");
    desk.git(&["checkout", "--quiet", "-b", "mine"]);
    desk.git(&["branch", "-D", "main"]);
    let id = open(&scm, "x", "main").await;
    let seen = facts(&scm, &id).await;
    assert_eq!((seen.base_remote.as_deref(), &seen.base), (Some("origin"), &desk.tip("origin/main")));
    let commit = merged(merge(&scm, &id, LandingStrategy::Squash).await);
    assert_eq!(desk.tip("main"), commit);
    desk.git(&["fetch", "--quiet", "origin"]);
    assert_eq!(desk.tip("origin/main"), seen.base);
}

#[tokio::test]
async fn a_base_that_origin_is_ahead_of_is_origins_and_one_that_went_apart_is_refused() {
    let desk = Desk::with_origin();
    let scm = desk.open().await;
    desk.push("x", "x", "1");
    let first = desk.tip("main");
    let ahead = desk.push("main", "m", "m");
    desk.git(&["push", "--quiet", "origin", "main"]);
    desk.git(&["reset", "--quiet", "--hard", first.as_str()]);
    let id = open(&scm, "x", "main").await;
    assert_eq!(facts(&scm, &id).await.base, ahead);

    desk.push("main", "apart", "apart");
    assert_eq!(facts(&scm, &id).await.base, ahead, "what everybody else compares with");
    let why = in_the_way(merge(&scm, &id, LandingStrategy::Squash).await);
    assert!(why.contains("gone apart") && why.contains("git pull"), "{why}");

    desk.git(&["reset", "--quiet", "--hard", first.as_str()]);
    merged(merge(&scm, &id, LandingStrategy::Squash).await);
    assert!(desk.path().join("m").exists() && desk.path().join("x").exists());
}

#[tokio::test]
async fn a_branch_is_deleted_only_if_it_is_not_needed() {
    let desk = Desk::new();
    let scm = desk.open().await;
    for (branch, is_left) in [("free", false), ("in-use", true)] {
        let head = desk.push(branch, branch, "1");
        let id = open(&scm, branch, "main").await;
        let tree = desk.side_path(&format!("tree of {branch}"));
        if is_left {
            desk.git(&["worktree", "add", "--quiet", tree.to_str().unwrap(), branch]);
        }
        let wanted = MergeOrder { delete_branch: true, ..order(&scm, &id, LandingStrategy::Squash).await };
        merged(scm.merge(&wanted).await.unwrap());
        let name = format!("refs/heads/{branch}");
        assert_eq!(!desk.git(&["for-each-ref", &name]).is_empty(), is_left, "{branch}");
        assert_eq!(desk.tip(&format!("refs/ao/pulls/{}/head", id.number)), head, "it is kept in any case");
    }
}

#[tokio::test]
async fn a_checkout_in_a_worktree_follows_even_if_its_git_file_lies() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    desk.git(&["checkout", "--quiet", "-b", "elsewhere"]);
    let tree = desk.side_path("main tree");
    desk.git(&["worktree", "add", "--quiet", tree.to_str().unwrap(), "main"]);
    let victim = Desk::new();
    let before = victim.tip("main");
    std::fs::write(tree.join(".git"), format!("gitdir: {}/.git\n", victim.path().display())).unwrap();
    merged(merge(&scm, &id, LandingStrategy::Squash).await);
    assert_eq!(victim.tip("main"), before);
    assert!(tree.join("x").exists());
}

#[tokio::test]
async fn no_hook_of_the_user_is_run() {
    let desk = Desk::new();
    let hooks = desk.path().join(".git/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    for hook in ["reference-transaction", "post-merge", "post-commit", "pre-merge-commit", "commit-msg"] {
        use std::os::unix::fs::PermissionsExt;
        let path = hooks.join(hook);
        std::fs::write(&path, "#!/bin/sh\ntouch \"$(git rev-parse --git-common-dir)/hook-ran\"\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    desk.push("x", "x", "1");
    std::fs::remove_file(desk.path().join(".git/hook-ran")).unwrap();
    let scm = desk.open().await;
    let id = open(&scm, "x", "main").await;
    merged(merge(&scm, &id, LandingStrategy::Merge).await);
    assert!(!desk.path().join(".git/hook-ran").exists());
}

/// The same two questions that the gate before a deletion asks. acceptance: W8
#[tokio::test]
async fn a_squashed_branch_is_recognised_as_merged_by_its_content() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "a", "1\n");
    let head = desk.push("x", "README.md", "one\nX\nthree\nfour\nfive\n");
    desk.push("main", "m", "m");
    let id = open(&scm, "x", "main").await;
    merged(merge(&scm, &id, LandingStrategy::Squash).await);
    let tree = |name: &str| desk.git(&["rev-parse", &format!("{name}^{{tree}}")]);
    let again = desk.git(&["merge-tree", "--write-tree", "--no-messages", "main", head.as_str()]);
    assert_eq!(again, tree("main"), "to merge it again changes nothing");
    // And still so when others have changed the same lines since.
    desk.push("main", "README.md", "one\nagain\nthree\nfour\nfive\n");
    let fork = desk.git(&["merge-base", "main", head.as_str()]);
    let squashed = desk.git(&["commit-tree", "-p", &fork, "-m", "squashed", &tree(head.as_str())]);
    assert!(desk.git(&["cherry", "main", &squashed]).starts_with("- "));
}

#[tokio::test]
async fn a_merge_by_hand_is_detected() {
    let desk = Desk::new();
    let scm = desk.open().await;
    let head = desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    desk.push("main", "m", "m");
    desk.git(&["merge", "--quiet", "--no-edit", "x"]);
    assert_eq!(facts(&scm, &id).await.state, PullState::Merged { commit: head });

    desk.push("y", "y", "1");
    let id = open(&scm, "y", "main").await;
    desk.git(&["branch", "--force", "y", "main"]);
    assert_eq!(facts(&scm, &id).await.state, PullState::Open, "to throw the work away is no merge");
}

#[tokio::test]
async fn without_a_git_identity_ao_commits() {
    let mut desk = Desk::new();
    desk.settings =
        [("user.name", ""), ("user.email", "")].map(|(key, value)| (key.into(), value.into())).into();
    let scm = desk.open().await;
    for (name, strategy) in [("x", LandingStrategy::Squash), ("y", LandingStrategy::Merge)] {
        desk.push(name, name, "1");
        let id = open(&scm, name, "main").await;
        merged(merge(&scm, &id, strategy).await);
    }
    let told = desk.git(&["log", "--first-parent", "--format=%an|%cn|%s", "-2", "main"]);
    assert_eq!(told, "ao|ao|Merge my-app!2: Change y\nAnn|ao|Change x (my-app!1)");
}

#[tokio::test]
async fn a_merge_lands_with_any_merge_options_of_the_base() {
    for options in ["--squash", "--no-commit --squash", "--no-ff"] {
        let desk = Desk::new();
        desk.git(&["config", "branch.main.mergeOptions", options]);
        let scm = desk.open().await;
        desk.push("x", "x", "1");
        let id = open(&scm, "x", "main").await;
        let commit = merged(merge(&scm, &id, LandingStrategy::Squash).await);
        assert_eq!(desk.tip("main"), commit, "{options}");
        assert_eq!(desk.git(&["status", "--porcelain"]), "");
    }
}

#[tokio::test]
async fn a_merge_that_did_not_move_the_base_is_refused() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    let order = order(&scm, &id, LandingStrategy::Squash).await;
    let main = desk.tip("main");
    desk.git(&["branch", "other"]);
    // A filter runs while git fast-forwards, and switches the checkout to another branch meanwhile.
    desk.git(&["checkout", "--quiet", "x"]);
    desk.git(&["checkout", "--quiet", "main"]);
    desk.filter("switch", "git symbolic-ref HEAD refs/heads/other; cat");
    desk.write(".git/info/attributes", "x filter=switch\n");
    let why = in_the_way(scm.merge(&order).await.unwrap());
    assert!(why.contains("`main` has not moved"), "{why}");
    assert_eq!(desk.tip("main"), main);
    assert_eq!(facts(&scm, &id).await.state, PullState::Open);
}

#[tokio::test]
async fn a_base_that_moves_during_the_fast_forward_is_reported() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    let order = order(&scm, &id, LandingStrategy::Squash).await;
    let main = desk.tip("main");
    let other = desk.git(&["commit-tree", "-p", main.as_str(), "-m", "meanwhile", "main^{tree}"]);
    desk.filter("move", &format!("git update-ref refs/heads/main {other}; cat"));
    desk.write(".git/info/attributes", "x filter=move\n");
    let MergeOutcome::Refused { tip, why, in_the_way: false } = scm.merge(&order).await.unwrap() else {
        panic!("it was merged")
    };
    assert_eq!(tip.unwrap().as_str(), other, "{why}");
    assert_eq!(facts(&scm, &id).await.state, PullState::Open);
}

/// Raw dates of less than nine digits are something else to git unless they are marked.
#[tokio::test]
async fn a_rebase_keeps_dates_of_the_first_years() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.git(&["checkout", "--quiet", "-b", "x"]);
    desk.write("x", "1");
    desk.git(&["add", "."]);
    desk.git(&["commit", "--quiet", "--date", "@86400 +0200", "-m", "old"]);
    desk.git(&["checkout", "--quiet", "main"]);
    desk.push("main", "m", "m");
    let id = open(&scm, "x", "main").await;
    merged(merge(&scm, &id, LandingStrategy::Rebase).await);
    assert_eq!(desk.git(&["log", "-1", "--date=raw", "--format=%ad|%s", "main"]), "86400 +0200|old");
}
