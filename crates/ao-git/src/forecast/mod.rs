//! Predicts which branches conflict with each other, before anyone merges them.
//!
//! ```text
//!  tips ─► ancestry: where each pair parted ─► changes: what each has done since ─► only pairs that can clash
//!                                                                                      │
//!  clashes, file by file with lines ◄─ hunks ◄─ conflicts ◄─ one `git merge-tree --stdin` ◄─┘
//! ```
//!
//! Git itself merges, so a forecast is what a merge would report. Merges that cannot conflict are skipped ([`changes`]
//! explains why), and so are those whose two sides are the same as last time. Nothing is written into the repository:
//! the objects that merging creates go to a [`Scratch`].

mod ancestry;
mod changes;
mod hunks;
mod merges;
mod scratch;

use std::collections::{BTreeMap, HashMap};

use crate::{Git, GitError};

use changes::BranchChanges;
use merges::MergeResult;

pub use hunks::{Excerpt, Hunk, Lines};
pub use scratch::{Scratch, ScratchError};

/// Most branches that are compared; later ones are left out.
pub const MOST_BRANCHES: usize = 400;
/// Most changed paths that are named per branch.
const NAMED_CHANGES: usize = 1000;

/// A branch to compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// The name that the caller uses for it.
    pub name: String,
    /// The full id of a commit.
    pub tip: String,
    /// The owner. Branches of one owner are not compared: a change does not conflict with its own earlier state.
    pub owner: String,
}

/// The forecast for all branches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outlook {
    /// Ordered by the names of both sides; `a` is the lesser name.
    pub clashes: Vec<BranchClash>,
    /// The paths that each branch has changed since it left the target, by its name.
    pub changed: BTreeMap<String, Vec<String>>,
    /// Branches that could not be compared, with the reason.
    pub left_out: Vec<(String, String)>,
    /// The number of pairs.
    pub pairs: usize,
    /// The number of pairs that had to be merged this time.
    pub merged: usize,
}

/// Two branches that conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchClash {
    pub a: String,
    pub b: String,
    pub files: Vec<ClashFile>,
}

/// A file on which they conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClashFile {
    pub path: String,
    /// Git's name for the kind, such as `contents` or `modify/delete`.
    pub kind: String,
    /// The lines, if the conflict is about lines.
    pub hunks: Vec<Hunk>,
}

/// The forecast of one repository, with a cache of earlier results.
#[derive(Debug, Default)]
pub struct Forecast {
    /// By the two tips. A commit never changes, so neither does the result of its merge.
    merges: HashMap<(String, String), Vec<ClashFile>>,
    /// By base and tip.
    changes: HashMap<(String, String), BranchChanges>,
}

impl Forecast {
    /// Compares all branches that target `target` with each other. `git` is that of the repository, or of its scratch.
    pub async fn look(&mut self, git: &Git, target: &str, branches: &[Branch]) -> Result<Outlook, GitError> {
        let mut outlook = Outlook::default();
        let mut known: Vec<&Branch> = branches.iter().take(MOST_BRANCHES).collect();
        outlook.left_out.extend(
            branches
                .iter()
                .skip(MOST_BRANCHES)
                .map(|branch| (branch.name.clone(), format!("only {MOST_BRANCHES} branches are compared"))),
        );
        known.sort_by(|a, b| a.name.cmp(&b.name));
        known.dedup_by(|a, b| a.name == b.name);
        let ancestry = ancestry::of(git, target, &mut known, &mut outlook.left_out).await?;

        let mut wanted: Vec<(String, String)> = known
            .iter()
            .enumerate()
            .filter_map(|(at, branch)| Some((ancestry.since_target(at)?.to_owned(), branch.tip.clone())))
            .collect();
        let pairs: Vec<(usize, usize)> = (0..known.len())
            .flat_map(|a| (a + 1..known.len()).map(move |b| (a, b)))
            .filter(|(a, b)| known[*a].owner != known[*b].owner && known[*a].tip != known[*b].tip)
            .collect();
        for (a, b) in &pairs {
            if let Some(base) = ancestry.base(*a, *b) {
                wanted.push((base.to_owned(), known[*a].tip.clone()));
                wanted.push((base.to_owned(), known[*b].tip.clone()));
            }
        }
        self.learn_changes(git, wanted).await?;

        let key = |(a, b): (usize, usize)| (known[a].tip.clone(), known[b].tip.clone());
        let mut merges = HashMap::new();
        let mut open: Vec<(usize, usize)> = vec![];
        for pair in &pairs {
            match self.merges.get(&key(*pair)) {
                Some(files) => drop(merges.insert(key(*pair), files.clone())),
                None if self.can_clash(&known, &ancestry, *pair) => open.push(*pair),
                None => drop(merges.insert(key(*pair), vec![])),
            }
        }
        let questions: Vec<merges::MergePair> = open
            .iter()
            .map(|(a, b)| merges::MergePair {
                base: ancestry.base(*a, *b).map(str::to_owned),
                a: known[*a].tip.clone(),
                b: known[*b].tip.clone(),
            })
            .collect();
        let answers = merges::all(git, target, &questions).await;
        let conflicts: Vec<(&merges::MergePair, &MergeResult)> = questions
            .iter()
            .zip(&answers)
            .filter_map(|(question, answer)| Some((question, answer.as_ref().ok()?)))
            .collect();
        let files = hunks::located(git, &conflicts).await?;
        for ((question, _), files) in conflicts.iter().zip(files) {
            merges.insert((question.a.clone(), question.b.clone()), files);
        }
        for ((a, b), answer) in open.iter().zip(&answers) {
            if let Err(why) = answer {
                let both = format!("{} with {}", known[*a].name, known[*b].name);
                outlook.left_out.push((both, why.clone()));
            }
        }
        outlook.pairs = pairs.len();
        outlook.merged = open.len();
        outlook.clashes = pairs
            .iter()
            .filter_map(|(a, b)| {
                let files = merges.get(&key((*a, *b)))?;
                let clash = BranchClash {
                    a: known[*a].name.clone(),
                    b: known[*b].name.clone(),
                    files: files.clone(),
                };
                (!files.is_empty()).then_some(clash)
            })
            .collect();
        for (at, branch) in known.iter().enumerate() {
            let changes = ancestry.since_target(at).map(|base| (base.to_owned(), branch.tip.clone()));
            if let Some(changes) = changes.and_then(|key| self.changes.get(&key)) {
                outlook.changed.insert(branch.name.clone(), changes.named(NAMED_CHANGES));
            }
        }
        // The next call is most likely about the same pairs; all others are dropped from the cache.
        self.merges = merges;
        Ok(outlook)
    }

    /// Returns the text of the conflicts between two commits: both versions of each, with the base.
    pub async fn explain(&self, git: &Git, a: &str, b: &str) -> Result<Vec<Excerpt>, GitError> {
        let question = merges::MergePair { base: None, a: a.to_owned(), b: b.to_owned() };
        let answer = merges::all(git, a, std::slice::from_ref(&question)).await.pop();
        let failed = |why: String| git.failure(format!("merge-tree {a} {b}"), why);
        let merged = answer.unwrap_or_else(|| Err("it printed nothing".into())).map_err(failed)?;
        hunks::excerpts(git, &question, &merged).await
    }

    async fn learn_changes(&mut self, git: &Git, mut wanted: Vec<(String, String)>) -> Result<(), GitError> {
        wanted.sort_unstable();
        wanted.dedup();
        let mut before = std::mem::take(&mut self.changes);
        let mut unknown = vec![];
        for key in wanted {
            match before.remove(&key) {
                Some(changes) => drop(self.changes.insert(key, changes)),
                None => unknown.push(key),
            }
        }
        let found = changes::all(git, &unknown).await?;
        self.changes.extend(unknown.into_iter().zip(found));
        Ok(())
    }

    /// Returns true if two branches have to be merged to know whether they conflict. That is also so if they have no
    /// known merge base, or several.
    fn can_clash(&self, known: &[&Branch], ancestry: &ancestry::MergeBases, (a, b): (usize, usize)) -> bool {
        let Some(base) = ancestry.base(a, b) else { return true };
        let of = |at: usize| self.changes.get(&(base.to_owned(), known[at].tip.clone()));
        match (of(a), of(b)) {
            (Some(a), Some(b)) => a.can_clash_with(b),
            _ => true,
        }
    }
}
