//! Merges the layers of a policy: the stricter value where several set a key, otherwise the one that is set.

use std::collections::{BTreeMap, BTreeSet};

use ao_core::Timestamp;
use ao_core::policy::{
    AgentTrust, ApproverRule, ForbiddenPattern, HumanNeed, Policy, ProtectedPath, TrustLimits,
};
use ao_core::pull::AuthorStanding;
use serde_json::Value;

use super::times::{FreezeWindow, window};
use crate::rule::drop_nulls;
use crate::shape::{ApproversConfig, NeedsHuman, PolicyConfig, ProtectedConfig, StandingName};

/// One layer of a policy, and its origin.
#[derive(Debug, Clone, Copy)]
pub struct PolicyLayer<'a> {
    pub from: &'a str,
    pub policy: &'a PolicyConfig,
}

/// The merged policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedPolicy {
    pub policy: Policy,
    /// Each key with its merged value and the layers that set it.
    pub fields: Vec<PolicySetting>,
}

/// One key of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySetting {
    pub key: &'static str,
    pub value: Value,
    /// Empty if the value is the default.
    pub from: Vec<String>,
}

/// Merges layers.
pub fn in_force(layers: &[PolicyLayer<'_>], now: Timestamp) -> MergedPolicy {
    let default = Policy::default();
    let all = |read: fn(&PolicyConfig) -> &Vec<String>| -> BTreeSet<String> {
        layers.iter().flat_map(|said| read(said.policy)).cloned().collect()
    };
    let policies = || layers.iter().map(|said| said.policy);
    let least = |read: fn(&PolicyConfig) -> Option<u64>| policies().filter_map(read).min();
    let windows: Vec<FreezeWindow> = policies()
        .flat_map(|policy| &policy.freeze)
        // Invalid windows were refused when the layer was read.
        .filter_map(|freeze| window(freeze, now).ok())
        .collect();
    let (mut freeze, mut weekly) = (vec![], vec![]);
    for window in windows {
        match window {
            FreezeWindow::Once(once) => freeze.push(once),
            FreezeWindow::Weekly(all) => weekly.extend(all),
        }
    }
    let auto: Vec<bool> = policies().filter_map(|policy| policy.auto_merge).collect();
    let resolved: Vec<bool> = policies().filter_map(|policy| policy.threads_resolved).collect();
    let policy = Policy {
        approvals: policies().filter_map(|policy| policy.approvals).max().unwrap_or(default.approvals),
        approvers: approvers(policies().filter_map(|policy| policy.approvers.as_ref())),
        protected: policies().flat_map(|policy| &policy.protected).flat_map(protected).collect(),
        max_files: least(|policy| policy.max_files),
        max_lines: least(|policy| policy.max_lines),
        required_checks: all(|policy| &policy.required_checks).into_iter().collect(),
        required_labels: all(|policy| &policy.required_labels),
        forbidden_labels: all(|policy| &policy.forbidden_labels),
        forbidden: policies().flat_map(|policy| &policy.forbidden).map(pattern).collect(),
        secrets: policies().any(|policy| policy.secrets == Some(true)),
        freeze,
        weekly,
        human_always: policies().any(|policy| policy.human_always == Some(true)),
        human: policies().filter_map(|policy| policy.needs_human.as_ref()).map(need).collect(),
        trust: policies().filter_map(trust).collect(),
        threads_resolved: if resolved.is_empty() {
            default.threads_resolved
        } else {
            resolved.contains(&true)
        },
        // `false` wins over `true`.
        auto_merge: match (auto.contains(&false), auto.contains(&true)) {
            (true, _) => Some(false),
            (false, true) => Some(true),
            (false, false) => None,
        },
    };
    let fields = fields(layers, &policy);
    MergedPolicy { policy, fields }
}

/// Returns the approvers that count for every layer. A login that one layer names and another covers only by its
/// standing is dropped, because the standing of a login is not known here.
fn approvers<'a>(said: impl Iterator<Item = &'a ApproversConfig>) -> ApproverRule {
    let one = |config: &ApproversConfig| match (&config.standings, &config.logins) {
        (None, None) => ApproverRule::default(),
        (standings, logins) => ApproverRule {
            standings: standings.iter().flatten().map(standing).collect(),
            logins: logins.clone().unwrap_or_default(),
        },
    };
    let both = |mut mine: ApproverRule, other: ApproverRule| {
        mine.standings.retain(|standing| other.standings.contains(standing));
        mine.logins.retain(|login| other.logins.iter().any(|known| known.eq_ignore_ascii_case(login)));
        mine
    };
    said.map(one).reduce(both).unwrap_or_default()
}

fn standing(name: &StandingName) -> AuthorStanding {
    match name {
        StandingName::Owner => AuthorStanding::Owner,
        StandingName::Member => AuthorStanding::Member,
        StandingName::Collaborator => AuthorStanding::Collaborator,
    }
}

fn protected(config: &ProtectedConfig) -> impl Iterator<Item = ProtectedPath> {
    config.paths.iter().map(|path| ProtectedPath {
        glob: path.clone(),
        approvers: config.approvers.clone(),
        standings: config.standings.iter().map(standing).collect(),
        approvals: config.approvals,
    })
}

fn pattern(config: &crate::shape::PatternConfig) -> ForbiddenPattern {
    ForbiddenPattern {
        name: config.name.clone().unwrap_or_else(|| config.regex.clone()),
        regex: config.regex.clone(),
        paths: config.paths.clone(),
        except: config.except.clone(),
    }
}

fn need(config: &NeedsHuman) -> HumanNeed {
    HumanNeed {
        paths: config.paths.clone(),
        labels: config.labels.iter().cloned().collect(),
        files: config.more_files_than,
        lines: config.more_lines_than,
        authors: config.authors.clone(),
    }
}

/// Returns the trust levels that a layer configures. An agent that is not named has the default level, or else none.
fn trust(policy: &PolicyConfig) -> Option<AgentTrust> {
    if policy.trust.is_empty() {
        return None;
    }
    let mut levels = AgentTrust::known_levels();
    levels.extend(policy.trust_levels.iter().map(|(name, level)| {
        let level = TrustLimits {
            human: level.human,
            paths: level.paths.clone(),
            max_files: level.max_files,
            max_lines: level.max_lines,
        };
        (name.clone(), level)
    }));
    let mut agents: BTreeMap<String, String> = policy.trust.clone().into_iter().collect();
    let default = agents.remove("default").unwrap_or_else(|| "none".to_owned());
    let used = |name: &String| agents.values().any(|level| level == name) || *name == default;
    levels.retain(|name, _| used(name));
    Some(AgentTrust { agents, default, levels })
}

fn fields(layers: &[PolicyLayer<'_>], policy: &Policy) -> Vec<PolicySetting> {
    let said: Vec<(&str, Value)> = layers
        .iter()
        .map(|said| (said.from, serde_json::to_value(said.policy).unwrap_or_default()))
        .collect();
    let value = |key: &'static str, value: Value| {
        let sets = |(_, said): &&(&str, Value)| said.get(key).is_some_and(|value| !value.is_null());
        let from = said.iter().filter(sets).map(|(from, _)| (*from).to_owned());
        PolicySetting { key, value, from: from.collect() }
    };
    vec![
        value("approvals", policy.approvals.into()),
        value("approvers", json(&policy.approvers)),
        value("protected", json(&policy.protected)),
        value("maxFiles", policy.max_files.into()),
        value("maxLines", policy.max_lines.into()),
        value("requiredChecks", json(&policy.required_checks)),
        value("requiredLabels", json(&policy.required_labels)),
        value("forbiddenLabels", json(&policy.forbidden_labels)),
        value("forbidden", json(&policy.forbidden)),
        value("secrets", policy.secrets.into()),
        value("freeze", merged(layers, |policy| json(&policy.freeze))),
        value("humanAlways", policy.human_always.into()),
        value("needsHuman", merged(layers, |policy| json(&policy.needs_human))),
        value("trust", merged(layers, |policy| json(&policy.trust))),
        value("trustLevels", merged(layers, |policy| json(&policy.trust_levels))),
        value("threadsResolved", policy.threads_resolved.into()),
        value("autoMerge", policy.auto_merge.into()),
    ]
}

/// Collects the values of a key that applies once per layer.
fn merged(layers: &[PolicyLayer<'_>], read: impl Fn(&PolicyConfig) -> Value) -> Value {
    let empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    };
    let mut said: Vec<Value> =
        layers.iter().map(|said| read(said.policy)).filter(|value| !empty(value)).collect();
    said.iter_mut().for_each(drop_nulls);
    match said.len() {
        0 => Value::Null,
        1 => said.swap_remove(0),
        _ => Value::Array(said),
    }
}

fn json(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}
