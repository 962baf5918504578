//! The commit that lands: a squash, a merge, or the same commits on top of the base. All of it without a checkout.

use ao_core::pull::PullState;
use ao_core::{Commit, PullId};
use ao_git::{Git, GitError};
use ao_ports::Strategy;

use super::record::PullRecord;
use super::repository::Repository;
use super::tree::{Merged, Pair};

/// Who commits where nobody has told git a name.
const NAME: &str = "ao";
const ADDRESS: &str = "ao@orchestrator.local";

/// A commit of a pull request.
#[derive(Debug, Clone)]
struct Own {
    commit: Commit,
    parents: Vec<Commit>,
    name: String,
    address: String,
    date: String,
    message: String,
}

impl Repository {
    /// Makes what is to land, with exactly this tree. Says why, if that cannot be.
    pub(super) async fn make(
        &self,
        id: &PullId,
        pull: &PullRecord,
        tree: &str,
        strategy: Strategy,
    ) -> Result<Result<Commit, String>, GitError> {
        debug_assert_eq!(pull.state, PullState::Open);
        let own = self.own_commits(pull).await?;
        let Some(first) = own.first() else {
            return Ok(Err(format!(
                "`{}` has nothing that `{}` has not",
                pull.head_branch, pull.base_branch
            )));
        };
        let git = self.committing().await;
        match strategy {
            Strategy::Squash => {
                let message = squashed(id, pull, &own);
                let git = authored(&git, &first.name, &first.address, None);
                commit_tree(&git, tree, &[&pull.base], &message).await.map(Ok)
            }
            Strategy::Merge => {
                let message = format!("Merge {id}: {}\n\n{}", pull.title, pull.body);
                commit_tree(&git, tree, &[&pull.base, &pull.head], message.trim_end()).await.map(Ok)
            }
            Strategy::Rebase => self.rebased(&git, pull, &own, tree).await,
        }
    }

    async fn rebased(
        &self,
        git: &Git,
        pull: &PullRecord,
        own: &[Own],
        tree: &str,
    ) -> Result<Result<Commit, String>, GitError> {
        let linear = own.iter().all(|own| own.parents.len() == 1);
        if linear && pull.fork.as_ref() == Some(&pull.base) {
            return Ok(Ok(pull.head.clone()));
        }
        let mut tip = pull.base.clone();
        let mut tip_tree = self.git.read(&["rev-parse", "--verify", &format!("{tip}^{{tree}}")]).await?;
        for own in own.iter().filter(|own| own.parents.len() < 2) {
            let pair =
                Pair { base: tip.clone(), head: own.commit.clone(), fork: own.parents.first().cloned() };
            let next = match self.merge(&pair).await? {
                Merged::Tree(next) => next,
                Merged::Conflict(files) => {
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
            let git = authored(git, &own.name, &own.address, Some(&format!("@{}", own.date)));
            tip = commit_tree(&git, &next, &[&tip], &own.message).await?;
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

    /// The commits that are its own, the oldest first.
    async fn own_commits(&self, pull: &PullRecord) -> Result<Vec<Own>, GitError> {
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
        let told = self.git.read(&args).await?;
        Ok(told.split('\0').collect::<Vec<_>>().chunks(6).filter_map(own).collect())
    }

    /// Git as it commits: in the name of whoever owns the repository, or in ours if git knows nobody.
    async fn committing(&self) -> Git {
        let known = self.git.read(&["-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT"]).await;
        match known {
            Ok(_) => self.git.clone(),
            Err(_) => ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"]
                .into_iter()
                .fold(self.git.clone(), |git, name| git.with(name, NAME))
                .with("GIT_AUTHOR_EMAIL", ADDRESS)
                .with("GIT_COMMITTER_EMAIL", ADDRESS),
        }
    }
}

fn own(fields: &[&str]) -> Option<Own> {
    let [commit, parents, name, address, date, message] = fields else { return None };
    Some(Own {
        commit: Commit::new(commit.trim()),
        parents: parents.split(' ').filter(|parent| !parent.is_empty()).map(Commit::new).collect(),
        name: (*name).to_owned(),
        address: (*address).to_owned(),
        date: (*date).to_owned(),
        message: (*message).to_owned(),
    })
}

/// Its title with its id, its text, and whoever else has had a part in it.
fn squashed(id: &PullId, pull: &PullRecord, own: &[Own]) -> String {
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

fn authored(git: &Git, name: &str, address: &str, date: Option<&str>) -> Git {
    let git =
        git.with("GIT_AUTHOR_NAME", plain(name, NAME)).with("GIT_AUTHOR_EMAIL", plain(address, ADDRESS));
    match date {
        Some(date) => git.with("GIT_AUTHOR_DATE", date),
        None => git,
    }
}

/// A name that git takes: it refuses those with nothing but marks in them.
fn plain(name: &str, otherwise: &str) -> String {
    let kept: String = name.chars().filter(|c| !c.is_control() && !"<>".contains(*c)).collect();
    match kept.chars().any(char::is_alphanumeric) {
        true => kept,
        false => otherwise.to_owned(),
    }
}

async fn commit_tree(git: &Git, tree: &str, parents: &[&Commit], message: &str) -> Result<Commit, GitError> {
    let mut args = vec!["commit-tree", "--no-gpg-sign"];
    for parent in parents {
        args.extend(["-p", parent.as_str()]);
    }
    args.extend(["-F", "-", tree]);
    Ok(Commit::new(&git.write_with(&args, Some(message)).await?))
}
