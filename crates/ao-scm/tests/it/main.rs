//! What this crate promises, by capability.

mod checks_log;
mod checks_once;
mod checks_process;
mod checks_propose;
mod checks_restart;
mod checks_support;
mod checks_tree;
mod checks_verdict;
mod failure;
