//! Where no desktop is known, or `ao` was built without the feature `desktop`.

use ao_core::notice::Level;
use reqwest::Url;

use crate::settings::{ChannelError, Settings};

pub(super) async fn reach(_: Option<String>) -> Result<(), String> {
    Err("this build of `ao` cannot show notices on a desktop".to_owned())
}

#[derive(Debug)]
pub(super) enum System {}

impl System {
    pub(super) fn new(settings: &Settings<'_>) -> Result<System, ChannelError> {
        Err(settings.not_here("this build of `ao` cannot show notices on a desktop; use another plugin"))
    }

    pub(super) async fn show(&self, _: Level, _: &str, _: &str, _: Option<&Url>) -> Result<(), String> {
        match *self {}
    }
}
