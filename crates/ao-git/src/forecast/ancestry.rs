//! Where each two of many branches parted, from one walk through what they do not all share.
//!
//! Each commit is given the set of branches that have it. The merge bases of two branches are then the commits that both
//! have and of which no child has both: if a later one had, so would the child on the way to it.

use std::collections::HashMap;

use super::Branch;
use crate::{Git, GitError};

/// Where branches parted. They are named by their places in the list.
#[derive(Debug, Default)]
pub(super) struct Ancestry {
    /// The target is the last.
    count: usize,
    bases: HashMap<(usize, usize), Base>,
    floor: String,
}

#[derive(Debug)]
enum Base {
    One(String),
    /// They have merged each other, and git makes one base out of several.
    Many,
}

impl Ancestry {
    /// The one commit where two branches parted; nothing if there are several.
    pub(super) fn base(&self, a: usize, b: usize) -> Option<&str> {
        match self.bases.get(&(a.min(b), a.max(b))) {
            Some(Base::One(commit)) => Some(commit),
            Some(Base::Many) => None,
            // Not in the walk, which ends where all come together.
            None => Some(&self.floor),
        }
    }

    /// Where a branch left the target.
    pub(super) fn since_target(&self, at: usize) -> Option<&str> {
        self.base(at, self.count)
    }
}

/// Finds out where branches parted. Those that have nothing in common with the target are taken out of the list.
pub(super) async fn of(
    git: &Git,
    target: &str,
    branches: &mut Vec<&Branch>,
    left_out: &mut Vec<(String, String)>,
) -> Result<Ancestry, GitError> {
    if branches.is_empty() {
        return Ok(Ancestry::default());
    }
    let floor = match floor(git, target, branches).await {
        Ok(Some(floor)) => floor,
        // Somebody has nothing in common with the others, or a commit that is not here.
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
                None => return Ok(Ancestry::default()),
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

/// A commit that all have.
async fn floor(git: &Git, target: &str, branches: &[&Branch]) -> Result<Option<String>, GitError> {
    let mut args = vec!["merge-base", "--octopus", target];
    args.extend(branches.iter().map(|branch| branch.tip.as_str()));
    git.answer(&args).await
}

/// A set of branches.
type Who = Box<[u64]>;

fn parted(walk: &str, tips: &[&str], floor: String) -> Ancestry {
    let words = tips.len().div_ceil(64);
    let mut who: HashMap<&str, Who> = HashMap::new();
    // Those of the children, as far as they differ.
    let mut children: HashMap<&str, Vec<Who>> = HashMap::new();
    for (at, tip) in tips.iter().enumerate() {
        who.entry(tip).or_insert_with(|| vec![0; words].into())[at / 64] |= 1 << (at % 64);
    }
    let mut bases: HashMap<(usize, usize), Base> = HashMap::new();
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
                        let one = Base::One(commit.to_owned());
                        bases.entry((*a, *b)).and_modify(|base| *base = Base::Many).or_insert(one);
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
    Ancestry { count: tips.len() - 1, bases, floor }
}

fn has(who: &Who, at: usize) -> bool {
    who[at / 64] & (1 << (at % 64)) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture of commits, each with its parents, the latest first.
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
