//! The contract of [`ao_ports::Workspace`]: one story for each of its promises.
//!
//! An adapter provides a [`WorkspaceBench`] and names it once. Those that keep files in a local git repository use a
//! [`GitSite`] and run the stories about files and programs too:
//!
//! ```ignore
//! mod worktree {
//!     ao_testkit::workspace_contract!(super::worktrees());
//!     ao_testkit::workspace_git_contract!(super::worktrees());
//! }
//! ```

mod git;

use std::time::Duration;

use ao_core::effect::WorkspacePlan;
use ao_core::session::CheckedOut;
use ao_core::setup::Origin;
use ao_core::workspace::{KeepReason, WorkspaceTree};
use ao_core::{Attempt, Commit, ProjectId, PullId, SessionId, Timestamp};
use ao_ports::{
    CreatedWorkspace, RebaseOrder, RebaseOutcome, RemovalOutcome, RemoveOrder, TreeRef, WorkFound, Workspace,
    WorkspaceError,
};

pub use git::*;

const SESSION: SessionId = SessionId(0x4f);
const OTHER: SessionId = SessionId(0x50);

/// An adapter, a repository with a clean main checkout on `main`, and the acts of the people and agents who work there.
pub trait WorkspaceBench: Send + Sync {
    fn workspace(&self) -> &dyn Workspace;

    /// Returns the path of the main checkout.
    fn repository(&self) -> String;

    /// Returns the tip of `main`.
    fn tip(&self) -> Commit;

    /// Commits a file to `main`, and returns the commit.
    fn advance(&self, file: &str) -> Commit;

    /// Returns the tip of a branch of the repository.
    fn branch(&self, name: &str) -> Option<Commit>;

    /// Returns the commits of the rescue refs.
    fn rescues(&self) -> Vec<Commit>;

    /// Returns what is checked out at a path; nothing if there is no workspace.
    fn checked_out(&self, path: &str) -> Option<CheckedOut>;

    /// Returns the commit before the head of a workspace.
    fn parent(&self, path: &str) -> Commit;

    fn read(&self, path: &str, file: &str) -> Option<String>;

    /// Returns true if a checkout has the files of its head, and no others.
    fn is_clean(&self, path: &str) -> bool;

    /// Commits a file in a workspace.
    fn commit(&self, path: &str, file: &str, text: &str);

    /// Pushes the branch of a workspace.
    fn push(&self, path: &str);

    /// Merges the work of a workspace into `main`.
    fn land(&self, path: &str);

    /// Leaves a reason to keep a workspace in it. Needs a committed `fix.txt`.
    fn leave(&self, path: &str, work: &KeepReason);

    /// Takes back what [`WorkspaceBench::leave`] left.
    fn clear(&self, path: &str, work: &KeepReason);

    fn stray(&self, path: &str, drift: BranchDrift);
}

/// A way in which a workspace leaves its branch.
#[derive(Debug, Clone, Copy)]
pub enum BranchDrift {
    /// The branch has another name.
    Renamed(&'static str),
    /// Another branch is checked out, which is new.
    Switched(&'static str),
    Detached,
    /// The folder is deleted.
    Gone,
}

/// Expands to one test for each story, each on a bench of its own.
#[macro_export]
macro_rules! workspace_contract {
    ($bench:expr) => {
        $crate::workspace_contract!($bench; [
            a_new_one_is_on_its_branch_at_the_base,
            a_second_call_finds_what_the_first_one_made,
            another_sessions_place_is_refused,
            what_would_be_lost_keeps_it,
            a_process_inside_keeps_it,
            a_process_elsewhere_keeps_it,
            the_last_state_comes_back,
            what_is_gone_is_removed_twice,
            it_is_found_by_its_session,
            the_main_checkout_is_never_removed,
            old_rescues_are_forgotten,
            whereabouts_tell_when_it_strays,
            a_rebase_is_whole_or_not_at_all,
            work_that_is_nowhere_else_is_listed,
            a_lent_workspace_has_one_user_and_stays_its_makers,
            a_commit_to_read_is_on_no_branch,
        ]);
    };
    ($bench:expr; [$($story:ident),* $(,)?]) => {
        $(
            #[tokio::test]
            async fn $story() {
                let bench = $bench;
                $crate::contract::workspace::$story(&bench).await;
            }
        )*
    };
}

/// Expands to the stories that need files, git or programs, each on a [`GitSite`] of its own.
#[macro_export]
macro_rules! workspace_git_contract {
    ($site:expr) => {
        $crate::workspace_contract!($site; [
            a_squash_merge_keeps_nothing,
            a_survey_says_what_a_removal_would_do,
            cleaning_takes_only_what_is_ignored,
            a_capture_is_whole_and_leaves_no_trace,
            a_plain_push_succeeds,
            what_a_set_up_left_running_ends,
        ]);
    };
}

/// A new workspace is on its session's branch, at the base branch's commit, and clean.
pub async fn a_new_one_is_on_its_branch_at_the_base(bench: &dyn WorkspaceBench) {
    let made = create(bench, SESSION, "fix").await;
    assert_eq!(made.base, bench.tip().as_str());
    let expected = CheckedOut { branch: Some("agent/fix".into()), head: Some(bench.tip()) };
    assert_eq!(bench.checked_out(&made.path), Some(expected));
    assert!(bench.is_clean(&made.path) && !made.as_found);
    let facts = bench.workspace().inspect(&tree(bench, SESSION, "fix", Some(&made))).await;
    assert_eq!((facts.ours, facts.main_worktree), (Some(true), Some(false)));
}

/// Idempotent per session: a second call returns the workspace of the first one, with the work in it.
pub async fn a_second_call_finds_what_the_first_one_made(bench: &dyn WorkspaceBench) {
    let made = worked(bench, SESSION, "fix").await;
    bench.leave(&made.path, &KeepReason::Untracked);
    assert_eq!(create(bench, SESSION, "fix").await, made);
    assert_eq!(kept(bench, &made).await, [KeepReason::Untracked, KeepReason::Unpushed]);
    assert_eq!(bench.read(&made.path, "fix.txt").as_deref(), Some("fixed\n"));
}

/// A folder belongs to one session, and is unchanged if another one requests it.
pub async fn another_sessions_place_is_refused(bench: &dyn WorkspaceBench) {
    let made = worked(bench, SESSION, "fix").await;
    bench.workspace().create(OTHER, Attempt(1), &plan(bench, "fix")).await.unwrap_err();
    let removal = bench.workspace().remove(&order(bench, OTHER, "fix", Some(&made))).await.unwrap();
    let RemovalOutcome::Kept { reasons } = removal else { panic!("it was removed") };
    assert!(reasons.contains(&KeepReason::NotOurs), "{reasons:?}");
    assert!(bench.read(&made.path, "fix.txt").is_some());
}

/// A workspace with unsaved work is kept, with the reason.
pub async fn what_would_be_lost_keeps_it(bench: &dyn WorkspaceBench) {
    use KeepReason::*;
    let made = worked(bench, SESSION, "fix").await;
    assert_eq!(kept(bench, &made).await, [Unpushed]);
    bench.land(&made.path);
    for work in [Uncommitted, Stashed, Untracked, MidOperation] {
        bench.leave(&made.path, &work);
        assert_eq!(kept(bench, &made).await, std::slice::from_ref(&work));
        bench.clear(&made.path, &work);
    }
    bench.stray(&made.path, BranchDrift::Detached);
    bench.commit(&made.path, "alone.txt", "on no branch\n");
    assert_eq!(kept(bench, &made).await, [Detached, Unpushed]);
}

/// A process inside keeps the workspace, until it ends.
pub async fn a_process_inside_keeps_it(bench: &dyn WorkspaceBench) {
    let made = create(bench, SESSION, "fix").await;
    bench.leave(&made.path, &KeepReason::ProcessInside);
    let reasons = kept(bench, &made).await;
    bench.clear(&made.path, &KeepReason::ProcessInside);
    assert_eq!(reasons, [KeepReason::ProcessInside]);
    removed(bench, &made).await;
}

/// A process that a runtime has reported keeps it too, and so does a runtime that cannot tell.
pub async fn a_process_elsewhere_keeps_it(bench: &dyn WorkspaceBench) {
    let made = create(bench, SESSION, "fix").await;
    for (lived_in, kept) in [(Some(true), true), (None, true), (Some(false), false)] {
        let order = RemoveOrder { lived_in, ..order(bench, SESSION, "fix", Some(&made)) };
        let removal = bench.workspace().remove(&order).await.unwrap();
        assert_eq!(matches!(removal, RemovalOutcome::Kept { .. }), kept, "{lived_in:?}: {removal:?}");
    }
}

/// A removed workspace is gone with its branch, and its last state can be restored from the rescue ref.
pub async fn the_last_state_comes_back(bench: &dyn WorkspaceBench) {
    let made = worked(bench, SESSION, "fix").await;
    let last = bench.checked_out(&made.path).unwrap();
    bench.land(&made.path);
    let rescue = removed(bench, &made).await.expect("it leaves a rescue ref");
    assert_eq!((bench.checked_out(&made.path), bench.branch("agent/fix")), (None, None));
    assert_eq!(bench.rescues(), last.head.iter().cloned().collect::<Vec<_>>());

    bench.advance("other.txt");
    let plan = WorkspacePlan { rescue: Some(rescue), ..plan(bench, "fix") };
    let again = bench.workspace().create(SESSION, Attempt(2), &plan).await.unwrap();
    assert_eq!(bench.checked_out(&again.path), Some(last));
    assert_eq!(bench.read(&again.path, "fix.txt").as_deref(), Some("fixed\n"));
}

/// Removing a missing workspace succeeds, twice; also if it never existed.
pub async fn what_is_gone_is_removed_twice(bench: &dyn WorkspaceBench) {
    let made = create(bench, SESSION, "fix").await;
    for _ in 0..2 {
        removed(bench, &made).await;
    }
    let never = order(bench, OTHER, "never", None);
    assert_eq!(bench.workspace().remove(&never).await.unwrap(), RemovalOutcome::Removed { rescue: None });
}

/// A workspace whose path is unknown is found by its session.
pub async fn it_is_found_by_its_session(bench: &dyn WorkspaceBench) {
    let made = worked(bench, SESSION, "fix").await;
    let order = order(bench, SESSION, "fix", None);
    assert_eq!(bench.workspace().inspect(&order.tree).await.ours, Some(true));
    assert_eq!(
        bench.workspace().remove(&order).await.unwrap(),
        RemovalOutcome::Kept { reasons: vec![KeepReason::Unpushed] }
    );
    bench.land(&made.path);
    assert!(matches!(bench.workspace().remove(&order).await.unwrap(), RemovalOutcome::Removed { .. }));
    assert_eq!(bench.checked_out(&made.path), None);
}

/// The main checkout is never removed, regardless of the order.
pub async fn the_main_checkout_is_never_removed(bench: &dyn WorkspaceBench) {
    let main = CreatedWorkspace { path: bench.repository(), base: String::new(), as_found: false };
    let mut order = order(bench, SESSION, "fix", Some(&main));
    order.tree.branch = "main".into();
    let RemovalOutcome::Kept { reasons } = bench.workspace().remove(&order).await.unwrap() else {
        panic!("removed")
    };
    assert!(reasons.contains(&KeepReason::NotOurs), "{reasons:?}");
    bench.workspace().clean(&order.tree).await.unwrap_err();
    assert!(bench.is_clean(&main.path));
}

/// Rescue refs are deleted by their age.
pub async fn old_rescues_are_forgotten(bench: &dyn WorkspaceBench) {
    let made = create(bench, SESSION, "fix").await;
    removed(bench, &made).await.expect("it leaves a rescue ref");
    let (long_ago, far_ahead) = (Timestamp(1_000), Timestamp(i64::MAX));
    assert_eq!(bench.workspace().forget_rescues(&bench.repository(), long_ago).await.unwrap(), 0);
    assert_eq!(bench.rescues(), [bench.tip()]);
    assert_eq!(bench.workspace().forget_rescues(&bench.repository(), far_ahead).await.unwrap(), 1);
    assert_eq!(bench.rescues(), []);
    removed(bench, &made).await;
}

/// Whereabouts report drift: another branch, or another folder.
pub async fn whereabouts_tell_when_it_strays(bench: &dyn WorkspaceBench) {
    let made = create(bench, SESSION, "fix").await;
    let tree = tree(bench, SESSION, "fix", Some(&made));
    for (drift, wrong) in [
        (None, None),
        (Some(BranchDrift::Renamed("agent/better")), None),
        (Some(BranchDrift::Renamed("agent/fix")), None),
        (
            Some(BranchDrift::Switched("elsewhere")),
            Some("the branch `elsewhere` is checked out instead of `agent/fix`"),
        ),
        (Some(BranchDrift::Detached), Some("its head is on no branch instead of on `agent/fix`")),
    ] {
        drift.into_iter().for_each(|drift| bench.stray(&made.path, drift));
        let seen = bench.workspace().whereabouts(&tree).await;
        assert_eq!(seen.stand, bench.checked_out(&made.path), "{drift:?}");
        assert_eq!(seen.wrong, Vec::from_iter(wrong), "{drift:?}");
    }
    bench.stray(&made.path, BranchDrift::Gone);
    let gone = bench.workspace().whereabouts(&tree).await;
    let [wrong] = &gone.wrong[..] else { panic!("one thing is wrong, and not {:?}", gone.wrong) };
    assert!(gone.stand.is_none() && wrong.starts_with("its folder is gone"), "{wrong}");
    assert!(
        wrong.contains("restore the session") && wrong.contains("`agent/fix`"),
        "the way back is told: {wrong}"
    );
}

/// A rebase moves the branch onto the base, keeps the old one in a rescue ref, and changes nothing on a conflict.
pub async fn a_rebase_is_whole_or_not_at_all(bench: &dyn WorkspaceBench) {
    let made = worked(bench, SESSION, "fix").await;
    let head = || bench.checked_out(&made.path).and_then(|out| out.head).expect("it has a head");
    bench.push(&made.path);
    let (old, base) = (head(), bench.advance("other.txt"));
    let tree = tree(bench, SESSION, "fix", Some(&made));
    let order = RebaseOrder { tree, branch: "agent/fix".into(), head: old.clone(), base: base.clone() };
    let RebaseOutcome::Rebased { head: now, .. } = bench.workspace().rebase(&order).await.unwrap() else {
        panic!("it was not rebased")
    };
    assert_eq!((head(), bench.parent(&made.path)), (now.clone(), base));
    assert!(bench.is_clean(&made.path));
    assert_eq!(bench.branch("agent/fix"), Some(now.clone()), "it is published");
    assert_eq!(bench.rescues(), [old]);
    assert_eq!(bench.workspace().rebase(&order).await.unwrap(), RebaseOutcome::Moved);
    let again = RebaseOrder { head: now.clone(), ..order };
    assert_eq!(bench.workspace().rebase(&again).await.unwrap(), RebaseOutcome::UpToDate);

    let conflict = RebaseOrder { base: bench.advance("fix.txt"), ..again };
    bench.leave(&made.path, &KeepReason::Uncommitted);
    assert!(matches!(bench.workspace().rebase(&conflict).await.unwrap(), RebaseOutcome::Busy { .. }));
    bench.clear(&made.path, &KeepReason::Uncommitted);
    let files = vec!["fix.txt".to_owned()];
    assert_eq!(bench.workspace().rebase(&conflict).await.unwrap(), RebaseOutcome::Conflict { files });
    assert_eq!(head(), now);
    assert!(bench.is_clean(&made.path));
}

/// Work that a removal would lose is listed, and nothing is changed by that.
pub async fn work_that_is_nowhere_else_is_listed(bench: &dyn WorkspaceBench) {
    let made = worked(bench, SESSION, "fix").await;
    let tree = tree(bench, SESSION, "fix", Some(&made));
    let work = async || bench.workspace().work(&tree).await;
    let found = match work().await {
        Err(WorkspaceError::Unsupported(_)) => return,
        found => found.unwrap(),
    };
    assert_eq!((found.files_in_all, found.commits.len(), found.commits_in_all), (0, 1, 1), "{found:?}");
    bench.leave(&made.path, &KeepReason::Untracked);
    let found = work().await.unwrap();
    assert_eq!((found.files.len(), found.files_in_all, found.commits_in_all), (1, 1, 1), "{found:?}");
    assert_eq!(kept(bench, &made).await, [KeepReason::Untracked, KeepReason::Unpushed]);
    bench.clear(&made.path, &KeepReason::Untracked);
    bench.land(&made.path);
    assert_eq!(work().await.unwrap(), WorkFound::default(), "`main` has it");
}

/// A workspace that its maker lends has one user at a time, who cannot remove it.
pub async fn a_lent_workspace_has_one_user_and_stays_its_makers(bench: &dyn WorkspaceBench) {
    let made = create(bench, SESSION, "fix").await;
    let lend = async |maker| bench.workspace().lend(&bench.repository(), maker, &made.path).await;
    let origin = Origin::Tree { path: made.path.clone() };
    let plan = WorkspacePlan { origin, ..plan(bench, "fix") };
    let borrow = async |user| bench.workspace().create(user, Attempt(1), &plan).await;
    match lend(OTHER).await {
        Err(WorkspaceError::Unsupported(_)) => return,
        foreign => assert!(foreign.is_err(), "only its maker lends it"),
    }
    borrow(OTHER).await.unwrap_err();
    lend(SESSION).await.unwrap();
    for _ in 0..2 {
        let lent = borrow(OTHER).await.unwrap();
        assert_eq!((&lent.path, lent.as_found), (&made.path, true));
    }
    borrow(SessionId(0x51)).await.unwrap_err();
    bench.workspace().remove(&order(bench, OTHER, "fix", Some(&made))).await.unwrap();
    assert!(bench.checked_out(&made.path).is_some() && bench.is_clean(&made.path), "it was borrowed");
    removed(bench, &made).await;
}

/// A commit to read is checked out on no branch, by a workspace that declares that it can.
pub async fn a_commit_to_read_is_on_no_branch(bench: &dyn WorkspaceBench) {
    if !bench.workspace().can_read_only() {
        return;
    }
    let commit = bench.tip();
    bench.advance("other.txt");
    let pull = PullId { project: ProjectId::new("app"), number: 7 };
    let origin = Origin::Read { commit: commit.to_string(), pull };
    let plan = WorkspacePlan { origin, ..plan(bench, "review") };
    let made = bench.workspace().create(SESSION, Attempt(1), &plan).await.unwrap();
    let expected = CheckedOut { branch: None, head: Some(commit) };
    assert_eq!(bench.checked_out(&made.path), Some(expected));
    assert!(bench.is_clean(&made.path));
    assert_eq!(bench.branch("agent/review"), None);
    let removal = bench.workspace().remove(&order(bench, SESSION, "review", Some(&made))).await.unwrap();
    assert!(matches!(removal, RemovalOutcome::Removed { .. }), "{removal:?}");
    assert_eq!(bench.checked_out(&made.path), None);
}

fn plan(bench: &dyn WorkspaceBench, name: &str) -> WorkspacePlan {
    WorkspacePlan {
        project: ProjectId::new("app"),
        repository: bench.repository(),
        kind: String::new(),
        name: name.into(),
        branch: format!("agent/{name}"),
        base_branch: "main".into(),
        origin: Origin::Base,
        rescue: None,
    }
}

fn tree(
    bench: &dyn WorkspaceBench,
    session: SessionId,
    name: &str,
    made: Option<&CreatedWorkspace>,
) -> TreeRef {
    TreeRef {
        session,
        project: ProjectId::new("app"),
        repository: bench.repository(),
        recorded: made.map(|made| WorkspaceTree { path: made.path.clone(), base: made.base.clone() }),
        branch: format!("agent/{name}"),
    }
}

fn order(
    bench: &dyn WorkspaceBench,
    session: SessionId,
    name: &str,
    made: Option<&CreatedWorkspace>,
) -> RemoveOrder {
    RemoveOrder {
        tree: tree(bench, session, name, made),
        teardown: vec![],
        environment: Default::default(),
        timeout: Duration::from_secs(60),
        lived_in: Some(false),
        discard: false,
    }
}

async fn create(bench: &dyn WorkspaceBench, session: SessionId, name: &str) -> CreatedWorkspace {
    bench.workspace().create(session, Attempt(1), &plan(bench, name)).await.unwrap()
}

/// Creates a workspace with one commit of its own.
async fn worked(bench: &dyn WorkspaceBench, session: SessionId, name: &str) -> CreatedWorkspace {
    let made = create(bench, session, name).await;
    bench.commit(&made.path, "fix.txt", "fixed\n");
    made
}

async fn kept(bench: &dyn WorkspaceBench, made: &CreatedWorkspace) -> Vec<KeepReason> {
    let removal = bench.workspace().remove(&order(bench, SESSION, "fix", Some(made))).await.unwrap();
    assert!(bench.checked_out(&made.path).is_some(), "one that is kept is whole");
    match removal {
        RemovalOutcome::Kept { reasons } => reasons,
        RemovalOutcome::Removed { .. } => panic!("it was removed"),
    }
}

async fn removed(bench: &dyn WorkspaceBench, made: &CreatedWorkspace) -> Option<String> {
    match bench.workspace().remove(&order(bench, SESSION, "fix", Some(made))).await.unwrap() {
        RemovalOutcome::Removed { rescue } => rescue,
        RemovalOutcome::Kept { reasons } => panic!("it was kept: {reasons:?}"),
    }
}
