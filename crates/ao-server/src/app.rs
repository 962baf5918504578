//! The state that all requests share: the engine, the daemon around it, and limits.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ao_api::Problem;
use ao_daemon::Daemon;
use ao_engine::{AskError, Handle};
use ao_ports::{Clock, Lineage};
use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::auth::{Auth, Names, Sockets, guard};
use crate::hub::Hub;
use crate::limits::{Limits, Rates, limit};
use crate::metrics::Metrics;
use crate::problem::Failure;
use crate::{log, page, routes};

/// The maximum time to wait for output.
const WAIT: Duration = Duration::from_secs(25);

/// The parts that the API is built from.
pub struct Parts {
    pub daemon: Arc<Daemon>,
    pub clock: Arc<dyn Clock>,
    /// The daemon as it is described to callers. What the engine and the configuration know is filled in.
    pub about: ao_api::Daemon,
    pub auth: Arc<Auth>,
    /// Finds the agent that a calling program descends from.
    pub lineage: Arc<dyn Lineage>,
    pub limits: Limits,
    /// `true` if the dashboard is served.
    pub page: bool,
    /// The name of the owner in the log: `stopped by anna`.
    pub owner: String,
    /// Names under which we may be called over TCP, besides those of this machine.
    pub names: Vec<String>,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts")
            .field("limits", &self.limits)
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

/// The API, ready to serve.
pub struct App {
    pub(crate) handle: Handle,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) daemon: Arc<Daemon>,
    about: ao_api::Daemon,
    pub(crate) auth: Arc<Auth>,
    pub(crate) lineage: Arc<dyn Lineage>,
    pub(crate) sockets: Sockets,
    pub(crate) limits: Limits,
    pub(crate) rates: Rates,
    pub(crate) owner: String,
    page: bool,
    pub(crate) hub: Arc<Hub>,
    pub(crate) metrics: Metrics,
    /// Cancelled when the daemon ends: streams end then.
    pub(crate) stop: CancellationToken,
    /// Tasks that go on after their client has disconnected.
    pub(crate) tasks: TaskTracker,
    names: Names,
}

impl App {
    /// Starts the API. `bound` is its TCP address, if it has one.
    pub async fn start(
        parts: Parts,
        bound: Option<SocketAddr>,
        stop: CancellationToken,
    ) -> Result<Arc<App>, AskError> {
        let Parts { daemon, clock, about, auth, lineage, limits, page, owner, names } = parts;
        let handle = daemon.handle.clone();
        let tasks = TaskTracker::new();
        let hub = Hub::start(&handle, &tasks, stop.clone()).await?;
        let names = bound.map(|bound| Names::of(bound, &names)).unwrap_or_default();
        Ok(Arc::new(App {
            handle,
            clock,
            daemon,
            about,
            auth,
            lineage,
            sockets: Sockets::default(),
            rates: Rates::new(&limits),
            limits,
            page,
            owner,
            hub,
            metrics: Metrics::default(),
            stop,
            tasks,
            names,
        }))
    }

    /// Returns the description of the daemon, with the configuration that is in force.
    pub(crate) fn about(&self) -> ao_api::Daemon {
        let problems = self.daemon.config.in_force().problems();
        ao_api::Daemon {
            configs: self.daemon.config.files(),
            config_problem: (!problems.is_empty()).then(|| problems.join("\n")),
            ..self.about.clone()
        }
    }

    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    /// Waits for output. Returns nothing if there is none for a while, or if the daemon ends.
    pub(crate) async fn awaited<T>(&self, output: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            () = self.stop.cancelled() => None,
            output = timeout(WAIT, output) => output.ok(),
        }
    }

    /// Runs an operation to its end, even if the client disconnects.
    pub(crate) async fn to_the_end<T, F>(
        self: &Arc<Self>,
        what: impl FnOnce(Arc<App>) -> F,
    ) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Failure>> + Send + 'static,
    {
        match self.tasks.spawn(what(self.clone())).await {
            Ok(done) => done,
            Err(err) => {
                tracing::error!(%err, "a request ended in a panic");
                Err(Problem::new(500, "bug", "the daemon made a mistake; its log says more").into())
            }
        }
    }
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").field("names", &self.names).finish_non_exhaustive()
    }
}

/// Returns the routes with all middleware. A request has its [`Peer`](crate::Peer) as an extension.
pub fn app(app: Arc<App>) -> Router {
    let router = if app.page { routes::all().merge(page::routes()) } else { routes::all() };
    router
        .fallback(routes::nothing_here)
        .method_not_allowed_fallback(routes::not_that_way)
        .layer(from_fn_with_state(app.clone(), guard))
        .layer(from_fn_with_state(app.clone(), limit))
        .layer(from_fn_with_state(app.clone(), log::log))
        .layer(from_fn(log::harden))
        .with_state(app)
}
