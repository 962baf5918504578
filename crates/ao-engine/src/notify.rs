//! Telling people, on all channels at once.

use std::time::Duration;

use ao_core::notice::{Notice, NoticeInput};
use ao_ports::NotifyError;
use futures::future::join_all;

use crate::slots::Slots;

/// How long one notifier may take.
const NOTIFIER_TIMEOUT: Duration = Duration::from_secs(10);

/// Tells everybody, each in their own time, so that one that hangs costs the others nothing.
pub(crate) async fn notify(notice: &Notice, slots: &Slots) -> NoticeInput {
    let told = join_all(slots.notifiers.iter().map(|(name, notifier)| async move {
        let told = tokio::time::timeout(NOTIFIER_TIMEOUT, notifier.notify(notice)).await;
        let told = told.unwrap_or_else(|_| Err(NotifyError::Failed("it did not answer in time".into())));
        (name, notifier.abilities(), told)
    }))
    .await;
    let (mut failures, mut wait) = (vec![], None);
    // Nobody is to be told twice. So there is another try if those who have it would drop it, or if nobody has it.
    let mut again = true;
    for (name, abilities, told) in told {
        match told {
            Ok(()) => again &= abilities.dedupes,
            Err(err) => {
                failures.push(format!("`{name}`: {err}"));
                if let NotifyError::Later(asked) = err {
                    wait = wait.max(Some(asked));
                }
            }
        }
    }
    let (tries, why) = (notice.tries, failures.join("; "));
    if failures.is_empty() {
        return NoticeInput::Sent { tries };
    }
    tracing::warn!(notice = %notice.id, why, "notice not told everywhere");
    if again { NoticeInput::Failed { tries, why, wait } } else { NoticeInput::Sent { tries } }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::{Arc, Mutex};

    use ao_core::NoticeId;
    use ao_core::incident::Subject;
    use ao_core::notice::Level;
    use ao_ports::{Notifier, NotifierAbilities};
    use async_trait::async_trait;
    use tokio::time::Instant;

    use super::*;

    /// What a channel does, try by try, and when it has taken the notice.
    struct Channel {
        dedupes: bool,
        answers: Mutex<Vec<Answer>>,
        taken: Mutex<Vec<Instant>>,
    }

    #[derive(Clone)]
    enum Answer {
        Take,
        Hang,
        Fail,
        Later(u64),
    }

    #[async_trait]
    impl Notifier for Channel {
        fn abilities(&self) -> NotifierAbilities {
            NotifierAbilities { buttons: false, dedupes: self.dedupes }
        }

        async fn notify(&self, _: &Notice) -> Result<(), NotifyError> {
            if self.dedupes && self.times() > 0 {
                return Ok(());
            }
            let answer = self.answers.lock().unwrap().remove(0);
            match answer {
                Answer::Take => self.taken.lock().unwrap().push(Instant::now()),
                Answer::Hang => pending().await,
                Answer::Fail => return Err(NotifyError::Failed("it is down".into())),
                Answer::Later(seconds) => return Err(NotifyError::Later(Duration::from_secs(seconds))),
            }
            Ok(())
        }
    }

    impl Channel {
        fn new(dedupes: bool, answers: &[Answer]) -> Arc<Channel> {
            Arc::new(Channel { dedupes, answers: Mutex::new(answers.to_vec()), taken: Mutex::default() })
        }

        fn times(&self) -> usize {
            self.taken.lock().unwrap().len()
        }
    }

    async fn try_all(tries: u32, channels: &[(&str, &Arc<Channel>)]) -> NoticeInput {
        let notice = Notice {
            channel: None,
            id: NoticeId(1),
            level: Level::Urgent,
            subject: Subject::Host,
            text: "may I?".into(),
            key: "1".into(),
            tries,
            again_at: None,
        };
        let plug = |(name, channel): &(&str, &Arc<Channel>)| {
            ((*name).to_owned(), Arc::clone(channel) as Arc<dyn Notifier>)
        };
        let slots = Slots { notifiers: channels.iter().map(plug).collect(), ..Slots::default() };
        notify(&notice, &slots).await
    }

    fn failed(tries: u32, why: &str, wait: Option<u64>) -> NoticeInput {
        NoticeInput::Failed { tries, why: why.into(), wait: wait.map(Duration::from_secs) }
    }

    /// acceptance: N1
    #[tokio::test(start_paused = true)]
    async fn one_that_hangs_is_tried_again_and_the_others_have_it_at_once_and_once() {
        let good = [Channel::new(true, &[Answer::Take]), Channel::new(true, &[Answer::Take])];
        let hangs = Channel::new(true, &[Answer::Hang, Answer::Take]);
        let channels = [("desktop", &good[0]), ("slack", &hangs), ("team", &good[1])];
        let began = Instant::now();
        let told = try_all(0, &channels).await;
        assert_eq!(told, failed(0, "`slack`: it did not answer in time", None));
        assert!(good.iter().all(|good| good.taken.lock().unwrap()[..] == [began]));

        assert_eq!(try_all(1, &channels).await, NoticeInput::Sent { tries: 1 });
        assert_eq!((good[0].times(), hangs.times(), good[1].times()), (1, 1, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn who_cannot_tell_a_second_one_is_not_told_twice_for_the_sake_of_another() {
        let (plain, broken) = (Channel::new(false, &[Answer::Take]), Channel::new(true, &[Answer::Fail]));
        assert_eq!(try_all(0, &[("a", &plain), ("b", &broken)]).await, NoticeInput::Sent { tries: 0 });
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_has_is_tried_again_when_the_last_of_them_wants_it() {
        let [a, b, c] =
            [Answer::Later(7), Answer::Fail, Answer::Later(30)].map(|answer| Channel::new(false, &[answer]));
        assert_eq!(
            try_all(2, &[("a", &a), ("b", &b), ("c", &c)]).await,
            failed(
                2,
                "`a`: the channel asks to wait 7 s; `b`: it is down; `c`: the channel asks to wait 30 s",
                Some(30)
            )
        );
    }

    #[tokio::test]
    async fn with_nobody_to_tell_it_is_told() {
        assert_eq!(try_all(0, &[]).await, NoticeInput::Sent { tries: 0 });
    }
}
