//! What people see.

use std::collections::BTreeMap;

use ao::show::{self, FleetView};
use ao_api::{
    Cleanup, Decision, Event, Explanation, Hold, HoldReason, Incident, IncidentLevel, Message, MessageState,
    PullWork, Queue, Rule, Session, SessionPhase, Signal, SignalConfidence, TreeReport, WorkState,
};
use insta::assert_snapshot;
use jiff::tz::TimeZone;

use super::wire::{ago, canvas, plain, pull_work, session, status, variant};

#[test]
fn the_fleet_shows_those_who_need_a_person_first_and_places_in_the_queue() {
    let mut quiet = session("app-quiet", "working");
    quiet.status.quiet_seconds = Some(1200);
    let mut told = session("app-told", "idle");
    told.messages_failed = 1;
    told.pulls = vec!["my-app!7".into()];
    let sessions = [
        session("app-busy", "working"),
        session("app-line-2", "queued"),
        session("app-line-1", "queued"),
        session("app-asks", "needs_input"),
        session("app-gone", "exited"),
        session("app-done", "stopped"),
        quiet,
        told,
    ];
    let cap = Some("5 of 5 agents run".to_owned());
    let queues = BTreeMap::from([
        ("ses_app-line-1".to_owned(), Queue { before: 0, obstacle: cap.clone() }),
        ("ses_app-line-2".to_owned(), Queue { before: 1, obstacle: cap }),
    ]);
    let fleet = FleetView { sessions: &sessions, pulls: &[], queues: &queues };
    assert_snapshot!(plain(&show::fleet(fleet, canvas(100))), @"
    Needs you
      app-asks  question  3m  Fix login validation bug (issue 123)
        May I run `rm -rf build`?
        → ao answer app-asks … --ask 4 or ao attach app-asks
      app-gone  exited    3m  Fix login validation bug (issue 123)
        it exited with code 1
        → ao session restore app-gone or ao stop app-gone

    Idle
      app-told  idle  3m  Fix login validation bug (issue 123) · 1 message not accepted · its turn has…

    At work
      app-busy   working              3m  Fix login validation bug (issue 123) · its turn runs: Bash
      app-quiet  working (quiet 20m)  3m  Fix login validation bug (issue 123) · its turn runs: Bash

    Waiting
      app-line-1  queued  3m  Fix login validation bug (issue 123) · next in line; 5 of 5 agents run
      app-line-2  queued  3m  Fix login validation bug (issue 123) · 1 before it; 5 of 5 agents run

    Ended
      app-done  stopped  3m  Fix login validation bug (issue 123) · stopped by anna

    8 sessions: 2 need you, 1 idle, 2 at work, 2 waiting, 1 ended
    ");
}

#[test]
fn a_narrow_window_gets_less_and_no_line_is_longer_than_it() {
    let sessions = [session("app-asks", "needs_input"), session("app-busy", "working")];
    let queues = BTreeMap::new();
    let fleet = FleetView { sessions: &sessions, pulls: &[], queues: &queues };
    let drawn = plain(&show::fleet(fleet, canvas(48)));
    assert_snapshot!(drawn, @"
    Needs you
      app-asks  question  3m  Fix login validation…
        May I run `rm -rf build`?
        → ao answer app-asks … --ask 4 or ao a…

    At work
      app-busy  working  3m  Fix login validation b…

    2 sessions: 1 needs you, 1 at work
    ");
    let drawn = plain(&show::list(&sessions, canvas(60)));
    assert!(drawn.lines().all(|line| line.chars().count() <= 60), "{drawn}");
}

#[test]
fn nobody_there_is_said_with_what_to_do() {
    let fleet = FleetView { sessions: &[], pulls: &[], queues: &BTreeMap::new() };
    assert_snapshot!(plain(&show::fleet(fleet, canvas(80))), @r#"
    no sessions yet

    Start one with `ao spawn ISSUE`, or with `ao new "what is to be done"`.
    "#);
}

/// acceptance: J4
#[test]
fn work_is_shown_by_whose_turn_it_is_and_what_blocks_others_is_first() {
    let with = |name: &str, state: &str, work| Session { work, ..session(name, state) };
    let review = |unblocks| WorkState {
        command: Some("ao pr diff 7".into()),
        then: Some("ao approve 7".into()),
        unblocks,
        ..pull_work("you", "review", "!7 waits for your review", "green", "waiting")
    };
    let merge = WorkState {
        command: Some("ao pr merge 7".into()),
        ..pull_work("you", "merge", "!7 is approved, and waits for you to merge it", "green", "approved")
    };
    let sessions = [
        with("app-waits", "idle", review(0)),
        with("app-blocks", "exited", review(2)),
        with("app-ready", "stopped", merge),
        with("app-red", "working", pull_work("agent", "working", "!7 fails the check `test`", "red", "none")),
        with(
            "app-run",
            "idle",
            pull_work("checks", "checks_pending", "!7 waits for the check `test`", "pending", "none"),
        ),
        with(
            "app-lands",
            "idle",
            pull_work("queue", "merge_queue", "!7 is next in the merge queue", "green", "approved"),
        ),
    ];
    let loose = [PullWork { project_id: "my-app".into(), work: review(0) }];
    let queues = BTreeMap::new();
    let fleet = FleetView { sessions: &sessions, pulls: &loose, queues: &queues };
    let drawn = plain(&show::fleet(fleet, canvas(80)));
    assert!(drawn.lines().all(|line| line.chars().count() <= 80), "{drawn}");
    assert_snapshot!(drawn, @"
    Needs you
      app-blocks  review  12m  !7  green            Fix login validation bug (issue…
        blocks 2 others
        → ao pr diff 7 then ao approve 7
      app-ready   merge   12m  !7  green  approved  Fix login validation bug (issue…
        → ao pr merge 7
      app-waits   review  12m  !7  green            Fix login validation bug (issue…
        → ao pr diff 7 then ao approve 7
      my-app!7    review  12m  !7  green            Fix login
        → ao pr diff 7 then ao approve 7

    At work
      app-red  working  12m  !7  red  Fix login validation bug (issue 123) · its tu…

    In checks or merge queue
      app-lands  merge queue     12m  !7  green    Fix login validation bug (issue…
      app-run    checks pending  12m  !7  pending  Fix login validation bug (issue…

    6 sessions, 1 other pull request: 4 need you, 1 at work, 2 in checks or queue
    ");
    assert_snapshot!(plain(&show::card(&sessions[1], None, &[], canvas(80))), @"
    app-blocks  review for 12m
      !7 waits for your review

      works on   Fix login validation bug (issue 123)
      turn       yours; it blocks 2 others
      pull       my-app!7: checks green, waits for review
      project    my-app
      agent      claude-code
      runs in    process
      branch     ao/app-blocks
      workspace  /w/my-app/.worktrees/app-blocks
      process    exited for 3m: it exited with code 1
      used       cost unknown, 4 turns, 9m
      made       2h ago
      id         ses_app-blocks

    next: ao pr diff 7  then  ao approve 7
    ");
}

#[test]
fn a_review_is_explained_only_if_it_is_not_the_first() {
    let drawn = |review: &str, says: &str| {
        let work = pull_work("you", "review", says, "green", review);
        let sessions = [Session { work, ..session("app-1", "idle") }];
        plain(&show::fleet(
            FleetView { sessions: &sessions, pulls: &[], queues: &BTreeMap::new() },
            canvas(100),
        ))
    };
    assert!(!drawn("waiting", "!7 waits for a look").contains("waits for a look"));
    let again = "!7 was changed as you asked; look again";
    assert!(drawn("waiting_again", again).contains(again));
}

#[test]
fn many_that_wait_for_a_review_share_one_line_of_commands() {
    let review = |number: u64| WorkState {
        command: Some(format!("ao pr diff {number}")),
        ..pull_work("you", "review", "!7 waits for your review", "green", "waiting")
    };
    let sessions: Vec<Session> =
        (1..=30).map(|n| Session { work: review(n), ..session(&format!("app-{n}"), "idle") }).collect();
    let queues = BTreeMap::new();
    let drawn =
        plain(&show::fleet(FleetView { sessions: &sessions, pulls: &[], queues: &queues }, canvas(80)));
    assert_eq!(drawn.matches("ao pr diff").count(), 1, "{drawn}");
    assert!(drawn.ends_with("30 sessions: 30 need you\n"), "{drawn}");
}

#[test]
fn a_list_has_one_line_for_each() {
    let mut other = session("docs-1", "idle");
    other.project_id = "docs".into();
    other.issue = None;
    assert_snapshot!(plain(&show::list(&[session("app-1", "working"), other], canvas(110))), @"
    SESSION  STATE    FOR  TURN     PROJECT  AGENT        BRANCH     WORKS ON
    app-1    working  3m   agent's  my-app   claude-code  ao/app-1   Fix login validation bug (issue 123)
    docs-1   idle     3m   agent's  docs     claude-code  ao/docs-1  Fix login validation bug
    ");
}

#[test]
fn what_goes_to_a_file_is_not_shortened() {
    let mut long = session("app-1", "working");
    long.title = "word ".repeat(60);
    let drawn = plain(&show::list(&[long], ao::show::Canvas { width: None, ..canvas(0) }));
    assert!(drawn.lines().nth(1).unwrap().contains(&"word ".repeat(59)), "{drawn}");
}

#[test]
fn the_card_of_a_session_has_all_that_is_known_of_it() {
    let mut session = session("my-app-fix-login", "needs_input");
    session.agent.model = Some("opus".into());
    session.agent.conversation = Some("8c2f".into());
    session.ports = [("PORT".to_owned(), 4001)].into();
    session.pulls = vec!["my-app!7".into()];
    session.attempt = 2;
    session.incidents = 1;
    session.messages_waiting = 1;
    session.denied_tools = 3;
    session.last_denied_tool = Some("Bash".into());
    session.holds = vec![Hold { kind: HoldReason::Person, why: "paused by anna".into(), since: ago(60) }];
    let outbox = [Message {
        number: 3,
        from: "anna".into(),
        state: MessageState::Queued,
        reason: Some("a dialog is open".into()),
        content: Some("Please add\ntests".into()),
        queued_at: Some(ago(30)),
    }];
    assert_snapshot!(plain(&show::card(&session, None, &outbox, canvas(100))), @"
    my-app-fix-login  needs_input for 3m
      a dialog is open: May I run `rm -rf build`?
      │ May I run `rm -rf build`?

      works on   Fix login validation bug (issue 123)
      turn       yours
      project    my-app
      agent      claude-code, opus (conversation 8c2f)
      runs in    process, start 2
      branch     ao/my-app-fix-login
      workspace  /w/my-app/.worktrees/my-app-fix-login
      pulls      my-app!7
      ports      PORT=4001
      held       paused by anna (person, 1m)
      messages   1 waiting
      denied     3 tool calls, the last of Bash
      problems   1 open; `ao explain my-app-fix-login` lists them
      used       cost unknown, 4 turns, 9m
      made       2h ago
      id         ses_my-app-fix-login

    Outbox
      NO  STATE   FOR  FROM  WHY
      3   queued  30s  anna  a dialog is open
        “Please add tests”

    next: ao answer my-app-fix-login … --ask 4  or  ao attach my-app-fix-login
    ");
}

/// acceptance: B3
#[test]
fn a_cost_that_nobody_knows_is_not_shown_as_nothing() {
    let mut one = session("app-1", "idle");
    let drawn = plain(&show::card(&one, None, &[], canvas(100)));
    assert!(drawn.contains("cost unknown, 4 turns, 9m"), "{drawn}");
    one.spend.usd = Some(0.5);
    let drawn = plain(&show::card(&one, None, &[], canvas(100)));
    assert!(drawn.contains("$0.50, 4 turns"), "{drawn}");
}

fn explanation() -> Explanation {
    let rule = |rule: &str, meaning: &str, says: &str, won| Rule {
        rule: variant(rule),
        meaning: meaning.into(),
        says: variant(says),
        won,
    };
    let signal = |source: &str, reading: &str, detail: &str, age: u64, decided| Signal {
        source: variant(source),
        reading: variant(reading),
        detail: detail.into(),
        confidence: SignalConfidence::High,
        at: ago(age as i64),
        age_seconds: age,
        decided,
    };
    Explanation {
        id: "ses_1".into(),
        name: "app-1".into(),
        status: status("needs_input", 180),
        phase: SessionPhase::Running,
        rules: vec![
            rule("exit_seen", "its process has ended", "exited", false),
            rule("dialog_open", "a dialog is open", "needs_input", true),
        ],
        signals: vec![
            signal("hook", "asking", "May I run `rm -rf build`?", 180, true),
            signal("process", "alive", "", 4, false),
        ],
        queue: None,
        holds: vec![],
        incidents: vec![Incident {
            kind: "agent-needs-input".into(),
            problem: "dialog 1".into(),
            detail: "May I run `rm -rf build`?".into(),
            opened_at: ago(180),
            acted: 1,
            asked: IncidentLevel::Person,
            held: None,
        }],
        messages: vec![],
        drift: None,
        next: vec!["ao answer app-1 yes".into(), "ao attach app-1".into()],
    }
}

/// acceptance: S7
#[test]
fn an_explanation_lists_each_signal_with_its_age_and_the_rule_that_won() {
    assert_snapshot!(plain(&show::explanation(&explanation(), canvas(100))), @"
    app-1: needs_input for 3m: a dialog is open: May I run `rm -rf build`?

    Signals
       SOURCE   AGE  SAW     CONFIDENCE  DETAIL
    ▶  hook     3m   asking  high        May I run `rm -rf build`?
       process  4s   alive   high

    Rules
       RULE         SAYS         MEANS
       exit_seen    exited       its process has ended
    ▶  dialog_open  needs_input  a dialog is open

    Open problems
    PROBLEM            FOR  ACTED  ASKED   DETAIL
    agent-needs-input  3m   1×     person  May I run `rm -rf build`?

    Next steps
      ao answer app-1 yes
      ao attach app-1
    ");
}

#[test]
fn where_no_evidence_decides_the_explanation_says_what_does() {
    let mut queued = explanation();
    queued.status = status("queued", 60);
    queued.phase = SessionPhase::Queued;
    queued.signals.clear();
    queued.incidents.clear();
    for rule in &mut queued.rules {
        rule.won = false;
    }
    queued.queue = Some(Queue { before: 2, obstacle: Some("5 of 5 agents run".into()) });
    queued.next = vec!["ao stop app-1".into()];
    assert_snapshot!(plain(&show::explanation(&queued, canvas(100))), @"
    app-1: queued for 1m: waits for a free slot

    Signals
      no signals of the agent yet

    Rules, if it ran
    RULE         SAYS         MEANS
    exit_seen    exited       its process has ended
    dialog_open  needs_input  a dialog is open

    What decides
      `queued` overrides all evidence

    Queue
      2 before it; 5 of 5 agents run

    Next steps
      ao stop app-1
    ");
}

fn trees(dry_run: bool) -> Cleanup {
    let tree = |name: Option<&str>, bytes, decision, reasons: &[&str]| TreeReport {
        session_id: name.map(|name| format!("ses_{name}")),
        session_name: name.map(str::to_owned),
        project_id: "my-app".into(),
        path: format!("/w/my-app/.worktrees/{}", name.unwrap_or("by-hand")),
        bytes,
        ignored_bytes: bytes / 2,
        decision,
        reasons: reasons.iter().map(|reason| (*reason).to_owned()).collect(),
        can_discard: false,
        work: None,
        rescue: None,
    };
    Cleanup {
        dry_run,
        trees: vec![
            tree(Some("app-1"), 1_400_000_000, Decision::Remove, &[]),
            tree(
                Some("app-2"),
                52_000,
                Decision::Keep,
                &["2 commits are nowhere else", "1 file is not tracked"],
            ),
            tree(None, 900, Decision::Keep, &[]),
        ],
        freed_bytes: 1_400_000_000,
    }
}

/// acceptance: W9
#[test]
fn a_clean_up_shows_size_decision_and_reason_of_each_tree() {
    assert_snapshot!(plain(&show::cleanup(&trees(true), canvas(100))), @"
    SESSION  SIZE    IGNORED  DECISION  WHERE
    app-1    1.4 GB  700 MB   remove    /w/my-app/.worktrees/app-1
    app-2    52 kB   26 kB    keep      /w/my-app/.worktrees/app-2
      2 commits are nowhere else
      1 file is not tracked
    -        900 B   450 B    keep      /w/my-app/.worktrees/by-hand
      not created by ao, so it is never touched

    would free 1.4 GB; nothing was changed
    ");
    assert_snapshot!(plain(&show::cleanup(&trees(false), canvas(100))), @"
    SESSION  SIZE    IGNORED  DECISION  WHERE
    app-1    1.4 GB  700 MB   removed   /w/my-app/.worktrees/app-1
    app-2    52 kB   26 kB    kept      /w/my-app/.worktrees/app-2
      2 commits are nowhere else
      1 file is not tracked
    -        900 B   450 B    kept      /w/my-app/.worktrees/by-hand
      not created by ao, so it is never touched

    freed 1.4 GB
    ");
}

#[test]
fn events_are_told_in_a_line_of_words() {
    let event = |kind: &str, data| Event {
        seq: 41,
        at: ago(0),
        kind: kind.into(),
        session_id: Some("ses_1".into()),
        concerns: "ses_1".into(),
        data,
    };
    let names = [("ses_1".to_owned(), "app-1".to_owned())].into();
    let told = |kind, data, width| plain(&show::event(&event(kind, data), &names, &TimeZone::UTC, width));
    let exited = serde_json::json!({"exited": {"code": 1, "why": "it was \u{1b}[31mred"}});
    assert_snapshot!(told("session.exited", exited.clone(), None), @"    41 03-01 12:00:00  app-1  has exited: it was [31mred");
    assert_snapshot!(told("session.exited", exited, Some(45)), @"    41 03-01 12:00:00  app-1  has exited: it…");
    let claimed = serde_json::json!({"claimed": {"session": "ses_2"}});
    assert_snapshot!(told("pull.claimed", claimed, None), @"    41 03-01 12:00:00  app-1  a forgotten session owns it");
    assert_snapshot!(told("weather.changed", serde_json::json!({"changed": {}}), None), @"    41 03-01 12:00:00  app-1  weather changed");
}
