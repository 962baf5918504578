//! Looking into the terminals of agents, and taking them over.

use std::num::NonZero;
use std::time::Duration;

use ao_core::SessionId;
use ao_daemon::ErrorKind;
use ao_daemon::terminals::TerminalViews;
use ao_ports::{Frame, RuntimeError, TerminalView, ViewOptions};
use tokio::time::timeout;

use crate::fleet::{Fleet, PATIENCE, Plan, on_both};

on_both! {
    who_only_looks_changes_nothing;
    who_has_control_says_how_large_it_is_and_gives_it_back;
    who_goes_without_a_word_gives_the_size_back;
    control_goes_from_one_viewer_to_another;
    a_viewer_who_never_reads_holds_up_nobody;
    the_end_is_told_with_its_code;
}

/// acceptance: N4
async fn who_only_looks_changes_nothing(runtime: &'static str) {
    let fleet = Fleet::start(Plan::on(runtime)).await;
    let session = fleet.idle("looked-at").await;
    let (views, before) = (views(&fleet), size(&fleet, session).await);
    let look = ViewOptions { size: Some((40, 10)), control: false, history: 0 };
    let mut watcher = Watcher::open(&fleet, &views, session, look).await;
    watcher.until("the screen", |shown| shown.contains("get ready")).await;
    assert_eq!(watcher.size, before, "it is shown as large as it is");
    watcher.view.resize((30, 8)).await.unwrap();
    let refused = watcher.view.type_bytes(b"never typed\r").await.unwrap_err();
    assert_eq!(refused, RuntimeError::NoControl);
    // The agent goes on, and what it does next is seen; its messages are not held up by somebody who looks.
    fleet.send(session, "say more").await;
    watcher.until("what comes next", |shown| shown.contains("say more")).await;
    fleet.until_idle(session, 2).await;
    assert_eq!(size(&fleet, session).await, before);
    assert_eq!(fleet.turns(session).await, ["get ready", "say more"]);
    drop(watcher);
    fleet.finish().await;
}

async fn who_has_control_says_how_large_it_is_and_gives_it_back(runtime: &'static str) {
    let fleet = Fleet::start(Plan::on(runtime)).await;
    let session = fleet.idle("taken-over").await;
    let (views, before) = (views(&fleet), size(&fleet, session).await);
    let look = ViewOptions { size: Some((70, 20)), control: true, history: 0 };
    let mut watcher = Watcher::open(&fleet, &views, session, look).await;
    watcher.until_seen("control", |watcher| watcher.control == Some(true)).await;
    until_size(&fleet, session, (70, 20)).await;
    watcher.until_seen("its own size", |watcher| watcher.size == (70, 20)).await;
    watcher.view.resize((66, 18)).await.unwrap();
    until_size(&fleet, session, (66, 18)).await;
    // The agent draws when a key is pressed, for the size that it knows; tmux tells it of a new one a moment later.
    for key in "typed by hand, key by key".chars() {
        watcher.view.type_bytes(key.to_string().as_bytes()).await.unwrap();
        let seen = watcher.until_seen("nothing", |_| false);
        let _ = timeout(Duration::from_millis(40), seen).await;
    }
    watcher.until("the typing", |shown| shown.contains("typed by hand")).await;

    watcher.view.control(false).await.unwrap();
    watcher.until_seen("that control is gone", |watcher| watcher.control == Some(false)).await;
    until_size(&fleet, session, before).await;
    watcher.until_seen("the size as before", |watcher| watcher.size == before).await;
    assert_eq!(watcher.view.type_bytes(b"x").await.unwrap_err(), RuntimeError::NoControl);
    watcher.view.control(true).await.unwrap();
    watcher.until_seen("control again", |watcher| watcher.control == Some(true)).await;
    until_size(&fleet, session, (66, 18)).await;
    fleet.finish().await;
}

async fn who_goes_without_a_word_gives_the_size_back(runtime: &'static str) {
    let fleet = Fleet::start(Plan::on(runtime)).await;
    let session = fleet.idle("left-alone").await;
    let (views, before) = (views(&fleet), size(&fleet, session).await);
    let look = ViewOptions { size: Some((70, 20)), control: true, history: 0 };
    let mut watcher = Watcher::open(&fleet, &views, session, look).await;
    let mut looker = Watcher::open(&fleet, &views, session, ViewOptions::default()).await;
    watcher.until_seen("its own size", |watcher| watcher.size == (70, 20)).await;
    until_size(&fleet, session, (70, 20)).await;
    looker.until_seen("the size that it is given", |looker| looker.size == (70, 20)).await;
    drop(watcher);
    until_size(&fleet, session, before).await;
    looker.until_seen("the size as before", |looker| looker.size == before).await;
    drop(looker);
    fleet.finish().await;
}

async fn control_goes_from_one_viewer_to_another(runtime: &'static str) {
    let fleet = Fleet::start(Plan::on(runtime)).await;
    let session = fleet.idle("shared").await;
    let (views, before) = (views(&fleet), size(&fleet, session).await);
    let look = ViewOptions { size: Some((70, 20)), control: true, history: 0 };
    let mut first = Watcher::open(&fleet, &views, session, look).await;
    first.until_seen("control", |watcher| watcher.control == Some(true)).await;
    let mut second =
        Watcher::open(&fleet, &views, session, ViewOptions { size: Some((90, 25)), ..look }).await;
    second.until_seen("control", |watcher| watcher.control == Some(true)).await;
    first.until_seen("that another has it", |watcher| watcher.control == Some(false)).await;
    assert_eq!(first.view.type_bytes(b"x").await.unwrap_err(), RuntimeError::NoControl);
    until_size(&fleet, session, (90, 25)).await;
    drop(first);
    second.view.type_bytes(b"still here").await.unwrap();
    second.until("the typing", |shown| shown.contains("still here")).await;
    assert_eq!(size(&fleet, session).await, (90, 25));
    drop(second);
    until_size(&fleet, session, before).await;
    fleet.finish().await;
}

async fn a_viewer_who_never_reads_holds_up_nobody(runtime: &'static str) {
    let fleet = Fleet::start(Plan::on(runtime)).await;
    let session = fleet.idle("quick").await;
    let views = views(&fleet);
    let mut slow = Watcher::open(&fleet, &views, session, ViewOptions::default()).await;
    fleet.send(session, "[[tool seq 1000000 > /dev/tty]] [[say done with it]]").await;
    fleet.until_idle(session, 2).await;
    // Nothing was read until now. It ends with what the screen shows, and far less than was put out has come.
    let mut seen = 0;
    while !slow.screen().contains("done with it") {
        let before = slow.shown.len();
        timeout(PATIENCE, slow.see()).await.expect("there is more to see");
        seen += slow.shown.len().saturating_sub(before);
    }
    assert!(seen < 6_000_000, "{seen} bytes were kept for one who did not look");
    drop(slow);
    fleet.finish().await;
}

async fn the_end_is_told_with_its_code(runtime: &'static str) {
    let fleet = Fleet::start(Plan::on(runtime)).await;
    let session = fleet.idle("ends").await;
    let views = views(&fleet);
    let mut watcher = Watcher::open(&fleet, &views, session, ViewOptions::default()).await;
    watcher.until("the screen", |shown| shown.contains("get ready")).await;
    fleet.kill9(fleet.agent_pid(session));
    watcher.until_seen("the end", |watcher| watcher.ended.is_some()).await;
    assert!(timeout(PATIENCE, watcher.view.next()).await.unwrap().unwrap().is_none(), "nothing behind it");
    drop(watcher);
    fleet.finish().await;
}

/// Nobody is left waiting at a terminal that there is not.
#[tokio::test]
async fn a_session_that_has_not_begun_has_no_terminal() {
    let mut plan = Plan::on("process");
    plan.settings.max_live = 0;
    let fleet = Fleet::start(plan).await;
    let session = fleet.spawn("waits", "get ready").await;
    let session = fleet.session(session).await;
    let refused = views(&fleet).attach(&session, ViewOptions::default()).await.err().unwrap();
    assert!(matches!(refused.kind, ErrorKind::NotRunning), "{refused}");
    assert!(refused.hints[0].contains("ao status waits"), "{:?}", refused.hints);
    fleet.finish().await;
}

// ── somebody who looks ──

struct Watcher {
    view: Box<dyn TerminalView>,
    size: (u16, u16),
    shown: Vec<u8>,
    at: Option<u64>,
    control: Option<bool>,
    ended: Option<Option<i32>>,
}

impl Watcher {
    async fn open(fleet: &Fleet, views: &TerminalViews, session: SessionId, look: ViewOptions) -> Watcher {
        let view = views.attach(&fleet.session(session).await, look).await.unwrap();
        Watcher { view, size: (0, 0), shown: vec![], at: None, control: None, ended: None }
    }

    async fn until(&mut self, what: &str, so: impl Fn(&str) -> bool) {
        self.until_seen(what, |watcher| so(&watcher.screen())).await;
    }

    async fn until_seen(&mut self, what: &str, so: impl Fn(&Watcher) -> bool) {
        let seen = async {
            while !so(self) {
                self.see().await;
            }
        };
        if timeout(PATIENCE, seen).await.is_err() {
            let (size, control, screen) = (self.size, self.control, self.screen());
            panic!("never seen: {what}; size {size:?}, control {control:?}, screen:\n{screen}");
        }
    }

    /// What a terminal of that size shows by now.
    fn screen(&self) -> String {
        let (Some(columns), Some(rows)) = (NonZero::new(self.size.0), NonZero::new(self.size.1)) else {
            return String::new();
        };
        let mut terminal = vt100::Parser::new(rows, columns, 0);
        terminal.process(&self.shown);
        terminal.screen().contents()
    }

    async fn see(&mut self) {
        match self.view.next().await.unwrap().expect("there is more") {
            Frame::Keyframe { size, from, bytes } => {
                (self.size, self.shown, self.at) = (size, bytes, Some(from));
            }
            Frame::Output { from, bytes } => {
                assert_eq!(Some(from), self.at, "output follows on what was shown, a keyframe first");
                self.at = Some(from + bytes.len() as u64);
                self.shown.extend(bytes);
            }
            Frame::Control { yours } => self.control = Some(yours),
            Frame::Ended { code } => self.ended = Some(code),
        }
    }
}

fn views(fleet: &Fleet) -> TerminalViews {
    TerminalViews::new(fleet.daemon().runtimes.clone())
}

async fn size(fleet: &Fleet, session: SessionId) -> (u16, u16) {
    let process = fleet.session(session).await.process.expect("it runs");
    fleet.daemon().runtimes.of(&process).unwrap().screen(&process).await.unwrap().size
}

async fn until_size(fleet: &Fleet, session: SessionId, wanted: (u16, u16)) {
    let grows = async {
        // No runtime tells of this by itself.
        while size(fleet, session).await != wanted {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    if timeout(PATIENCE, grows).await.is_err() {
        panic!("the terminal is never {wanted:?}, but {:?}", size(fleet, session).await);
    }
}
