//! Both adapters keep what the slot promises.

use std::path::{Path, PathBuf};

use ao_testkit::contract::workspace::{self as promises, WorkspaceSite};
use ao_workspace::{Clones, Options, Worktrees, provision};

use crate::support::Repo;

/// A test for each promise, of each adapter.
macro_rules! kept {
    ($($promise:ident)*) => {
        mod worktree {
            $(#[tokio::test] async fn $promise() {
                let repo = super::repository();
                let repository = &repo.path();
                let logs = tempfile::tempdir().unwrap();
                let worktrees = super::Worktrees::with(super::options(logs.path()));
                super::promises::$promise(&super::WorkspaceSite { workspace: &worktrees, repository }).await;
            })*
        }

        mod clone {
            $(#[tokio::test] async fn $promise() {
                let repo = super::repository();
                let repository = &repo.path();
                let folder = tempfile::tempdir().unwrap();
                let place: super::PathBuf = folder.path().canonicalize().unwrap();
                let logs = tempfile::tempdir().unwrap();
                let clones = super::Clones::new(place, super::options(logs.path()));
                super::promises::$promise(&super::WorkspaceSite { workspace: &clones, repository }).await;
            })*
        }
    };
}

kept! {
    a_new_one_is_on_its_branch_at_the_base
    a_second_call_finds_what_the_first_one_made
    another_sessions_place_is_refused
    what_would_be_lost_keeps_it
    a_process_inside_keeps_it
    a_process_elsewhere_keeps_it
    a_squash_merge_keeps_nothing
    the_last_state_comes_back
    what_is_gone_is_removed_twice
    it_is_found_by_its_session
    the_main_checkout_is_never_removed
    a_survey_says_what_a_removal_would_do
    cleaning_takes_only_what_is_ignored
    old_rescues_are_forgotten
    whereabouts_tell_when_it_strays
    what_a_set_up_left_running_ends
    a_plain_push_succeeds
    a_capture_is_whole_and_leaves_no_trace
    a_rebase_is_whole_or_not_at_all
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
