//! Routes a task: to the most specific specialist, or to the project's own agent.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::{AutoAssign, SpecialistAgent, has, has_any};

/// The agent that gets a task, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice<'a> {
    /// The specialist; the project's own agent if absent.
    pub specialist: Option<&'a SpecialistAgent>,
    /// There are specialists, but none of them matches the task.
    passed_over: bool,
}

impl<'s> Choice<'s> {
    pub fn id(&self) -> Option<&str> {
        self.specialist.map(|specialist| specialist.id.as_str())
    }

    /// Returns the account whose quota it uses.
    pub fn account<'a>(&self, auto: &'a AutoAssign) -> &'a str
    where
        's: 'a,
    {
        self.specialist.map_or(&auto.account, |specialist| &specialist.account)
    }

    /// Describes the reason for the choice. Computed on request: choices are made far more often.
    pub fn why(&self, labels: &BTreeSet<String>) -> String {
        match (self.specialist, self.passed_over) {
            (Some(specialist), _) => why(specialist, labels),
            (None, true) => "no specialist is for its labels, so the project's own agent does it".into(),
            (None, false) => "the project's own agent does all its work".into(),
        }
    }
}

/// Chooses a specialist: the one whose filter has the most labels of the task; then one named by this project; then
/// the one with the most room; then the first. Returns `None` if no specialist matches and only specialists may work.
/// A specialist that cannot work at present has `None` as room.
pub fn choose<'a>(
    auto: &AutoAssign,
    specialists: &'a [SpecialistAgent],
    labels: &BTreeSet<String>,
    room: impl Fn(&SpecialistAgent) -> Option<u32>,
) -> Option<Choice<'a>> {
    let fits = |specialist: &&SpecialistAgent| {
        (specialist.labels.is_empty() || has_any(labels, &specialist.labels))
            && !has_any(labels, &specialist.exclude_labels)
    };
    let shared =
        |specialist: &SpecialistAgent| specialist.labels.iter().filter(|label| has(labels, label)).count();
    // `min_by_key` returns the first of equal ones.
    let best = specialists
        .iter()
        .filter(fits)
        .min_by_key(|specialist| Reverse((shared(specialist), specialist.named, room(specialist))));
    match best {
        None if auto.specialists_only => None,
        specialist => {
            Some(Choice { specialist, passed_over: specialist.is_none() && !specialists.is_empty() })
        }
    }
}

fn why(specialist: &SpecialistAgent, labels: &BTreeSet<String>) -> String {
    let shared = specialist.labels.iter().filter(|label| has(labels, label));
    let shared: Vec<String> = shared.map(|label| format!("`{label}`")).collect();
    let skills = match specialist.skills.is_empty() {
        true => String::new(),
        false => format!(", whose skills are {}", specialist.skills.join(", ")),
    };
    match shared.is_empty() {
        true => format!("`{}` takes any task{skills}", specialist.id),
        false => format!("{} is for `{}`{skills}", shared.join(" and "), specialist.id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(words: &[&str]) -> BTreeSet<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn specialist(id: &str, labels: &[&str], exclude: &[&str]) -> SpecialistAgent {
        SpecialistAgent {
            id: id.into(),
            labels: set(labels),
            exclude_labels: set(exclude),
            account: id.into(),
            ..SpecialistAgent::default()
        }
    }

    fn chosen(specialists: &[SpecialistAgent], labels: &[&str], only: bool) -> String {
        let auto = AutoAssign { specialists_only: only, account: "own".into(), ..AutoAssign::default() };
        let room = |specialist: &SpecialistAgent| Some(specialist.max_parallel.unwrap_or(u32::MAX));
        match choose(&auto, specialists, &set(labels), room) {
            Some(choice) => choice.id().unwrap_or("own").to_owned(),
            None => "nobody".into(),
        }
    }

    #[test]
    fn the_most_specific_filter_wins_then_room_then_order() {
        let front = specialist("front", &["frontend", "ui"], &["backend"]);
        let back = specialist("back", &["backend", "api"], &[]);
        let any = specialist("any", &[], &["secret"]);
        let both = [front.clone(), back.clone()];
        let table: &[(&[SpecialistAgent], &[&str], &str)] = &[
            (&both, &["frontend"], "front"),
            (&both, &["UI"], "front"),
            (&both, &["api"], "back"),
            // Excluded although it also matches.
            (&both, &["frontend", "backend"], "back"),
            // One label each: the first. Two labels of one: that one.
            (&both, &["ui", "api"], "front"),
            (&[back.clone(), front.clone()], &["ui", "api"], "back"),
            (&both, &["docs"], "own"),
            (&both, &[], "own"),
            (&[any.clone(), front.clone()], &["ui"], "front"),
            (&[any.clone(), front], &["docs"], "any"),
            (std::slice::from_ref(&any), &["secret"], "own"),
            // The same filters: the one with more room.
            (
                &[
                    SpecialistAgent { max_parallel: Some(1), ..back.clone() },
                    SpecialistAgent { id: "roomy".into(), max_parallel: Some(3), ..back },
                ],
                &["api"],
                "roomy",
            ),
            (
                &[
                    any.clone(),
                    SpecialistAgent { id: "named".into(), named: true, ..specialist("", &[], &[]) },
                ],
                &[],
                "named",
            ),
        ];
        for (specialists, labels, expected) in table {
            assert_eq!(chosen(specialists, labels, false), *expected, "{labels:?} among {specialists:?}");
        }
        assert_eq!(chosen(&both, &["docs"], true), "nobody");
    }

    #[test]
    fn a_choice_says_why() {
        let skilled = SpecialistAgent { skills: vec!["css".into()], ..specialist("front", &["ui"], &[]) };
        let specialists = [skilled];
        let auto = AutoAssign::default();
        let choice = choose(&auto, &specialists, &set(&["UI", "bug"]), |_| Some(1)).unwrap();
        assert_eq!(choice.why(&set(&["UI", "bug"])), "`ui` is for `front`, whose skills are css");
        let own = choose(&auto, &specialists, &set(&["docs"]), |_| Some(1)).unwrap();
        assert_eq!(
            own.why(&set(&["docs"])),
            "no specialist is for its labels, so the project's own agent does it"
        );
    }
}
