//! `ao attach` in a real terminal.

mod desk;
mod door;

use std::sync::Arc;

use ao_core::SessionId;
use ao_daemon::terminals::TerminalViews;
use ao_ports::{Frame, ViewOptions};
use rustix::process::Signal;

use self::desk::Desk;
use self::door::Door;
use crate::fleet::{Fleet, Plan};
use crate::house::House;
use crate::support::Home;

/// The agent's input box.
const BOX: &str = "│ >";

struct Stage {
    fleet: Fleet,
    session: SessionId,
    views: Arc<TerminalViews>,
    door: Option<Door>,
}

impl Stage {
    async fn set() -> Stage {
        let fleet = Fleet::start(Plan::on("process")).await;
        let session = fleet.idle("worker").await;
        let views = Arc::new(TerminalViews::new(fleet.daemon().runtimes.clone()));
        let door = Some(Door::open(&fleet, views.clone()).await);
        Stage { fleet, session, views, door }
    }

    fn sit_down(&self, size: (u16, u16), args: &[&str]) -> Desk {
        Desk::with(&self.fleet.path("data"), size, &[&["attach", "worker"], args].concat())
    }

    async fn size(&self) -> (u16, u16) {
        let process = self.fleet.session(self.session).await.process.expect("it runs");
        self.fleet.daemon().runtimes.of(&process).unwrap().screen(&process).await.unwrap().size
    }

    async fn until_size(&self, wanted: (u16, u16)) {
        desk::until(&format!("the size {wanted:?}"), async || {
            let size = self.size().await;
            if size == wanted { Ok(()) } else { Err(format!("{size:?}")) }
        })
        .await;
    }
}

#[tokio::test]
async fn typing_resizing_and_detaching_work_and_leave_everything_as_it_was() {
    let stage = Stage::set().await;
    let natural = stage.size().await;
    let mut desk = stage.sit_down((90, 24), &[]);
    let before = desk.modes();
    desk.until_shown("worker · ctrl-] d detaches").await;
    stage.until_size((90, 24)).await;
    assert_ne!(desk.modes(), before, "keys go to the agent one by one");
    desk.types("hello there");
    desk.until_shown("> hello there").await;
    stage.fleet.until_draft(stage.session, "hello there").await;
    desk.resize((100, 30));
    stage.until_size((100, 30)).await;
    desk.until("the program's modes are the terminal's", |desk| desk.wants_bracketed_paste()).await;
    assert!(desk.in_alternate_screen());

    desk.types("\x1dd");
    assert_eq!(desk.exit_code().await, 0);
    assert!(desk.screen().contains("detached from `worker`; its agent keeps running"), "{}", desk.screen());
    assert_eq!(desk.modes(), before);
    assert!(!desk.in_alternate_screen() && !desk.wants_bracketed_paste());
    stage.until_size(natural).await;
    assert_eq!(stage.fleet.agent_pids().len(), 1, "it goes on");
    stage.fleet.finish().await;
}

#[tokio::test]
async fn a_signal_ends_the_view_and_gives_the_terminal_back() {
    let stage = Stage::set().await;
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let mut desk = stage.sit_down((90, 24), &[]);
        let before = desk.modes();
        desk.until_shown(BOX).await;
        desk.signal(signal);
        assert_eq!(desk.exit_code().await, code);
        assert_eq!(desk.modes(), before);
        assert!(!desk.in_alternate_screen() && !desk.wants_bracketed_paste());
    }
    stage.fleet.finish().await;
}

#[tokio::test]
async fn who_is_stopped_for_a_while_has_their_terminal_meanwhile() {
    let stage = Stage::set().await;
    let mut desk = stage.sit_down((90, 24), &[]);
    let before = desk.modes();
    desk.until_shown(BOX).await;
    desk.signal(Signal::TSTP);
    desk.until("it is stopped", |desk| !desk.in_alternate_screen() && desk.modes() == before).await;
    desk.signal(Signal::CONT);
    desk.until("it goes on", |desk| desk.in_alternate_screen() && desk.modes() != before).await;
    desk.until_shown(BOX).await;
    desk.types("\x1dd");
    assert_eq!(desk.exit_code().await, 0);
    stage.fleet.finish().await;
}

#[tokio::test]
async fn who_only_looks_sees_what_fits_and_changes_nothing() {
    let stage = Stage::set().await;
    let natural = stage.size().await;
    let mut desk = stage.sit_down((60, 12), &["--read-only", "--detach-keys", "ctrl-p,ctrl-q"]);
    desk.until_shown("worker · read-only · ctrl-p ctrl-q, or q, detaches").await;
    let whole = stage.sit_down((150, 50), &["--read-only"]);
    whole.until_shown("get ready").await;
    desk.types("not for the agent");
    desk.resize((120, 14));
    desk.until_shown(&format!("this shows what fits of {}×{}", natural.0, natural.1)).await;
    assert_eq!(stage.size().await, natural);
    desk.types("\x10\x11");
    assert_eq!(desk.exit_code().await, 0);
    stage.fleet.send(stage.session, "next").await;
    whole.until_shown("next").await;
    stage.fleet.until_idle(stage.session, 2).await;
    assert_eq!(stage.fleet.turns(stage.session).await, ["get ready", "next"]);
    drop(whole);
    stage.fleet.finish().await;
}

#[tokio::test]
async fn who_loses_control_is_told_and_can_take_it_back() {
    let stage = Stage::set().await;
    let mut desk = stage.sit_down((90, 24), &[]);
    stage.until_size((90, 24)).await;
    let look = ViewOptions { size: Some((70, 20)), control: true, history: 0 };
    let mut other = stage.views.attach(&stage.fleet.session(stage.session).await, look).await.unwrap();
    desk.until_shown("another viewer has control · ctrl-t takes it back").await;
    stage.until_size((70, 20)).await;
    desk.types("lost");
    desk.until_shown("another viewer has control").await;
    desk.types("\x14");
    stage.until_size((90, 24)).await;
    desk.until("the line is gone", |desk| !desk.screen().contains("another viewer")).await;
    while other.next().await.unwrap() != Some(Frame::Control { yours: false }) {}
    desk.types("mine again");
    stage.fleet.until_draft(stage.session, "mine again").await;
    desk.types("\x1dd");
    assert_eq!(desk.exit_code().await, 0);
    stage.fleet.finish().await;
}

#[tokio::test]
async fn a_daemon_that_goes_is_waited_for() {
    let mut stage = Stage::set().await;
    let mut desk = stage.sit_down((90, 24), &[]);
    desk.until_shown(BOX).await;
    stage.until_size((90, 24)).await;
    stage.door = None;
    std::fs::remove_file(stage.fleet.path("data/ao.sock")).unwrap();
    desk.until_shown("the daemon is gone; waiting…").await;
    assert!(desk.screen().contains(BOX), "the picture stays");
    stage.door = Some(Door::open(&stage.fleet, stage.views.clone()).await);
    desk.until("it goes on", |desk| !desk.screen().contains("waiting…")).await;
    desk.types("still me");
    desk.until_shown("> still me").await;
    stage.until_size((90, 24)).await;
    desk.types("\x1dd");
    assert_eq!(desk.exit_code().await, 0);
    stage.fleet.finish().await;
}

/// The whole way: the program, the daemon with its API, the shim. The daemon is killed meanwhile, and another one started.
#[tokio::test]
async fn a_daemon_that_is_replaced_for_real_is_waited_for() {
    let house = House::new();
    house.start();
    let session = house.session("look at me", "get ready");
    house.wait_for(&session, "idle");
    let mut desk = Desk::with(&house.path("data"), (90, 24), &["attach", &session]);
    desk.until_shown(BOX).await;
    let daemon = rustix::process::Pid::from_raw(house.daemon_pid()).unwrap();
    rustix::process::kill_process(daemon, Signal::KILL).unwrap();
    desk.until_shown("the daemon is gone; waiting…").await;
    house.start();
    desk.until("it goes on", |desk| !desk.screen().contains("waiting…")).await;
    desk.types("hello again\r");
    desk::until("the agent has taken it", async || {
        let turns = house.turns(&session);
        if turns == ["get ready", "hello again"] { Ok(()) } else { Err(format!("{turns:?}")) }
    })
    .await;
    desk.types("\x1dd");
    assert_eq!(desk.exit_code().await, 0);
    let mut lost = Desk::with(&house.path("data"), (90, 24), &["attach", "nobody"]);
    assert_eq!(lost.exit_code().await, 5);
}

#[tokio::test]
async fn a_large_paste_arrives_whole() {
    let stage = Stage::set().await;
    let mut desk = stage.sit_down((90, 24), &[]);
    stage.until_size((90, 24)).await;
    let text = "0123456789".repeat(20_000);
    desk.types(&format!("\x1b[200~{text}\x1b[201~"));
    stage.fleet.until_draft(stage.session, &text).await;
    desk.types("\x1dd");
    assert_eq!(desk.exit_code().await, 0);
    stage.fleet.finish().await;
}

#[tokio::test]
async fn the_end_of_the_program_ends_the_view() {
    let stage = Stage::set().await;
    let mut desk = stage.sit_down((90, 24), &[]);
    stage.until_size((90, 24)).await;
    desk.types("[[crash 3]]\r");
    assert_eq!(desk.exit_code().await, 0);
    assert!(desk.screen().contains("the program of `worker` has ended with code 3"), "{}", desk.screen());
    stage.fleet.finish().await;
}

#[tokio::test]
async fn a_session_that_is_not_there_is_refused_before_the_screen_changes() {
    let stage = Stage::set().await;
    let mut desk = Desk::with(&stage.fleet.path("data"), (90, 24), &["attach", "nobody"]);
    assert_eq!(desk.exit_code().await, 5);
    assert!(desk.screen().contains("there is no session `nobody`"), "{}", desk.screen());
    stage.fleet.finish().await;
}

#[test]
fn without_a_terminal_it_says_what_to_do() {
    insta::assert_snapshot!(Home::new().run(&["attach", "worker"]), @r"
    exit 1
    -- stderr --
    error: `ao attach` needs a terminal
    hint: `ao logs -f worker` follows the agent's output
    ");
}
