//! What hooks leave becomes reports, once, for whom they are, and also when nobody was there to read.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use ao_agent::hook::{Place, Spool, leave};
use ao_core::{Attempt, SessionId};
use ao_testkit::pty::WallClock;
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::support::{ATTEMPT, Notebook, SESSION};

fn spool(data: &TempDir) -> Arc<Spool> {
    Arc::new(Spool::open(data.path(), Arc::new(WallClock)).unwrap())
}

fn place(spool: &Spool, session: SessionId, attempt: Attempt) -> Place {
    let mut env = BTreeMap::from(spool.environment(session, attempt));
    env.insert("AO_SESSION".into(), session.to_string());
    env.insert("AO_ATTEMPT".into(), attempt.to_string());
    Place::from_environment(|name| env.get(name).cloned()).unwrap()
}

fn hook(place: &Place, payload: &str) {
    leave(place, None, payload.as_bytes()).unwrap();
}

fn run(spool: &Arc<Spool>, notebook: &Arc<Notebook>) -> JoinHandle<()> {
    let run = spool.clone().run(notebook.clone());
    tokio::spawn(async move { run.await.unwrap() })
}

fn waiting(data: &Path) -> usize {
    fs::read_dir(data.join("hooks/new")).unwrap().count()
}

async fn all_read(data: &Path) {
    let read = async {
        while waiting(data) > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), read).await.expect("all are read");
}

/// acceptance: M6 L1
#[tokio::test]
async fn what_was_left_while_the_daemon_was_down_is_read_in_order() {
    let data = tempfile::tempdir().unwrap();
    let place = place(&spool(&data), SESSION, ATTEMPT);
    hook(&place, r#"{"hook_event_name":"SessionStart"}"#);
    hook(&place, r#"{"hook_event_name":"UserPromptSubmit","prompt":"go"}"#);

    let notebook = Arc::new(Notebook::default());
    // As after a restart: the key is read again, and the agent's token is still good.
    let running = run(&spool(&data), &notebook);
    assert_eq!(notebook.until(3).await, ["Started", "Taken \"go\"", "Working { doing: \"\" }"]);
    hook(&place, r#"{"hook_event_name":"Stop"}"#);
    assert_eq!(notebook.until(4).await[3], "Idle");
    all_read(data.path()).await;
    running.abort();
}

/// As Codex's `notify` does it.
#[tokio::test]
async fn an_event_may_come_as_the_argument_and_then_stdin_is_left_alone() {
    struct Terminal;
    impl std::io::Read for Terminal {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            panic!("nobody types at it, so reading it would never end")
        }
    }
    let data = tempfile::tempdir().unwrap();
    let spool = spool(&data);
    let payload = r#"{"type":"agent-turn-complete","turn-id":"1","input-messages":["go"]}"#;
    leave(&place(&spool, SESSION, ATTEMPT), Some(payload), Terminal).unwrap();
    let notebook = Arc::new(Notebook::default());
    let running = run(&spool, &notebook);
    assert_eq!(notebook.until(1).await, ["Idle"]);
    running.abort();
}

#[tokio::test]
async fn what_cannot_be_attributed_is_dropped() {
    let (data, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let ours = spool(&data);
    let mut env = BTreeMap::from(ours.environment(SESSION, ATTEMPT));
    env.insert("AO_SESSION".into(), "ses_1".into());
    env.insert("AO_ATTEMPT".into(), ATTEMPT.to_string());
    let of_another = Place::from_environment(|name| env.get(name).cloned()).unwrap();
    hook(&of_another, r#"{"hook_event_name":"Stop"}"#);
    let new = data.path().join("hooks/new");
    fs::write(new.join("0-garbage"), "{").unwrap();
    fs::create_dir(new.join("0-folder")).unwrap();
    let secret = elsewhere.path().join("secret");
    fs::write(&secret, "{}").unwrap();
    std::os::unix::fs::symlink(&secret, new.join("0-link")).unwrap();
    hook(&place(&ours, SESSION, ATTEMPT), r#"{"hook_event_name":"PreToolUse","tool_name":"Bash"}"#);
    hook(&place(&ours, SESSION, ATTEMPT), "no JSON at all");

    let notebook = Arc::new(Notebook::default());
    let running = run(&ours, &notebook);
    assert_eq!(notebook.until(1).await, ["Working { doing: \"Bash\" }"]);
    fs::remove_dir(new.join("0-folder")).unwrap();
    all_read(data.path()).await;
    assert_eq!(notebook.reports().len(), 1);
    assert!(secret.exists());
    running.abort();
}

/// The same file read twice, as after a crash before it was removed, is the same turn.
#[tokio::test]
async fn a_turn_has_the_same_name_however_often_it_is_told() {
    let data = tempfile::tempdir().unwrap();
    let place = place(&spool(&data), SESSION, ATTEMPT);
    hook(&place, r#"{"hook_event_name":"UserPromptSubmit","prompt":"go"}"#);
    let new = data.path().join("hooks/new");
    let file = fs::read_dir(&new).unwrap().next().unwrap().unwrap().path();
    let copy = fs::read(&file).unwrap();
    let turns = |notebook: &Notebook| notebook.turns();

    let mut named = Vec::new();
    for _ in 0..2 {
        let notebook = Arc::new(Notebook::default());
        let running = run(&spool(&data), &notebook);
        notebook.until(2).await;
        all_read(data.path()).await;
        running.abort();
        let _ = running.await;
        named.extend(turns(&notebook));
        fs::write(&file, &copy).unwrap();
    }
    assert_eq!(named.len(), 2);
    assert_eq!(named[0], named[1]);
}

#[test]
fn a_hook_outside_of_our_sessions_says_so() {
    let err = Place::from_environment(|_| None).unwrap_err();
    assert!(err.to_string().starts_with("AO_SESSION is not set"), "{err}");
}
