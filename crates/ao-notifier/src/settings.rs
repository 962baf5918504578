//! The settings of a channel, and their errors.

use std::collections::BTreeMap;

use reqwest::Url;

use crate::channel::PLUGINS;

/// Reads an environment variable.
pub(crate) type EnvLookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The reason why a channel cannot be set up. Never contains a value of a setting: many are secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    #[error("notifier `{name}` has no `{key}`; set `notifiers.{name}.{key}`{}", or(*.variable))]
    Missing { name: String, key: &'static str, variable: Option<&'static str> },
    #[error("`{key}` is not a setting of notifier `{name}`; a `{plugin}` takes {}", list(.known))]
    Unknown { name: String, plugin: &'static str, key: String, known: &'static [&'static str] },
    #[error("{place} {why}")]
    Wrong { place: String, why: String },
    #[error("`{plugin}`, which notifier `{name}` is to be, does not exist; there are {}", list(&PLUGINS.iter().map(|plugin| plugin.name).collect::<Vec<_>>()))]
    NoSuchPlugin { name: String, plugin: String },
    #[error("notifier `{name}` cannot be used here: {why}")]
    NotHere { name: String, why: String },
}

/// The settings of one channel.
pub(crate) struct ChannelSettings<'a> {
    pub(crate) name: &'a str,
    written: &'a BTreeMap<String, String>,
    pub(crate) env: EnvLookup<'a>,
}

/// A setting, and where it was found, for error messages.
pub(crate) struct FoundSetting {
    pub(crate) value: String,
    pub(crate) place: String,
}

impl<'a> ChannelSettings<'a> {
    /// Rejects settings that the plugin does not know, which are usually typos. A `known` that ends in a dot is the
    /// prefix of a name.
    pub(crate) fn new(
        name: &'a str,
        plugin: &'static str,
        known: &'static [&'static str],
        written: &'a BTreeMap<String, String>,
        env: EnvLookup<'a>,
    ) -> Result<ChannelSettings<'a>, ChannelError> {
        let is_known = |key: &str| {
            known
                .iter()
                .any(|known| if known.ends_with('.') { key.starts_with(known) } else { key == *known })
        };
        match written.keys().find(|key| !is_known(key)) {
            Some(key) => {
                Err(ChannelError::Unknown { name: name.to_owned(), plugin, key: key.clone(), known })
            }
            None => Ok(ChannelSettings { name, written, env }),
        }
    }

    /// Looks a setting up; the configuration takes precedence over the environment. An empty value counts as absent:
    /// `${NOT_SET}` becomes that.
    pub(crate) fn find(&self, key: &'static str, variable: Option<&'static str>) -> Option<FoundSetting> {
        let full = |value: &String| !value.trim().is_empty();
        if let Some(value) = self.written.get(key).filter(|value| full(value)) {
            return Some(FoundSetting { value: value.trim().to_owned(), place: self.place(key) });
        }
        let variable = variable?;
        let value = (self.env)(variable).filter(full)?;
        Some(FoundSetting { value: value.trim().to_owned(), place: format!("the variable `{variable}`") })
    }

    pub(crate) fn need(
        &self,
        key: &'static str,
        variable: Option<&'static str>,
    ) -> Result<FoundSetting, ChannelError> {
        self.find(key, variable).ok_or_else(|| ChannelError::Missing {
            name: self.name.to_owned(),
            key,
            variable,
        })
    }

    /// Returns the settings with this prefix, without the prefix.
    pub(crate) fn group(&self, beginning: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.written
            .iter()
            .filter_map(move |(key, value)| Some((key.strip_prefix(beginning)?, value.as_str())))
    }

    pub(crate) fn place(&self, key: &str) -> String {
        format!("`notifiers.{}.{key}`", self.name)
    }

    pub(crate) fn not_here(&self, why: impl ToString) -> ChannelError {
        ChannelError::NotHere { name: self.name.to_owned(), why: why.to_string() }
    }
}

impl FoundSetting {
    pub(crate) fn wrong(&self, why: impl Into<String>) -> ChannelError {
        ChannelError::Wrong { place: self.place.clone(), why: why.into() }
    }

    pub(crate) fn address(&self) -> Result<Url, ChannelError> {
        match Url::parse(&self.value) {
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(url),
            _ => Err(self.wrong("is not an address; it has to begin with `https://`")),
        }
    }

    /// Parses a URL with a secret in it, which must not be sent unencrypted.
    pub(crate) fn secret_address(&self) -> Result<Url, ChannelError> {
        let url = self.address()?;
        if url.scheme() == "http" && !is_loopback(&url) {
            return Err(self.wrong("would send its secret in the open; it has to begin with `https://`"));
        }
        Ok(url)
    }
}

/// Returns true if the URL is on this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn or(variable: Option<&str>) -> String {
    variable.map(|variable| format!(" or the variable `{variable}`")).unwrap_or_default()
}

fn list(names: &[&str]) -> String {
    match names {
        [] => "no settings".to_owned(),
        names => {
            let names: Vec<String> = names
                .iter()
                .map(|name| if name.ends_with('.') { format!("`{name}…`") } else { format!("`{name}`") })
                .collect();
            names.join(", ")
        }
    }
}
