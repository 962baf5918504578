//! The API by capability, against a real engine and log. What the daemon would add stands in `support`.

mod auth;
mod checks;
mod events;
mod forge;
mod issues;
mod limits;
mod load;
mod meant;
mod merge;
mod messages;
mod openapi;
mod page;
mod pulls;
mod queue;
mod rights;
mod serving;
mod sessions;
mod support;
mod terminal;
