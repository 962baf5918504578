//! Telling people.
//!
//! [`Channel`] brings a notice to a desktop, a chat or a web address. [`Routed`] gives a channel those it is for ([`Audience`])
//! and its own time ([`Pace`]), and sends each notice once. [`TerminalNotifier`] writes a line where the daemon was started.
//!
//! What a notice says may come from outside, so no channel lets it become a link under another name, a mention or markup;
//! and where a channel sends to is a secret as often as not, so it is masked wherever it is shown.

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
pub mod terminal;
mod webhook;
mod words;

pub use channel::Channel;
pub use desktop::desktop_reachable;
pub use links::Page;
pub use pace::Pace;
pub use routing::{Audience, Routed};
pub use settings::ChannelError;
pub use terminal::TerminalNotifier;
