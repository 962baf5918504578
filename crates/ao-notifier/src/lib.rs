//! Telling people.
//!
//! [`TerminalNotifier`] writes a line where the daemon was started. Desktops, chats and webhooks come beside it.

pub mod terminal;

pub use terminal::TerminalNotifier;
