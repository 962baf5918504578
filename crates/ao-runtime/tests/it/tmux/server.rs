//! Agents survive when the server, its socket or a helper goes.

use std::fs;

use ao_core::Attempt;
use ao_core::input::ProcessLife;
use ao_ports::EndOrder;
use ao_testkit::contract::runtime::{Story, lives, until};
use rustix::process::{Pid, Signal, kill_process};

use super::bench::Terminal;

fn kill(pid: &str, signal: Signal) {
    let pid = pid.trim().parse().unwrap_or_else(|_| panic!("`{pid}` is no pid"));
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

fn pid(text: &str) -> i32 {
    text.trim().parse().unwrap()
}

/// The socket path is dangling, and the server cannot recreate it. A daemon that starts now cannot determine anything,
/// and starts no second server.
///
/// acceptance: S5
#[tokio::test]
async fn without_the_socket_nothing_is_known_and_nothing_is_dead() {
    let mut story = Story::begin(Terminal::new()).await;
    let process = story.start("echo $$ > pid; sleep 600").await;
    let agent = pid(&story.until_file("pid").await);
    let server = story.bench().ask(&["display-message", "-p", "#{pid}"]);
    story.daemon_ends();
    let (socket, aside) = (story.bench().state().join("socket"), story.bench().state().join("aside"));
    fs::rename(&socket, &aside).unwrap();
    fs::create_dir(&socket).unwrap();
    story.daemon_starts().await;
    assert_eq!(story.runtime().look(&process).await, ProcessLife::Unknown);
    let census = story.runtime().census().await.unwrap();
    assert!(census.len() == 1 && census[0].life == ProcessLife::Unknown, "{census:?}");
    assert!(story.runtime().screen(&process).await.is_err());
    let mut other = story.spec("echo up");
    other.session = story.session(1);
    assert!(story.runtime().start(&other).await.is_err(), "a second server is not started");
    assert!(lives(agent) && lives(pid(&server)));

    fs::remove_dir(&socket).unwrap();
    fs::rename(&aside, &socket).unwrap();
    until("the server", async || {
        matches!(story.runtime().look(&process).await, ProcessLife::Alive { .. }).then_some(())
    })
    .await;
    story.end().await;
}

#[tokio::test]
async fn a_socket_that_was_removed_comes_again() {
    let mut story = Story::begin(Terminal::new()).await;
    let process = story.start("echo up; read line; echo \"<$line>\"; sleep 600").await;
    story.until_output(&process, "up").await;
    story.daemon_ends();
    fs::remove_file(story.bench().state().join("socket")).unwrap();
    story.daemon_starts().await;
    until("the server", async || match story.runtime().look(&process).await {
        ProcessLife::Alive { .. } => Some(()),
        ProcessLife::Unknown => None,
        gone => panic!("{gone:?}"),
    })
    .await;
    story.write(&process, 1, b"hello\n").await;
    story.until_output(&process, "<hello>").await;
    story.end().await;
}

#[tokio::test]
async fn agents_that_go_with_the_server_are_seen_to_be_gone() {
    let mut story = Story::begin(Terminal::new()).await;
    let mut processes = Vec::new();
    for number in 0..5 {
        let mut spec = story.spec("echo up; sleep 600");
        spec.session = story.session(number);
        let process = story.runtime().start(&spec).await.unwrap();
        story.until_output(&process, "up").await;
        processes.push(process);
    }
    kill(&story.bench().ask(&["display-message", "-p", "#{pid}"]), Signal::KILL);
    for _ in 0..5 {
        assert_eq!(story.exit().await.2, None, "each end is reported");
    }
    for process in &processes {
        assert_eq!(story.runtime().look(process).await, ProcessLife::Gone { code: None });
        let piece = story.runtime().output(process, 0, 100, std::time::Duration::ZERO).await.unwrap();
        assert!(piece.bytes.starts_with(b"up") && piece.ended, "what they said is still there");
    }
    story.restart().await;
    let census = story.runtime().census().await.unwrap();
    assert!(
        census.len() == 5 && census.iter().all(|one| one.life == ProcessLife::Gone { code: None }),
        "{census:?}"
    );
    let mut next = story.spec("echo again; sleep 600");
    next.attempt = Attempt(2);
    let process = story.runtime().start(&next).await.unwrap();
    story.until_output(&process, "again").await;
    let order = EndOrder { session: next.session, attempt: next.attempt, process: None };
    story.runtime().end(&order).await.unwrap();
}

#[tokio::test]
async fn a_control_client_that_was_killed_comes_again() {
    let story = Story::begin(Terminal::new()).await;
    let process = story.start("echo up; while read line; do echo \"<$line>\"; done").await;
    story.until_output(&process, "up").await;
    let client = || story.bench().ask(&["list-clients", "-F", "#{client_pid}"]);
    let first = until("the client", async || Some(client()).filter(|pid| !pid.is_empty())).await;
    kill(&first, Signal::KILL);
    until("another client", async || Some(client()).filter(|pid| !pid.is_empty() && *pid != first)).await;
    story.write(&process, 1, b"hello\n").await;
    story.until_output(&process, "<hello>").await;
    assert!(matches!(story.runtime().look(&process).await, ProcessLife::Alive { .. }));
    story.end().await;
}

/// Output in the meantime is lost, but later output is not.
#[tokio::test]
async fn output_is_kept_again_after_its_keeper_was_killed() {
    let mut story = Story::begin(Terminal::new()).await;
    let process = story.start("echo up; while read line; do echo \"<$line>\"; done").await;
    story.until_output(&process, "up").await;
    let place = story.bench().state().join("agents").join(story.session(0).to_string()).join("1");
    let line = format!("\0log\0{}\0", place.display());
    let keeper = fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
        let command = fs::read(entry.path().join("cmdline")).ok()?;
        String::from_utf8_lossy(&command).contains(&line).then(|| entry.file_name().into_string().unwrap())
    });
    let keeper = keeper.expect("somebody keeps it");
    kill(&keeper, Signal::KILL);
    until("its end", async || (!lives(pid(&keeper))).then_some(())).await;
    story.restart().await;
    story.write(&process, 1, b"hello\n").await;
    story.until_output(&process, "<hello>").await;
    story.end().await;
}

/// The daemon dies after the pane was made and before it was said what to run in it.
#[tokio::test]
async fn a_start_that_was_cut_off_is_made_again() {
    let mut story = Story::begin(Terminal::new()).await;
    let script = "echo $$ >> pids; echo up; sleep 600";
    let process = story.start(script).await;
    story.until_output(&process, "up").await;
    let place = story.bench().state().join("agents").join(story.session(0).to_string()).join("1");
    for lost in ["launched", "record"] {
        let before = story.until_file("pids").await;
        fs::remove_file(place.join(lost)).unwrap();
        story.restart().await;
        assert_eq!(story.start(script).await, process);
        until("the second", async || {
            let pids = story.until_file("pids").await;
            (pids.len() > before.len()).then_some(())
        })
        .await;
        assert!(before.lines().all(|one| !lives(pid(one))), "there are never two");
    }
    story.end().await;
}

/// Nothing is left behind when there is nothing left to run.
#[tokio::test]
async fn the_server_ends_with_its_last_agent_and_comes_again_with_the_next() {
    let story = Story::begin(Terminal::new()).await;
    let first = start(&story, 0).await;
    let second = start(&story, 1).await;
    let server = || story.bench().ask(&["display-message", "-p", "#{pid}"]);
    let before = pid(&server());

    story.runtime().end(&first).await.unwrap();
    assert!(lives(before), "there is another agent");
    story.runtime().end(&second).await.unwrap();
    assert!(!lives(before), "what nobody of ours needs is not left behind");
    assert!(!story.bench().state().join("socket").exists());

    assert_eq!(story.runtime().census().await.unwrap(), []);
    let third = start(&story, 2).await;
    assert!(lives(pid(&server())));
    story.runtime().end(&third).await.unwrap();
}

/// A person who is attached may have opened a session of their own, with work in it.
#[tokio::test]
async fn the_server_stays_for_a_session_that_a_person_has_opened() {
    let story = Story::begin(Terminal::new()).await;
    let first = start(&story, 0).await;
    let server = pid(&story.bench().ask(&["display-message", "-p", "#{pid}"]));
    story.bench().ask(&["new-session", "-d", "-s", "somebody", "cat"]);
    story.runtime().end(&first).await.unwrap();
    assert!(lives(server));
    assert_eq!(story.bench().ask(&["list-sessions", "-F", "#{session_name}"]), "ao\nsomebody");

    let second = start(&story, 1).await;
    story.bench().ask(&["kill-session", "-t", "=somebody"]);
    let sessions = || story.bench().ask(&["list-sessions", "-F", "#{session_name}"]);
    until("the end of the person's session", async || (!sessions().contains("somebody")).then_some(())).await;
    story.runtime().end(&second).await.unwrap();
    assert!(!lives(server), "now nobody needs it");
}

/// A daemon that was cut off between the end of its last agent and that of the server has left the server.
#[tokio::test]
async fn the_next_daemon_ends_an_unused_server() {
    let mut story = Story::begin(Terminal::new()).await;
    let agent = start(&story, 0).await;
    let server = pid(&story.bench().ask(&["display-message", "-p", "#{pid}"]));
    story.daemon_ends();
    let ended = story.bench().state().join(format!("agents/{}/1/ended", agent.session));
    fs::write(ended, r#""done""#).unwrap();
    story.bench().ask(&["kill-session", "-t", "$1"]);
    story.daemon_starts().await;
    assert!(!lives(server));
}

/// A start that comes just when the server is about to end has one to be started in, the old or a new one.
#[tokio::test]
async fn a_start_beside_the_end_of_the_last_agent_is_not_lost() {
    let story = Story::begin(Terminal::new()).await;
    let mut last = start(&story, 0).await;
    for number in 1..12 {
        let (ended, next) = tokio::join!(story.runtime().end(&last), start(&story, number));
        ended.unwrap();
        last = next;
    }
    story.runtime().end(&last).await.unwrap();
    assert_eq!(story.bench().ask(&["list-sessions"]), "");
}

/// Starts an agent in a session of its own, and returns how it is ended.
async fn start(story: &Story<Terminal>, number: u64) -> EndOrder {
    let mut spec = story.spec("echo up; sleep 600");
    spec.session = story.session(number);
    let process = story.runtime().start(&spec).await.unwrap();
    story.until_output(&process, "up").await;
    EndOrder { session: spec.session, attempt: spec.attempt, process: Some(process) }
}
