//! Merges without a checkout, by `git merge-tree`.

use ao_core::Commit;
use ao_core::pull::Mergeable;
use ao_git::{Git, GitError};
use tracing::warn;

use super::record::PullRecord;
use super::repository::LocalRepository;

/// The most merges per git process. So many fit into its pipe, so neither side blocks on a full one.
const BATCH: usize = 300;

/// Two commits to be merged.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct CommitPair {
    pub(super) base: Commit,
    pub(super) head: Commit,
    /// The fork point, unless git can find it: a squash into the base is known to us only.
    pub(super) fork: Option<Commit>,
}

/// The outcome of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TreeMerge {
    Tree(String),
    Conflict(Vec<String>),
}

impl CommitPair {
    pub(super) fn of(pull: &PullRecord) -> CommitPair {
        CommitPair::at(pull, &pull.head, &pull.base)
    }

    /// Returns the pair for the same pull request at other commits.
    pub(super) fn at(pull: &PullRecord, head: &Commit, base: &Commit) -> CommitPair {
        let fork = pull.fork.clone().filter(|_| pull.since.is_some() && *head == pull.head);
        CommitPair { base: base.clone(), head: head.clone(), fork }
    }

    fn line(&self) -> String {
        match &self.fork {
            Some(fork) => format!("{fork} -- {} {}\n", self.base, self.head),
            None => format!("{} {}\n", self.base, self.head),
        }
    }
}

impl TreeMerge {
    pub(super) fn mergeable(self) -> Mergeable {
        match self {
            TreeMerge::Tree(_) => Mergeable::Clean,
            TreeMerge::Conflict(files) => Mergeable::Conflict { files },
        }
    }
}

impl LocalRepository {
    pub(super) async fn merge(&self, pair: &CommitPair) -> Result<TreeMerge, GitError> {
        let merged = self.merge_batch(std::slice::from_ref(pair)).await?;
        merged.into_iter().next().ok_or_else(|| self.git.failure("merge-tree", "it printed nothing"))
    }

    /// Merges many pairs in as few processes as possible. A merge that fails is `None`.
    pub(super) async fn merge_all(&self, pairs: &[CommitPair]) -> Vec<Option<TreeMerge>> {
        let mut all = Vec::with_capacity(pairs.len());
        let same_base = |one: &CommitPair, other: &CommitPair| one.base == other.base;
        for pairs in pairs.chunk_by(same_base).flat_map(|pairs| pairs.chunks(BATCH)) {
            match self.merge_batch(pairs).await {
                Ok(merged) => all.extend(merged.into_iter().map(Some)),
                // One bad pair fails the whole batch, so retry each alone.
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

    /// Merges pairs with the same base, by the attributes of that base: the attributes of a head count once it is
    /// merged. Neither the repository's settings nor `info/attributes` have an effect.
    async fn merge_batch(&self, pairs: &[CommitPair]) -> Result<Vec<TreeMerge>, GitError> {
        let Some(base) = pairs.first().map(|pair| &pair.base) else { return Ok(vec![]) };
        let input: String = pairs.iter().map(CommitPair::line).collect();
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
        let output = match git.read_with(&args, &input).await {
            // Git before 2.40 finds the fork point itself and rejects one that it is given.
            Err(err) if err.stderr().contains("malformed input line") => {
                let mut input = String::new();
                for pair in pairs {
                    input += &forked(&git, pair).await?.line();
                }
                git.read_with(&args, &input).await?
            }
            output => output?,
        };
        let merged = parse(&output);
        if merged.len() == pairs.len() {
            return Ok(merged);
        }
        let why = format!("it output {} of {} merges", merged.len(), pairs.len());
        Err(self.git.failure(args.join(" "), why))
    }
}

/// Makes commits with the same trees, whose fork point git finds.
async fn forked(git: &Git, pair: &CommitPair) -> Result<CommitPair, GitError> {
    let Some(fork) = &pair.fork else { return Ok(pair.clone()) };
    let commit = async |of: &Commit, parent: Option<&Commit>| {
        let tree = format!("{of}^{{tree}}");
        let mut args = vec!["-c", "user.name=ao", "-c", "user.email=ao@localhost"];
        args.extend(["commit-tree", "--no-gpg-sign", "-m", "fork", &tree]);
        args.extend(parent.iter().flat_map(|parent| ["-p", parent.as_str()]));
        git.write(&args).await.map(|made| Commit::new(&made))
    };
    let fork = commit(fork, None).await?;
    let (base, head) = (commit(&pair.base, Some(&fork)).await?, commit(&pair.head, Some(&fork)).await?);
    Ok(CommitPair { base, head, fork: None })
}

/// Parses the merges: each is `1` or `0`, its tree, the files in conflict, and an empty field, each ended by a zero
/// byte.
fn parse(output: &str) -> Vec<TreeMerge> {
    let mut fields = output.split('\0');
    let mut all = vec![];
    while let (Some(status @ ("0" | "1")), Some(tree)) = (fields.next(), fields.next()) {
        let mut files: Vec<String> =
            fields.by_ref().take_while(|file| !file.is_empty()).map(str::to_owned).collect();
        files.sort();
        files.dedup();
        all.push(match status {
            "1" => TreeMerge::Tree(tree.to_owned()),
            _ => TreeMerge::Conflict(files),
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Git before 2.40 takes no fork point, so it has to find ours.
    #[tokio::test]
    async fn a_fork_point_is_found_in_commits_that_were_made_for_it() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::plain(dir.path());
        git.write(&["init", "--quiet"]).await.unwrap();
        let mut commits = vec![];
        for text in ["fork", "base", "head"] {
            let blob = git.write_with(&["hash-object", "-w", "--stdin"], Some(text)).await.unwrap();
            let line = format!("100644 blob {blob}\tf\n");
            let tree = git.write_with(&["mktree"], Some(&line)).await.unwrap();
            let who = ["-c", "user.name=ann", "-c", "user.email=ann@example.org"];
            let args = [&who[..], &["commit-tree", "-m", text, &tree]].concat();
            commits.push(Commit::new(&git.write(&args).await.unwrap()));
        }
        let [fork, base, head] = &commits[..] else { unreachable!() };
        let pair = CommitPair { base: base.clone(), head: head.clone(), fork: Some(fork.clone()) };
        let made = forked(&git, &pair).await.unwrap();
        let found = git.read(&["merge-base", made.base.as_str(), made.head.as_str()]).await.unwrap();
        for (made, wanted) in [(&Commit::new(found.trim()), fork), (&made.base, base), (&made.head, head)] {
            git.read(&["diff-tree", "--quiet", made.as_str(), wanted.as_str()]).await.unwrap();
        }
    }

    #[test]
    fn several_merges_are_parsed_from_one_output() {
        let output = "0\0aaa\0f\0dir/g h\0\x001\0bbb\0\x001\0ccc\0\0";
        let conflict = TreeMerge::Conflict(vec!["dir/g h".into(), "f".into()]);
        assert_eq!(parse(output), [conflict, TreeMerge::Tree("bbb".into()), TreeMerge::Tree("ccc".into())]);
        assert_eq!(parse(""), []);
    }
}
