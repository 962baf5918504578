//! Which branches will not merge with each other, found out before anybody tries.
//!
//! ```text
//!  tips ─► ancestry: where each pair parted ─► changes: what each has done since ─► only pairs that can clash
//!                                                                                      │
//!  clashes, file by file with lines ◄─ hunks ◄─ conflicts ◄─ one `git merge-tree --stdin` ◄─┘
//! ```
//!
//! Git itself merges, so what is told is what a merge would say. What is spared are merges that cannot fail ([`changes`]
//! says why), and those whose two sides are what they were the last time. Nothing is written into the repository: what
//! merging makes goes to a [`Scratch`].

mod ancestry;
mod changes;
mod hunks;
mod merges;
mod scratch;

use std::collections::{BTreeMap, HashMap};

use crate::{Git, GitError};

use changes::Changes;
use merges::Merged;

pub use hunks::{Excerpt, Hunk, Lines};
pub use scratch::{Scratch, ScratchError};

/// How many branches are compared; those that come later are left out.
pub const MOST_BRANCHES: usize = 400;
/// So many changed paths of a branch are named.
const NAMED_CHANGES: usize = 1000;

/// A line of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// What the caller knows it by.
    pub name: String,
    /// A commit's whole id.
    pub tip: String,
    /// Whose it is. Branches of one owner are not compared: a change does not clash with its own earlier state.
    pub owner: String,
}

/// What was found out about all branches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outlook {
    /// By the names of both sides; the lesser name is `a`.
    pub clashes: Vec<Clash>,
    /// The paths that each branch has changed since it left the target, by its name.
    pub changed: BTreeMap<String, Vec<String>>,
    /// Branches that could not be compared, and why.
    pub left_out: Vec<(String, String)>,
    /// Pairs that there are.
    pub pairs: usize,
    /// Pairs that had to be merged this time.
    pub merged: usize,
}

/// Two branches that do not merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clash {
    pub a: String,
    pub b: String,
    pub files: Vec<ClashFile>,
}

/// A file that they do not agree on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClashFile {
    pub path: String,
    /// Git's word for it, such as `contents` or `modify/delete`.
    pub kind: String,
    /// Where, if it is about lines.
    pub hunks: Vec<Hunk>,
}

/// The forecast of one repository, which remembers what it has found out.
#[derive(Debug, Default)]
pub struct Forecast {
    /// By the two tips. A commit never changes, so neither does what its merge gives.
    merges: HashMap<(String, String), Vec<ClashFile>>,
    /// By base and tip.
    changes: HashMap<(String, String), Changes>,
}

impl Forecast {
    /// Compares all branches that go to `target` with each other. `git` is that of the repository, or of its scratch.
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
        let questions: Vec<merges::Question> = open
            .iter()
            .map(|(a, b)| merges::Question {
                base: ancestry.base(*a, *b).map(str::to_owned),
                a: known[*a].tip.clone(),
                b: known[*b].tip.clone(),
            })
            .collect();
        let answers = merges::all(git, target, &questions).await;
        let conflicts: Vec<(&merges::Question, &Merged)> = questions
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
                let clash =
                    Clash { a: known[*a].name.clone(), b: known[*b].name.clone(), files: files.clone() };
                (!files.is_empty()).then_some(clash)
            })
            .collect();
        for (at, branch) in known.iter().enumerate() {
            let changes = ancestry.since_target(at).map(|base| (base.to_owned(), branch.tip.clone()));
            if let Some(changes) = changes.and_then(|key| self.changes.get(&key)) {
                outlook.changed.insert(branch.name.clone(), changes.named(NAMED_CHANGES));
            }
        }
        // What is asked about next is most likely the same again; what is not asked about now is over.
        self.merges = merges;
        Ok(outlook)
    }

    /// What two commits do not agree on, in words: each place with both versions and what was there before.
    pub async fn explain(&self, git: &Git, a: &str, b: &str) -> Result<Vec<Excerpt>, GitError> {
        let question = merges::Question { base: None, a: a.to_owned(), b: b.to_owned() };
        let answer = merges::all(git, a, std::slice::from_ref(&question)).await.pop();
        let failed = |why: String| GitError::Failed {
            command: format!("merge-tree {a} {b}"),
            dir: git.dir().to_owned(),
            stderr: why,
        };
        let merged = answer.unwrap_or_else(|| Err("it said nothing".into())).map_err(failed)?;
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

    /// Whether two branches have to be merged to know that they clash. If it is not known where they parted, or they parted
    /// more than once, they have.
    fn can_clash(&self, known: &[&Branch], ancestry: &ancestry::Ancestry, (a, b): (usize, usize)) -> bool {
        let Some(base) = ancestry.base(a, b) else { return true };
        let of = |at: usize| self.changes.get(&(base.to_owned(), known[at].tip.clone()));
        match (of(a), of(b)) {
            (Some(a), Some(b)) => a.can_clash_with(b),
            _ => true,
        }
    }
}
