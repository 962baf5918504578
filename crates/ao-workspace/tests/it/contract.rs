//! Both adapters keep what the port promises.

use std::path::Path;

use ao_testkit::contract::workspace::GitSite;
use ao_workspace::{Clones, Options, Worktrees, provision};

use crate::support::Repo;

mod worktree {
    ao_testkit::workspace_contract!(super::worktrees());
    ao_testkit::workspace_git_contract!(super::worktrees());
}

mod clone {
    ao_testkit::workspace_contract!(super::clones());
    ao_testkit::workspace_git_contract!(super::clones());
}

fn worktrees() -> GitSite {
    let (repo, logs) = (repository(), tempfile::tempdir().unwrap());
    GitSite::new(Worktrees::with(options(logs.path())), repo.path(), (repo, logs))
}

fn clones() -> GitSite {
    let (repo, logs, folder) = (repository(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let clones = Clones::new(folder.path().canonicalize().unwrap(), options(logs.path()));
    GitSite::new(clones, repo.path(), (repo, logs, folder))
}

fn options(logs: &Path) -> Options {
    let provision = provision::Options { shell: "/bin/sh".into(), ..provision::Options::new(logs) };
    Options { provision: Some(provision), ..Options::default() }
}

fn repository() -> Repo {
    let repo = Repo::new();
    repo.write(".gitignore", "target\n");
    repo.git(&["add", "."]);
    repo.git(&["commit", "--quiet", "-m", "ignore"]);
    repo
}
