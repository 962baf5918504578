//! A policy in force, step by step: what is ready, what is merged unasked, and what time and a broken file change.

use std::collections::BTreeSet;
use std::time::Duration;

use ao_core::incident::{EscalationLevel, IncidentKind};
use ao_core::policy::{AgentTrust, Freeze, HumanNeed, Policy, ScanFinding, ScanResult};
use ao_core::project::{ProjectInput, RepositorySuspicion};
use ao_core::pull::{
    AuthorFacts, AuthorStanding, ChangeSize, CheckState, Mergeable, PullFacts, PullInput, PullState,
    ReviewFacts, ReviewVerdict,
};
use ao_core::session::{AgentAbilities, AgentChoice};
use ao_core::{Commit, Event, Input, Timestamp};

use crate::desk::{Desk, app, request};
use crate::incidents::{facts, pull, with_pull};

fn seen(desk: &mut Desk, change: impl FnOnce(&mut PullFacts)) {
    let mut look = facts(desk, "c1", CheckState::Passed);
    look.size = ChangeSize { files: vec!["src/a.rs".into()], added: 3, removed: 0 };
    change(&mut look);
    desk.take(Input::Pull { pull: pull(), input: PullInput::Seen(Box::new(look)) });
}

fn approved_by(logins: &[&str]) -> Vec<ReviewFacts> {
    let review = |login: &&str| ReviewFacts {
        id: (*login).to_owned(),
        author: AuthorFacts { login: (*login).to_owned(), standing: AuthorStanding::Member },
        verdict: ReviewVerdict::Approved,
        commit: Commit::new("c1"),
        body: String::new(),
        revision: "1".into(),
    };
    logins.iter().map(review).collect()
}

fn say(desk: &mut Desk, policy: Policy) {
    let input = ProjectInput::PolicySeen(Some(Box::new(policy)));
    desk.take(Input::Project { project: app(), input });
}

fn is_queued(desk: &Desk) -> bool {
    !desk.state.projects[&app()].queue.entries.is_empty()
}

fn auto() -> Policy {
    Policy { auto_merge: Some(true), ..Policy::default() }
}

/// Being asked once with one approval must not use up the only try. acceptance: F11
#[test]
fn two_approvals_are_waited_for_and_then_it_is_queued() {
    let mut desk = Desk::new();
    with_pull(&mut desk);
    say(&mut desk, Policy { approvals: 2, ..auto() });
    seen(&mut desk, |look| look.reviews = approved_by(&["bob"]));
    desk.wait(3_600);
    assert!(!is_queued(&desk));
    seen(&mut desk, |look| look.reviews = approved_by(&["bob", "ann"]));
    assert!(is_queued(&desk));
}

/// acceptance: F11
#[test]
fn nothing_is_queued_unless_it_was_switched_on_and_off_counts_more() {
    for (auto_merge, reaction, queued) in [
        (None, None, false),
        (Some(false), None, false),
        (Some(true), None, true),
        (None, Some(true), true),
        (Some(false), Some(true), false),
        (Some(true), Some(false), false),
    ] {
        let mut settings = ao_core::DaemonSettings::default();
        if let Some(auto) = reaction {
            let patch = ao_core::reaction::ReactionPatch { auto: Some(auto), ..Default::default() };
            settings.reactions.insert(ao_core::incident::IncidentKind::ApprovedAndGreen, patch);
        }
        let mut desk = Desk::with(settings);
        with_pull(&mut desk);
        say(&mut desk, Policy { auto_merge, ..Policy::default() });
        seen(&mut desk, |look| look.reviews = approved_by(&["bob"]));
        assert_eq!(is_queued(&desk), queued, "policy {auto_merge:?}, reaction {reaction:?}");
    }
}

/// What became of an earlier head says nothing of this one.
#[test]
fn a_change_that_left_the_queue_is_queued_again_at_its_new_head() {
    let mut desk = Desk::new();
    with_pull(&mut desk);
    say(&mut desk, auto());
    seen(&mut desk, |look| look.reviews = approved_by(&["bob"]));
    assert!(is_queued(&desk));
    for head in ["c2", "c3"] {
        desk.now = desk.now + std::time::Duration::from_secs(5);
        let commit = Commit::new(head);
        let mut look = facts(&desk, head, CheckState::Passed);
        look.size = ChangeSize { files: vec!["src/a.rs".into()], added: 3, removed: 0 };
        look.reviews = approved_by(&["bob"]);
        look.reviews[0].commit = commit.clone();
        desk.take(Input::Pull { pull: pull(), input: PullInput::Seen(Box::new(look)) });
        let entry = desk.state.projects[&app()].queue.entry(&pull()).map(|entry| entry.head.clone());
        assert_eq!(entry, Some(commit), "nobody had to ask for it");
    }
    assert_eq!(desk.told(), [""; 0]);
}

#[test]
fn where_no_approval_is_asked_for_none_is_waited_for_but_a_person_is_for_the_policy_itself() {
    let mut desk = Desk::new();
    with_pull(&mut desk);
    say(&mut desk, Policy { approvals: 0, ..auto() });
    seen(&mut desk, |look| look.size.files.push(".ao/policy.yaml".into()));
    assert!(!is_queued(&desk));
    seen(&mut desk, |_| {});
    assert!(is_queued(&desk));
}

#[test]
fn what_is_ready_goes_when_the_freeze_ends_with_nobody_looking() {
    let mut desk = Desk::new();
    with_pull(&mut desk);
    let until = Timestamp(desk.now.0 + 3_600_000);
    let freeze = vec![Freeze { from: Timestamp(0), until, why: "release".into() }];
    say(&mut desk, Policy { freeze, ..auto() });
    seen(&mut desk, |look| look.reviews = approved_by(&["bob"]));
    assert!(!is_queued(&desk));
    desk.wait(3_500);
    assert!(!is_queued(&desk));
    desk.wait(200);
    assert!(is_queued(&desk));
}

#[test]
fn a_broken_policy_holds_everything_up_and_a_person_is_told_once_with_the_place() {
    let mut desk = Desk::new();
    with_pull(&mut desk);
    say(&mut desk, auto());
    for _ in 0..2 {
        let why = ".ao/policy.yaml:2:1: unknown key `autoMerg` (did you mean `autoMerge`?)".to_owned();
        desk.take(Input::Project { project: app(), input: ProjectInput::PolicyBroken { why } });
    }
    let told: Vec<String> = desk.told().into_iter().filter(|text| text.contains("cannot be read")).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains(".ao/policy.yaml:2:1") && told[0].contains("did you mean"), "{told:?}");
    seen(&mut desk, |look| look.reviews = approved_by(&["bob"]));
    assert!(!is_queued(&desk));
    say(&mut desk, auto());
    assert!(is_queued(&desk), "mended");
}

#[test]
fn what_was_not_looked_through_waits_and_a_new_head_is_looked_through_anew() {
    let mut desk = Desk::new();
    with_pull(&mut desk);
    let policy = Policy { secrets: true, approvals: 0, ..auto() };
    let rules = policy.looks_for().unwrap();
    say(&mut desk, policy);
    seen(&mut desk, |_| {});
    assert!(!is_queued(&desk));
    let scan = |head: &str, found: &[u32]| ScanResult {
        head: Commit::new(head),
        rules: rules.clone(),
        found: found
            .iter()
            .map(|line| ScanFinding { file: "src/a.rs".into(), line: *line, rule: "github-pat".into() })
            .collect(),
        more: false,
        failed: None,
    };
    let take = |desk: &mut Desk, scan| {
        desk.take(Input::Pull { pull: pull(), input: PullInput::Scanned(Box::new(scan)) })
    };
    assert!(take(&mut desk, scan("c0", &[])).is_empty(), "of a head that is gone");
    take(&mut desk, scan("c1", &[3]));
    assert!(!is_queued(&desk));
    let mut next = facts(&desk, "c2", CheckState::Passed);
    next.size = ChangeSize { files: vec!["src/a.rs".into()], added: 3, removed: 0 };
    desk.take(Input::Pull { pull: pull(), input: PullInput::Seen(Box::new(next)) });
    assert!(!is_queued(&desk));
    take(&mut desk, scan("c2", &[]));
    assert!(is_queued(&desk));
}

/// acceptance: F12
#[test]
fn an_agent_that_gives_its_pull_request_up_is_trusted_no_more_and_nobody_lends_it_trust() {
    let mut desk = Desk::new();
    let maker = with_pull(&mut desk);
    let agents = [("scripted", "none"), ("veteran", "high")].map(|(name, level)| (name.into(), level.into()));
    let trust =
        AgentTrust { agents: agents.into(), default: "high".into(), levels: AgentTrust::known_levels() };
    let need = HumanNeed { authors: vec!["scripted".into()], ..HumanNeed::default() };
    say(&mut desk, Policy { approvals: 0, trust: vec![trust], human: vec![need], ..auto() });
    seen(&mut desk, |_| {});
    let against = |desk: &Desk| -> Vec<&'static str> {
        let verdict = desk.state.verdict(&desk.state.pulls[&pull()], desk.now);
        verdict.against().map(|rule| rule.rule.word()).collect()
    };
    assert_eq!(against(&desk), ["human", "trust"]);
    desk.take(Input::Pull { pull: pull(), input: PullInput::Release { session: maker } });
    assert_eq!(against(&desk), ["human", "trust"], "it has given it up");

    let mut other = request("2", AgentAbilities::default());
    other.agent = AgentChoice { name: "veteran".into(), ..other.agent };
    let spawned = desk.take(Input::Spawn(Box::new(other)));
    let veteran = spawned.iter().find_map(Event::session).unwrap();
    desk.take(Input::Pull { pull: pull(), input: PullInput::Claim { session: veteran } });
    assert_eq!(desk.state.pulls[&pull()].owner, Some(veteran));
    assert_eq!(against(&desk), ["human", "trust"], "another one has taken it on");

    // Also when it is known by nothing but what was stored of it.
    desk.state = serde_json::from_value(serde_json::to_value(&desk.state).unwrap()).unwrap();
    assert_eq!(against(&desk), ["human", "trust"]);
    assert!(!is_queued(&desk));
}

/// acceptance: G3
#[test]
fn a_repository_that_was_changed_is_a_persons_matter_until_it_is_confirmed() {
    let mut desk = Desk::new();
    with_pull(&mut desk);
    let seen = |desk: &mut Desk, suspicions: Vec<RepositorySuspicion>| {
        let input = ProjectInput::RepositorySeen { suspicions };
        desk.take(Input::Project { project: app(), input });
    };
    let open = |desk: &Desk| {
        let mut of = desk.state.incidents.values();
        of.find(|it| it.key.kind == IncidentKind::RepositoryChanged && it.absent.is_none()).cloned()
    };
    let moved = RepositorySuspicion {
        what: "base main".into(),
        revision: "c2".into(),
        detail: "by `x`\nto c2".into(),
    };
    seen(&mut desk, vec![moved.clone()]);
    let incident = open(&desk).expect("it is open");
    assert_eq!(incident.level, EscalationLevel::Person);
    assert!(incident.detail.contains("to c2"), "{}", incident.detail);
    let before = desk.state.clone();
    seen(&mut desk, vec![moved]);
    assert_eq!(desk.state.incidents, before.incidents, "the same again is no news");
    seen(&mut desk, vec![]);
    assert_eq!(open(&desk), None);
}

/// The default policy binds only what is merged unasked, and of a closed one nothing else is said.
#[test]
fn a_person_hears_all_that_stands_in_the_way_of_a_merge_and_what_yields() {
    let mut desk = Desk::new();
    with_pull(&mut desk);
    let mut blockers = |change: &dyn Fn(&mut PullFacts)| -> Vec<String> {
        desk.now = desk.now + Duration::from_secs(1);
        seen(&mut desk, change);
        let found = desk.state.blockers(&desk.state.pulls[&pull()], &BTreeSet::new(), desk.now);
        let word = |yields| if yields { "?" } else { "!" };
        found.iter().map(|it| format!("{}{}", it.blocker(), word(it.rule.yields()))).collect()
    };
    assert_eq!(blockers(&|_| {}), [""; 0]);
    assert_eq!(blockers(&|look| look.draft = true), ["it is a draft!"]);
    let files = || vec!["a.rs".to_owned(), "b c.rs".to_owned()];
    assert_eq!(
        blockers(&|look| look.mergeable = Mergeable::Conflict { files: files() }),
        ["it conflicts with `main` in a.rs, b c.rs!"]
    );
    assert_eq!(
        blockers(&|look| look.checks[0].state = CheckState::Pending),
        ["checks: still running on c1: test?"]
    );
    let objects = |look: &mut PullFacts| {
        look.reviews = approved_by(&["ann", "bob"]);
        look.reviews.iter_mut().for_each(|review| review.verdict = ReviewVerdict::ChangesRequested);
    };
    assert_eq!(blockers(&objects), ["ann, bob have asked for changes?"]);
    let closed = |look: &mut PullFacts| (look.state, look.draft) = (PullState::Closed, true);
    assert_eq!(blockers(&closed), ["it is closed!"]);
}
