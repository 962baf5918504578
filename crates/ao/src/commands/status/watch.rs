//! `ao status --watch`: redraws in place after each event.
//!
//! The daemon is asked only after an event. Ages are redrawn by the clock alone.

use std::io::{self, Write};
use std::time::Duration;

use anstream::{AutoStream, ColorChoice};
use ao_api::client::Client;
use tokio::signal::unix::{SignalKind, signal};

use super::{StatusView, raw};
use crate::cli::context::Context;
use crate::client::event_watch::EventWatch;
use crate::client::{event_watch, find_session};
use crate::error::{CommandError, FailureKind};
use crate::show::Canvas;
use crate::ui;

/// The alternate screen without a cursor, so that the previous content comes back afterwards.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
/// Moves to the corner; each line clears its rest, and the end clears everything below. Clearing all first would
/// flicker.
const CORNER: &str = "\x1b[H";
const REST_OF_LINE: &str = "\x1b[K";
const ALL_BELOW: &str = "\x1b[J";

pub(super) async fn watch(client: &Client, session: Option<&str>, cx: &Context) -> Result<(), CommandError> {
    let signals = |kind| signal(kind).map_err(CommandError::environment);
    let (mut interrupt, mut terminate) =
        (signals(SignalKind::interrupt())?, signals(SignalKind::terminate())?);
    // Use the id from here on: a prefix may match another session later.
    let id = match session {
        Some(session) => Some(find_session(client, session).await?.id),
        None => None,
    };
    let session = id.as_deref();
    let mut news = EventWatch::open(client, session).await?;
    let mut picture = StatusScreen::default();
    let mut seconds = tokio::time::interval(Duration::from_secs(1));
    loop {
        if let Err(err) = look(client, session, cx, &mut picture).await? {
            // The daemon may have just gone; the feed reports that, and waits for it.
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
            // Ctrl-C is the normal way to stop.
            _ = interrupt.recv() => return Ok(picture.finish()?),
            _ = terminate.recv() => return Err(CommandError::new(FailureKind::Interrupted(15), "ended by a signal")),
        }
    }
}

/// Requests the state once and shows it. The caller decides about errors of the daemon.
async fn look(
    client: &Client,
    session: Option<&str>,
    cx: &Context,
    picture: &mut StatusScreen,
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
    Ok(match StatusView::look(client, session).await {
        Ok(seen) => {
            picture.show(seen)?;
            Ok(())
        }
        Err(err) => Err(err),
    })
}

/// The current picture, and where it is shown.
#[derive(Default)]
struct StatusScreen {
    shown: Option<StatusView>,
    /// The alternate screen is in use.
    entered: bool,
    /// The last output to a file or a pipe.
    last: String,
}

impl StatusScreen {
    fn show(&mut self, seen: StatusView) -> io::Result<()> {
        self.shown = Some(seen);
        if ui::size().is_some() {
            return self.redraw();
        }
        // Print one picture after the other, only if it has changed.
        let Some(seen) = &self.shown else { return Ok(()) };
        let drawn = seen.draw(Canvas::here());
        if drawn != self.last {
            ui::text(format_args!("{drawn}\n"))?;
            self.last = drawn;
        }
        Ok(())
    }

    /// Draws the known state with the current time.
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

    /// Leaves the last picture in place for the next command.
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
            // A window that is gone needs no restoring.
            let mut out = io::stdout().lock();
            let _ = out.write_all(LEAVE.as_bytes()).and_then(|()| out.flush());
        }
    }
}

/// Restores the window on every way out.
impl Drop for StatusScreen {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Removes colours unless this window supports them. Writing through anstream would remove cursor movements as well.
fn coloured(drawn: String) -> String {
    match AutoStream::choice(&io::stdout()) {
        ColorChoice::Never => anstream::adapter::strip_str(&drawn).to_string(),
        _ => drawn,
    }
}
