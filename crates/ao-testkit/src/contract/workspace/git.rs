//! Workspaces of a local git repository: the bench of adapters that have one, and the stories that need files.

use std::any::Any;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use ao_core::effect::SetUpPlan;
use ao_core::session::CheckedOut;
use ao_core::setup::{Environment, Setup};
use ao_core::workspace::KeepReason;
use ao_core::{Attempt, Commit, ProjectId};
use ao_ports::Workspace;

use super::{BranchDrift, OTHER, SESSION, WorkspaceBench, create, removed, tree, worked};

/// An adapter and a repository to test it on: one commit on `main`, an identity, and a `.gitignore` that names
/// `target`.
pub struct GitSite {
    workspace: Box<dyn Workspace>,
    root: PathBuf,
    /// A process in a workspace.
    inside: Mutex<Option<Child>>,
    /// Everything that goes away with the site.
    _kept: Box<dyn Any + Send + Sync>,
}

impl GitSite {
    pub fn new(workspace: impl Workspace + 'static, root: PathBuf, kept: impl Any + Send + Sync) -> GitSite {
        GitSite { workspace: Box::new(workspace), root, inside: Mutex::default(), _kept: Box::new(kept) }
    }
}

impl std::fmt::Debug for GitSite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GitSite").field("root", &self.root).finish_non_exhaustive()
    }
}

impl WorkspaceBench for GitSite {
    fn workspace(&self) -> &dyn Workspace {
        &*self.workspace
    }

    fn repository(&self) -> String {
        self.root.display().to_string()
    }

    fn tip(&self) -> Commit {
        Commit::new(&git(&self.root, &["rev-parse", "main"]))
    }

    fn advance(&self, file: &str) -> Commit {
        commit(&self.root, file, "of a colleague\n");
        self.tip()
    }

    fn branch(&self, name: &str) -> Option<Commit> {
        let found =
            git(&self.root, &["for-each-ref", "--format=%(objectname)", &format!("refs/heads/{name}")]);
        (!found.is_empty()).then(|| Commit::new(&found))
    }

    fn rescues(&self) -> Vec<Commit> {
        let found = git(&self.root, &["for-each-ref", "--format=%(*objectname)", "refs/ao/rescue"]);
        found.lines().map(Commit::new).collect()
    }

    fn checked_out(&self, path: &str) -> Option<CheckedOut> {
        Path::new(path).join(".git").exists().then(|| {
            let branch = git(path.as_ref(), &["branch", "--show-current"]);
            let head = Commit::new(&git(path.as_ref(), &["rev-parse", "HEAD"]));
            CheckedOut { branch: Some(branch).filter(|branch| !branch.is_empty()), head: Some(head) }
        })
    }

    fn parent(&self, path: &str) -> Commit {
        Commit::new(&git(path.as_ref(), &["rev-parse", "HEAD^"]))
    }

    fn read(&self, path: &str, file: &str) -> Option<String> {
        fs::read_to_string(Path::new(path).join(file)).ok()
    }

    fn is_clean(&self, path: &str) -> bool {
        git(path.as_ref(), &["status", "--porcelain"]).is_empty()
    }

    fn commit(&self, path: &str, file: &str, text: &str) {
        commit(path.as_ref(), file, text);
    }

    fn push(&self, path: &str) {
        git(path.as_ref(), &["push", "--quiet"]);
    }

    fn land(&self, path: &str) {
        git(&self.root, &["fetch", "--quiet", path, "HEAD"]);
        git(&self.root, &["merge", "--quiet", "--ff-only", "FETCH_HEAD"]);
    }

    fn leave(&self, path: &str, work: &KeepReason) {
        let folder = Path::new(path);
        match work {
            KeepReason::Uncommitted => fs::write(folder.join("fix.txt"), "changed\n").unwrap(),
            KeepReason::Untracked => fs::write(folder.join("new.txt"), "new\n").unwrap(),
            KeepReason::Stashed => {
                fs::write(folder.join("fix.txt"), "changed\n").unwrap();
                git(folder, &["stash", "push", "--quiet"]);
            }
            KeepReason::MidOperation => drop(git(folder, &["bisect", "start"])),
            KeepReason::ProcessInside => {
                let inside = Command::new("cat").current_dir(folder).stdin(Stdio::piped()).spawn().unwrap();
                *self.inside.lock().unwrap() = Some(inside);
            }
            other => panic!("no story leaves work of this kind: {other}"),
        }
    }

    fn clear(&self, path: &str, work: &KeepReason) {
        let folder = Path::new(path);
        match work {
            KeepReason::Uncommitted => drop(git(folder, &["checkout", "--quiet", "--", "."])),
            KeepReason::Untracked => fs::remove_file(folder.join("new.txt")).unwrap(),
            KeepReason::Stashed => drop(git(folder, &["stash", "drop", "--quiet"])),
            KeepReason::MidOperation => drop(git(folder, &["bisect", "reset"])),
            KeepReason::ProcessInside => {
                let mut inside = self.inside.lock().unwrap().take().expect("one was started");
                drop(inside.stdin.take());
                inside.wait().unwrap();
            }
            other => panic!("no story leaves work of this kind: {other}"),
        }
    }

    fn stray(&self, path: &str, drift: BranchDrift) {
        match drift {
            BranchDrift::Renamed(name) => drop(git(path.as_ref(), &["branch", "-m", name])),
            BranchDrift::Switched(name) => drop(git(path.as_ref(), &["switch", "--quiet", "-c", name])),
            BranchDrift::Detached => drop(git(path.as_ref(), &["switch", "--quiet", "--detach"])),
            BranchDrift::Gone => fs::remove_dir_all(path).unwrap(),
        }
    }
}

/// Work that was squash-merged counts as merged.
pub async fn a_squash_merge_keeps_nothing(site: &GitSite) {
    let made = worked(site, SESSION, "fix").await;
    fs::write(Path::new(&made.path).join("more.txt"), "more\n").unwrap();
    git(made.path.as_ref(), &["add", "."]);
    git(made.path.as_ref(), &["commit", "--quiet", "-m", "more"]);
    git(&site.root, &["fetch", "--quiet", &made.path, "HEAD"]);
    git(&site.root, &["merge", "--quiet", "--squash", "FETCH_HEAD"]);
    git(&site.root, &["commit", "--quiet", "-m", "fix and more (#7)"]);
    removed(site, &made).await;
}

/// A survey reports for each workspace its size and whether it could be removed, and that foreign folders stay.
pub async fn a_survey_says_what_a_removal_would_do(site: &GitSite) {
    let made = create(site, SESSION, "fix").await;
    let kept = worked(site, OTHER, "other").await;
    let target = Path::new(&made.path).join("target");
    fs::create_dir(&target).unwrap();
    fs::write(target.join("large"), vec![1; 1 << 20]).unwrap();
    let stranger = Path::new(&made.path).parent().unwrap().join("stranger");
    fs::create_dir(&stranger).unwrap();
    let trees = [tree(site, SESSION, "fix", Some(&made)), tree(site, OTHER, "other", Some(&kept))];
    let repository = site.repository();
    let surveyed = site.workspace().survey(&repository, &trees).await.unwrap();
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
pub async fn cleaning_takes_only_what_is_ignored(site: &GitSite) {
    let made = worked(site, SESSION, "fix").await;
    let path = PathBuf::from(&made.path);
    fs::create_dir(path.join("target")).unwrap();
    fs::write(path.join("target/large"), vec![1; 1 << 20]).unwrap();
    fs::write(path.join("draft.txt"), "mine\n").unwrap();
    let tree = tree(site, SESSION, "fix", Some(&made));
    let cleaned = site.workspace().clean(&tree).await.unwrap();
    assert!(cleaned.bytes >= 1 << 20 && cleaned.paths == 2, "{cleaned:?}");
    assert!(
        !path.join("target").exists() && path.join("draft.txt").exists() && path.join("fix.txt").exists()
    );
    assert_eq!(site.workspace().clean(&tree).await.unwrap().paths, 0);
}

/// A capture has what is not committed, in a pack that needs nothing but the repository, and changes neither the
/// workspace nor the repository.
pub async fn a_capture_is_whole_and_leaves_no_trace(site: &GitSite) {
    let made = worked(site, SESSION, "fix").await;
    let tree = tree(site, SESSION, "fix", Some(&made));
    fs::write(Path::new(&made.path).join("draft.txt"), "not yet\n").unwrap();
    fs::write(Path::new(&made.path).join(".gitignore"), "target\nhidden\n").unwrap();
    fs::write(Path::new(&made.path).join("hidden"), "secret\n").unwrap();
    let index = git(made.path.as_ref(), &["rev-parse", "--path-format=absolute", "--git-path", "index"]);
    let state = || {
        let objects = [&*site.root, made.path.as_ref()].map(|at| git(at, &["count-objects", "-v"]));
        (objects, fs::read(&index).unwrap(), git(&site.root, &["for-each-ref"]))
    };
    git(made.path.as_ref(), &["status", "--porcelain"]);
    let before = state();
    let captured = site.workspace().capture(&tree).await.unwrap();
    assert_eq!(site.workspace().capture(&tree).await.unwrap().commit, captured.commit);
    assert!(state() == before, "a capture leaves no trace");
    let elsewhere = tempfile::tempdir().unwrap();
    git(&site.root, &["clone", "--quiet", "--bare", ".", elsewhere.path().to_str().unwrap()]);
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

/// A plain `git push` succeeds, with a remote and without one, also after the branch was renamed; and the branch is
/// in the repository afterwards.
pub async fn a_plain_push_succeeds(site: &GitSite) {
    let made = create(site, SESSION, "fix").await;
    let tree: &Path = made.path.as_ref();
    for branch in ["agent/fix", "agent/better"] {
        git(tree, &["branch", "-m", branch]);
        git(tree, &["commit", "--quiet", "--allow-empty", "-m", branch]);
        git(tree, &["push", "--quiet"]);
        let there = git(&site.root, &["rev-parse", &format!("refs/heads/{branch}")]);
        assert_eq!(there, git(tree, &["rev-parse", "HEAD"]));
    }
}

/// Programs that a set-up started are ended on request, even if they are detached; ending them twice succeeds.
pub async fn what_a_set_up_left_running_ends(site: &GitSite) {
    let made = create(site, SESSION, "fix").await;
    let server =
        "mkdir target; (setsid sh -c 'echo $$ > target/pid; exec sleep 1000' </dev/null >/dev/null 2>&1 &)";
    let wait = "until test -s target/pid; do sleep 0.01; done";
    let plan = SetUpPlan {
        project: ProjectId::new("app"),
        repository: site.repository(),
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
    site.workspace().set_up(SESSION, Attempt(1), &plan).await.unwrap();
    let pid = fs::read_to_string(Path::new(&made.path).join("target/pid")).unwrap();
    // A zombie is still listed.
    let runs = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
    };
    assert!(runs(), "a set-up may leave a server running");
    site.workspace().end_programs(OTHER, &made.path).await.unwrap();
    assert!(runs(), "it belongs to its own session");
    for _ in 0..2 {
        site.workspace().end_programs(SESSION, &made.path).await.unwrap();
        assert!(!runs());
    }
    removed(site, &made).await;
}

fn commit(folder: &Path, file: &str, text: &str) {
    fs::write(folder.join(file), text).unwrap();
    git(folder, &["add", "."]);
    git(folder, &["commit", "--quiet", "-m", file]);
}

fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git").args(args).current_dir(dir).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert!(output.status.success(), "git {args:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}
