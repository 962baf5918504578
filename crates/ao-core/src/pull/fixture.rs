//! Pull requests for tests, with short constructors.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;
use crate::ProjectId;
use crate::incident::IncidentKind;

pub(crate) fn id() -> PullId {
    PullId { project: ProjectId::new("my-app"), number: 7 }
}

/// A look at time `at`: open, clean, without checks or comments.
pub(crate) fn facts(at: i64) -> PullFacts {
    PullFacts {
        head_title: None,
        no_checks: false,
        observed_at: Timestamp(at),
        title: "Add a thing".into(),
        url: "https://forge/7".into(),
        head: Commit::new("head1"),
        head_branch: "feat".into(),
        head_repo: None,
        head_author: None,
        base_remote: Some("origin".into()),
        base_branch: "main".into(),
        base: Commit::new("base1"),
        draft: false,
        state: PullState::Open,
        author: agent(),
        labels: BTreeSet::new(),
        mergeable: Mergeable::Clean,
        checks: vec![],
        reviews: vec![],
        threads: vec![],
        size: ChangeSize { files: vec!["src/lib.rs".into()], added: 10, removed: 2 },
    }
}

/// A look at a pull request that the default policy allows to merge.
pub(crate) fn ready() -> PullFacts {
    PullFacts {
        checks: vec![check("build", CheckState::Passed)],
        reviews: vec![approved("r1", member("bob"))],
        ..facts(1)
    }
}

pub(crate) fn apply(known: &mut Option<Pull>, input: &PullInput) -> Result<Vec<PullEvent>, PullRefusal> {
    let events = decide(known.as_ref(), input)?;
    for event in &events {
        evolve(known, &id(), event, Timestamp(0));
    }
    Ok(events)
}

/// The pull request after one look.
pub(crate) fn pull(facts: PullFacts) -> Pull {
    after_looks(vec![facts])
}

pub(crate) fn after_looks(looks: Vec<PullFacts>) -> Pull {
    let mut known = None;
    for look in looks {
        apply(&mut known, &PullInput::Seen(Box::new(look))).expect("a look is never refused");
    }
    known.expect("at least one look")
}

/// Applies the looks one after the other and returns the events of the last one by name.
pub(crate) fn last_news(looks: &[PullFacts]) -> String {
    let mut known = None;
    let mut last = vec![];
    for look in looks {
        last = apply(&mut known, &PullInput::Seen(Box::new(look.clone()))).unwrap();
    }
    let names = last.iter().map(|event| serde_json::to_value(event).unwrap());
    names.map(|event| event.as_object().unwrap().keys().next().unwrap().clone()).collect::<Vec<_>>().join(" ")
}

pub(crate) fn member(login: &str) -> AuthorFacts {
    AuthorFacts { login: login.into(), standing: AuthorStanding::Member }
}

pub(crate) fn bot() -> AuthorFacts {
    AuthorFacts { login: "lint-bot".into(), standing: AuthorStanding::Bot }
}

pub(crate) fn agent() -> AuthorFacts {
    AuthorFacts { login: "ao-agent".into(), standing: AuthorStanding::Agent }
}

pub(crate) fn outsider() -> AuthorFacts {
    AuthorFacts { login: "stranger".into(), standing: AuthorStanding::Outsider }
}

pub(crate) fn check(name: &str, state: CheckState) -> CheckFacts {
    CheckFacts { run: None, name: name.into(), commit: Commit::new("head1"), state, required: false }
}

pub(crate) fn failed(name: &str, signature: &str) -> CheckFacts {
    let state = CheckState::Failed {
        certain: false,
        files: vec![],
        signature: signature.into(),
        excerpt: format!("error: {signature}"),
        url: format!("https://ci/{name}"),
        log: Some(format!("/logs/{name}.txt")),
    };
    check(name, state)
}

pub(crate) fn review(id: &str, author: AuthorFacts, verdict: ReviewVerdict, body: &str) -> ReviewFacts {
    let (id, body) = (id.to_owned(), body.to_owned());
    ReviewFacts { id, author, verdict, commit: Commit::new("head1"), body, revision: "1".into() }
}

pub(crate) fn approved(id: &str, author: AuthorFacts) -> ReviewFacts {
    review(id, author, ReviewVerdict::Approved, "")
}

pub(crate) fn thread(id: &str, comments: Vec<CommentFacts>) -> ThreadFacts {
    ThreadFacts { id: id.into(), path: Some("src/lib.rs".into()), line: Some(12), resolved: false, comments }
}

pub(crate) fn comment(id: &str, author: AuthorFacts, revision: &str) -> CommentFacts {
    let body = format!("please change {id} ({revision})");
    CommentFacts {
        id: id.into(),
        author,
        body,
        url: format!("https://forge/7#{id}"),
        revision: revision.into(),
    }
}

/// Looks in the order they were taken, from a world so small that things change, vanish and come back.
pub(crate) fn looks() -> impl Strategy<Value = Vec<PullFacts>> {
    prop::collection::vec(a_look(), 1..8).prop_map(|looks| {
        let timed = looks.into_iter().zip(1..);
        timed.map(|(look, at)| PullFacts { observed_at: Timestamp(at), ..look }).collect()
    })
}

/// The newest of some looks, and all of them in any order.
pub(crate) fn shuffled_looks() -> impl Strategy<Value = (PullFacts, Vec<PullFacts>)> {
    looks().prop_flat_map(|looks| (Just(looks.last().expect("one look").clone()), Just(looks).prop_shuffle()))
}

fn a_look() -> impl Strategy<Value = PullFacts> {
    let mergeable = select(vec![
        Mergeable::Unknown,
        Mergeable::Clean,
        Mergeable::Conflict { files: vec!["b.rs".into(), "a.rs".into()] },
    ]);
    let branch =
        (select(vec!["head1", "head2"]), select(vec!["base1", "base2"]), select(vec!["main", "next"]));
    let labels = subsequence(vec!["urgent", "wip"], 0..=2);
    let state = select(vec![PullState::Open, PullState::Open, PullState::Closed]);
    let lists = (many(a_check(), 4), many(a_review(), 4), many(a_thread(), 3));
    (branch, any::<[bool; 2]>(), labels, mergeable, state, lists).prop_map(
        |((head, base, target), [draft, no_checks], labels, mergeable, state, (checks, reviews, threads))| {
            PullFacts {
                head: Commit::new(head),
                base: Commit::new(base),
                base_branch: target.into(),
                draft,
                labels: labels.into_iter().map(String::from).collect(),
                mergeable,
                state,
                checks,
                no_checks,
                reviews,
                threads,
                ..facts(0)
            }
        },
    )
}

fn many<T: std::fmt::Debug>(one: impl Strategy<Value = T>, most: usize) -> impl Strategy<Value = Vec<T>> {
    prop::collection::vec(one, 0..most)
}

fn an_author() -> impl Strategy<Value = AuthorFacts> {
    select(vec![member("bob"), member("ann"), bot(), agent(), outsider()])
}

fn a_check() -> impl Strategy<Value = CheckFacts> {
    let state = select(vec![
        CheckState::Pending,
        CheckState::Passed,
        CheckState::Skipped,
        failed("x", "E1").state,
        failed("x", "E2").state,
    ]);
    (select(vec!["build", "test"]), select(vec!["head1", "head2"]), state, any::<bool>()).prop_map(
        |(name, commit, state, required)| CheckFacts {
            commit: Commit::new(commit),
            required,
            ..check(name, state)
        },
    )
}

fn a_review() -> impl Strategy<Value = ReviewFacts> {
    use ReviewVerdict::{Approved, ChangesRequested, Commented};
    (select(vec!["r1", "r2", "r3"]), an_author(), select(vec![Approved, ChangesRequested, Commented]))
        .prop_map(|(id, author, verdict)| review(id, author, verdict, "a word"))
}

fn a_thread() -> impl Strategy<Value = ThreadFacts> {
    let a_comment = (select(vec!["c1", "c2", "c3"]), an_author(), select(vec!["1", "2"]));
    let comments = many(a_comment.prop_map(|(id, author, revision)| comment(id, author, revision)), 4);
    (select(vec!["t1", "t2"]), any::<bool>(), comments)
        .prop_map(|(id, resolved, comments)| ThreadFacts { resolved, ..thread(id, comments) })
}

/// The problems after some looks, without their details.
pub(crate) fn problems(looks: Vec<PullFacts>) -> Vec<(IncidentKind, String, String)> {
    let problems = after_looks(looks).problems();
    problems.into_iter().map(|found| (found.kind, found.id.to_string(), found.revision)).collect()
}

pub(crate) fn problem(kind: IncidentKind, problem: &str, revision: &str) -> (IncidentKind, String, String) {
    (kind, problem.into(), revision.into())
}
