//! A channel as a person has set it up: where notices go, by which plugin.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ao_core::notice::Notice;
use ao_ports::{Notifier, NotifierAbilities, NotifyError};
use async_trait::async_trait;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use tokio::time::Instant;

use crate::desktop::Desktop;
use crate::http::Endpoint;
use crate::links::{Link, Page, links};
use crate::secrets::Secrets;
use crate::settings::{ChannelError, Environment, Found, Settings};
use crate::{composio, discord, openclaw, slack, telegram, webhook};

/// The plugins that can be named.
pub(crate) const PLUGINS: &[&str] =
    &["desktop", "slack", "discord", "composio", "webhook", "openclaw", "telegram"];

/// How long a channel has for one notice.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Tells people by one plugin, with the settings of one person.
pub struct Channel {
    plugin: &'static str,
    sender: Sender,
    timeout: Duration,
    /// Where the page in the browser is.
    dashboard: Page,
    /// Until when the channel wants to be left alone. Shared by all notices: asking again for each of them is what it
    /// complains about.
    quiet: Mutex<Option<Instant>>,
}

enum Sender {
    Desktop(Desktop),
    Slack(Endpoint),
    Discord(Endpoint),
    Telegram { endpoint: Endpoint, chat: String },
    Webhook { endpoint: Endpoint, secret: Option<String> },
    Composio { endpoint: Endpoint, call: composio::Call },
    Openclaw { endpoint: Endpoint, ask: openclaw::Ask },
}

impl Channel {
    /// Sets up the channel `name`. What `settings` do not say is looked up in the environment, where the plugin has
    /// variables of its own.
    pub fn from_settings(
        name: &str,
        plugin: &str,
        settings: &BTreeMap<String, String>,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Channel, ChannelError> {
        let read = |plugin, known| Settings::new(name, plugin, known, settings, env as Environment<'_>);
        let (plugin, sender) = match plugin {
            "desktop" => ("desktop", Sender::Desktop(Desktop::new(&read("desktop", Desktop::KNOWN)?)?)),
            "slack" => {
                let settings = read("slack", &["webhookUrl"])?;
                let url = settings.need("webhookUrl", Some("SLACK_WEBHOOK_URL"))?.secret_address()?;
                ("slack", Sender::Slack(endpoint(&settings, url, HeaderMap::new(), Secrets::default())?))
            }
            "discord" => {
                let settings = read("discord", &["webhookUrl"])?;
                let url = settings.need("webhookUrl", Some("DISCORD_WEBHOOK_URL"))?.secret_address()?;
                let url = discord::waiting(url);
                ("discord", Sender::Discord(endpoint(&settings, url, HeaderMap::new(), Secrets::default())?))
            }
            "telegram" => ("telegram", telegram(&read("telegram", &["botToken", "chatId", "apiUrl"])?)?),
            "webhook" => ("webhook", webhook(&read("webhook", &["url", "secret", "headers."])?)?),
            "composio" => {
                let settings = read("composio", composio::KNOWN)?;
                let (call, url, headers, key) = composio::read(&settings)?;
                let endpoint = endpoint(&settings, url, headers, Secrets::of(&key))?;
                ("composio", Sender::Composio { endpoint, call })
            }
            "openclaw" => {
                let settings = read("openclaw", openclaw::KNOWN)?;
                let (ask, url, headers, token) = openclaw::read(&settings)?;
                let endpoint = endpoint(&settings, url, headers, Secrets::of(&token))?;
                ("openclaw", Sender::Openclaw { endpoint, ask })
            }
            other => {
                return Err(ChannelError::NoSuchPlugin { name: name.to_owned(), plugin: other.to_owned() });
            }
        };
        Ok(Channel { plugin, sender, timeout: TIMEOUT, dashboard: Page::default(), quiet: Mutex::default() })
    }

    /// Lets notices lead to the page in the browser.
    pub fn with_dashboard(self, page: impl Into<Page>) -> Channel {
        Channel { dashboard: page.into(), ..self }
    }

    /// Gives the channel another time for each notice than 10 s.
    pub fn with_timeout(self, timeout: Duration) -> Channel {
        Channel { timeout, ..self }
    }

    pub fn plugin(&self) -> &'static str {
        self.plugin
    }

    /// Where it sends to, for people: they know it again, and nobody can use it.
    pub fn target(&self) -> String {
        match &self.sender {
            Sender::Desktop(_) => "this desktop".to_owned(),
            Sender::Telegram { chat, .. } => telegram::target(chat),
            Sender::Slack(endpoint)
            | Sender::Discord(endpoint)
            | Sender::Webhook { endpoint, .. }
            | Sender::Composio { endpoint, .. }
            | Sender::Openclaw { endpoint, .. } => endpoint.target(),
        }
    }

    async fn send(&self, notice: &Notice) -> Result<(), NotifyError> {
        let links: Vec<Link> = links(notice, self.dashboard.url().as_ref());
        let none = HeaderMap::new();
        match &self.sender {
            Sender::Desktop(desktop) => desktop.show(notice, links.first()).await,
            Sender::Slack(endpoint) => endpoint.post(json(slack::message(notice, links)), none).await,
            Sender::Discord(endpoint) => endpoint.post(json(discord::message(notice, links)), none).await,
            Sender::Telegram { endpoint, chat } => {
                endpoint.post(json(telegram::message(notice, chat, links)), none).await
            }
            Sender::Webhook { endpoint, secret } => {
                let body = json(webhook::message(notice, &links));
                let headers = webhook::headers(notice, secret.as_deref(), &body);
                endpoint.post(body, headers).await
            }
            Sender::Composio { endpoint, call } => {
                let answer = endpoint.ask(json(call.message(notice, &links)), none).await?;
                composio::failure(&answer).map_or(Ok(()), |why| Err(endpoint.failed(&why)))
            }
            Sender::Openclaw { endpoint, ask } => {
                endpoint.post(json(ask.message(notice, &links)), none).await
            }
        }
    }

    /// How long it still wants to be left alone.
    fn quiet_for(&self) -> Option<Duration> {
        let until = (*self.quiet.lock().unwrap_or_else(PoisonError::into_inner))?;
        let rest = until.saturating_duration_since(Instant::now());
        (!rest.is_zero()).then_some(rest)
    }
}

#[async_trait]
impl Notifier for Channel {
    fn abilities(&self) -> NotifierAbilities {
        NotifierAbilities { buttons: false, dedupes: false }
    }

    async fn notify(&self, notice: &Notice) -> Result<(), NotifyError> {
        if let Some(rest) = self.quiet_for() {
            return Err(NotifyError::Later(rest));
        }
        let told = tokio::time::timeout(self.timeout, self.send(notice)).await.unwrap_or_else(|_| {
            Err(NotifyError::Failed(format!("`{}` did not answer within {:?}", self.target(), self.timeout)))
        });
        if let Err(NotifyError::Later(wait)) = told {
            *self.quiet.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + wait);
        }
        told
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel")
            .field("plugin", &self.plugin)
            .field("target", &self.target())
            .finish_non_exhaustive()
    }
}

fn telegram(settings: &Settings<'_>) -> Result<Sender, ChannelError> {
    let token = settings.need("botToken", Some("TELEGRAM_BOT_TOKEN"))?;
    let chat = settings.need("chatId", Some("TELEGRAM_CHAT_ID"))?.value;
    let api = settings
        .find("apiUrl", None)
        .unwrap_or_else(|| Found { value: telegram::API.to_owned(), place: settings.place("apiUrl") });
    let url = telegram::address(&api, &token)?;
    let mut secrets = Secrets::default();
    secrets.add(&token.value);
    secrets.add(&chat);
    Ok(Sender::Telegram { endpoint: endpoint(settings, url, HeaderMap::new(), secrets)?, chat })
}

fn webhook(settings: &Settings<'_>) -> Result<Sender, ChannelError> {
    let url = settings.need("url", None)?.address()?;
    let secret = settings.find("secret", None).map(|secret| secret.value);
    let mut secrets = Secrets::default();
    secrets.add(secret.as_deref().unwrap_or_default());
    let mut headers = HeaderMap::new();
    for (name, value) in settings.group("headers.") {
        let wrong = |why: &str| ChannelError::Wrong {
            place: settings.place(&format!("headers.{name}")),
            why: why.to_owned(),
        };
        let header = HeaderName::try_from(name).map_err(|_| wrong("is not the name of a header"))?;
        if [webhook::NOTICE, webhook::SIGNATURE].contains(&header) {
            return Err(wrong("is set by `ao` itself; take it out"));
        }
        let mut content = HeaderValue::try_from(value)
            .map_err(|_| wrong("has a value that no header can have, such as a line break"))?;
        content.set_sensitive(true);
        headers.insert(header, content);
        // The kind of a credential is no secret, but the credential is one without it too.
        secrets.add(value);
        value.split_whitespace().for_each(|word| secrets.add(word));
    }
    Ok(Sender::Webhook { endpoint: endpoint(settings, url, headers, secrets)?, secret })
}

fn endpoint(
    settings: &Settings<'_>,
    url: Url,
    headers: HeaderMap,
    secrets: Secrets,
) -> Result<Endpoint, ChannelError> {
    Endpoint::new(url, headers, secrets).map_err(|why| settings.not_here(why))
}

fn json(message: Value) -> Vec<u8> {
    message.to_string().into_bytes()
}
