//! A tmux server of a test's own, on a folder of its own.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use ao_ports::{ProcessIo, Reporter, Runtime};
use ao_runtime::tmux::{Options, Tmux};
use ao_testkit::WallClock;
use ao_testkit::contract::runtime::RuntimeBench;
use async_trait::async_trait;
use tempfile::TempDir;

pub(crate) struct Terminal {
    dir: TempDir,
    io: ProcessIo,
}

impl Terminal {
    pub(crate) fn new() -> Terminal {
        Terminal::holding(ProcessIo::Terminal)
    }

    pub(crate) fn holding(io: ProcessIo) -> Terminal {
        let found = Command::new("tmux").arg("-V").stdout(Stdio::null()).status();
        assert!(found.is_ok(), "these tests need tmux; install it: apt-get install tmux");
        Terminal { dir: tempfile::tempdir().unwrap(), io }
    }

    pub(crate) fn state(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn options(&self) -> Options {
        let helper = vec![env!("CARGO_BIN_EXE_ao-tmux").to_owned()];
        Options { grace: Duration::from_millis(300), ..Options::new(self.state(), helper) }
    }

    pub(crate) async fn tmux(&self, reporter: Arc<dyn Reporter>) -> Tmux {
        let tmux = Tmux::new(self.options(), Arc::new(WallClock::default()));
        tmux.watch(reporter).await.unwrap();
        tmux
    }

    /// Asks the server as a person would, with a client of one's own.
    pub(crate) fn ask(&self, args: &[&str]) -> String {
        let socket = self.state().join("socket");
        let output = Command::new("tmux").arg("-S").arg(socket).args(args).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

#[async_trait]
impl RuntimeBench for Terminal {
    async fn open(&self, reporter: Arc<dyn Reporter>) -> Arc<dyn Runtime> {
        Arc::new(self.tmux(reporter).await)
    }

    fn io(&self) -> ProcessIo {
        self.io
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.ask(&["kill-server"]);
    }
}
