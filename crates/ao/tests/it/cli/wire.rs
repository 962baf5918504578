//! Values as the daemon sends them, at a time that stands still.

use ao::show::Canvas;
use ao_api::{
    Agent, AgentRole, Author, CheckFailure, CheckRun, Comment, FailureItem, FailureItemKind, Issue,
    IssueComment, Pull, PullChecks, PullCommit, PullDetail, PullMergeability, PullReview, PullStatus,
    PullSummary, Review, Session, Spend, Status, Thread, ThreadSide, Timestamp, Tree, TreeState, WorkState,
};

/// A value of a closed set, as it is on the wire.
pub(crate) fn variant<T: serde::de::DeserializeOwned>(word: &str) -> T {
    serde_json::from_value(word.into()).unwrap()
}

/// The time that it is.
pub(crate) fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

/// So many seconds ago.
pub(crate) fn ago(seconds: i64) -> Timestamp {
    Timestamp::from_second(now().as_second() - seconds).unwrap()
}

pub(crate) fn canvas(width: usize) -> Canvas {
    Canvas { now: now(), width: Some(width) }
}

/// Without colours, and with a line's end that can be seen not to matter.
pub(crate) fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// A session of `my-app` that has been in its state for three minutes.
pub(crate) fn session(name: &str, state: &str) -> Session {
    Session {
        id: format!("ses_{name}"),
        name: name.into(),
        project_id: "my-app".into(),
        role: AgentRole::Worker,
        title: "Fix login validation bug".into(),
        issue: Some("123".into()),
        status: status(state, 180),
        work: work(state),
        agent: Agent { name: "claude-code".into(), model: None, account: None, conversation: None },
        runtime: "process".into(),
        branch: format!("ao/{name}"),
        workspace: Some(tree(name)),
        created_at: ago(7200),
        attempt: 1,
        ports: [].into(),
        pulls: vec![],
        messages_waiting: 0,
        messages_failed: 0,
        denied_tools: 0,
        last_denied_tool: None,
        spend: Spend { usd: None, tokens: None, turns: 4, seconds: 540 },
        budgets: vec![],
        holds: vec![],
        can_restore: matches!(state, "exited" | "stopped"),
        incidents: 0,
    }
}

/// The work of a session without a pull request, as its process tells it.
pub(crate) fn work(state: &str) -> WorkState {
    let (turn, stage) = match state {
        "needs_input" => ("you", "question"),
        "exited" => ("you", "stuck"),
        "queued" => ("wait", "queued"),
        "idle" => ("agent", "idle"),
        "stopped" => ("done", "stopped"),
        _ => ("agent", "working"),
    };
    let says = status(state, 180).reason;
    WorkState {
        turn: variant(turn),
        stage: variant(stage),
        says,
        since: Some(ago(180)),
        ..WorkState::default()
    }
}

/// The work of a session whose pull request 7 stands there.
pub(crate) fn pull_work(turn: &str, stage: &str, says: &str, checks: &str, review: &str) -> WorkState {
    let pull = PullSummary {
        id: "my-app!7".into(),
        number: 7,
        title: "Fix login".into(),
        checks: variant(checks),
        review: variant(review),
        queued: None,
    };
    WorkState {
        turn: variant(turn),
        stage: variant(stage),
        says: says.into(),
        since: Some(ago(720)),
        pull: Some(pull),
        ..WorkState::default()
    }
}

pub(crate) fn status(state: &str, seconds: i64) -> Status {
    let reason = match state {
        "working" => "its turn runs: Bash",
        "idle" => "its turn has ended",
        "needs_input" => "a dialog is open: May I run `rm -rf build`?",
        "exited" => "it exited with code 1",
        "queued" => "waits for a free slot",
        "stopped" => "stopped by anna",
        _ => "for a reason",
    };
    Status {
        state: variant(state),
        reason: reason.into(),
        since: ago(seconds),
        quiet_seconds: None,
        question: (state == "needs_input").then(|| "May I run `rm -rf build`?".into()),
        question_number: (state == "needs_input").then_some(4),
        asks: vec![],
    }
}

pub(crate) fn tree(name: &str) -> Tree {
    Tree {
        kind: "worktree".into(),
        path: format!("/w/my-app/.worktrees/{name}"),
        base: "4f1c2d3".into(),
        state: TreeState::Ready,
        reasons: vec![],
        rescue: None,
    }
}

pub(crate) fn author(login: &str, standing: &str) -> Author {
    Author { login: login.into(), standing: variant(standing) }
}

/// A run of a check for pull request 7 that took 42 seconds, if it is over.
pub(crate) fn check_run(id: &str, check: &str, state: &str) -> CheckRun {
    let over = !matches!(state, "queued" | "running");
    CheckRun {
        id: id.into(),
        project_id: "my-app".into(),
        pull: Some("my-app!7".into()),
        check: check.into(),
        command: format!("make {check}"),
        required: true,
        head: "4f1c2d3e5a6b7c8d9e0f".into(),
        base: None,
        tree: "7e57".into(),
        ahead: vec![],
        state: variant(state),
        why: None,
        exit_code: over.then(|| i32::from(state == "failed")),
        queued_at: ago(300),
        began_at: (state != "queued").then(|| ago(240)),
        ended_at: over.then(|| ago(198)),
        tries: 1,
        same_as: None,
        log: None,
        failure: (state == "failed").then(|| CheckFailure {
            signature: "s".into(),
            step: Some("unit tests".into()),
            excerpt: "assertion failed".into(),
            count: 3,
            items: vec![FailureItem {
                kind: FailureItemKind::Test,
                name: Some("login::remembers".into()),
                message: "left: 1\nright: \x1b[31m2".into(),
                path: Some("src/login.rs".into()),
                line: Some(12),
            }],
        }),
    }
}

/// An open pull request with a bit of everything.
pub(crate) fn pull(number: u64) -> PullDetail {
    let comment = |id: &str, author, body: &str| Comment {
        id: id.into(),
        author,
        body: body.into(),
        url: String::new(),
        at: Some(ago(1200)),
        edited_at: None,
    };
    let thread = |id: &str, line, resolved, comments| Thread {
        id: id.into(),
        path: Some("src/login.rs".into()),
        line,
        side: ThreadSide::New,
        resolved,
        resolved_by: resolved.then(|| "anna".into()),
        outdated: resolved,
        context: Some("    let user = load();".into()),
        comments,
    };
    let review = |id: &str, verdict: &str, stale, body: &str| Review {
        id: id.into(),
        author: author("anna", "member"),
        verdict: variant(verdict),
        commit: "1111111122222222".into(),
        stale,
        body: body.into(),
        at: Some(ago(1200)),
        edited_at: None,
    };
    PullDetail {
        pull: Pull {
            id: format!("my-app!{number}"),
            project_id: "my-app".into(),
            number,
            title: "Remember the user".into(),
            state: PullStatus::Open,
            draft: false,
            head_branch: "ao/app-1".into(),
            base_branch: "main".into(),
            head: "4f1c2d3e5a6b7c8d9e0f".into(),
            author: author("app-1", "agent"),
            labels: vec!["bug".into()],
            checks: PullChecks::Failed,
            review: PullReview::ChangesRequested,
            mergeable: PullMergeability::Clean,
            session: Some("app-1".into()),
            updated_at: ago(600),
        },
        body: "Keeps the user over a restart.\n\n- with a test\n\x1b[2Jand more".into(),
        url: "https://forge.example/7".into(),
        base: "aaaaaaaabbbbbbbb".into(),
        created_at: ago(7200),
        merged_as: None,
        merged_by: None,
        stacked_on: Some("my-app!5".into()),
        stacked: vec!["my-app!8".into()],
        conflicts: vec![],
        files: vec!["src/login.rs".into()],
        added: 3,
        removed: 1,
        commits: vec![PullCommit {
            commit: "4f1c2d3e5a6b7c8d9e0f".into(),
            title: "login: remember the user".into(),
            author: "app-1".into(),
            at: ago(3000),
        }],
        check_runs: vec![check_run("run_1", "test", "failed"), check_run("run_2", "lint", "passed")],
        reviews: vec![
            review("r1", "approved", true, "Fine"),
            review("r2", "changes_requested", false, "Please add a test for an empty file."),
        ],
        threads: vec![
            thread(
                "t1",
                Some(4),
                false,
                vec![
                    comment("c1", author("anna", "member"), "What if there is none?"),
                    comment("c2", author("app-1", "agent"), "Then it is new."),
                ],
            ),
            thread("t2", None, true, vec![comment("c3", author("anna", "member"), "Typo")]),
        ],
        blockers: vec!["the check test has failed".into(), "anna asked for changes".into()],
    }
}

pub(crate) fn issue(key: &str, state: &str) -> Issue {
    Issue {
        id: format!("my-app#{key}"),
        project_id: "my-app".into(),
        key: key.into(),
        title: "Login forgets the user".into(),
        body: "After a restart.".into(),
        state: variant(state),
        labels: vec!["bug".into(), "auth".into()],
        priority: 2,
        blocked_by: vec![],
        assignee: Some("anna".into()),
        author: Some(author("ben", "owner")),
        created_at: ago(7200),
        updated_at: ago(600),
        url: None,
        session: Some("app-1".into()),
        comments: vec![IssueComment {
            id: "c1".into(),
            author: author("anna", "member"),
            body: "Seen again\ntoday".into(),
            at: ago(60),
        }],
    }
}
