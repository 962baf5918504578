//! Work: whose turn it is, who is told of it, what is advised, and when all of it is done.

use std::time::Duration;

use ao_core::advise::{AdviceKind, advise};
use ao_core::evidence::{Reading, SignalSource};
use ao_core::incident::IncidentKind;
use ao_core::notice::NoticeInput;
use ao_core::policy::{MergeRule, Policy};
use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::pull::{
    AuthorFacts, AuthorStanding, ChangeSize, CheckState, CommentFacts, Mergeable, PullFacts, PullInput,
    PullState, ReviewFacts, ReviewVerdict, ThreadFacts,
};
use ao_core::queue::QueueInput;
use ao_core::reaction::{ReactionAction, ReactionPatch};
use ao_core::session::{Phase, SessionInput};
use ao_core::work::{CheckSummary, PullWork, ReviewSummary, SessionWork, WorkStage, WorkTurn, WorkView};
use ao_core::{Commit, DaemonSettings, Effect, Input, PullId, Scope, SessionId, wants};

use crate::desk::{Desk, TYPED, app, asking};
use crate::incidents::{facts, pull, red, with_pull};

fn work(desk: &Desk, session: SessionId) -> SessionWork {
    WorkView::of(&desk.state, desk.now).session(desk.session(session))
}

fn of_pull(desk: &Desk) -> PullWork {
    WorkView::of(&desk.state, desk.now).pull(&desk.state.pulls[&pull()])
}

fn look(desk: &mut Desk, id: PullId, check: CheckState, change: impl FnOnce(&mut PullFacts)) {
    desk.now = desk.now + Duration::from_secs(1);
    let mut seen = facts(desk, "c1", check);
    seen.size = ChangeSize { files: vec!["src/a.rs".into()], added: 1, removed: 0 };
    change(&mut seen);
    desk.take(Input::Pull { pull: id, input: PullInput::Seen(Box::new(seen)) });
}

fn person(login: &str) -> AuthorFacts {
    AuthorFacts { login: login.into(), standing: AuthorStanding::Member }
}

fn review(verdict: ReviewVerdict, commit: &str) -> ReviewFacts {
    ReviewFacts {
        id: "r1".into(),
        author: person("ann"),
        verdict,
        commit: Commit::new(commit),
        body: "please".into(),
        revision: "1".into(),
    }
}

fn thread(last: AuthorFacts) -> ThreadFacts {
    let comment = |id: &str, author| CommentFacts {
        id: id.into(),
        author,
        body: "why?".into(),
        url: String::new(),
        revision: "1".into(),
    };
    ThreadFacts {
        id: "t1".into(),
        path: Some("src/a.rs".into()),
        line: Some(3),
        resolved: false,
        comments: vec![comment("1", person("ann")), comment("2", last)],
    }
}

fn policy(desk: &mut Desk, change: impl FnOnce(&mut Policy)) {
    let mut policy = Policy::default();
    change(&mut policy);
    let input = ProjectInput::PolicySeen(Some(Box::new(policy)));
    desk.take(Input::Project { project: app(), input });
}

#[test]
fn the_turn_on_a_pull_request_is_read_off_its_facts() {
    use ReviewVerdict::{Approved, ChangesRequested, Commented};
    type Change = Box<dyn FnOnce(&mut PullFacts)>;
    let passed = || CheckState::Passed;
    let change = |change: fn(&mut PullFacts)| -> Change { Box::new(change) };
    type Row = (CheckState, Change, WorkTurn, WorkStage, &'static str, Option<&'static str>);
    let table: Vec<Row> = vec![
        (
            passed(),
            change(|_| {}),
            WorkTurn::You,
            WorkStage::Review,
            "waits for your review",
            Some("ao pr diff 7"),
        ),
        (
            passed(),
            change(|facts| facts.checks.clear()),
            WorkTurn::You,
            WorkStage::Review,
            "waits for your review",
            Some("ao pr diff 7"),
        ),
        (
            passed(),
            change(|facts| facts.reviews = vec![review(Commented, "c1")]),
            WorkTurn::You,
            WorkStage::Review,
            "waits for your review",
            Some("ao pr diff 7"),
        ),
        (
            passed(),
            change(|facts| facts.reviews = vec![review(Approved, "c0")]),
            WorkTurn::You,
            WorkStage::Review,
            "has new commits since it was approved, and waits for your review",
            Some("ao pr diff 7"),
        ),
        (
            passed(),
            change(|facts| facts.reviews = vec![review(Approved, "c1")]),
            WorkTurn::You,
            WorkStage::Merge,
            "is approved, and waits for you to merge it",
            Some("ao pr merge 7"),
        ),
        (
            passed(),
            change(|facts| facts.reviews = vec![review(ChangesRequested, "c1")]),
            WorkTurn::Agent,
            WorkStage::ChangesRequested,
            "has changes requested",
            None,
        ),
        (
            passed(),
            change(|facts| facts.reviews = vec![review(ChangesRequested, "c0")]),
            WorkTurn::You,
            WorkStage::Review,
            "was changed as you asked; look again",
            Some("ao pr diff 7"),
        ),
        (
            passed(),
            change(|facts| facts.threads = vec![thread(person("ann"))]),
            WorkTurn::Agent,
            WorkStage::ChangesRequested,
            "has changes requested",
            None,
        ),
        (
            passed(),
            change(|facts| {
                let agent = AuthorFacts { login: "app-1".into(), standing: AuthorStanding::Agent };
                facts.threads = vec![thread(agent)];
            }),
            WorkTurn::You,
            WorkStage::Review,
            "has an answer to your comments; look again",
            Some("ao pr diff 7"),
        ),
        (
            CheckState::Pending,
            change(|_| {}),
            WorkTurn::Checks,
            WorkStage::ChecksPending,
            "waits for the check `test`",
            None,
        ),
        (
            CheckState::Broken { why: "no browser".into() },
            change(|_| {}),
            WorkTurn::You,
            WorkStage::ChecksBroken,
            "has a check that could not be run",
            Some("ao pr checks 7"),
        ),
        (
            red("login"),
            change(|_| {}),
            WorkTurn::Agent,
            WorkStage::ChecksFailed,
            "fails the check `test`",
            None,
        ),
        (
            passed(),
            change(|facts| facts.mergeable = Mergeable::Conflict { files: vec!["src/a.rs".into()] }),
            WorkTurn::Agent,
            WorkStage::Conflict,
            "conflicts with main",
            None,
        ),
        (passed(), change(|facts| facts.draft = true), WorkTurn::Agent, WorkStage::Draft, "is a draft", None),
        (
            passed(),
            change(|facts| facts.state = PullState::Closed),
            WorkTurn::Done,
            WorkStage::Closed,
            "was closed without a merge",
            None,
        ),
    ];
    for (row, (check, change, turn, stage, says, command)) in table.into_iter().enumerate() {
        let mut desk = Desk::new();
        with_pull(&mut desk);
        look(&mut desk, pull(), check, change);
        desk.run_jobs(|_| Err("there is no runner".into()));
        let PullWork { step, review, .. } = of_pull(&desk);
        let told = (step.turn, step.stage, step.says.as_str(), step.command.as_deref());
        assert_eq!(told, (turn, stage, says, command), "row {row}");
        // Clients leave the sentence out where the stage is enough.
        let is_again = stage == WorkStage::Review && says != "waits for your review";
        assert_eq!(review == ReviewSummary::WaitingAgain, is_again, "row {row}");
    }
}

#[test]
fn checks_and_reviews_are_summed_up_in_a_word() {
    let mut desk = Desk::new();
    with_pull(&mut desk);
    let mut seen = |check, change: fn(&mut PullFacts)| {
        look(&mut desk, pull(), check, change);
        let work = of_pull(&desk);
        (work.checks, work.review)
    };
    assert_eq!(seen(CheckState::Pending, |_| {}), (CheckSummary::Pending, ReviewSummary::None));
    assert_eq!(seen(red("login"), |_| {}), (CheckSummary::Red, ReviewSummary::None));
    assert_eq!(seen(CheckState::Passed, |_| {}), (CheckSummary::Green, ReviewSummary::Waiting));
    let none = seen(CheckState::Passed, |facts| facts.checks.clear());
    assert_eq!(none, (CheckSummary::None, ReviewSummary::Waiting));
    let approved = seen(CheckState::Passed, |facts| {
        facts.reviews = vec![review(ReviewVerdict::Approved, "c1")];
    });
    assert_eq!(approved, (CheckSummary::Green, ReviewSummary::Approved));
    let asked = seen(CheckState::Passed, |facts| {
        facts.reviews = vec![review(ReviewVerdict::ChangesRequested, "c1")];
    });
    assert_eq!(asked, (CheckSummary::Green, ReviewSummary::ChangesRequested));
}

#[test]
fn what_only_a_person_can_decide_is_a_persons_turn_and_a_freeze_is_nobodys() {
    let mut desk = Desk::new();
    with_pull(&mut desk);
    policy(&mut desk, |policy| policy.max_lines = Some(10));
    look(&mut desk, pull(), CheckState::Passed, |facts| {
        facts.size = ChangeSize { files: vec!["src/a.rs".into()], added: 900, removed: 0 };
    });
    let step = of_pull(&desk).step;
    assert_eq!((step.turn, step.stage), (WorkTurn::You, WorkStage::Decision));
    assert_eq!(step.says, "is held by the policy: size (1 files, 900 lines of at most 10)");
    assert_eq!(step.command.as_deref(), Some("ao policy explain 7"));

    policy(&mut desk, |policy| {
        policy.approvals = 0;
        policy.freeze = vec![ao_core::policy::Freeze {
            from: desk_time(0),
            until: desk_time(10_000_000),
            why: "release".into(),
        }];
    });
    let step = of_pull(&desk).step;
    assert_eq!((step.turn, step.stage), (WorkTurn::Wait, WorkStage::Freeze), "{step:?}");

    // Without rules that ask for a person, it is merged by a person all the same, unless that is switched on.
    policy(&mut desk, |policy| policy.approvals = 0);
    let step = of_pull(&desk).step;
    assert_eq!((step.turn, step.stage), (WorkTurn::You, WorkStage::Merge));
    assert_eq!(step.then.as_deref(), Some("ao pr merge 7"));
    policy(&mut desk, |policy| (policy.approvals, policy.auto_merge) = (0, Some(true)));
    let step = of_pull(&desk).step;
    assert_eq!((step.turn, step.stage), (WorkTurn::Queue, WorkStage::MergeQueue), "{step:?}");
}

fn desk_time(seconds: u64) -> ao_core::Timestamp {
    Desk::new().now + Duration::from_secs(seconds)
}

#[test]
fn what_is_in_the_merge_queue_is_the_queues_turn() {
    let mut desk = Desk::new();
    let session = with_pull(&mut desk);
    look(&mut desk, pull(), CheckState::Passed, |facts| {
        facts.reviews = vec![review(ReviewVerdict::Approved, "c1")];
    });
    let enqueue = QueueInput::Enqueue { pull: pull(), head: Commit::new("c1"), priority: 0 };
    desk.take(Input::Queue { project: app(), input: enqueue });
    let told = work(&desk, session);
    assert_eq!((told.step.turn, told.step.says.as_str()), (WorkTurn::Queue, "!7 is next in the merge queue"));
    assert_eq!(told.pull.unwrap().queued, Some(1));
    desk.take(Input::Queue { project: app(), input: QueueInput::Pause { why: "Friday".into() } });
    assert_eq!(work(&desk, session).step.turn, WorkTurn::Wait);
}

#[test]
fn an_agent_that_cannot_mend_its_change_hands_the_turn_to_a_person() {
    let mut desk = Desk::new();
    let session = with_pull(&mut desk);
    look(&mut desk, pull(), red("login"), |_| {});
    desk.run_jobs(|_| Err("there is no runner".into()));
    assert_eq!(work(&desk, session).step.turn, WorkTurn::Agent);
    // It never answers, until patience ends.
    for _ in 0..10 {
        crate::incidents::listen(&mut desk, session);
        desk.wait(1900);
    }
    let step = work(&desk, session).step;
    assert_eq!((step.turn, step.stage), (WorkTurn::You, WorkStage::ChecksFailed));
    assert!(step.says.ends_with("its agent was told 3 times"), "{}", step.says);

    // With nobody to mend it, it is a person's turn at once.
    let mut desk = Desk::new();
    let session = with_pull(&mut desk);
    desk.tell(session, SessionInput::Stop { by: "ann".into(), why: String::new() });
    desk.ended(session);
    look(&mut desk, pull(), red("login"), |_| {});
    desk.run_jobs(|_| Err("there is no runner".into()));
    desk.wait(3600);
    let step = work(&desk, session).step;
    assert_eq!((step.turn, step.stage), (WorkTurn::You, WorkStage::ChecksFailed), "{step:?}");
}

/// acceptance: J10
#[test]
fn a_session_is_shown_by_its_work_and_not_by_its_process() {
    let mut desk = Desk::new();
    let session = with_pull(&mut desk);
    look(&mut desk, pull(), CheckState::Passed, |_| {});
    assert_eq!(work(&desk, session).step.says, "!7 waits for your review");
    // Its turn is over and its process gone: that changes nothing about its change.
    desk.sees(session, SignalSource::Process, Reading::Exited { code: Some(0) });
    desk.ended(session);
    let told = work(&desk, session).step;
    assert_eq!((told.turn, told.stage), (WorkTurn::You, WorkStage::Review), "{}", desk.status(session));
    assert_eq!(told.command.as_deref(), Some("ao pr diff 7"));

    // Without a change it has ended its turn well, and nobody is called.
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.sees(session, SignalSource::Process, Reading::Exited { code: Some(0) });
    desk.ended(session);
    assert_eq!(work(&desk, session).step.stage, WorkStage::Idle, "{}", desk.status(session));
}

#[test]
fn a_question_goes_before_the_change_and_is_never_hidden_by_it() {
    let mut desk = Desk::new();
    let session = with_pull(&mut desk);
    desk.now = desk.now + Duration::from_secs(1);
    desk.sees(session, SignalSource::Hook, asking());
    let step = work(&desk, session).step;
    assert_eq!((step.turn, step.stage), (WorkTurn::You, WorkStage::Question));
    assert!(step.says.starts_with("asks: "), "{}", step.says);
}

// ── people are told ──

impl Desk {
    /// Every channel takes what it is given, as the daemon would hand it over; returns what each was given.
    fn deliver(&mut self) -> Vec<String> {
        let mut told = Vec::new();
        loop {
            let ids: Vec<_> = self.state.notices.keys().copied().collect();
            let wanted: Vec<Effect> =
                ids.iter().flat_map(|id| wants(&self.state, &Scope::Notice(*id))).collect();
            if wanted.is_empty() {
                return told;
            }
            for effect in wanted {
                let Effect::Notify { notice, channel } = effect else { continue };
                let tries = notice.tries_on(channel.as_deref());
                let input = match channel {
                    None => NoticeInput::Addressed { tries, channels: vec!["desk".into()] },
                    Some(channel) => {
                        told.push(notice.text.clone());
                        NoticeInput::Told { channel, tries }
                    }
                };
                self.take(Input::Notice { notice: notice.id, input });
            }
        }
    }

    /// Lets time pass in small steps, and returns what people were told meanwhile.
    fn hears(&mut self, seconds: u64) -> Vec<String> {
        let mut told = self.deliver();
        for _ in 0..seconds {
            self.wait(1);
            told.extend(self.deliver());
        }
        told
    }
}

fn numbered(number: u64) -> PullId {
    PullId { project: app(), number }
}

/// A session with a pull request of its own, green and not reviewed.
fn waiting_change(desk: &mut Desk, number: u64) -> SessionId {
    let session = desk.idle_with(&number.to_string(), TYPED);
    look(desk, numbered(number), CheckState::Passed, |facts| {
        facts.title = format!("Change {number}");
        facts.head_branch = format!("agent/app-{number}");
        facts.url = String::new();
    });
    desk.take(Input::Pull { pull: numbered(number), input: PullInput::Claim { session } });
    session
}

fn roomy() -> Desk {
    Desk::with(DaemonSettings { max_live: 100, ..DaemonSettings::default() })
}

/// acceptance: J4
#[test]
fn a_change_that_waits_is_told_once_whatever_flickers() {
    let mut desk = roomy();
    waiting_change(&mut desk, 7);
    let told = desk.hears(60);
    assert_eq!(
        told,
        [
            "app!7: A pull request waits for you. Change 7: it waits for your review\nLook at it with: ao pr diff 'app!7'"
        ]
    );
    // Its check is run again, for longer than a problem has to be gone to be over; twice.
    for _ in 0..2 {
        look(&mut desk, pull(), CheckState::Pending, |facts| facts.head_branch = "agent/app-7".into());
        assert_eq!(desk.hears(1000), [""; 0]);
        look(&mut desk, pull(), CheckState::Passed, |facts| facts.head_branch = "agent/app-7".into());
        assert_eq!(desk.hears(1000), [""; 0], "the same head");
    }
    // A start reads the same state from the log; `Desk` compares that after every input.
    look(&mut desk, pull(), CheckState::Passed, |facts| {
        facts.head_branch = "agent/app-7".into();
        facts.head = Commit::new("c2");
        facts.checks[0].commit = Commit::new("c2");
    });
    assert_eq!(desk.hears(700).len(), 1, "another head is another question");
}

/// The check of a head that waits is run again just when people would be told. acceptance: J4
#[test]
fn a_change_that_is_away_when_notices_go_out_is_told_when_it_is_back() {
    for away in [30, 2000] {
        let mut desk = roomy();
        waiting_change(&mut desk, 7);
        assert_eq!(desk.hears(5), [""; 0], "others may come");
        look(&mut desk, pull(), CheckState::Pending, |facts| facts.head_branch = "agent/app-7".into());
        assert_eq!(desk.hears(away), [""; 0], "it does not wait for anybody now");
        look(&mut desk, pull(), CheckState::Passed, |facts| facts.head_branch = "agent/app-7".into());
        assert_eq!(desk.hears(1000).len(), 1, "away for {away} s");
        assert_eq!(desk.hears(1000), [""; 0]);
    }
}

/// acceptance: J4
#[test]
fn thirty_changes_that_come_close_together_make_one_digest() {
    let mut desk = roomy();
    let mut told = Vec::new();
    for number in 1..=30 {
        waiting_change(&mut desk, number);
        told.extend(desk.deliver());
    }
    told.extend(desk.hears(3600));
    assert_eq!(told.len(), 1, "{told:?}");
    let lines: Vec<&str> = told[0].lines().collect();
    assert_eq!(lines[0], "30 pull requests wait for you:");
    assert_eq!((lines.len(), lines[1]), (31, "· app!1: Change 1: it waits for your review"));
    // What trickles in afterwards is gathered too, and not told one by one.
    for number in 31..=40 {
        waiting_change(&mut desk, number);
        assert!(desk.hears(30).len() <= 1, "{number}");
    }
    assert_eq!(desk.hears(3600).len(), 1);
}

#[test]
fn what_was_reviewed_before_anybody_was_told_is_not_told() {
    let mut desk = roomy();
    waiting_change(&mut desk, 7);
    assert_eq!(desk.hears(5), [""; 0], "others may come");
    look(&mut desk, pull(), CheckState::Passed, |facts| {
        facts.head_branch = "agent/app-7".into();
        facts.reviews = vec![review(ReviewVerdict::ChangesRequested, "c1")];
    });
    assert_eq!(desk.hears(600), [""; 0]);
}

#[test]
fn what_is_done_about_a_waiting_change_can_be_configured() {
    let patch = ReactionPatch { action: Some(ReactionAction::Record), ..ReactionPatch::default() };
    let reactions = [(IncidentKind::ReviewNeeded, patch)].into();
    let mut desk = Desk::with(DaemonSettings { reactions, ..DaemonSettings::default() });
    waiting_change(&mut desk, 7);
    assert_eq!(desk.hears(600), [""; 0]);
    assert_eq!(of_pull(&desk).step.turn, WorkTurn::You, "it waits all the same");
}

// ── advice ──

/// acceptance: J4
#[test]
fn a_change_that_blocks_others_is_advised_first() {
    let mut desk = roomy();
    let asks = desk.idle("90");
    waiting_change(&mut desk, 1);
    waiting_change(&mut desk, 2);
    desk.task("50", &["2"], false);
    desk.now = desk.now + Duration::from_secs(1);
    desk.sees(asks, SignalSource::Hook, asking());
    let found = advise(&desk.state, desk.now, None);
    let told: Vec<(AdviceKind, &str, &str)> =
        found.iter().map(|one| (one.kind, one.what.as_str(), one.command.as_str())).collect();
    assert_eq!(told[0], (AdviceKind::Review, "app!2 waits for your review: Change 2", "ao pr diff 2"));
    assert_eq!(told[1].0, AdviceKind::Answer);
    assert_eq!(told[2], (AdviceKind::Review, "app!1 waits for your review: Change 1", "ao pr diff 1"));
    assert!(found[0].why.contains("one other waits for it"), "{}", found[0].why);
}

#[test]
fn a_change_whose_session_keeps_a_slot_that_another_waits_for_is_advised_first() {
    let mut desk = Desk::with(DaemonSettings { max_live: 2, ..DaemonSettings::default() });
    let asks = desk.idle("90");
    waiting_change(&mut desk, 1);
    desk.spawn("91");
    desk.now = desk.now + Duration::from_secs(1);
    desk.sees(asks, SignalSource::Hook, asking());
    let found = advise(&desk.state, desk.now, None);
    let keeps = desk.state.live().filter(|session| session.takes_slot()).count() == 2;
    assert_eq!((found[0].kind == AdviceKind::Review, found[0].unblocks == 1), (keeps, keeps), "{found:?}");
}

/// Each way to need a person is advised, so that no advice means that nothing does. acceptance: J10
#[test]
fn whatever_waits_for_a_person_is_advised() {
    let mut desk = roomy();
    let session = with_pull(&mut desk);
    desk.tell(session, SessionInput::Stop { by: "ann".into(), why: String::new() });
    desk.ended(session);
    look(&mut desk, pull(), CheckState::Passed, |facts| facts.draft = true);
    let found = advise(&desk.state, desk.now, None);
    let told: Vec<(&str, &str)> = found.iter().map(|one| (one.what.as_str(), one.command.as_str())).collect();
    assert_eq!(told, [("app!7 is a draft, and no agent works on it: Fix login", "ao pr ready 7")]);

    let mut desk = roomy();
    let session = desk.idle("1");
    for _ in 0..10 {
        desk.sees(session, SignalSource::Process, Reading::Exited { code: Some(1) });
        desk.ended(session);
        desk.wait(600);
        if !matches!(desk.session(session).phase, Phase::Starting { .. }) {
            break;
        }
        desk.launch(session);
    }
    let step = work(&desk, session).step;
    let found = advise(&desk.state, desk.now, None);
    assert_eq!(
        (step.turn, step.stage, found.len()),
        (WorkTurn::You, WorkStage::Stuck, 1),
        "{step:?} {found:?}"
    );
    assert_eq!(step.command.as_deref(), Some("ao session restore app-1"));
}

// ── the end ──

#[test]
fn all_work_is_done_only_when_no_change_is_open_any_more() {
    let mut desk = roomy();
    let session = with_pull(&mut desk);
    look(&mut desk, pull(), CheckState::Passed, |_| {});
    desk.tell(session, SessionInput::Stop { by: "ann".into(), why: String::new() });
    desk.ended(session);
    assert_eq!(desk.count("project.completed"), 0, "its change waits for a review");
    look(&mut desk, pull(), CheckState::Passed, |facts| facts.state = PullState::Closed);
    assert_eq!(desk.count("project.completed"), 1);
}

/// acceptance: J10
#[test]
fn checks_that_a_conflict_keeps_from_running_are_not_said_to_run() {
    let mut desk = Desk::new();
    with_pull(&mut desk);
    look(&mut desk, pull(), CheckState::Pending, |facts| {
        facts.mergeable = Mergeable::Conflict { files: vec!["a.rs".into()] };
    });
    let work = of_pull(&desk);
    assert_eq!((work.checks, work.step.stage), (CheckSummary::Blocked, WorkStage::Conflict));
    let verdict = desk.state.verdict(&desk.state.pulls[&pull()], desk.now);
    let checks =
        verdict.against().find(|rule| rule.rule == MergeRule::Checks).map(|rule| rule.evidence.clone());
    assert_eq!(checks.as_deref(), Some("cannot run while it conflicts with `main`"));
}

/// acceptance: J6
#[test]
fn the_reaction_alone_merges_what_its_policy_allows_without_an_approval() {
    for (approvals, auto, merged) in [(0, true, true), (0, false, false), (1, true, false)] {
        let patch = ReactionPatch {
            auto: Some(auto),
            action: Some(ReactionAction::Merge),
            ..ReactionPatch::default()
        };
        let reactions = [(IncidentKind::ApprovedAndGreen, patch)].into();
        let mut desk = Desk::with(DaemonSettings { reactions, ..DaemonSettings::default() });
        with_pull(&mut desk);
        policy(&mut desk, |policy| policy.approvals = approvals);
        look(&mut desk, pull(), CheckState::Passed, |_| {});
        let step = of_pull(&desk).step;
        assert_eq!(step.turn == WorkTurn::Queue, merged, "{approvals} {auto}: {step:?}");
        assert_eq!(desk.count("queue.enqueued") > 0, merged, "{approvals} {auto}: {step:?}");
    }
}

/// acceptance: J10
#[test]
fn a_review_that_waits_does_not_hide_an_agent_that_did_not_take_its_message() {
    let mut desk = Desk::new();
    let session = with_pull(&mut desk);
    look(&mut desk, pull(), CheckState::Passed, |_| {});
    assert_eq!(work(&desk, session).step.stage, WorkStage::Review);
    desk.send(session, "Rename it.");
    for _ in 0..=desk.state.settings.restarts {
        desk.sees(session, SignalSource::Process, Reading::Exited { code: Some(7) });
        desk.ended(session);
        desk.wait(120);
        if desk.status(session).starts_with("starting") {
            desk.launch(session);
        }
    }
    let step = work(&desk, session).step;
    assert_eq!((step.turn, step.stage), (WorkTurn::You, WorkStage::Stuck), "{step:?}");
    assert!(step.says.contains("code 7") && step.says.contains("waits for your review"), "{step:?}");
}

#[test]
fn with_several_projects_a_command_names_the_whole_pull_request() {
    let mut desk = Desk::new();
    with_pull(&mut desk);
    look(&mut desk, pull(), CheckState::Passed, |_| {});
    let config =
        ProjectConfig { path: "~/b".into(), default_branch: "main".into(), ..ProjectConfig::default() };
    let project = ao_core::ProjectId::new("b");
    desk.take(Input::Project { project, input: ProjectInput::Configure(Box::new(config)) });
    assert_eq!(of_pull(&desk).step.command.as_deref(), Some("ao pr diff 'app!7'"));
}
