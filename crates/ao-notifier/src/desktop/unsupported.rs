//! The fallback for unsupported desktops, and for builds without the feature `desktop`.

use ao_core::notice::NoticeLevel;
use reqwest::Url;

use crate::settings::{ChannelError, ChannelSettings};

pub(super) async fn reach(_: Option<String>) -> Result<(), String> {
    Err("this build of `ao` cannot show notices on a desktop".to_owned())
}

#[derive(Debug)]
pub(super) enum DesktopSystem {}

impl DesktopSystem {
    pub(super) fn new(settings: &ChannelSettings<'_>) -> Result<DesktopSystem, ChannelError> {
        Err(settings.not_here("this build of `ao` cannot show notices on a desktop; use another plugin"))
    }

    pub(super) async fn show(&self, _: NoticeLevel, _: &str, _: &str, _: Option<&Url>) -> Result<(), String> {
        match *self {}
    }
}
