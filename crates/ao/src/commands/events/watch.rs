//! `ao events` without a subcommand: past events, and with `-f` new ones.

use std::collections::{BTreeMap, VecDeque};

use ao_api::Event;
use ao_api::client::Client;
use jiff::tz::TimeZone;
use tokio::time::Instant;

use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::{event_watch, find_session};
use crate::error::CommandError;
use crate::{show, ui};

/// Number of events shown by default.
const LATEST: u64 = 50;

#[derive(Debug, clap::Args)]
pub(crate) struct WatchArgs {
    /// Keep printing new events; Ctrl-C stops
    #[arg(long, short)]
    follow: bool,
    /// Only events of this session
    #[arg(long, short, add = completers::sessions())]
    session: Option<String>,
    /// Start after the event with this number [default: the latest 50, or with -f new events only]
    #[arg(long, value_name = "N")]
    after: Option<u64>,
}

pub(super) fn run(watch: &WatchArgs, cx: &Context) -> Result<(), CommandError> {
    cx.call(async |client| {
        // By id, which is stable; and so that a wrong name is an error.
        let only = match &watch.session {
            Some(session) => Some(find_session(client, session).await?.id),
            None => None,
        };
        let mut printer = EventPrinter::new(client, only, cx.json()).await;
        match watch.follow {
            true => forever(client, watch.after, &mut printer).await,
            false => up_to_now(client, watch.after, &mut printer).await,
        }
    })
}

/// Prints everything up to the current last event.
async fn up_to_now(
    client: &Client,
    after: Option<u64>,
    printer: &mut EventPrinter<'_>,
) -> Result<(), CommandError> {
    let last = client.sessions().await?.seq;
    // The latest event of one session may be far behind the latest of all.
    let of_one = after.is_none() && printer.only.is_some();
    let mut behind = match of_one {
        true => 0,
        false => after.unwrap_or(last.saturating_sub(LATEST)),
    };
    let mut latest = VecDeque::new();
    // Read the events of all sessions: the feed has no end, and only the last event of all is known to come.
    let mut events = match behind < last {
        true => client.events(Some(behind), None).await?,
        false => return Ok(()),
    };
    let mut until = Instant::now() + event_watch::AWAY;
    while behind < last {
        let lost = match events.next().await {
            Ok(Some(event)) => {
                behind = event.seq;
                if !of_one {
                    printer.print(&event).await?;
                } else if printer.only == event.session_id {
                    latest.push_back(event);
                    if latest.len() as u64 > LATEST {
                        latest.pop_front();
                    }
                }
                until = Instant::now() + event_watch::AWAY;
                continue;
            }
            Ok(None) => event_watch::ended(),
            Err(err) => err,
        };
        // All events exist already, so a daemon that sends none for this long sends none at all.
        events = event_watch::again(client, Some(behind), None, lost, until).await?;
    }
    for event in &latest {
        printer.print(event).await?;
    }
    Ok(())
}

/// Prints new events, across restarts of the daemon, without gaps.
async fn forever(
    client: &Client,
    after: Option<u64>,
    printer: &mut EventPrinter<'_>,
) -> Result<(), CommandError> {
    let mut behind = match after {
        Some(after) => after,
        None => client.sessions().await?.seq,
    };
    let mut events = client.events(Some(behind), printer.only.as_deref()).await?;
    loop {
        let lost = match events.next().await {
            Ok(Some(event)) => {
                behind = event.seq;
                printer.print(&event).await?;
                continue;
            }
            Ok(None) => event_watch::ended(),
            Err(err) => err,
        };
        let until = Instant::now() + event_watch::AWAY;
        events = event_watch::again(client, Some(behind), printer.only.as_deref(), lost, until).await?;
    }
}

/// Prints events, with the names of sessions.
struct EventPrinter<'a> {
    client: &'a Client,
    only: Option<String>,
    json: bool,
    names: BTreeMap<String, String>,
    /// The last event that the known names cover.
    asked: u64,
    zone: TimeZone,
}

impl<'a> EventPrinter<'a> {
    async fn new(client: &'a Client, only: Option<String>, json: bool) -> EventPrinter<'a> {
        EventPrinter { client, only, json, names: BTreeMap::new(), asked: 0, zone: TimeZone::system() }
    }

    async fn print(&mut self, event: &Event) -> Result<(), CommandError> {
        if self.only.is_some() && self.only != event.session_id {
            return Ok(());
        }
        if self.json {
            return Ok(ui::json(event)?);
        }
        self.learn_from(event);
        if show::nameless(event, &self.names) && self.asked < event.seq {
            self.ask().await;
        }
        Ok(ui::line(show::event(event, &self.names, &self.zone, ui::width()))?)
    }

    /// Remembers the name from the first event of a session, which may have ended long ago.
    fn learn_from(&mut self, event: &Event) {
        let body = event.data.get("body").unwrap_or(&event.data);
        if let (Some(id), Some(name)) = (&event.session_id, body["queued"]["spec"]["name"].as_str()) {
            self.names.insert(id.clone(), name.to_owned());
        }
    }

    /// Requests the names of current sessions. Sessions that ended before are not among them.
    async fn ask(&mut self) {
        if let Ok(all) = self.client.sessions().await {
            self.asked = all.seq;
            self.names.extend(all.sessions.into_iter().map(|session| (session.id, session.name)));
        }
    }
}
