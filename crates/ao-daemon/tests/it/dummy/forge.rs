//! A forge that keeps pull requests in memory.

use std::future::ready;
use std::sync::{Arc, Mutex};

use ao_core::pull::{ChangeSize, Mergeable, PullFacts, PullState};
use ao_core::{Commit, ProjectId, PullId, Timestamp};
use ao_daemon::registry::{Adapter, AdapterMaker, ProjectAdapter, ProjectDeps};
use ao_ports::{BaseView, NewPull, Scm, ScmError};
use async_trait::async_trait;

pub(super) fn adapter() -> Adapter {
    Adapter::new("dummy", "pull requests in memory", AdapterMaker::Scm(Arc::new(forge)))
}

fn forge(_: ProjectDeps) -> ProjectAdapter<dyn Scm> {
    Box::pin(ready(Ok(Arc::<Forge>::default() as Arc<dyn Scm>)))
}

#[derive(Default)]
pub(super) struct Forge(Mutex<Vec<NewPull>>);

fn facts(pull: &NewPull, number: u64) -> PullFacts {
    PullFacts {
        observed_at: Timestamp(1),
        title: pull.title.clone(),
        url: format!("dummy:{number}"),
        head: Commit::new("1111111111111111111111111111111111111111"),
        head_branch: pull.head_branch.clone(),
        head_repo: None,
        head_author: None,
        head_title: None,
        base_branch: pull.base_branch.clone(),
        base_remote: None,
        base: Commit::new("2222222222222222222222222222222222222222"),
        draft: pull.draft,
        state: PullState::Open,
        author: pull.by.clone(),
        labels: pull.labels.clone(),
        mergeable: Mergeable::Clean,
        checks: vec![],
        no_checks: true,
        reviews: vec![],
        threads: vec![],
        size: ChangeSize::default(),
    }
}

#[async_trait]
impl Scm for Forge {
    async fn open(&self, new: &NewPull) -> Result<PullId, ScmError> {
        let mut pulls = self.0.lock().unwrap();
        pulls.push(new.clone());
        Ok(PullId { project: new.project.clone(), number: pulls.len() as u64 })
    }

    async fn pulls(&self, pulls: &[PullId]) -> Result<Vec<(PullId, PullFacts)>, ScmError> {
        let known = self.0.lock().unwrap();
        let seen = |id: &PullId| Some((id.clone(), facts(known.get(id.number as usize - 1)?, id.number)));
        Ok(pulls.iter().filter_map(seen).collect())
    }

    async fn open_pulls(&self, project: &ProjectId) -> Result<Vec<PullId>, ScmError> {
        let count = self.0.lock().unwrap().len() as u64;
        Ok((1..=count).map(|number| PullId { project: project.clone(), number }).collect())
    }

    async fn base(&self, _: &ProjectId) -> Result<BaseView, ScmError> {
        Ok(BaseView::default())
    }

    async fn file_at(
        &self,
        _: &ProjectId,
        _: &Commit,
        _: &str,
        _: usize,
    ) -> Result<Option<Vec<u8>>, ScmError> {
        Ok(None)
    }
}
