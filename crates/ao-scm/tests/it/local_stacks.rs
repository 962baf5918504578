//! Pull requests that stand on one another.

use ao_core::Timestamp;
use ao_core::pull::{Mergeable, PullState};
use ao_ports::{LandingStrategy, MergeOrder, PullEdit, Scm, ScmReviews as _, TidyOrder};

use crate::local_support::{Desk, facts, merge, merged, open, order, project, pull, why};

/// A stack of two, the upper one changing the very line that the lower one changes.
async fn stack(desk: &Desk, scm: &ao_scm::local::LocalScm) {
    desk.push("lower", "README.md", "one\nLOWER\nthree\nfour\nfive\n");
    desk.push_from("lower", "upper", "README.md", "one\nUPPER\nthree\nfour\nfive\n");
    open(scm, "lower", "main").await;
    open(scm, "upper", "lower").await;
}

/// A stacked one is known to stand on the other. acceptance: F8
#[tokio::test]
async fn each_shows_only_its_own_change_and_knows_the_others() {
    let desk = Desk::new();
    let scm = desk.open().await;
    stack(&desk, &scm).await;
    let (lower, upper) = (scm.show(&pull(1)).await.unwrap(), scm.show(&pull(2)).await.unwrap());
    assert_eq!((upper.stacked_on, lower.stacked), (Some(pull(1)), vec![pull(2)]));
    assert_eq!((lower.stacked_on, upper.stacked), (None, vec![]));
    assert_eq!(upper.commits.len(), 1);
    let diff = scm.diff(&pull(2), 10_000).await.unwrap();
    assert!(diff.contains("-LOWER") && diff.contains("+UPPER"), "{diff}");
}

#[tokio::test]
async fn after_a_squash_below_the_upper_one_still_has_only_its_own_change_and_lands() {
    for strategy in [LandingStrategy::Squash, LandingStrategy::Merge, LandingStrategy::Rebase] {
        let desk = Desk::new();
        let scm = desk.open().await;
        stack(&desk, &scm).await;
        let below =
            MergeOrder { delete_branch: true, ..order(&scm, &pull(1), LandingStrategy::Squash).await };
        merged(scm.merge(&below).await.unwrap());
        desk.push("main", "m", "others go on\n");

        let seen = facts(&scm, &pull(2)).await;
        assert_eq!((seen.base_branch.as_str(), &seen.base), ("main", &desk.tip("main")));
        assert_eq!(seen.mergeable, Mergeable::Clean, "{strategy:?}");
        assert_eq!((seen.size.added, seen.size.removed), (1, 1));
        let diff = scm.diff(&pull(2), 10_000).await.unwrap();
        assert!(diff.contains("-LOWER") && diff.contains("+UPPER"), "{diff}");
        assert_eq!(scm.show(&pull(2)).await.unwrap().commits.len(), 1);

        merged(merge(&scm, &pull(2), strategy).await);
        assert_eq!(desk.read("README.md"), "one\nUPPER\nthree\nfour\nfive\n");
        assert_eq!(desk.read("m"), "others go on\n");
    }
}

/// The commit that the upper one is compared with is part of no branch any more, and past its own time.
#[tokio::test]
async fn an_upper_one_lands_after_the_commits_below_were_released() {
    let desk = Desk::new();
    let scm = desk.open().await;
    stack(&desk, &scm).await;
    // The lower one moves on, so that its head is not part of the upper one.
    desk.push_from("lower", "lower", "l", "more\n");
    let below = MergeOrder { delete_branch: true, ..order(&scm, &pull(1), LandingStrategy::Squash).await };
    merged(scm.merge(&below).await.unwrap());
    let tidy = TidyOrder { before: Timestamp(i64::MAX), rescues: vec![] };
    scm.tidy(&project(), &tidy).await.unwrap();
    assert_eq!(desk.git(&["for-each-ref", "refs/ao/archive"]), "");
    desk.git(&["reflog", "expire", "--expire=now", "--all"]);
    desk.git(&["gc", "--quiet", "--prune=now"]);
    desk.push("main", "m", "others go on\n");

    let seen = facts(&scm, &pull(2)).await;
    assert_eq!((seen.mergeable, seen.size.files.len()), (Mergeable::Clean, 1));
    merged(merge(&scm, &pull(2), LandingStrategy::Squash).await);
    assert_eq!(desk.read("README.md"), "one\nUPPER\nthree\nfour\nfive\n");
}

#[tokio::test]
async fn an_upper_one_that_was_brought_onto_the_new_base_is_compared_with_that() {
    let desk = Desk::new();
    let scm = desk.open().await;
    stack(&desk, &scm).await;
    let lower = desk.tip("lower");
    merged(merge(&scm, &pull(1), LandingStrategy::Squash).await);
    desk.push("main", "m", "m");
    desk.git(&["checkout", "--quiet", "upper"]);
    desk.git(&["rebase", "--quiet", "--onto", "main", lower.as_str()]);
    desk.git(&["checkout", "--quiet", "main"]);
    let seen = facts(&scm, &pull(2)).await;
    assert_eq!(seen.size.files, ["README.md"]);
    assert_eq!(scm.show(&pull(2)).await.unwrap().commits.len(), 1);
    merged(merge(&scm, &pull(2), LandingStrategy::Rebase).await);
    assert_eq!(desk.read("README.md"), "one\nUPPER\nthree\nfour\nfive\n");
}

#[tokio::test]
async fn an_upper_one_goes_on_with_the_base_of_one_that_is_closed() {
    let desk = Desk::new();
    let scm = desk.open().await;
    stack(&desk, &scm).await;
    scm.edit(&pull(1), &PullEdit { closed: Some(true), ..PullEdit::default() }).await.unwrap();
    let upper = scm.show(&pull(2)).await.unwrap();
    assert_eq!((upper.facts.base_branch.as_str(), upper.stacked_on), ("main", None));
    assert_eq!(upper.commits.len(), 2, "what it stands on would land with it");
}

#[tokio::test]
async fn an_upper_one_can_land_in_the_branch_below_it() {
    let desk = Desk::new();
    let scm = desk.open().await;
    stack(&desk, &scm).await;
    let commit = merged(merge(&scm, &pull(2), LandingStrategy::Squash).await);
    assert_eq!(facts(&scm, &pull(1)).await.head, commit, "which has moved by it");
    merged(merge(&scm, &pull(1), LandingStrategy::Squash).await);
    assert!(desk.read("README.md").contains("UPPER"));
}

#[tokio::test]
async fn a_base_can_be_chosen_anew_but_not_any() {
    let desk = Desk::new();
    let scm = desk.open().await;
    stack(&desk, &scm).await;
    let base = |name: &str| PullEdit { base_branch: Some(name.to_owned()), ..PullEdit::default() };
    scm.edit(&pull(2), &base("main")).await.unwrap();
    assert_eq!(scm.show(&pull(2)).await.unwrap().commits.len(), 2);
    assert!(why(scm.edit(&pull(2), &base("upper")).await).contains("own branch"));
    assert!(why(scm.edit(&pull(2), &base("nope")).await).contains("no branch"));
    assert!(why(scm.edit(&pull(1), &base("upper")).await).contains("has no commit"));
    assert_eq!(facts(&scm, &pull(1)).await.base_branch, "main");
    scm.edit(&pull(2), &base("lower")).await.unwrap();
    assert_eq!(scm.show(&pull(2)).await.unwrap().stacked_on, Some(pull(1)));
}

#[tokio::test]
async fn a_stack_that_is_merged_by_hand_is_merged_to_its_top() {
    let desk = Desk::new();
    let scm = desk.open().await;
    stack(&desk, &scm).await;
    let top = desk.push_from("upper", "top", "t", "1");
    open(&scm, "top", "upper").await;
    // One that stands on the stack and has not been merged, and one without a change of its own.
    let aside = desk.push_from("lower", "aside", "a", "1");
    open(&scm, "aside", "lower").await;
    desk.git(&["merge", "--quiet", "--no-edit", "--no-ff", "top"]);
    for number in [1, 2, 3] {
        assert!(matches!(facts(&scm, &pull(number)).await.state, PullState::Merged { .. }), "{number}");
    }
    assert_eq!(facts(&scm, &pull(3)).await.state, PullState::Merged { commit: top });
    let seen = facts(&scm, &pull(4)).await;
    assert_eq!((seen.state, seen.base_branch.as_str(), seen.head), (PullState::Open, "main", aside));
    drop(scm);
    let scm = desk.open().await;
    assert_eq!(scm.open_pulls(&project()).await.unwrap(), [pull(4)]);
}

#[tokio::test]
async fn a_branch_of_another_remote_is_not_the_local_branch_of_that_name() {
    let desk = Desk::new();
    let fork = desk.side_path("fork.git").display().to_string();
    desk.git(&["init", "--quiet", "--bare", &fork]);
    desk.git(&["remote", "add", "carl", &fork]);
    let theirs = desk.push("x", "theirs", "1");
    desk.git(&["push", "--quiet", "carl", "x"]);
    desk.git(&["branch", "-D", "x"]);
    let scm = desk.open().await;
    let first = open(&scm, "x", "main").await;
    assert_eq!(facts(&scm, &first).await.head_repo.as_deref(), Some("carl"));
    let ours = desk.push("x", "ours", "1");
    desk.push_from("x", "y", "y", "1");
    let second = open(&scm, "x", "main").await;
    assert_ne!(first, second);
    assert_eq!((facts(&scm, &first).await.head, facts(&scm, &second).await.head), (theirs, ours));
    let third = open(&scm, "y", "x").await;
    assert_eq!(scm.show(&third).await.unwrap().stacked_on, Some(second));
    merged(merge(&scm, &first, LandingStrategy::Squash).await);
    assert_eq!(facts(&scm, &third).await.base_branch, "x", "it does not stand on theirs");
}
