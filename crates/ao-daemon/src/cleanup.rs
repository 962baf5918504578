//! Clean-up of workspaces on disk. The deletion gate decides; this asks it and reports its answers.

use std::collections::BTreeMap;

use ao_core::project::Project;
use ao_core::session::{Session, SessionInput};
use ao_core::workspace::{KeepReason, WorkspaceState};
use ao_core::{Event, Input, ProjectId, SessionId, State};
use ao_engine::Handle;
use ao_ports::{TreeRef, WorkFound, Workspace, WorkspaceSurvey};

use crate::daemon::Daemon;
use crate::error::DaemonError;

/// A request to remove or clean workspaces.
#[derive(Debug, Clone, Default)]
pub struct CleanupRequest {
    pub session: Option<SessionId>,
    pub project: Option<ProjectId>,
    /// Only report.
    pub dry_run: bool,
    /// Also clean ignored files of trees that stay.
    pub artifacts: bool,
    /// Throw the work of this session away.
    pub discard: bool,
}

/// The workspaces that were removed, cleaned or kept.
#[derive(Debug)]
pub struct CleanupReport {
    pub dry_run: bool,
    pub trees: Vec<TreeReport>,
    pub freed_bytes: u64,
}

#[derive(Debug)]
pub struct TreeReport {
    pub session: Option<SessionId>,
    pub session_name: Option<String>,
    pub project: ProjectId,
    pub path: String,
    pub bytes: u64,
    pub ignored_bytes: u64,
    pub decision: TreeDecision,
    pub reasons: Vec<String>,
    /// True if only the work in it keeps it.
    pub can_discard: bool,
    pub work: Option<WorkFound>,
    pub rescue: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeDecision {
    Remove,
    Clean,
    Keep,
}

impl Daemon {
    /// Removes, or cleans, what the deletion gate allows; only reports with `dry_run`.
    pub async fn cleanup(&self, order: &CleanupRequest) -> Result<CleanupReport, DaemonError> {
        clean_up(self, order).await
    }
}

/// A repository with those of our trees in it that are asked about, and what kind they are.
type TreesByRepository = BTreeMap<(ProjectId, String, String), Vec<(TreeRef, String, bool)>>;

async fn clean_up(daemon: &Daemon, order: &CleanupRequest) -> Result<CleanupReport, DaemonError> {
    let (wish, kinds) = (order.clone(), daemon.adapters.workspace_kinds());
    let asked = daemon.handle.view(move |state| asked(state, &wish, &kinds)).await?;
    let mut trees = Vec::new();
    for ((project, repository, kind), orders) in asked {
        let Some(workspace) = daemon.adapters.workspace(&kind) else { continue };
        // Who asks about one session does not want to hear of what is wrong elsewhere.
        if orders.is_empty() && order.session.is_some() {
            continue;
        }
        let only: Vec<TreeRef> = orders.iter().map(|(tree, ..)| tree.clone()).collect();
        let found = match workspace.survey(&repository, &only).await {
            Ok(found) => found,
            // One broken repository is reported, and does not prevent the cleanup of the others.
            Err(err) => {
                trees.extend(unreadable(&project, &repository, &orders, &err.to_string(), &trees));
                continue;
            }
        };
        for mut tree in found {
            if order.discard {
                tree.reasons = std::mem::take(&mut tree.reasons_against_discard);
            }
            let known = orders.iter().find(|(known, ..)| Some(known.session) == tree.session);
            // Foreign folders are reported if everything is asked about, and never touched.
            if known.is_none() && order.session.is_some() {
                continue;
            }
            trees.push(judge(daemon, workspace, order, &project, tree, known).await?);
        }
    }
    let freed = |tree: &TreeReport| match tree.decision {
        TreeDecision::Remove => tree.bytes,
        TreeDecision::Clean => tree.ignored_bytes,
        TreeDecision::Keep => 0,
    };
    Ok(CleanupReport { dry_run: order.dry_run, freed_bytes: trees.iter().map(freed).sum(), trees })
}

/// Returns reports for a repository that cannot be read: all of its trees stay. Without any tree of ours in it, the
/// repository itself is reported, once.
fn unreadable(
    project: &ProjectId,
    repository: &str,
    trees: &[(TreeRef, String, bool)],
    why: &str,
    told: &[TreeReport],
) -> Vec<TreeReport> {
    let kept = |path: &str, session: Option<(&TreeRef, &String)>| TreeReport {
        session: session.map(|(tree, _)| tree.session),
        session_name: session.map(|(_, name)| name.clone()),
        project: project.clone(),
        path: path.to_owned(),
        bytes: 0,
        ignored_bytes: 0,
        decision: TreeDecision::Keep,
        reasons: vec![format!("the repository cannot be looked at: {why}")],
        can_discard: false,
        work: None,
        rescue: None,
    };
    if trees.is_empty() {
        let is_told =
            told.iter().any(|tree| tree.project == *project && tree.bytes == 0 && tree.path == repository);
        return if is_told { vec![] } else { vec![kept(repository, None)] };
    }
    let path =
        |tree: &TreeRef| tree.recorded.as_ref().map_or(repository.to_owned(), |found| found.path.clone());
    trees.iter().map(|(tree, name, _)| kept(&path(tree), Some((tree, name)))).collect()
}

/// Those whose removal is asked for: of ended sessions, or of the one that was named.
fn asked(state: &State, order: &CleanupRequest, kinds: &[String]) -> TreesByRepository {
    let mut asked = TreesByRepository::new();
    // Every project is looked at, because a folder that no session answers for is worth telling of, too.
    for (id, project) in &state.projects {
        if order.project.as_ref().is_none_or(|wanted| wanted == id) {
            for kind in kinds {
                asked.entry((id.clone(), project.config.path.clone(), kind.clone())).or_default();
            }
        }
    }
    for session in state.sessions.values() {
        let Some(project) = state.projects.get(&session.spec.project) else { continue };
        let key = (session.spec.project.clone(), project.config.path.clone(), session.spec.workspace.clone());
        let wanted = match &order.session {
            Some(wanted) => *wanted == session.id,
            None => true,
        };
        if !wanted || !session.workspace.may_exist() {
            continue;
        }
        if let Some(line) = asked.get_mut(&key) {
            line.push((tree_of(project, session), session.spec.name.clone(), session.is_live()));
        }
    }
    asked
}

/// Returns the reference to a session's workspace.
pub(crate) fn tree_of(project: &Project, session: &Session) -> TreeRef {
    TreeRef {
        session: session.id,
        project: session.spec.project.clone(),
        repository: project.config.path.clone(),
        recorded: session.workspace.tree.clone(),
        branch: session.spec.branch.clone(),
    }
}

async fn judge(
    daemon: &Daemon,
    workspace: &dyn Workspace,
    order: &CleanupRequest,
    project: &ProjectId,
    mut tree: WorkspaceSurvey,
    known: Option<&(TreeRef, String, bool)>,
) -> Result<TreeReport, DaemonError> {
    let live = known.is_some_and(|(_, _, live)| *live);
    let lived_in = match known.filter(|_| !live) {
        Some((removal, ..)) => lived_in(daemon, removal).await,
        None => None,
    };
    let in_use = live || lived_in.is_some() || tree.reasons.contains(&KeepReason::ProcessInside);
    tree.reasons.extend(lived_in);
    // The adapter may have seen the same process.
    tree.reasons.sort();
    tree.reasons.dedup();
    let mut reasons: Vec<String> = tree.reasons.iter().map(ToString::to_string).collect();
    let can_discard =
        known.is_some() && !tree.reasons.is_empty() && tree.reasons.iter().all(KeepReason::is_work);
    if live {
        reasons.insert(0, "its session has not ended".into());
    }
    if known.is_none() && reasons.is_empty() {
        reasons.push("it belongs to no session".into());
    }
    let mut report = TreeReport {
        session: tree.session,
        session_name: known.map(|(_, name, _)| name.clone()),
        project: project.clone(),
        path: tree.path,
        bytes: tree.bytes,
        ignored_bytes: tree.ignored_bytes,
        decision: if reasons.is_empty() { TreeDecision::Remove } else { TreeDecision::Keep },
        reasons,
        can_discard,
        work: None,
        rescue: None,
    };
    if let Some((removal, ..)) = known.filter(|_| order.discard) {
        match workspace.work(removal).await {
            Ok(work) => report.work = Some(work),
            // What cannot be shown is not thrown away.
            Err(err) => {
                report.decision = TreeDecision::Keep;
                report.reasons.push(format!("it could not be found out what would be lost: {err}"));
            }
        }
    }
    if report.decision == TreeDecision::Keep
        && order.artifacts
        && !in_use
        && tree.ignored_bytes > 0
        && known.is_some()
    {
        report.decision = TreeDecision::Clean;
    }
    let (Some((removal, ..)), false) = (known, order.dry_run) else { return Ok(report) };
    match report.decision {
        TreeDecision::Remove => {
            if let Some(kept) = remove(&daemon.handle, removal.session, order.discard).await? {
                report.decision = TreeDecision::Keep;
                report.reasons = kept;
            }
            let session = removal.session;
            let rescue =
                daemon.handle.view(move |state| state.sessions.get(&session)?.workspace.rescue.clone());
            report.rescue = rescue.await?;
        }
        TreeDecision::Clean => match workspace.clean(removal).await {
            Ok(cleaned) => report.ignored_bytes = cleaned.bytes,
            Err(err) => {
                report.decision = TreeDecision::Keep;
                report.reasons.push(err.to_string());
            }
        },
        TreeDecision::Keep => {}
    }
    Ok(report)
}

/// Returns the reason to keep a tree if a process of any runtime may live in it. The adapter sees the processes of this
/// host only.
async fn lived_in(daemon: &Daemon, tree: &TreeRef) -> Option<KeepReason> {
    match daemon.runtimes.live_in(tree).await {
        Ok(Some(false)) => None,
        Ok(Some(true)) => Some(KeepReason::ProcessInside),
        Ok(None) => Some(KeepReason::Unknown("whether a process works in it".into())),
        Err(err) => Some(KeepReason::Unknown(format!("whether a process works in it: {err}"))),
    }
}

/// Asks for the removal and waits for what becomes of it: nothing if it is gone, or why it is kept.
async fn remove(handle: &Handle, id: SessionId, discard: bool) -> Result<Option<Vec<String>>, DaemonError> {
    let input = if discard { SessionInput::Discard } else { SessionInput::Cleanup };
    let receipt = match handle.ask(Input::Session { session: id, input }).await {
        Ok(receipt) => receipt,
        Err(err) => return Ok(Some(vec![err.to_string()])),
    };
    let mut happens = handle.subscribe(receipt.seq);
    loop {
        let became = handle.view(move |state| state.sessions.get(&id).map(|session| became(session))).await?;
        match became {
            // Forgotten altogether, so nothing of it is left.
            None | Some(Some(None)) => return Ok(None),
            Some(Some(Some(reasons))) => return Ok(Some(reasons)),
            Some(None) => {}
        }
        loop {
            match happens.next().await {
                Ok(Some(published)) if matches!(&published.event, Event::Session(of, _) if *of == id) => {
                    break;
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => {
                    return Ok(Some(vec!["the daemon is stopping; it goes on with the next start".into()]));
                }
            }
        }
    }
}

/// Returns the result of a removal, once that is known: gone, or kept for these reasons.
fn became(session: &Session) -> Option<Option<Vec<String>>> {
    match &session.workspace.state {
        WorkspaceState::None | WorkspaceState::Removed => Some(None),
        WorkspaceState::Kept { reasons } => Some(Some(reasons.iter().map(ToString::to_string).collect())),
        // It failed, and is tried again later.
        WorkspaceState::Removing if session.workspace.tries > 0 => {
            Some(Some(vec!["its removal failed and is tried again".into()]))
        }
        WorkspaceState::Removing | WorkspaceState::Ready | WorkspaceState::Doubtful => None,
    }
}

#[cfg(test)]
mod tests;
