//! The program as its users call it, and the daemon with agents at real terminals.

mod clone;
mod config;
mod demo;
mod events;
mod fleet;
mod help;
mod hook;
mod init;
mod killed;
mod life;
mod logind;
mod messages;
mod place;
mod power;
mod service;
mod states;
mod support;
mod views;
mod workspaces;
