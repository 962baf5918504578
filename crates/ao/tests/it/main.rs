//! The program as its users call it.

mod demo;
mod events;
mod help;
mod hook;
mod support;
