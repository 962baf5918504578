//! Maintains a repository that is written to all day: packs its refs and objects before they slow git down.
//!
//! Git does this by itself after a user's commands, but not after ours. Only what is needed is done, and nothing while
//! the user's own git works in the repository.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::{Git, GitError, Queues};

/// Loose refs of ours from which on they are packed. Every command that looks up one of them reads its folder.
const REFS: usize = 200;
/// Loose objects from which on they are packed. Git itself waits for three times as many, but we create them faster.
const OBJECTS: usize = 2000;
/// Git spreads objects evenly over 256 folders, so one of them gives the total.
const SAMPLE: (&str, usize) = ("objects/17", 256);
/// Files that exist while git changes something that concerns the whole repository.
const LOCKS: [&str; 8] = [
    "index.lock",
    "HEAD.lock",
    "packed-refs.lock",
    "config.lock",
    "shallow.lock",
    "gc.pid",
    "gc.pid.lock",
    "objects/maintenance.lock",
];

/// The outcome of maintaining a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Upkeep {
    /// There is little to pack.
    NotNeeded,
    /// The user's own git works there, as this file or process shows; a later call tries again.
    Busy(String),
    /// Refs, objects or both were packed.
    Done { refs: bool, objects: bool },
}

/// Packs the refs and objects of a repository, if there are many loose ones and no other git works in it.
pub async fn upkeep(git: &Git, queues: &Queues) -> Result<Upkeep, GitError> {
    let output = git.read(&["rev-parse", "--path-format=absolute", "--git-common-dir"]).await?;
    let common_dir = PathBuf::from(output);
    let (dir, root) = (common_dir.clone(), git.dir().to_owned());
    let look = tokio::task::spawn_blocking(move || {
        let need = (loose_refs(&dir.join("refs/ao")) >= REFS, loose_objects(&dir) >= OBJECTS);
        let busy = if need == (false, false) { None } else { lock_in(&dir).or_else(|| git_in(&root, &dir)) };
        (need, busy)
    });
    let ((refs, objects), busy) = look.await.unwrap_or_default();
    if let Some(busy) = busy {
        return Ok(Upkeep::Busy(busy));
    }
    if !refs && !objects {
        return Ok(Upkeep::NotNeeded);
    }
    // Keeps our other changes out meanwhile.
    let _turn = queues.turn(&common_dir).await;
    if refs {
        // Only refs of ours, so that no branch is locked that someone commits to. Git before 2.42 can only pack all.
        let ours = git.write(&["pack-refs", "--include", "refs/ao/*"]).await;
        if ours.is_err() {
            git.write(&["pack-refs", "--all"]).await?;
        }
    }
    if objects {
        // Packs all loose objects, reachable or not, together with small packs: each pack stays at least twice as large
        // as the next one, so that there are few, and large ones are left alone.
        git.write(&["repack", "--geometric=2", "-d", "-l", "--quiet"]).await?;
    }
    Ok(Upkeep::Done { refs, objects })
}

/// Counts the files below a folder of refs, up to the limit that matters.
fn loose_refs(folder: &Path) -> usize {
    let mut count = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                _ => count += 1,
            }
            if count >= REFS {
                return count;
            }
        }
    }
    count
}

fn loose_objects(common_dir: &Path) -> usize {
    let (folder, times) = SAMPLE;
    fs::read_dir(common_dir.join(folder)).map_or(0, Iterator::count) * times
}

/// Returns the lock that another process holds on the repository, if any.
fn lock_in(common_dir: &Path) -> Option<String> {
    LOCKS.iter().find(|name| common_dir.join(name).exists()).map(|name| format!("`{name}` exists"))
}

/// Finds a git process of the user in the main checkout, where the system shows processes. Those in linked worktrees
/// belong to agents, and our children are ours.
fn git_in(root: &Path, common_dir: &Path) -> Option<String> {
    let root = root.canonicalize().ok()?;
    let trees = linked_trees(common_dir);
    let ours = std::process::id().to_string();
    let processes = fs::read_dir("/proc").ok()?.flatten();
    processes
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path())))
        .find_map(|(pid, process)| {
            let stat = fs::read_to_string(process.join("stat")).ok()?;
            let (name, rest) = stat.split_once('(')?.1.rsplit_once(") ")?;
            let is_ours = rest.split(' ').nth(1) == Some(ours.as_str());
            if is_ours || !(name == "git" || name.starts_with("git-")) {
                return None;
            }
            let cwd = fs::read_link(process.join("cwd")).ok()?;
            let is_theirs = cwd.starts_with(&root) && !trees.iter().any(|tree| cwd.starts_with(tree));
            is_theirs.then(|| format!("git works in `{}` (pid {pid})", cwd.display()))
        })
}

/// Returns the folders of linked worktrees.
fn linked_trees(common_dir: &Path) -> BTreeSet<PathBuf> {
    let tree = |entry: io::Result<fs::DirEntry>| {
        let dir = entry.ok()?.path();
        let text = fs::read_to_string(dir.join("gitdir")).ok()?;
        dir.join(text.trim_end()).parent()?.canonicalize().ok()
    };
    fs::read_dir(common_dir.join("worktrees")).into_iter().flatten().filter_map(tree).collect()
}
