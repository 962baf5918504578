//! The user's configuration files: loading, editing, and writing the first one of a repository.

pub(crate) mod check_offer;
pub(crate) mod edit;
pub(crate) mod initial_config;
pub(crate) mod settings;
pub(crate) mod untrusted_config;
