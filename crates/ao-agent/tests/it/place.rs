//! The runtimes that an agent is tried on, and the person at its terminal.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ao_ports::{Clock, ProcessRef, Runtime, ViewOptions};
use ao_runtime::tmux::Tmux;
use ao_runtime::{Attachment, Processes, Shim};
use ao_testkit::pty::PtyRuntime;
use ao_testkit::scripted::program;
use ao_testkit::{ReportLog, TerminalUser, WallClock};
use tempfile::TempDir;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

/// There is nothing that an agent of a test has to end in peace.
const GRACE: Duration = Duration::from_millis(300);

/// The runtime of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum On {
    /// A terminal in the memory of the test.
    Pty,
    /// The same, but it does not know which writes it has made.
    ForgetfulPty,
    /// The product's own runtime.
    Shim,
    /// Panes of tmux.
    Tmux,
}

/// Runs a test on every runtime, side by side.
pub(crate) async fn everywhere<F>(story: impl Fn(On) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    on(&[On::Pty, On::ForgetfulPty, On::Shim, On::Tmux], story).await;
}

/// Runs a test on the runtimes of the product.
pub(crate) async fn on_ours<F>(story: impl Fn(On) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    on(&[On::Shim, On::Tmux], story).await;
}

async fn on<F>(places: &[On], story: impl Fn(On) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut stories: JoinSet<()> = places.iter().copied().map(story).collect();
    while let Some(told) = stories.join_next().await {
        told.expect("the story goes well on every runtime");
    }
}

/// A runtime with a person at its terminals.
pub(crate) enum Place {
    Pty(Arc<PtyRuntime>),
    /// With the person who types, who stays.
    Shim(Arc<Processes>, Mutex<Option<Attachment>>),
    Tmux(Arc<Tmux>, TempDir, Mutex<Option<TerminalUser>>),
}

impl Place {
    pub(crate) fn new(on: On, folder: &Path) -> Place {
        match on {
            On::Pty => Place::Pty(Arc::new(PtyRuntime::new(false))),
            On::ForgetfulPty => Place::Pty(Arc::new(PtyRuntime::new(true))),
            On::Shim => {
                let shim = Shim { program: program().with_file_name("ao-shim"), args: vec![] };
                let options = ao_runtime::Options {
                    grace: GRACE,
                    ..ao_runtime::Options::new(folder.join("processes"), shim)
                };
                Place::Shim(
                    Arc::new(Processes::new(options, Arc::new(WallClock::default()))),
                    Mutex::default(),
                )
            }
            On::Tmux => {
                // A folder with a short path, as its socket needs one.
                let state = tempfile::tempdir().unwrap();
                let helper = vec![program().with_file_name("ao-tmux").display().to_string()];
                let options = ao_runtime::tmux::Options {
                    grace: GRACE,
                    ..ao_runtime::tmux::Options::new(state.path(), helper)
                };
                Place::Tmux(
                    Arc::new(Tmux::new(options, Arc::new(WallClock::default()))),
                    state,
                    Mutex::default(),
                )
            }
        }
    }

    pub(crate) fn runtime(&self) -> Arc<dyn Runtime> {
        match self {
            Place::Pty(runtime) => runtime.clone(),
            Place::Shim(runtime, _) => runtime.clone(),
            Place::Tmux(runtime, ..) => runtime.clone(),
        }
    }

    /// Lets the runtime notice typing, if it does not by itself. Its reports are tested in another crate.
    pub(crate) async fn watch(&self) {
        if let Place::Tmux(tmux, ..) = self {
            tmux.watch(Arc::<ReportLog>::default()).await.unwrap();
        }
    }

    pub(crate) async fn person_types(&self, process: &ProcessRef, keys: &str) {
        match self {
            Place::Pty(runtime) => runtime.person_types(process, keys).unwrap(),
            Place::Shim(runtime, viewer) => {
                let mut viewer = viewer.lock().await;
                if viewer.is_none() {
                    *viewer = runtime.connect(process, ViewOptions::default()).await.ok();
                }
                viewer.as_mut().unwrap().type_bytes(keys.as_bytes()).await.unwrap();
            }
            Place::Tmux(tmux, _, person) => {
                let mut person = person.lock().await;
                if person.is_none() {
                    *person = Some(TerminalUser::runs(&tmux.attach_command(process).unwrap()));
                    sits_down(tmux, process).await;
                }
                person.as_mut().unwrap().types(keys);
            }
        }
    }
}

/// Waits until a person's window has its size, and for the next second: tmux counts in seconds, and does not
/// distinguish typing from attaching within the first one.
async fn sits_down(tmux: &Tmux, process: &ProcessRef) {
    let there = async {
        while tmux.screen(process).await.unwrap().size != (100, 30) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), there).await.expect("the person sits down");
    let into_second = WallClock::default().now().0.rem_euclid(1000) as u64;
    tokio::time::sleep(Duration::from_millis(1000 - into_second)).await;
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Place::Tmux(_, state, _) = self {
            let socket = state.path().join("socket");
            let _ = Command::new("tmux").arg("-S").arg(socket).arg("kill-server").output();
        }
    }
}
