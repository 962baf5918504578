//! The contract of the SCM port, on the local forge.

use std::sync::Arc;

use ao_core::{Commit, ProjectId};
use ao_git::Queues;
use ao_ports::{CheckSpec, RunFilter, Scm};
use ao_scm::checks::{Options, Runner};
use ao_scm::local::LocalScm;
use ao_testkit::WallClock;
use ao_testkit::contract::scm::{CHECK, ScmBench};
use async_trait::async_trait;
use camino::Utf8PathBuf;

use crate::local_support::{Desk, check, project};

/// The local forge with the real runner of checks.
struct LocalBench {
    desk: Desk,
    runner: Arc<Runner>,
    scm: Arc<LocalScm>,
}

impl LocalBench {
    async fn start() -> LocalBench {
        let mut desk = Desk::new();
        desk.specs = vec![CheckSpec { command: "echo checked".into(), ..check(CHECK, true) }];
        let (runner, scm) = opened(&desk).await;
        LocalBench { desk, runner, scm }
    }
}

async fn opened(desk: &Desk) -> (Arc<Runner>, Arc<LocalScm>) {
    let folder = Utf8PathBuf::from_path_buf(desk.side_path("checks")).unwrap();
    let options = Options::new(folder, Arc::new(Queues::default()));
    let clock = Arc::new(WallClock::default());
    let runner = Arc::new(Runner::open(options, desk.records.clone(), clock).await.unwrap());
    let scm = Arc::new(desk.open_with(runner.clone()).await);
    (runner, scm)
}

#[async_trait]
impl ScmBench for LocalBench {
    fn scm(&self) -> Arc<dyn Scm> {
        self.scm.clone()
    }

    fn project(&self) -> ProjectId {
        project()
    }

    fn commit(&self, branch: &str, path: &str, text: &str) -> Commit {
        self.desk.push(branch, path, text)
    }

    fn branch(&self, name: &str) -> Option<Commit> {
        let tip = self.desk.git(&["for-each-ref", "--format=%(objectname)", &format!("refs/heads/{name}")]);
        (!tip.is_empty()).then(|| Commit::new(&tip))
    }

    async fn finish_checks(&self) {
        let filter = RunFilter { limit: 100, ..RunFilter::default() };
        let runs = self.runner.runs(&project(), &filter).await.unwrap();
        self.runner.finished(&runs.into_iter().map(|run| run.id).collect::<Vec<_>>()).await;
    }

    async fn restart(&mut self) {
        self.runner.stop().await;
        (self.runner, self.scm) = opened(&self.desk).await;
    }
}

ao_testkit::scm_contract!(LocalBench::start().await);
