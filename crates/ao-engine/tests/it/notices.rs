//! Notices: a channel that hangs moves nothing else, and what waits is neither lost nor told twice.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ao_core::incident::Subject;
use ao_core::notice::{Notice, NoticeEvent, NoticeHold, NoticeLevel};
use ao_core::{Event, Input, Timestamp};
use ao_engine::Options;
use ao_ports::{Notifier, NotifyError};
use async_trait::async_trait;
use camino::Utf8Path;

use crate::house::{House, World, temp};

/// A channel that writes down what it is told, if it ever answers.
#[derive(Default)]
struct Channel {
    told: Mutex<Vec<(String, Instant)>>,
    hangs: bool,
    /// Until when everything that was not gathered waits.
    holds: Option<(Timestamp, NoticeHold)>,
}

#[async_trait]
impl Notifier for Channel {
    async fn notify(&self, notice: &Notice) -> Result<(), NotifyError> {
        if self.hangs {
            pending::<()>().await;
        }
        let until = self.holds.filter(|(until, _)| notice.gathered == 0 && *until > now());
        if let Some((until, hold)) = until {
            return Err(NotifyError::Held { until, hold });
        }
        self.told.lock().unwrap().push((notice.text.clone(), Instant::now()));
        Ok(())
    }
}

impl Channel {
    fn texts(&self) -> Vec<String> {
        self.told.lock().unwrap().iter().map(|(text, _)| text.clone()).collect()
    }
}

fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Timestamp(since.as_millis() as i64)
}

/// A daemon that has these channels from its first turn on.
async fn open(dir: &Utf8Path, world: &Arc<World>, channels: &[(&str, &Arc<Channel>)]) -> House {
    let plug = |(name, channel): &(&str, &Arc<Channel>)| {
        ((*name).to_owned(), Arc::clone(channel) as Arc<dyn Notifier>)
    };
    let channels: BTreeMap<_, _> = channels.iter().map(plug).collect();
    House::open_plugged(dir, world, ao_store::Options::default(), Options::default(), channels).await
}

async fn tell(house: &House, key: &str) {
    let input = Input::notify(NoticeLevel::Info, Subject::Host, key, format!("news {key}"));
    house.handle.ask(input).await.unwrap();
}

async fn until(what: &str, mut is: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !is() {
        assert!(Instant::now() < end, "{what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// With a hundred notices hanging on one channel, the same notices on the other, later notices and agents' work take as long
/// as without it.
///
/// acceptance: N1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hung_channel_delays_nothing_else() {
    let (_keep, dir) = temp();
    let world = Arc::new(World::default());
    let (good, hung) =
        (Arc::new(Channel::default()), Arc::new(Channel { hangs: true, ..Channel::default() }));
    let house = open(&dir, &world, &[("good", &good), ("hung", &hung)]).await;
    house.with_project().await;
    for n in 0..100 {
        tell(&house, &format!("{n}")).await;
    }
    until("the other channel has them all", || good.texts().len() == 100).await;
    // Everything hangs now that can. The next one, and an agent's launch, are under way well before the first of the
    // hundred gives up, which is after ten seconds.
    let began = Instant::now();
    tell(&house, "next").await;
    until("the next notice is told", || good.texts().len() == 101).await;
    house.spawn("1").await.unwrap();
    house.until_event(|event| format!("{event:?}").contains("Launched")).await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let delayed = house.handle.view(|state| {
        state
            .notices
            .values()
            .filter(|notice| notice.ways.iter().flatten().any(|(name, _)| name == "good"))
            .count()
    });
    assert_eq!(delayed.await.unwrap(), 0, "nothing is left to do on the channel that works");
    house.stop().await.unwrap();
}

#[tokio::test]
async fn what_was_held_is_told_once_and_together_after_a_restart() {
    let (_keep, dir) = temp();
    let world = Arc::new(World::default());
    let opens = now() + Duration::from_secs(2);
    let holds = |hold| Arc::new(Channel { holds: Some((opens, hold)), ..Channel::default() });
    let (loud, quiet, digest) =
        (Arc::new(Channel::default()), holds(NoticeHold::Quiet), holds(NoticeHold::Digest));
    let all = [("loud", &loud), ("quiet", &quiet), ("digest", &digest)];

    let house = open(&dir, &world, &all).await;
    for n in 0..4 {
        tell(&house, &format!("{n}")).await;
    }
    let held = |event: &Event| matches!(event, Event::Notice(_, NoticeEvent::Held { .. }));
    let mut seen = 0;
    house
        .until_event(|event| {
            seen += u32::from(held(event));
            seen == 8
        })
        .await;
    until("the loud one has them", || loud.texts().len() == 4).await;
    house.stop().await.unwrap();
    assert!(quiet.texts().is_empty() && digest.texts().is_empty());

    let house = open(&dir, &world, &all).await;
    let text = "4 notices:\n· info: news 0\n· info: news 1\n· info: news 2\n· info: news 3";
    until("those who waited have one each", || !quiet.texts().is_empty() && !digest.texts().is_empty()).await;
    house.stop().await.unwrap();

    // Nothing comes again.
    let house = open(&dir, &world, &all).await;
    let open = house.handle.view(|state| state.notices.len()).await.unwrap();
    house.stop().await.unwrap();
    assert_eq!((open, quiet.texts(), digest.texts()), (0, vec![text.to_owned()], vec![text.to_owned()]));
    assert_eq!(loud.texts().len(), 4);
}
