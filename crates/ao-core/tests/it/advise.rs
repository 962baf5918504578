//! What matters now: found from facts, ranked by how much goes on, with a command that is safe to paste.

use ao_core::advise::{AdviceItem, AdviceKind, advise};
use ao_core::assign::AutoAssign;
use ao_core::budget::UsageTotal;
use ao_core::evidence::SignalSource;
use ao_core::job::{JobOrder, JobOutcome};
use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::pull::{
    AuthorFacts, AuthorStanding, CheckState, CommentFacts, PullFacts, PullInput, ReviewFacts, ReviewVerdict,
    ThreadFacts,
};
use ao_core::session::SessionInput;
use ao_core::task::TaskFacts;
use ao_core::{Commit, DaemonSettings, Input, PullId};

use crate::desk::{Desk, app, asking, task};
use crate::incidents::{facts, pull, red, with_pull};

fn advice(desk: &Desk) -> Vec<AdviceItem> {
    advise(&desk.state, desk.now, None)
}

fn told(desk: &Desk) -> Vec<(AdviceKind, String, String)> {
    advice(desk).into_iter().map(|one| (one.kind, one.what, one.command)).collect()
}

fn look(desk: &mut Desk, id: PullId, check: CheckState, change: impl FnOnce(&mut PullFacts)) {
    desk.now = desk.now + std::time::Duration::from_secs(1);
    let mut seen = facts(desk, "c1", check);
    change(&mut seen);
    desk.take(Input::Pull { pull: id, input: PullInput::Seen(Box::new(seen)) });
}

fn approval(by: &str) -> ReviewFacts {
    ReviewFacts {
        id: "r1".into(),
        author: AuthorFacts { login: by.into(), standing: AuthorStanding::Member },
        verdict: ReviewVerdict::Approved,
        commit: Commit::new("c1"),
        body: String::new(),
        revision: "1".into(),
    }
}

fn thread(id: &str) -> ThreadFacts {
    let comment = CommentFacts {
        id: id.into(),
        author: AuthorFacts { login: "bob".into(), standing: AuthorStanding::Member },
        body: "why?".into(),
        url: String::new(),
        revision: "1".into(),
    };
    ThreadFacts {
        id: id.into(),
        path: Some("src/a.rs".into()),
        line: Some(3),
        resolved: false,
        comments: vec![comment],
    }
}

#[test]
fn where_nothing_waits_nothing_is_advised() {
    let mut desk = Desk::new();
    assert_eq!(advice(&desk), []);
    desk.idle("1");
    desk.task("2", &["1"], false);
    assert_eq!(advice(&desk), []);
}

#[test]
fn who_waits_for_an_answer_is_named_with_how_long_and_who_else_waits() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.task("2", &["1"], false);
    desk.task("3", &["2"], false);
    desk.now = desk.now + std::time::Duration::from_secs(1);
    desk.sees(session, SignalSource::Hook, asking());
    desk.wait(20 * 60);
    let found = advice(&desk);
    let one = found.iter().find(|one| one.kind == AdviceKind::Answer).unwrap_or_else(|| panic!("{found:?}"));
    assert_eq!(one.what, "app-1 waits for your answer since 20 min");
    assert!(one.why.contains("2 others wait for it"), "{}", one.why);
    assert_eq!((one.rank, one.unblocks, one.command.as_str()), (1, 2, "ao status app-1"));
}

#[test]
fn what_is_ready_lacks_one_thread_or_blocks_others_is_told_apart() {
    let mut desk = Desk::new();
    with_pull(&mut desk);
    look(&mut desk, pull(), CheckState::Passed, |facts| facts.reviews = vec![approval("ann")]);
    let merge =
        |found: &[(AdviceKind, String, String)]| found.iter().any(|(kind, ..)| *kind == AdviceKind::Merge);
    let found = told(&desk);
    assert!(merge(&found), "{found:?}");
    let (_, what, command) = found.iter().find(|(kind, ..)| *kind == AdviceKind::Merge).unwrap();
    assert_eq!(what, "app!7 is approved and green, one command away: Fix login");
    assert_eq!(command, "ao pr merge 7");

    look(&mut desk, pull(), CheckState::Passed, |facts| {
        facts.reviews = vec![approval("ann")];
        facts.threads = vec![thread("t1")];
    });
    let found = told(&desk);
    assert!(!merge(&found), "{found:?}");
    let (_, what, _) =
        found.iter().find(|(kind, ..)| *kind == AdviceKind::Thread).unwrap_or_else(|| panic!("{found:?}"));
    assert_eq!(what, "one thread at src/a.rs:3 is all that blocks the merge of app!7: Fix login");

    // Two threads are two; that others are stacked on it is what matters then.
    look(&mut desk, pull(), CheckState::Passed, |facts| facts.threads = vec![thread("t1"), thread("t2")]);
    for number in [8, 9] {
        look(&mut desk, PullId { project: app(), number }, CheckState::Pending, |facts| {
            facts.base_branch = "agent/app-1".into();
            facts.head_branch = format!("on-top-{number}");
        });
    }
    let found = told(&desk);
    let (_, what, _) =
        found.iter().find(|(kind, ..)| *kind == AdviceKind::Blocks).unwrap_or_else(|| panic!("{found:?}"));
    assert_eq!(what, "app!7 blocks 2 others: Fix login");
}

#[test]
fn a_red_base_and_a_failure_that_was_chance_are_named() {
    let mut desk = Desk::new();
    with_pull(&mut desk);
    look(&mut desk, pull(), red("sig"), |_| {});
    desk.run_jobs(|order| match order {
        JobOrder::CheckBase { .. } => {
            Ok(JobOutcome::BaseRed { signature: "sig".into(), excerpt: "assertion".into() })
        }
        _ => Ok(JobOutcome::Done { said: String::new() }),
    });
    let found = told(&desk);
    let red =
        found.iter().find(|(kind, ..)| *kind == AdviceKind::BaseRed).unwrap_or_else(|| panic!("{found:?}"));
    assert_eq!(red.1, "the base is red: `test` fails on `main` itself");
    assert_eq!(red.2, "ao new 'Mend test on main' --project app");
}

#[test]
fn tasks_that_wait_for_each_other_or_for_trust_are_named() {
    let mut desk = Desk::new();
    let config = ProjectConfig {
        path: "~/app".into(),
        default_branch: "main".into(),
        auto_assign: Some(AutoAssign::default()),
        ..ProjectConfig::default()
    };
    desk.take(Input::Project { project: app(), input: ProjectInput::Configure(Box::new(config)) });
    desk.task("1", &["2"], false);
    desk.task("2", &["1"], false);
    desk.task_with("3", |facts| {
        facts.trusted = false;
        facts.author = Some(AuthorFacts { login: "eve".into(), standing: AuthorStanding::Outsider });
        facts.title = "do it\u{1b}[2J'; rm -rf ~".into();
    });
    let found = advice(&desk);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found[0].what, "app#1 and app#2 wait for each other");
    assert_eq!(found[0].command, "ao issue edit 'app#1' --not-blocked-by 2");
    assert_eq!(found[1].command, "ao issue show 3 --project app");
    assert!(!found[1].what.contains('\u{1b}'), "{}", found[1].what);
    assert!(desk.state.tasks.contains_key(&task("3")));
}

#[test]
fn each_circle_is_named_once_however_many_tasks_there_are() {
    let mut desk = Desk::new();
    // Not in the order in which they wait; one waits for itself, and one only for the others.
    for (key, blocked_by) in [("3", "1"), ("1", "2"), ("2", "3"), ("4", "4"), ("5", "1")] {
        desk.task(key, &[blocked_by], false);
    }
    // A chain that is longer than a stack is deep, and no circle.
    let mut state = desk.state.clone();
    let like = state.tasks[&task("5")].clone();
    for n in 1_000..61_000_u32 {
        let blocked_by = [task(&(n + 1).to_string())].into();
        state.tasks.insert(task(&n.to_string()), TaskFacts { blocked_by, ..like.clone() });
    }
    let begun = std::time::Instant::now();
    let found = ao_core::advise::advise(&state, desk.now, None);
    assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
    let what: Vec<&str> = found.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(what, ["app#1 and app#2, app#3 wait for each other", "app#4 is blocked by itself"]);
    assert_eq!(found[0].command, "ao issue edit 'app#1' --not-blocked-by 2");
    assert_eq!((found[0].unblocks, found[1].unblocks), (3, 1));
}

#[test]
fn an_agent_that_uses_up_its_budget_without_a_pull_request_is_named() {
    let mut desk = Desk::with(DaemonSettings::default());
    let session = desk.idle("1");
    desk.spends(session, UsageTotal { micros: None, tokens: None, turns: 40, seconds: 60 });
    let found = told(&desk);
    assert!(
        matches!(&found[..], [(AdviceKind::Burns, what, command)] if what.starts_with("app-1 uses up its budget") && command == "ao attach app-1"),
        "{found:?}"
    );
}

#[test]
fn ranks_begin_with_one_and_what_lets_most_go_on_is_first() {
    let mut desk = Desk::new();
    let quiet = desk.idle("1");
    let busy = desk.idle("2");
    for n in 10..14 {
        desk.task(&n.to_string(), &["2"], false);
    }
    for session in [quiet, busy] {
        desk.now = desk.now + std::time::Duration::from_secs(1);
        desk.sees(session, SignalSource::Hook, asking());
    }
    let found = advice(&desk);
    let ranks: Vec<u32> = found.iter().map(|one| one.rank).collect();
    assert_eq!(ranks, (1..=found.len() as u32).collect::<Vec<_>>());
    assert!(found[0].what.starts_with("app-2 waits"), "{found:?}");
}

/// acceptance: J10
#[test]
fn an_issue_whose_session_was_stopped_is_advised_and_not_forgotten() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    let config = ProjectConfig {
        path: "~/app".into(),
        default_branch: "main".into(),
        auto_assign: Some(AutoAssign::default()),
        ..ProjectConfig::default()
    };
    desk.take(Input::Project { project: app(), input: ProjectInput::Configure(Box::new(config)) });
    desk.task("1", &[], false);
    assert!(advice(&desk).is_empty(), "{:?}", advice(&desk));
    desk.tell(session, SessionInput::Stop { by: "ann".into(), why: String::new() });
    desk.ended(session);
    let found = advice(&desk);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].what.contains("app#1 is open, and its session has ended"), "{}", found[0].what);
    assert_eq!(found[0].command, "ao spawn 1 --project app");
    desk.task("1", &[], true);
    assert!(advice(&desk).is_empty(), "{:?}", advice(&desk));
}
