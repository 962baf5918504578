//! The API by capability, against a real engine and log. What the daemon would add stands in `support`.

mod auth;
mod events;
mod limits;
mod load;
mod messages;
mod openapi;
mod page;
mod serving;
mod sessions;
mod support;
mod terminal;
