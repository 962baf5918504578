//! The commands, one file each.

use ao_api::Session;

use crate::cli::context::Context;
use crate::error::CommandError;
use crate::show::Canvas;
use crate::{show, ui};

pub(crate) mod add_project;
pub(crate) mod advise;
pub(crate) mod answer;
pub(crate) mod api;
pub(crate) mod approve;
pub(crate) mod asks;
pub(crate) mod attach;
pub(crate) mod batch_spawn;
pub(crate) mod budget;
pub(crate) mod check;
pub(crate) mod completion;
pub(crate) mod config;
pub(crate) mod config_help;
pub(crate) mod conflicts;
pub(crate) mod daemon;
pub(crate) mod dashboard;
pub(crate) mod demo;
pub(crate) mod demo_agent;
pub(crate) mod doctor;
pub(crate) mod emit;
pub(crate) mod events;
pub(crate) mod explain;
pub(crate) mod hook;
pub(crate) mod hooks;
pub(crate) mod init;
pub(crate) mod issue;
pub(crate) mod list;
pub(crate) mod logs;
pub(crate) mod man;
pub(crate) mod new;
pub(crate) mod notify;
pub(crate) mod open;
pub(crate) mod pause;
pub(crate) mod plan;
pub(crate) mod plugin;
pub(crate) mod policy;
pub(crate) mod pr;
pub(crate) mod queue;
pub(crate) mod reactions;
pub(crate) mod remove_project;
pub(crate) mod resume;
pub(crate) mod retry;
pub(crate) mod review;
pub(crate) mod review_check;
pub(crate) mod send;
pub(crate) mod service;
pub(crate) mod session;
pub(crate) mod simulate;
pub(crate) mod spawn;
pub(crate) mod start;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod trust_project;
pub(crate) mod verify;
pub(crate) mod wait;
pub(crate) mod why;

/// Prints the state of a session after a command.
fn print_state(session: &Session, cx: &Context) -> Result<(), CommandError> {
    cx.print(session, || ui::line(show::why(&session.name, &session.status, Canvas::here())))
}
