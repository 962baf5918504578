//! Gathers the facts, one by one. A fact that git or the system does not reveal stays `None`.

use std::path::{Path, PathBuf};

use ao_core::SessionId;
use ao_core::workspace::TreeFacts;
use ao_ports::WorkFound;

use super::{hidden, merged, submodules};
use crate::config;
use ao_git::{Git, GitError, Settings};

/// Files in a git directory while an operation is in progress. Not `REBASE_HEAD`: git leaves it behind after a rebase
/// with a conflict, and one in progress has one of the two folders.
pub(super) const OPERATIONS: [&str; 7] = [
    "MERGE_HEAD",
    "rebase-merge",
    "rebase-apply",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_LOG",
    "sequencer",
];

/// Most files and commits that are named to a person who is about to lose them.
const LISTED: usize = 20;

/// A tree to be judged, and what is known of it without asking git.
#[derive(Debug)]
pub(crate) struct JudgedTree {
    pub(crate) session: SessionId,
    pub(crate) path: PathBuf,
    pub(crate) git_dir: PathBuf,
    /// The folder with the objects of its commits.
    pub(crate) objects: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) ours: Option<bool>,
    pub(crate) main_worktree: Option<bool>,
    pub(crate) process_inside: Option<bool>,
    pub(crate) own: OwnBranches,
    /// Commits that contain its work if that was merged in another form.
    pub(crate) bases: Vec<String>,
    pub(crate) elsewhere: KeptElsewhere,
}

/// The branches that may exist only in this tree.
#[derive(Debug, Clone)]
pub(crate) enum OwnBranches {
    /// For a worktree: the branch it was created with; its current branch is added.
    Branch(String),
    /// For a clone: all of them, and its tags.
    All,
}

/// Everything that keeps commits besides the refs of the tree's own repository.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeptElsewhere {
    /// The objects of the repository that a clone was made from.
    pub(crate) objects: Option<PathBuf>,
    pub(crate) commits: Vec<String>,
}

pub(crate) async fn gather(subject: &JudgedTree) -> TreeFacts {
    let git = Git::in_tree(&subject.path, &subject.settings);
    let changes = changes_of(&git, &subject.git_dir).await;
    let inside = submodules::look(&git, &subject.settings).await.ok();
    let both = |found: Option<bool>, inside: Option<bool>| match (found, inside) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (found, inside) => found.and(inside),
    };
    let branch = git.answer(&["symbolic-ref", "--quiet", "--short", "HEAD"]).await.ok();
    let own = own_branches(&subject.own, branch.as_ref().and_then(Option::as_deref));
    let detached = match branch {
        Some(Some(_)) => Some(false),
        Some(None) => {
            let head = ["HEAD".to_owned()];
            // A clone's branches are removed along with it, so they keep nothing; but they show that it is on none.
            beyond(&git, &head, &[], true, &subject.elsewhere).await.ok()
        }
        None => None,
    };
    let mid_operation = Some(OPERATIONS.iter().any(|name| subject.git_dir.join(name).exists()));
    TreeFacts {
        ours: subject.ours,
        main_worktree: subject.main_worktree,
        process_inside: subject.process_inside,
        uncommitted: both(changes.uncommitted, inside.map(|it| it.uncommitted)),
        untracked: both(changes.untracked, inside.map(|it| it.untracked)),
        stashed: both(stashed(&git, subject, &own).await.ok(), inside.map(|it| it.stashed)),
        detached,
        mid_operation: both(mid_operation, inside.map(|it| it.mid_operation)),
        unpushed: both(unpushed(&git, subject, &own).await.ok(), inside.map(|it| it.unpushed)),
    }
}

/// Uncommitted work in one tree, as far as it could be determined.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct UncommittedWork {
    pub(super) uncommitted: Option<bool>,
    pub(super) untracked: Option<bool>,
}

/// Finds what `git status` shows, and what it hides.
pub(super) async fn changes_of(git: &Git, git_dir: &Path) -> UncommittedWork {
    let Ok(changes) = changes(git).await else { return UncommittedWork::default() };
    let uncommitted = match changes.uncommitted {
        true => Some(true),
        false => hidden::changed(git, git_dir).await.ok(),
    };
    let untracked = match (changes.untracked, submodules::checked_out(git).await) {
        (true, _) => Some(true),
        (false, Ok(known)) => hidden::repository(git, git_dir, &changes, &known).await.ok(),
        (false, Err(_)) => None,
    };
    UncommittedWork { uncommitted, untracked }
}

#[derive(Debug, Clone)]
pub(super) struct StatusChanges {
    pub(super) uncommitted: bool,
    pub(super) untracked: bool,
    /// Of a folder that is ignored as a whole only the folder.
    pub(super) ignored: Vec<PathBuf>,
}

pub(super) async fn changes(git: &Git) -> Result<StatusChanges, GitError> {
    let args = ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=none"];
    let output = git.read(&[&args[..], &["--ignored=matching"]].concat()).await?;
    let mut changes = StatusChanges { uncommitted: false, untracked: false, ignored: vec![] };
    let mut entries = output.split('\0');
    while let Some(entry) = entries.next() {
        match entry.as_bytes().first() {
            Some(b'?') => changes.untracked = true,
            Some(b'!') => changes.ignored.push(git.dir().join(entry[2..].trim_end_matches('/'))),
            Some(b'1' | b'u') => changes.uncommitted = true,
            Some(b'2') => {
                changes.uncommitted = true;
                // The old name after a rename could look like anything.
                entries.next();
            }
            _ => {}
        }
    }
    Ok(changes)
}

fn own_branches(own: &OwnBranches, current: Option<&str>) -> Vec<String> {
    let OwnBranches::Branch(first) = own else { return vec![] };
    let mut own = vec![first.clone()];
    own.extend(current.filter(|current| current != first).map(str::to_owned));
    own
}

/// Returns true if a stash was made in this tree. Stashes belong to the repository; the author identifies the session,
/// and the message names the branch, in case another author made it.
async fn stashed(git: &Git, subject: &JudgedTree, own: &[String]) -> Result<bool, GitError> {
    if git.commit("refs/stash").await?.is_none() {
        return Ok(false);
    }
    if matches!(subject.own, OwnBranches::All) {
        return Ok(true);
    }
    let output = git.read(&["stash", "list", "--format=%ae %gs"]).await?;
    let email = config::email(subject.session);
    Ok(output.lines().any(|line| {
        let (author, message) = line.split_once(' ').unwrap_or((line, ""));
        let on = message.strip_prefix("WIP on ").or_else(|| message.strip_prefix("On ")).unwrap_or_default();
        author == email
            || own
                .iter()
                .any(|branch| on.strip_prefix(branch.as_str()).is_some_and(|rest| rest.starts_with(':')))
    }))
}

/// Lists the work that is only in a tree: the first files and commits, and their totals.
pub(crate) async fn work(subject: &JudgedTree) -> Result<WorkFound, GitError> {
    let git = Git::in_tree(&subject.path, &subject.settings);
    let args = ["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"];
    let output = git.read(&args).await?;
    let files: Vec<&str> = output.split('\0').filter_map(|entry| entry.get(3..)).collect();
    let mut found = WorkFound {
        files_in_all: files.len() as u64,
        files: files.into_iter().take(LISTED).map(str::to_owned).collect(),
        ..WorkFound::default()
    };
    let branch = git.answer(&["symbolic-ref", "--quiet", "--short", "HEAD"]).await?;
    let own = own_branches(&subject.own, branch.as_deref());
    if unpushed(&git, subject, &own).await? {
        let tips = tips(&git, &subject.own, &own).await?;
        let keeps_branches = matches!(subject.own, OwnBranches::Branch(_));
        let list = async |how: &[&str]| {
            let how = how.iter().map(|arg| (*arg).to_owned()).collect();
            kept_nowhere(&git, how, &tips, &own, keeps_branches, &subject.elsewhere).await
        };
        let most = format!("--max-count={LISTED}");
        found.commits = list(&["log", "--no-show-signature", "--format=%h %s", &most])
            .await?
            .lines()
            .map(str::to_owned)
            .collect();
        found.commits_in_all = list(&["rev-list", "--count"]).await?.trim().parse().unwrap_or_default();
    }
    Ok(found)
}

/// Returns true if its head or its branches have commits that nothing else keeps, and whose changes are in no base
/// either.
async fn unpushed(git: &Git, subject: &JudgedTree, own: &[String]) -> Result<bool, GitError> {
    let tips = tips(git, &subject.own, own).await?;
    let keeps_branches = matches!(subject.own, OwnBranches::Branch(_));
    if !beyond(git, &tips, own, keeps_branches, &subject.elsewhere).await? {
        return Ok(false);
    }
    let reading = reading(git, &subject.elsewhere);
    let objects = match &subject.elsewhere.objects {
        Some(source) => std::env::join_paths([&subject.objects, source]).unwrap_or_default().into(),
        None => subject.objects.clone(),
    };
    for tip in &tips {
        if !beyond(git, std::slice::from_ref(tip), own, keeps_branches, &subject.elsewhere).await? {
            continue;
        }
        let mut merged = false;
        for base in &subject.bases {
            merged = merged || merged::by_content(&reading, &objects, base, tip).await?;
        }
        if !merged {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn tips(git: &Git, own: &OwnBranches, branches: &[String]) -> Result<Vec<String>, GitError> {
    let mut tips = vec!["HEAD".to_owned()];
    if let OwnBranches::All = own {
        let output = git.read(&["for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags"]).await?;
        tips.extend(output.lines().map(str::to_owned));
        return Ok(tips);
    }
    for branch in branches {
        let name = format!("refs/heads/{branch}");
        if git.commit(&name).await?.is_some() {
            tips.push(name);
        }
    }
    Ok(tips)
}

/// Returns true if the tips reach a commit that is kept by no remote branch, no fetched pull request, nothing
/// elsewhere, and no other branch, if those stay.
pub(crate) async fn beyond(
    git: &Git,
    tips: &[String],
    left_out: &[String],
    keeps_branches: bool,
    elsewhere: &KeptElsewhere,
) -> Result<bool, GitError> {
    let how = vec!["rev-list".into(), "--max-count=1".into()];
    Ok(!kept_nowhere(git, how, tips, left_out, keeps_branches, elsewhere).await?.is_empty())
}

/// Runs `how` on the commits that the tips reach and nothing else keeps.
async fn kept_nowhere(
    git: &Git,
    how: Vec<String>,
    tips: &[String],
    left_out: &[String],
    keeps_branches: bool,
    elsewhere: &KeptElsewhere,
) -> Result<String, GitError> {
    let mut args = how;
    args.extend(tips.iter().cloned());
    args.push("--not".into());
    if keeps_branches {
        args.extend(left_out.iter().map(|branch| format!("--exclude={branch}")));
        args.push("--branches".into());
    }
    args.extend(["--remotes".into(), "--glob=refs/ao/pull/*".into()]);
    if elsewhere.commits.is_empty() {
        return git.read(&args).await;
    }
    args.extend(["--not".into(), "--stdin".into()]);
    let kept: String = elsewhere.commits.iter().map(|commit| format!("^{commit}\n")).collect();
    reading(git, elsewhere).read_with(&args, &kept).await
}

/// Returns git with access to the objects of elsewhere.
fn reading(git: &Git, elsewhere: &KeptElsewhere) -> Git {
    match &elsewhere.objects {
        Some(objects) => git.with("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects),
        None => git.clone(),
    }
}

/// Returns the folder of a repository's objects.
pub(crate) fn objects_of(common_dir: &Path) -> PathBuf {
    common_dir.join("objects")
}
