//! Threads follow their lines as commits arrive.
//!
//! A thread is always carried from the commit it was begun on, never from where it was last: a line that was changed and
//! changed back is found again.

use std::collections::{BTreeMap, HashMap};

use ao_core::Commit;
use ao_git::GitError;
use ao_ports::Side;
use tracing::warn;

use super::book::Entry;
use super::lines::{self, Hunk};
use super::record::{Begun, Place};
use super::repository::Repository;

impl Repository {
    /// Brings the threads of a pull request to its present head.
    pub(super) async fn carry_threads(&self, entry: &mut Entry) {
        let (head, fork) = (entry.pull.head.clone(), entry.pull.fork.clone());
        let mut carried = Carried { repository: self, changes: HashMap::new(), hunks: HashMap::new() };
        for thread in entry.threads.values_mut() {
            let Some(begun) = &thread.begun else { continue };
            let to = match begun.side {
                Side::New => Some(&head),
                Side::Old => fork.as_ref(),
            };
            let Some(to) = to else { continue };
            match carried.place(begun, to).await {
                Ok(now) => thread.now = now,
                Err(err) => warn!(%err, "a thread could not follow its lines"),
            }
        }
    }
}

/// What was asked of git already, for threads on the same commits and files.
struct Carried<'a> {
    repository: &'a Repository,
    changes: HashMap<(Commit, Commit), BTreeMap<String, Became>>,
    /// Absent where there are too many.
    hunks: HashMap<(Commit, Commit, String), Option<Vec<Hunk>>>,
}

/// What became of a file that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Became {
    /// Its content is another one, and perhaps its path.
    Changed(String),
    Gone,
}

impl Carried<'_> {
    async fn place(&mut self, begun: &Begun, to: &Commit) -> Result<Option<Place>, GitError> {
        let same = || Some(Place { path: begun.path.clone(), line: begun.line });
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
            Some(Became::Gone) => return Ok(None),
            Some(Became::Changed(path)) => path.clone(),
        };
        let Some(line) = begun.line else { return Ok(Some(Place { path, line: None })) };
        let key = (between.0, between.1, begun.path.clone());
        if !self.hunks.contains_key(&key) {
            let hunks = hunks(self.repository, begun, to, &path).await?;
            self.hunks.insert(key.clone(), hunks);
        }
        let followed = self.hunks[&key].as_ref().and_then(|hunks| lines::follow(line, hunks));
        Ok(followed.map(|line| Place { path, line: Some(line) }))
    }
}

/// The files that differ between two commits, by their old paths.
async fn changes(
    repository: &Repository,
    between: &(Commit, Commit),
) -> Result<BTreeMap<String, Became>, GitError> {
    let args = ["diff-tree", "-r", "-z", "-M", "--name-status", between.0.as_str(), between.1.as_str()];
    Ok(parse(&repository.git.read(&args).await?))
}

fn parse(told: &str) -> BTreeMap<String, Became> {
    let mut fields = told.split('\0');
    let mut changes = BTreeMap::new();
    while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
        let became = match status.as_bytes().first() {
            Some(b'M') => Became::Changed(path.to_owned()),
            Some(b'R') => Became::Changed(fields.next().unwrap_or(path).to_owned()),
            Some(b'C') => {
                fields.next();
                continue;
            }
            Some(b'A') => continue,
            _ => Became::Gone,
        };
        changes.insert(path.to_owned(), became);
    }
    changes
}

/// How much of the difference between two versions of a file is read. In a larger one no line is followed.
const LARGEST: usize = 8 * 1024 * 1024;

async fn hunks(
    repository: &Repository,
    begun: &Begun,
    to: &Commit,
    path: &str,
) -> Result<Option<Vec<Hunk>>, GitError> {
    let (old, new) = (format!("{}:{}", begun.commit, begun.path), format!("{to}:{path}"));
    let args =
        ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "-U0", "--inter-hunk-context=0", "--text"];
    let told = repository.git.read_bytes(&[&args[..], &[&old, &new, "--"]].concat(), LARGEST + 1).await?;
    Ok((told.len() <= LARGEST).then(|| lines::hunks(&String::from_utf8_lossy(&told))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_became_of_files_is_read() {
        let changes = parse("M\0a\0R087\0old name\0new/name\0A\0new\0D\0gone\0T\0link\0C100\0x\0y\0");
        let told: Vec<(&str, Became)> =
            changes.iter().map(|(path, what)| (path.as_str(), what.clone())).collect();
        let changed = |path: &str| Became::Changed(path.to_owned());
        assert_eq!(
            told,
            [
                ("a", changed("a")),
                ("gone", Became::Gone),
                ("link", Became::Gone),
                ("old name", changed("new/name")),
            ]
        );
    }
}
