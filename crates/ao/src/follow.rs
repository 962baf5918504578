//! Looking again whenever something happens: by the daemon's events, and never by the clock.

use std::time::Duration;

use ao_api::client::{Client, ClientError, Events};
use tokio::time::{Instant, sleep, timeout_at};

use crate::error::CommandError;

/// Events come in bursts; one look after a burst is enough.
const BURST: Duration = Duration::from_millis(40);
/// While bursts follow one another, a look is not put off longer than this.
const LATEST: Duration = Duration::from_millis(250);
/// How long a daemon that is being replaced may be away.
const AWAY: Duration = Duration::from_secs(15);
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
            Err(err) if is_away(&err) => news = News::reopen(client, session, err).await?,
            Err(err) => return Err(err.into()),
        }
    }
}

/// That something has happened.
pub(crate) struct News {
    events: Events,
}

impl News {
    pub(crate) async fn open(client: &Client, session: Option<&str>) -> Result<News, ClientError> {
        Ok(News { events: client.events(None, session).await? })
    }

    /// Returns when something has happened. Can be dropped and called again.
    pub(crate) async fn next(&mut self, client: &Client, session: Option<&str>) -> Result<(), CommandError> {
        let lost = match self.events.next().await {
            Ok(Some(_)) => {
                self.let_the_burst_pass().await;
                return Ok(());
            }
            Ok(None) => ClientError::Broken("the daemon has ended the stream of events".into()),
            Err(err) => err,
        };
        *self = News::reopen(client, session, lost).await?;
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

    async fn reopen(client: &Client, session: Option<&str>, lost: ClientError) -> Result<News, CommandError> {
        let away_until = Instant::now() + AWAY;
        let mut last = lost;
        while is_away(&last) && Instant::now() < away_until {
            sleep(KNOCK).await;
            match News::open(client, session).await {
                Ok(news) => return Ok(news),
                Err(err) => last = err,
            }
        }
        Err(last.into())
    }
}

/// Whether the daemon may only be away for a moment.
pub(crate) fn is_away(err: &ClientError) -> bool {
    match err {
        ClientError::Unreachable { .. } | ClientError::Broken(_) => true,
        ClientError::Refused(problem) => problem.status == 503,
        ClientError::Strange(_) | ClientError::BadCall { .. } => false,
    }
}
