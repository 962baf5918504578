//! The machine stays awake while agents work, and only then. On a bus of its own, with a stand-in for logind.
#![cfg(all(target_os = "linux", feature = "logind"))]

use std::io;
use std::sync::{Arc, Mutex};

use ao::power::{PowerBus, PowerKeeper, keep_awake};
use ao_core::session::StatusWord;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::fleet::{Fleet, Plan};
use crate::logind::{PrivateBus, StandIn};

/// The service, as the daemon runs it.
struct Service {
    working: watch::Sender<bool>,
    running: JoinSet<()>,
}

impl Service {
    fn start(bus: &PrivateBus) -> Service {
        let (working, watched) = watch::channel(false);
        let mut running = JoinSet::new();
        running.spawn(keep_awake(watched, PowerBus::At(bus.address())));
        Service { working, running }
    }
}

#[tokio::test]
async fn it_is_held_while_somebody_works_and_let_go_when_nobody_does() {
    let bus = PrivateBus::start().await;
    let logind = StandIn::serve(&bus).await;
    let service = Service::start(&bus);
    for round in 1..=3 {
        service.working.send_replace(true);
        logind.until_held(1).await;
        service.working.send_replace(true);
        service.working.send_replace(false);
        logind.until_held(0).await;
        assert_eq!(logind.asked().len(), round, "once each time");
    }
    assert_eq!(logind.asked()[0], ["sleep:idle", "ao", "agents are working", "block"]);
}

#[tokio::test]
async fn nothing_is_asked_while_nobody_works() {
    let bus = PrivateBus::start().await;
    let logind = StandIn::serve(&bus).await;
    let mut service = Service::start(&bus);
    service.working.send_replace(false);
    drop(service.working);
    service.running.join_next().await.expect("it runs").expect("it returns when nobody can work any more");
    assert_eq!(logind.asked().len(), 0);
}

#[tokio::test]
async fn it_is_let_go_when_the_daemon_goes() {
    let bus = PrivateBus::start().await;
    let logind = StandIn::serve(&bus).await;
    let mut service = Service::start(&bus);
    service.working.send_replace(true);
    logind.until_held(1).await;
    service.running.abort_all();
    logind.until_held(0).await;

    let mut service = Service::start(&bus);
    service.working.send_replace(true);
    logind.until_held(1).await;
    drop(service.working);
    service.running.join_next().await.expect("it runs").expect("it returns");
    logind.until_held(0).await;
}

#[tokio::test]
async fn holding_twice_is_holding_once_and_so_is_letting_go() {
    let bus = PrivateBus::start().await;
    let logind = StandIn::serve(&bus).await;
    let mut keeper = PowerKeeper::new(PowerBus::At(bus.address()));
    keeper.release();
    assert!(keeper.hold("a try").await && keeper.hold("a try").await);
    assert_eq!((logind.asked().len(), logind.held()), (1, 1));
    keeper.release();
    keeper.release();
    logind.until_held(0).await;
    assert!(keeper.hold("a try").await);
    drop(keeper);
    logind.until_held(0).await;
}

#[tokio::test]
async fn it_is_taken_again_when_the_bus_and_logind_come_back() {
    let mut bus = PrivateBus::start().await;
    let logind = StandIn::serve(&bus).await;
    let service = Service::start(&bus);
    service.working.send_replace(true);
    logind.until_held(1).await;
    bus.stop();
    drop(logind);
    bus.again().await;
    let logind = StandIn::serve(&bus).await;
    logind.until_held(1).await;
    service.working.send_replace(false);
    logind.until_held(0).await;
}

#[tokio::test]
async fn a_restarted_bus_alone_does_not_matter() {
    let mut bus = PrivateBus::start().await;
    let logind = StandIn::serve(&bus).await;
    let service = Service::start(&bus);
    service.working.send_replace(true);
    logind.until_held(1).await;
    bus.stop();
    assert_eq!(logind.held(), 1, "logind keeps it while the file is open");
    service.working.send_replace(false);
    logind.until_held(0).await;
}

#[tokio::test]
async fn who_may_not_forbid_sleep_still_keeps_the_machine_from_idling_to_it() {
    let bus = PrivateBus::start().await;
    let logind = StandIn::serve(&bus).await;
    logind.refuse("sleep:idle");
    let mut keeper = PowerKeeper::new(PowerBus::At(bus.address()));
    assert!(keeper.hold("a try").await);
    let asked: Vec<String> = logind.asked().iter().map(|asked| asked[0].clone()).collect();
    assert_eq!(asked, ["sleep:idle", "idle"]);
}

#[tokio::test]
async fn no_bus_and_no_logind_are_one_warning_and_no_failure() {
    let told = Told::default();
    let writer = told.clone();
    let subscriber =
        tracing_subscriber::fmt().with_env_filter("ao=warn").with_writer(move || writer.clone()).finish();
    let _told_here = tracing::subscriber::set_default(subscriber);

    let mut bus = PrivateBus::start().await;
    bus.stop();
    let mut keeper = PowerKeeper::new(PowerBus::At(bus.address()));
    for _ in 0..3 {
        assert!(!keeper.hold("a try").await);
    }
    bus.again().await;
    assert!(!keeper.hold("a try").await, "there is a bus now, but nobody on it");
    assert_eq!(told.lines(), 1, "{told:?}");

    let _logind = StandIn::serve(&bus).await;
    assert!(keeper.hold("a try").await);
    assert_eq!(told.lines(), 1, "{told:?}");
}

/// What was told to people.
#[derive(Debug, Clone, Default)]
struct Told(Arc<Mutex<Vec<u8>>>);

impl Told {
    fn lines(&self) -> usize {
        String::from_utf8_lossy(&self.0.lock().unwrap()).lines().count()
    }
}

impl io::Write for Told {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_daemon_holds_it_for_as_long_as_a_session_works() {
    let bus = PrivateBus::start().await;
    let logind = StandIn::serve(&bus).await;
    let fleet = Fleet::start(Plan { awake_by: Some(bus.address()), ..Plan::on("process") }).await;
    let session = fleet.spawn("fix", "[[work 2s]]").await;
    logind.until_held(1).await;
    fleet.until_idle(session, 1).await;
    logind.until_held(0).await;
    // Who waits for a person does not work.
    fleet.send(session, "[[ask May I?]]").await;
    fleet.until_status(session, StatusWord::NeedsInput).await;
    logind.until_held(0).await;
    fleet.finish().await;
}
