//! Several channels at once, of which some do not work.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ao_core::notice::{Level, Notice};
use ao_notifier::{Routed, Routing};
use ao_ports::{Notifier, NotifyError};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::server::{Answer, Server};
use crate::support::{channel, notice};

const LEVELS: [Level; 4] = [Level::Info, Level::Warning, Level::Action, Level::Urgent];

fn webhook(server: &Server) -> Arc<dyn Notifier> {
    let channel = channel("webhook", &[("url", &server.url("/hook"))]).unwrap();
    Arc::new(channel.with_timeout(Duration::from_secs(3)))
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
async fn the_others_are_told_at_once_and_only_once() {
    let servers = [
        Server::start(Answer::status(200)).await,
        Server::start(Answer::Hang).await,
        Server::start(Answer::status(200)).await,
    ];
    let channels: Vec<Arc<dyn Notifier>> = servers
        .iter()
        .map(|server| Arc::new(Routed::new(webhook(server), LEVELS)) as Arc<dyn Notifier>)
        .collect();
    let notice = notice(Level::Urgent, "may I?");

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
async fn a_channel_takes_the_levels_that_are_meant_for_it() {
    let server = Server::start(Answer::status(200)).await;
    let routed = Routed::new(webhook(&server), [Level::Urgent, Level::Action]);
    for (number, level) in LEVELS.into_iter().enumerate() {
        let notice = Notice { key: number.to_string(), ..notice(level, "a") };
        routed.notify(&notice).await.unwrap();
    }
    let levels: Vec<String> =
        server.posted().iter().map(|posted| posted.json()["level"].as_str().unwrap().to_owned()).collect();
    assert_eq!(levels, ["action", "urgent"]);
}

#[tokio::test]
async fn another_notice_with_the_same_words_is_told() {
    let server = Server::start(Answer::status(200)).await;
    let routed = Routed::new(webhook(&server), LEVELS);
    let first = notice(Level::Info, "done");
    routed.notify(&first).await.unwrap();
    routed.notify(&first).await.unwrap();
    routed.notify(&Notice { key: "another".into(), ..first }).await.unwrap();
    assert_eq!(server.posted().len(), 2);
}

#[tokio::test]
async fn a_routing_gives_each_channel_its_own_and_knows_strangers() {
    let server = Server::start(Answer::status(200)).await;
    let channels = || -> BTreeMap<String, Arc<dyn Notifier>> {
        ["ops", "team", "unused"].map(|name| (name.to_owned(), webhook(&server))).into()
    };
    let names = |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
    let routing = Routing {
        urgent: names(&["ops", "team"]),
        action: names(&["team"]),
        warning: names(&["team"]),
        info: vec![],
    };
    assert_eq!(routing.levels_of("ops"), [Level::Urgent].into());
    assert_eq!(routing.levels_of("unused"), [].into());
    let plugged = routing.plug_in(channels()).unwrap();
    assert_eq!(plugged.keys().collect::<Vec<_>>(), ["ops", "team"]);
    assert!(plugged.values().all(|channel| channel.abilities().dedupes));
    for (number, level) in LEVELS.into_iter().enumerate() {
        let notice = Notice { key: number.to_string(), ..notice(level, "a") };
        for channel in plugged.values() {
            channel.notify(&notice).await.unwrap();
        }
    }
    assert_eq!(server.posted().len(), 4, "one for ops, three for team");

    let wrong = Routing { info: names(&["pigeon"]), ..routing }.plug_in(channels()).err().unwrap();
    assert_eq!(
        wrong.to_string(),
        "`notificationRouting.info` names `pigeon`, which is no notifier; there is `ops`, `team`, `unused`"
    );
    assert_eq!(Routing::to_all(["ops"]).levels_of("ops"), LEVELS.into());
}
