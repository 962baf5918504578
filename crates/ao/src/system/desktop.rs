//! The desktop: detects one, and opens pages in the browser.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use crate::program::{self, ProgramError};

/// A desktop passes the URL on and returns; a browser that it starts itself may stay.
const LIMIT: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum DesktopError {
    #[error("there is no desktop to show it on")]
    None,
    #[error("the desktop could not be reached")]
    NotAsked(#[source] ProgramError),
    #[error("`{program}` could not open it")]
    Refused { program: &'static str },
}

/// Returns true if there is a desktop that can show a page.
pub fn is_there() -> bool {
    opener(cfg!(target_os = "macos"), |name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
        .is_some_and(|program| program::find(program).is_some())
}

/// Opens a page in the user's browser. Call [`is_there`] first if a missing desktop is no error.
pub async fn open(url: &str) -> Result<(), DesktopError> {
    if !is_there() {
        return Err(DesktopError::None);
    }
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    // A group of its own: a browser that is started here must outlive us, and our Ctrl-C.
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut child = command
        .spawn()
        .map_err(|err| DesktopError::NotAsked(ProgramError::NotRun { program: program.into(), err }))?;
    match tokio::time::timeout(LIMIT, child.wait()).await {
        Ok(Ok(status)) if !status.success() => Err(DesktopError::Refused { program }),
        // It stays because the browser was not running before.
        _ => Ok(()),
    }
}

/// Returns the program that opens pages. Over ssh without a display, the browser would open on the remote machine.
fn opener(mac: bool, set: impl Fn(&str) -> bool) -> Option<&'static str> {
    if mac {
        return (!set("SSH_CONNECTION")).then_some("open");
    }
    (set("DISPLAY") || set("WAYLAND_DISPLAY")).then_some("xdg-open")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_opened_only_where_somebody_can_see_it() {
        let with = |mac, set: &'static [&str]| opener(mac, |name| set.contains(&name));
        assert_eq!(with(false, &[]), None);
        assert_eq!(with(false, &["DISPLAY"]), Some("xdg-open"));
        assert_eq!(with(false, &["WAYLAND_DISPLAY"]), Some("xdg-open"));
        assert_eq!(with(true, &[]), Some("open"));
        assert_eq!(with(true, &["SSH_CONNECTION"]), None);
    }
}
