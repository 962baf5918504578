//! Detection of renamed branches.
//!
//! Git moves the reflog of a branch when it is renamed, and notes the two names in it. A note alone is not enough: it
//! may belong to an earlier branch of that name. So the log must lead to the branch that has it, and contain the
//! head.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use ao_core::Commit;
use ao_git::GitError;
use camino::Utf8Path;

use super::pull_records::PullEntry;
use super::record::PullRecord;
use super::repository::{BranchRefs, LocalRepository};

/// The most bytes that are read from the end of a reflog.
const LARGEST: u64 = 256 * 1024;

/// Prefix of branches for reviewers, which carry no work of their own.
const REVIEWS: &str = "review/";

/// The state in which renames are searched.
pub(super) struct BranchRenames<'a> {
    pub(super) repository: &'a LocalRepository,
    pub(super) refs: &'a BranchRefs,
    /// The refs as of the last look, if there was one.
    pub(super) before: Option<&'a BranchRefs>,
    /// The refs as of the look before. Git lists branches one by one, so a look in the middle of a rename may have
    /// seen both names.
    pub(super) earlier: Option<&'a BranchRefs>,
    pub(super) default_branch: &'a str,
}

impl BranchRenames<'_> {
    /// Returns the new names of pull requests' branches, by the old ones: each the branch whose reflog proves it, or
    /// else the only new branch on the very same commit.
    pub(super) async fn find<'e>(
        &self,
        open: impl Iterator<Item = &'e PullEntry> + Clone,
    ) -> Result<BTreeMap<String, String>, GitError> {
        let is_gone =
            |pull: &PullRecord| pull.head_repo.is_none() && self.refs.head(&pull.head_branch, None).is_none();
        let pulls = open.map(|entry| &entry.pull);
        let gone: Vec<&PullRecord> = pulls.clone().filter(|pull| is_gone(pull)).collect();
        if gone.is_empty() {
            return Ok(BTreeMap::new());
        }
        // Branches of other pull requests and bases are never the new name.
        let heads =
            pulls.clone().filter(|pull| pull.head_repo.is_none()).map(|pull| pull.head_branch.as_str());
        let taken: BTreeSet<&str> = heads
            .chain(pulls.clone().map(|pull| pull.base_branch.as_str()))
            .chain([self.default_branch])
            .collect();
        let has =
            |refs: Option<&BranchRefs>, name: &str| refs.is_some_and(|refs| refs.heads.contains_key(name));
        let is_new = |name: &str| !(has(self.before, name) && has(self.earlier, name));
        let is_free = |name: &str| !taken.contains(name) && !name.starts_with(REVIEWS) && is_new(name);
        let free: Vec<String> = self.refs.heads.keys().filter(|name| is_free(name)).cloned().collect();
        let logs = self.logs(free.clone()).await;
        let mut names = BTreeMap::new();
        for pull in gone {
            if let Some(name) = self.by_log(pull, &logs).await?.or_else(|| self.by_commit(pull, &free)) {
                names.insert(pull.head_branch.clone(), name);
            }
        }
        Ok(names)
    }

    /// Reads the reflogs that contain a rename, each once.
    async fn logs(&self, free: Vec<String>) -> Vec<(String, Vec<ReflogLine>)> {
        let dir = self.repository.common_dir.join("logs/refs/heads");
        let read = move || {
            let logs = free.into_iter().map(|name| (lines(&end_of(&dir.join(&name))), name));
            logs.filter(|(lines, _)| lines.iter().any(|line| line.renamed.is_some()))
                .map(|(lines, name)| (name, lines))
                .collect()
        };
        // Without them only commits can prove a rename.
        tokio::task::spawn_blocking(read).await.unwrap_or_default()
    }

    async fn by_log(
        &self,
        pull: &PullRecord,
        logs: &[(String, Vec<ReflogLine>)],
    ) -> Result<Option<String>, GitError> {
        for (name, lines) in logs {
            let Some(place) = leads(lines, &pull.head_branch, name) else { continue };
            let knows = |line: &ReflogLine| line.old == pull.head || line.new == pull.head;
            if lines[..=place].iter().any(knows)
                || (self.repository.has(&lines[place].new).await?
                    && self.repository.is_ancestor(&pull.head, &lines[place].new).await?)
            {
                return Ok(Some(name.clone()));
            }
        }
        Ok(None)
    }

    /// Only branches that are new since the last look: an older one exists for another reason.
    fn by_commit(&self, pull: &PullRecord, free: &[String]) -> Option<String> {
        let before = &self.before?.heads;
        let is_it =
            |name: &&String| !before.contains_key(*name) && self.refs.heads.get(*name) == Some(&pull.head);
        let mut same = free.iter().filter(is_it);
        match (same.next(), same.next()) {
            (Some(name), None) => Some(name.clone()),
            _ => None,
        }
    }
}

/// One entry of a reflog.
#[derive(Debug, PartialEq, Eq)]
struct ReflogLine {
    old: Commit,
    new: Commit,
    /// The old and the new name.
    renamed: Option<(String, String)>,
}

/// Returns the last entry in which a branch of one name starts to become the other, in any number of steps: names
/// come and go.
fn leads(lines: &[ReflogLine], from: &str, to: &str) -> Option<usize> {
    let becomes = |name: &str, line: &ReflogLine| {
        line.renamed.as_ref().filter(|(old, _)| old == name).map(|(_, new)| new.clone())
    };
    let end = |place: usize| {
        let first = becomes(from, lines.get(place)?)?;
        Some(lines[place + 1..].iter().fold(first, |name, line| becomes(&name, line).unwrap_or(name)))
    };
    (0..lines.len()).rev().find(|place| end(*place).is_some_and(|end| end == to))
}

/// Parses `old new who <address> time zone\tBranch: renamed refs/heads/a to refs/heads/b`.
fn lines(log: &str) -> Vec<ReflogLine> {
    let line = |text: &str| {
        let (move_, why) = text.split_once('\t').unwrap_or((text, ""));
        let mut words = move_.split(' ');
        let (old, new) = (Commit::new(words.next()?), Commit::new(words.next()?));
        let names = why.strip_prefix("Branch: renamed refs/heads/");
        let renamed = names.and_then(|names| names.split_once(" to refs/heads/"));
        Some(ReflogLine { old, new, renamed: renamed.map(|(old, new)| (old.to_owned(), new.to_owned())) })
    };
    log.lines().filter_map(line).collect()
}

/// Returns the end of a file; empty where git stores reflogs differently.
fn end_of(path: &Utf8Path) -> String {
    let read = || {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LARGEST)))?;
        let mut bytes = vec![];
        file.take(LARGEST).read_to_end(&mut bytes)?;
        Ok::<_, std::io::Error>(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_leads_from_one_name_to_the_branch_that_has_it() {
        let renamed = |old: &str, new: &str| {
            format!(
                "a b Ann <ann@example.invalid> 1 +0000\tBranch: renamed refs/heads/{old} to refs/heads/{new}\n"
            )
        };
        let log = format!("0 a Ann <> 1 +0000\tbranch: Created\n{}{}", renamed("x", "y"), renamed("y", "z"));
        let read = lines(&log);
        assert_eq!((read.len(), &read[0].renamed), (3, &None));
        assert_eq!(leads(&read, "x", "z"), Some(1));
        assert_eq!(leads(&read, "y", "z"), Some(2));
        assert_eq!(leads(&read, "x", "copy"), None, "a copy has the log too");
        assert_eq!(leads(&read, "w", "z"), None);
        let log = renamed("x", "y") + &renamed("y", "x") + &renamed("x", "y");
        assert_eq!(leads(&lines(&log), "x", "y"), Some(2), "there and back again");
    }
}
