//! The secrets that this process knows of.
//!
//! There is one such list, because a secret of one project may turn up in the words of another, and whoever writes something
//! down must know all of them. It only grows: what was a secret once may still open something.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use super::Secrets;

/// By value, so that a secret that is told twice is kept once.
type Values = BTreeMap<Vec<u8>, String>;

static KNOWN: RwLock<(Values, Option<Secrets>)> = RwLock::new((Values::new(), None));

/// The secrets that are known by now.
pub fn known() -> Secrets {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner).1.clone().unwrap_or_default()
}

/// Their names and values, for a process of ours that has to keep them out as well.
pub fn all() -> Vec<(String, Vec<u8>)> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    known.0.iter().map(|(value, name)| (name.clone(), value.clone())).collect()
}

/// Learns further ones, each with its name. From now on they are kept out of everything.
pub fn learn(secrets: impl IntoIterator<Item = (String, Vec<u8>)>) {
    let new: Vec<(String, Vec<u8>)> = {
        let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
        secrets.into_iter().filter(|(_, value)| !known.0.contains_key(value)).collect()
    };
    if new.is_empty() {
        return;
    }
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    known.0.extend(new.into_iter().map(|(name, value)| (value, name)));
    known.1 = Some(Secrets::new(known.0.iter().map(|(value, name)| (name.as_str(), value.as_slice()))));
}
