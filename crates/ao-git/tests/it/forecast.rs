//! Compares the forecast with merging each pair separately.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ao_git::Git;
use ao_git::forecast::{Branch, Forecast, Lines, Outlook, Scratch};
use fastrand::Rng;
use tempfile::TempDir;

use crate::random::repository;
use crate::story::{Files, Story, git};

/// The number of random repositories and of branches in each; all pairs are compared.
const REPOSITORIES: u64 = 12;
const BRANCHES: usize = 9;

fn branches(tips: &[String]) -> Vec<Branch> {
    let branch = |(nth, tip): (usize, &String)| Branch {
        name: format!("b{nth:02}"),
        tip: tip.clone(),
        owner: format!("b{nth:02}"),
    };
    tips.iter().enumerate().map(branch).collect()
}

fn scratch(dir: &Path) -> Scratch {
    Scratch::open(&dir.join("scratch"), &dir.join(".git")).unwrap()
}

fn main_of(dir: &Path) -> String {
    git(dir, &["rev-parse", "main"]).0
}

async fn look(forecast: &mut Forecast, dir: &Path, tips: &[String]) -> Outlook {
    let git = scratch(dir).git(&Git::plain(dir));
    forecast.look(&git, &main_of(dir), &branches(tips)).await.unwrap()
}

/// Returns git's result for each pair: the files in conflict, or that it could not merge them.
fn one_by_one(dir: &Path, tips: &[String]) -> Vec<(String, String, BTreeSet<String>)> {
    let mut all = vec![];
    for (a, one) in tips.iter().enumerate() {
        for (b, other) in tips.iter().enumerate().skip(a + 1) {
            if one == other {
                continue;
            }
            let (output, clean) =
                git(dir, &["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", one, other]);
            if !clean {
                let files = output.split('\0').skip(1).filter(|file| !file.is_empty()).map(str::to_owned);
                all.push((format!("b{a:02}"), format!("b{b:02}"), files.collect()));
            }
        }
    }
    all
}

/// Pruning, caching and batching give the same result as merging one by one.
#[tokio::test]
async fn random_branches_clash_where_single_merges_say_so() {
    let (mut pairs, mut merged, mut clashes) = (0, 0, 0);
    for seed in 0..REPOSITORIES {
        let dir = TempDir::new().unwrap();
        let mut rng = Rng::with_seed(seed);
        let tips = repository(dir.path(), &mut rng, BRANCHES);
        let mut forecast = Forecast::default();
        let outlook = look(&mut forecast, dir.path(), &tips).await;
        assert_eq!(outlook.left_out, [], "seed {seed}");
        let expected = one_by_one(dir.path(), &tips);
        let found: BTreeSet<(&str, &str)> =
            outlook.clashes.iter().map(|clash| (clash.a.as_str(), clash.b.as_str())).collect();
        let wanted: BTreeSet<(&str, &str)> =
            expected.iter().map(|(a, b, _)| (a.as_str(), b.as_str())).collect();
        assert_eq!(found, wanted, "seed {seed}");
        for (clash, (.., files)) in outlook.clashes.iter().zip(&expected) {
            let paths: BTreeSet<String> = clash.files.iter().map(|file| file.path.clone()).collect();
            assert!(paths.is_superset(files), "seed {seed}: {clash:?} lacks some of {files:?}");
        }
        // A second call merges nothing, and gives the same result.
        let again = look(&mut forecast, dir.path(), &tips).await;
        assert_eq!((again.merged, &again.clashes), (0, &outlook.clashes), "seed {seed}");
        // One branch moves: only its pairs are merged.
        let mut moved = tips.clone();
        moved[0] = main_of(dir.path());
        let after = look(&mut forecast, dir.path(), &moved).await;
        assert!(after.merged < BRANCHES, "seed {seed}: {} merges for one branch", after.merged);
        assert_eq!(after.clashes.len(), one_by_one(dir.path(), &moved).len(), "seed {seed}");
        pairs += outlook.pairs;
        merged += outlook.merged;
        clashes += outlook.clashes.len();
    }
    // The random repositories cover all cases: some pairs clash, some merge cleanly, and some need no merge.
    assert!(
        clashes > 25 && merged > clashes && pairs > merged,
        "{pairs} pairs, {merged} merged, {clashes} clash"
    );
}

fn files(of: &[(&str, &str)]) -> Files {
    of.iter().map(|(path, text)| ((*path).to_owned(), ("100644", (*text).to_owned()))).collect()
}

/// Returns the clashes of a repository whose `main` has these files, and whose branches have others.
fn clashes(dir: &Path, main: &[(&str, &str)], others: &[&[(&str, &str)]]) -> Vec<String> {
    assert!(git(dir, &["init", "--quiet", "--initial-branch=main", "."]).1);
    let mut story = Story::default();
    story.commit("main", None, &files(main));
    for (nth, other) in others.iter().enumerate() {
        let name = format!("b{nth}");
        story.branch(&name, "main");
        story.commit(&name, None, &files(other));
    }
    story.tell(dir);
    (0..others.len()).map(|nth| git(dir, &["rev-parse", &format!("refs/heads/b{nth}")]).0).collect()
}

const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

#[tokio::test]
async fn a_clash_names_the_lines_on_both_sides() {
    let dir = TempDir::new().unwrap();
    let (one, other) = (TEN.replace("5\n", "five\n"), format!("0\n{}", TEN.replace("5\n", "FIVE\nand\n")));
    let tips = clashes(dir.path(), &[("src/f", TEN)], &[&[("src/f", &one)], &[("src/f", &other)]]);
    let mut forecast = Forecast::default();
    let outlook = look(&mut forecast, dir.path(), &tips).await;
    let [clash] = &outlook.clashes[..] else { panic!("{outlook:?}") };
    let [file] = &clash.files[..] else { panic!("{clash:?}") };
    assert_eq!((file.path.as_str(), file.kind.as_str()), ("src/f", "contents"));
    assert_eq!(file.hunks[0].a, Lines { first: 5, count: 1 });
    assert_eq!(file.hunks[0].b, Lines { first: 6, count: 2 });
    assert_eq!(outlook.changed["b00"], ["src/f"]);

    let git = scratch(dir.path()).git(&Git::plain(dir.path()));
    let words = forecast.explain(&git, &tips[0], &tips[1]).await.unwrap();
    assert!(words[0].places[0].contains("five\n||||||| "), "{words:?}");
    assert!(words[0].places[0].contains("5\n=======\nFIVE\nand\n"), "{words:?}");
}

/// Cases in which no path is the same on both sides, and git still reports a conflict.
#[tokio::test]
async fn a_file_put_into_a_folder_that_the_other_side_moved_clashes() {
    let dir = TempDir::new().unwrap();
    let tips = clashes(
        dir.path(),
        &[("d/f", TEN), ("d/g", "g\n"), ("x", "x\n")],
        &[
            &[("e/f", TEN), ("e/g", "g\n"), ("x", "x\n")],
            &[("d/f", TEN), ("d/g", "g\n"), ("d/new", "n\n"), ("x", "x\n")],
            &[("d/f", TEN), ("d/g", "g\n"), ("x", "x\n"), ("y", "a file\n")],
            &[("d/f", TEN), ("d/g", "g\n"), ("x", "x\n"), ("y/inside", "a folder\n")],
        ],
    );
    let outlook = look(&mut Forecast::default(), dir.path(), &tips).await;
    let found: Vec<(&str, &str)> = outlook.clashes.iter().map(|clash| (&*clash.a, &*clash.b)).collect();
    assert_eq!(found, [("b00", "b01"), ("b02", "b03")]);
    assert!(outlook.merged < outlook.pairs, "what cannot clash is not merged");
}

#[tokio::test]
async fn looking_leaves_nothing_in_the_repository() {
    let dir = TempDir::new().unwrap();
    let (one, other) = (TEN.replace("5\n", "five\n"), TEN.replace("5\n", "FIVE\n"));
    let tips = clashes(dir.path(), &[("f", TEN)], &[&[("f", &one)], &[("f", &other)]]);
    let objects = || git(dir.path(), &["count-objects", "-v"]).0;
    let before = objects();
    assert_eq!(look(&mut Forecast::default(), dir.path(), &tips).await.clashes.len(), 1);
    assert_eq!(objects(), before);
    assert!(fs::read_dir(dir.path().join("scratch/objects")).unwrap().count() > 2, "it is in the scratch");
}

#[tokio::test]
async fn a_branch_without_common_history_is_left_out_and_the_others_are_compared() {
    let dir = TempDir::new().unwrap();
    let (one, other) = (TEN.replace("5\n", "five\n"), TEN.replace("5\n", "FIVE\n"));
    let mut tips = clashes(dir.path(), &[("f", TEN)], &[&[("f", &one)], &[("f", &other)]]);
    let mut story = Story::default();
    story.commit("b2", None, &files(&[("f", "elsewhere\n")]));
    story.tell(dir.path());
    tips.push(git(dir.path(), &["rev-parse", "refs/heads/b2"]).0);
    tips.push("0123456789012345678901234567890123456789".into());
    let outlook = look(&mut Forecast::default(), dir.path(), &tips).await;
    assert_eq!(outlook.clashes.len(), 1);
    let left: Vec<&str> = outlook.left_out.iter().map(|(name, _)| &**name).collect();
    assert_eq!(left, ["b02", "b03"], "{:?}", outlook.left_out);
}

#[tokio::test]
async fn branches_of_one_owner_are_not_compared() {
    let dir = TempDir::new().unwrap();
    clashes(dir.path(), &[("f", TEN)], &[]);
    let mut story = Story::default();
    for (name, text) in [("b0", "five\n"), ("b1", "FIVE\n")] {
        story.branch(name, "main");
        story.edit(name, &files(&[("f", &TEN.replace("5\n", text))]));
    }
    story.tell(dir.path());
    let tips = ["b0", "b1"].map(|name| git(dir.path(), &["rev-parse", name]).0);
    assert_eq!(look(&mut Forecast::default(), dir.path(), &tips).await.clashes.len(), 1);
    let mut named = branches(&tips);
    named.iter_mut().for_each(|branch| branch.owner = "same".into());
    let git = Git::plain(dir.path());
    let outlook = Forecast::default().look(&git, &main_of(dir.path()), &named).await.unwrap();
    assert_eq!((outlook.pairs, outlook.clashes.len()), (0, 0));
}
