//! `ao daemon`: the daemon itself. `ao start` runs it in the background; a service manager runs it directly.

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ao_api::{Daemon as About, VERSION};
use ao_config::watch::ConfigWatcher;
use ao_daemon::config::InForce;
use ao_daemon::secrets;
use ao_ports::{Clock, StoreError};
use ao_server::{Auth, Bind, Limits, Listener, Parts, ServerError, serve};
use ao_store::DirLock;
use camino::{Utf8Path, Utf8PathBuf};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::cli::context::{Context, outside_of_agents};
use crate::client::daemon_process::{self, StartReport};
use crate::clock::SystemClock;
use crate::daemon::Daemon;
use crate::error::{CommandError, FailureKind};
use crate::power::PowerBus;
use crate::system::{daemon_log, paths};
use crate::{daemon, ui};

/// Run the daemon in the foreground
///
/// `ao start` does this in the background. Run it directly under a service manager, or to see its log. Ctrl-C stops
/// it; agents keep running, and the next daemon finds them again.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The port for browsers and API clients; 0 picks a free one [default: from the configuration, 3000]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Print one line on stdout when it is ready, and nothing after that
    #[arg(long, hide = true)]
    background: bool,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    outside_of_agents("no daemon is started")?;
    // A daemon in the foreground may have inherited open files from its shell; its agents must not.
    ao_process::descriptors::keep_from_children().map_err(CommandError::environment)?;
    let data_dir = cx.data_dir()?;
    daemon_process::make_data_dir(&data_dir)?;
    // Dropped after the runtime, when no git of ours runs any more.
    let _scratch = ao_git::ScratchGuard;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // One for the engine, one for the log, one for the API; more would only take memory.
        .worker_threads(std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 4))
        .enable_all()
        .build()
        .map_err(CommandError::environment)?;
    let ended = runtime.block_on(live(args, &data_dir, cx.config()));
    // A thread that hangs must not keep the daemon from exiting.
    runtime.shutdown_timeout(Duration::from_secs(2));
    match ended {
        Err(err) if args.background => {
            // The parent waits for this line, unless the daemon was ready before and the parent is gone.
            let word = StartReport::Failed {
                code: err.kind().exit_code(),
                text: err.to_plain(),
                hints: err.hints().to_vec(),
            };
            let _ = print_report(&word);
            Err(err)
        }
        ended => ended,
    }
}

async fn live(args: &Args, data_dir: &Utf8Path, config: Option<&Utf8Path>) -> Result<(), CommandError> {
    // Its environment may hold the user's tokens, and agents run as the same user.
    ao_process::close_to_others().map_err(CommandError::environment)?;
    let log = daemon_process::log_file(data_dir);
    // Kept to the end, when the last spans are sent.
    let _traces = if args.background {
        let traces = daemon_log::to_file(log.as_std_path());
        Some(traces.map_err(|err| CommandError::environment(format!("`{log}` cannot be written: {err}")))?)
    } else {
        daemon_log::to_stderr()
    };
    let lock = Arc::new(lock_when_free(data_dir).await?);
    let mut configs = InForce::open(data_dir)?;
    if let Some(file) = config {
        let file = paths::here()?.join(file);
        configs = configs.with(&file)?;
    }
    // Bound before anything starts, and kept: two daemons that only tried the port would turn each other away.
    let listener = Listener::bind(bind(&configs, args.port), PORT_PATIENCE).await?;

    let program = std::env::current_exe().map_err(CommandError::environment)?;
    let clock = Arc::new(SystemClock);
    let mut options = daemon::DaemonOptions::new(data_dir, program);
    options.lock = Some(lock.clone());
    let shows_page = configs.main.config.dashboard.enabled;
    if shows_page {
        options.page.set(Some(&format!("http://{}", listener.addr())));
    }
    options.max_parallel_checks = configs.main.config.lifecycle.max_parallel_checks as usize;
    let power = &configs.main.config.power;
    options.prevent_idle_sleep = power.prevent_idle_sleep.then_some(PowerBus::System);
    options.configs = Some(configs);
    let daemon = Arc::new(Daemon::start(options, clock.clone()).await?);

    let stop = CancellationToken::new();
    let socket = paths::socket(data_dir);
    let mut about = about(data_dir, &socket, &log);
    // An address without a page is useless to browsers.
    about.url = shows_page.then(|| format!("http://{}", listener.addr()));
    let sockets = Sockets { socket, listener };
    let served = serve_until_stopped(args, &daemon, about, clock, &lock, sockets, stop).await;
    let stopped = daemon.stop().await.map_err(CommandError::from);
    tracing::info!("the daemon has stopped; agents keep running");
    served.and(stopped)
}

/// Time for the previous daemon to close its log.
const CLOSES: Duration = Duration::from_secs(10);
/// Time for the port to become free: the system holds the port of a killed daemon for a moment.
const PORT_PATIENCE: Duration = Duration::from_secs(3);
/// Interval of the check that the data directory is still in place.
const LOOKS: Duration = Duration::from_secs(1);

/// Locks the data directory, waiting a while for the previous daemon to close its log.
async fn lock_when_free(data_dir: &Utf8Path) -> Result<DirLock, CommandError> {
    let until = tokio::time::Instant::now() + CLOSES;
    let socket = paths::socket(data_dir);
    loop {
        let data_dir = data_dir.to_owned();
        let taken = tokio::task::spawn_blocking(move || DirLock::take(&data_dir)).await;
        match taken.map_err(|err| CommandError::new(FailureKind::Bug, err))? {
            Ok(lock) => return Ok(lock),
            Err(StoreError::Locked { path, holder }) => {
                // A daemon that answers is not shutting down.
                let answers = tokio::net::UnixStream::connect(&socket).await.is_ok();
                if answers || tokio::time::Instant::now() >= until {
                    let what = format!("a daemon ({holder}) already uses `{path}`");
                    return Err(CommandError::user(what)
                        .hint("`ao status` shows it, and `ao stop` stops it; agents keep running"));
                }
            }
            Err(err) => return Err(err.into()),
        }
    }
}

/// Returns when the data directory was removed or replaced, so that what is written there would be lost.
async fn directory_gone(lock: &DirLock) {
    while lock.is_in_place() {
        tokio::time::sleep(LOOKS).await;
    }
    tracing::error!("the data directory was removed, so the daemon stops; agents keep running");
}

/// The ways in to the API.
struct Sockets {
    socket: Utf8PathBuf,
    listener: Listener,
}

async fn serve_until_stopped(
    args: &Args,
    daemon: &Arc<Daemon>,
    about: About,
    clock: Arc<SystemClock>,
    lock: &DirLock,
    sockets: Sockets,
    stop: CancellationToken,
) -> Result<(), CommandError> {
    let clock_of_day: Arc<dyn Clock> = clock.clone();
    let auth = Auth::open(lock.data_dir().as_std_path())
        .map_err(CommandError::environment)?
        .taught_to(|token| secrets::learn([("api.token".to_owned(), token.as_bytes().to_vec())]));
    let config = daemon.config.in_force().main;
    let parts = Parts {
        page: config.config.dashboard.enabled,
        daemon: daemon.clone(),
        clock,
        about,
        auth: Arc::new(auth),
        lineage: daemon.families.clone(),
        limits: Limits::default(),
        owner: owner(),
        names: config.config.server.allowed_hosts.clone(),
    };
    let options =
        ao_server::Options { parts, socket: Some(sockets.socket.into()), tcp: Some(sockets.listener) };
    let running = serve(options, stop.clone()).await?;
    let url = running.addr().map(|addr| format!("http://{addr}"));
    tracing::info!(url, pid = std::process::id(), "the daemon is ready");
    if args.background {
        // The parent may be gone, which is no reason to exit.
        let _ = print_report(&StartReport::Ready);
        close_stdout();
    } else {
        let at = url.map(|url| format!(" at {url}")).unwrap_or_default();
        ui::note(format_args!("the daemon is ready{at}; Ctrl-C stops it, and agents keep running"));
    }
    tokio::select! {
        () = stop.cancelled() => {}
        () = stop_requested() => stop.cancel(),
        () = directory_gone(lock) => stop.cancel(),
        err = daemon.damaged() => {
            tracing::error!(err = err.to_plain(), "the daemon stops, so that nothing more is written to a damaged log");
            stop.cancel();
            running.finished().await;
            return Err(err.into());
        }
        () = follow_edits(daemon) => {}
        () = send_digests(daemon, clock_of_day) => stop.cancelled().await,
    }
    running.finished().await;
    Ok(())
}

/// Sends the daily digest at the time of `digest.at`, if it is set.
async fn send_digests(daemon: &Daemon, clock: Arc<dyn Clock>) {
    let when = || {
        let configs = daemon.config.in_force();
        let digest = configs.main.config.digest.as_ref()?;
        Some((digest.time().ok()??, digest.zone().ok()?))
    };
    ao_daemon::chores::tell_of_the_day(daemon.handle.clone(), clock, when).await;
}

/// Reloads the configuration whenever it is edited. A bad edit changes nothing and is reported in the log and by `ao
/// status`.
async fn follow_edits(daemon: &Daemon) {
    loop {
        let files = daemon.config.in_force().watched();
        let mut watcher = match ConfigWatcher::new(&files) {
            Ok(watcher) => watcher,
            Err(err) => {
                tracing::warn!(%err, "edits of the configuration are not noticed; reload to apply them");
                return std::future::pending().await;
            }
        };
        // Edits from before the watch began would go unnoticed, so read everything now.
        reload(daemon).await;
        // Watch anew when the set of files changes, for example after a project was added.
        while daemon.config.in_force().watched() == files {
            tokio::select! {
                _ = watcher.changed() => reload(daemon).await,
                () = daemon.config.changed() => {}
            }
        }
    }
}

async fn reload(daemon: &Daemon) {
    match daemon.reload().await {
        Ok(reloaded) if reloaded.changes.is_empty() => {}
        Ok(reloaded) => tracing::info!(changes = ?reloaded.changes, "the configuration was reloaded"),
        Err(problem) => tracing::warn!(%problem, detail = problem.detail, "an edit was not applied"),
    }
}

/// Waits for SIGTERM, SIGINT or SIGHUP. The last one comes when a terminal closes.
async fn stop_requested() {
    let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
    let Ok(mut signals) = kinds.map(signal).into_iter().collect::<io::Result<Vec<_>>>() else {
        return std::future::pending().await;
    };
    let waits = signals.iter_mut().map(|signal| Box::pin(signal.recv()));
    futures::future::select_all(waits).await;
}

fn bind(configs: &InForce, port: Option<u16>) -> Bind {
    let config = &configs.main.config;
    let addr: IpAddr = config.server.listen;
    Bind {
        addr: SocketAddr::new(addr, port.unwrap_or(config.port)),
        allow_remote: config.server.allow_remote,
    }
}

fn about(data_dir: &Utf8Path, socket: &Utf8Path, log: &Utf8Path) -> About {
    About {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        build: daemon_process::build(),
        api: VERSION,
        pid: std::process::id(),
        started_at: ao_api::Timestamp::now(),
        data_dir: data_dir.to_string(),
        socket: socket.to_string(),
        log: log.to_string(),
        ..About::default()
    }
}

/// Returns the owner's name for records of who did something.
fn owner() -> String {
    let named = ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    named.filter(|name| !name.is_empty()).unwrap_or_else(|| "you".into())
}

fn print_report(word: &StartReport) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(word)?)?;
    out.flush()
}

/// Closes stdout, so that a parent that reads from a pipe sees its end.
fn close_stdout() {
    if let Ok(null) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(&null);
    }
}

impl From<ServerError> for CommandError {
    fn from(err: ServerError) -> CommandError {
        match err {
            ServerError::PortInUse { .. } => CommandError::new(FailureKind::PortInUse, err).hint(
                "`ao start --port 0` picks a free one; `ao config set port 3001` sets another one permanently",
            ),
            ServerError::Remote { .. } => CommandError::config(err)
                .hint("`ao config set server.allowRemote true` allows it; callers then need the token"),
            ServerError::SocketInUse { .. } => CommandError::user(err)
                .hint("`ao status` shows it, and `ao stop` stops it"),
            err => CommandError::environment(err),
        }
    }
}
