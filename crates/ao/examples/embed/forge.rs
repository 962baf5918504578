//! What stands for a forge: pull requests in memory, and one check, which is run when somebody asks how it stands.

use std::process::Command;
use std::sync::Mutex;

use ao::ao_core::pull::{
    AuthorFacts, AuthorStanding, ChangeSize, CheckFacts, CheckState, Mergeable, PullFacts, PullState,
};
use ao::ao_core::{Commit, ProjectId, PullId};
use ao::ao_ports::{BaseView, Clock, NewPull, Scm, ScmError};
use ao::clock::SystemClock;
use async_trait::async_trait;
use camino::{Utf8Path, Utf8PathBuf};

/// The check: what the file has to say.
const RIGHT: &str = "Hello, world!";

pub(crate) struct Memory {
    project: ProjectId,
    repository: Utf8PathBuf,
    open: Mutex<Vec<NewPull>>,
}

impl Memory {
    pub(crate) fn new(project: &str, repository: &Utf8Path) -> Memory {
        Memory { project: ProjectId::new(project), repository: repository.to_owned(), open: Mutex::default() }
    }

    fn look(&self, pull: &NewPull, number: u64) -> Result<PullFacts, ScmError> {
        let head = Commit::new(&self.git(&["rev-parse", &pull.head_branch])?);
        let text = self.git(&["show", &format!("{}:greeting.txt", pull.head_branch)])?;
        let state = match text == RIGHT {
            true => CheckState::Passed,
            false => CheckState::Failed {
                certain: false,
                files: vec![],
                signature: "wrong greeting".into(),
                excerpt: format!("expected `{RIGHT}`, found `{text}`"),
                url: String::new(),
                log: None,
            },
        };
        Ok(PullFacts {
            head_title: None,
            no_checks: false,
            observed_at: SystemClock.now(),
            title: pull.title.clone(),
            url: format!("memory:{number}"),
            head_branch: pull.head_branch.clone(),
            head_repo: None,
            head_author: None,
            base_remote: Some("origin".into()),
            base_branch: pull.base_branch.clone(),
            base: Commit::new(&self.git(&["rev-parse", &pull.base_branch])?),
            draft: pull.draft,
            state: PullState::Open,
            author: AuthorFacts { login: "shell".into(), standing: AuthorStanding::Agent },
            labels: Default::default(),
            mergeable: Mergeable::Clean,
            checks: vec![CheckFacts {
                run: None,
                name: "spelling".into(),
                commit: head.clone(),
                state,
                required: true,
            }],
            reviews: vec![],
            threads: vec![],
            size: ChangeSize { files: vec!["greeting.txt".into()], added: 1, removed: 0 },
            head,
        })
    }

    fn git(&self, args: &[&str]) -> Result<String, ScmError> {
        let output = Command::new("git").args(args).current_dir(&self.repository).output();
        let output = output.map_err(|err| ScmError::Failed(err.to_string()))?;
        if !output.status.success() {
            return Err(ScmError::Failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}

#[async_trait]
impl Scm for Memory {
    async fn open(&self, new: &NewPull) -> Result<PullId, ScmError> {
        let mut open = self.open.lock().expect("nobody panics while noting");
        let known = open.iter().position(|known| known.head_branch == new.head_branch);
        let at = known.unwrap_or_else(|| {
            open.push(new.clone());
            open.len() - 1
        });
        Ok(PullId { project: self.project.clone(), number: at as u64 + 1 })
    }

    async fn pulls(&self, pulls: &[PullId]) -> Result<Vec<(PullId, PullFacts)>, ScmError> {
        let open = self.open.lock().expect("nobody panics while noting").clone();
        let mut seen = Vec::new();
        for id in pulls {
            if let Some(pull) = usize::try_from(id.number).ok().and_then(|number| open.get(number - 1)) {
                seen.push((id.clone(), self.look(pull, id.number)?));
            }
        }
        Ok(seen)
    }

    async fn open_pulls(&self, project: &ProjectId) -> Result<Vec<PullId>, ScmError> {
        let count = self.open.lock().expect("nobody panics while noting").len() as u64;
        Ok((1..=count).map(|number| PullId { project: project.clone(), number }).collect())
    }

    async fn base(&self, _: &ProjectId) -> Result<BaseView, ScmError> {
        let tip = Some(Commit::new(&self.git(&["rev-parse", "main"])?));
        Ok(BaseView { tip, ..BaseView::default() })
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
