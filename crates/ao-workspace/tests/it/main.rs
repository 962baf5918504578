//! Worktrees on real repositories with the real `git`.

mod commands;
mod create;
mod keep;
mod parallel;
mod provisioned;
mod remove;
mod setup;
mod support;
