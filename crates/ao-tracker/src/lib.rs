//! Where tasks come from: issues kept by the daemon, or as files in the repository.
