//! Folds events into a pull request. Nothing here can fail, so every log loads.

use super::runs::count;
use super::{CheckState, Mergeable, Pull, PullConflict, PullEvent, PullFacts, PullState, ThreadFacts};
use crate::{PullId, Timestamp};

/// Applies an event to a pull request; the first one creates it.
pub(crate) fn evolve(pull: &mut Option<Pull>, id: &PullId, event: &PullEvent, at: Timestamp) {
    let Some(pull) = pull else {
        if let PullEvent::Opened { facts } = event {
            *pull = Some(Pull::new(id, (**facts).clone(), at));
        }
        return;
    };
    pull.changed_at = at;
    fold(&mut pull.facts, event);
    match event {
        PullEvent::CheckReported { check } => {
            let runs = pull.runs.entry(check.name.clone()).or_default();
            count(runs, check, pull.failures.get(&check.name));
            match check.state {
                CheckState::Failed { .. } => {
                    pull.failures.insert(check.name.clone(), check.clone());
                }
                CheckState::Passed | CheckState::Skipped => {
                    pull.failures.remove(&check.name);
                }
                CheckState::Pending | CheckState::Broken { .. } => {}
            }
        }
        PullEvent::CheckVanished { check } => {
            if let Some(runs) = pull.runs.get_mut(check) {
                runs.vanish();
            }
        }
        PullEvent::MergeabilitySeen { mergeable } => match mergeable {
            Mergeable::Conflict { files } => {
                let (base, head) = (&pull.facts.base, &pull.facts.head);
                let first = || PullConflict { base: base.clone(), head: head.clone(), files: vec![] };
                pull.conflict.get_or_insert_with(first).files = files.clone();
            }
            Mergeable::Clean => {
                (pull.conflict, pull.clean_head) = (None, Some(pull.facts.head.clone()));
            }
            Mergeable::Unknown => {}
        },
        PullEvent::HeadMoved { .. } | PullEvent::Merged { .. } => {
            pull.failures.clear();
            pull.runs.clear();
            (pull.conflict, pull.scan) = (None, None);
        }
        // Against another base it adds other lines.
        PullEvent::Retargeted { .. } => {
            (pull.conflict, pull.clean_head, pull.scan) = (None, None, None);
        }
        PullEvent::Scanned { scan } => pull.scan = Some((**scan).clone()),
        PullEvent::Claimed { session } => {
            pull.owner = Some(*session);
            pull.disowned_by.remove(session);
        }
        PullEvent::Released { session } => {
            pull.owner = None;
            pull.disowned_by.insert(*session);
        }
        _ => {}
    }
}

/// Applies an event to the facts alone. `decide` uses it too, to find the remaining differences after each event.
pub(super) fn fold(facts: &mut PullFacts, event: &PullEvent) {
    match event {
        PullEvent::Opened { facts: seen } => *facts = (**seen).clone(),
        PullEvent::Retitled { title, url } => (facts.title, facts.url) = (title.clone(), url.clone()),
        PullEvent::HeadMoved { head, author, title } => {
            (facts.head, facts.head_author) = (head.clone(), author.clone());
            facts.head_title.clone_from(title);
            facts.checks.clear();
            facts.mergeable = Mergeable::Unknown;
        }
        PullEvent::BranchRenamed { branch, repo } => {
            (facts.head_branch, facts.head_repo) = (branch.clone(), repo.clone());
        }
        PullEvent::BaseMoved { base } => facts.base = base.clone(),
        PullEvent::Retargeted { branch, remote } => {
            (facts.base_branch, facts.base_remote) = (branch.clone(), remote.clone());
            facts.mergeable = Mergeable::Unknown;
        }
        PullEvent::DraftChanged { draft } => facts.draft = *draft,
        PullEvent::ChecksConfigured { none } => facts.no_checks = *none,
        PullEvent::AuthorChanged { author } => facts.author = author.clone(),
        PullEvent::LabelsChanged { labels } => facts.labels = labels.clone(),
        PullEvent::Resized { size } => facts.size = size.clone(),
        PullEvent::MergeabilitySeen { mergeable } => facts.mergeable = mergeable.clone(),
        PullEvent::CheckReported { check } => {
            facts.checks.retain(|known| known.name != check.name);
            let place = facts.checks.partition_point(|known| known.name < check.name);
            facts.checks.insert(place, check.clone());
        }
        PullEvent::CheckVanished { check } => facts.checks.retain(|known| known.name != *check),
        PullEvent::ReviewGiven { place, review } => {
            put(&mut facts.reviews, *place, review, |known| known.id == review.id);
        }
        PullEvent::ReviewWithdrawn { review } => facts.reviews.retain(|known| known.id != *review),
        PullEvent::ThreadSeen { thread, path, line } => {
            let place = facts.threads.partition_point(|known| known.id < *thread);
            if facts.threads.get(place).is_none_or(|known| known.id != *thread) {
                facts.threads.insert(place, ThreadFacts { id: thread.clone(), ..ThreadFacts::default() });
            }
            (facts.threads[place].path, facts.threads[place].line) = (path.clone(), *line);
        }
        PullEvent::CommentSeen { thread, place, comment } => {
            if let Some(thread) = facts.threads.iter_mut().find(|known| known.id == *thread) {
                put(&mut thread.comments, *place, comment, |known| known.id == comment.id);
            }
        }
        PullEvent::CommentDeleted { thread, comment } => {
            if let Some(thread) = facts.threads.iter_mut().find(|known| known.id == *thread) {
                thread.comments.retain(|known| known.id != *comment);
            }
        }
        PullEvent::ThreadResolved { thread } => facts.threads.retain(|known| known.id != *thread),
        PullEvent::Merged { commit } => {
            facts.state = PullState::Merged { commit: commit.clone() };
            // These are not needed again, and merged pull requests are the ones that accumulate.
            facts.checks.clear();
            facts.reviews.clear();
            facts.threads.clear();
            facts.size.files.clear();
        }
        PullEvent::Closed {} => facts.state = PullState::Closed,
        PullEvent::Reopened {} => facts.state = PullState::Open,
        PullEvent::Seen { observed_at } => facts.observed_at = *observed_at,
        PullEvent::Claimed { .. } | PullEvent::Released { .. } | PullEvent::Scanned { .. } => {}
    }
}

/// Inserts an item at its position in time, and removes an older version of it.
fn put<T: Clone>(items: &mut Vec<T>, place: usize, item: &T, same: impl Fn(&T) -> bool) {
    items.retain(|known| !same(known));
    items.insert(place.min(items.len()), item.clone());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pull::fixture::{approved, comment, facts, failed, id, member, pull, thread};
    use crate::{Commit, SessionId};

    fn after(mut facts: PullFacts, events: &[PullEvent]) -> Pull {
        facts.checks = vec![failed("build", "E1")];
        facts.reviews = vec![approved("r1", member("bob"))];
        facts.threads = vec![thread("t1", vec![comment("c1", member("bob"), "1")])];
        facts.mergeable = Mergeable::Conflict { files: vec!["a.rs".into()] };
        let mut known = Some(pull(facts));
        for event in events {
            evolve(&mut known, &id(), event, Timestamp(9));
        }
        known.unwrap()
    }

    #[test]
    fn a_new_head_starts_with_a_clean_slate_but_keeps_what_people_said() {
        let pull = after(
            facts(1),
            &[PullEvent::HeadMoved { head: Commit::new("head2"), author: None, title: None }],
        );
        assert!(pull.facts.checks.is_empty() && pull.failures.is_empty() && pull.conflict.is_none());
        assert_eq!(pull.facts.mergeable, Mergeable::Unknown);
        assert_eq!((pull.facts.threads.len(), pull.facts.reviews.len()), (1, 1));
    }

    #[test]
    fn a_merged_pull_request_keeps_only_its_name_and_its_end() {
        let pull = after(facts(1), &[PullEvent::Merged { commit: Commit::new("m1") }]);
        assert!(
            pull.facts.checks.is_empty() && pull.facts.reviews.is_empty() && pull.facts.threads.is_empty()
        );
        assert_eq!(pull.facts.state, PullState::Merged { commit: Commit::new("m1") });
        assert_eq!(pull.facts.title, facts(1).title);
    }

    #[test]
    fn owner_and_time_of_change_are_remembered() {
        let claimed = PullEvent::Claimed { session: SessionId(7) };
        let pull = after(facts(1), std::slice::from_ref(&claimed));
        assert_eq!((pull.owner, pull.changed_at), (Some(SessionId(7)), Timestamp(9)));
        let pull = after(facts(1), &[claimed, PullEvent::Released { session: SessionId(7) }]);
        assert_eq!(pull.owner, None);
    }

    #[test]
    fn an_event_about_something_unknown_changes_nothing_and_does_not_fail() {
        let mut unknown = None;
        evolve(&mut unknown, &id(), &PullEvent::Closed {}, Timestamp(9));
        assert_eq!(unknown, None);
        let stray = PullEvent::CommentSeen {
            thread: "?".into(),
            place: 9,
            comment: comment("c9", member("bob"), "1"),
        };
        assert_eq!(after(facts(1), &[stray]).facts, after(facts(1), &[]).facts);
    }

    #[test]
    fn every_event_is_stored_as_an_object_under_its_name() {
        for (event, json) in [
            (PullEvent::Reopened {}, r#"{"reopened":{}}"#),
            (PullEvent::Merged { commit: Commit::new("m1") }, r#"{"merged":{"commit":"m1"}}"#),
            (PullEvent::Seen { observed_at: Timestamp(3) }, r#"{"seen":{"observed_at":3}}"#),
        ] {
            assert_eq!(serde_json::to_string(&event).unwrap(), json);
            assert_eq!(serde_json::from_str::<PullEvent>(json).unwrap(), event);
        }
    }
}
