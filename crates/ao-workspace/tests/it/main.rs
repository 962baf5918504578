//! Worktrees on real repositories with the real `git`.

mod adopt;
mod base;
mod clones;
mod contract;
mod create;
mod disk;
mod files;
mod keep;
mod parallel;
mod remove;
mod stray;
mod support;
mod writers;
