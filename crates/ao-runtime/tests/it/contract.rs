//! The contract of every runtime, against processes with a shim: on terminals, on pipes and without input.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ao_ports::{ProcessIo, Reporter, Runtime};
use ao_runtime::{Options, Processes, Shim};
use ao_testkit::WallClock;
use ao_testkit::contract::runtime::RuntimeBench;
use async_trait::async_trait;
use tempfile::TempDir;

pub(crate) struct Held {
    dir: TempDir,
    io: ProcessIo,
}

impl Held {
    pub(crate) fn on(io: ProcessIo) -> Held {
        Held { dir: tempfile::tempdir().unwrap(), io }
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }
}

#[async_trait]
impl RuntimeBench for Held {
    async fn open(&self, reporter: Arc<dyn Reporter>) -> Arc<dyn Runtime> {
        let shim = Shim { program: env!("CARGO_BIN_EXE_ao-shim").into(), args: vec![] };
        let options = Options { grace: Duration::from_millis(300), ..Options::new(self.state(), shim) };
        let runtime = Processes::new(options, Arc::new(WallClock::default()));
        runtime.watch(reporter).unwrap();
        Arc::new(runtime)
    }

    fn io(&self) -> ProcessIo {
        self.io
    }
}

mod terminals {
    ao_testkit::runtime_contract!(super::Held::on(ao_ports::ProcessIo::Terminal));
}

mod pipes {
    ao_testkit::runtime_contract!(super::Held::on(ao_ports::ProcessIo::Pipes));
}

mod without_input {
    ao_testkit::runtime_contract!(super::Held::on(ao_ports::ProcessIo::Output));
}
