//! Errors of the engine and of its callers.

use ao_core::Refusal;
use ao_core::codec::DecodeError;
use ao_ports::StoreError;

/// The reason why an input was not taken.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AskError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("nothing was changed, because it could not be written down")]
    NotStored(#[source] StoreError),
    #[error("ao is shutting down")]
    Stopped,
}

/// The reason why the engine stopped, or could not start.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("the event log cannot be used")]
    Store(#[from] StoreError),
    #[error("the event log cannot be read at {seq}")]
    Decode {
        seq: u64,
        #[source]
        err: DecodeError,
    },
}
