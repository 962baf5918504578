//! Decides what an input means for a pull request: mostly, how a new look differs from the known facts.

use super::diff::{first_sight, news};
use super::{AuthorStanding, Pull, PullEvent, PullInput, PullRefusal, PullState};

/// Decides the events of an input. Pure: no clock, no disk, no randomness.
///
/// A look without news leaves no trace, so an older look that arrives after it is believed until the next look
/// corrects it. Callers therefore take one look at a time for each pull request.
pub(crate) fn decide(known: Option<&Pull>, input: &PullInput) -> Result<Vec<PullEvent>, PullRefusal> {
    match (known, input) {
        (None, PullInput::Seen(seen)) => Ok(first_sight(&seen.tidied())),
        // Merging is final. A forge replica that lags behind cannot undo it.
        (Some(pull), PullInput::Seen(_)) if matches!(pull.facts.state, PullState::Merged { .. }) => {
            Ok(vec![])
        }
        // This answer was overtaken by a newer one.
        (Some(pull), PullInput::Seen(seen)) if seen.observed_at < pull.facts.observed_at => Ok(vec![]),
        (Some(pull), PullInput::Seen(seen)) => Ok(news(&pull.facts, &seen.tidied())),

        (None, PullInput::Claim { .. } | PullInput::Release { .. } | PullInput::Scanned(_)) => {
            Err(PullRefusal::Unknown)
        }
        (Some(pull), PullInput::Claim { session }) => match pull.owner {
            Some(owner) if owner == *session => Ok(vec![]),
            Some(by) => Err(PullRefusal::Owned { by }),
            // A stranger's branch may have the name of one of ours.
            None if pull.facts.author.standing == AuthorStanding::Outsider => {
                Err(PullRefusal::Stranger { login: pull.facts.author.login.clone() })
            }
            None => Ok(vec![PullEvent::Claimed { session: *session }]),
        },
        // Findings in another head do not apply to this one.
        (Some(pull), PullInput::Scanned(scan)) if scan.head != pull.facts.head || !pull.is_open() => {
            Ok(vec![])
        }
        (Some(pull), PullInput::Scanned(scan)) => {
            let scan = scan.bounded();
            let news = pull.scan.as_ref() != Some(&scan);
            Ok(news.then(|| PullEvent::Scanned { scan: Box::new(scan) }).into_iter().collect())
        }
        (Some(pull), PullInput::Release { session }) => match pull.owner {
            Some(owner) if owner == *session => Ok(vec![PullEvent::Released { session: *session }]),
            Some(by) => Err(PullRefusal::Owned { by }),
            None => Ok(vec![]),
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pull::PullFacts;
    use crate::pull::fixture::*;
    use crate::{Commit, SessionId, Timestamp};

    #[test]
    fn a_look_that_was_overtaken_changes_nothing() {
        let newer = PullFacts { title: "new".into(), ..facts(5) };
        assert_eq!(last_news(&[newer, facts(4)]), "");
    }

    #[test]
    fn merging_is_final() {
        let merged = PullFacts { state: PullState::Merged { commit: Commit::new("m1") }, ..facts(1) };
        assert_eq!(last_news(&[merged.clone(), facts(2)]), "");
        assert_eq!(last_news(&[merged]), "opened merged");
    }

    #[test]
    fn one_session_at_a_time_answers_for_a_pull_request() {
        let (one, other) = (SessionId(1), SessionId(2));
        let mut known = None;
        let mut step = |input: PullInput| match apply(&mut known, &input) {
            Ok(events) => format!("{events:?}"),
            Err(refusal) => refusal.to_string(),
        };
        assert!(step(PullInput::Claim { session: one }).starts_with("no such pull request"));
        step(PullInput::Seen(Box::new(facts(1))));
        assert_eq!(step(PullInput::Claim { session: one }), "[Claimed { session: SessionId(1) }]");
        assert_eq!(step(PullInput::Claim { session: one }), "[]");
        let refused = "the pull request belongs to `ses_1`; release it there first";
        assert_eq!(step(PullInput::Claim { session: other }), refused);
        assert_eq!(step(PullInput::Release { session: other }), refused);
        assert_eq!(step(PullInput::Release { session: one }), "[Released { session: SessionId(1) }]");
        assert_eq!(step(PullInput::Release { session: one }), "[]");
        assert_eq!(step(PullInput::Claim { session: other }), "[Claimed { session: SessionId(2) }]");
    }

    /// The core side of: a stranger's branch of the same name is not linked. acceptance: F8
    #[test]
    fn a_strangers_pull_request_cannot_be_claimed() {
        let known = pull(PullFacts { author: outsider(), ..facts(1) });
        let refused = decide(Some(&known), &PullInput::Claim { session: SessionId(1) });
        assert_eq!(refused, Err(PullRefusal::Stranger { login: outsider().login }));
    }

    proptest! {
        #[test]
        fn the_same_look_twice_is_news_once(looks in looks()) {
            let mut known = None;
            for look in looks {
                let input = PullInput::Seen(Box::new(look));
                apply(&mut known, &input).unwrap();
                prop_assert_eq!(apply(&mut known, &input).unwrap(), vec![]);
            }
        }

        #[test]
        fn telling_the_news_gives_what_was_seen(looks in looks()) {
            let mut known = None;
            for look in looks {
                apply(&mut known, &PullInput::Seen(Box::new(look.clone()))).unwrap();
                let pull: &Pull = known.as_ref().unwrap();
                prop_assert_eq!(&PullFacts { observed_at: look.observed_at, ..pull.facts.clone() }, &look.tidied());
            }
        }

        #[test]
        fn in_whatever_order_looks_arrive_the_newest_stands((mut newest, others) in shuffled_looks()) {
            // A look without news leaves no trace, so the newest one brings some.
            newest.title = "newest".into();
            let mut known = None;
            for look in &others {
                let look = if look.observed_at == newest.observed_at { &newest } else { look };
                apply(&mut known, &PullInput::Seen(Box::new(look.clone()))).unwrap();
            }
            prop_assert_eq!(known.unwrap().facts, newest.tidied());
        }

        #[test]
        fn one_more_look_sets_every_disorder_right((newest, others) in shuffled_looks()) {
            let mut known = None;
            for look in others {
                apply(&mut known, &PullInput::Seen(Box::new(look))).unwrap();
            }
            let again = PullFacts { observed_at: Timestamp(1_000), ..newest };
            apply(&mut known, &PullInput::Seen(Box::new(again.clone()))).unwrap();
            let kept = PullFacts { observed_at: again.observed_at, ..known.unwrap().facts };
            prop_assert_eq!(kept, again.tidied());
        }

        #[test]
        fn events_read_back_as_they_were_written(looks in looks()) {
            let mut known = None;
            for look in looks {
                for event in apply(&mut known, &PullInput::Seen(Box::new(look))).unwrap() {
                    let json = serde_json::to_string(&event).unwrap();
                    prop_assert_eq!(serde_json::from_str::<PullEvent>(&json).unwrap(), event);
                }
            }
        }
    }
}
