//! Moves threads along with their lines as commits arrive.
//!
//! The position of a thread is always computed from the commit it was started on, never from its last position: a
//! line that was changed and changed back is found again.

use std::collections::{BTreeMap, HashMap};

use ao_core::Commit;
use ao_git::GitError;
use ao_ports::DiffSide;
use tracing::warn;

use super::line_mapping::{self, LineHunk};
use super::pull_records::PullEntry;
use super::record::{ThreadAnchor, ThreadPosition};
use super::repository::LocalRepository;

impl LocalRepository {
    /// Moves the threads of a pull request to its current head.
    pub(super) async fn carry_threads(&self, entry: &mut PullEntry) {
        let (head, fork) = (entry.pull.head.clone(), entry.pull.fork.clone());
        let mut carried = ThreadMover { repository: self, changes: HashMap::new(), hunks: HashMap::new() };
        for thread in entry.threads.values_mut() {
            let Some(begun) = &thread.begun else { continue };
            let to = match begun.side {
                DiffSide::New => Some(&head),
                DiffSide::Old => fork.as_ref(),
            };
            let Some(to) = to else { continue };
            match carried.place(begun, to).await {
                Ok(now) => thread.now = now,
                Err(err) => warn!(%err, "a thread could not follow its lines"),
            }
        }
    }
}

/// Results of git so far, for threads on the same commits and files.
struct ThreadMover<'a> {
    repository: &'a LocalRepository,
    changes: HashMap<(Commit, Commit), BTreeMap<String, FileFate>>,
    /// Absent where there are too many.
    hunks: HashMap<(Commit, Commit, String), Option<Vec<LineHunk>>>,
}

/// The fate of a file that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
enum FileFate {
    /// Its content has changed, and perhaps its path.
    Changed(String),
    Gone,
}

impl ThreadMover<'_> {
    async fn place(&mut self, begun: &ThreadAnchor, to: &Commit) -> Result<Option<ThreadPosition>, GitError> {
        let same = || Some(ThreadPosition { path: begun.path.clone(), line: begun.line });
        if begun.commit == *to {
            return Ok(same());
        }
        let between = (begun.commit.clone(), to.clone());
        if !self.changes.contains_key(&between) {
            let changes = changes(self.repository, &between).await?;
            self.changes.insert(between.clone(), changes);
        }
        let path = match self.changes[&between].get(&begun.path) {
            None => return Ok(same()),
            Some(FileFate::Gone) => return Ok(None),
            Some(FileFate::Changed(path)) => path.clone(),
        };
        let Some(line) = begun.line else { return Ok(Some(ThreadPosition { path, line: None })) };
        let key = (between.0, between.1, begun.path.clone());
        if !self.hunks.contains_key(&key) {
            let hunks = hunks(self.repository, begun, to, &path).await?;
            self.hunks.insert(key.clone(), hunks);
        }
        let followed = self.hunks[&key].as_ref().and_then(|hunks| line_mapping::follow(line, hunks));
        Ok(followed.map(|line| ThreadPosition { path, line: Some(line) }))
    }
}

/// Returns the files that differ between two commits, by their old paths.
async fn changes(
    repository: &LocalRepository,
    between: &(Commit, Commit),
) -> Result<BTreeMap<String, FileFate>, GitError> {
    let args = ["diff-tree", "-r", "-z", "-M", "--name-status", between.0.as_str(), between.1.as_str()];
    Ok(parse(&repository.git.read(&args).await?))
}

fn parse(output: &str) -> BTreeMap<String, FileFate> {
    let mut fields = output.split('\0');
    let mut changes = BTreeMap::new();
    while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
        let became = match status.as_bytes().first() {
            Some(b'M') => FileFate::Changed(path.to_owned()),
            Some(b'R') => FileFate::Changed(fields.next().unwrap_or(path).to_owned()),
            Some(b'C') => {
                fields.next();
                continue;
            }
            Some(b'A') => continue,
            _ => FileFate::Gone,
        };
        changes.insert(path.to_owned(), became);
    }
    changes
}

/// The most bytes that are read of the difference between two versions of a file. In a larger one no line is
/// followed.
const LARGEST: usize = 8 * 1024 * 1024;

async fn hunks(
    repository: &LocalRepository,
    begun: &ThreadAnchor,
    to: &Commit,
    path: &str,
) -> Result<Option<Vec<LineHunk>>, GitError> {
    let (old, new) = (format!("{}:{}", begun.commit, begun.path), format!("{to}:{path}"));
    let args =
        ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "-U0", "--inter-hunk-context=0", "--text"];
    let output = repository.git.read_bytes(&[&args[..], &[&old, &new, "--"]].concat(), LARGEST + 1).await?;
    Ok((output.len() <= LARGEST).then(|| line_mapping::hunks(&String::from_utf8_lossy(&output))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_and_deleted_files_are_parsed() {
        let changes = parse("M\0a\0R087\0old name\0new/name\0A\0new\0D\0gone\0T\0link\0C100\0x\0y\0");
        let output: Vec<(&str, FileFate)> =
            changes.iter().map(|(path, what)| (path.as_str(), what.clone())).collect();
        let changed = |path: &str| FileFate::Changed(path.to_owned());
        assert_eq!(
            output,
            [
                ("a", changed("a")),
                ("gone", FileFate::Gone),
                ("link", FileFate::Gone),
                ("old name", changed("new/name")),
            ]
        );
    }
}
