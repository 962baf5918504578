//! The contract of [`ao_ports::Notifier`].

use std::sync::Arc;

use ao_core::incident::Subject;
use ao_core::notice::{Notice, NoticeLevel};
use ao_core::{NoticeId, SessionId};
use ao_ports::{Notifier, NotifyError};
use async_trait::async_trait;

/// A notifier, and the service that it sends to.
#[async_trait]
pub trait NotifierBench: Send + Sync {
    fn notifier(&self) -> Arc<dyn Notifier>;

    /// Returns the number of notices that the service has accepted.
    async fn accepted(&self) -> usize;

    /// Makes the service work, or fail.
    async fn set_working(&mut self, works: bool);

    /// Returns the parts of the target that no error may show.
    fn secrets(&self) -> Vec<String> {
        vec![]
    }
}

/// Expands to one test for each story, each on a bench of its own.
#[macro_export]
macro_rules! notifier_contract {
    ($bench:expr) => {
        $crate::notifier_contract!($bench; [
            a_notice_has_arrived_once_the_call_returns,
            a_repeated_notice_arrives_at_least_once,
            a_failure_is_an_error_and_the_next_try_works,
            any_text_of_any_level_is_sent,
            notices_at_once_all_arrive,
        ]);
    };
    ($bench:expr; [$($story:ident),* $(,)?]) => {
        $(
            #[tokio::test]
            async fn $story() {
                let mut bench = $bench;
                $crate::contract::notifier::$story(&mut bench).await;
            }
        )*
    };
}

/// Success means that the service has it.
pub async fn a_notice_has_arrived_once_the_call_returns(bench: &mut dyn NotifierBench) {
    let notice = notice(1, NoticeLevel::Action, "the agent asks: go on?");
    assert!(bench.notifier().takes(&notice));
    bench.notifier().notify(&notice).await.unwrap();
    assert_eq!(bench.accepted().await, 1);
}

/// A notice that is sent again after a crash arrives twice rather than never.
pub async fn a_repeated_notice_arrives_at_least_once(bench: &mut dyn NotifierBench) {
    let first = notice(1, NoticeLevel::Info, "done");
    for _ in 0..2 {
        bench.notifier().notify(&first).await.unwrap();
    }
    assert!((1..=2).contains(&bench.accepted().await));
    let before = bench.accepted().await;
    bench.notifier().notify(&notice(2, NoticeLevel::Info, "done")).await.unwrap();
    assert_eq!(bench.accepted().await, before + 1, "another notice with the same text is another one");
}

/// A failure is reported without the secrets of the target, and is no reason to drop the notice.
pub async fn a_failure_is_an_error_and_the_next_try_works(bench: &mut dyn NotifierBench) {
    let notice = notice(1, NoticeLevel::Urgent, "it broke");
    bench.set_working(false).await;
    let err = bench.notifier().notify(&notice).await.unwrap_err();
    assert!(matches!(err, NotifyError::Failed(_)), "{err:?}");
    let text = format!("{err} {err:?}");
    assert!(!err.to_string().is_empty());
    for secret in bench.secrets() {
        assert!(!text.contains(&secret), "{text}");
    }
    assert_eq!(bench.accepted().await, 0);
    bench.set_working(true).await;
    bench.notifier().notify(&notice).await.unwrap();
    assert_eq!(bench.accepted().await, 1);
}

/// A notice is data: no text and no level is refused.
pub async fn any_text_of_any_level_is_sent(bench: &mut dyn NotifierBench) {
    let levels = [NoticeLevel::Info, NoticeLevel::Warning, NoticeLevel::Action, NoticeLevel::Urgent];
    let long = "x".repeat(100_000);
    let texts = ["", " \n", "<!channel> @everyone *b* `c` [a](https://e.example)\u{202e}\u{0}\u{7}", &long];
    let mut sent = 0;
    for level in levels {
        for text in texts {
            sent += 1;
            bench.notifier().notify(&notice(sent, level, text)).await.unwrap();
        }
    }
    assert_eq!(bench.accepted().await as u64, sent);
}

/// Notices do not disturb each other.
pub async fn notices_at_once_all_arrive(bench: &mut dyn NotifierBench) {
    let mut sending = tokio::task::JoinSet::new();
    for number in 1..=8 {
        let notifier = bench.notifier();
        sending.spawn(async move { notifier.notify(&notice(number, NoticeLevel::Info, "done")).await });
    }
    while let Some(sent) = sending.join_next().await {
        sent.unwrap().unwrap();
    }
    assert_eq!(bench.accepted().await, 8);
}

fn notice(number: u64, level: NoticeLevel, text: &str) -> Notice {
    Notice::new(
        NoticeId(number),
        level,
        Subject::Session(SessionId(0x4f)),
        &format!("ses_4f delivery {number}"),
        text,
    )
}
