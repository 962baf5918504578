//! Shows notices on the desktop of the user who started the daemon.

use std::time::Duration;

use ao_core::notice::Notice;
use ao_ports::NotifyError;

use crate::links::NoticeLink;
use crate::settings::{ChannelError, ChannelSettings};
use crate::text::{body, title};

#[cfg_attr(all(target_os = "linux", feature = "desktop"), path = "freedesktop.rs")]
#[cfg_attr(target_os = "macos", path = "osascript.rs")]
#[cfg_attr(
    not(any(all(target_os = "linux", feature = "desktop"), target_os = "macos")),
    path = "unsupported.rs"
)]
mod system;

/// Time limit for an answer of the desktop.
const PATIENCE: Duration = Duration::from_secs(2);

/// Checks if there is a desktop that can show notices, or returns why not.
pub async fn desktop_reachable(env: &(dyn Fn(&str) -> Option<String> + Sync)) -> Result<(), String> {
    let address = env("DBUS_SESSION_BUS_ADDRESS").filter(|address| !address.is_empty());
    let asked = tokio::time::timeout(PATIENCE, system::reach(address)).await;
    asked.unwrap_or_else(|_| Err(format!("the desktop did not answer within {} s", PATIENCE.as_secs())))
}

/// Shows notices on the desktop.
#[derive(Debug)]
pub(crate) struct DesktopNotifier(system::DesktopSystem);

impl DesktopNotifier {
    /// `opener`: the program that gets the URL of a click.
    pub(crate) const KNOWN: &[&str] = if cfg!(target_os = "linux") { &["opener"] } else { &[] };

    pub(crate) fn new(settings: &ChannelSettings<'_>) -> Result<DesktopNotifier, ChannelError> {
        system::DesktopSystem::new(settings).map(DesktopNotifier)
    }

    /// `link` is opened by a click, on desktops that report clicks.
    pub(crate) async fn show(&self, notice: &Notice, link: Option<&NoticeLink>) -> Result<(), NotifyError> {
        let (title, text) = (title(notice), body(notice));
        self.0
            .show(notice.level, &title, &text, link.map(|link| &link.url))
            .await
            .map_err(NotifyError::Failed)
    }
}
