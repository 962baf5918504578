//! A channel as a person has configured it: a plugin and its target.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ao_core::notice::Notice;
use ao_ports::{Notifier, NotifyError};
use async_trait::async_trait;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::time::Instant;

use crate::desktop::DesktopNotifier;
use crate::http::HttpEndpoint;
use crate::links::{NoticeLink, Page, links};
use crate::secrets::ChannelSecrets;
use crate::settings::{ChannelError, ChannelSettings, EnvLookup, FoundSetting};
use crate::{composio, discord, openclaw, slack, telegram, webhook};

/// A kind of channel.
#[derive(Debug)]
pub struct ChannelPlugin {
    pub name: &'static str,
    /// A one-line description.
    pub about: &'static str,
    /// It needs a desktop on this machine.
    pub on_desktop: bool,
    /// The settings that it takes.
    known: &'static [&'static str],
    sender: fn(&ChannelSettings<'_>) -> Result<PluginSender, ChannelError>,
}

/// The available plugins.
pub const PLUGINS: &[ChannelPlugin] = &[
    ChannelPlugin {
        on_desktop: true,
        ..plugin("desktop", "a desktop notification", DesktopNotifier::KNOWN, desktop)
    },
    plugin("slack", "a message through a Slack webhook", &["webhookUrl"], slack),
    plugin("discord", "a message through a Discord webhook", &["webhookUrl"], discord),
    plugin("composio", "a tool of a service connected to Composio", composio::KNOWN, composio),
    plugin("webhook", "JSON to a URL of yours", &["url", "secret", "headers."], webhook),
    plugin("openclaw", "a hook of an OpenClaw gateway", openclaw::KNOWN, openclaw),
    plugin("telegram", "a message through a Telegram bot", &["botToken", "chatId", "apiUrl"], telegram),
];

const fn plugin(
    name: &'static str,
    about: &'static str,
    known: &'static [&'static str],
    sender: fn(&ChannelSettings<'_>) -> Result<PluginSender, ChannelError>,
) -> ChannelPlugin {
    ChannelPlugin { name, about, on_desktop: false, known, sender }
}

/// Time limit for sending one notice.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Sends notices through one plugin, with the settings of one person.
pub struct Channel {
    plugin: &'static str,
    sender: PluginSender,
    timeout: Duration,
    /// The URL of the dashboard.
    dashboard: Page,
    /// The time until which the channel has asked for a pause. Shared by all notices: retrying each of them is what it
    /// complains about.
    quiet: Mutex<Option<Instant>>,
}

enum PluginSender {
    Desktop(DesktopNotifier),
    Http(Box<HttpEndpoint>, HttpService),
}

/// A service that is called over HTTP, with what its messages need.
enum HttpService {
    Slack,
    Discord,
    Telegram { chat: String },
    Webhook { secret: Option<String> },
    Composio(composio::ToolCall),
    Openclaw(openclaw::GatewayRequest),
}

impl Channel {
    /// Configures the channel `name`. Values missing in `settings` are looked up in the environment, where the plugin
    /// has its own variables.
    pub fn from_settings(
        name: &str,
        plugin: &str,
        settings: &BTreeMap<String, String>,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Channel, ChannelError> {
        let Some(plugin) = PLUGINS.iter().find(|known| known.name == plugin) else {
            return Err(ChannelError::NoSuchPlugin { name: name.to_owned(), plugin: plugin.to_owned() });
        };
        let settings = ChannelSettings::new(name, plugin.name, plugin.known, settings, env as EnvLookup<'_>)?;
        let (plugin, sender) = (plugin.name, (plugin.sender)(&settings)?);
        Ok(Channel { plugin, sender, timeout: TIMEOUT, dashboard: Page::default(), quiet: Mutex::default() })
    }

    /// Adds links to the dashboard to notices.
    pub fn with_dashboard(self, page: impl Into<Page>) -> Channel {
        Channel { dashboard: page.into(), ..self }
    }

    /// Overrides the time limit of 10 s per notice.
    pub fn with_timeout(self, timeout: Duration) -> Channel {
        Channel { timeout, ..self }
    }

    pub fn plugin(&self) -> &'static str {
        self.plugin
    }

    /// Describes the target for people: recognisable, but of no use to others.
    pub fn target(&self) -> String {
        match &self.sender {
            PluginSender::Desktop(_) => "this desktop".to_owned(),
            PluginSender::Http(_, HttpService::Telegram { chat }) => telegram::target(chat),
            PluginSender::Http(endpoint, _) => endpoint.target(),
        }
    }

    async fn send(&self, notice: &Notice) -> Result<(), NotifyError> {
        let links: Vec<NoticeLink> = links(notice, self.dashboard.url().as_ref());
        let (endpoint, service) = match &self.sender {
            PluginSender::Desktop(desktop) => return desktop.show(notice, links.first()).await,
            PluginSender::Http(endpoint, service) => (endpoint, service),
        };
        let message = match service {
            HttpService::Slack => slack::message(notice, links),
            HttpService::Discord => discord::message(notice, links),
            HttpService::Telegram { chat } => telegram::message(notice, chat, links),
            HttpService::Webhook { .. } => webhook::message(notice, &links),
            HttpService::Composio(call) => call.message(notice, &links),
            HttpService::Openclaw(ask) => ask.message(notice, &links),
        };
        let body = message.to_string().into_bytes();
        match service {
            HttpService::Webhook { secret } => {
                let headers = webhook::headers(notice, secret.as_deref(), &body);
                endpoint.post(body, headers).await
            }
            HttpService::Composio(_) => {
                let answer = endpoint.ask(body, HeaderMap::new()).await?;
                composio::failure(&answer).map_or(Ok(()), |why| Err(endpoint.failed(&why)))
            }
            _ => endpoint.post(body, HeaderMap::new()).await,
        }
    }

    /// Returns the remaining time of the pause.
    fn quiet_for(&self) -> Option<Duration> {
        let until = (*self.quiet.lock().unwrap_or_else(PoisonError::into_inner))?;
        let rest = until.saturating_duration_since(Instant::now());
        (!rest.is_zero()).then_some(rest)
    }
}

#[async_trait]
impl Notifier for Channel {
    async fn notify(&self, notice: &Notice) -> Result<(), NotifyError> {
        if let Some(rest) = self.quiet_for() {
            return Err(NotifyError::Later(rest));
        }
        let sent = tokio::time::timeout(self.timeout, self.send(notice)).await.unwrap_or_else(|_| {
            Err(NotifyError::Failed(format!("`{}` did not answer within {:?}", self.target(), self.timeout)))
        });
        if let Err(NotifyError::Later(wait)) = sent {
            *self.quiet.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + wait);
        }
        sent
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

fn desktop(settings: &ChannelSettings<'_>) -> Result<PluginSender, ChannelError> {
    Ok(PluginSender::Desktop(DesktopNotifier::new(settings)?))
}

fn slack(settings: &ChannelSettings<'_>) -> Result<PluginSender, ChannelError> {
    let url = settings.need("webhookUrl", Some("SLACK_WEBHOOK_URL"))?.secret_address()?;
    http(settings, url, HeaderMap::new(), ChannelSecrets::default(), HttpService::Slack)
}

fn discord(settings: &ChannelSettings<'_>) -> Result<PluginSender, ChannelError> {
    let url = settings.need("webhookUrl", Some("DISCORD_WEBHOOK_URL"))?.secret_address()?;
    let url = discord::waiting(url);
    http(settings, url, HeaderMap::new(), ChannelSecrets::default(), HttpService::Discord)
}

fn composio(settings: &ChannelSettings<'_>) -> Result<PluginSender, ChannelError> {
    let (call, url, headers, key) = composio::read(settings)?;
    http(settings, url, headers, ChannelSecrets::of(&key), HttpService::Composio(call))
}

fn openclaw(settings: &ChannelSettings<'_>) -> Result<PluginSender, ChannelError> {
    let (ask, url, headers, token) = openclaw::read(settings)?;
    http(settings, url, headers, ChannelSecrets::of(&token), HttpService::Openclaw(ask))
}

fn telegram(settings: &ChannelSettings<'_>) -> Result<PluginSender, ChannelError> {
    let token = settings.need("botToken", Some("TELEGRAM_BOT_TOKEN"))?;
    let chat = settings.need("chatId", Some("TELEGRAM_CHAT_ID"))?.value;
    let api = settings
        .find("apiUrl", None)
        .unwrap_or_else(|| FoundSetting { value: telegram::API.to_owned(), place: settings.place("apiUrl") });
    let url = telegram::address(&api, &token)?;
    let mut secrets = ChannelSecrets::default();
    secrets.add(&token.value);
    secrets.add(&chat);
    http(settings, url, HeaderMap::new(), secrets, HttpService::Telegram { chat })
}

fn webhook(settings: &ChannelSettings<'_>) -> Result<PluginSender, ChannelError> {
    let url = settings.need("url", None)?.address()?;
    let secret = settings.find("secret", None).map(|secret| secret.value);
    let mut secrets = ChannelSecrets::default();
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
        // The scheme of a credential is no secret, but the credential alone is one.
        secrets.add(value);
        value.split_whitespace().for_each(|word| secrets.add(word));
    }
    http(settings, url, headers, secrets, HttpService::Webhook { secret })
}

fn http(
    settings: &ChannelSettings<'_>,
    url: Url,
    headers: HeaderMap,
    secrets: ChannelSecrets,
    service: HttpService,
) -> Result<PluginSender, ChannelError> {
    let endpoint = HttpEndpoint::new(url, headers, secrets).map_err(|why| settings.not_here(why))?;
    Ok(PluginSender::Http(Box::new(endpoint), service))
}
