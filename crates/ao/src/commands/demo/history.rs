//! The events of the demo, counted as its checks need them.

use std::collections::{BTreeMap, BTreeSet};

use ao_api::Event;

/// Counts of events per subject, and the notices to people.
#[derive(Debug, Default)]
pub(super) struct EventHistory {
    /// By subject and kind; for an incident with its name: `incident.acted ci-failed`.
    counts: BTreeMap<(String, String), u32>,
    /// The subjects of notices to people, with repetitions.
    asked: Vec<String>,
    /// Pull requests that were approved by a person while they were open.
    approved: BTreeSet<String>,
    merged: BTreeSet<String>,
    pub(super) events: usize,
    pub(super) last: u64,
}

impl EventHistory {
    pub(super) fn take(&mut self, event: &Event) {
        self.events += 1;
        self.last = event.seq;
        let mut kind = event.kind.clone();
        if kind.starts_with("incident.") {
            kind = format!("{kind} {}", event.data[1]["kind"].as_str().unwrap_or_default());
        }
        *self.counts.entry((event.concerns.clone(), kind)).or_default() += 1;
        let notice = &event.data["raised"]["notice"];
        // A review notice is sent only if the change still waits after a while; the demo reviews at once.
        let is_review = notice["incident"]["kind"] == "review-needed";
        if matches!(notice["level"].as_str(), Some("action" | "urgent")) && !is_review {
            let about = notice["subject"].as_object().and_then(|subject| subject.values().next());
            self.asked.push(about.and_then(|about| about.as_str()).unwrap_or("ao").to_owned());
        }
        match event.kind.as_str() {
            "pull.review_given" => {
                let review = &event.data["review_given"]["review"];
                let is_word = review["verdict"] == "approved" && review["author"]["standing"] != "agent";
                if is_word && !self.merged.contains(&event.concerns) {
                    self.approved.insert(event.concerns.clone());
                }
            }
            "pull.merged" => {
                self.merged.insert(event.concerns.clone());
            }
            _ => {}
        }
    }

    pub(super) fn count(&self, concerns: &str, kind: &str) -> u32 {
        self.counts.get(&(concerns.to_owned(), kind.to_owned())).copied().unwrap_or_default()
    }

    /// Returns the number of notices about any of these subjects.
    pub(super) fn asked_about(&self, any_of: &[&str]) -> usize {
        self.asked.iter().filter(|about| any_of.contains(&about.as_str())).count()
    }

    /// Returns the subjects of notices, except these.
    pub(super) fn asked_besides(&self, these: &[&str]) -> Vec<&str> {
        self.asked.iter().map(String::as_str).filter(|about| !these.contains(about)).collect()
    }

    /// Returns true if a person approved a pull request before it was merged.
    pub(super) fn is_approved(&self, pull: &str) -> bool {
        self.approved.contains(pull)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn event(kind: &str, concerns: &str, data: Value) -> Event {
        let at = jiff::Timestamp::UNIX_EPOCH;
        Event { seq: 1, at, kind: kind.into(), session_id: None, concerns: concerns.into(), data }
    }

    #[test]
    fn problems_are_counted_by_their_kind_and_people_only_if_they_were_asked() {
        let mut history = EventHistory::default();
        let acted = json!([{ "acted": {} }, { "kind": "ci-failed", "subject": { "pull": "hello!2" } }]);
        history.take(&event("incident.acted", "hello!2", acted));
        assert_eq!(history.count("hello!2", "incident.acted ci-failed"), 1);
        assert_eq!(history.count("hello!2", "incident.acted merge-conflicts"), 0);
        for level in ["info", "action", "urgent"] {
            let notice =
                json!({ "raised": { "notice": { "level": level, "subject": { "pull": "hello!6" } } } });
            history.take(&event("notice.raised", "ntc_1", notice));
        }
        assert_eq!(history.asked_about(&["hello!6"]), 2);
        assert_eq!(history.asked_about(&["hello!2", "ses_1"]), 0);
        assert_eq!(history.asked_besides(&["hello!6"]), [""; 0]);
        assert_eq!(history.asked_besides(&["hello!2"]), ["hello!6", "hello!6"]);
    }

    #[test]
    fn an_approval_counts_if_a_person_gave_it_and_if_it_came_before_the_merge() {
        let review = |verdict: &str, standing: &str| {
            let author = json!({ "login": "you", "standing": standing });
            json!({ "review_given": { "place": 0, "review": { "verdict": verdict, "author": author } } })
        };
        let merged = || event("pull.merged", "hello!6", json!({ "merged": { "commit": "m" } }));
        let given = |verdict, standing| event("pull.review_given", "hello!6", review(verdict, standing));
        let approved = |events: &[Event]| {
            let mut history = EventHistory::default();
            events.iter().for_each(|event| history.take(event));
            history.is_approved("hello!6")
        };
        assert!(approved(&[given("approved", "owner"), merged()]));
        assert!(!approved(&[merged()]), "the rules let it land unasked");
        assert!(!approved(&[merged(), given("approved", "owner")]), "too late");
        assert!(!approved(&[given("approved", "agent"), merged()]), "an agent's word is not enough");
        assert!(!approved(&[given("commented", "owner"), merged()]));
    }
}
