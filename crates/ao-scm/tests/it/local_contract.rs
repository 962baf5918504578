//! The contract of the SCM port, on the local forge.

use std::sync::Arc;

use ao_core::{Commit, ProjectId};
use ao_ports::Scm;
use ao_scm::local::LocalScm;
use ao_testkit::contract::scm::ScmBench;
use async_trait::async_trait;

use crate::local_support::{Desk, project};

struct LocalBench {
    desk: Desk,
    scm: Arc<LocalScm>,
}

impl LocalBench {
    async fn start() -> LocalBench {
        let desk = Desk::new();
        let scm = Arc::new(desk.open().await);
        LocalBench { desk, scm }
    }
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

    async fn restart(&mut self) {
        self.scm = Arc::new(self.desk.open().await);
    }
}

ao_testkit::scm_contract!(LocalBench::start().await);
