//! The desktop of whoever started the daemon.

use ao_core::notice::Notice;
use ao_ports::NotifyError;

use crate::settings::{ChannelError, Settings};
use crate::words::{body, title};

#[cfg_attr(all(target_os = "linux", feature = "desktop"), path = "freedesktop.rs")]
#[cfg_attr(target_os = "macos", path = "osascript.rs")]
#[cfg_attr(not(any(all(target_os = "linux", feature = "desktop"), target_os = "macos")), path = "nothing.rs")]
mod system;

/// Shows notices on the desktop.
#[derive(Debug)]
pub(crate) struct Desktop(system::System);

impl Desktop {
    pub(crate) fn new(settings: &Settings<'_>) -> Result<Desktop, ChannelError> {
        system::System::new(settings).map(Desktop)
    }

    pub(crate) async fn show(&self, notice: &Notice) -> Result<(), NotifyError> {
        self.0.show(notice.level, &title(notice), &body(notice)).await.map_err(NotifyError::Failed)
    }
}
