//! Ending: all of it, for good, and nothing else.

use std::net::{TcpListener, TcpStream};

use ao_core::Attempt;
use ao_core::input::Life;
use ao_ports::EndOrder;

use super::story::{RuntimeBench, Story, lives, number, until};

/// Forks twice, leaves its session, and listens, as servers in the background do. In perl, which git brings along: a shell
/// cannot listen.
const SERVER: &str = "perl -MPOSIX -MIO::Socket::INET -e '
    fork and exit; POSIX::setsid(); fork and exit;
    $s = IO::Socket::INET->new(LocalAddr => \"127.0.0.1\", LocalPort => 0, Listen => 5) or die;
    open F, \">\", \"server.partial\"; print F $$, \" \", $s->sockport, \"\\n\"; close F;
    rename \"server.partial\", \"server\"; sleep 600' </dev/null >/dev/null 2>&1";

pub async fn a_program_that_does_not_listen_is_killed<B: RuntimeBench>(mut story: Story<B>) {
    let process = story.start("trap '' TERM HUP INT; echo $$ > pid; while :; do sleep 1; done").await;
    let pid = number(&story.until_file("pid").await);
    story.end().await;
    assert!(!lives(pid));
    assert_eq!(story.exit().await.2, None, "its end is reported");
    assert!(!matches!(story.runtime().look(&process).await, Life::Alive { .. }));
}

/// acceptance: L5
pub async fn a_daemonised_server_is_ended_and_its_port_is_free<B: RuntimeBench>(story: Story<B>) {
    story.start(&format!("{SERVER}; sleep 600")).await;
    let server = story.until_file("server").await;
    let (pid, port) = server.trim().split_once(' ').expect("a pid and a port");
    let (pid, port) = (number(pid), port.parse::<u16>().expect("a port"));
    assert!(lives(pid) && TcpStream::connect(("127.0.0.1", port)).is_ok());
    story.end().await;
    assert!(!lives(pid));
    assert!(TcpListener::bind(("127.0.0.1", port)).is_ok(), "its port is free");
}

pub async fn ending_again_and_ending_nothing_are_no_errors<B: RuntimeBench>(mut story: Story<B>) {
    let process = story.start("echo $$ > pid; sleep 600").await;
    let pid = number(&story.until_file("pid").await);
    let order = EndOrder { session: story.session(0), attempt: Attempt(1), process: Some(process) };
    let (one, two) = tokio::join!(story.runtime().end(&order), story.runtime().end(&order));
    assert_eq!((one, two), (Ok(()), Ok(())));
    assert!(!lives(pid));
    story.restart().await;
    story.runtime().end(&order).await.expect("it has ended");

    let never = EndOrder { session: story.session(1), attempt: Attempt(4), process: None };
    story.runtime().end(&never).await.expect("there is nothing to end");
    let mut late = story.spec("echo $$ > late; sleep 600");
    (late.session, late.attempt) = (never.session, never.attempt);
    let _ = story.runtime().start(&late).await;
    let census = story.runtime().census().await.expect("a census");
    assert!(census.iter().all(|counted| !matches!(counted.life, Life::Alive { .. })), "{census:?}");
    assert!(!story.folder().join("late").exists(), "a late start starts nothing");
}

/// Neighbours are another session, one whose name begins with this one's, and another attempt of the same session.
pub async fn ending_one_leaves_its_neighbours_alone<B: RuntimeBench>(story: Story<B>) {
    let mut pids = Vec::new();
    let neighbours = [(0, 1, "ao-1"), (0, 10, "ao-1"), (1, 1, "ao-10"), (2, 1, "ao-1 ")];
    for (index, (session, attempt, name)) in neighbours.into_iter().enumerate() {
        let mut spec = story.spec(&format!("echo $$ > pid{index}; sleep 600"));
        (spec.session, spec.attempt, spec.name) = (story.session(session), Attempt(attempt), name.into());
        story.runtime().start(&spec).await.expect("it starts");
        pids.push(number(&story.until_file(&format!("pid{index}")).await));
    }
    story.end().await;
    // Again, now that an exact match is not there and only longer names are.
    story.end().await;
    until("the end", async || (!lives(pids[0])).then_some(())).await;
    assert!(pids[1..].iter().all(|pid| lives(*pid)));
    for (session, attempt, _) in &neighbours[1..] {
        let order = EndOrder { session: story.session(*session), attempt: Attempt(*attempt), process: None };
        story.runtime().end(&order).await.expect("it ends");
    }
    assert!(pids.iter().all(|pid| !lives(*pid)));
}
