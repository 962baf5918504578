//! The commands about sessions: what they show, and what they do with what a daemon answers.

mod care;
mod checks;
mod completion;
mod diff;
mod issues;
mod logs;
mod manual;
mod offer;
mod pulls;
mod repeated;
mod show;
mod standin;
mod talk;
mod trouble;
mod wait;
mod watch;
mod window;
pub(crate) mod wire;
