//! Values as the daemon sends them, at a time that stands still.

use ao::show::Canvas;
use ao_api::{Agent, Session, Spend, Status, Timestamp, Tree};

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
        role: "worker".into(),
        title: "Fix login validation bug".into(),
        issue: Some("123".into()),
        status: status(state, 180),
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
        spend: Spend { usd: None, tokens: None, turns: 4, seconds: 540 },
        holds: vec![],
        incidents: 0,
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
        state: state.into(),
        reason: reason.into(),
        since: ago(seconds),
        quiet_seconds: None,
        question: (state == "needs_input").then(|| "May I run `rm -rf build`?".into()),
    }
}

pub(crate) fn tree(name: &str) -> Tree {
    Tree {
        kind: "worktree".into(),
        path: format!("/w/my-app/.worktrees/{name}"),
        base: "4f1c2d3".into(),
        state: "ready".into(),
        reasons: vec![],
        rescue: None,
    }
}
