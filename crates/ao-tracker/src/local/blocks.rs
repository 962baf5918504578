//! Validates blockers: they exist, and never form a cycle.

use std::collections::BTreeSet;

use ao_ports::TrackerError;

use super::storage::IssueStorage;

/// Rejects blockers that do not exist.
pub(super) async fn must_exist(
    storage: &dyn IssueStorage,
    blockers: &BTreeSet<u64>,
) -> Result<(), TrackerError> {
    for blocker in blockers {
        if storage.get(*blocker).await?.is_none() {
            return Err(TrackerError::refused(format!(
                "issue #{blocker} cannot be waited for: there is no such issue"
            )));
        }
    }
    Ok(())
}

/// Rejects blockers that would make an issue wait for itself, over any number of steps. Closed ones count: they could
/// be reopened.
pub(super) async fn must_not_be_circular(
    storage: &dyn IssueStorage,
    number: u64,
    blockers: &BTreeSet<u64>,
) -> Result<(), TrackerError> {
    if blockers.contains(&number) {
        return Err(TrackerError::refused(format!("issue #{number} cannot wait for itself")));
    }
    let mut ways: Vec<Vec<u64>> = blockers.iter().map(|blocker| vec![*blocker]).collect();
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop() {
        let last = *way.last().expect("a way has a beginning");
        if last == number {
            let way: Vec<String> = way.iter().map(|step| format!("#{step}")).collect();
            return Err(TrackerError::refused(format!(
                "issue #{number} cannot wait for {}: that one waits for it ({})",
                way[0],
                way.join(" waits for ")
            )));
        }
        if !seen.insert(last) {
            continue;
        }
        let behind = storage.get(last).await?.map(|issue| issue.blocked_by).unwrap_or_default();
        ways.extend(behind.into_iter().map(|next| way.iter().copied().chain([next]).collect()));
    }
    Ok(())
}
