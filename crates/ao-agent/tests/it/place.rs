//! The runtimes that an agent is tried on, and the person at its terminal.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ao_ports::{ProcessRef, Runtime};
use ao_runtime::tmux::Tmux;
use ao_runtime::{AttachOptions, Attachment, Processes, Shim};
use ao_testkit::pty::{PtyRuntime, WallClock};
use ao_testkit::scripted::program;
use tempfile::TempDir;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

/// There is nothing that an agent of a test has to end in peace.
const GRACE: Duration = Duration::from_millis(300);

/// Where the agent runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum On {
    /// A terminal in the memory of the test.
    Pty,
    /// The same, but it does not know which writes it has made.
    ForgetfulPty,
    /// The product's own runtime.
    Shim,
    /// Panes of tmux, at which nobody sits.
    Tmux,
}

/// Tells a story on every runtime, side by side.
pub(crate) async fn everywhere<F>(story: impl Fn(On) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut stories: JoinSet<()> =
        [On::Pty, On::ForgetfulPty, On::Shim, On::Tmux].into_iter().map(story).collect();
    while let Some(told) = stories.join_next().await {
        told.expect("the story goes well on every runtime");
    }
}

/// A runtime with a person at its terminals.
pub(crate) enum Place {
    Pty(Arc<PtyRuntime>),
    /// A person who types stays, as what is typed by one who leaves at once may be lost.
    Shim(Arc<Processes>, Mutex<Option<Attachment>>),
    Tmux(Arc<Tmux>, TempDir),
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
                Place::Shim(Arc::new(Processes::new(options, Arc::new(WallClock))), Mutex::default())
            }
            On::Tmux => {
                // A folder with a short path, as its socket needs one.
                let state = tempfile::tempdir().unwrap();
                let helper = vec![program().with_file_name("ao-tmux").display().to_string()];
                let options = ao_runtime::tmux::Options {
                    grace: GRACE,
                    ..ao_runtime::tmux::Options::new(state.path(), helper)
                };
                Place::Tmux(Arc::new(Tmux::new(options, Arc::new(WallClock))), state)
            }
        }
    }

    pub(crate) fn runtime(&self) -> Arc<dyn Runtime> {
        match self {
            Place::Pty(runtime) => runtime.clone(),
            Place::Shim(runtime, _) => runtime.clone(),
            Place::Tmux(runtime, _) => runtime.clone(),
        }
    }

    pub(crate) async fn person_types(&self, process: &ProcessRef, keys: &str) {
        match self {
            Place::Pty(runtime) => runtime.person_types(process, keys).unwrap(),
            Place::Shim(runtime, viewer) => {
                let mut viewer = viewer.lock().await;
                if viewer.is_none() {
                    *viewer = runtime.attach(process, AttachOptions::default()).await.ok();
                }
                viewer.as_mut().unwrap().type_bytes(keys.as_bytes()).await.unwrap();
            }
            Place::Tmux(..) => panic!("nobody sits at it"),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Place::Tmux(_, state) = self {
            let socket = state.path().join("socket");
            let _ = Command::new("tmux").arg("-S").arg(socket).arg("kill-server").output();
        }
    }
}
