//! A bus of a test's own, and a stand-in for logind on it.
#![cfg(all(target_os = "linux", feature = "logind"))]

use std::fs;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use zbus::fdo;

/// Everything is at most so far away.
const SOON: Duration = Duration::from_secs(30);

/// A message bus that nobody else is on. Ends with the test.
pub(crate) struct PrivateBus {
    dir: TempDir,
    daemon: Option<Child>,
}

impl PrivateBus {
    pub(crate) async fn start() -> PrivateBus {
        let mut bus = PrivateBus { dir: tempfile::tempdir().unwrap(), daemon: None };
        bus.again().await;
        bus
    }

    pub(crate) fn address(&self) -> String {
        format!("unix:path={}", self.dir.path().join("bus").display())
    }

    /// Starts it, at the same address as before.
    pub(crate) async fn again(&mut self) {
        let mut daemon = Command::new("dbus-daemon")
            .arg(format!("--config-file={}", self.config().display()))
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
        self.daemon = Some(daemon);
    }

    /// Ends it, and its socket with it.
    pub(crate) fn stop(&mut self) {
        self.daemon = None;
        fs::remove_file(self.dir.path().join("bus")).unwrap();
    }

    /// Everybody may do everything, which is nobody but the test.
    fn config(&self) -> PathBuf {
        let path = self.dir.path().join("bus.conf");
        let allow = "<allow send_destination='*' eavesdrop='true'/><allow eavesdrop='true'/><allow own='*'/>";
        let config = format!(
            "<busconfig><listen>{}</listen><policy context='default'>{allow}</policy></busconfig>",
            self.address()
        );
        fs::write(&path, config).unwrap();
        path
    }
}

/// What logind does with inhibitors, and nothing else.
pub(crate) struct StandIn {
    state: Arc<State>,
    _connection: zbus::Connection,
}

struct State {
    asked: Mutex<Vec<[String; 4]>>,
    refused: Mutex<Option<String>>,
    held: watch::Sender<usize>,
    /// Who waits for each file to be closed. Dropped, it closes logind's own ends.
    waiters: Mutex<JoinSet<()>>,
}

struct Manager(Arc<State>);

#[zbus::interface(name = "org.freedesktop.login1.Manager")]
impl Manager {
    async fn inhibit(
        &self,
        what: String,
        who: String,
        why: String,
        mode: String,
    ) -> fdo::Result<zbus::OwnedFd> {
        let state = self.0.clone();
        state.asked.lock().unwrap().push([what.clone(), who, why, mode]);
        if state.refused.lock().unwrap().as_ref() == Some(&what) {
            return Err(fdo::Error::AccessDenied("not for you".into()));
        }
        let (kept, given) = io_pipe();
        let mut kept = Receiver::from_owned_fd(kept).unwrap();
        state.held.send_modify(|held| *held += 1);
        let held = state.held.clone();
        state.waiters.lock().unwrap().spawn(async move {
            let read = kept.read(&mut [0]).await.unwrap();
            assert_eq!(read, 0, "nobody writes on it");
            held.send_modify(|held| *held -= 1);
        });
        Ok(given.into())
    }
}

fn io_pipe() -> (OwnedFd, OwnedFd) {
    let (read, write) = std::io::pipe().unwrap();
    (read.into(), write.into())
}

impl StandIn {
    pub(crate) async fn serve(bus: &PrivateBus) -> StandIn {
        let state = Arc::new(State {
            asked: Mutex::default(),
            refused: Mutex::default(),
            held: watch::channel(0).0,
            waiters: Mutex::default(),
        });
        let connection = zbus::connection::Builder::address(bus.address().as_str())
            .serve_at("/org/freedesktop/login1", Manager(state.clone()))
            .name("org.freedesktop.login1")
            .build()
            .await
            .unwrap();
        StandIn { state, _connection: connection }
    }

    pub(crate) fn asked(&self) -> Vec<[String; 4]> {
        self.state.asked.lock().unwrap().clone()
    }

    pub(crate) fn refuse(&self, what: &str) {
        *self.state.refused.lock().unwrap() = Some(what.to_owned());
    }

    pub(crate) fn held(&self) -> usize {
        *self.state.held.borrow()
    }

    pub(crate) async fn until_held(&self, wanted: usize) {
        let mut held = self.state.held.subscribe();
        let waiting = held.wait_for(|held| *held == wanted);
        timeout(SOON, waiting).await.unwrap_or_else(|_| panic!("{} are held", self.held())).unwrap();
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.state.waiters.lock().unwrap().abort_all();
    }
}
