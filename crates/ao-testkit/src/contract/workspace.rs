//! The contract of [`ao_ports::Workspace`], for adapters that use git on a local repository.
//!
//! Each function gets a repository with one commit on `main`, an identity, and a `.gitignore` that names `target`. It
//! panics if the promise is broken.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use ao_core::effect::{SetUpPlan, WorkspacePlan};
use ao_core::session::CheckedOut;
use ao_core::setup::{Environment, Origin, Setup};
use ao_core::workspace::{KeepReason, WorkspaceTree};
use ao_core::{Attempt, Commit, ProjectId, SessionId, Timestamp};
use ao_ports::{
    CreatedWorkspace, RebaseOrder, RebaseOutcome, RemovalOutcome, RemoveOrder, TreeRef, Workspace,
};

const SESSION: SessionId = SessionId(0x4f);
const OTHER: SessionId = SessionId(0x50);

/// An adapter and a repository to test it on.
pub struct WorkspaceSite<'a> {
    pub workspace: &'a dyn Workspace,
    pub repository: &'a Path,
}

impl std::fmt::Debug for WorkspaceSite<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkspaceSite").field("repository", &self.repository).finish_non_exhaustive()
    }
}

/// A new workspace is on its session's branch, at the base branch's commit, and clean.
pub async fn a_new_one_is_on_its_branch_at_the_base(site: &WorkspaceSite<'_>) {
    let made = site.create(SESSION, "fix").await;
    assert_eq!(git(made.path.as_ref(), &["branch", "--show-current"]), "agent/fix");
    assert_eq!(made.base, git(site.repository, &["rev-parse", "main"]));
    assert_eq!(git(made.path.as_ref(), &["rev-parse", "HEAD"]), made.base);
    assert_eq!(git(made.path.as_ref(), &["status", "--porcelain"]), "");
    assert!(!made.as_found);
    let facts = site.workspace.inspect(&site.tree(SESSION, "fix", Some(&made))).await;
    assert_eq!((facts.ours, facts.main_worktree), (Some(true), Some(false)));
}

/// Idempotent per session: a second call returns the workspace of the first one, with the work in it.
pub async fn a_second_call_finds_what_the_first_one_made(site: &WorkspaceSite<'_>) {
    let made = site.worked(SESSION, "fix").await;
    fs::write(Path::new(&made.path).join("draft.txt"), "not yet\n").unwrap();
    assert_eq!(site.create(SESSION, "fix").await, made);
    assert_eq!(git(made.path.as_ref(), &["status", "--porcelain"]), "?? draft.txt");
}

/// A folder belongs to one session, and is unchanged if another one requests it.
pub async fn another_sessions_place_is_refused(site: &WorkspaceSite<'_>) {
    let made = site.worked(SESSION, "fix").await;
    site.workspace.create(OTHER, Attempt(1), &site.plan("fix")).await.unwrap_err();
    let removal = site.workspace.remove(&site.order(OTHER, "fix", Some(&made))).await.unwrap();
    let RemovalOutcome::Kept { reasons } = removal else { panic!("it was removed") };
    assert!(reasons.contains(&KeepReason::NotOurs), "{reasons:?}");
    assert!(Path::new(&made.path).join("fix.txt").exists());
}

/// A workspace with unsaved work is kept, with the reason.
pub async fn what_would_be_lost_keeps_it(site: &WorkspaceSite<'_>) {
    let made = site.worked(SESSION, "fix").await;
    let path = PathBuf::from(&made.path);
    assert_eq!(site.kept(&made).await, [KeepReason::Unpushed]);
    site.land(&made);
    fs::write(path.join("fix.txt"), "changed\n").unwrap();
    assert_eq!(site.kept(&made).await, [KeepReason::Uncommitted]);
    git(&path, &["stash", "push", "--quiet"]);
    assert_eq!(site.kept(&made).await, [KeepReason::Stashed]);
    git(&path, &["stash", "drop", "--quiet"]);
    fs::write(path.join("new.txt"), "new\n").unwrap();
    assert_eq!(site.kept(&made).await, [KeepReason::Untracked]);
    fs::remove_file(path.join("new.txt")).unwrap();
    git(&path, &["bisect", "start"]);
    assert_eq!(site.kept(&made).await, [KeepReason::MidOperation]);
    git(&path, &["bisect", "reset"]);
    git(&path, &["switch", "--quiet", "--detach"]);
    git(&path, &["commit", "--quiet", "--allow-empty", "-m", "on no branch"]);
    assert_eq!(site.kept(&made).await, [KeepReason::Detached, KeepReason::Unpushed]);
}

/// A process inside keeps the workspace, until it ends.
pub async fn a_process_inside_keeps_it(site: &WorkspaceSite<'_>) {
    let made = site.create(SESSION, "fix").await;
    let mut inside = Command::new("cat").current_dir(&made.path).stdin(Stdio::piped()).spawn().unwrap();
    let reasons = site.kept(&made).await;
    drop(inside.stdin.take());
    inside.wait().unwrap();
    assert_eq!(reasons, [KeepReason::ProcessInside]);
    site.removed(&made).await;
}

/// A process that a runtime has reported keeps it too, and so does a runtime that cannot tell.
pub async fn a_process_elsewhere_keeps_it(site: &WorkspaceSite<'_>) {
    let made = site.create(SESSION, "fix").await;
    for (lived_in, kept) in [(Some(true), true), (None, true), (Some(false), false)] {
        let order = RemoveOrder { lived_in, ..site.order(SESSION, "fix", Some(&made)) };
        let removal = site.workspace.remove(&order).await.unwrap();
        assert_eq!(matches!(removal, RemovalOutcome::Kept { .. }), kept, "{lived_in:?}: {removal:?}");
    }
}

/// Work that was squash-merged counts as merged.
pub async fn a_squash_merge_keeps_nothing(site: &WorkspaceSite<'_>) {
    let made = site.worked(SESSION, "fix").await;
    fs::write(Path::new(&made.path).join("more.txt"), "more\n").unwrap();
    git(made.path.as_ref(), &["add", "."]);
    git(made.path.as_ref(), &["commit", "--quiet", "-m", "more"]);
    git(site.repository, &["fetch", "--quiet", &made.path, "HEAD"]);
    git(site.repository, &["merge", "--quiet", "--squash", "FETCH_HEAD"]);
    git(site.repository, &["commit", "--quiet", "-m", "fix and more (#7)"]);
    site.removed(&made).await;
}

/// A removed workspace is gone with its branch, and its last state can be restored from the rescue ref.
pub async fn the_last_state_comes_back(site: &WorkspaceSite<'_>) {
    let made = site.worked(SESSION, "fix").await;
    let tip = git(made.path.as_ref(), &["rev-parse", "HEAD"]);
    site.land(&made);
    let rescue = site.removed(&made).await.expect("it leaves a rescue ref");
    assert!(!Path::new(&made.path).exists());
    assert_eq!(git(site.repository, &["branch", "--list", "agent/fix"]), "");
    assert_eq!(git(site.repository, &["rev-parse", &format!("{rescue}^{{commit}}")]), tip);

    git(site.repository, &["reset", "--quiet", "--hard", "HEAD~1"]);
    let plan = WorkspacePlan { rescue: Some(rescue), ..site.plan("fix") };
    let again = site.workspace.create(SESSION, Attempt(2), &plan).await.unwrap();
    assert_eq!(git(again.path.as_ref(), &["rev-parse", "agent/fix"]), tip);
    assert_eq!(git(again.path.as_ref(), &["branch", "--show-current"]), "agent/fix");
    assert_eq!(fs::read_to_string(Path::new(&again.path).join("fix.txt")).unwrap(), "fixed\n");
}

/// Removing a missing workspace succeeds, twice; also if it never existed.
pub async fn what_is_gone_is_removed_twice(site: &WorkspaceSite<'_>) {
    let made = site.create(SESSION, "fix").await;
    for _ in 0..2 {
        site.removed(&made).await;
    }
    let never = site.order(OTHER, "never", None);
    assert_eq!(site.workspace.remove(&never).await.unwrap(), RemovalOutcome::Removed { rescue: None });
}

/// A workspace whose path is unknown is found by its session.
pub async fn it_is_found_by_its_session(site: &WorkspaceSite<'_>) {
    let made = site.worked(SESSION, "fix").await;
    let order = site.order(SESSION, "fix", None);
    assert_eq!(site.workspace.inspect(&order.tree).await.ours, Some(true));
    assert_eq!(
        site.workspace.remove(&order).await.unwrap(),
        RemovalOutcome::Kept { reasons: vec![KeepReason::Unpushed] }
    );
    site.land(&made);
    assert!(matches!(site.workspace.remove(&order).await.unwrap(), RemovalOutcome::Removed { .. }));
    assert!(!Path::new(&made.path).exists());
}

/// The main checkout is never removed, regardless of the order.
pub async fn the_main_checkout_is_never_removed(site: &WorkspaceSite<'_>) {
    let main = CreatedWorkspace {
        path: site.repository.display().to_string(),
        base: String::new(),
        as_found: false,
    };
    let mut order = site.order(SESSION, "fix", Some(&main));
    order.tree.branch = "main".into();
    let RemovalOutcome::Kept { reasons } = site.workspace.remove(&order).await.unwrap() else {
        panic!("removed")
    };
    assert!(reasons.contains(&KeepReason::NotOurs), "{reasons:?}");
    site.workspace.clean(&order.tree).await.unwrap_err();
    assert_eq!(git(site.repository, &["status", "--porcelain"]), "");
}

/// A survey reports for each workspace its size and whether it could be removed, and that foreign folders stay.
pub async fn a_survey_says_what_a_removal_would_do(site: &WorkspaceSite<'_>) {
    let made = site.create(SESSION, "fix").await;
    let kept = site.worked(OTHER, "other").await;
    let target = Path::new(&made.path).join("target");
    fs::create_dir(&target).unwrap();
    fs::write(target.join("large"), vec![1; 1 << 20]).unwrap();
    let stranger = Path::new(&made.path).parent().unwrap().join("stranger");
    fs::create_dir(&stranger).unwrap();
    let trees = [site.tree(SESSION, "fix", Some(&made)), site.tree(OTHER, "other", Some(&kept))];
    let repository = site.repository.display().to_string();
    let surveyed = site.workspace.survey(&repository, &trees).await.unwrap();
    let of =
        |path: &str| surveyed.iter().find(|it| it.path == path).unwrap_or_else(|| panic!("{surveyed:?}"));
    assert_eq!(of(&made.path).reasons, []);
    assert!(of(&made.path).ignored_bytes >= 1 << 20 && of(&made.path).bytes >= of(&made.path).ignored_bytes);
    assert_eq!(of(&kept.path).reasons, [KeepReason::Unpushed]);
    assert_eq!(of(&kept.path).reasons_against_discard, []);
    let stranger = of(&stranger.display().to_string());
    assert_eq!((stranger.session, &stranger.reasons[..]), (None, &[KeepReason::NotOurs][..]));
    assert_eq!(stranger.reasons_against_discard, stranger.reasons);
    assert!(target.join("large").exists(), "a survey changes nothing");
}

/// Cleaning deletes ignored files and nothing else.
pub async fn cleaning_takes_only_what_is_ignored(site: &WorkspaceSite<'_>) {
    let made = site.worked(SESSION, "fix").await;
    let path = PathBuf::from(&made.path);
    fs::create_dir(path.join("target")).unwrap();
    fs::write(path.join("target/large"), vec![1; 1 << 20]).unwrap();
    fs::write(path.join("draft.txt"), "mine\n").unwrap();
    let tree = site.tree(SESSION, "fix", Some(&made));
    let cleaned = site.workspace.clean(&tree).await.unwrap();
    assert!(cleaned.bytes >= 1 << 20 && cleaned.paths == 2, "{cleaned:?}");
    assert!(
        !path.join("target").exists() && path.join("draft.txt").exists() && path.join("fix.txt").exists()
    );
    assert_eq!(site.workspace.clean(&tree).await.unwrap().paths, 0);
}

/// Rescue refs are deleted by their age.
pub async fn old_rescues_are_forgotten(site: &WorkspaceSite<'_>) {
    let made = site.create(SESSION, "fix").await;
    let rescue = site.removed(&made).await.unwrap();
    let repository = site.repository.display().to_string();
    let (long_ago, far_ahead) = (Timestamp(1_000), Timestamp(i64::MAX));
    assert_eq!(site.workspace.forget_rescues(&repository, long_ago).await.unwrap(), 0);
    git(site.repository, &["rev-parse", "--verify", &rescue]);
    assert_eq!(site.workspace.forget_rescues(&repository, far_ahead).await.unwrap(), 1);
    assert_eq!(git(site.repository, &["for-each-ref", "refs/ao/rescue"]), "");
    site.removed(&made).await;
}

/// Whereabouts report drift: another branch, or another folder.
pub async fn whereabouts_tell_when_it_strays(site: &WorkspaceSite<'_>) {
    let made = site.create(SESSION, "fix").await;
    let tree = site.tree(SESSION, "fix", Some(&made));
    let right = site.workspace.whereabouts(&tree).await;
    let branch = |stand: Option<CheckedOut>| stand.and_then(|stand| stand.branch);
    let head = right.stand.as_ref().and_then(|stand| stand.head.clone());
    assert_eq!(head.unwrap().as_str(), git(made.path.as_ref(), &["rev-parse", "HEAD"]));
    assert_eq!((branch(right.stand).as_deref(), &right.wrong[..]), (Some("agent/fix"), &[][..]));
    git(made.path.as_ref(), &["branch", "-m", "agent/better"]);
    let renamed = site.workspace.whereabouts(&tree).await;
    assert_eq!((branch(renamed.stand).as_deref(), &renamed.wrong[..]), (Some("agent/better"), &[][..]));
    git(made.path.as_ref(), &["branch", "-m", "agent/fix"]);
    git(made.path.as_ref(), &["switch", "--quiet", "-c", "elsewhere"]);
    let strayed = site.workspace.whereabouts(&tree).await;
    assert_eq!(branch(strayed.stand).as_deref(), Some("elsewhere"));
    assert_eq!(strayed.wrong, ["the branch `elsewhere` is checked out instead of `agent/fix`"]);
    git(made.path.as_ref(), &["switch", "--quiet", "--detach"]);
    let detached = site.workspace.whereabouts(&tree).await;
    assert_eq!(detached.wrong, ["its head is on no branch instead of on `agent/fix`"]);
    fs::remove_dir_all(&made.path).unwrap();
    let gone = site.workspace.whereabouts(&tree).await;
    let [wrong] = &gone.wrong[..] else { panic!("one thing is wrong, and not {:?}", gone.wrong) };
    assert!(gone.stand.is_none() && wrong.starts_with("its folder is gone"), "{wrong}");
    assert!(
        wrong.contains("restore the session") && wrong.contains("`agent/fix`"),
        "the way back is told: {wrong}"
    );
}

/// A capture has what is not committed, in a pack that needs nothing but the repository, and changes neither the
/// workspace nor the repository.
pub async fn a_capture_is_whole_and_leaves_no_trace(site: &WorkspaceSite<'_>) {
    let made = site.worked(SESSION, "fix").await;
    let tree = site.tree(SESSION, "fix", Some(&made));
    fs::write(Path::new(&made.path).join("draft.txt"), "not yet\n").unwrap();
    fs::write(Path::new(&made.path).join(".gitignore"), "target\nhidden\n").unwrap();
    fs::write(Path::new(&made.path).join("hidden"), "secret\n").unwrap();
    let index = git(made.path.as_ref(), &["rev-parse", "--path-format=absolute", "--git-path", "index"]);
    let state = || {
        let objects = [site.repository, made.path.as_ref()].map(|at| git(at, &["count-objects", "-v"]));
        (objects, fs::read(&index).unwrap(), git(site.repository, &["for-each-ref"]))
    };
    git(made.path.as_ref(), &["status", "--porcelain"]);
    let before = state();
    let captured = site.workspace.capture(&tree).await.unwrap();
    assert_eq!(site.workspace.capture(&tree).await.unwrap().commit, captured.commit);
    assert!(state() == before, "a capture leaves no trace");
    let elsewhere = tempfile::tempdir().unwrap();
    git(site.repository, &["clone", "--quiet", "--bare", ".", elsewhere.path().to_str().unwrap()]);
    let mut unpack = Command::new("git")
        .args(["unpack-objects", "-q"])
        .current_dir(elsewhere.path())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    unpack.stdin.take().unwrap().write_all(&captured.pack).unwrap();
    assert!(unpack.wait().unwrap().success());
    let files = git(elsewhere.path(), &["ls-tree", "-r", "--name-only", captured.commit.as_str()]);
    assert_eq!(files.lines().filter(|file| ["draft.txt", "fix.txt", "hidden"].contains(file)).count(), 2);
    git(elsewhere.path(), &["fsck", "--connectivity-only", captured.commit.as_str()]);
    let parent = git(elsewhere.path(), &["rev-parse", &format!("{}^", captured.commit)]);
    assert_eq!(parent, git(made.path.as_ref(), &["rev-parse", "HEAD"]));
}

/// A rebase moves the branch onto the base, keeps the old one in a rescue ref, and changes nothing on a conflict.
pub async fn a_rebase_is_whole_or_not_at_all(site: &WorkspaceSite<'_>) {
    let made = site.worked(SESSION, "fix").await;
    let path: &Path = made.path.as_ref();
    git(path, &["push", "--quiet"]);
    let advance = |file: &str| {
        fs::write(site.repository.join(file), "of a colleague\n").unwrap();
        git(site.repository, &["add", "."]);
        git(site.repository, &["commit", "--quiet", "-m", file]);
        Commit::new(&git(site.repository, &["rev-parse", "main"]))
    };
    let head = Commit::new(&git(path, &["rev-parse", "HEAD"]));
    let base = advance("other.txt");
    let tree = site.tree(SESSION, "fix", Some(&made));
    let order = RebaseOrder { tree, branch: "agent/fix".into(), head: head.clone(), base: base.clone() };
    let RebaseOutcome::Rebased { head: now, .. } = site.workspace.rebase(&order).await.unwrap() else {
        panic!("it was not rebased")
    };
    assert_eq!(git(path, &["rev-parse", "agent/fix"]), now.as_str());
    assert_eq!(git(path, &["rev-parse", "agent/fix^"]), base.as_str());
    assert_eq!(git(path, &["status", "--porcelain"]), "");
    assert_eq!(git(site.repository, &["rev-parse", "refs/heads/agent/fix"]), now.as_str(), "it is published");
    let rescues = git(site.repository, &["for-each-ref", "--format=%(*objectname)", "refs/ao/rescue"]);
    assert_eq!(rescues, head.as_str());
    assert_eq!(site.workspace.rebase(&order).await.unwrap(), RebaseOutcome::Moved);
    let again = RebaseOrder { head: now.clone(), ..order };
    assert_eq!(site.workspace.rebase(&again).await.unwrap(), RebaseOutcome::UpToDate);

    let conflict = RebaseOrder { base: advance("fix.txt"), ..again };
    fs::write(path.join("fix.txt"), "not yet\n").unwrap();
    assert!(matches!(site.workspace.rebase(&conflict).await.unwrap(), RebaseOutcome::Busy { .. }));
    git(path, &["checkout", "--quiet", "--", "."]);
    let files = vec!["fix.txt".to_owned()];
    assert_eq!(site.workspace.rebase(&conflict).await.unwrap(), RebaseOutcome::Conflict { files });
    assert_eq!(git(path, &["rev-parse", "HEAD"]), now.as_str());
    assert_eq!(git(path, &["status", "--porcelain"]), "");
}

/// A plain `git push` succeeds, with a remote and without one, also after the branch was renamed; and the branch is
/// in the repository afterwards.
pub async fn a_plain_push_succeeds(site: &WorkspaceSite<'_>) {
    let made = site.create(SESSION, "fix").await;
    let tree: &Path = made.path.as_ref();
    for branch in ["agent/fix", "agent/better"] {
        git(tree, &["branch", "-m", branch]);
        git(tree, &["commit", "--quiet", "--allow-empty", "-m", branch]);
        git(tree, &["push", "--quiet"]);
        let there = git(site.repository, &["rev-parse", &format!("refs/heads/{branch}")]);
        assert_eq!(there, git(tree, &["rev-parse", "HEAD"]));
    }
}

/// Programs that a set-up started are ended on request, even if they are detached; ending them twice succeeds.
pub async fn what_a_set_up_left_running_ends(site: &WorkspaceSite<'_>) {
    let made = site.create(SESSION, "fix").await;
    let server =
        "mkdir target; (setsid sh -c 'echo $$ > target/pid; exec sleep 1000' </dev/null >/dev/null 2>&1 &)";
    let wait = "until test -s target/pid; do sleep 0.01; done";
    let plan = SetUpPlan {
        project: ProjectId::new("app"),
        repository: site.repository.display().to_string(),
        kind: String::new(),
        name: "fix".into(),
        path: made.path.clone(),
        setup: Setup {
            post_create: vec![server.into(), wait.into()],
            timeout: Duration::from_secs(60),
            ..Setup::default()
        },
        environment: Environment::default(),
        ports: [].into(),
        runtime: String::new(),
    };
    site.workspace.set_up(SESSION, Attempt(1), &plan).await.unwrap();
    let pid = fs::read_to_string(Path::new(&made.path).join("target/pid")).unwrap();
    // A zombie is still listed.
    let runs = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
    };
    assert!(runs(), "a set-up may leave a server running");
    site.workspace.end_programs(OTHER, &made.path).await.unwrap();
    assert!(runs(), "it belongs to its own session");
    for _ in 0..2 {
        site.workspace.end_programs(SESSION, &made.path).await.unwrap();
        assert!(!runs());
    }
    site.removed(&made).await;
}

impl WorkspaceSite<'_> {
    fn plan(&self, name: &str) -> WorkspacePlan {
        WorkspacePlan {
            project: ProjectId::new("app"),
            repository: self.repository.display().to_string(),
            kind: String::new(),
            name: name.into(),
            branch: format!("agent/{name}"),
            base_branch: "main".into(),
            origin: Origin::Base,
            rescue: None,
        }
    }

    fn tree(&self, session: SessionId, name: &str, made: Option<&CreatedWorkspace>) -> TreeRef {
        TreeRef {
            session,
            project: ProjectId::new("app"),
            repository: self.repository.display().to_string(),
            recorded: made.map(|made| WorkspaceTree { path: made.path.clone(), base: made.base.clone() }),
            branch: format!("agent/{name}"),
        }
    }

    fn order(&self, session: SessionId, name: &str, made: Option<&CreatedWorkspace>) -> RemoveOrder {
        RemoveOrder {
            tree: self.tree(session, name, made),
            teardown: vec![],
            environment: Default::default(),
            timeout: Duration::from_secs(60),
            lived_in: Some(false),
            discard: false,
        }
    }

    async fn create(&self, session: SessionId, name: &str) -> CreatedWorkspace {
        self.workspace.create(session, Attempt(1), &self.plan(name)).await.unwrap()
    }

    /// Creates a workspace with one commit of its own.
    async fn worked(&self, session: SessionId, name: &str) -> CreatedWorkspace {
        let made = self.create(session, name).await;
        fs::write(Path::new(&made.path).join("fix.txt"), "fixed\n").unwrap();
        git(made.path.as_ref(), &["add", "."]);
        git(made.path.as_ref(), &["commit", "--quiet", "-m", "fix"]);
        made
    }

    /// Merges a workspace's work into `main`.
    fn land(&self, made: &CreatedWorkspace) {
        git(self.repository, &["fetch", "--quiet", &made.path, "HEAD"]);
        git(self.repository, &["merge", "--quiet", "--ff-only", "FETCH_HEAD"]);
    }

    async fn kept(&self, made: &CreatedWorkspace) -> Vec<KeepReason> {
        let removal = self.workspace.remove(&self.order(SESSION, "fix", Some(made))).await.unwrap();
        assert!(Path::new(&made.path).join(".git").exists(), "one that is kept is whole");
        match removal {
            RemovalOutcome::Kept { reasons } => reasons,
            RemovalOutcome::Removed { .. } => panic!("it was removed"),
        }
    }

    async fn removed(&self, made: &CreatedWorkspace) -> Option<String> {
        match self.workspace.remove(&self.order(SESSION, "fix", Some(made))).await.unwrap() {
            RemovalOutcome::Removed { rescue } => rescue,
            RemovalOutcome::Kept { reasons } => panic!("it was kept: {reasons:?}"),
        }
    }
}

fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git").args(args).current_dir(dir).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert!(output.status.success(), "git {args:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}
