//! Worktrees and clones of real repositories, with the real `git`.

mod adopt;
mod base;
mod capture;
mod clones;
mod commands;
mod contract;
mod create;
mod discard;
mod disk;
mod files;
mod keep;
mod parallel;
mod provisioned;
mod rebase;
mod remove;
mod setup;
mod stray;
mod support;
mod writers;
