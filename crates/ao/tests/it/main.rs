//! The program as its users call it, and the daemon with agents at real terminals.

mod clone;
mod clean_machine;
mod cli;
mod attach;
mod demo;
mod disk;
mod door;
mod events;
mod fleet;
mod help;
mod hook;
mod house;
mod killed;
mod life;
mod limits;
mod logind;
mod messages;
mod power;
mod start;
mod states;
mod support;
mod views;
mod surface;
mod talk;
mod workspaces;
