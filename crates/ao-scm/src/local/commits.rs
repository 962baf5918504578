//! The commit that lands: a squash, a merge, or the same commits rebased onto the base. Made without a checkout.

use ao_core::{Commit, PullId};
use ao_git::{Git, GitError};
use ao_ports::LandingStrategy;

use super::merge_tree::{CommitPair, TreeMerge};
use super::record::PullRecord;
use super::repository::LocalRepository;

/// Committer where git has no name configured.
const NAME: &str = "ao";
const ADDRESS: &str = "ao@orchestrator.local";

/// A commit of a pull request.
#[derive(Debug, Clone)]
struct OwnCommit {
    commit: Commit,
    parents: Vec<Commit>,
    name: String,
    address: String,
    date: String,
    message: String,
}

/// An author, with a date if it is to be kept.
#[derive(Debug, Clone, Copy)]
struct CommitAuthor<'a> {
    name: &'a str,
    address: &'a str,
    date: Option<&'a str>,
}

impl OwnCommit {
    fn author(&self) -> CommitAuthor<'_> {
        CommitAuthor { name: &self.name, address: &self.address, date: Some(&self.date) }
    }
}

impl LocalRepository {
    /// Makes the commit that lands, with exactly this tree, or returns why that is impossible.
    pub(super) async fn make(
        &self,
        id: &PullId,
        pull: &PullRecord,
        tree: &str,
        strategy: LandingStrategy,
    ) -> Result<Result<Commit, String>, GitError> {
        let own = self.own_commits(pull).await?;
        let Some(first) = own.first() else {
            return Ok(Err(format!(
                "`{}` has nothing that `{}` has not",
                pull.head_branch, pull.base_branch
            )));
        };
        match strategy {
            LandingStrategy::Squash => {
                let message = squashed(id, pull, &own);
                let author = CommitAuthor { date: None, ..first.author() };
                self.commit_tree(tree, &[&pull.base], &message, Some(author)).await.map(Ok)
            }
            LandingStrategy::Merge => {
                let message = format!("Merge {id}: {}\n\n{}", pull.title, pull.body);
                self.commit_tree(tree, &[&pull.base, &pull.head], message.trim_end(), None).await.map(Ok)
            }
            LandingStrategy::Rebase => self.rebased(pull, &own, tree).await,
        }
    }

    async fn rebased(
        &self,
        pull: &PullRecord,
        own: &[OwnCommit],
        tree: &str,
    ) -> Result<Result<Commit, String>, GitError> {
        let linear = own.iter().all(|own| own.parents.len() == 1);
        if linear && pull.fork.as_ref() == Some(&pull.base) {
            return Ok(Ok(pull.head.clone()));
        }
        let mut tip = pull.base.clone();
        let mut tip_tree = self.git.read(&["rev-parse", "--verify", &format!("{tip}^{{tree}}")]).await?;
        for own in own.iter().filter(|own| own.parents.len() < 2) {
            let pair = CommitPair {
                base: tip.clone(),
                head: own.commit.clone(),
                fork: own.parents.first().cloned(),
            };
            let next = match self.merge(&pair).await? {
                TreeMerge::Tree(next) => next,
                TreeMerge::Conflict(files) => {
                    let title = own.message.lines().next().unwrap_or_default();
                    return Ok(Err(format!(
                        "the commit `{title}` cannot be put onto `{}` by itself, because of {}; squash or merge instead",
                        pull.base_branch,
                        files.join(", ")
                    )));
                }
            };
            // The base has it already.
            if next == tip_tree {
                continue;
            }
            tip = self.commit_tree(&next, &[&tip], &own.message, Some(own.author())).await?;
            tip_tree = next;
        }
        Ok(match tip_tree == tree {
            true => Ok(tip),
            false => Err(
                "its commits, one after another, give other files than were tested; squash or merge instead"
                    .to_owned(),
            ),
        })
    }

    /// Returns the commits of the pull request itself, the oldest first.
    async fn own_commits(&self, pull: &PullRecord) -> Result<Vec<OwnCommit>, GitError> {
        let format = "--format=%H%x00%P%x00%an%x00%ae%x00%ad%x00%B";
        let (head, base) = (pull.head.as_str(), format!("^{}", pull.base));
        let fork = pull.fork.as_ref().map(|fork| format!("^{fork}"));
        let mut args = vec![
            "log",
            "-z",
            "--reverse",
            "--topo-order",
            "--date=raw",
            "--no-show-signature",
            format,
            head,
            &base,
        ];
        args.extend(fork.as_deref());
        args.push("--");
        let output = self.git.read(&args).await?;
        Ok(output.split('\0').collect::<Vec<_>>().chunks(6).filter_map(own).collect())
    }

    /// Commits as the user that git is configured with, or as `ao` if there is none.
    async fn commit_tree(
        &self,
        tree: &str,
        parents: &[&Commit],
        message: &str,
        author: Option<CommitAuthor<'_>>,
    ) -> Result<Commit, GitError> {
        let mut args = vec!["-c", "user.useConfigOnly=true", "commit-tree", "--no-gpg-sign"];
        for parent in parents {
            args.extend(["-p", parent.as_str()]);
        }
        args.extend(["-F", "-", tree]);
        let known = authored(&self.git, author);
        let made = match known.write_with(&args, Some(message)).await {
            Err(_) if !self.knows_who_commits().await => {
                authored(&ours(&self.git), author).write_with(&args, Some(message)).await
            }
            made => made,
        };
        Ok(Commit::new(&made?))
    }

    async fn knows_who_commits(&self) -> bool {
        self.git.read(&["-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT"]).await.is_ok()
    }
}

fn own(fields: &[&str]) -> Option<OwnCommit> {
    let [commit, parents, name, address, date, message] = fields else { return None };
    Some(OwnCommit {
        commit: Commit::new(commit.trim()),
        parents: parents.split(' ').filter(|parent| !parent.is_empty()).map(Commit::new).collect(),
        name: (*name).to_owned(),
        address: (*address).to_owned(),
        date: (*date).to_owned(),
        message: (*message).to_owned(),
    })
}

/// Returns the title with the id, the body, and the co-authors.
fn squashed(id: &PullId, pull: &PullRecord, own: &[OwnCommit]) -> String {
    let mut message = format!("{} ({id})\n", pull.title);
    if !pull.body.trim().is_empty() {
        message += &format!("\n{}\n", pull.body.trim());
    }
    let mut known = vec![own.first().map(|own| own.address.to_lowercase()).unwrap_or_default()];
    let mut others = String::new();
    for own in own {
        let address = own.address.to_lowercase();
        if !known.contains(&address) {
            others +=
                &format!("Co-authored-by: {} <{}>\n", plain(&own.name, NAME), plain(&own.address, ADDRESS));
            known.push(address);
        }
    }
    if !others.is_empty() {
        message += &format!("\n{others}");
    }
    message
}

/// Returns git with `ao` as author and committer.
fn ours(git: &Git) -> Git {
    ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"]
        .into_iter()
        .fold(git.clone(), |git, name| git.with(name, NAME))
        .with("GIT_AUTHOR_EMAIL", ADDRESS)
        .with("GIT_COMMITTER_EMAIL", ADDRESS)
}

fn authored(git: &Git, author: Option<CommitAuthor<'_>>) -> Git {
    let Some(CommitAuthor { name, address, date }) = author else { return git.clone() };
    let git =
        git.with("GIT_AUTHOR_NAME", plain(name, NAME)).with("GIT_AUTHOR_EMAIL", plain(address, ADDRESS));
    match date {
        Some(date) => git.with("GIT_AUTHOR_DATE", format!("@{date}")),
        None => git,
    }
}

/// Returns a name that git accepts: it refuses names without a letter or digit.
fn plain(name: &str, otherwise: &str) -> String {
    let kept: String = name.chars().filter(|c| !c.is_control() && !"<>".contains(*c)).collect();
    match kept.chars().any(char::is_alphanumeric) {
        true => kept,
        false => otherwise.to_owned(),
    }
}
