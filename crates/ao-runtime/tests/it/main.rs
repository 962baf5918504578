//! Real processes.

mod contract;
mod end;
mod kept;
mod killed;
mod lost;
mod restart;
mod start;
mod support;
mod talk;
mod terminal;
mod tmux;
mod unreadable;
mod view;
mod wait;
