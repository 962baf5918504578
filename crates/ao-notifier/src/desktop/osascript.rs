//! macOS: a script shows notices. The text is passed as arguments and is never part of the script.

use std::process::Stdio;

use ao_core::notice::NoticeLevel;
use reqwest::Url;
use tokio::process::Command;

use crate::settings::{ChannelError, ChannelSettings};
use crate::text::{as_it_is, fit, with_lines};

/// Longer texts would be cut.
const TEXT: usize = 1000;
const SCRIPT: [&str; 6] = [
    "-e",
    "on run argv",
    "-e",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "-e",
    "end run",
];

/// Over ssh, notices would appear on a desktop that the user does not see.
pub(super) async fn reach(_: Option<String>) -> Result<(), String> {
    match std::env::var_os("SSH_CONNECTION") {
        Some(_) => Err("this is a session over ssh".to_owned()),
        None => Ok(()),
    }
}

#[derive(Debug)]
pub(super) struct DesktopSystem;

impl DesktopSystem {
    pub(super) fn new(_: &ChannelSettings<'_>) -> Result<DesktopSystem, ChannelError> {
        Ok(DesktopSystem)
    }

    /// Notices of a script cannot be clicked, so the URL is added to the text.
    pub(super) async fn show(
        &self,
        _: NoticeLevel,
        title: &str,
        text: &str,
        link: Option<&Url>,
    ) -> Result<(), String> {
        let lines: Vec<String> = link.map(Url::to_string).into_iter().collect();
        let text = with_lines(TEXT, &lines, |most| fit(text, most, as_it_is));
        let shown = Command::new("osascript")
            .args(SCRIPT)
            // The title begins with a level, so neither of them can be taken for an option.
            .args([title, &text])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .status()
            .await
            .map_err(|err| format!("`osascript` could not be started: {err}"))?;
        if shown.success() { Ok(()) } else { Err(format!("`osascript` did not show it: {shown}")) }
    }
}
