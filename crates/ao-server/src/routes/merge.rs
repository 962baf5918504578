//! The owner of a pull request, and its merge.
//!
//! ```text
//!  look ─► blockers? 409 ─► request in the merge queue ─► its outcome on the feed: landed, or rejected with the reason
//! ```
//!
//! Nothing is merged here. The request is on disk once it is in the queue, so a daemon that is killed goes on with it.

use std::collections::BTreeSet;
use std::sync::Arc;

use ao_api::{Claim, MergeDone, MergeMethod, NewMerge, Problem, PullDetail};
use ao_core::policy::{MergeRule, RuleVerdict};
use ao_core::pull::{Pull, PullFacts, PullInput, PullState};
use ao_core::queue::{HeadBranch, LandingStrategy, MergeRequest, QueueEvent, QueueInput, QueueRejection};
use ao_core::{Commit, Event, Input, PullId, Refusal, SessionId};
use ao_engine::{AskError, InputReceipt};
use axum::Json;

use super::pulls::{is_over, told};
use crate::app::App;
use crate::auth::{AgentAct, Caller};
use crate::extract::{Given, PullCall, PullName, Within, find};
use crate::forge::{allow, can_merge, invalid, owner, see};
use crate::problem::{Failure, Reply, forbidden, stopping};
use crate::to_api::same_name;

/// Assigns a pull request to a session, or to none.
#[utoipa::path(
    post, path = "/api/pulls/{id}/claim", tag = "pulls", request_body = Claim,
    params(PullName, Within),
    responses((status = 200, body = PullDetail)),
)]
pub(super) async fn claim(
    PullCall { app, caller, id }: PullCall,
    Given(claim): Given<Claim>,
) -> Reply<PullDetail> {
    allow(&caller, AgentAct::Answer(&id.project))?;
    let session = match claim.session {
        Some(meant) => Some(claimer(&app, &caller, meant, &id).await?),
        None => None,
    };
    let scm = app.daemon.looks.scm(&id.project)?;
    app.to_the_end(async move |app| {
        let facts = see(&app, &id).await?;
        let owner = owner(&app, &id).await?;
        let input = match (session, owner) {
            (Some(_), _) if facts.state != PullState::Open => return Err(is_over(&id).into()),
            (Some(session), _) => {
                owned_by_another(&app, &id, session).await?;
                Some(PullInput::Claim { session })
            }
            (None, Some(session)) => {
                // A caller that may decide may take it from others.
                let own = matches!(&caller, Caller::Session(agent) if agent.id == session);
                if !own {
                    allow(&caller, AgentAct::Decide)?;
                }
                Some(PullInput::Release { session })
            }
            (None, None) => None,
        };
        if let Some(input) = input {
            app.handle.ask(Input::Pull { pull: id.clone(), input }).await?;
        }
        Ok(Json(told(&app, &*scm, &id).await?))
    })
    .await
}

/// Returns the session to assign a pull request to: an agent's own, or the one that the owner names.
async fn claimer(app: &Arc<App>, caller: &Caller, meant: String, id: &PullId) -> Result<SessionId, Failure> {
    if let Caller::Session(agent) = caller {
        let itself = meant == agent.name || meant == agent.id.to_string();
        return if itself { Ok(agent.id) } else { Err(forbidden().into()) };
    }
    let session = find(app, caller.clone(), meant, true).await?;
    if session.spec.project != id.project {
        return Err(invalid("a session can own pull requests of its own project only"));
    }
    Ok(session.id)
}

/// Refuses a pull request that belongs to another session, and names that.
pub(super) async fn owned_by_another(app: &App, id: &PullId, session: SessionId) -> Result<(), Failure> {
    let Some(by) = owner(app, id).await?.filter(|by| *by != session) else { return Ok(()) };
    let mut problem = Problem::new(409, "pull-owned", format!("{id} already belongs to {by}"))
        .hint(format!("release it first: `ao pr release {id}`"));
    problem.session_id = Some(by.to_string());
    Err(problem.into())
}

// ── merging ──

/// Merges a pull request, if nothing prevents it. The result is checked first, and exactly that is merged.
#[utoipa::path(
    post, path = "/api/pulls/{id}/merge", tag = "pulls", request_body = NewMerge,
    params(PullName, Within),
    responses(
        (status = 200, description = "It is merged", body = MergeDone),
        (status = 409, description = "Something stands in the way: `blockers` says what", body = Problem),
    ),
)]
pub(super) async fn merge(
    PullCall { app, caller, id }: PullCall,
    Given(request): Given<NewMerge>,
) -> Reply<MergeDone> {
    allow(&caller, AgentAct::Decide)?;
    let strategy = request
        .strategy
        .map(|method| same_name!(method, MergeMethod => LandingStrategy: Squash, Merge, Rebase));
    let scm = app.daemon.looks.scm(&id.project)?;
    can_merge(&*scm, !request.anyway)?;
    let facts = see(&app, &id).await?;
    let is_meant = request.head.as_ref().is_none_or(|meant| **meant == *facts.head.as_str());
    let (commit, head_branch) = match &facts.state {
        // The request is repeated because its first response was lost, or because the branch is to be deleted after
        // all.
        PullState::Merged { commit } if is_meant => match request.delete_branch {
            Some(true) => {
                let left = scm.delete_branch(&id, &facts.head).await?;
                (commit.clone(), Some(left.map_or(HeadBranch::Deleted {}, |why| HeadBranch::Left { why })))
            }
            Some(false) | None => (commit.clone(), None),
        },
        _ => {
            let over = MergeRule::yielding().filter(|_| request.anyway).collect();
            let mut found = blockers(&app, &id, &facts, &over).await?;
            if let Some(meant) = request.head.filter(|_| !is_meant) {
                found.push(Blocker::firm(format!("its head is {}, not {meant}", facts.head)));
            }
            if !found.is_empty() {
                return Err(not_mergeable(&id, &found, None));
            }
            let (by, delete_branch) = (app.owner.clone(), request.delete_branch);
            land(&app, &id, &facts, MergeRequest { by, strategy, delete_branch, over }).await?
        }
    };
    let pull = told(&app, &*scm, &id).await?;
    let (branch_deleted, branch_left) = match head_branch {
        None => (false, None),
        Some(HeadBranch::Deleted {}) => (true, None),
        Some(HeadBranch::Left { why }) => (false, Some(why)),
    };
    Ok(Json(MergeDone { pull, commit: commit.to_string(), branch_deleted, branch_left }))
}

/// A reason not to merge.
struct Blocker {
    what: String,
    /// A person may override it.
    yields: bool,
    next: Option<&'static str>,
}

impl Blocker {
    fn firm(what: String) -> Blocker {
        Blocker { what, yields: false, next: None }
    }
}

/// Returns the rules that are against a merge.
async fn blockers(
    app: &App,
    id: &PullId,
    facts: &PullFacts,
    over: &BTreeSet<MergeRule>,
) -> Result<Vec<Blocker>, Failure> {
    // One that was closed before the engine knew it is judged by the look alone.
    let (looked, over, now) = (Pull::at_a_look(id, facts), over.clone(), app.clock.now());
    let against = app.handle.view(move |state| {
        let pull = state.pulls.get(&looked.id).map_or(&looked, |known| &**known);
        state.blockers(pull, &over, now)
    });
    let against = against.await?.into_iter();
    let blocker = |it: RuleVerdict| Blocker { what: it.blocker(), yields: it.rule.yields(), next: it.next };
    Ok(against.map(blocker).collect())
}

/// Requests a merge, and waits until it has landed or is rejected.
async fn land(
    app: &App,
    id: &PullId,
    facts: &PullFacts,
    request: MergeRequest,
) -> Result<(Commit, Option<HeadBranch>), Failure> {
    let (pull, head) = (id.clone(), facts.head.clone());
    let input =
        Input::Queue { project: id.project.clone(), input: QueueInput::MergeNow { pull, head, request } };
    let InputReceipt { seq, events } = match app.handle.ask(input).await {
        Ok(receipt) => receipt,
        Err(AskError::Refused(Refusal::Invalid { what })) => return merged_meanwhile(app, id, what).await,
        Err(err) => return Err(err.into()),
    };
    // An entry that left the queue to make room for the request is not its outcome.
    let entered =
        |event: &Event| matches!(event, Event::Queue(_, QueueEvent::Enqueued { pull, .. }) if pull == id);
    let after = events.iter().rposition(|stamped| entered(&stamped.event)).map_or(0, |place| place + 1);
    let mut at_once = events.into_iter().skip(after).map(|stamped| stamped.event);
    let mut feed = app.handle.subscribe(seq);
    let mut base = facts.base.clone();
    loop {
        let event = match at_once.next() {
            Some(event) => event,
            None => {
                let next = tokio::select! {
                    next = feed.next() => next,
                    () = app.stop.cancelled() => Ok(None),
                };
                match next {
                    Ok(Some(published)) => published.event.clone(),
                    Ok(None) => {
                        return Err(stopping().hint("the merge goes on once ao is started again").into());
                    }
                    Err(err) => return Err(Problem::new(503, "not-watched", err.to_string()).into()),
                }
            }
        };
        let Event::Queue(_, event) = event else { continue };
        match event {
            QueueEvent::TestStarted { pull, base: on, .. } if pull == *id => base = on,
            QueueEvent::Landed { pull, commit, head_branch, .. } if pull == *id => {
                return Ok((commit, head_branch));
            }
            QueueEvent::Rejected { pull, reason, .. } if pull == *id => {
                return Err(rejected(id, facts, &base, reason));
            }
            QueueEvent::Removed { pull, why } if pull == *id => return merged_meanwhile(app, id, why).await,
            _ => {}
        }
    }
}

/// Handles a request that was refused or removed: the pull request may have been merged in another way.
async fn merged_meanwhile(
    app: &App,
    id: &PullId,
    why: String,
) -> Result<(Commit, Option<HeadBranch>), Failure> {
    match see(app, id).await?.state {
        PullState::Merged { commit } => Ok((commit, None)),
        PullState::Open | PullState::Closed => Err(not_mergeable(id, &[Blocker::firm(why)], None)),
    }
}

fn rejected(id: &PullId, facts: &PullFacts, base: &Commit, reason: QueueRejection) -> Failure {
    let PullFacts { head, base_branch, .. } = facts;
    let what = match reason {
        QueueRejection::Red { output, .. } => {
            let what = format!("the checks fail on what would land: {head} on {base}");
            return not_mergeable(id, &[Blocker { what, yields: true, next: None }], Some(output));
        }
        QueueRejection::Conflict { files } => {
            format!("it conflicts with `{base_branch}` in {}", files.join(", "))
        }
        QueueRejection::Vetoed { why } => format!("the hook `before-merge` objects: {why}"),
        QueueRejection::Broken { why } | QueueRejection::Held { why } => why,
    };
    not_mergeable(id, &[Blocker::firm(what)], None)
}

fn not_mergeable(id: &PullId, found: &[Blocker], output: Option<String>) -> Failure {
    let what: Vec<String> = found.iter().map(|blocker| blocker.what.clone()).collect();
    let title = format!("{id} is not merged: {}", what.join("; "));
    let mut problem = Problem::new(409, "not-mergeable", title);
    problem.hints = found.iter().filter_map(|blocker| blocker.next).map(str::to_owned).collect();
    if found.iter().all(|blocker| blocker.yields) {
        problem = problem.hint(format!("`ao pr merge {id} --anyway` ignores checks, reviews and policy"));
    } else {
        problem = problem.hint(format!("`ao pr show {id}` shows its state"));
    }
    problem.blockers = what;
    problem.detail = output;
    problem.into()
}
