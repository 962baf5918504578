//! The files of hooks become reports, each once, of the right agent, even if no daemon was running.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use ao_agent::hook::{Place, Spool, leave};
use ao_core::{Attempt, SessionId};
use ao_ports::{Report, Reporter};
use ao_testkit::{ReportLog, WallClock};
use async_trait::async_trait;
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::support::{ATTEMPT, SESSION};

fn spool(data: &TempDir) -> Arc<Spool> {
    Arc::new(Spool::open(data.path(), Arc::new(WallClock::default())).unwrap())
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

fn run(spool: &Arc<Spool>, notebook: &Arc<ReportLog>) -> JoinHandle<()> {
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
async fn reports_left_while_the_daemon_was_down_are_read_in_order() {
    let data = tempfile::tempdir().unwrap();
    let place = place(&spool(&data), SESSION, ATTEMPT);
    hook(&place, r#"{"hook_event_name":"SessionStart"}"#);
    hook(&place, r#"{"hook_event_name":"UserPromptSubmit","prompt":"go"}"#);

    let notebook = Arc::new(ReportLog::default());
    // As after a restart: the key is read again, and the agent's token is still good.
    let running = run(&spool(&data), &notebook);
    assert_eq!(notebook.until(3).await, ["Started", "Working { doing: \"\" }", "Taken \"go\""]);
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
    let notebook = Arc::new(ReportLog::default());
    let running = run(&spool, &notebook);
    assert_eq!(notebook.until(1).await, ["Idle"]);
    running.abort();
}

#[tokio::test]
async fn reports_without_a_valid_token_are_dropped() {
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

    let notebook = Arc::new(ReportLog::default());
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
async fn a_turn_keeps_its_name_when_reported_again() {
    let data = tempfile::tempdir().unwrap();
    let place = place(&spool(&data), SESSION, ATTEMPT);
    hook(&place, r#"{"hook_event_name":"UserPromptSubmit","prompt":"go"}"#);
    let new = data.path().join("hooks/new");
    let file = fs::read_dir(&new).unwrap().next().unwrap().unwrap().path();
    let copy = fs::read(&file).unwrap();
    let turns = |notebook: &ReportLog| notebook.turns();

    let mut named = Vec::new();
    for _ in 0..2 {
        let notebook = Arc::new(ReportLog::default());
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

/// Waits for a condition that nothing reports.
async fn until(what: &str, is: impl Fn() -> bool) {
    let wait = async {
        while !is() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), wait).await.expect(what);
}

#[tokio::test]
async fn a_folder_that_cannot_be_read_for_a_while_does_not_end_the_hearing() {
    let data = tempfile::tempdir().unwrap();
    let spool = spool(&data);
    let place = place(&spool, SESSION, ATTEMPT);
    let notebook = Arc::new(ReportLog::default());
    let running = run(&spool, &notebook);
    hook(&place, r#"{"hook_event_name":"SessionStart"}"#);
    assert_eq!(notebook.until(1).await, ["Started"]);
    all_read(data.path()).await;

    // Moved away, then a file in its place, then nothing at all.
    let new = data.path().join("hooks/new");
    fs::rename(&new, data.path().join("elsewhere")).unwrap();
    let _ = fs::write(&new, "");
    let _ = fs::remove_file(&new);
    until("it is made again", || new.is_dir()).await;
    hook(&place, r#"{"hook_event_name":"PreCompact"}"#);
    notebook.until(2).await;
    all_read(data.path()).await;
    fs::remove_dir(&new).unwrap();
    until("it is made once more", || new.is_dir()).await;
    hook(&place, r#"{"hook_event_name":"Stop"}"#);
    assert_eq!(notebook.until(3).await[2], "Idle");
    running.abort();
}

/// A file that cannot be removed once it is reported: a folder has taken its place.
struct Hinders(ReportLog, std::path::PathBuf);

#[async_trait]
impl Reporter for Hinders {
    async fn report(&self, report: Report) {
        let first = fs::read_dir(&self.1).unwrap().flatten().map(|entry| entry.path()).min().unwrap();
        if self.0.reports().is_empty() {
            fs::remove_file(&first).unwrap();
            fs::create_dir(&first).unwrap();
        }
        self.0.report(report).await;
    }
}

#[tokio::test]
async fn a_report_that_cannot_be_removed_is_reported_once_and_blocks_no_other() {
    let data = tempfile::tempdir().unwrap();
    let spool = spool(&data);
    let place = place(&spool, SESSION, ATTEMPT);
    hook(&place, r#"{"hook_event_name":"SessionStart"}"#);
    let hinders = Arc::new(Hinders(ReportLog::default(), data.path().join("hooks/new")));
    let run = spool.clone().run(hinders.clone());
    let running = tokio::spawn(async move { run.await.unwrap() });
    hinders.0.until(1).await;
    hook(&place, r#"{"hook_event_name":"Stop"}"#);
    assert_eq!(hinders.0.until(2).await, ["Started", "Idle"]);
    running.abort();
}

#[tokio::test]
async fn a_session_whose_hooks_run_wild_loses_its_oldest_states_and_no_proof() {
    let data = tempfile::tempdir().unwrap();
    let spool = spool(&data);
    let (quiet, wild) = (place(&spool, SESSION, ATTEMPT), place(&spool, SessionId(7), ATTEMPT));
    hook(&quiet, r#"{"hook_event_name":"UserPromptSubmit","prompt":"of the quiet one"}"#);
    hook(&wild, r#"{"hook_event_name":"UserPromptSubmit","prompt":"of the wild one"}"#);
    for _ in 0..2100 {
        hook(&wild, r#"{"hook_event_name":"PostToolUse"}"#);
    }
    let notebook = Arc::new(ReportLog::default());
    let running = run(&spool, &notebook);
    all_read(data.path()).await;
    let told = notebook.reports();
    // Each proof also reports that the agent works, and that first, so that no agent looks idle that has taken a
    // message.
    assert_eq!(told[1], "Taken \"of the quiet one\"");
    assert_eq!(told[3], "Taken \"of the wild one\"");
    assert_eq!(told.len(), 2 + 2 + 1999);
    running.abort();
}

#[tokio::test]
async fn unfinished_files_of_killed_hooks_are_removed_after_an_hour() {
    let data = tempfile::tempdir().unwrap();
    let spool = spool(&data);
    let unfinished = data.path().join("hooks/tmp");
    let hour_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3601);
    fs::write(unfinished.join("young"), "{").unwrap();
    fs::File::create(unfinished.join("old")).unwrap().set_modified(hour_ago).unwrap();
    let running = run(&spool, &Arc::default());
    until("the old one is removed", || !unfinished.join("old").exists()).await;
    assert!(unfinished.join("young").exists());
    running.abort();
}

#[test]
fn a_hook_outside_of_our_sessions_says_so() {
    let err = Place::from_environment(|_| None).unwrap_err();
    assert!(err.to_string().starts_with("AO_SESSION is not set"), "{err}");
}
