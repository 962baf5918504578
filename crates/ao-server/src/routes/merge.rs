//! What becomes of a pull request: who answers for it, and that it lands.
//!
//! ```text
//!  look ─► what stands in the way? ─► test what would land ─► does a hook object? ─► merge exactly that ─► look
//!    ▲                                                                                     │
//!    └────────────── the base has moved in the meantime ◄──────────────────────────────────┘   (a few times)
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;

use ao_api::{Claim, MergeDone, MergeWish, Problem, PullDetail};
use ao_core::policy::{MergeRule, RuleVerdict};
use ao_core::pull::{PullInput, PullState};
use ao_core::{Commit, Input, PullId, SessionId};
use ao_ports::{MergeOrder, MergeOutcome, Scm, Strategy, TestOrder, TestOutcome};
use axum::Json;
use axum::extract::State;

use super::pulls::{Within, is_over, told};
use crate::app::App;
use crate::auth::{Caller, Deed};
use crate::extract::{Asked, Given, Part, find};
use crate::forge::{allow, invalid, one_of, owner, pull_meant, see};
use crate::problem::{Failure, forbidden};

/// How often a merge is begun anew because another one came before it.
const TRIES: u32 = 3;
/// How much of a failed test is told.
const OUTPUT: usize = 8 * 1024;

/// Says which session answers for a pull request, or that none does any more.
#[utoipa::path(
    post, path = "/api/pulls/{id}/claim", tag = "pulls", request_body = Claim,
    params(
        ("id" = String, Path, description = "`7`, `!7`, `my-app!7`, a branch, or a session that has one pull request"),
        Within,
    ),
    responses((status = 200, body = PullDetail)),
)]
pub(super) async fn claim(
    State(app): State<Arc<App>>,
    caller: Caller,
    Part(meant): Part,
    Asked(within): Asked<Within>,
    Given(claim): Given<Claim>,
) -> Result<Json<PullDetail>, Failure> {
    let id = pull_meant(&app, &caller, &meant, within.project.as_deref()).await?;
    allow(&caller, Deed::Answer(&id.project))?;
    let session = match claim.session {
        Some(meant) => Some(claimer(&app, &caller, meant, &id).await?),
        None => None,
    };
    let scm = app.host.scm(&id.project)?;
    let claiming = app.clone();
    app.to_the_end(async move {
        let facts = see(&claiming, &id).await?;
        let owner = owner(&claiming, &id).await?;
        let input = match (session, owner) {
            (Some(_), _) if facts.state != PullState::Open => return Err(is_over(&id).into()),
            (Some(session), _) => {
                owned_by_another(&claiming, &id, session).await?;
                Some(PullInput::Claim { session })
            }
            (None, Some(session)) => {
                // Whoever may decide may relieve others of it.
                let own = matches!(&caller, Caller::Session(agent) if agent.id == session);
                if !own {
                    allow(&caller, Deed::Decide)?;
                }
                Some(PullInput::Release { session })
            }
            (None, None) => None,
        };
        if let Some(input) = input {
            claiming.handle.ask(Input::Pull { pull: id.clone(), input }).await?;
        }
        Ok(Json(told(&claiming, &*scm, &id).await?))
    })
    .await
}

/// The session that is to answer for a pull request: an agent's own, or whichever the owner names.
async fn claimer(app: &Arc<App>, caller: &Caller, meant: String, id: &PullId) -> Result<SessionId, Failure> {
    if let Caller::Session(agent) = caller {
        let itself = meant == agent.name || meant == agent.id.to_string();
        return if itself { Ok(agent.id) } else { Err(forbidden().into()) };
    }
    let session = find(app, caller.clone(), meant, true).await?;
    if session.spec.project != id.project {
        return Err(invalid("a session answers for pull requests of its own project only"));
    }
    Ok(session.id)
}

/// Refuses what another session answers for, and says which one.
pub(super) async fn owned_by_another(app: &App, id: &PullId, session: SessionId) -> Result<(), Failure> {
    let Some(by) = owner(app, id).await?.filter(|by| *by != session) else { return Ok(()) };
    let mut problem = Problem::new(409, "pull-owned", format!("{by} answers for {id} already"))
        .hint("release it there first: claim it for nobody, then for the other");
    problem.session_id = Some(by.to_string());
    Err(problem.into())
}

// ── merging ──

/// Merges a pull request, if nothing stands in the way. What would land is checked first, and exactly that is merged.
#[utoipa::path(
    post, path = "/api/pulls/{id}/merge", tag = "pulls", request_body = MergeWish,
    params(
        ("id" = String, Path, description = "`7`, `!7`, `my-app!7`, a branch, or a session that has one pull request"),
        Within,
    ),
    responses(
        (status = 200, description = "It is merged", body = MergeDone),
        (status = 409, description = "Something stands in the way: `blockers` says what", body = Problem),
    ),
)]
pub(super) async fn merge(
    State(app): State<Arc<App>>,
    caller: Caller,
    Part(meant): Part,
    Asked(within): Asked<Within>,
    Given(wish): Given<MergeWish>,
) -> Result<Json<MergeDone>, Failure> {
    allow(&caller, Deed::Decide)?;
    let id = pull_meant(&app, &caller, &meant, within.project.as_deref()).await?;
    let strategy = match wish.strategy.as_deref() {
        Some(word) => one_of("way to merge", word, STRATEGIES)?,
        None => app.host.strategy(&id.project),
    };
    let scm = app.host.scm(&id.project)?;
    if !scm.abilities().pinned_merge {
        let title = "this forge cannot merge exactly what was judged, so nothing is merged there from here";
        return Err(Problem::new(501, "unsupported", title).into());
    }
    let merging = app.clone();
    app.to_the_end(async move {
        let (commit, branch) = land(&merging, &*scm, &id, &wish, strategy).await?;
        let pull = told(&merging, &*scm, &id).await?;
        let (branch_deleted, branch_left) = match branch {
            Branch::Kept => (false, None),
            Branch::Deleted => (true, None),
            Branch::Left(why) => (false, Some(why)),
        };
        Ok(Json(MergeDone { pull, commit: commit.to_string(), branch_deleted, branch_left }))
    })
    .await
}

const STRATEGIES: &[(&str, Strategy)] =
    &[("squash", Strategy::Squash), ("merge", Strategy::Merge), ("rebase", Strategy::Rebase)];

/// What became of the branch of a change that has landed.
enum Branch {
    /// Nobody wanted it to go.
    Kept,
    Deleted,
    Left(String),
}

impl Branch {
    fn told(was_to_go: bool, left: Option<String>) -> Branch {
        match (was_to_go, left) {
            (false, _) => Branch::Kept,
            (true, None) => Branch::Deleted,
            (true, Some(why)) => Branch::Left(why),
        }
    }
}

async fn land(
    app: &App,
    scm: &dyn Scm,
    id: &PullId,
    wish: &MergeWish,
    strategy: Strategy,
) -> Result<(Commit, Branch), Failure> {
    let mut tries = 0;
    // The head that the hooks did not object to.
    let mut cleared: Option<Commit> = None;
    loop {
        tries += 1;
        let facts = see(app, id).await?;
        let by = Some(app.owner.clone());
        let delete_branch = wish.delete_branch.unwrap_or_else(|| app.host.deletes_branch(&id.project));
        // Whoever asks again because the first answer was lost is told what came of it, and what was left to do is done.
        if let PullState::Merged { commit } = &facts.state
            && wish.head.as_ref().is_none_or(|meant| **meant == *facts.head.as_str())
        {
            if !delete_branch {
                return Ok((commit.clone(), Branch::Kept));
            }
            let (head, base, tree) = (facts.head.clone(), facts.base.clone(), String::new());
            let with = vec![];
            let order = MergeOrder { pull: id.clone(), head, base, with, tree, strategy, by, delete_branch };
            return match scm.merge(&order).await? {
                MergeOutcome::Merged { commit, branch_left, .. } => {
                    Ok((commit, Branch::told(true, branch_left)))
                }
                MergeOutcome::Refused { why, .. } => Ok((commit.clone(), Branch::Left(why))),
            };
        }
        let over = MergeRule::yielding().filter(|_| wish.anyway).collect();
        let mut found = blockers(app, id, over).await?;
        if let Some(meant) = wish.head.as_ref().filter(|meant| **meant != *facts.head.as_str()) {
            let what = format!("its head is {}, not {meant}", facts.head);
            found.push(Blocker { what, yields: false });
        }
        if !found.is_empty() {
            return Err(not_mergeable(id, &found, None));
        }
        let (head, base) = (facts.head, facts.base);
        let test = TestOrder {
            pull: id.clone(),
            head: head.clone(),
            base: base.clone(),
            ahead: vec![],
            strategy,
            required: required_checks(app, id).await?,
            checks: !wish.anyway,
        };
        let tree = match scm.test(&test).await? {
            TestOutcome::Green { tree } => tree,
            TestOutcome::Red { output, .. } => {
                let what = format!("the checks fail on what would land: {head} on {base}");
                return Err(not_mergeable(id, &[Blocker { what, yields: true }], Some(&output)));
            }
            TestOutcome::Conflict { files, .. } => {
                let what = format!("it conflicts with `{}` in {}", facts.base_branch, files.join(", "));
                return Err(not_mergeable(id, &[Blocker { what, yields: false }], None));
            }
        };
        if cleared.as_ref() != Some(&head) {
            if let Some(why) = app.host.before_merge(id, &head, &base).await? {
                let what = format!("the hook `before-merge` objects: {why}");
                return Err(not_mergeable(id, &[Blocker { what, yields: false }], None));
            }
            cleared = Some(head.clone());
        }
        let with = vec![];
        let order = MergeOrder { pull: id.clone(), head, base, with, tree, strategy, by, delete_branch };
        match scm.merge(&order).await? {
            MergeOutcome::Merged { commit, branch_left, .. } => {
                see(app, id).await?;
                return Ok((commit, Branch::told(delete_branch, branch_left)));
            }
            // Another one has landed meanwhile. What was tested would not be what lands, so it is all done again.
            MergeOutcome::Refused { tip: Some(_), .. } if tries < TRIES => {}
            MergeOutcome::Refused { why, .. } => {
                see(app, id).await?;
                return Err(not_mergeable(id, &[Blocker { what: why, yields: false }], None));
            }
        }
    }
}

/// The checks that the policy of its project requires.
async fn required_checks(app: &App, id: &PullId) -> Result<Vec<String>, Failure> {
    let project = id.project.clone();
    let named = app.handle.view(move |state| {
        state.projects.get(&project).map(|project| project.policy.required_checks.clone())
    });
    Ok(named.await?.unwrap_or_default())
}

/// A reason not to merge.
struct Blocker {
    what: String,
    /// Whether a person may merge all the same.
    yields: bool,
}

/// Returns the rules that are against a merge.
async fn blockers(app: &App, id: &PullId, over: BTreeSet<MergeRule>) -> Result<Vec<Blocker>, Failure> {
    let (id, now) = (id.clone(), app.clock.now());
    let against = app.handle.view(move |state| {
        state.pulls.get(&id).map(|pull| state.blockers(pull, &over, now)).unwrap_or_default()
    });
    let blocker = |it: RuleVerdict| Blocker { what: it.blocker(), yields: it.rule.yields() };
    Ok(against.await?.into_iter().map(blocker).collect())
}

fn not_mergeable(id: &PullId, found: &[Blocker], output: Option<&str>) -> Failure {
    let what: Vec<String> = found.iter().map(|blocker| blocker.what.clone()).collect();
    let title = format!("{id} is not merged: {}", what.join("; "));
    let mut problem = Problem::new(409, "not-mergeable", title);
    if found.iter().all(|blocker| blocker.yields) {
        problem = problem.hint("`--anyway` merges it in spite of checks, reviews and policy");
    } else {
        problem = problem.hint(format!("`ao pr show {id}` tells where it stands"));
    }
    problem.blockers = what;
    problem.detail = output.map(end_of);
    problem.into()
}

/// The end of an output, which says how it went.
fn end_of(output: &str) -> String {
    let mut from = output.len().saturating_sub(OUTPUT);
    while !output.is_char_boundary(from) {
        from += 1;
    }
    output[from..].to_owned()
}
