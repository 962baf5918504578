//! Runs of checks and their logs.

use ao_core::PullId;
use ao_core::pull::CheckFacts;
use ao_ports::{CheckOrder, CheckRun, CheckWhat, RunFilter, Scm, ScmChecks, ScmError};

use super::{CHECK, ScmBench, facts, opened, tip};

/// A rerun is a run of its own on the same commit, and its result replaces the earlier one.
pub async fn a_rerun_is_another_run_of_the_check(bench: &mut dyn ScmBench) {
    let (pull, head, _) = opened(bench, "fix").await;
    let scm = bench.scm();
    let Some(checks) = scm.checks() else { return };
    bench.finish_checks().await;
    let before = check_facts(bench, &pull).await;
    checks.rerun(&pull, &head, CHECK).await.unwrap();
    bench.finish_checks().await;
    let after = check_facts(bench, &pull).await;
    assert!(after.run.is_some() && after.run != before.run, "{before:?} {after:?}");
    assert_eq!((&after.commit, &after.state), (&head, &before.state));
}

/// A check of the base begins at once, and its run can be found from then on, by id and in the list.
pub async fn a_check_of_the_base_is_kept(bench: &mut dyn ScmBench) {
    let scm = bench.scm();
    let Some((checks, run)) = base_run(bench, &*scm).await else { return };
    assert_eq!((&run.project, &run.pull, run.check.as_str()), (&bench.project(), &None, CHECK));
    assert_eq!(run.head, tip(bench).await);
    bench.finish_checks().await;
    let over = checks.run(&run.id).await.unwrap();
    assert!(over.state.is_over() && over.id == run.id, "{over:?}");
    bench.restart().await;
    let scm = bench.scm();
    let filter = RunFilter { project: Some(bench.project()), limit: 10, ..RunFilter::default() };
    assert_eq!(scm.need_checks().unwrap().runs(&filter).await.unwrap(), std::slice::from_ref(&over));
    let of_none = RunFilter { check: Some("another".into()), ..filter };
    assert_eq!(scm.need_checks().unwrap().runs(&of_none).await.unwrap(), []);
    assert_eq!(scm.need_checks().unwrap().run(&run.id).await.unwrap(), over);
}

/// The parts of a log are its whole, whatever their size, and the last one says so.
pub async fn the_log_of_a_run_is_read_in_parts(bench: &mut dyn ScmBench) {
    let scm = bench.scm();
    let Some((checks, run)) = base_run(bench, &*scm).await else { return };
    let mut logs = vec![];
    for limit in [3, 100_000] {
        let (mut log, mut from) = (vec![], 0);
        loop {
            let part = checks.check_log(&run.id, from, limit, true).await.unwrap();
            assert!(part.bytes.len() <= limit as usize);
            assert_eq!(part.next, from + part.bytes.len() as u64);
            (log, from) = ([log, part.bytes].concat(), part.next);
            if part.ended {
                break;
            }
        }
        logs.push(log);
    }
    assert!(!logs[0].is_empty() && logs[0] == logs[1], "{logs:?}");
    let unknown = checks.check_log("run_unknown", 0, 10, false).await;
    assert!(matches!(unknown, Err(ScmError::NotFound { .. })), "{unknown:?}");
}

async fn check_facts(bench: &dyn ScmBench, pull: &PullId) -> CheckFacts {
    let checks = facts(bench, pull).await.checks;
    checks.into_iter().find(|check| check.name == CHECK).expect("it has a state")
}

/// Starts the check on the tip of the base, if the forge runs checks.
async fn base_run<'a>(bench: &dyn ScmBench, scm: &'a dyn Scm) -> Option<(&'a dyn ScmChecks, CheckRun)> {
    let checks = scm.checks()?;
    let what = CheckWhat::Revision(tip(bench).await.to_string());
    let order = CheckOrder { project: bench.project(), what, checks: vec![CHECK.into()], again: false };
    let mut runs = checks.check(&order).await.unwrap();
    assert_eq!(runs.len(), 1);
    Some((checks, runs.remove(0)))
}
