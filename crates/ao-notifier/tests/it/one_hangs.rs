//! Several channels at once, of which some do not work.

use std::sync::Arc;
use std::time::Duration;

use ao_core::ProjectId;
use ao_core::notice::{Notice, NoticeContext, NoticeHold, NoticeLevel};
use ao_notifier::pace::QuietHours;
use ao_notifier::{Audience, Pace, Routed};
use ao_ports::{Notifier, NotifyError};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::server::{Answer, Server};
use crate::support::{channel, notice};

const LEVELS: [NoticeLevel; 4] =
    [NoticeLevel::Info, NoticeLevel::Warning, NoticeLevel::Action, NoticeLevel::Urgent];

fn webhook(server: &Server) -> Arc<dyn Notifier> {
    let channel = channel("webhook", &[("url", &server.url("/hook"))]).unwrap();
    Arc::new(channel.with_timeout(Duration::from_secs(3)))
}

fn routed(server: &Server) -> Routed {
    Routed::new(webhook(server), Audience::of(LEVELS), Pace::default())
}

/// One try, on all of them at once.
async fn try_all(channels: &[Arc<dyn Notifier>], notice: &Notice) -> Vec<Result<(), NotifyError>> {
    let mut tries = JoinSet::new();
    for (place, channel) in channels.iter().cloned().enumerate() {
        let notice = notice.clone();
        tries.spawn(async move { (place, channel.notify(&notice).await) });
    }
    let mut told = tries.join_all().await;
    told.sort_by_key(|(place, _)| *place);
    told.into_iter().map(|(_, told)| told).collect()
}

/// acceptance: N1
#[tokio::test]
async fn the_other_channels_send_at_once_and_only_once() {
    let servers = [
        Server::start(Answer::status(200)).await,
        Server::start(Answer::Hang).await,
        Server::start(Answer::status(200)).await,
    ];
    let channels: Vec<Arc<dyn Notifier>> =
        servers.iter().map(|server| Arc::new(routed(server)) as Arc<dyn Notifier>).collect();
    let notice = notice(NoticeLevel::Urgent, "may I?");

    let at_once = async {
        servers[0].something_came().await;
        servers[2].something_came().await;
    };
    let (told, came) = tokio::join!(try_all(&channels, &notice), timeout(Duration::from_secs(2), at_once));
    came.expect("the others do not wait for the one that hangs");
    assert!(told[0].is_ok() && told[1].is_err() && told[2].is_ok(), "{told:?}");

    servers[1].answer(Answer::status(200));
    let told = try_all(&channels, &Notice { tries: 1, ..notice }).await;
    assert!(told.iter().all(Result::is_ok), "{told:?}");
    assert_eq!(servers.each_ref().map(|server| server.posted().len()), [1, 2, 1]);
}

#[tokio::test]
async fn a_channel_takes_what_is_meant_for_it() {
    let server = Server::start(Answer::status(200)).await;
    let projects = [(ProjectId::new("mine"), true), (ProjectId::new("theirs"), false)].into();
    let audience = Audience { levels: [NoticeLevel::Urgent, NoticeLevel::Action].into(), projects };
    let routed = Routed::new(webhook(&server), audience, Pace::default());
    let takes = |level, project: Option<&str>| {
        let about = NoticeContext { project: project.map(ProjectId::new), ..NoticeContext::default() };
        routed.takes(&Notice { about, ..notice(level, "a") })
    };
    assert_eq!(LEVELS.map(|level| takes(level, None)), [false, false, true, true]);
    assert_eq!(LEVELS.map(|level| takes(level, Some("other"))), [false, false, true, true]);
    // A project that names its channels gets its notices there, and on no others.
    assert_eq!(LEVELS.map(|level| takes(level, Some("mine"))), [true; 4]);
    assert_eq!(LEVELS.map(|level| takes(level, Some("theirs"))), [false; 4]);
}

#[tokio::test]
async fn in_quiet_hours_only_exceptions_are_sent() {
    let server = Server::start(Answer::status(200)).await;
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    let hour = |by: i64| now.checked_add(jiff::SignedDuration::from_hours(by)).unwrap().time();
    let quiet = QuietHours {
        from: hour(-1),
        to: hour(2),
        days: (0..7).collect(),
        zone: jiff::tz::TimeZone::UTC,
        except: [NoticeLevel::Urgent].into(),
    };
    let pace = Pace { quiet: Some(quiet), digest: None };
    let routed = Routed::new(webhook(&server), Audience::of(LEVELS), pace);
    let held = routed.notify(&notice(NoticeLevel::Action, "may wait")).await;
    let Err(NotifyError::Held { until, hold: NoticeHold::Quiet }) = held else { panic!("{held:?}") };
    let left = until.0 - now.timestamp().as_millisecond();
    assert!((7_000_000..=7_200_000).contains(&left), "{left}");
    routed.notify(&Notice { key: "now".into(), ..notice(NoticeLevel::Urgent, "cannot") }).await.unwrap();
    assert_eq!(server.only().json()["text"], "cannot");
}

#[tokio::test]
async fn another_notice_with_the_same_text_is_sent() {
    let server = Server::start(Answer::status(200)).await;
    let routed = routed(&server);
    let first = notice(NoticeLevel::Info, "done");
    routed.notify(&first).await.unwrap();
    routed.notify(&first).await.unwrap();
    routed.notify(&Notice { key: "another".into(), ..first }).await.unwrap();
    assert_eq!(server.posted().len(), 2);
}
