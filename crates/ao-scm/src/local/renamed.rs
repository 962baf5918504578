//! A branch that is gone may have got another name.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;

use super::book::Entry;
use super::repository::{Refs, Repository};

/// How much of a branch's history of moves is read.
const LARGEST: u64 = 1024 * 1024;

/// The branch that a pull request's branch has become: the one whose own log says so, or the only one without a pull
/// request that stands on the very same commit.
pub(super) fn find(
    repository: &Repository,
    refs: &Refs,
    entry: &Entry,
    taken: &BTreeSet<&str>,
    default_branch: &str,
) -> Option<String> {
    let pull = &entry.pull;
    if pull.head_repo.is_some() {
        return None;
    }
    let free = |name: &str| !taken.contains(name) && name != default_branch && name != pull.base_branch;
    let candidates: Vec<&String> = refs.heads.keys().filter(|name| free(name)).collect();
    let says = format!("renamed refs/heads/{} to refs/heads/", pull.head_branch);
    if let Some(name) = candidates.iter().find(|name| log_of(repository, name).contains(&says)) {
        return Some((*name).clone());
    }
    let mut same = candidates.into_iter().filter(|name| refs.heads.get(*name) == Some(&pull.head));
    match (same.next(), same.next()) {
        (Some(name), None) => Some(name.clone()),
        _ => None,
    }
}

/// Empty where git keeps it otherwise.
fn log_of(repository: &Repository, branch: &str) -> String {
    let path = repository.common_dir.join("logs/refs/heads").join(branch);
    let mut bytes = vec![];
    if let Ok(file) = fs::File::open(path) {
        file.take(LARGEST).read_to_end(&mut bytes).ok();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
