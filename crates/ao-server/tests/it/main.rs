//! The API by capability, against a real engine and log. What the daemon would add stands in `support`.

mod openapi;
mod serving;
mod sessions;
mod support;
