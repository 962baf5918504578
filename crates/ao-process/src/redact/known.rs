//! The secrets that this process knows of.
//!
//! There is one such list, because a secret of one project may turn up in the words of another, and whoever writes something
//! down must know all of them. It only grows: what was a secret once may still open something. Only the tokens of agents, of
//! which there are more every day and which open nothing once their agent is gone, are forgotten, the oldest first.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{PoisonError, RwLock};

use super::Secrets;

/// More agents than this hardly run at a time.
const TOKENS: usize = 128;

static KNOWN: RwLock<Known> =
    RwLock::new(Known { values: BTreeMap::new(), tokens: VecDeque::new(), secrets: None });

struct Known {
    /// The names by the values, so that a secret that is told twice is kept once.
    values: BTreeMap<Vec<u8>, String>,
    /// Those of agents, the newest last.
    tokens: VecDeque<(String, Vec<u8>)>,
    /// All of them.
    secrets: Option<Secrets>,
}

impl Known {
    fn changed(&mut self) {
        let values = self.values.iter().map(|(value, name)| (name.as_str(), value.as_slice()));
        let tokens = self.tokens.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
        self.secrets = Some(Secrets::new(values.chain(tokens)));
    }
}

/// The secrets that are known by now.
pub fn known() -> Secrets {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner).secrets.clone().unwrap_or_default()
}

/// Their names and values but for the tokens of agents, for a process of ours that has to keep them out as well.
pub fn all() -> Vec<(String, Vec<u8>)> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    known.values.iter().map(|(value, name)| (name.clone(), value.clone())).collect()
}

/// Learns further ones, each with its name. From now on they are kept out of everything.
pub fn learn(secrets: impl IntoIterator<Item = (String, Vec<u8>)>) {
    let new: Vec<(String, Vec<u8>)> = {
        let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
        secrets.into_iter().filter(|(_, value)| !known.values.contains_key(value)).collect()
    };
    if new.is_empty() {
        return;
    }
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    known.values.extend(new.into_iter().map(|(name, value)| (value, name)));
    known.changed();
}

/// Learns the token of an agent, which is forgotten once many others have come.
pub fn learn_token(name: &str, token: &[u8]) {
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    if known.tokens.iter().any(|(_, other)| other == token) {
        return;
    }
    if known.tokens.len() >= TOKENS {
        known.tokens.pop_front();
    }
    known.tokens.push_back((name.to_owned(), token.to_vec()));
    known.changed();
}
