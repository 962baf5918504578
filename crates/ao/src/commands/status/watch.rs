//! `ao status --watch`: drawn again in the same place whenever something has happened.
//!
//! The daemon is asked only after an event. Ages grow by the clock alone, so they are drawn anew without asking anybody.

use std::io::{self, Write};
use std::time::Duration;

use anstream::{AutoStream, ColorChoice};
use ao_api::client::Client;
use tokio::signal::unix::{SignalKind, signal};

use super::{Seen, raw};
use crate::cli::context::Context;
use crate::client::event_watch::News;
use crate::client::{event_watch, find_session};
use crate::error::{CommandError, Kind};
use crate::show::Canvas;
use crate::ui;

/// A second screen without a cursor, so that what was there before is there afterwards.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
/// To the corner; each line clears its rest, and at the end all below goes. Clearing all of it first would flicker.
const CORNER: &str = "\x1b[H";
const REST_OF_LINE: &str = "\x1b[K";
const ALL_BELOW: &str = "\x1b[J";

pub(super) async fn watch(client: &Client, session: Option<&str>, cx: &Context) -> Result<(), CommandError> {
    let signals = |kind| signal(kind).map_err(CommandError::environment);
    let (mut interrupt, mut terminate) =
        (signals(SignalKind::interrupt())?, signals(SignalKind::terminate())?);
    // By its id from here on: what a name begins with may soon be the beginning of another.
    let id = match session {
        Some(session) => Some(find_session(client, session).await?.id),
        None => None,
    };
    let session = id.as_deref();
    let mut news = News::open(client, session).await?;
    let mut picture = Picture::default();
    let mut seconds = tokio::time::interval(Duration::from_secs(1));
    loop {
        if let Err(err) = look(client, session, cx, &mut picture).await? {
            // It may have gone just now; then the news say so, and wait for it.
            if !event_watch::is_away(&err) {
                return Err(err.into());
            }
        }
        let happened = async {
            loop {
                tokio::select! {
                    happened = news.next(client, session) => return happened,
                    _ = seconds.tick() => picture.redraw()?,
                }
            }
        };
        tokio::select! {
            happened = happened => happened?,
            // That is how one ends it.
            _ = interrupt.recv() => return Ok(picture.finish()?),
            _ = terminate.recv() => return Err(CommandError::new(Kind::Interrupted(15), "ended by a signal")),
        }
    }
}

/// Asks once and shows the answer. Whether the daemon answered is for the caller to judge.
async fn look(
    client: &Client,
    session: Option<&str>,
    cx: &Context,
    picture: &mut Picture,
) -> Result<Result<(), ao_api::client::ClientError>, CommandError> {
    if cx.json() {
        return Ok(match raw(client, session).await {
            Ok(body) => {
                ui::raw(&body)?;
                Ok(())
            }
            Err(err) => Err(err),
        });
    }
    Ok(match Seen::look(client, session).await {
        Ok(seen) => {
            picture.show(seen)?;
            Ok(())
        }
        Err(err) => Err(err),
    })
}

/// What is shown, and where.
#[derive(Default)]
struct Picture {
    shown: Option<Seen>,
    /// Whether the second screen is in use.
    entered: bool,
    /// What a file or a pipe got last.
    last: String,
}

impl Picture {
    fn show(&mut self, seen: Seen) -> io::Result<()> {
        self.shown = Some(seen);
        if ui::size().is_some() {
            return self.redraw();
        }
        // One picture below the other, and only if it is another one.
        let Some(seen) = &self.shown else { return Ok(()) };
        let drawn = seen.draw(Canvas::here());
        if drawn != self.last {
            ui::text(format_args!("{drawn}\n"))?;
            self.last = drawn;
        }
        Ok(())
    }

    /// Draws what is known with the time that it is now.
    fn redraw(&mut self) -> io::Result<()> {
        let (Some(seen), Some((_, rows))) = (&self.shown, ui::size()) else { return Ok(()) };
        let drawn = coloured(seen.draw(Canvas::here()));
        let mut screen = String::new();
        if !self.entered {
            screen.push_str(ENTER);
            self.entered = true;
        }
        screen.push_str(CORNER);
        let lines: Vec<&str> = drawn.lines().collect();
        let room = rows.saturating_sub(1).max(1);
        for line in lines.iter().take(room) {
            screen.push_str(line);
            screen.push_str(REST_OF_LINE);
            screen.push_str("\r\n");
        }
        if lines.len() > room {
            screen.push_str(&format!("… {} more lines", lines.len() - room));
            screen.push_str(REST_OF_LINE);
        }
        screen.push_str(ALL_BELOW);
        let mut out = io::stdout().lock();
        out.write_all(screen.as_bytes())?;
        out.flush()
    }

    /// Leaves the last picture where the next command is typed.
    fn finish(mut self) -> io::Result<()> {
        if !self.entered {
            return Ok(());
        }
        self.leave();
        match &self.shown {
            Some(seen) => ui::text(seen.draw(Canvas::here())),
            None => Ok(()),
        }
    }

    fn leave(&mut self) {
        if self.entered {
            self.entered = false;
            // A window that is gone needs nothing given back.
            let mut out = io::stdout().lock();
            let _ = out.write_all(LEAVE.as_bytes()).and_then(|()| out.flush());
        }
    }
}

/// However it ends, the window is given back as it was.
impl Drop for Picture {
    fn drop(&mut self) {
        self.leave();
    }
}

/// With colours only if this window wants them. Not by writing through anstream, which would take our movements for
/// colours and leave them out too.
fn coloured(drawn: String) -> String {
    match AutoStream::choice(&io::stdout()) {
        ColorChoice::Never => anstream::adapter::strip_str(&drawn).to_string(),
        _ => drawn,
    }
}
