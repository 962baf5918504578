//! Notifies people.
//!
//! [`Channel`] sends a notice to a desktop, a chat or a URL. [`Routed`] restricts a channel to its [`Audience`] and its
//! [`Pace`], and sends each notice once.
//!
//! The text of a notice may come from outside, so no channel lets it become a link with a misleading text, a mention or
//! markup; and the target of a channel is often a secret, so it is masked wherever it is shown.

mod channel;
mod composio;
mod desktop;
mod discord;
mod http;
mod links;
mod openclaw;
pub mod pace;
mod routing;
mod secrets;
mod settings;
mod slack;
mod telegram;
mod text;
mod webhook;

pub use channel::{Channel, ChannelPlugin, PLUGINS};
pub use desktop::desktop_reachable;
pub use http::tls;
pub use links::Page;
pub use pace::Pace;
pub use routing::{Audience, Routed};
pub use settings::ChannelError;
