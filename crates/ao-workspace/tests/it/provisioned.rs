//! A repository, a session's worktree in it, and a plan to set it up.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ao_core::effect::SetUpPlan;
use ao_core::setup::{Environment, Setup};
use ao_core::{Attempt, ProjectId, SessionId};
use ao_ports::WorkspaceError;
use ao_workspace::provision::{self, Options};
use tempfile::TempDir;

use crate::support::{Repo, git};

pub(crate) struct Bench {
    pub(crate) repo: Repo,
    pub(crate) session: SessionId,
    pub(crate) attempt: Attempt,
    pub(crate) options: Options,
    pub(crate) plan: SetUpPlan,
    _logs: TempDir,
}

impl Bench {
    pub(crate) async fn new() -> Bench {
        static NEXT: AtomicU64 = AtomicU64::new(0x1000);
        let repo = Repo::new();
        let logs = tempfile::tempdir().unwrap();
        let mut options = Options::new(logs.path().join("logs"));
        options.shell = "/bin/sh".into();
        options.grace = Duration::from_millis(300);
        let plan = SetUpPlan {
            project: ProjectId::new("app"),
            repository: repo.path().display().to_string(),
            kind: "worktree".into(),
            name: "fix".into(),
            path: String::new(),
            setup: Setup { timeout: Duration::from_secs(60), ..Setup::default() },
            environment: Environment::default(),
            ports: [].into(),
            runtime: String::new(),
        };
        let session = SessionId(NEXT.fetch_add(1, Ordering::Relaxed));
        Bench { repo, session, attempt: Attempt(1), options, plan, _logs: logs }
    }

    /// A new workspace, with these commands to be run in it.
    pub(crate) async fn with_commands(commands: &[&str]) -> Bench {
        let mut bench = Bench::new().await;
        bench.desk("fix").await;
        bench.commands(commands);
        bench
    }

    pub(crate) fn commands(&mut self, commands: &[&str]) {
        self.plan.setup.post_create = commands.iter().map(|command| (*command).to_owned()).collect();
    }

    /// Makes the session's worktree.
    pub(crate) async fn desk(&mut self, name: &str) {
        self.plan.path = self.repo.create_for(self.session.0, name).await;
    }

    /// Writes a file in the main checkout.
    pub(crate) fn main(&self, path: &str, text: &str, mode: u32) {
        let path = self.repo.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    }

    pub(crate) async fn set_up(&self) -> Result<(), WorkspaceError> {
        provision::set_up(&self.options, self.session, self.attempt, &self.plan).await
    }

    /// Sets up, which must fail, and says why, with the end of the log.
    pub(crate) async fn failure(&self) -> (String, String) {
        match self.set_up().await {
            Err(WorkspaceError::SetupFailed { why, tail, .. }) => (why, tail),
            other => panic!("{other:?}\n{}", self.log()),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        Path::new(&self.plan.path)
    }

    pub(crate) fn git_dir(&self) -> PathBuf {
        self.git(&["rev-parse", "--absolute-git-dir"]).into()
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(self.path(), args)
    }

    /// A file of the workspace.
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path().join(path)).unwrap()
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.options.setup_log(self.session)).unwrap_or_default()
    }

    /// Waits for a file of the workspace that holds a whole line, and returns its words.
    pub(crate) async fn words(&self, path: &str) -> Vec<String> {
        let path = self.path().join(path);
        let text = until(|| fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n'))).await;
        text.split_whitespace().map(str::to_owned).collect()
    }
}

/// Waits until there is something.
pub(crate) async fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let waiting = async {
        loop {
            if let Some(found) = look() {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), waiting).await.expect("it comes within half a minute")
}

/// Returns true if a process runs; a zombie does not.
pub(crate) fn lives(pid: &str) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with(['Z', 'X']))
}
