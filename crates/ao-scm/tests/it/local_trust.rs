//! A base that an agent has moved, objects that it has replaced, and what it has written into the repository's settings.

use std::sync::{Arc, Mutex};

use ao_core::Commit;
use ao_core::pull::{Mergeable, PullState};
use ao_ports::{LandingStrategy, Scm, ScmError, ScmReviews as _, TestOrder};
use ao_scm::local::{LocalScm, Witness};
use async_trait::async_trait;

use crate::local_support::{Desk, facts, git, in_the_way, merge, merged, open, order, project, refused};

/// Sessions that are at work until the test ends them.
#[derive(Debug, Default)]
struct Crew(Mutex<Vec<String>>);

#[async_trait]
impl Witness for Crew {
    async fn at_work(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Crew {
    fn at_work(&self, names: &[&str]) {
        *self.0.lock().unwrap() = names.iter().map(|name| (*name).to_owned()).collect();
    }
}

fn guarded(desk: &mut Desk) -> Arc<Crew> {
    let crew = Arc::new(Crew::default());
    crew.at_work(&["fix-login", "add-search"]);
    desk.witness = Some(crew.clone());
    crew
}

async fn held(scm: &LocalScm) -> Vec<String> {
    scm.base(&project()).await.unwrap().held.into_iter().map(|held| held.detail).collect()
}

async fn tip(scm: &LocalScm) -> Commit {
    scm.base(&project()).await.unwrap().tip.unwrap()
}

/// Creates an unreviewed commit on top of `main`.
fn bad(desk: &Desk) -> Commit {
    Commit::new(&desk.git(&["commit-tree", "-p", "main", "-m", "no more rules", "main^{tree}"]))
}

/// acceptance: G3
#[tokio::test]
async fn a_base_that_an_agent_moved_is_held_and_nothing_lands_on_it() {
    for restart in [false, true] {
        let mut desk = Desk::new();
        let crew = guarded(&mut desk);
        let mut scm = desk.open().await;
        desk.push("x", "x", "1");
        let id = open(&scm, "x", "main").await;
        let before = order(&scm, &id, LandingStrategy::Squash).await;
        let (main, bad) = (desk.tip("main"), bad(&desk));
        let tree = desk.side_path("tree").display().to_string();
        desk.git(&["worktree", "add", "--quiet", "--detach", &tree, "x"]);
        git(tree.as_ref(), &["update-ref", "refs/heads/main", bad.as_str()]);
        if restart {
            drop(scm);
            scm = desk.open().await;
        }
        assert_eq!(tip(&scm).await, main, "everybody goes on with the one before");
        assert_eq!(facts(&scm, &id).await.base, main);
        let told = held(&scm).await;
        assert_eq!(told.len(), 1, "{told:?}");
        for word in [
            main.as_str(),
            bad.as_str(),
            "`fix-login`, `add-search`",
            "no more rules",
            "ao trust-project my-app",
        ] {
            assert!(told[0].contains(word), "{word}: {}", told[0]);
        }
        let why = in_the_way(scm.merge(&before).await.unwrap());
        assert!(why.contains("`main` was moved from"), "{why}");
        let test = TestOrder {
            pull: id.clone(),
            head: before.head.clone(),
            base: bad.clone(),
            ahead: vec![],
            strategy: LandingStrategy::Squash,
            required: vec![],
            checks: true,
        };
        assert!(matches!(scm.test(&test).await, Err(ScmError::Refused { .. })), "it is not tested on either");
        assert_eq!(desk.tip("main"), bad);
        // Neither the end of the agents nor a restart makes it trusted.
        crew.at_work(&[]);
        drop(scm);
        let scm = desk.open().await;
        assert_eq!((tip(&scm).await, held(&scm).await), (main, told));
        // A person takes it as it is.
        assert_eq!(scm.confirm_repository(&project()).await.unwrap().len(), 1);
        assert_eq!((tip(&scm).await, held(&scm).await), (bad.clone(), vec![]));
        let commit = merged(merge(&scm, &id, LandingStrategy::Squash).await);
        assert_eq!(desk.git(&["rev-parse", &format!("{commit}~1")]), bad.as_str());
    }
}

/// acceptance: G3
#[tokio::test]
async fn a_base_that_is_put_back_is_trusted_again() {
    let mut desk = Desk::new();
    guarded(&mut desk);
    let scm = desk.open().await;
    let main = desk.tip("main");
    let bad = bad(&desk);
    // In the user's own checkout too, but not as people do it.
    desk.git(&["update-ref", "refs/heads/main", bad.as_str()]);
    assert_eq!(held(&scm).await.len(), 1);
    desk.git(&["update-ref", "refs/heads/main", main.as_str()]);
    assert_eq!((tip(&scm).await, held(&scm).await), (main, vec![]));
}

#[tokio::test]
async fn moves_by_people_and_landings_are_trusted_while_agents_work() {
    let mut desk = Desk::with_origin();
    let crew = guarded(&mut desk);
    let scm = desk.open().await;
    let trusted = async |desk: &Desk, what: &str| {
        assert_eq!(held(&scm).await, [""; 0], "{what}");
        assert_eq!(tip(&scm).await, desk.tip("main"), "{what}");
    };
    desk.write("mine", "1");
    desk.git(&["add", "mine"]);
    desk.git(&["commit", "--quiet", "-m", "by hand"]);
    trusted(&desk, "a commit").await;
    desk.git(&["commit", "--quiet", "--amend", "-m", "by hand, better"]);
    trusted(&desk, "an amended one").await;
    desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    merged(merge(&scm, &id, LandingStrategy::Squash).await);
    trusted(&desk, "a landing").await;
    desk.git(&["push", "--quiet", "--force", "origin", "main"]);
    trusted(&desk, "a push").await;
    // A colleague pushes to the remote, and a plain fetch brings it here.
    let other = desk.side_path("other").display().to_string();
    let remote = desk.git(&["config", "remote.origin.url"]);
    desk.git(&["clone", "--quiet", &remote, &other]);
    let who = ["-c", "user.name=Bob", "-c", "user.email=bob@example.invalid"];
    git(other.as_ref(), &[&who[..], &["commit", "--quiet", "--allow-empty", "-m", "afar"]].concat());
    git(other.as_ref(), &["push", "--quiet"]);
    desk.git(&["fetch", "--quiet", "origin"]);
    assert_eq!(held(&scm).await, [""; 0], "a fetch");
    assert_eq!(tip(&scm).await.as_str(), desk.git(&["rev-parse", "origin/main"]));
    // While its local branch is elsewhere, the same by an agent is not.
    let bad = bad(&desk);
    desk.git(&["update-ref", "refs/remotes/origin/main", bad.as_str()]);
    assert!(held(&scm).await[0].starts_with("`origin/main` was moved"));
    desk.git(&["fetch", "--quiet", "origin"]);
    assert_eq!(held(&scm).await, [""; 0], "put back by a fetch");
    crew.at_work(&[]);
    desk.git(&["update-ref", "refs/heads/main", bad.as_str()]);
    assert_eq!(held(&scm).await, [""; 0], "nobody is at work who could have done it");
}

/// acceptance: G2
#[tokio::test]
async fn settings_that_an_agent_changes_are_reported_and_those_of_the_user_are_not() {
    let mut desk = Desk::new();
    let crew = guarded(&mut desk);
    desk.git(&["config", "filter.lfs.clean", "git-lfs clean -- %f"]);
    let scm = desk.open().await;
    assert_eq!(held(&scm).await, [""; 0], "it was there when the project was first seen");
    desk.git(&["config", "branch.x.description", "ordinary"]);
    assert_eq!(held(&scm).await, [""; 0]);
    desk.git(&["config", "merge.evil.driver", "touch ran"]);
    desk.write(".git/info/attributes", "* merge=evil\n");
    let told = held(&scm).await;
    assert_eq!(told.len(), 1, "{told:?}");
    for word in ["`merge.evil.driver` in config", "info/attributes", "`fix-login`, `add-search`"] {
        assert!(told[0].contains(word), "{word}: {}", told[0]);
    }
    // It is no reason to hold up work: nothing of it is run.
    desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    merged(merge(&scm, &id, LandingStrategy::Squash).await);
    crew.at_work(&[]);
    assert_eq!(held(&scm).await.len(), 1);
    scm.confirm_repository(&project()).await.unwrap();
    assert_eq!(held(&scm).await, [""; 0]);
}

/// acceptance: G1
#[tokio::test]
async fn the_reviewed_tree_lands_despite_replace_refs() {
    let desk = Desk::new();
    let scm = desk.open().await;
    let bad = desk.push("x", "x", "bad");
    desk.git(&["update-ref", "refs/heads/y", "main"]);
    let good = desk.push("y", "x", "good");
    desk.git(&["replace", bad.as_str(), good.as_str()]);
    assert_eq!(desk.git(&["show", "x:x"]), "good", "it is replaced for git itself");
    let id = open(&scm, "x", "main").await;
    let shown = scm.diff(&id, 100_000).await.unwrap();
    assert!(shown.contains("+bad") && !shown.contains("+good"), "{shown}");
    let order = order(&scm, &id, LandingStrategy::Squash).await;
    let commit = merged(scm.merge(&order).await.unwrap());
    desk.git(&["replace", "-d", bad.as_str()]);
    assert_eq!(desk.git(&["rev-parse", &format!("{commit}^{{tree}}")]), order.tree);
    assert_eq!(desk.git(&["show", "main:x"]), "bad");
}

/// acceptance: G1
#[tokio::test]
async fn a_tree_that_was_not_tested_does_not_land() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    let mut order = order(&scm, &id, LandingStrategy::Squash).await;
    order.tree = desk.git(&["rev-parse", "main^{tree}"]);
    assert!(refused(scm.merge(&order).await.unwrap()).contains("other files than were tested"));
    assert_eq!(facts(&scm, &id).await.state, PullState::Open);
}

/// acceptance: G2
#[tokio::test]
async fn no_driver_of_an_agent_has_a_part_in_a_merge_and_those_of_the_base_count() {
    let desk = Desk::new();
    desk.push("main", "list", "a\n");
    let scm = desk.open().await;
    let ran = desk.side_path("ran");
    for (branch, line) in [("one", "one"), ("two", "two")] {
        desk.push(branch, "list", &format!("a\n{line}\n"));
    }
    desk.git(&["config", "merge.evil.driver", &format!("echo evil >> %A; touch '{}'", ran.display())]);
    desk.write(".git/info/attributes", "* merge=evil\n");
    let (one, two) = (open(&scm, "one", "main").await, open(&scm, "two", "main").await);
    merged(merge(&scm, &one, LandingStrategy::Squash).await);
    let mergeable = facts(&scm, &two).await.mergeable;
    assert_eq!(mergeable, Mergeable::Conflict { files: vec!["list".into()] }, "a conflict stays one");
    assert!(!ran.exists());
    let version = desk.git(&["version"]);
    let newer = |minor: u32| version.split('.').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0) >= minor;
    if newer(41) {
        desk.push("main", ".gitattributes", "list merge=union\n");
        merged(merge(&scm, &two, LandingStrategy::Squash).await);
        assert_eq!(desk.git(&["show", "main:list"]), "a\none\ntwo");
    }
    assert!(!ran.exists());
}
