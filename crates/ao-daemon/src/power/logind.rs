//! Linux: logind gives out a file, and the machine stays awake while it is open.

use std::os::fd::OwnedFd;
use std::time::Duration;

use tokio::io::Interest;
use tokio::net::unix::pipe::Sender;
use zbus::connection::Builder;
use zbus::fdo;

use super::PowerError;
use super::keeper::Bus;

/// A bus that does not answer for so long is as good as none.
const ANSWER: Duration = Duration::from_secs(10);

/// The open file. The connection by which it came is not needed any more, so a bus that is restarted does not matter.
#[derive(Debug)]
pub(super) struct Inhibitor {
    _file: OwnedFd,
    /// The same once more, as what it is: a pipe on which nobody writes. `None` if some other logind gave something else;
    /// then it is held all the same, and only not seen when it is lost.
    pipe: Option<Sender>,
}

impl Inhibitor {
    /// Waits until logind has closed the other end, because it was ended or has forgotten us.
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

pub(super) async fn inhibit(bus: &Bus, reason: &str) -> Result<Inhibitor, PowerError> {
    let away = |what| move |why: zbus::Error| PowerError { what, why: why.to_string(), for_good: false };
    let asking = async {
        let builder = match bus {
            Bus::System => Builder::system(),
            Bus::At(address) => Builder::address(address.as_str()),
        };
        let connection = builder.build().await.map_err(away("the system's bus cannot be reached"))?;
        match ask(&connection, "sleep:idle", reason).await {
            // Who came in by ssh may keep the machine from going to sleep of itself, but not forbid it to those who sit
            // before it.
            Err(zbus::Error::FDO(err)) if is_refusal(&err) => ask(&connection, "idle", reason).await,
            answer => answer,
        }
        .map_err(away("logind did not agree to it"))
    };
    let late =
        |_| PowerError { what: "logind is slow", why: format!("no answer in {ANSWER:?}"), for_good: false };
    let file = tokio::time::timeout(ANSWER, asking).await.map_err(late)??;
    let pipe = file.try_clone().and_then(Sender::from_owned_fd).ok();
    Ok(Inhibitor { _file: file, pipe })
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
