//! The API on real sockets: taken up, shared, left.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use ao_api::client::{Client, ClientError};
use ao_api::{Daemon, Sessions};
use ao_server::{Bind, Listener, Options, ServerError, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixListener};

use crate::support::{House, exists, until};

/// acceptance: X6
#[tokio::test]
async fn the_socket_and_the_port_serve_the_daemons_own_user_without_a_token() {
    let house = House::new().await;
    let running = house.serve().await;
    house.spawn("one").await;
    let listed: Sessions = house.client().get("/api/sessions").await.unwrap();
    assert_eq!(listed.sessions.len(), 1);
    // A plain program of ours on this machine, as `curl` is one.
    let address = running.addr().unwrap().to_string();
    let about: Daemon = Client::tcp(&address).get("/api/daemon").await.unwrap();
    assert_eq!(about.live_sessions, 1);
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&house.socket()), 0o600);
    assert_eq!(mode(house.socket().parent().unwrap()), 0o700);
    // A wrong token is not made up for by the right connection.
    let wrong = house.client().with_token(Some("ao_00".into())).get::<Sessions>("/api/sessions").await;
    assert!(matches!(wrong, Err(ClientError::Refused(problem)) if problem.word() == "unauthorized"));
    house.end().await;
    running.finished().await;
}

#[tokio::test]
async fn a_socket_that_somebody_answers_at_is_left_alone_and_a_stale_one_is_replaced() {
    let house = House::new().await;
    fs::create_dir_all(house.socket().parent().unwrap()).unwrap();
    // Bound and left behind, as by a daemon that was killed.
    drop(UnixListener::bind(house.socket()).unwrap());
    assert!(exists(&house.socket()));
    let running = house.serve().await;
    house.client().get::<Sessions>("/api/sessions").await.unwrap();

    let second = Options { parts: house.parts(), socket: Some(house.socket()), tcp: None };
    let refused = serve(second, house.stop.clone()).await.unwrap_err();
    assert!(matches!(refused, ServerError::SocketInUse { .. }), "{refused}");
    house.client().get::<Sessions>("/api/sessions").await.unwrap();

    let file = house.folder.path().join("a-file");
    fs::write(&file, "mine").unwrap();
    let onto = Options { parts: house.parts(), socket: Some(file.clone()), tcp: None };
    assert!(matches!(serve(onto, house.stop.clone()).await, Err(ServerError::NotASocket { .. })));
    assert_eq!(fs::read_to_string(file).unwrap(), "mine");

    let socket = house.socket();
    let run = socket.parent().unwrap().to_owned();
    house.stop.cancel();
    running.finished().await;
    assert!(!exists(&socket), "a daemon that ends takes its socket with it");
    assert_eq!(fs::read_dir(run).unwrap().count(), 0);
    house.end().await;
}

/// acceptance: X6
#[tokio::test]
async fn other_machines_are_let_in_only_if_somebody_said_so() {
    let house = House::new().await;
    for addr in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let bind = Bind { addr: addr.parse().unwrap(), allow_remote: false };
        let refused = Listener::bind(bind, Duration::ZERO).await.unwrap_err();
        assert!(matches!(refused, ServerError::Remote { .. }), "{refused}");
    }
    let bind = Bind { addr: "0.0.0.0:0".parse().unwrap(), allow_remote: true };
    let tcp = Listener::bind(bind, Duration::ZERO).await.unwrap();
    let options = Options { parts: house.parts(), socket: None, tcp: Some(tcp) };
    let running = serve(options, house.stop.clone()).await.unwrap();
    let address = format!("127.0.0.1:{}", running.addr().unwrap().port());
    let wrong = Client::tcp(&address).with_token(Some("wrong".into())).get::<Daemon>("/api/daemon").await;
    assert!(matches!(wrong, Err(ClientError::Refused(_))));
    let token = Some(house.auth.token());
    Client::tcp(&address).with_token(token).get::<Daemon>("/api/daemon").await.unwrap();
    house.end().await;
    running.finished().await;
}

#[tokio::test]
async fn a_port_in_use_is_said_to_be_in_use_and_is_taken_once_it_is_free() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let bind = Bind { addr: taken.local_addr().unwrap(), allow_remote: false };
    let refused = Listener::bind(bind, Duration::ZERO).await.unwrap_err();
    assert!(refused.to_string().contains("in use by another program; stop that"), "{refused}");
    let waits = tokio::spawn(Listener::bind(bind, Duration::from_secs(60)));
    drop(taken);
    assert_eq!(waits.await.unwrap().unwrap().addr(), bind.addr);
}

/// A daemon whose socket somebody deletes, or puts something else in the place of, is reached by it again.
#[tokio::test]
async fn a_socket_that_was_deleted_is_made_again() {
    let house = House::new().await;
    let running = house.serve().await;
    let answers = || async { house.client().get::<Daemon>("/api/daemon").await.is_ok() };
    fs::remove_file(house.socket()).unwrap();
    assert!(!answers().await);
    until("the socket is made again", async || answers().await).await;
    house.stop.cancel();
    running.finished().await;
    assert!(!exists(&house.socket()), "the new one is taken along at the end");
    house.end().await;
}

#[tokio::test]
async fn streams_end_with_the_daemon_and_nobody_is_waited_for_long() {
    let mut house = House::new().await;
    house.limits.drain = Duration::from_millis(500);
    let running = house.serve().await;
    let mut events = house.client().events(None, None).await.unwrap();
    // Somebody who connects and says nothing, and somebody who is in the middle of a request.
    let _silent = TcpStream::connect(running.addr().unwrap()).await.unwrap();
    let mut slow = TcpStream::connect(running.addr().unwrap()).await.unwrap();
    let host = running.addr().unwrap();
    let head = format!("POST /api/sessions HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n");
    slow.write_all(format!("{head}content-length: 10\r\nexpect: 100-continue\r\n\r\n").as_bytes())
        .await
        .unwrap();
    // The daemon is in the middle of reading it.
    let mut heard = [0; 12];
    slow.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"HTTP/1.1 100");
    let began = std::time::Instant::now();
    house.stop.cancel();
    assert!(events.next().await.unwrap().is_none());
    running.finished().await;
    assert!(began.elapsed() >= Duration::from_millis(500), "requests may come to their end");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let mut rest = Vec::new();
    let _ = slow.read_to_end(&mut rest).await;
    house.end().await;
}

/// acceptance: X6
#[tokio::test]
async fn a_folder_that_others_can_write_to_is_no_place_for_a_socket() {
    let house = House::new().await;
    let shared = house.folder.path().join("shared");
    let (open, own) = (shared.join("open"), shared.join("own"));
    for folder in [&shared, &open, &own] {
        fs::create_dir(folder).unwrap();
        let mode = if folder == &own { 0o700 } else { 0o777 };
        fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
    }
    let link = shared.join("link");
    std::os::unix::fs::symlink(&own, &link).unwrap();
    // Anybody may exchange a link in such a place.
    for folder in [open, link] {
        let options = Options { parts: house.parts(), socket: Some(folder.join("ao.sock")), tcp: None };
        let refused = serve(options, house.stop.clone()).await.unwrap_err();
        assert!(matches!(refused, ServerError::OpenFolder { .. }), "{}: {refused}", folder.display());
        assert!(!exists(&folder.join("ao.sock")));
    }
    let options = Options { parts: house.parts(), socket: Some(own.join("ao.sock")), tcp: None };
    let running = serve(options, house.stop.clone()).await.unwrap();
    house.end().await;
    running.finished().await;
}
