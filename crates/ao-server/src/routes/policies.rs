//! Policies of projects, and their verdicts on pull requests.

use ao_api::{MergeRule as Rule, PolicyField, PolicyRule, PolicyShown, PolicyVerdict};
use ao_core::PullId;
use ao_core::incident::{IncidentKind, Subject};
use ao_core::policy::{MergeRule, RuleVerdict};
use ao_core::pull::Pull;
use ao_core::reaction::ReactionAction;
use axum::Json;

use crate::auth::AgentAct;
use crate::extract::{Asked, Call, PullCall, PullName, Within};
use crate::forge::{allow, project, see};
use crate::problem::Reply;
use crate::to_api::same_name;

/// Returns the verdict of the project's policy on a pull request: every rule with its evidence, and advice.
#[utoipa::path(
    get, path = "/api/pulls/{id}/policy", tag = "policies",
    params(PullName, Within),
    responses((status = 200, body = PolicyVerdict)),
)]
pub(super) async fn of_pull(PullCall { app, caller, id }: PullCall) -> Reply<PolicyVerdict> {
    allow(&caller, AgentAct::Read(&id.project))?;
    let facts = see(&app, &id).await?;
    // A pull request that was closed before the engine knew it is judged by the look alone.
    let looked = Pull::at_a_look(&id, &facts);
    let now = app.clock.now();
    let told = app.handle.view(move |state| {
        let pull = state.pulls.get(&id).map_or(&looked, |known| &**known);
        let verdict = state.verdict(pull, now);
        let reaction = state.reaction(&IncidentKind::ApprovedAndGreen, &Subject::Pull(id.clone()));
        PolicyVerdict {
            pull: id.to_string(),
            project_id: id.project.to_string(),
            head: pull.facts.head.to_string(),
            allowed: verdict.allows(),
            auto_merge: reaction.auto && reaction.action == ReactionAction::Merge,
            written: is_written(state, &id),
            rules: verdict.rules.iter().map(rule).collect(),
        }
    });
    Ok(Json(told.await?))
}

/// Returns the merged policy of a project, with the layers that set each key.
#[utoipa::path(
    get, path = "/api/policy", tag = "policies", params(Within), responses((status = 200, body = PolicyShown)),
)]
pub(super) async fn show(Call { app, caller }: Call, Asked(within): Asked<Within>) -> Reply<PolicyShown> {
    let project = project(&app, &caller, within.project.as_deref())?;
    let report = app.daemon.looks.policy(&project).await?;
    let (fields, broken) = match report.fields {
        Ok(fields) => (fields, None),
        Err(why) => (vec![], Some(why)),
    };
    let fields = fields.into_iter().map(|field| PolicyField {
        key: field.key.to_owned(),
        value: field.value,
        from: field.from,
    });
    Ok(Json(PolicyShown {
        project_id: project.to_string(),
        written: report.written,
        commit: report.commit,
        broken,
        fields: fields.collect(),
    }))
}

fn is_written(state: &ao_core::State, id: &PullId) -> bool {
    state.projects.get(&id.project).is_some_and(|project| project.policy_stand.written)
}

fn rule(verdict: &RuleVerdict) -> PolicyRule {
    PolicyRule {
        rule: same_name!(verdict.rule, MergeRule => Rule:
            Policy, Open, Mergeable, Checks, RequiredChecks, Approvals, ChangesRequested, Threads, Human, Trust,
            PolicyFile, Size, Labels, Patterns, Freeze, Protected),
        holds: verdict.holds,
        evidence: verdict.evidence.clone(),
        next: verdict.next.map(str::to_owned),
    }
}
