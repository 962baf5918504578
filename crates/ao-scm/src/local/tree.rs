//! What merging would give, without a checkout.

use ao_core::Commit;
use ao_core::pull::Mergeable;
use ao_git::GitError;
use tracing::warn;

use super::record::PullRecord;
use super::repository::Repository;

/// How many merges one git is asked for. All of them fit into its pipe, so nobody waits for somebody who waits for him.
const BATCH: usize = 300;

/// Two commits to be merged.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Pair {
    pub(super) base: Commit,
    pub(super) head: Commit,
    /// Where they parted, if git is not to find out: what was squashed into the base is known to us only.
    pub(super) fork: Option<Commit>,
}

/// What merging gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Merged {
    Tree(String),
    Conflict(Vec<String>),
}

impl Pair {
    pub(super) fn of(pull: &PullRecord) -> Pair {
        Pair::at(pull, &pull.head, &pull.base)
    }

    /// The same pull request at other commits.
    pub(super) fn at(pull: &PullRecord, head: &Commit, base: &Commit) -> Pair {
        let fork = pull.fork.clone().filter(|_| pull.since.is_some() && *head == pull.head);
        Pair { base: base.clone(), head: head.clone(), fork }
    }

    fn line(&self) -> String {
        match &self.fork {
            Some(fork) => format!("{fork} -- {} {}\n", self.base, self.head),
            None => format!("{} {}\n", self.base, self.head),
        }
    }
}

impl Merged {
    pub(super) fn mergeable(self) -> Mergeable {
        match self {
            Merged::Tree(_) => Mergeable::Clean,
            Merged::Conflict(files) => Mergeable::Conflict { files },
        }
    }
}

impl Repository {
    pub(super) async fn merge(&self, pair: &Pair) -> Result<Merged, GitError> {
        let merged = self.merge_batch(std::slice::from_ref(pair)).await?;
        merged.into_iter().next().ok_or_else(|| GitError::Failed {
            command: "merge-tree".to_owned(),
            dir: self.git.dir().to_owned(),
            stderr: "it said nothing".to_owned(),
        })
    }

    /// Many merges in as few processes as can be. What cannot be told is `None`.
    pub(super) async fn merge_all(&self, pairs: &[Pair]) -> Vec<Option<Merged>> {
        let mut all = Vec::with_capacity(pairs.len());
        let same_base = |one: &Pair, other: &Pair| one.base == other.base;
        for pairs in pairs.chunk_by(same_base).flat_map(|pairs| pairs.chunks(BATCH)) {
            match self.merge_batch(pairs).await {
                Ok(merged) => all.extend(merged.into_iter().map(Some)),
                // One of them spoils it for the rest, so each is asked for alone.
                Err(err) if pairs.len() > 1 => {
                    warn!(%err, "merges could not be tried together");
                    for pair in pairs {
                        all.push(self.merge(pair).await.inspect_err(|err| warn!(%err, "no merge")).ok());
                    }
                }
                Err(err) => {
                    warn!(%err, "a merge could not be tried");
                    all.push(None);
                }
            }
        }
        all
    }

    /// Merges pairs with the same base, by the attributes of that: what the head says of how to merge counts once it is
    /// merged. Neither the repository's settings nor `info/attributes` have a part in it.
    async fn merge_batch(&self, pairs: &[Pair]) -> Result<Vec<Merged>, GitError> {
        let Some(base) = pairs.first().map(|pair| &pair.base) else { return Ok(vec![]) };
        let input: String = pairs.iter().map(Pair::line).collect();
        let args = [
            "merge-tree",
            "--write-tree",
            "--stdin",
            "-z",
            "--name-only",
            "--no-messages",
            "--allow-unrelated-histories",
        ];
        let git = self.git.isolated(self.common_dir.as_std_path(), base.as_str()).await?;
        let merged = parse(&git.read_with(&args, &input).await?);
        match merged.len() == pairs.len() {
            true => Ok(merged),
            false => Err(GitError::Failed {
                command: args.join(" "),
                dir: self.git.dir().to_owned(),
                stderr: format!("it told {} of {} merges", merged.len(), pairs.len()),
            }),
        }
    }
}

/// Each merge is `1` or `0`, its tree, the files in conflict, and nothing, each ended by a zero byte.
fn parse(told: &str) -> Vec<Merged> {
    let mut fields = told.split('\0');
    let mut all = vec![];
    while let (Some(status @ ("0" | "1")), Some(tree)) = (fields.next(), fields.next()) {
        let mut files: Vec<String> =
            fields.by_ref().take_while(|file| !file.is_empty()).map(str::to_owned).collect();
        files.sort();
        files.dedup();
        all.push(match status {
            "1" => Merged::Tree(tree.to_owned()),
            _ => Merged::Conflict(files),
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_merges_are_told_one_after_another() {
        let told = "0\0aaa\0f\0dir/g h\0\x001\0bbb\0\x001\0ccc\0\0";
        let conflict = Merged::Conflict(vec!["dir/g h".into(), "f".into()]);
        assert_eq!(parse(told), [conflict, Merged::Tree("bbb".into()), Merged::Tree("ccc".into())]);
        assert_eq!(parse(""), []);
    }
}
