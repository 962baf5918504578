//! Real processes.

mod contract;
mod end;
mod killed;
mod restart;
mod start;
mod support;
mod talk;
mod tmux;
mod wait;
