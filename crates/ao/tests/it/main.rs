//! The program as its users call it, and the daemon with agents at real terminals.

mod clone;
mod demo;
mod events;
mod fleet;
mod help;
mod hook;
mod killed;
mod life;
mod logind;
mod messages;
mod power;
mod states;
mod support;
mod views;
mod workspaces;
