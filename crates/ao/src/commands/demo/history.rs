//! What the event log tells of the demo, as far as its reader wants to know.

use std::collections::BTreeMap;

use ao_api::Event;

/// Counts of what happened to whom, and what people were told.
#[derive(Debug, Default)]
pub(super) struct History {
    /// By whom it concerns and what it is; for a problem also which: `incident.acted ci-failed`.
    counts: BTreeMap<(String, String), u32>,
    /// Whom people were asked about, as often as they were.
    asked: Vec<String>,
    pub(super) events: usize,
    pub(super) last: u64,
}

impl History {
    pub(super) fn take(&mut self, event: &Event) {
        self.events += 1;
        self.last = event.seq;
        let mut kind = event.kind.clone();
        if kind.starts_with("incident.") {
            kind = format!("{kind} {}", event.data[1]["kind"].as_str().unwrap_or_default());
        }
        *self.counts.entry((event.concerns.clone(), kind)).or_default() += 1;
        let notice = &event.data["raised"]["notice"];
        if matches!(notice["level"].as_str(), Some("action" | "urgent")) {
            let about = notice["subject"].as_object().and_then(|subject| subject.values().next());
            self.asked.push(about.and_then(|about| about.as_str()).unwrap_or("ao").to_owned());
        }
    }

    pub(super) fn count(&self, concerns: &str, kind: &str) -> u32 {
        self.counts.get(&(concerns.to_owned(), kind.to_owned())).copied().unwrap_or_default()
    }

    /// How often people were asked about one of these.
    pub(super) fn asked_about(&self, any_of: &[&str]) -> usize {
        self.asked.iter().filter(|about| any_of.contains(&about.as_str())).count()
    }

    pub(super) fn asked(&self) -> usize {
        self.asked.len()
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
        let mut history = History::default();
        let acted = json!([{ "acted": {} }, { "kind": "ci-failed", "subject": { "pull": "hello!2" } }]);
        history.take(&event("incident.acted", "hello!2", acted));
        assert_eq!(history.count("hello!2", "incident.acted ci-failed"), 1);
        assert_eq!(history.count("hello!2", "incident.acted merge-conflicts"), 0);
        for level in ["info", "action", "urgent"] {
            let notice =
                json!({ "raised": { "notice": { "level": level, "subject": { "pull": "hello!6" } } } });
            history.take(&event("notice.raised", "ntc_1", notice));
        }
        assert_eq!((history.asked(), history.asked_about(&["hello!6"])), (2, 2));
        assert_eq!(history.asked_about(&["hello!2", "ses_1"]), 0);
    }
}
