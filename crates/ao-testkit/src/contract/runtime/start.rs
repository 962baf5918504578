//! Starting: once for each attempt, with exactly the requested settings, or not at all.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ao_core::input::ProcessLife;
use ao_core::setup::{SecretRef, SecretSource};
use ao_ports::{EndOrder, ProcessIo, RuntimeError, StartSpec};
use tokio::task::JoinSet;

use super::end::StrayProgram;
use super::story::{RuntimeBench, Story, pids, until};

pub async fn a_second_start_returns_the_same_process<B: RuntimeBench>(story: Story<B>) {
    let spec = story.lasting();
    story.bench().prepare(&spec);
    let (first, second) = tokio::join!(story.runtime().start(&spec), story.runtime().start(&spec));
    let process = first.expect("it starts");
    assert_eq!(second.as_ref(), Ok(&process), "two starts at once");
    assert_eq!(story.start_lasting(&spec).await, process, "a start of what runs");
    assert_eq!(story.bench().starts(&spec), 1);
    story.end().await;
}

pub async fn a_start_after_a_restart_returns_the_same_process<B: RuntimeBench>(mut story: Story<B>) {
    let spec = story.lasting();
    let process = story.start_lasting(&spec).await;
    story.restart().await;
    assert_eq!(story.start_spec(&spec).await, process);
    assert_eq!(story.bench().starts(&spec), 1);
    story.end().await;
}

/// Returns the same process, alive or not.
pub async fn an_attempt_that_has_exited_is_not_started_again<B: RuntimeBench>(mut story: Story<B>) {
    let spec = story.lasting();
    let process = story.start_lasting(&spec).await;
    story.bench().exit(&spec, 0).await;
    story.exit().await;
    assert_eq!(story.start_spec(&spec).await, process);
    story.restart().await;
    assert_eq!(story.start_spec(&spec).await, process);
    assert!(matches!(story.runtime().look(&process).await, ProcessLife::Gone { .. }));
    assert_eq!(story.bench().starts(&spec), 1);
    story.end().await;
}

/// Such a start may return anything, but starts nothing.
pub async fn an_attempt_that_was_ended_is_not_started_again<B: RuntimeBench>(mut story: Story<B>) {
    let spec = story.lasting();
    let process = story.start_lasting(&spec).await;
    story.end().await;
    let _ = story.runtime().start(&spec).await;
    story.restart().await;
    let _ = story.runtime().start(&spec).await;
    assert_eq!(story.bench().starts(&spec), 1);
    assert!(!matches!(story.runtime().look(&process).await, ProcessLife::Alive { .. }));
    let mut next = story.lasting();
    next.attempt = next.attempt.next();
    assert_ne!(story.start_lasting(&next).await, process, "the next attempt is another");
    story.end_spec(&next).await;
}

pub async fn twenty_start_at_once<B: RuntimeBench>(story: Story<B>) {
    let mut starts = JoinSet::new();
    for number in 0..20 {
        let runtime = story.runtime().clone();
        let mut spec = story.spec("echo I am $AO_SESSION; sleep 600");
        spec.session = story.session(number);
        starts.spawn(async move { (spec.session, runtime.start(&spec).await) });
    }
    let mut processes = BTreeSet::new();
    for (session, started) in starts.join_all().await {
        let process = started.expect("it starts");
        story.until_output(&process, &format!("I am {session}")).await;
        processes.insert(process);
    }
    assert_eq!(processes.len(), 20, "each has a name of its own");
    let counted = story.runtime().census().await.expect("they are counted");
    assert_eq!(
        counted.iter().filter(|counted| matches!(counted.life, ProcessLife::Alive { .. })).count(),
        20
    );
    let mut ends = JoinSet::new();
    for number in 0..20 {
        let order =
            EndOrder { session: story.session(number), attempt: story.spec("").attempt, process: None };
        let runtime = story.runtime().clone();
        ends.spawn(async move { runtime.end(&order).await });
    }
    assert!(ends.join_all().await.into_iter().all(|ended| ended.is_ok()));
}

pub async fn the_environment_is_what_was_asked_for_and_no_more<B: RuntimeBench>(story: Story<B>) {
    let key = story.folder().join("key");
    std::fs::write(&key, "hush hush\n").expect("the key is written");
    let mut spec =
        story.spec("env > env.partial; echo END=yes >> env.partial; mv env.partial env; sleep 600");
    spec.command.env.insert("STORY".into(), "two words; $HOME 'quoted' \"too\"".into());
    // A variable of every test's environment that no program needs.
    spec.command.pass.push("CARGO_PKG_NAME".into());
    let from = SecretSource::File(key.display().to_string());
    spec.command.secrets.push(SecretRef { name: "STORY_KEY".into(), from });
    story.runtime().start(&spec).await.expect("it starts");
    let text = story.until_file("env").await;
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    assert_eq!(value("AO_SESSION"), Some(&*spec.session.to_string()));
    assert_eq!(value("AO_ATTEMPT"), Some("1"));
    assert_eq!(value("STORY"), Some("two words; $HOME 'quoted' \"too\""));
    assert_eq!(value("STORY_KEY"), Some("hush hush"));
    assert_eq!(value("PATH").is_some(), std::env::var_os("PATH").is_some());
    assert_eq!(value("CARGO_PKG_NAME").map(str::to_owned), std::env::var("CARGO_PKG_NAME").ok());
    assert!(std::env::var_os("CARGO_PKG_VERSION").is_some(), "cargo gives it to every test");
    assert_eq!(value("CARGO_PKG_VERSION"), None, "it was not asked for");
    assert_eq!(value("TMUX"), None, "no multiplexer is invited in");
    story.end().await;
}

pub async fn a_secret_is_in_no_argument_of_any_process<B: RuntimeBench>(story: Story<B>) {
    let secret = format!("hush-{:x}", story.session(0).0);
    let key = story.folder().join("key");
    std::fs::write(&key, &secret).expect("the key is written");
    let mut spec = story.spec("echo $STORY_KEY > seen; sleep 600");
    let from = SecretSource::File(key.display().to_string());
    spec.command.secrets.push(SecretRef { name: "STORY_KEY".into(), from });
    let (done, leaked) = (Arc::new(AtomicBool::new(false)), secret.clone());
    let watched = done.clone();
    // Watches during the start, as another user of the host could.
    let watcher = std::thread::spawn(move || {
        let shows = |pid: &i32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(&leaked)
        };
        let mut seen = false;
        while !watched.load(Ordering::Relaxed) {
            seen |= pids().iter().any(shows);
        }
        seen | pids().iter().any(shows)
    });
    story.runtime().start(&spec).await.expect("it starts");
    assert_eq!(story.until_file("seen").await.trim(), secret, "the program has it");
    done.store(true, Ordering::Relaxed);
    assert!(!watcher.join().expect("it only looks"), "the secret was in an argument of a process");
    story.end().await;
}

pub async fn a_program_starts_in_its_folder<B: RuntimeBench>(story: Story<B>) {
    let folder = story.folder().join("a folder; with 'odd' $names");
    std::fs::create_dir(&folder).expect("the folder is made");
    let mut spec = story.spec("pwd -P > where; sleep 600");
    spec.path = folder.display().to_string();
    spec.name = "odd: name.with = $signs #{pid} 'and' \"quotes\"; %1 ü\n".into();
    story.runtime().start(&spec).await.expect("it starts");
    let seen = until("the folder", async || {
        std::fs::read_to_string(folder.join("where")).ok().filter(|text| text.ends_with('\n'))
    })
    .await;
    assert_eq!(seen.trim_end(), folder.canonicalize().expect("it is there").display().to_string());
    story.end().await;
}

pub async fn what_cannot_be_started_is_named_and_leaves_nothing<B: RuntimeBench>(story: Story<B>) {
    let mut spec = story.lasting();
    spec.command.program = "no-such-program-anywhere".into();
    let err = story.runtime().start(&spec).await.expect_err("there is no such program");
    assert_eq!(err, RuntimeError::NoProgram { program: "no-such-program-anywhere".into() });

    let mut spec = story.lasting();
    spec.path = story.folder().join("not there").display().to_string();
    let err = story.runtime().start(&spec).await.expect_err("there is no such folder").to_string();
    assert!(err.contains("not there"), "{err}");

    let mut spec = story.lasting();
    let from = SecretSource::File(story.folder().join("no-key").display().to_string());
    spec.command.secrets.push(SecretRef { name: "STORY_KEY".into(), from });
    let err = story.runtime().start(&spec).await.expect_err("there is no such key");
    assert!(matches!(err, RuntimeError::NoSecret { .. }), "{err}");

    story.assert_nothing_runs(&spec).await;
    let spec = story.lasting();
    let process = story.start_lasting(&spec).await;
    assert_eq!(story.bench().starts(&spec), 1, "once it can be started, the same attempt is");
    assert!(
        matches!(story.runtime().look(&process).await, ProcessLife::Alive { .. }),
        "what failed before is no end of it"
    );
    assert_eq!(story.output(&process).await, "", "nor a line of its output");
    story.end().await;
}

pub async fn a_port_of_somebody_else_keeps_a_program_from_starting<B: RuntimeBench>(story: Story<B>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("it has one").port();
    let mut spec = story.lasting();
    spec.ports.push(port);
    let err = story.runtime().start(&spec).await.expect_err("somebody listens there");
    assert_eq!(err, RuntimeError::PortTaken { port });
    story.assert_nothing_runs(&spec).await;
    drop(listener);
    story.start_lasting(&spec).await;
    story.end().await;
}

/// The set-up listens on the session's port before there is an agent.
pub async fn a_port_of_the_sessions_own_set_up_does_not<B: RuntimeBench>(story: Story<B>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let mut spec = story.lasting();
    spec.ports.push(listener.local_addr().expect("it has one").port());
    let mut other = spec.clone();
    other.session = story.session(1);
    // The listener is this test process; a process with the session's id passes for its owner.
    let _server = StrayProgram::of(&spec, true);
    story.start_lasting(&spec).await;
    let err = story.runtime().start(&other).await.expect_err("for others it is taken");
    assert!(matches!(err, RuntimeError::PortTaken { .. }), "{err}");
    story.end().await;
}

pub async fn a_way_of_holding_that_it_does_not_have_is_refused<B: RuntimeBench>(story: Story<B>) {
    let abilities = story.abilities();
    let all = [ProcessIo::Terminal, ProcessIo::Pipes, ProcessIo::Output];
    assert!(all.iter().any(|io| abilities.holds(*io)), "it holds programs in some way");
    for io in all {
        if !abilities.holds(io) {
            let mut spec = story.lasting();
            spec.command.io = io;
            let err = story.runtime().start(&spec).await.expect_err("it cannot");
            assert!(matches!(err, RuntimeError::Unable { .. }), "{err}");
            story.assert_nothing_runs(&spec).await;
        }
    }
}

impl<B: RuntimeBench> Story<B> {
    async fn assert_nothing_runs(&self, spec: &StartSpec) {
        assert_eq!(self.bench().starts(spec), 0);
        let counted = self.runtime().census().await.expect("a census");
        assert!(counted.iter().all(|one| !matches!(one.life, ProcessLife::Alive { .. })), "{counted:?}");
    }
}
