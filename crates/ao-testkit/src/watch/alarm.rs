//! Nobody is woken for what is chance or the base's fault, and no problem is left without a next step. Judged by books of
//! their own, and not by what the core remembers.

use std::collections::{BTreeMap, BTreeSet};

use ao_core::health::BaseVerdict;
use ao_core::incident::{Doubt, EscalationLevel, Incident, IncidentEvent, IncidentKey, ProblemId, Subject};
use ao_core::project::ProjectEvent;
use ao_core::pull::{CheckState, PullEvent};
use ao_core::{ProjectId, PullId, State};

use super::Invariant::*;
use crate::universe::Inner;

/// What the log says of checks, and of who was doubted.
#[derive(Debug, Default)]
pub(crate) struct Alarms {
    checks: BTreeMap<(PullId, String), Reports>,
    /// The signature with which a project's base fails a check. A base that fails otherwise explains nothing.
    red: BTreeMap<(ProjectId, String), String>,
    /// The problems that were run again before they were believed.
    doubted: BTreeSet<IncidentKey>,
}

/// What a check has said of the present head.
#[derive(Debug, Default)]
struct Reports {
    failed: u32,
    run: Option<String>,
    passed: bool,
    ended: bool,
}

pub(super) fn pull(inner: &mut Inner, id: &PullId, event: &PullEvent) {
    let alarms = &mut inner.log.ledger.alarms;
    match event {
        PullEvent::HeadMoved { .. } => {
            alarms.checks.retain(|(of, _), _| of != id);
            alarms.doubted.retain(|key| key.subject != Subject::Pull(id.clone()));
        }
        PullEvent::CheckReported { check } => {
            let reports = alarms.checks.entry((id.clone(), check.name.clone())).or_default();
            reports.passed = check.state == CheckState::Passed;
            if let CheckState::Failed { .. } = check.state {
                let other_run = check.run.is_some() && reports.run.is_some() && check.run != reports.run;
                reports.failed += u32::from(reports.failed == 0 || reports.ended || other_run);
                reports.run.clone_from(&check.run);
                reports.ended = false;
            } else {
                reports.ended = true;
            }
        }
        PullEvent::CheckVanished { check } => {
            alarms.checks.entry((id.clone(), check.clone())).or_default().ended = true;
        }
        _ => {}
    }
}

pub(super) fn project(inner: &mut Inner, id: &ProjectId, event: &ProjectEvent) {
    let red = &mut inner.log.ledger.alarms.red;
    if let ProjectEvent::BaseFound { check, verdict, .. } = event {
        match verdict {
            BaseVerdict::Red { signature, .. } => red.insert((id.clone(), check.clone()), signature.clone()),
            BaseVerdict::Green {} | BaseVerdict::Unknown { .. } => red.remove(&(id.clone(), check.clone())),
        };
    }
}

pub(super) fn incident(inner: &mut Inner, key: &IncidentKey, event: &IncidentEvent) {
    let (Subject::Pull(pull), ProblemId::Check { check, signature }) = (&key.subject, &key.problem) else {
        return;
    };
    let alarms = &mut inner.log.ledger.alarms;
    match event {
        IncidentEvent::Doubted {
            doubt: Doubt::Chance { .. } | Doubt::BaseMended { .. } | Doubt::BaseRed {},
            ..
        } => {
            alarms.doubted.insert(key.clone());
        }
        IncidentEvent::Closed {} => {
            alarms.doubted.remove(key);
        }
        IncidentEvent::Acted { .. } | IncidentEvent::Escalated { .. } => {
            let red = alarms.red.get(&(pull.project.clone(), check.clone())) == Some(signature);
            let reports = alarms.checks.get(&(pull.clone(), check.clone()));
            let passed = reports.is_some_and(|reports| reports.passed);
            let sure = reports.is_some_and(|reports| reports.failed > 1) || alarms.doubted.contains(key);
            let reruns = inner.log.shadow.reaction(&key.kind, &key.subject).rerun > 0;
            inner.must(!red, NoFalseAlarm, || format!("woken while the base is red: {key}"));
            inner.must(!passed, NoFalseAlarm, || format!("woken though it has passed since: {key}"));
            inner.must(sure || !reruns, NoFalseAlarm, || format!("woken for what may be chance: {key}"));
        }
        _ => {}
    }
}

/// Whether every problem that somebody may still help with has a time at which the next one is asked, or is held.
pub(super) fn no_dead_ends(inner: &mut Inner, state: &State) {
    let stuck = state.incidents.values().find(|incident| !goes_on(incident));
    if let Some(stuck) = stuck {
        inner.broken(NoDeadEnds, format!("nothing will ever come of it: {stuck:?}"));
    }
}

/// Whether something is bound to happen to a problem.
pub(super) fn goes_on(incident: &Incident) -> bool {
    incident.due.is_some()
        || waits(incident)
        || matches!(incident.level, EscalationLevel::Person | EscalationLevel::Nobody)
}

/// Whether it waits for the base, or for whoever was answered.
pub(super) fn waits(incident: &Incident) -> bool {
    incident.doubt == Some(Doubt::BaseRed {})
        || (incident.level == EscalationLevel::Agent
            && incident.answered.as_ref() == Some(&incident.revision))
}
