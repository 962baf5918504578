//! The commands about sessions: what they show, and what they do with what a daemon answers.

mod care;
mod completion;
mod logs;
mod manual;
mod show;
mod standin;
mod talk;
mod trouble;
mod wait;
mod watch;
mod window;
pub(crate) mod wire;
