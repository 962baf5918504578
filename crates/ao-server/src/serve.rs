//! Serves the API on its socket and its port, from the first connection to the last.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ao_api::Problem;
use ao_engine::AskError;
use axum::Router;
use axum::body::Body;
use axum::http::StatusCode;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::{Resource, getrlimit};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::app::{App, Parts, app};
use crate::auth::Peer;
use crate::limits::Limits;
use crate::listen::{self, Listener, Socket};
use crate::places::{Place, Places};
use crate::stall::Stalling;

/// The maximum size of a request's head.
const HEAD_MOST: usize = 64 * 1024;
/// The pause after a failed accept. It fails when too many files are open, which passes.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The time to reject a connection for lack of room, and the number of such rejections at a time. Further ones are just
/// closed.
const FAREWELL: Duration = Duration::from_millis(500);
const FAREWELLS: usize = 64;
/// The maximum number of connections that are not identified yet. Others wait in the system's backlog.
const ARRIVING: usize = 256;

/// The addresses and limits to serve with.
pub struct Options {
    pub parts: Parts,
    /// The path of the socket, if there is one.
    pub socket: Option<PathBuf>,
    pub tcp: Option<Listener>,
}

/// The TCP address to listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bind {
    pub addr: SocketAddr,
    /// Allows calls from other machines. They need a token in any case.
    pub allow_remote: bool,
}

/// Reasons for which the API could not be served.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("{addr} can be reached from other machines; allow that explicitly, or listen on 127.0.0.1")]
    Remote { addr: SocketAddr },
    #[error("the port {} is in use by another program; stop that, or choose another port (0 takes any)", .addr.port())]
    PortInUse { addr: SocketAddr },
    #[error("{addr} cannot be listened on")]
    Bind {
        addr: SocketAddr,
        #[source]
        err: io::Error,
    },
    #[error("a daemon answers at `{}` already; stop it first, or use that one", .path.display())]
    SocketInUse { path: PathBuf },
    #[error("`{}` is no socket; move it away, or choose another place for the socket", .path.display())]
    NotASocket { path: PathBuf },
    #[error(
        "others could put a socket of theirs into the folder `{}`; it must be your own, and writable by you alone (mode 700)",
        .folder.display()
    )]
    OpenFolder { folder: PathBuf },
    #[error("the path of the socket `{}` is too long; choose a shorter data directory", .path.display())]
    PathTooLong { path: PathBuf },
    #[error("the socket `{}` cannot be made", .path.display())]
    Socket {
        path: PathBuf,
        #[source]
        err: io::Error,
    },
    #[error(transparent)]
    Engine(#[from] AskError),
}

/// The API while it serves.
#[derive(Debug)]
pub struct Running {
    app: Arc<App>,
    addr: Option<SocketAddr>,
    socket: Option<PathBuf>,
    stop: CancellationToken,
}

/// Binds the socket and the port, and serves until `shutdown` is cancelled. Both exist on return.
pub async fn serve(options: Options, shutdown: CancellationToken) -> Result<Running, ServerError> {
    let Options { parts, socket, tcp } = options;
    let addr = tcp.as_ref().map(Listener::addr);
    let socket = match socket {
        Some(path) => Some(listen::unix(path).await?),
        None => None,
    };
    let path = socket.as_ref().map(|(_, socket)| socket.path().to_owned());
    let limits = parts.limits.clone();
    let state = App::start(parts, addr, shutdown.clone()).await?;
    let door = ConnectionGate {
        router: app(state.clone()),
        by_tcp: ListenerLimits::new(&limits),
        by_socket: ListenerLimits::new(&limits),
        farewells: Arc::new(Semaphore::new(FAREWELLS)),
        limits,
        app: state.clone(),
        stop: shutdown.clone(),
    };
    if let Some(Listener { listener, addr }) = tcp {
        tracing::info!(%addr, "listening");
        state.tasks.spawn(door.clone().accept_tcp(listener));
    }
    if let Some((listener, socket)) = socket {
        tracing::info!(socket = %socket.path().display(), "listening");
        state.tasks.spawn(door.accept_unix(listener, socket));
    }
    Ok(Running { app: state, addr, socket: path, stop: shutdown })
}

impl Running {
    /// Returns the TCP address, with the bound port.
    pub fn addr(&self) -> Option<SocketAddr> {
        self.addr
    }

    pub fn socket(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    /// Waits until it was asked to stop and has ended, or until a time limit.
    pub async fn finished(self) {
        self.stop.cancelled().await;
        self.app.tasks.close();
        let patience = self.app.limits.drain + Duration::from_secs(2);
        if timeout(patience, self.app.tasks.wait()).await.is_err() {
            tracing::warn!(left = self.app.tasks.len(), "requests were broken off");
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("socket", &self.socket)
            .field("tcp", &self.tcp)
            .finish_non_exhaustive()
    }
}

/// The shared state of all connections.
#[derive(Clone)]
struct ConnectionGate {
    app: Arc<App>,
    router: Router,
    /// Separate limits, so that connections that fill the port leave the socket usable.
    by_tcp: ListenerLimits,
    by_socket: ListenerLimits,
    farewells: Arc<Semaphore>,
    limits: Limits,
    stop: CancellationToken,
}

/// The limits of one listener.
#[derive(Clone)]
struct ListenerLimits {
    places: Arc<Places>,
    /// For connections that are not identified yet.
    arriving: Arc<Semaphore>,
}

impl ListenerLimits {
    fn new(limits: &Limits) -> ListenerLimits {
        let places = Places::new(fitting(limits.connections));
        ListenerLimits { places, arriving: Arc::new(Semaphore::new(ARRIVING)) }
    }
}

impl ConnectionGate {
    async fn accept_tcp(self, listener: TcpListener) {
        loop {
            let accepted = tokio::select! {
                () = self.stop.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, remote)) => {
                    // A key press is one byte, and the user waits for its echo.
                    let _ = stream.set_nodelay(true);
                    match stream.local_addr() {
                        Ok(local) => self.let_in(stream, Peer::tcp(remote, local)).await,
                        Err(err) => tracing::debug!(%err, "a connection was gone at once"),
                    }
                }
                Err(err) => self.pause(&err).await,
            }
        }
    }

    async fn accept_unix(self, mut listener: UnixListener, mut socket: Socket) {
        loop {
            let accepted = tokio::select! {
                () = self.stop.cancelled() => break,
                () = socket.gone() => {
                    self.make_again(&mut listener, &mut socket).await;
                    continue;
                }
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => match stream.peer_cred() {
                    Ok(peer) => self.let_in(stream, Peer::socket(peer.uid(), peer.pid())).await,
                    Err(err) => tracing::warn!(%err, "a connection without credentials was refused"),
                },
                Err(err) => self.pause(&err).await,
            }
        }
        drop(listener);
        socket.remove();
    }

    /// Creates a deleted socket again. Connections of the old one go on.
    async fn make_again(&self, listener: &mut UnixListener, socket: &mut Socket) {
        match listen::unix(socket.path().to_owned()).await {
            Ok(made) => {
                (*listener, *socket) = made;
                tracing::warn!(path = %socket.path().display(), "the socket was deleted and has been made again");
            }
            Err(err) => {
                tracing::warn!(%err, "the socket was deleted and cannot be made again");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }

    async fn pause(&self, err: &io::Error) {
        tracing::warn!(%err, "no connection could be accepted");
        sleep(ACCEPT_PAUSE).await;
    }

    /// Identifies a connection, and serves it if there is room. Returns when the next one may be accepted.
    async fn let_in<S>(&self, stream: S, peer: Peer)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let room = if peer.is_socket() { &self.by_socket } else { &self.by_tcp };
        let Ok(arriving) = room.arriving.clone().acquire_owned().await else { return };
        let places = room.places.clone();
        let door = self.clone();
        self.app.tasks.spawn(async move {
            // Done at once, while the other end still exists.
            let of = peer.at_the_door(&door.app.sockets, &door.app.lineage).await;
            let place = places.take(of);
            drop(arriving);
            match place {
                Some(place) => door.serve(stream, peer, place).await,
                None => {
                    tracing::debug!(
                        ?of,
                        most = door.limits.connections,
                        "a connection was refused: there are too many"
                    );
                    door.send_away(stream).await;
                }
            }
        });
    }

    async fn send_away<S>(&self, mut stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let Ok(_one_of_few) = self.farewells.try_acquire() else { return };
        // Unread input is drained before closing, because closing with unread input would discard the response.
        let farewell = async {
            stream.write_all(&busy()).await?;
            stream.shutdown().await?;
            tokio::io::copy(&mut stream.take(HEAD_MOST as u64), &mut tokio::io::sink()).await
        };
        let _ = timeout(FAREWELL, farewell).await;
    }

    async fn serve<S>(&self, stream: S, peer: Peer, place: Place)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let activity = place.activity.clone();
        let close = activity.close.clone();
        let io = TokioIo::new(Stalling::new(stream, self.limits.stall, place));
        let router = self.router.clone();
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(peer.clone());
            let (router, activity) = (router.clone(), activity.clone());
            async move {
                let asked = activity.begin();
                let response = router.oneshot(request).await.unwrap_or_else(|never| match never {});
                if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                    activity.upgrade();
                }
                // A request ends when its body has been sent, and a stream has no end.
                Ok::<_, Infallible>(response.map(|body| {
                    Body::new(body.map_frame(move |frame| {
                        let _ = &asked;
                        frame
                    }))
                }))
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.head)
            .max_buf_size(HEAD_MOST)
            .serve_connection(io, service)
            .with_upgrades();
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            // It is idle, so nothing is lost.
            () = close.cancelled() => Ok(()),
            () = self.stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                match timeout(self.limits.drain, connection).await {
                    Ok(ended) => ended,
                    Err(_) => Ok(()),
                }
            }
        };
        if let Err(err) = ended {
            tracing::debug!(%err, "a connection broke");
        }
    }
}

/// Returns the requested number of connections, reduced if too few files could be open for everything else.
fn fitting(connections: usize) -> usize {
    let open = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    connections.min(usize::try_from(open / 4).unwrap_or(usize::MAX)).max(1)
}

/// Returns the raw response for a connection that is rejected before anything was read.
fn busy() -> Vec<u8> {
    let problem = Problem::new(503, "too-many-connections", "there are too many connections");
    let body = serde_json::to_string(&problem).expect("a problem is plain data");
    let head =
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\nretry-after: 1\r\n";
    format!("{head}connection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}
