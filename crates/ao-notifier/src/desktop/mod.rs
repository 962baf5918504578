//! The desktop of whoever started the daemon.

use std::time::Duration;

use ao_core::notice::Notice;
use ao_ports::NotifyError;

use crate::links::Link;
use crate::settings::{ChannelError, Settings};
use crate::words::{body, title};

#[cfg_attr(all(target_os = "linux", feature = "desktop"), path = "freedesktop.rs")]
#[cfg_attr(target_os = "macos", path = "osascript.rs")]
#[cfg_attr(not(any(all(target_os = "linux", feature = "desktop"), target_os = "macos")), path = "nothing.rs")]
mod system;

/// How long a desktop has to say that it is there.
const PATIENCE: Duration = Duration::from_secs(2);

/// Finds out whether there is a desktop that notices can be shown on, or why not.
pub async fn desktop_reachable(env: &(dyn Fn(&str) -> Option<String> + Sync)) -> Result<(), String> {
    let address = env("DBUS_SESSION_BUS_ADDRESS").filter(|address| !address.is_empty());
    let asked = tokio::time::timeout(PATIENCE, system::reach(address)).await;
    asked.unwrap_or_else(|_| Err(format!("the desktop did not answer within {} s", PATIENCE.as_secs())))
}

/// Shows notices on the desktop.
#[derive(Debug)]
pub(crate) struct Desktop(system::System);

impl Desktop {
    /// `opener`: the program that a click hands the address to.
    pub(crate) const KNOWN: &[&str] = if cfg!(target_os = "linux") { &["opener"] } else { &[] };

    pub(crate) fn new(settings: &Settings<'_>) -> Result<Desktop, ChannelError> {
        system::System::new(settings).map(Desktop)
    }

    /// `link` is where a click on it leads, on desktops that can tell of one.
    pub(crate) async fn show(&self, notice: &Notice, link: Option<&Link>) -> Result<(), NotifyError> {
        let (title, text) = (title(notice), body(notice));
        self.0
            .show(notice.level, &title, &text, link.map(|link| &link.url))
            .await
            .map_err(NotifyError::Failed)
    }
}
