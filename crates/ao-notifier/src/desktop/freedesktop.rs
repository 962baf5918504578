//! Linux and similar systems: the owner of `org.freedesktop.Notifications` on the session bus shows notices.
//!
//! With zbus directly and not with `notify-rust`, which depends on an older version: the binary would contain two of
//! them for one method of one interface. This also allows the bus from the settings, escaping by the capabilities of
//! the desktop, and a time limit for clicks.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use ao_core::notice::NoticeLevel;
use ao_ports::secret::is_secret;
use futures::StreamExt;
use reqwest::Url;
use tokio::process::Command;
use tokio::sync::Semaphore;
use zbus::connection::Builder;
use zbus::{Connection, MatchRule, MessageStream, Variant};

use crate::settings::{ChannelError, ChannelSettings};
use crate::text::{as_it_is, entities, fit};

const NAME: &str = "org.freedesktop.Notifications";
const PATH: &str = "/org/freedesktop/Notifications";
const BUS: &str = "org.freedesktop.DBus";
const BUS_PATH: &str = "/org/freedesktop/DBus";
/// Longer texts would be cut, or fill the screen.
const TEXT: usize = 1000;
/// Time for which a notice can be clicked, and the number of such notices at a time.
const CLICKABLE: Duration = Duration::from_secs(15 * 60);
const MOST_CLICKABLE: usize = 16;

/// The session bus. A connection is opened for each notice: notices are rare, and a restarted session has another bus.
#[derive(Debug)]
pub(super) struct DesktopSystem {
    address: Option<String>,
    /// The program that opens a URL.
    opener: String,
    clicks: Arc<Semaphore>,
}

impl DesktopSystem {
    pub(super) fn new(settings: &ChannelSettings<'_>) -> Result<DesktopSystem, ChannelError> {
        Ok(DesktopSystem {
            address: (settings.env)("DBUS_SESSION_BUS_ADDRESS").filter(|set| !set.is_empty()),
            opener: settings.find("opener", None).map_or_else(|| "xdg-open".to_owned(), |found| found.value),
            clicks: Arc::new(Semaphore::new(MOST_CLICKABLE)),
        })
    }

    pub(super) async fn show(
        &self,
        level: NoticeLevel,
        title: &str,
        text: &str,
        link: Option<&Url>,
    ) -> Result<(), String> {
        let builder = match &self.address {
            Some(address) => Builder::address(address.as_str()),
            None => Builder::session(),
        };
        let connection = builder.build().await.map_err(|err| {
            format!(
                "the desktop's bus cannot be reached: {err}; use another notifier where there is no desktop"
            )
        })?;
        self.ask(connection, level, title, text, link)
            .await
            .map_err(|err| format!("the desktop did not show it: {err}"))
    }

    async fn ask(
        &self,
        connection: Connection,
        level: NoticeLevel,
        title: &str,
        text: &str,
        link: Option<&Url>,
    ) -> zbus::Result<()> {
        let capabilities =
            connection.call_method(Some(NAME), PATH, Some(NAME), "GetCapabilities", &()).await?;
        let able: Vec<String> = capabilities.body().deserialize()?;
        let can = |what: &str| able.iter().any(|able| able == what);
        // Desktops with markup would take a `<` for a tag, and others would show the escape sequence.
        let text = if can("body-markup") { fit(text, TEXT, entities) } else { fit(text, TEXT, as_it_is) };
        let urgency: u8 = match level {
            NoticeLevel::Info => 0,
            NoticeLevel::Warning | NoticeLevel::Action => 1,
            NoticeLevel::Urgent => 2,
        };
        let click = link.filter(|_| can("actions")).zip(self.clicks.clone().try_acquire_owned().ok());
        // Subscribed before it is shown, so that no click is missed.
        let signals = match &click {
            Some(_) => Some(signals(&connection).await?),
            None => None,
        };
        let actions = if click.is_some() { vec!["default", "Open"] } else { vec![] };
        let hints = HashMap::from([("urgency", Variant::from(urgency))]);
        let (replaces, icon, as_long_as_usual) = (0_u32, "", -1_i32);
        let notice = ("ao", replaces, icon, title, text.as_str(), actions, hints, as_long_as_usual);
        let shown = connection.call_method(Some(NAME), PATH, Some(NAME), "Notify", &notice).await?;
        if let (Some((link, permit)), Some(signals)) = (click, signals) {
            let (id, link, opener) = (shown.body().deserialize::<u32>()?, link.clone(), self.opener.clone());
            tokio::spawn(async move {
                let _in_count = permit;
                let clicked = tokio::time::timeout(CLICKABLE, clicked(signals, id)).await;
                if clicked == Ok(true) {
                    open(&opener, &link).await;
                }
                drop(connection);
            });
        }
        Ok(())
    }
}

/// Asks the session bus for a desktop that shows notices, or that can be started for that.
pub(super) async fn reach(address: Option<String>) -> Result<(), String> {
    let builder = match &address {
        Some(address) => Builder::address(address.as_str()),
        None => Builder::session(),
    };
    let connection = builder.build().await.map_err(|_| "no desktop session answers".to_owned())?;
    for method in ["ListNames", "ListActivatableNames"] {
        let answer = connection.call_method(Some(BUS), BUS_PATH, Some(BUS), method, &()).await;
        let names: zbus::Result<Vec<String>> = answer.and_then(|answer| answer.body().deserialize());
        if names.is_ok_and(|names| names.iter().any(|name| name == NAME)) {
            return Ok(());
        }
    }
    Err("no desktop in this session shows notices".to_owned())
}

async fn signals(connection: &Connection) -> zbus::Result<MessageStream> {
    let rule = MatchRule::builder().msg_type(zbus::message::Type::Signal).interface(NAME).build()?;
    MessageStream::for_match_rule(rule, connection, None).await
}

/// Waits until the notice is clicked or closed. Returns true for a click.
async fn clicked(mut signals: MessageStream, id: u32) -> bool {
    while let Some(Ok(signal)) = signals.next().await {
        let header = signal.header();
        let member = header.member().map(|member| member.to_string()).unwrap_or_default();
        match member.as_str() {
            "ActionInvoked" => {
                if let Ok((of, action)) = signal.body().deserialize::<(u32, String)>()
                    && of == id
                {
                    return action == "default";
                }
            }
            "NotificationClosed"
                if signal.body().deserialize::<(u32, u32)>().is_ok_and(|(of, _)| of == id) =>
            {
                return false;
            }
            _ => {}
        }
    }
    false
}

/// Opens a URL. It begins with `http`, so it cannot be taken for an option.
async fn open(opener: &str, link: &Url) {
    // Through a shell that exits at once: a browser started this way is not a descendant of the daemon, which could not
    // call its API. Nor does it get the daemon's tokens.
    let secrets = std::env::vars_os().map(|(name, _)| name);
    let secrets = secrets.filter(|name| name.to_str().is_none_or(is_secret));
    let mut command = Command::new("/bin/sh");
    for name in secrets {
        command.env_remove(name);
    }
    let program = command
        .args(["-c", "\"$0\" \"$1\" &", opener, link.as_str()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    if let Ok(mut program) = program {
        let _ = program.wait().await;
    }
}
