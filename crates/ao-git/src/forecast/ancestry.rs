//! Finds the merge bases of all pairs of branches in one walk over the commits that they do not all share.
//!
//! Each commit gets the set of branches that contain it. The merge bases of two branches are then the commits that both
//! contain and that have no child which both contain: if a later commit were in both, so would be the child on the way
//! to it.

use std::collections::HashMap;

use super::Branch;
use crate::{Git, GitError};

/// The merge base of each pair of branches, which are identified by their index in the list.
#[derive(Debug, Default)]
pub(super) struct MergeBases {
    /// The number of branches; the target has this index.
    count: usize,
    bases: HashMap<(usize, usize), MergeBase>,
    floor: String,
}

#[derive(Debug)]
enum MergeBase {
    One(String),
    /// The branches have merged each other, and git makes one base out of several.
    Many,
}

impl MergeBases {
    /// Returns the merge base of two branches, `None` if there are several.
    pub(super) fn base(&self, a: usize, b: usize) -> Option<&str> {
        match self.bases.get(&(a.min(b), a.max(b))) {
            Some(MergeBase::One(commit)) => Some(commit),
            Some(MergeBase::Many) => None,
            // The pair is not in the walk, which ends at the commit that all share.
            None => Some(&self.floor),
        }
    }

    /// Returns the commit at which a branch left the target.
    pub(super) fn since_target(&self, at: usize) -> Option<&str> {
        self.base(at, self.count)
    }
}

/// Finds the merge bases. Branches without a common ancestor with the target are removed from the list.
pub(super) async fn of(
    git: &Git,
    target: &str,
    branches: &mut Vec<&Branch>,
    left_out: &mut Vec<(String, String)>,
) -> Result<MergeBases, GitError> {
    if branches.is_empty() {
        return Ok(MergeBases::default());
    }
    let floor = match floor(git, target, branches).await {
        Ok(Some(floor)) => floor,
        // A branch has no history in common with the others, or its commit is missing here.
        Ok(None) | Err(_) => {
            let mut related = vec![];
            for branch in branches.drain(..) {
                match git.answer(&["merge-base", target, &branch.tip]).await {
                    Ok(Some(_)) => related.push(branch),
                    Ok(None) => left_out.push((branch.name.clone(), "it has no history in common".into())),
                    Err(err) => left_out.push((branch.name.clone(), err.stderr().to_owned())),
                }
            }
            *branches = related;
            match floor(git, target, branches).await? {
                Some(floor) => floor,
                None => return Ok(MergeBases::default()),
            }
        }
    };
    let mut tips: Vec<&str> = branches.iter().map(|branch| branch.tip.as_str()).collect();
    tips.push(target);
    let input: String =
        tips.iter().map(|tip| format!("{tip}\n")).collect::<String>() + &format!("^{floor}^@\n");
    let args = ["rev-list", "--topo-order", "--parents", "--stdin"];
    let walk = git.read_with(&args, &input).await?;
    Ok(parted(&walk, &tips, floor))
}

/// Returns a commit that all branches contain.
async fn floor(git: &Git, target: &str, branches: &[&Branch]) -> Result<Option<String>, GitError> {
    let mut args = vec!["merge-base", "--octopus", target];
    args.extend(branches.iter().map(|branch| branch.tip.as_str()));
    git.answer(&args).await
}

/// A set of branches, as a bit set.
type BranchSet = Box<[u64]>;

fn parted(walk: &str, tips: &[&str], floor: String) -> MergeBases {
    let words = tips.len().div_ceil(64);
    let mut who: HashMap<&str, BranchSet> = HashMap::new();
    // The distinct sets of the children.
    let mut children: HashMap<&str, Vec<BranchSet>> = HashMap::new();
    for (at, tip) in tips.iter().enumerate() {
        who.entry(tip).or_insert_with(|| vec![0; words].into())[at / 64] |= 1 << (at % 64);
    }
    let mut bases: HashMap<(usize, usize), MergeBase> = HashMap::new();
    // Children come before their parents.
    for line in walk.lines() {
        let mut ids = line.split(' ');
        let Some(commit) = ids.next() else { continue };
        let Some(mine) = who.remove(commit) else { continue };
        let below = children.remove(commit).unwrap_or_default();
        if !below.contains(&mine) {
            let members: Vec<usize> = (0..tips.len()).filter(|at| has(&mine, *at)).collect();
            for (nth, a) in members.iter().enumerate() {
                for b in &members[nth + 1..] {
                    if !below.iter().any(|child| has(child, *a) && has(child, *b)) {
                        let one = MergeBase::One(commit.to_owned());
                        bases.entry((*a, *b)).and_modify(|base| *base = MergeBase::Many).or_insert(one);
                    }
                }
            }
        }
        for parent in ids {
            let theirs = who.entry(parent).or_insert_with(|| vec![0; words].into());
            theirs.iter_mut().zip(&mine).for_each(|(theirs, mine)| *theirs |= mine);
            let known = children.entry(parent).or_default();
            if !known.contains(&mine) {
                known.push(mine.clone());
            }
        }
    }
    MergeBases { count: tips.len() - 1, bases, floor }
}

fn has(who: &BranchSet, at: usize) -> bool {
    who[at / 64] & (1 << (at % 64)) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A commit graph, each line a commit with its parents, the latest first.
    const WALK: &str = "a2 a1\na1 m1\nb1 m1\nm2 m1\nm1 m0\nc1 m0\nm0";

    #[test]
    fn two_branches_parted_at_the_last_commit_that_both_have() {
        let found = parted(WALK, &["a2", "b1", "c1", "m2"], "m0".into());
        assert_eq!(found.base(0, 1), Some("m1"));
        assert_eq!(found.base(0, 2), Some("m0"));
        assert_eq!(found.since_target(0), Some("m1"));
        assert_eq!(found.since_target(2), Some("m0"));
    }

    #[test]
    fn a_branch_on_top_of_another_parted_at_its_tip() {
        let found = parted(WALK, &["a2", "a1", "m2"], "m1".into());
        assert_eq!(found.base(0, 1), Some("a1"));
        assert_eq!(found.base(1, 0), Some("a1"));
    }

    #[test]
    fn branches_that_merged_each_other_have_no_single_base() {
        let walk = "x2 x1 y1\ny2 y1 x1\nx1 m0\ny1 m0\nm0";
        let found = parted(walk, &["x2", "y2", "m0"], "m0".into());
        assert_eq!(found.base(0, 1), None);
        assert_eq!(found.since_target(0), Some("m0"));
    }
}
