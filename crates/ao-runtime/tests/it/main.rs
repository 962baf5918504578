//! Real processes.

mod end;
mod restart;
mod start;
mod support;
mod talk;
