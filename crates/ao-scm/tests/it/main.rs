//! Pull requests, checks and failures, each on the real thing.

mod checks_log;
mod checks_once;
mod checks_process;
mod checks_propose;
mod checks_restart;
mod checks_support;
mod checks_tree;
mod checks_verdict;
mod failure;
mod local_contract;
mod local_held;
mod local_hostile;
mod local_life;
mod local_merge;
mod local_recover;
mod local_renames;
mod local_reviews;
mod local_stacks;
mod local_support;
mod local_threads;
mod local_train;
mod local_trust;
mod local_unclear;
mod local_watch;
