//! The contract of [`ao_ports::Scm`]: facts and merges here, and a file for each part that forges may lack.
//!
//! A guarantee of a merge is tested if the forge declares it; a forge that declares less has to refuse less.

mod checks;
mod reviews;

use std::sync::Arc;

use ao_core::pull::{AuthorFacts, AuthorStanding, PullFacts, PullState};
use ao_core::queue::LanePart;
use ao_core::{Commit, ProjectId, PullId, Timestamp};
use ao_ports::{
    CommentPlace, LandingStrategy, LookHint, MergeOrder, MergeOutcome, NewPull, PullFilter, PullFilterState,
    RunFilter, Scm, ScmError, TestOrder, TestOutcome, TidyOrder,
};
use async_trait::async_trait;

pub use self::checks::{
    a_check_of_the_base_is_kept, a_rerun_is_another_run_of_the_check, the_log_of_a_run_is_read_in_parts,
};
use self::reviews::comment;
pub use self::reviews::{
    a_comment_is_in_its_thread, a_diff_has_the_change_within_its_limit, a_reply_is_given_once_for_each_key,
    a_review_counts_for_the_head_that_was_judged, a_thread_is_resolved_and_reopened,
    an_edit_changes_only_what_it_names, an_edited_comment_is_a_new_revision,
};
use super::{HintLog, until};

/// The one check of the project. It has a blank, because the names of real checks do.
pub const CHECK: &str = "unit tests";

/// A forge with a project that has one commit on `main`. If the forge runs checks, the project has the check [`CHECK`],
/// which prints something and passes.
#[async_trait]
pub trait ScmBench: Send + Sync {
    fn scm(&self) -> Arc<dyn Scm>;

    fn project(&self) -> ProjectId;

    /// Commits a file on a branch, as its author does. The branch is made off `main` if it does not exist.
    fn commit(&self, branch: &str, path: &str, text: &str) -> Commit;

    /// Returns the tip of a branch, if it exists.
    fn branch(&self, name: &str) -> Option<Commit>;

    /// Waits until the checks that were started are over.
    async fn finish_checks(&self);

    /// Starts the forge again, with what it has stored.
    async fn restart(&mut self);
}

/// Expands to one test for each story, each on a bench of its own.
#[macro_export]
macro_rules! scm_contract {
    ($bench:expr) => {
        $crate::scm_contract!($bench; [
            opening_twice_returns_the_same_pull_request,
            unknown_pull_requests_are_left_out,
            a_file_is_that_of_the_named_commit,
            a_merge_moves_the_base_to_what_was_tested,
            a_moved_head_is_refused_and_nothing_changes,
            a_moved_base_is_refused_with_its_tip,
            another_tree_is_refused,
            a_repeated_merge_finds_the_one_that_was_made,
            a_batch_lands_as_a_whole_or_not_at_all,
            the_branch_of_a_merged_pull_request_is_deleted_once,
            a_branch_that_has_moved_on_is_kept,
            its_parts_are_there_or_declared_missing,
            a_comment_is_in_its_thread,
            a_reply_is_given_once_for_each_key,
            a_review_counts_for_the_head_that_was_judged,
            a_thread_is_resolved_and_reopened,
            a_rerun_is_another_run_of_the_check,
            a_check_of_the_base_is_kept,
            the_log_of_a_run_is_read_in_parts,
            a_diff_has_the_change_within_its_limit,
            an_edit_changes_only_what_it_names,
            an_edited_comment_is_a_new_revision,
            a_watch_tells_of_changes,
            tidying_up_keeps_what_is_open_and_what_was_merged,
            a_repository_that_holds_nothing_back_is_confirmed_as_it_is,
        ]);
    };
    ($bench:expr; [$($story:ident),* $(,)?]) => {
        $(
            #[tokio::test]
            async fn $story() {
                let mut bench = $bench;
                $crate::contract::scm::$story(&mut bench).await;
            }
        )*
    };
}

/// A branch has one open pull request for each base.
pub async fn opening_twice_returns_the_same_pull_request(bench: &mut dyn ScmBench) {
    let (pull, ..) = opened(bench, "fix").await;
    let scm = bench.scm();
    assert_eq!(scm.open(&new_pull(bench, "fix")).await.unwrap(), pull);
    bench.commit("fix", "more.txt", "more\n");
    assert_eq!(scm.open(&new_pull(bench, "fix")).await.unwrap(), pull, "also at another head");
    let (other, ..) = opened(bench, "other").await;
    let mut open = scm.open_pulls(&bench.project()).await.unwrap();
    open.sort();
    assert_eq!(open, [pull.clone(), other]);
    bench.restart().await;
    assert_eq!(bench.scm().open(&new_pull(bench, "fix")).await.unwrap(), pull, "and after a restart");
}

/// Facts are those of the pull requests that exist.
pub async fn unknown_pull_requests_are_left_out(bench: &mut dyn ScmBench) {
    let (pull, head, base) = opened(bench, "fix").await;
    let unknown = PullId { number: 999, ..pull.clone() };
    let elsewhere = PullId { project: ProjectId::new("elsewhere"), ..pull.clone() };
    let seen = bench.scm().pulls(&[unknown.clone(), pull.clone(), elsewhere]).await.unwrap();
    let [(seen, facts)] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!(*seen, pull);
    assert_eq!((&facts.head, &facts.base, &facts.state), (&head, &base, &PullState::Open));
    assert_eq!((facts.head_branch.as_str(), facts.base_branch.as_str()), ("fix", "main"));
    assert!(bench.scm().pulls(&[unknown]).await.unwrap().is_empty());
}

/// A file comes from the commit that is named: the base has nothing of a branch before that has landed.
pub async fn a_file_is_that_of_the_named_commit(bench: &mut dyn ScmBench) {
    let old = bench.commit("main", "policy.yaml", "strict\n");
    let (pull, head, base) = opened(bench, "fix").await;
    bench.commit("fix", "policy.yaml", "loose\n");
    assert_eq!((tip(bench).await, &base), (old.clone(), &old));
    assert_eq!(file(bench, &old, "policy.yaml").await.as_deref(), Some("strict\n"));
    assert_eq!(file(bench, &old, "fix.txt").await, None, "only the branch has it");
    assert_eq!(file(bench, &head, "fix.txt").await.as_deref(), Some("fix\n"));
    assert_eq!(file(bench, &old, "missing.yaml").await, None);
    let cut = bench.scm().file_at(&bench.project(), &old, "policy.yaml", 3).await.unwrap();
    assert_eq!(cut.as_deref(), Some(&b"str"[..]), "no more than is asked for");
    let now = bench.commit("main", "policy.yaml", "stricter\n");
    assert_eq!(tip(bench).await, now, "the tip is fresh");
    assert_eq!(file(bench, &now, "policy.yaml").await.as_deref(), Some("stricter\n"));
    assert_eq!(facts(bench, &pull).await.state, PullState::Open);
}

/// What was tested lands, and is reported from then on.
pub async fn a_merge_moves_the_base_to_what_was_tested(bench: &mut dyn ScmBench) {
    let Some(order) = ordered(bench, "fix").await else { return };
    let (commit, at) = merged(bench, &order).await;
    assert_eq!(commit, at);
    assert_eq!(tip(bench).await, at);
    assert_eq!(facts(bench, &order.pull).await.state, PullState::Merged { commit });
    assert_eq!(file(bench, &at, "fix.txt").await.as_deref(), Some("fix\n"));
    assert_eq!(bench.scm().open_pulls(&bench.project()).await.unwrap(), []);
}

/// Only the head that was judged is merged.
pub async fn a_moved_head_is_refused_and_nothing_changes(bench: &mut dyn ScmBench) {
    let Some(order) = ordered(bench, "fix").await else { return };
    let head = bench.commit("fix", "late.txt", "late\n");
    refused(bench, &order).await;
    let seen = facts(bench, &order.pull).await;
    assert_eq!((seen.head, seen.state), (head, PullState::Open));
}

/// Only the base that was tested is merged into, and a refusal names the present one.
pub async fn a_moved_base_is_refused_with_its_tip(bench: &mut dyn ScmBench) {
    let Some(order) = ordered(bench, "fix").await.filter(|_| bench.scm().merge_abilities().pins_base) else {
        return;
    };
    let now = bench.commit("main", "other.txt", "other\n");
    assert_eq!(refused(bench, &order).await, Some(now));
    let order = tested(bench, &order.pull, vec![]).await;
    merged(bench, &order).await;
}

/// Only the tree that was tested lands.
pub async fn another_tree_is_refused(bench: &mut dyn ScmBench) {
    let Some(order) = ordered(bench, "fix").await.filter(|_| bench.scm().merge_abilities().pins_tree) else {
        return;
    };
    let tree = order.tree.chars().rev().collect();
    assert_eq!(
        refused(bench, &MergeOrder { tree, ..order.clone() }).await,
        None,
        "the base is not the reason"
    );
    merged(bench, &order).await;
}

/// A merge whose result was lost is found when it is ordered again, and not made twice.
pub async fn a_repeated_merge_finds_the_one_that_was_made(bench: &mut dyn ScmBench) {
    let Some(order) = ordered(bench, "fix").await else { return };
    let (commit, at) = merged(bench, &order).await;
    assert_eq!(merged(bench, &order).await, (commit.clone(), at));
    bench.restart().await;
    let later = bench.commit("main", "later.txt", "later\n");
    assert_eq!(merged(bench, &order).await, (commit, later.clone()), "the base has moved on since");
    assert_eq!(tip(bench).await, later);
}

/// A batch lands at once, or a part that has moved keeps all of it back.
pub async fn a_batch_lands_as_a_whole_or_not_at_all(bench: &mut dyn ScmBench) {
    if !bench.scm().merge_abilities().batches {
        return;
    }
    let (one, stale, _) = opened(bench, "one").await;
    let (two, ..) = opened(bench, "two").await;
    let ahead = |head: Commit| vec![LanePart { pull: one.clone(), head }];
    let order = tested(bench, &two, ahead(stale)).await;
    let head = bench.commit("one", "late.txt", "late\n");
    refused(bench, &order).await;
    let order = tested(bench, &two, ahead(head)).await;
    let MergeOutcome::Merged { commit, tip: at, with, .. } = bench.scm().merge(&order).await.unwrap() else {
        panic!("it was refused")
    };
    assert_eq!((with.len(), &at), (1, &commit));
    assert_eq!(tip(bench).await, at);
    for (pull, commit) in [(&one, &with[0].1), (&two, &commit)] {
        assert_eq!(facts(bench, pull).await.state, PullState::Merged { commit: commit.clone() });
    }
    for path in ["one.txt", "late.txt", "two.txt"] {
        assert!(file(bench, &at, path).await.is_some(), "{path}");
    }
}

/// The branch goes after the merge, and a second call finds nothing to do. The merge stays.
pub async fn the_branch_of_a_merged_pull_request_is_deleted_once(bench: &mut dyn ScmBench) {
    let Some(order) = ordered(bench, "fix").await else { return };
    let early = bench.scm().delete_branch(&order.pull, &order.head).await;
    match early {
        Err(ScmError::Unsupported { .. }) => return,
        early => assert!(matches!(early, Err(ScmError::Refused { .. })), "it is not merged: {early:?}"),
    }
    let (commit, _) = merged(bench, &order).await;
    assert_eq!(bench.branch("fix"), Some(order.head.clone()), "the merge was not ordered to delete it");
    for _ in 0..2 {
        assert_eq!(bench.scm().delete_branch(&order.pull, &order.head).await.unwrap(), None);
        assert_eq!(bench.branch("fix"), None);
        bench.restart().await;
    }
    assert_eq!(facts(bench, &order.pull).await.state, PullState::Merged { commit });
}

/// Commits that were not merged keep their branch, and the reason is returned.
pub async fn a_branch_that_has_moved_on_is_kept(bench: &mut dyn ScmBench) {
    let Some(order) = ordered(bench, "fix").await else { return };
    merged(bench, &order).await;
    let late = bench.commit("fix", "late.txt", "late\n");
    for head in [&order.head, &late] {
        match bench.scm().delete_branch(&order.pull, head).await {
            Err(ScmError::Unsupported { .. }) => return,
            kept => assert!(kept.unwrap().is_some_and(|why| !why.is_empty()), "{head}"),
        }
        assert_eq!(bench.branch("fix"), Some(late.clone()));
    }
}

/// A declared part works, and a missing one has one clear error.
pub async fn its_parts_are_there_or_declared_missing(bench: &mut dyn ScmBench) {
    let (pull, head, _) = opened(bench, "fix").await;
    let scm = bench.scm();
    let missing =
        |err: Option<ScmError>| assert!(matches!(err, Some(ScmError::Unsupported { .. })), "{err:?}");
    match scm.reviews() {
        None => missing(scm.need_reviews().err()),
        Some(reviews) => {
            let filter = PullFilter {
                state: PullFilterState::All,
                head_branch: Some("fix".into()),
                base_branch: None,
                author: None,
                labels: Default::default(),
                limit: 10,
            };
            let rows = reviews.list(&bench.project(), &filter).await.unwrap();
            assert_eq!(rows.iter().map(|row| (&row.pull, &row.head)).collect::<Vec<_>>(), [(&pull, &head)]);
            let shown = reviews.show(&pull).await.unwrap();
            assert_eq!((&shown.pull, &shown.facts.head), (&pull, &head));
            assert!(reviews.words(&pull).await.unwrap().contains("Change fix"));
            let diff = reviews.diff_at(&pull, &head, &shown.facts.base, 100_000).await.unwrap();
            assert!(diff.contains("fix.txt") && diff.contains("+fix"), "{diff}");
            let unknown = PullId { number: 999, ..pull.clone() };
            assert!(matches!(reviews.show(&unknown).await, Err(ScmError::NotFound { .. })));
        }
    }
    match scm.checks() {
        None => missing(scm.need_checks().err()),
        Some(checks) => {
            checks.runs(&RunFilter { limit: 10, ..RunFilter::default() }).await.unwrap();
            assert!(matches!(checks.run("run_unknown").await, Err(ScmError::NotFound { .. })));
        }
    }
}

/// A watch sends a hint about a pull request whose branch was pushed, and about one with a new comment.
pub async fn a_watch_tells_of_changes(bench: &mut dyn ScmBench) {
    let (pull, ..) = opened(bench, "fix").await;
    let (scm, heard) = (bench.scm(), HintLog::default());
    let hint = || LookHint::Pull(pull.clone());
    let story = async {
        // A watch begins some time after the call; until then a change may be missed.
        let mut number = 0;
        until("the watch tells of a push", async || {
            number += 1;
            bench.commit("fix", "more.txt", &format!("{number}\n"));
            heard.soon(hint()).await
        })
        .await;
        heard.forget();
        if comment(&*bench, &pull, CommentPlace::Pull, "news", None).await.is_some() {
            until("the watch tells of a comment", async || heard.soon(hint()).await).await;
        }
    };
    tokio::select! {
        // A forge that cannot watch returns at once.
        () = scm.watch(Arc::new(heard.clone())) => {}
        () = story => {}
    }
}

/// Tidying up may drop commits whose time is over, but neither what is open nor what is known of a merge. A second call
/// finds nothing left to do.
pub async fn tidying_up_keeps_what_is_open_and_what_was_merged(bench: &mut dyn ScmBench) {
    let (open, head, _) = opened(bench, "open").await;
    let Some(order) = ordered(bench, "fix").await else { return };
    let (commit, at) = merged(bench, &order).await;
    let tidy = TidyOrder { before: Timestamp(i64::MAX), rescues: vec![] };
    bench.scm().tidy(&bench.project(), &tidy).await.unwrap();
    assert_eq!(bench.scm().tidy(&bench.project(), &tidy).await.unwrap(), 0);
    bench.restart().await;
    assert_eq!(facts(bench, &order.pull).await.state, PullState::Merged { commit });
    assert_eq!(file(bench, &at, "fix.txt").await.as_deref(), Some("fix\n"));
    let seen = facts(bench, &open).await;
    assert_eq!((&seen.head, &seen.state), (&head, &PullState::Open));
    assert_eq!(file(bench, &head, "open.txt").await.as_deref(), Some("open\n"));
    let order = tested(bench, &open, vec![]).await;
    merged(bench, &order).await;
}

/// A confirmation of a repository that holds nothing back changes nothing.
pub async fn a_repository_that_holds_nothing_back_is_confirmed_as_it_is(bench: &mut dyn ScmBench) {
    let (pull, head, _) = opened(bench, "fix").await;
    let base = bench.scm().base(&bench.project()).await.unwrap();
    assert_eq!(base.held, []);
    assert_eq!(bench.scm().confirm_repository(&bench.project()).await.unwrap(), []);
    bench.restart().await;
    assert_eq!(bench.scm().base(&bench.project()).await.unwrap(), base);
    let seen = facts(bench, &pull).await;
    assert_eq!((seen.head, seen.state), (head, PullState::Open));
}

fn new_pull(bench: &dyn ScmBench, branch: &str) -> NewPull {
    NewPull {
        project: bench.project(),
        session: None,
        head_branch: branch.to_owned(),
        base_branch: "main".into(),
        title: format!("Change {branch}"),
        body: String::new(),
        draft: false,
        labels: Default::default(),
        by: AuthorFacts { login: "fixer".into(), standing: AuthorStanding::Agent },
    }
}

/// Opens a pull request that adds a file, and returns it with its head and its base.
async fn opened(bench: &dyn ScmBench, branch: &str) -> (PullId, Commit, Commit) {
    let head = bench.commit(branch, &format!("{branch}.txt"), &format!("{branch}\n"));
    let pull = bench.scm().open(&new_pull(bench, branch)).await.unwrap();
    let seen = facts(bench, &pull).await;
    assert_eq!(seen.head, head);
    (pull, head, seen.base)
}

async fn facts(bench: &dyn ScmBench, pull: &PullId) -> PullFacts {
    let seen = bench.scm().pulls(std::slice::from_ref(pull)).await.unwrap();
    seen.into_iter().next().expect("it is known").1
}

async fn tip(bench: &dyn ScmBench) -> Commit {
    bench.scm().base(&bench.project()).await.unwrap().tip.expect("it has a base")
}

async fn file(bench: &dyn ScmBench, commit: &Commit, path: &str) -> Option<String> {
    let content = bench.scm().file_at(&bench.project(), commit, path, 1 << 20).await.unwrap();
    content.map(|bytes| String::from_utf8(bytes).unwrap())
}

/// Opens a pull request, tests it and orders its merge. Nothing is merged at a forge that cannot pin the head.
async fn ordered(bench: &dyn ScmBench, branch: &str) -> Option<MergeOrder> {
    let (pull, ..) = opened(bench, branch).await;
    match bench.scm().merge_abilities().pins_head {
        true => Some(tested(bench, &pull, vec![]).await),
        false => None,
    }
}

/// Tests a pull request after others, and orders the merge of all of them.
async fn tested(bench: &dyn ScmBench, pull: &PullId, with: Vec<LanePart>) -> MergeOrder {
    let PullFacts { head, .. } = facts(bench, pull).await;
    let (base, strategy) = (tip(bench).await, LandingStrategy::Squash);
    let test = TestOrder {
        pull: pull.clone(),
        head: head.clone(),
        base: base.clone(),
        ahead: with.clone(),
        strategy,
        required: vec![],
        checks: true,
    };
    let TestOutcome::Green { tree } = bench.scm().test(&test).await.unwrap() else {
        panic!("it is not green")
    };
    MergeOrder { pull: pull.clone(), head, base, with, tree, strategy, by: None, delete_branch: false }
}

/// Merges, and returns the commit and the tip.
async fn merged(bench: &dyn ScmBench, order: &MergeOrder) -> (Commit, Commit) {
    match bench.scm().merge(order).await.unwrap() {
        MergeOutcome::Merged { commit, tip, .. } => (commit, tip),
        refused @ MergeOutcome::Refused { .. } => panic!("{refused:?}"),
    }
}

/// Orders a merge that is refused and changes nothing. Returns the tip that the refusal names.
async fn refused(bench: &dyn ScmBench, order: &MergeOrder) -> Option<Commit> {
    let before = tip(bench).await;
    let named = match bench.scm().merge(order).await.unwrap() {
        MergeOutcome::Refused { tip, why, in_the_way: false } => {
            assert!(!why.is_empty());
            tip
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(tip(bench).await, before);
    for part in order.with.iter().map(|part| &part.pull).chain([&order.pull]) {
        assert_eq!(facts(bench, part).await.state, PullState::Open);
    }
    named
}
