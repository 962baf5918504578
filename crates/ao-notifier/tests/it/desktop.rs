//! The desktop: a stand-in for the one who shows notices, on a bus of the test's own.
#![cfg(all(target_os = "linux", feature = "desktop"))]

use std::collections::HashMap;
use std::fs;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ao_core::notice::NoticeLevel;
use ao_ports::{Notifier, NotifyError};
use ao_testkit::contract::notifier::NotifierBench;
use async_trait::async_trait;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;
use zbus::OwnedVariant;

use crate::support::{channel_in, linked, notice};

/// A wait for what should come at once.
const SOON: Duration = Duration::from_secs(30);

/// A private message bus. Ends with the test.
struct PrivateBus {
    dir: TempDir,
    _daemon: Child,
}

impl PrivateBus {
    async fn start() -> PrivateBus {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("bus.conf");
        // Every client may do everything; the test is the only one.
        let allow = "<allow send_destination='*' eavesdrop='true'/><allow eavesdrop='true'/><allow own='*'/>";
        let listen = format!("unix:path={}", dir.path().join("bus").display());
        let policy = format!("<policy context='default'>{allow}</policy>");
        fs::write(&config, format!("<busconfig><listen>{listen}</listen>{policy}</busconfig>")).unwrap();
        let mut daemon = Command::new("dbus-daemon")
            .arg(format!("--config-file={}", config.display()))
            .args(["--nofork", "--nopidfile", "--print-address=1"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("`dbus-daemon` is installed; `cargo xtask test` does that");
        let mut line = String::new();
        let mut output = BufReader::new(daemon.stdout.take().unwrap());
        timeout(SOON, output.read_line(&mut line)).await.unwrap().unwrap();
        assert!(line.starts_with("unix:"), "it tells its address when it listens: {line}");
        PrivateBus { dir, _daemon: daemon }
    }

    fn address(&self) -> String {
        format!("unix:path={}", self.dir.path().join("bus").display())
    }
}

/// A shown notice: its sender, title, text and urgency.
type Shown = (String, String, String, u8);

/// The number of every notice that the stand-in shows.
const NUMBER: u32 = 7;

struct StandIn {
    shown: Arc<Mutex<Vec<Shown>>>,
    connection: zbus::Connection,
}

struct Notifications {
    able: Vec<String>,
    shown: Arc<Mutex<Vec<Shown>>>,
}

#[zbus::interface(name = "org.freedesktop.Notifications")]
impl Notifications {
    fn get_capabilities(&self) -> Vec<String> {
        self.able.clone()
    }

    #[expect(clippy::too_many_arguments, reason = "so it is in the specification")]
    fn notify(
        &self,
        app_name: String,
        replaces_id: u32,
        _app_icon: String,
        summary: String,
        body: String,
        actions: Vec<String>,
        hints: HashMap<String, OwnedVariant>,
        _expire_timeout: i32,
    ) -> u32 {
        assert_eq!(replaces_id, 0);
        if self.able.iter().any(|able| able == "actions") {
            assert_eq!(actions, ["default", "Open"]);
        } else {
            assert!(actions.is_empty());
        }
        let urgency = u8::try_from(hints["urgency"].try_clone().unwrap()).unwrap();
        self.shown.lock().unwrap().push((app_name, summary, body, urgency));
        NUMBER
    }
}

impl StandIn {
    async fn serve(bus: &PrivateBus, able: &[&str]) -> StandIn {
        let shown = Arc::<Mutex<Vec<Shown>>>::default();
        let able = able.iter().map(|able| (*able).to_owned()).collect();
        let connection = zbus::connection::Builder::address(bus.address().as_str())
            .serve_at("/org/freedesktop/Notifications", Notifications { able, shown: shown.clone() })
            .name("org.freedesktop.Notifications")
            .build()
            .await
            .unwrap();
        StandIn { shown, connection }
    }
}

async fn show(bus: &PrivateBus, level: NoticeLevel, text: &str) -> Result<(), NotifyError> {
    let address = bus.address();
    let desktop = channel_in("desktop", &[], &[("DBUS_SESSION_BUS_ADDRESS", &address)]).unwrap();
    assert_eq!((desktop.plugin(), desktop.target().as_str()), ("desktop", "this desktop"));
    timeout(SOON, desktop.notify(&notice(level, text))).await.unwrap()
}

fn shown(title: &str, text: &str, urgency: u8) -> Shown {
    ("ao".into(), title.into(), text.into(), urgency)
}

#[tokio::test]
async fn a_notice_is_shown_as_urgent_as_it_is() {
    let bus = PrivateBus::start().await;
    let desktop = StandIn::serve(&bus, &["body"]).await;
    show(&bus, NoticeLevel::Urgent, "it asks: <b>run</b> & go?").await.unwrap();
    show(&bus, NoticeLevel::Info, "done").await.unwrap();
    let seen = desktop.shown.lock().unwrap().clone();
    assert_eq!(
        seen,
        [shown("urgent: ses_4f", "it asks: <b>run</b> & go?", 2), shown("info: ses_4f", "done", 0)]
    );
}

#[tokio::test]
async fn a_desktop_that_knows_markup_gets_none() {
    let bus = PrivateBus::start().await;
    let desktop = StandIn::serve(&bus, &["body", "body-markup", "body-hyperlinks"]).await;
    show(&bus, NoticeLevel::Action, "<a href='https://evil.example'>your bank</a> & co").await.unwrap();
    let text = "&lt;a href='https://evil.example'&gt;your bank&lt;/a&gt; &amp; co";
    assert_eq!(*desktop.shown.lock().unwrap(), [shown("action: ses_4f", text, 1)]);
}

/// Checks of a desktop before anything is shown on it.
#[tokio::test]
async fn a_desktop_is_reachable_only_if_something_shows_notices() {
    let bus = PrivateBus::start().await;
    let address = bus.address();
    let env = |name: &str| (name == "DBUS_SESSION_BUS_ADDRESS").then(|| address.clone());
    let why = ao_notifier::desktop_reachable(&env).await.unwrap_err();
    assert_eq!(why, "no desktop in this session shows notices");
    let desktop = StandIn::serve(&bus, &["body"]).await;
    assert_eq!(ao_notifier::desktop_reachable(&env).await, Ok(()));
    drop(desktop);
    fs::remove_file(bus.dir.path().join("bus")).unwrap();
    assert_eq!(ao_notifier::desktop_reachable(&env).await.unwrap_err(), "no desktop session answers");
}

#[tokio::test]
async fn a_bus_without_a_desktop_and_no_bus_are_failures() {
    let bus = PrivateBus::start().await;
    let why = show(&bus, NoticeLevel::Info, "a").await.unwrap_err().to_string();
    assert!(why.starts_with("the desktop did not show it"), "{why}");

    fs::remove_file(bus.dir.path().join("bus")).unwrap();
    let why = show(&bus, NoticeLevel::Info, "a").await.unwrap_err().to_string();
    assert!(why.starts_with("the desktop's bus cannot be reached"), "{why}");
}

/// A program that writes down what it is asked to open.
fn opener(dir: &std::path::Path) -> (String, std::path::PathBuf) {
    use std::os::unix::fs::PermissionsExt;
    let (program, opened) = (dir.join("opener"), dir.join("opened"));
    let script =
        format!("#!/bin/sh\nprintf '%s\\n' \"$1\" > '{0}.part' && mv '{0}.part' '{0}'\n", opened.display());
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    (program.display().to_string(), opened)
}

#[tokio::test]
async fn a_click_opens_what_the_notice_is_about() {
    let bus = PrivateBus::start().await;
    let stand_in = StandIn::serve(&bus, &["body", "actions"]).await;
    let (program, opened) = opener(bus.dir.path());
    let address = bus.address();
    let desktop = channel_in("desktop", &[("opener", &program)], &[("DBUS_SESSION_BUS_ADDRESS", &address)]);
    let desktop = desktop.unwrap().with_dashboard("http://127.0.0.1:3000");
    desktop.notify(&linked(NoticeLevel::Action, "look")).await.unwrap();
    let click = async |number: u32| {
        let (path, name) = ("/org/freedesktop/Notifications", "org.freedesktop.Notifications");
        let body = (number, "default");
        stand_in.connection.emit_signal(None::<&str>, path, name, "ActionInvoked", &body).await.unwrap();
    };
    // The click on another notice does not affect this one.
    click(NUMBER + 1).await;
    click(NUMBER).await;
    let came = async {
        while !opened.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(SOON, came).await.unwrap();
    assert_eq!(fs::read_to_string(&opened).unwrap(), "http://127.0.0.1:3000/#/s/app-3\n");
}

/// The desktop on the bench of the port's contract: without a stand-in, no notice is shown.
struct DesktopBench {
    bus: PrivateBus,
    stand_in: Option<StandIn>,
}

impl DesktopBench {
    async fn start() -> DesktopBench {
        let bus = PrivateBus::start().await;
        let stand_in = Some(StandIn::serve(&bus, &["body"]).await);
        DesktopBench { bus, stand_in }
    }
}

#[async_trait]
impl NotifierBench for DesktopBench {
    fn notifier(&self) -> Arc<dyn Notifier> {
        let address = self.bus.address();
        Arc::new(channel_in("desktop", &[], &[("DBUS_SESSION_BUS_ADDRESS", &address)]).unwrap())
    }

    async fn accepted(&self) -> usize {
        self.stand_in.as_ref().map_or(0, |stand_in| stand_in.shown.lock().unwrap().len())
    }

    async fn set_working(&mut self, works: bool) {
        match (works, self.stand_in.take()) {
            (true, _) => self.stand_in = Some(StandIn::serve(&self.bus, &["body"]).await),
            (false, Some(stand_in)) => stand_in.connection.close().await.unwrap(),
            (false, None) => {}
        }
    }
}

mod contract {
    use super::DesktopBench;

    ao_testkit::notifier_contract!(DesktopBench::start().await);
}
