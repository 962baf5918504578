//! A forge for tests that need little of one.

use std::collections::BTreeMap;

use ao_core::pull::PullFacts;
use ao_core::{Commit, ProjectId, PullId};
use ao_ports::{BaseView, NewPull, Scm, ScmError};
use async_trait::async_trait;

/// A forge that shows what it was given, and changes nothing.
#[derive(Debug, Default)]
pub struct StaticForge {
    /// The facts of every pull request; without them, no pull request is found.
    pub facts: Option<PullFacts>,
    pub base: BaseView,
    /// The files at every commit of the base, by path.
    pub files: BTreeMap<String, Vec<u8>>,
}

#[async_trait]
impl Scm for StaticForge {
    async fn open(&self, _: &NewPull) -> Result<PullId, ScmError> {
        Err(ScmError::unsupported("opening pull requests"))
    }

    async fn pulls(&self, pulls: &[PullId]) -> Result<Vec<(PullId, PullFacts)>, ScmError> {
        let found = pulls.iter().filter_map(|pull| Some((pull.clone(), self.facts.clone()?)));
        Ok(found.collect())
    }

    async fn open_pulls(&self, _: &ProjectId) -> Result<Vec<PullId>, ScmError> {
        Ok(vec![])
    }

    async fn base(&self, _: &ProjectId) -> Result<BaseView, ScmError> {
        Ok(self.base.clone())
    }

    async fn file_at(
        &self,
        _: &ProjectId,
        _: &Commit,
        path: &str,
        _: usize,
    ) -> Result<Option<Vec<u8>>, ScmError> {
        Ok(self.files.get(path).cloned())
    }
}
