//! No alarm for a flaky check or a failing base, and a next step for every problem. Judged by separate records, and
//! not by the state of the core.

use std::collections::{BTreeMap, BTreeSet};

use ao_core::health::BaseVerdict;
use ao_core::incident::{
    EscalationLevel, FailureDoubt, Incident, IncidentEvent, IncidentKey, ProblemId, Subject,
};
use ao_core::project::ProjectEvent;
use ao_core::pull::{CheckState, PullEvent};
use ao_core::{ProjectId, PullId, State};

use super::Invariant::*;
use crate::universe::UniverseState;

/// Check results and doubts, by the log.
#[derive(Debug, Default)]
pub(crate) struct AlarmLedger {
    checks: BTreeMap<(PullId, String), CheckReports>,
    /// Signature of a base's failure, by project and check. A base that fails differently explains nothing.
    red: BTreeMap<(ProjectId, String), String>,
    /// The problems that were confirmed by a rerun.
    doubted: BTreeSet<IncidentKey>,
}

/// The results of a check for the current head.
#[derive(Debug, Default)]
struct CheckReports {
    failed: u32,
    run: Option<String>,
    passed: bool,
    ended: bool,
}

pub(super) fn pull(inner: &mut UniverseState, id: &PullId, event: &PullEvent) {
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

pub(super) fn project(inner: &mut UniverseState, id: &ProjectId, event: &ProjectEvent) {
    let red = &mut inner.log.ledger.alarms.red;
    if let ProjectEvent::BaseFound { check, verdict, .. } = event {
        match verdict {
            BaseVerdict::Red { signature, .. } => red.insert((id.clone(), check.clone()), signature.clone()),
            BaseVerdict::Green {} | BaseVerdict::Unknown { .. } => red.remove(&(id.clone(), check.clone())),
        };
    }
}

pub(super) fn incident(inner: &mut UniverseState, key: &IncidentKey, event: &IncidentEvent) {
    let (Subject::Pull(pull), ProblemId::Check { check, signature }) = (&key.subject, &key.problem) else {
        return;
    };
    let alarms = &mut inner.log.ledger.alarms;
    match event {
        IncidentEvent::Doubted {
            doubt: FailureDoubt::Chance { .. } | FailureDoubt::BaseMended { .. } | FailureDoubt::BaseRed {},
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
            inner.must(!red, NoFalseAlarm, || format!("alarm while the base is red: {key}"));
            inner.must(!passed, NoFalseAlarm, || format!("alarm though it has passed since: {key}"));
            inner.must(sure || !reruns, NoFalseAlarm, || format!("alarm for what may be flaky: {key}"));
        }
        _ => {}
    }
}

/// Checks that every problem that can still be handled has a due time, or is held.
pub(super) fn no_dead_ends(inner: &mut UniverseState, state: &State) {
    let stuck = state.incidents.values().find(|incident| !goes_on(incident));
    if let Some(stuck) = stuck {
        inner.broken(NoDeadEnds, format!("no next step: {stuck:?}"));
    }
}

/// Returns true if something is bound to happen to a problem.
pub(super) fn goes_on(incident: &Incident) -> bool {
    incident.due.is_some()
        || waits(incident)
        || matches!(incident.level, EscalationLevel::Person | EscalationLevel::None)
}

/// Returns true if it waits for the base, or for a reply to its answer.
pub(super) fn waits(incident: &Incident) -> bool {
    incident.doubt == Some(FailureDoubt::BaseRed {})
        || (incident.level == EscalationLevel::Agent
            && incident.answered.as_ref() == Some(&incident.revision))
}
