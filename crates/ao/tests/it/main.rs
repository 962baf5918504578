//! The program as its users call it.

mod demo;
mod events;
mod help;
mod hook;
mod logind;
mod power;
mod support;
