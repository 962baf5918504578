//! macOS: a script shows it. The words are arguments of the script and never part of it.

use std::process::Stdio;

use ao_core::notice::Level;
use reqwest::Url;
use tokio::process::Command;

use crate::settings::{ChannelError, Settings};
use crate::words::{as_it_is, fit, with_lines};

/// More of a text would be cut.
const TEXT: usize = 1000;
const SCRIPT: [&str; 6] = [
    "-e",
    "on run argv",
    "-e",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "-e",
    "end run",
];

/// Over ssh, notices would be shown where nobody sits.
pub(super) async fn reach(_: Option<String>) -> Result<(), String> {
    match std::env::var_os("SSH_CONNECTION") {
        Some(_) => Err("this is a session over ssh".to_owned()),
        None => Ok(()),
    }
}

#[derive(Debug)]
pub(super) struct System;

impl System {
    pub(super) fn new(_: &Settings<'_>) -> Result<System, ChannelError> {
        Ok(System)
    }

    /// A script's notices lead nowhere when they are clicked, so where it would lead is said.
    pub(super) async fn show(
        &self,
        _: Level,
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
