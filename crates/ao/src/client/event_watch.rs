//! Looking again whenever something happens: by the daemon's events, and never by the clock.

use std::time::Duration;

use ao_api::client::{Client, ClientError, EventStream};
use tokio::time::{Instant, sleep, timeout_at};

use crate::error::CommandError;

/// Events come in bursts; one look after a burst is enough.
const BURST: Duration = Duration::from_millis(40);
/// While bursts follow one another, a look is not put off longer than this.
const LATEST: Duration = Duration::from_millis(250);
/// How long a daemon that is being replaced may be away.
pub(crate) const AWAY: Duration = Duration::from_secs(15);
const KNOCK: Duration = Duration::from_millis(200);

/// Looks now, and again after everything that happens, until the look finds something.
///
/// With a session, only what concerns it counts. A daemon that goes away and comes back is waited for.
pub(crate) async fn until<T>(
    client: &Client,
    session: Option<&str>,
    mut look: impl AsyncFnMut() -> Result<Option<T>, ClientError>,
) -> Result<T, CommandError> {
    let mut news = News::open(client, session).await?;
    loop {
        // Listened first and looked then, so that nothing falls between.
        match look().await {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => news.next(client, session).await?,
            Err(err) if is_away(&err) => news.reopen(client, session, err).await?,
            Err(err) => return Err(err.into()),
        }
    }
}

/// That something has happened.
pub(crate) struct News {
    events: EventStream,
    /// Something has happened and was not told yet.
    untold: bool,
}

impl News {
    pub(crate) async fn open(client: &Client, session: Option<&str>) -> Result<News, ClientError> {
        let events = client.events(None, session).await?;
        Ok(News { events, untold: false })
    }

    /// Returns when something has happened, or may have. Can be dropped and called again: nothing is forgotten by that.
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
                // What is wrong with the stream shows when it is next asked.
                _ => return,
            }
        }
    }

    /// Listens anew. Whatever happened meanwhile was not heard, so it counts as if something had.
    pub(crate) async fn reopen(
        &mut self,
        client: &Client,
        session: Option<&str>,
        lost: ClientError,
    ) -> Result<(), CommandError> {
        let events = again(client, None, session, lost, Instant::now() + AWAY).await?;
        *self = News { events, untold: false };
        Ok(())
    }
}

/// A stream of events in place of one that was lost, from behind a place in the log on. A daemon that is away is waited for
/// until then.
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

/// What is wrong with a stream that has no more to tell, though it has no end.
pub(crate) fn ended() -> ClientError {
    ClientError::Broken("the daemon has ended the stream of events".into())
}

/// Whether the daemon may only be away for a moment.
pub(crate) fn is_away(err: &ClientError) -> bool {
    match err {
        ClientError::Unreachable { .. } | ClientError::Broken(_) => true,
        // It has been waited for already.
        ClientError::Hung { .. } => false,
        ClientError::Refused(problem) => problem.status == 503,
        ClientError::Unexpected(_) | ClientError::BadRequest { .. } => false,
    }
}
