//! The life of a pull request, from the first commit to the merge.

use ao_core::pull::{CheckState, Mergeable, PullState, ReviewVerdict};
use ao_core::{ProjectId, PullId, Timestamp};
use ao_ports::{
    CheckOrder, CheckRun, CheckWhat, LandingStrategy, NewPull, PullEdit, PullFilter, PullFilterState,
    RunState, Scm, ScmChecks as _, ScmError, ScmReviews as _, TestOrder, TestOutcome, TidyOrder,
};

use crate::local_support::{
    Desk, at_line, facts, merge, merged, new_pull, open, person, project, pull, review, why,
};

fn order(before: i64) -> TidyOrder {
    TidyOrder { before: Timestamp(before), rescues: vec![] }
}

fn filter(state: PullFilterState) -> PullFilter {
    PullFilter {
        state,
        head_branch: None,
        base_branch: None,
        author: None,
        labels: Default::default(),
        limit: 30,
    }
}

/// A failed check is reported with its lines, its signature, its log and the commit. acceptance: F1
#[tokio::test]
async fn a_change_is_opened_fails_is_fixed_reviewed_and_merged() {
    let desk = Desk::new().with_checks(&[("test", true), ("lint", false)]);
    desk.checks.let_be("test", RunState::Failed);
    let scm = desk.open().await;
    let first = desk.push("agent/fix", "a.txt", "one\n");
    let id = open(&scm, "agent/fix", "main").await;
    assert_eq!(id, pull(1));

    let seen = facts(&scm, &id).await;
    assert_eq!((&seen.head, &seen.base), (&first, &desk.tip("main")));
    assert_eq!(seen.head_author.as_deref(), Some("ann@example.invalid"));
    assert_eq!((&seen.base_remote, &seen.head_repo), (&None, &None));
    assert_eq!((&seen.size.files[..], seen.size.added), (&["a.txt".to_owned()][..], 1));
    assert_eq!(seen.mergeable, Mergeable::Clean);
    assert_eq!(seen.url, "ao://my-app/pulls/1");
    let CheckState::Failed { signature, excerpt, url, log, .. } = &seen.checks[0].state else {
        panic!("{seen:?}")
    };
    assert_eq!(
        (signature.as_str(), excerpt.as_str()),
        ("test_login", "`make test` failed\nassertion failed: login")
    );
    assert_eq!((url.as_str(), log.as_deref()), ("ao://my-app/checks/run_1", Some("/logs/run.log")));
    assert_eq!((&seen.checks[0].commit, seen.checks[0].required), (&first, true));
    assert_eq!(seen.checks[1].state, CheckState::Passed);

    desk.checks.let_be("test", RunState::Passed);
    let second = desk.push("agent/fix", "a.txt", "two\n");
    let seen = facts(&scm, &id).await;
    assert_eq!(seen.head, second);
    assert!(seen.checks.iter().all(|check| check.state == CheckState::Passed && check.commit == second));

    scm.comment(&at_line(&id, "a.txt", 1, "why two?")).await.unwrap();
    scm.review(&review(&id, person("bob"), ReviewVerdict::Approved, "")).await.unwrap();
    let commit = merged(merge(&scm, &id, LandingStrategy::Squash).await);
    assert_eq!(desk.tip("main"), commit);
    assert_eq!(desk.read("a.txt"), "two\n", "the user's checkout follows");

    let shown = scm.show(&id).await.unwrap();
    assert_eq!(shown.facts.state, PullState::Merged { commit });
    assert_eq!(shown.merged_by.as_deref(), Some("ann"));
    assert_eq!(shown.commits.len(), 2);
    assert_eq!(shown.threads["t1"].context.as_deref(), Some("two"));
    assert!(scm.diff(&id, 10_000).await.unwrap().contains("+two"), "what was merged can still be read");
    assert!(scm.open_pulls(&project()).await.unwrap().is_empty());
}

/// The merged commit is in the base branch; the commits of the branch itself are kept for a while and not for ever.
#[tokio::test]
async fn commits_of_changes_that_were_merged_long_ago_are_released_and_others_are_not() {
    let desk = Desk::new();
    let scm = desk.open().await;
    let mut pulls = vec![];
    for name in ["merged", "closed", "open"] {
        desk.push(name, name, "one\n");
        pulls.push(open(&scm, name, "main").await);
    }
    merged(merge(&scm, &pulls[0], LandingStrategy::Squash).await);
    scm.edit(&pulls[1], &PullEdit { closed: Some(true), ..PullEdit::default() }).await.unwrap();
    let archives = || desk.git(&["for-each-ref", "refs/ao/archive"]).lines().count();
    assert_eq!(scm.tidy(&project(), &order(0)).await, Ok(1));
    let pinned = desk.git(&["for-each-ref", "--format=%(refname)", "refs/ao/pulls"]);
    assert_eq!((pinned.as_str(), archives()), ("refs/ao/pulls/2/head\nrefs/ao/pulls/3/head", 1));

    desk.clock.advance(3_600_000);
    assert_eq!(scm.tidy(&project(), &order(i64::MAX)).await, Ok(1));
    assert_eq!(archives(), 0);
    // Until git prunes, its change can still be shown; after that the reason is given.
    assert!(scm.diff(&pulls[0], 10_000).await.unwrap().contains("+one"));
    for args in [
        &["branch", "-D", "merged"][..],
        &["reflog", "expire", "--expire=now", "--all"],
        &["gc", "--quiet", "--prune=now"],
    ] {
        desk.git(args);
    }
    assert!(why(scm.diff(&pulls[0], 10_000).await).contains("no longer in the repository"));
    assert!(matches!(scm.show(&pulls[0]).await.unwrap().facts.state, PullState::Merged { .. }));
    assert!(scm.diff(&pulls[1], 10_000).await.unwrap().contains("+one"), "it may be the only copy");
}

/// Git lists every ref in each push and fetch, so merged pull requests must not leave one each.
#[tokio::test]
async fn commits_of_merged_changes_are_kept_by_one_ref() {
    let desk = Desk::new();
    let scm = desk.open().await;
    let mut pulls = vec![];
    for name in ["one", "two", "three", "open"] {
        desk.push(name, name, "one\n");
        pulls.push(open(&scm, name, "main").await);
    }
    // Rescues of merged sessions, of which one holds an earlier state in its log, and one of another session.
    let rescue = |name: &str, commit: &str| {
        desk.git(&["tag", "-f", "-a", "-m", name, name, commit]);
        desk.git(&["update-ref", "--create-reflog", &format!("refs/ao/rescue/{name}"), name]);
        desk.git(&["tag", "-d", name]);
    };
    rescue("merged", "two");
    rescue("twice", "one");
    rescue("twice", "two");
    rescue("other", "open");
    let rescues = ["refs/ao/rescue/merged", "refs/ao/rescue/twice", "refs/ao/rescue/gone"];
    let order = |before| TidyOrder { rescues: rescues.map(str::to_owned).to_vec(), ..order(before) };
    let refs = || desk.git(&["for-each-ref", "--format=%(refname:rstrip=-3)/%(refname:lstrip=3)", "refs/ao"]);
    for merges in [2, 1] {
        for pull in pulls.drain(..merges) {
            merged(merge(&scm, &pull, LandingStrategy::Squash).await);
        }
        assert!(scm.tidy(&project(), &order(0)).await.unwrap() > 0);
    }
    assert_eq!(scm.tidy(&project(), &order(0)).await, Ok(0), "there is nothing left to do");
    let kept = refs();
    assert_eq!(kept.lines().filter(|name| name.starts_with("refs/ao/archive")).count(), 1, "{kept}");
    assert!(kept.contains("pulls/4/head") && !kept.contains("pulls/1/"), "{kept}");
    assert!(kept.contains("rescue/other") && !kept.contains("rescue/merged"), "{kept}");
    assert!(kept.contains("rescue/twice"), "{kept}");
    for args in [
        &["branch", "-D", "one", "two", "three"][..],
        &["reflog", "expire", "--expire=now", "--all"],
        &["gc", "--quiet", "--prune=now"],
    ] {
        desk.git(args);
    }
    for number in 1..=3 {
        let pull = PullId { project: project(), number };
        assert!(scm.diff(&pull, 10_000).await.unwrap().contains("+one"), "{pull}");
    }
    // After a restart the pins that are left are found again.
    drop(scm);
    let scm = desk.open().await;
    merged(merge(&scm, &pulls[0], LandingStrategy::Squash).await);
    assert!(scm.tidy(&project(), &order(0)).await.unwrap() > 0);
    assert!(!refs().contains("pulls/"), "{}", refs());
}

/// An agent that is resumed after its change has landed, and does its last step again.
#[tokio::test]
async fn a_change_that_has_landed_is_not_proposed_a_second_time() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("agent/fix", "a.txt", "one\n");
    let first = open(&scm, "agent/fix", "main").await;
    merged(merge(&scm, &first, LandingStrategy::Squash).await);
    assert_eq!(open(&scm, "agent/fix", "main").await, first, "it is that one");
    desk.push_from("agent/fix", "agent/fix", "b.txt", "two\n");
    assert_eq!(open(&scm, "agent/fix", "main").await, pull(2), "more work is a change of its own");
}

#[tokio::test]
async fn the_same_branch_has_one_open_pull_request_for_a_base() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "x", "x");
    let first = open(&scm, "x", "main").await;
    assert_eq!(open(&scm, "x", "main").await, first);
    assert_eq!(open(&scm, "refs/heads/x", "main").await, first);
    scm.edit(&first, &PullEdit { closed: Some(true), ..PullEdit::default() }).await.unwrap();
    assert_eq!(open(&scm, "x", "main").await, pull(2));
}

#[tokio::test]
async fn an_unmergeable_branch_is_refused_with_a_reason() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.git(&["branch", "empty"]);
    desk.push("agent/login", "x", "x");
    let tree = desk.git(&["write-tree"]);
    let root = desk.git(&["commit-tree", "-m", "another beginning", &tree]);
    desk.git(&["branch", "foreign", &root]);
    for (head, base, told) in [
        ("main", "main", "merged into itself"),
        ("main", "agent/login", "default branch"),
        ("empty", "main", "has no commit that `main` does not have"),
        ("foreign", "main", "no commit in common"),
        ("agent/logn", "main", "there is `agent/login`"),
        ("agent/login", "nowhere", "there is no branch `nowhere`"),
        ("a b", "main", "is not the name of a branch"),
    ] {
        let why = why(scm.open(&new_pull(head, base)).await);
        assert!(why.contains(told), "{head}: {why}");
    }
    let long = ao_ports::NewPull { body: "x".repeat(70_000), ..new_pull("agent/login", "main") };
    assert!(why(scm.open(&long).await).contains("70000 bytes"));
    assert!(scm.open_pulls(&project()).await.unwrap().is_empty());
    let untitled = ao_ports::NewPull { title: " \n ".into(), ..new_pull("agent/login", "main") };
    let id = scm.open(&untitled).await.unwrap();
    assert_eq!(facts(&scm, &id).await.title, "agent/login: x", "without a title its commit's is taken");
}

#[tokio::test]
async fn lists_have_the_newest_first_and_open_ones_do_not_read_what_is_done() {
    let desk = Desk::new();
    let scm = desk.open().await;
    for name in ["a", "b", "c", "d"] {
        desk.push(name, name, name);
        open(&scm, name, "main").await;
    }
    merged(merge(&scm, &pull(1), LandingStrategy::Squash).await);
    scm.edit(&pull(3), &PullEdit { closed: Some(true), ..PullEdit::default() }).await.unwrap();
    let numbers = async |state| -> Vec<u64> {
        let rows = scm.list(&project(), &filter(state)).await.unwrap();
        rows.iter().map(|row| row.pull.number).collect()
    };
    desk.records.take_listed_prefixes();
    assert_eq!(numbers(PullFilterState::Open).await, [4, 2]);
    assert_eq!(desk.records.take_listed_prefixes(), [""; 0]);
    assert_eq!(numbers(PullFilterState::Merged).await, [1]);
    assert_eq!(numbers(PullFilterState::Closed).await, [3]);
    assert_eq!(numbers(PullFilterState::All).await, [4, 3, 2, 1]);
    let one = PullFilter { limit: 1, ..filter(PullFilterState::All) };
    assert_eq!(scm.list(&project(), &one).await.unwrap()[0].pull, pull(4));
    let by = PullFilter { author: Some("nobody".into()), ..filter(PullFilterState::All) };
    assert!(scm.list(&project(), &by).await.unwrap().is_empty());
    drop(scm);
    let again = desk.open().await;
    assert_eq!(again.open_pulls(&project()).await.unwrap(), [pull(2), pull(4)]);
    desk.push("e", "e", "e");
    assert_eq!(open(&again, "e", "main").await, pull(5), "numbers go on after a restart");
}

#[tokio::test]
async fn a_pull_request_is_edited_closed_and_reopened() {
    let desk = Desk::new().with_checks(&[("test", true)]);
    desk.checks.let_be("test", RunState::Running);
    let scm = desk.open().await;
    desk.push("x", "x", "x");
    let id = open(&scm, "x", "main").await;
    let edit = PullEdit {
        title: Some("Better\nwords".into()),
        draft: Some(true),
        add_labels: ["ui".to_owned(), "old".to_owned()].into(),
        ..PullEdit::default()
    };
    scm.edit(&id, &edit).await.unwrap();
    let remove = PullEdit { remove_labels: ["old".to_owned()].into(), ..PullEdit::default() };
    scm.edit(&id, &remove).await.unwrap();
    let seen = facts(&scm, &id).await;
    assert_eq!((seen.title.as_str(), seen.draft), ("Better words", true));
    assert_eq!(seen.labels, ["ui".to_owned()].into());

    scm.edit(&id, &PullEdit { closed: Some(true), ..PullEdit::default() }).await.unwrap();
    assert_eq!(facts(&scm, &id).await.state, PullState::Closed);
    assert!(desk.checks.states().iter().all(|(_, state)| *state == RunState::Cancelled));
    let reopen = PullEdit { closed: Some(false), ..PullEdit::default() };
    scm.edit(&id, &reopen).await.unwrap();
    assert_eq!(facts(&scm, &id).await.state, PullState::Open);

    scm.edit(&id, &PullEdit { closed: Some(true), draft: Some(false), ..PullEdit::default() }).await.unwrap();
    desk.git(&["branch", "-D", "x"]);
    let told = why(scm.edit(&id, &reopen).await);
    assert!(told.contains("git branch x"), "{told}");
}

#[tokio::test]
async fn a_conflict_appears_with_its_files_and_goes_again() {
    let desk = Desk::new().with_checks(&[("test", true)]);
    let scm = desk.open().await;
    desk.push("x", "README.md", "one\nX\nthree\nfour\nfive\n");
    let id = open(&scm, "x", "main").await;
    desk.push("main", "README.md", "one\nM\nthree\nfour\nfive\n");
    let seen = facts(&scm, &id).await;
    assert_eq!(seen.mergeable, Mergeable::Conflict { files: vec!["README.md".into()] });
    assert_eq!(desk.checks.heads().len(), 1, "a move of the base alone runs nothing");
    let order = TestOrder {
        pull: id.clone(),
        head: seen.head,
        base: seen.base,
        ahead: vec![],
        strategy: LandingStrategy::default(),
        required: vec![],
        checks: true,
    };
    assert_eq!(
        scm.test(&order).await.unwrap(),
        TestOutcome::Conflict { files: vec!["README.md".into()], pull: None }
    );
    let check =
        CheckOrder { project: project(), what: CheckWhat::Pull(id.clone()), checks: vec![], again: true };
    assert!(why(scm.check(&check).await).contains("README.md"));

    desk.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    assert_eq!(facts(&scm, &id).await.mergeable, Mergeable::Clean);
}

#[tokio::test]
async fn a_head_that_moves_ends_the_checks_of_the_old_one() {
    let desk = Desk::new().with_checks(&[("test", true)]);
    desk.checks.let_be("test", RunState::Running);
    let scm = desk.open().await;
    let first = desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    let second = desk.push("x", "x", "2");
    assert_eq!(facts(&scm, &id).await.checks[0].state, CheckState::Pending);
    let states = desk.checks.states();
    assert_eq!(states, [(first, RunState::Cancelled), (second.clone(), RunState::Running)]);
    let job = desk.checks.jobs.lock().unwrap().last().unwrap().clone();
    let parents = desk.git(&["log", "-1", "--format=%P", job.commit.as_str()]);
    assert_eq!(parents, format!("{} {second}", desk.tip("main")), "what is checked is the head on its base");
    assert_eq!(job.changed, Some(vec!["x".to_owned()]));
}

#[tokio::test]
async fn a_merge_is_tested_by_the_required_checks_on_what_would_land() {
    let desk = Desk::new().with_checks(&[("test", true), ("lint", false)]);
    desk.checks.let_be("lint", RunState::Failed);
    let scm = desk.open().await;
    desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    let seen = facts(&scm, &id).await;
    let order = TestOrder {
        pull: id.clone(),
        head: seen.head.clone(),
        base: seen.base.clone(),
        ahead: vec![],
        strategy: LandingStrategy::default(),
        required: vec![],
        checks: true,
    };
    assert!(matches!(scm.test(&order).await.unwrap(), TestOutcome::Green { .. }));
    desk.checks.let_be("test", RunState::Failed);
    let TestOutcome::Red { output, .. } = scm.test(&order).await.unwrap() else { panic!("not red") };
    assert_eq!(output, "test:\nassertion failed: login");
    desk.checks.let_be("test", RunState::Broken);
    assert!(scm.test(&order).await.unwrap_err().to_string().contains("`test` gave no result"));
    let broken = facts(&scm, &id).await;
    assert!(matches!(&broken.checks[0].state, CheckState::Broken { .. }), "not the change's failure");

    desk.checks.let_be("test", RunState::Passed);
    scm.rerun(&id, &seen.head, "test").await.unwrap();
    let again = facts(&scm, &id).await;
    assert_eq!(again.checks[0].state, CheckState::Passed);
    assert!(broken.checks[0].run.is_some() && again.checks[0].run != broken.checks[0].run, "another run");
    assert!(again.head_title.is_some(), "what its newest commit is called");
    assert!(why(scm.rerun(&id, &seen.head, "nope").await).contains("there are test, lint"));
    assert!(why(scm.rerun(&id, &seen.base, "test").await).contains("now"));
}

#[tokio::test]
async fn a_run_is_found_by_its_id_unless_it_is_another_projects() {
    let desk = Desk::new().with_checks(&[("test", true)]);
    let scm = desk.open().await;
    desk.push("x", "x", "1");
    open(&scm, "x", "main").await;
    let known = desk.checks.runs.lock().unwrap()[0].clone();
    assert_eq!(scm.run(&known.id).await.unwrap(), known);
    let foreign = CheckRun { id: "run_ff".into(), project: ProjectId::new("other"), ..known };
    desk.checks.runs.lock().unwrap().push(foreign);
    for id in ["run_ff", "run_none"] {
        assert!(matches!(scm.run(id).await, Err(ScmError::NotFound { .. })), "{id}");
    }
}

#[tokio::test]
async fn a_revision_is_checked_as_it_is_and_an_unknown_one_is_refused() {
    let desk = Desk::new().with_checks(&[("test", true)]);
    let scm = desk.open().await;
    let order = |revision: &str| CheckOrder {
        project: project(),
        what: CheckWhat::Revision(revision.to_owned()),
        checks: vec![],
        again: false,
    };
    let runs = scm.check(&order("main")).await.unwrap();
    assert_eq!((&runs[0].head, &runs[0].base, &runs[0].pull), (&desk.tip("main"), &None, &None));
    assert_eq!(runs[0].tree, desk.git(&["rev-parse", "main^{tree}"]));
    assert!(why(scm.check(&order("--all")).await).contains("no branch or commit"));
}

#[tokio::test]
async fn checks_that_are_added_later_are_run_after_a_start() {
    let mut desk = Desk::new();
    let scm = desk.open().await;
    let head = desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    assert!(facts(&scm, &id).await.checks.is_empty());
    drop(scm);
    desk = desk.with_checks(&[("test", true)]);
    let scm = desk.open().await;
    assert_eq!(desk.checks.heads(), [head]);
    assert_eq!(facts(&scm, &id).await.checks[0].state, CheckState::Passed);
    drop(scm);
    desk.open().await;
    assert_eq!(desk.checks.heads().len(), 1, "what has run is not run again");
}

#[tokio::test]
async fn checks_that_ended_with_the_daemon_are_run_after_the_next_start() {
    let desk = Desk::new().with_checks(&[("test", true), ("lint", true)]);
    desk.checks.let_be("test", RunState::Running);
    let scm = desk.open().await;
    desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    desk.checks.end("test", RunState::Cancelled);
    drop(scm);
    desk.checks.let_be("test", RunState::Passed);
    let scm = desk.open().await;
    assert!(facts(&scm, &id).await.checks.iter().all(|check| check.state == CheckState::Passed));
    let jobs: Vec<usize> = desk.checks.jobs.lock().unwrap().iter().map(|job| job.checks.len()).collect();
    assert_eq!(jobs, [2, 1], "the one that was over is not run again");
}

#[tokio::test]
async fn new_commits_of_the_base_are_not_part_of_the_change() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "x", "1");
    desk.push("other", "o", "1");
    let (x, other) = (open(&scm, "x", "main").await, open(&scm, "other", "main").await);
    // A commit that will be in the base comes into the branch first.
    let next = desk.push("next", "n", "1");
    desk.git(&["checkout", "--quiet", "x"]);
    desk.git(&["merge", "--quiet", "--no-edit", "next"]);
    desk.git(&["checkout", "--quiet", "main"]);
    assert_eq!(facts(&scm, &x).await.size.files, ["n", "x"]);
    desk.git(&["merge", "--quiet", "--ff-only", "next"]);
    let seen = facts(&scm, &x).await;
    assert_eq!((&seen.base, &seen.size.files[..]), (&next, &["x".to_owned()][..]));
    assert!(!scm.diff(&x, 10_000).await.unwrap().contains("b/n"));
    assert_eq!(facts(&scm, &other).await.size.files, ["o"]);
}

#[tokio::test]
async fn an_unknown_pull_request_is_not_found() {
    let desk = Desk::new();
    let scm = desk.open().await;
    assert!(scm.pulls(&[pull(7)]).await.unwrap().is_empty());
    assert!(scm.show(&pull(7)).await.unwrap_err().to_string().contains("my-app!7"));
    let other = ao_ports::NewPull { project: ao_core::ProjectId::new("other"), ..new_pull("x", "main") };
    assert!(scm.open(&other).await.is_err());
}

/// Agents often give no title, and the commit has one.
#[tokio::test]
async fn without_a_title_it_has_that_of_the_newest_commit() {
    let desk = Desk::new();
    let scm = desk.open().await;
    let head = desk.push("x", "x", "1");
    let untitled = NewPull { title: " ".into(), ..new_pull("x", "main") };
    let id = scm.open(&untitled).await.unwrap();
    let title = facts(&scm, &id).await.title;
    assert_eq!(vec![title], desk.log("%s", &format!("{head}~..{head}")));
    assert_eq!(scm.open(&untitled).await.unwrap(), id, "it is found again");
    desk.git(&["switch", "-q", "-c", "silent", "main"]);
    desk.git(&["commit", "-q", "--allow-empty", "--allow-empty-message", "-m", ""]);
    let silent = NewPull { title: String::new(), ..new_pull("silent", "main") };
    assert!(why(scm.open(&silent).await).contains("needs a title"));
}

#[tokio::test]
async fn a_merged_pull_request_cannot_be_retargeted_or_drafted() {
    let desk = Desk::new();
    let scm = desk.open().await;
    for name in ["x", "y"] {
        desk.push(name, name, "1");
        open(&scm, name, "main").await;
    }
    desk.git(&["branch", "other"]);
    let draft = PullEdit { draft: Some(true), ..PullEdit::default() };
    let base = PullEdit { base_branch: Some("other".into()), ..PullEdit::default() };
    let words = PullEdit { title: Some("Better words".into()), ..PullEdit::default() };
    merged(merge(&scm, &pull(1), LandingStrategy::Squash).await);
    scm.edit(&pull(2), &PullEdit { closed: Some(true), ..PullEdit::default() }).await.unwrap();
    for edit in [&draft, &base] {
        assert!(why(scm.edit(&pull(1), edit).await).contains("is merged, and stays so"));
        assert!(why(scm.edit(&pull(2), edit).await).contains("is closed; open it again first"));
    }
    for number in [1, 2] {
        scm.edit(&pull(number), &words).await.unwrap();
        let seen = facts(&scm, &pull(number)).await;
        assert_eq!(
            (seen.title.as_str(), seen.draft, seen.base_branch.as_str()),
            ("Better words", false, "main")
        );
    }
    scm.edit(&pull(2), &PullEdit { closed: Some(false), ..draft }).await.unwrap();
    assert!(facts(&scm, &pull(2)).await.draft);
}
