//! Several at once: tested one on top of another, and landed together or not at all.

use ao_core::Commit;
use ao_core::pull::{CheckState, PullState};
use ao_core::queue::LanePart;
use ao_ports::{
    LandingStrategy, MergeOrder, MergeOutcome, RunFilter, RunState, Scm, ScmChecks as _, TestOrder,
    TestOutcome,
};
use ao_scm::local::LocalScm;

use crate::local_support::{Desk, facts, open, pull, refused};

/// Pull requests that each add one file, and their heads.
async fn proposed(desk: &Desk, scm: &LocalScm, names: &[&str]) -> Vec<LanePart> {
    let mut parts = vec![];
    for name in names {
        let head = desk.push(name, name, name);
        parts.push(LanePart { pull: open(scm, name, "main").await, head });
    }
    parts
}

fn test(parts: &[LanePart], base: &Commit) -> TestOrder {
    let (last, ahead) = parts.split_last().unwrap();
    let LanePart { pull, head } = last.clone();
    TestOrder {
        pull,
        head,
        base: base.clone(),
        ahead: ahead.to_vec(),
        strategy: LandingStrategy::default(),
        required: vec![],
        checks: true,
    }
}

async fn tested(scm: &LocalScm, parts: &[LanePart], base: &Commit) -> String {
    match scm.test(&test(parts, base)).await.unwrap() {
        TestOutcome::Green { tree } => tree,
        other => panic!("{other:?}"),
    }
}

fn merge(parts: &[LanePart], base: &Commit, tree: &str, strategy: LandingStrategy) -> MergeOrder {
    let (last, with) = parts.split_last().unwrap();
    let LanePart { pull, head } = last.clone();
    let (base, tree) = (base.clone(), tree.to_owned());
    MergeOrder { pull, head, base, with: with.to_vec(), tree, strategy, by: None, delete_branch: true }
}

fn files(desk: &Desk, of: &str) -> Vec<String> {
    desk.git(&["ls-tree", "-r", "--name-only", of]).lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_speculative_test_includes_those_ahead_and_moves_nothing() {
    let desk = Desk::new().with_checks(&[("test", true)]);
    let scm = desk.open().await;
    let parts = proposed(&desk, &scm, &["a", "b", "c"]).await;
    let (base, before) = (desk.tip("main"), desk.git(&["for-each-ref", "refs/heads"]));
    let tree = tested(&scm, &parts, &base).await;
    assert_eq!(files(&desk, &tree), ["README.md", "a", "b", "c"]);
    let job = desk.checks.jobs.lock().unwrap().last().unwrap().clone();
    assert_eq!((job.tree.as_str(), &job.head), (tree.as_str(), &parts[2].head));
    assert_eq!(tested(&scm, &parts, &base).await, tree, "the same ones are the same tree");
    assert_eq!(desk.git(&["for-each-ref", "refs/heads"]), before);
}

#[tokio::test]
async fn a_check_is_run_on_a_batch_if_any_of_it_touches_its_paths() {
    let desk = Desk::new().with_checks(&[("test", true)]);
    let scm = desk.open().await;
    let parts = proposed(&desk, &scm, &["a", "b", "c"]).await;
    let base = desk.tip("main");
    tested(&scm, &parts, &base).await;
    let changed = || desk.checks.jobs.lock().unwrap().last().unwrap().changed.clone();
    let mut all = changed().unwrap();
    all.sort();
    assert_eq!(all, ["a", "b", "c"], "not only those of the last one");
    let mut moved = parts.clone();
    moved[0].head = base.clone();
    tested(&scm, &moved, &base).await;
    assert_eq!(changed(), None, "of another head nobody knows, so nothing is skipped");
}

#[tokio::test]
async fn checks_that_policy_requires_are_run_on_what_lands_and_never_skipped() {
    let desk = Desk::new().with_checks(&[("test", true), ("lint", false), ("slow", false)]);
    let scm = desk.open().await;
    let parts = proposed(&desk, &scm, &["a"]).await;
    let mut order = TestOrder { required: vec!["lint".into()], ..test(&parts, &desk.tip("main")) };
    assert!(matches!(scm.test(&order).await.unwrap(), TestOutcome::Green { .. }));
    let names = |desk: &Desk| {
        let job = desk.checks.jobs.lock().unwrap().last().unwrap().clone();
        job.checks.into_iter().map(|check| check.name).collect::<Vec<_>>()
    };
    assert_eq!(names(&desk), ["test", "lint"]);
    desk.checks.let_be("lint", RunState::Failed);
    assert!(matches!(scm.test(&order).await.unwrap(), TestOutcome::Red { .. }));
    desk.checks.let_be("lint", RunState::Skipped);
    let told = scm.test(&order).await.unwrap_err().to_string();
    assert!(told.contains("`lint`") && told.contains("policy requires it"), "{told}");
    order.required = vec!["nope".into()];
    let told = scm.test(&order).await.unwrap_err().to_string();
    assert!(told.contains("`nope`, which is not configured"), "{told}");
}

#[tokio::test]
async fn a_conflict_ahead_names_whose_it_is() {
    let desk = Desk::new();
    let scm = desk.open().await;
    let mut parts = proposed(&desk, &scm, &["a"]).await;
    for name in ["b", "c"] {
        let head = desk.push(name, "README.md", &format!("one\n{name}\nthree\nfour\nfive\n"));
        parts.push(LanePart { pull: open(&scm, name, "main").await, head });
    }
    parts.push(proposed(&desk, &scm, &["d"]).await.remove(0));
    let told = scm.test(&test(&parts, &desk.tip("main"))).await.unwrap();
    let files = vec!["README.md".to_owned()];
    assert_eq!(told, TestOutcome::Conflict { files: files.clone(), pull: Some(pull(3)) });
    let told = scm.test(&test(&parts[..3], &desk.tip("main"))).await.unwrap();
    assert_eq!(told, TestOutcome::Conflict { files, pull: None }, "it is the one that was asked about");
}

#[tokio::test]
async fn a_failure_lists_the_commits_that_landed_since_it_began() {
    let desk = Desk::new().with_checks(&[("test", true)]);
    let scm = desk.open().await;
    let parts = proposed(&desk, &scm, &["a", "b"]).await;
    desk.push("main", "m", "landed before");
    desk.checks.let_be("test", RunState::Failed);
    let TestOutcome::Red { between, .. } = scm.test(&test(&parts, &desk.tip("main"))).await.unwrap() else {
        panic!("not red")
    };
    for part in ["main: m", "Change a (my-app!1)", "+landed before"] {
        assert!(between.contains(part), "{part}: {between}");
    }
    assert!(!between.contains("b: b"), "its own commits are no news: {between}");
}

#[tokio::test]
async fn several_land_as_commits_of_their_own_by_one_move_of_the_base() {
    for strategy in [LandingStrategy::Squash, LandingStrategy::Merge, LandingStrategy::Rebase] {
        let desk = Desk::new();
        let scm = desk.open().await;
        let parts = proposed(&desk, &scm, &["a", "b", "c"]).await;
        let base = desk.tip("main");
        let tree = tested(&scm, &parts, &base).await;
        let moves = || desk.git(&["reflog", "show", "--format=%H", "main"]).lines().count();
        let before = moves();
        let MergeOutcome::Merged { commit, with, branch_left, .. } =
            scm.merge(&merge(&parts, &base, &tree, strategy)).await.unwrap()
        else {
            panic!("not merged")
        };
        assert_eq!(moves(), before + 1, "{strategy:?}: main is never at one that was not tested");
        assert_eq!((desk.tip("main"), branch_left), (commit.clone(), None));
        assert_eq!(desk.git(&["rev-parse", "main^{tree}"]), tree);
        let landed: Vec<_> = with.iter().map(|(part, _)| part.clone()).collect();
        assert_eq!(landed, parts[..2]);
        let chain = desk.log("%H", &format!("{base}..main"));
        for (place, (part, commit)) in with.iter().chain([&(parts[2].clone(), commit.clone())]).enumerate() {
            assert!(chain.contains(&commit.to_string()), "{strategy:?}");
            let seen = facts(&scm, &part.pull).await.state;
            assert_eq!(seen, PullState::Merged { commit: commit.clone() }, "{strategy:?}");
            assert_eq!(files(&desk, commit.as_str()).len(), place + 2, "each on top of the one before it");
        }
        assert!(desk.git(&["for-each-ref", "refs/heads/a", "refs/heads/b", "refs/heads/c"]).is_empty());
        // A second call after a lost answer returns the same.
        let again = scm.merge(&merge(&parts, &base, &tree, strategy)).await.unwrap();
        let MergeOutcome::Merged { commit: same, with: others, tip, .. } = again else {
            panic!("not merged")
        };
        assert_eq!((&same, &others, &tip), (&commit, &with, &commit));
        // Asked about the first one alone, it returns the commit of that, and where the base is now.
        let first = scm.merge(&merge(&parts[..1], &base, &tree, strategy)).await.unwrap();
        let MergeOutcome::Merged { commit: first, tip, .. } = first else { panic!("not merged") };
        assert_eq!((&first, &tip), (&with[0].1, &commit));
    }
}

#[tokio::test]
async fn if_one_of_them_is_not_as_ordered_none_lands() {
    let desk = Desk::new();
    let scm = desk.open().await;
    let parts = proposed(&desk, &scm, &["a", "b"]).await;
    let base = desk.tip("main");
    let tree = tested(&scm, &parts, &base).await;
    let order = merge(&parts, &base, &tree, LandingStrategy::Squash);
    let other = MergeOrder { tree: desk.git(&["rev-parse", "main^{tree}"]), ..order.clone() };
    assert!(refused(scm.merge(&other).await.unwrap()).contains("other files than were tested"));
    desk.push("a", "a", "more");
    let why = refused(scm.merge(&order).await.unwrap());
    assert!(why.contains("`my-app!1` is at") && why.contains("not tested"), "{why}");
    assert_eq!(desk.tip("main"), base);
    assert!(desk.git(&["for-each-ref", "refs/ao/pulls/1/landing", "refs/ao/pulls/2/landing"]).is_empty());
    for part in &parts {
        assert_eq!(facts(&scm, &part.pull).await.state, PullState::Open);
    }
}

/// The base has moved, and nothing of what came after it is written down.
#[tokio::test]
async fn a_crash_after_the_move_is_a_merge_of_all_of_them() {
    let desk = Desk::new();
    let scm = desk.open().await;
    let parts = proposed(&desk, &scm, &["a", "b", "c"]).await;
    let base = desk.tip("main");
    let tree = tested(&scm, &parts, &base).await;
    let order = merge(&parts, &base, &tree, LandingStrategy::Squash);
    desk.records.fail_after(1);
    assert!(scm.merge(&order).await.is_err());
    let landed = desk.tip("main");
    assert_ne!(landed, base, "it has landed");
    desk.records.recover();
    drop(scm);
    let scm = desk.open().await;
    let MergeOutcome::Merged { commit, with, .. } = scm.merge(&order).await.unwrap() else {
        panic!("not merged")
    };
    assert_eq!((commit, with.len()), (landed.clone(), 2));
    assert_eq!(desk.tip("main"), landed, "it is not merged twice");
    for part in &parts {
        assert!(matches!(facts(&scm, &part.pull).await.state, PullState::Merged { .. }));
    }
}

/// The one behind was tested on our own merge, and lands on the commit of the strategy: the same files.
#[tokio::test]
async fn a_speculative_test_lands_after_those_ahead_without_another_test() {
    for strategy in [LandingStrategy::Squash, LandingStrategy::Merge, LandingStrategy::Rebase] {
        let desk = Desk::new();
        let scm = desk.open().await;
        let parts = proposed(&desk, &scm, &["a", "b"]).await;
        let base = desk.tip("main");
        let (first, both) = (tested(&scm, &parts[..1], &base).await, tested(&scm, &parts, &base).await);
        let MergeOutcome::Merged { commit, .. } =
            scm.merge(&merge(&parts[..1], &base, &first, strategy)).await.unwrap()
        else {
            panic!("not merged")
        };
        let outcome = scm.merge(&merge(&parts[1..], &commit, &both, strategy)).await.unwrap();
        assert!(matches!(outcome, MergeOutcome::Merged { .. }), "{strategy:?}: {outcome:?}");
        assert_eq!(desk.git(&["rev-parse", "main^{tree}"]), both);
    }
}

#[tokio::test]
async fn the_tested_merge_lands_and_those_behind_it_are_not_made_again() {
    let desk = Desk::new().with_checks(&[("test", true)]);
    let scm = desk.open().await;
    let parts = proposed(&desk, &scm, &["a", "b"]).await;
    let base = desk.tip("main");
    let job = || desk.checks.jobs.lock().unwrap().last().unwrap().clone();
    let first = tested(&scm, &parts[..1], &base).await;
    let one = job().commit;
    tested(&scm, &parts, &base).await;
    let two = job().commit;
    scm.merge(&merge(&parts[..1], &base, &first, LandingStrategy::Squash)).await.unwrap();
    assert_eq!(desk.tip("main"), one);
    let second = tested(&scm, &parts[1..], &one).await;
    assert_eq!(job().commit, two);
    scm.merge(&merge(&parts[1..], &one, &second, LandingStrategy::Squash)).await.unwrap();
    assert_eq!(desk.tip("main"), two);
}

#[tokio::test]
async fn commits_pruned_since_the_test_are_made_again() {
    let desk = Desk::new().with_checks(&[("test", true)]);
    let scm = desk.open().await;
    let parts = proposed(&desk, &scm, &["a"]).await;
    let base = desk.tip("main");
    let tree = tested(&scm, &parts, &base).await;
    desk.git(&["prune", "--expire=now"]);
    let order = merge(&parts, &base, &tree, LandingStrategy::Squash);
    scm.merge(&order).await.unwrap_err();
    assert_eq!(desk.tip("main"), base, "nothing has happened");
    scm.merge(&order).await.unwrap();
    assert_eq!(files(&desk, "main"), ["README.md", "a"]);
}

/// A speculative test that is dropped cancels its checks. The pull request's own runs go on.
#[tokio::test]
async fn the_checks_of_a_dropped_speculative_test_are_cancelled() {
    let desk = Desk::new().with_checks(&[("test", true)]);
    desk.checks.let_be("test", RunState::Running);
    let scm = desk.open().await;
    let parts = proposed(&desk, &scm, &["a", "b"]).await;
    let base = desk.tip("main");
    let (alone, both) = (test(&parts[..1], &base), test(&parts, &base));
    for (order, ends) in [(&alone, false), (&both, true)] {
        let before = desk.checks.runs.lock().unwrap().len();
        let begun = async {
            while desk.checks.runs.lock().unwrap().len() == before {
                tokio::task::yield_now().await;
            }
            // The test has to come to its waiting, too.
            tokio::task::yield_now().await;
        };
        tokio::select! {
            biased;
            _ = scm.test(order) => panic!("it is not over"),
            () = begun => {}
        }
        let state = || desk.checks.runs.lock().unwrap().last().unwrap().state;
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(state() == RunState::Cancelled, ends, "{:?}", state());
    }
}

/// A failure together is no failure alone, and a pending speculative run does not hold back the own result.
#[tokio::test]
async fn speculative_runs_are_not_checks_of_the_pull_request() {
    let desk = Desk::new().with_checks(&[("test", true)]);
    let scm = desk.open().await;
    let parts = proposed(&desk, &scm, &["a", "b"]).await;
    let base = desk.tip("main");
    let own = facts(&scm, &parts[1].pull).await.checks;
    assert_eq!(own[0].state, CheckState::Passed);
    for fate in [RunState::Failed, RunState::Cancelled] {
        desk.checks.let_be("test", fate);
        // A cancelled run has no result, so it is requested again.
        let outcome = scm.test(&test(&parts, &base)).await;
        assert_eq!(matches!(outcome, Ok(TestOutcome::Red { .. })), fate == RunState::Failed, "{outcome:?}");
        assert_eq!(facts(&scm, &parts[1].pull).await.checks, own, "{fate:?}");
    }
    let all = scm
        .runs(&RunFilter { pull: Some(parts[1].pull.clone()), limit: 10, ..RunFilter::default() })
        .await
        .unwrap();
    let ahead: Vec<usize> = all.iter().map(|run| run.ahead.len()).collect();
    assert_eq!(ahead, [1, 1, 0], "they are shown for what they are");
}
