//! Linux and its like: whoever has the name `org.freedesktop.Notifications` on the session's bus shows it.

use std::collections::HashMap;

use ao_core::notice::Level;
use zbus::connection::Builder;
use zbus::{Connection, Variant};

use crate::settings::{ChannelError, Settings};
use crate::words::{as_it_is, entities, fit};

const NAME: &str = "org.freedesktop.Notifications";
const PATH: &str = "/org/freedesktop/Notifications";
/// More of a text would be cut, or fill the screen.
const TEXT: usize = 1000;

/// Which bus it is. The connection is made for each notice: they are rare, and the bus of a session that has ended and
/// begun again is another one.
#[derive(Debug)]
pub(super) struct System {
    address: Option<String>,
}

impl System {
    pub(super) fn new(settings: &Settings<'_>) -> Result<System, ChannelError> {
        Ok(System { address: (settings.env)("DBUS_SESSION_BUS_ADDRESS").filter(|set| !set.is_empty()) })
    }

    pub(super) async fn show(&self, level: Level, title: &str, text: &str) -> Result<(), String> {
        let builder = match &self.address {
            Some(address) => Builder::address(address.as_str()),
            None => Builder::session(),
        };
        let connection = builder.build().await.map_err(|err| {
            format!(
                "the desktop's bus cannot be reached: {err}; use another notifier where there is no desktop"
            )
        })?;
        ask(&connection, level, title, text)
            .await
            .map_err(|err| format!("the desktop did not show it: {err}"))
    }
}

async fn ask(connection: &Connection, level: Level, title: &str, text: &str) -> zbus::Result<()> {
    let call = async |method, body| connection.call_method(Some(NAME), PATH, Some(NAME), method, &body).await;
    let able: Vec<String> = call("GetCapabilities", ()).await?.body().deserialize()?;
    // Those that know markup would take a `<` for a tag, and the others would show what it is escaped by.
    let text = if able.iter().any(|able| able == "body-markup") {
        fit(text, TEXT, entities)
    } else {
        fit(text, TEXT, as_it_is)
    };
    let urgency: u8 = match level {
        Level::Info => 0,
        Level::Warning | Level::Action => 1,
        Level::Urgent => 2,
    };
    let hints = HashMap::from([("urgency", Variant::from(urgency))]);
    let (replaces, icon, actions, as_long_as_usual) = (0_u32, "", Vec::<&str>::new(), -1_i32);
    let notice = ("ao", replaces, icon, title, text.as_str(), actions, hints, as_long_as_usual);
    connection.call_method(Some(NAME), PATH, Some(NAME), "Notify", &notice).await?;
    Ok(())
}
