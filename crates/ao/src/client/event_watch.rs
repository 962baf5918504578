//! Looks again whenever an event arrives, and never by the clock.

use std::time::Duration;

use ao_api::client::{Client, ClientError, EventStream};
use tokio::time::{Instant, sleep, timeout_at};

use crate::error::CommandError;

/// Events come in bursts; one look after a burst is enough.
const BURST: Duration = Duration::from_millis(40);
/// While bursts follow one another, a look is delayed no longer than this.
const LATEST: Duration = Duration::from_millis(250);
/// Time for a daemon to be replaced.
pub(crate) const AWAY: Duration = Duration::from_secs(15);
const KNOCK: Duration = Duration::from_millis(200);

/// Looks now, and again after every event, until the look finds something.
///
/// With a session, only its events count. Waits for a daemon that goes away and comes back.
pub(crate) async fn until<T>(
    client: &Client,
    session: Option<&str>,
    mut look: impl AsyncFnMut() -> Result<Option<T>, ClientError>,
) -> Result<T, CommandError> {
    let mut news = EventWatch::open(client, session).await?;
    loop {
        // Subscribe before looking, so that no event is missed.
        match look().await {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => news.next(client, session).await?,
            Err(err) if is_away(&err) => news.reopen(client, session, err).await?,
            Err(err) => return Err(err.into()),
        }
    }
}

/// The feed, reduced to the fact that something has happened.
pub(crate) struct EventWatch {
    events: EventStream,
    /// An event has arrived and was not reported yet.
    untold: bool,
}

impl EventWatch {
    pub(crate) async fn open(client: &Client, session: Option<&str>) -> Result<EventWatch, ClientError> {
        let events = client.events(None, session).await?;
        Ok(EventWatch { events, untold: false })
    }

    /// Returns when something has happened, or may have. Cancel-safe.
    pub(crate) async fn next(&mut self, client: &Client, session: Option<&str>) -> Result<(), CommandError> {
        if !self.untold {
            let lost = match self.events.next().await {
                Ok(Some(_)) => None,
                Ok(None) => Some(ended()),
                Err(err) => Some(err),
            };
            if let Some(lost) = lost {
                return self.reopen(client, session, lost).await;
            }
            self.untold = true;
        }
        self.let_the_burst_pass().await;
        self.untold = false;
        Ok(())
    }

    async fn let_the_burst_pass(&mut self) {
        let latest = Instant::now() + LATEST;
        loop {
            let quiet = (Instant::now() + BURST).min(latest);
            match timeout_at(quiet, self.events.next()).await {
                Ok(Ok(Some(_))) if Instant::now() < latest => {}
                // The next call reports errors of the feed.
                _ => return,
            }
        }
    }

    /// Subscribes anew. Events may have been missed, so this counts as one.
    pub(crate) async fn reopen(
        &mut self,
        client: &Client,
        session: Option<&str>,
        lost: ClientError,
    ) -> Result<(), CommandError> {
        let events = again(client, None, session, lost, Instant::now() + AWAY).await?;
        *self = EventWatch { events, untold: false };
        Ok(())
    }
}

/// Reopens a lost feed after an event of the log, waiting for a daemon that is away until the deadline.
pub(crate) async fn again(
    client: &Client,
    behind: Option<u64>,
    session: Option<&str>,
    lost: ClientError,
    until: Instant,
) -> Result<EventStream, CommandError> {
    let mut last = lost;
    while is_away(&last) && Instant::now() < until {
        sleep(KNOCK).await;
        match client.events(behind, session).await {
            Ok(events) => return Ok(events),
            Err(err) => last = err,
        }
    }
    Err(last.into())
}

/// Returns the error for a feed that ended, though it never should.
pub(crate) fn ended() -> ClientError {
    ClientError::Broken("the daemon has closed the event feed".into())
}

/// Returns true if the daemon may only be away for a moment.
pub(crate) fn is_away(err: &ClientError) -> bool {
    match err {
        ClientError::Unreachable { .. } | ClientError::Broken(_) => true,
        // The call has waited for it already.
        ClientError::Hung { .. } => false,
        ClientError::Refused(problem) => problem.status == 503,
        ClientError::Unexpected(_) | ClientError::BadRequest { .. } => false,
    }
}
