//! Worktrees on real repositories with the real `git`.

mod contract;
mod create;
mod keep;
mod parallel;
mod remove;
mod support;
