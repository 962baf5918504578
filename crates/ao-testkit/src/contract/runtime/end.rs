//! Ending: everything of the session, for good, and nothing else.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command};

use ao_core::Attempt;
use ao_core::input::ProcessLife;
use ao_ports::environment::{ATTEMPT, SESSION, SETUP};
use ao_ports::{EndOrder, StartSpec};

use super::story::{RuntimeBench, Story, lives, number, until};

/// Forks twice, leaves its session, and listens, as background servers do. In perl, which git depends on: a shell
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
    assert!(!matches!(story.runtime().look(&process).await, ProcessLife::Alive { .. }));
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

/// It has only the ids of its agent: its parents are gone, or the shim was replaced.
///
/// acceptance: L5
pub async fn what_an_agent_has_left_anywhere_is_ended<B: RuntimeBench>(mut story: Story<B>) {
    for (number, leaves) in [(0, false), (1, true)] {
        let mut spec = story.spec(if leaves { "exit 0" } else { "sleep 600" });
        spec.session = story.session(number);
        story.runtime().start(&spec).await.expect("it starts");
        if leaves {
            story.exit().await;
        }
        let left = StrayProgram::of(&spec, false);
        let order = EndOrder { session: spec.session, attempt: spec.attempt, process: None };
        story.runtime().end(&order).await.expect("it ends");
        assert!(!left.lives(), "it went with its agent");
    }
}

/// Programs that a workspace's set-up started, such as a database, serve all attempts of the session.
pub async fn what_a_set_up_has_started_is_left_alone<B: RuntimeBench>(story: Story<B>) {
    let spec = story.spec("sleep 600");
    let left = StrayProgram::of(&spec, true);
    story.runtime().start(&spec).await.expect("it starts");
    story.end().await;
    assert!(left.lives(), "it belongs to the session and not to the attempt");
}

/// A program of a session that was started elsewhere.
pub(super) struct StrayProgram(Child);

impl StrayProgram {
    pub(super) fn of(spec: &StartSpec, by_set_up: bool) -> StrayProgram {
        let mut command = Command::new("sleep");
        command.arg("600").env(SESSION, spec.session.to_string()).env(ATTEMPT, spec.attempt.to_string());
        if by_set_up {
            command.env(SETUP, &spec.path);
        }
        StrayProgram(command.spawn().expect("`sleep` is there"))
    }

    fn lives(&self) -> bool {
        lives(i32::try_from(self.0.id()).expect("a pid"))
    }
}

impl Drop for StrayProgram {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub async fn ending_again_and_ending_nothing_are_no_errors<B: RuntimeBench>(mut story: Story<B>) {
    let spec = story.lasting();
    let process = story.start_lasting(&spec).await;
    let order = EndOrder { session: spec.session, attempt: spec.attempt, process: Some(process) };
    let (one, two) = tokio::join!(story.runtime().end(&order), story.runtime().end(&order));
    assert_eq!((one, two), (Ok(()), Ok(())));
    assert!(!story.bench().runs(&spec));
    story.restart().await;
    story.runtime().end(&order).await.expect("it has ended");

    let late = StartSpec { session: story.session(1), attempt: Attempt(4), ..story.lasting() };
    story.end_spec(&late).await;
    story.bench().prepare(&late);
    let _ = story.runtime().start(&late).await;
    let census = story.runtime().census().await.expect("a census");
    assert!(census.iter().all(|counted| !matches!(counted.life, ProcessLife::Alive { .. })), "{census:?}");
    assert_eq!(story.bench().starts(&late), 0, "a late start starts nothing");
}

/// Neighbours are another session, one whose name begins with this one's, and another attempt of the same session.
pub async fn ending_one_leaves_its_neighbours_alone<B: RuntimeBench>(story: Story<B>) {
    let neighbours = [(0, 1, "ao-1"), (0, 10, "ao-1"), (1, 1, "ao-10"), (2, 1, "ao-1 ")];
    let specs = neighbours.map(|(session, attempt, name)| StartSpec {
        session: story.session(session),
        attempt: Attempt(attempt),
        name: name.into(),
        ..story.lasting()
    });
    for spec in &specs {
        story.start_lasting(spec).await;
    }
    story.end().await;
    // Again, now that only longer names are left and no exact match.
    story.end().await;
    until("the end", async || (!story.bench().runs(&specs[0])).then_some(())).await;
    assert!(specs[1..].iter().all(|spec| story.bench().runs(spec)));
    for spec in &specs[1..] {
        story.end_spec(spec).await;
    }
    assert!(specs.iter().all(|spec| !story.bench().runs(spec)));
}
