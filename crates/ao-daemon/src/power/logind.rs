//! Linux: logind returns a file, and the machine stays awake while it is open.

use std::os::fd::OwnedFd;
use std::time::Duration;

use tokio::io::Interest;
use tokio::net::unix::pipe::Sender;
use zbus::connection::Builder;
use zbus::fdo;

use super::PowerError;
use super::keeper::PowerBus;

/// Time limit for a response of the bus.
const ANSWER: Duration = Duration::from_secs(10);

/// The open file. Its connection is no longer needed, so a restart of the bus does not matter.
#[derive(Debug)]
pub(super) struct LogindInhibitor {
    _file: OwnedFd,
    /// The file again, as a pipe without a writer. `None` if another logind returned something else; the hold then
    /// works, but its loss is not noticed.
    pipe: Option<Sender>,
}

impl LogindInhibitor {
    /// Waits until logind has closed the other end.
    pub(super) async fn lost(&mut self) {
        let closed = match &self.pipe {
            Some(pipe) => pipe.ready(Interest::ERROR).await.is_ok(),
            None => false,
        };
        if !closed {
            std::future::pending::<()>().await;
        }
    }
}

pub(super) async fn inhibit(bus: &PowerBus, reason: &str) -> Result<LogindInhibitor, PowerError> {
    let away = |what| move |why: zbus::Error| PowerError { what, why: why.to_string(), for_good: false };
    let asking = async {
        let builder = match bus {
            PowerBus::System => Builder::system(),
            PowerBus::At(address) => Builder::address(address.as_str()),
        };
        let connection = builder.build().await.map_err(away("the system bus cannot be reached"))?;
        match ask(&connection, "sleep:idle", reason).await {
            // A user over ssh may prevent idle sleep, but not the sleep that a local user requests.
            Err(zbus::Error::FDO(err)) if is_refusal(&err) => ask(&connection, "idle", reason).await,
            answer => answer,
        }
        .map_err(away("logind refused"))
    };
    let late =
        |_| PowerError { what: "logind is slow", why: format!("no answer in {ANSWER:?}"), for_good: false };
    let file = tokio::time::timeout(ANSWER, asking).await.map_err(late)??;
    let pipe = file.try_clone().and_then(Sender::from_owned_fd).ok();
    Ok(LogindInhibitor { _file: file, pipe })
}

fn is_refusal(err: &fdo::Error) -> bool {
    matches!(err, fdo::Error::AccessDenied(_) | fdo::Error::InteractiveAuthorizationRequired(_))
}

async fn ask(connection: &zbus::Connection, what: &str, reason: &str) -> zbus::Result<OwnedFd> {
    let reply = connection
        .call_method(
            Some("org.freedesktop.login1"),
            "/org/freedesktop/login1",
            Some("org.freedesktop.login1.Manager"),
            "Inhibit",
            &(what, "ao", reason, "block"),
        )
        .await?;
    Ok(reply.body().deserialize::<zbus::OwnedFd>()?.into())
}
