//! Many agents on one repository.

use ao_core::{Attempt, SessionId};
use ao_ports::{RemovalOutcome, TreeRef, Workspace};
use futures::future::join_all;
use tokio::process::Command;

use crate::support::{Repo, removal};

const MANY: u64 = 40;

/// acceptance: W10
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn forty_worktrees_are_made_committed_to_and_removed_at_once() {
    let repo = Repo::new();
    let work = (1..=MANY).map(|number| {
        let repo = &repo;
        async move {
            let plan = repo.plan(&format!("n{number}"));
            let made = repo.worktrees.create(SessionId(number), Attempt(1), &plan).await.unwrap();
            let commit = Command::new("git")
                .args(["commit", "--quiet", "--allow-empty", "-m", &plan.name])
                .current_dir(&made.path)
                .output()
                .await
                .unwrap();
            assert!(commit.status.success(), "{}", String::from_utf8_lossy(&commit.stderr));
            (number, plan.branch, made)
        }
    });
    let made = join_all(work).await;
    assert_eq!(repo.git(&["branch", "--list", "agent/*"]).lines().count(), MANY as usize);
    for (number, branch, made) in &made {
        let author = repo.git(&["log", "-1", "--format=%an <%ae> %P", branch]);
        let expected =
            format!("Agent {id} <agent-{id}@orchestrator.local> {}", made.base, id = SessionId(*number));
        assert_eq!(author, expected);
    }
    assert_eq!(repo.git(&["status", "--porcelain"]), "");

    for (_, branch, _) in &made {
        repo.git(&["update-ref", &format!("refs/remotes/origin/{branch}"), branch]);
    }
    let removals = made.iter().map(|(number, branch, made)| {
        let (session, branch) = (SessionId(*number), branch.clone());
        let tree = TreeRef { session, branch, ..repo.tree(made.path.as_ref()) };
        async { repo.worktrees.remove(&removal(tree)).await.unwrap() }
    });
    for removal in join_all(removals).await {
        assert!(matches!(removal, RemovalOutcome::Removed { rescue: Some(_) }), "{removal:?}");
    }
    assert_eq!(repo.git(&["branch", "--format=%(refname:short)"]), "main", "no branch is left over");
}
