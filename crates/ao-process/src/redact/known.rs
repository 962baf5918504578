//! The secrets that this process knows.
//!
//! There is one list per process, because a secret of one project may appear in the output of another, so that every
//! writer has to mask all of them. It only grows, since an old secret may still be valid. The exception are agents'
//! tokens: new ones come every day and an old one is useless once its agent has ended, so the oldest are forgotten.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{PoisonError, RwLock};

use super::Secrets;

/// Most tokens that are remembered. Hardly ever do more agents run at a time.
const TOKENS: usize = 128;

static KNOWN: RwLock<KnownSecrets> =
    RwLock::new(KnownSecrets { values: BTreeMap::new(), tokens: VecDeque::new(), secrets: None });

struct KnownSecrets {
    /// Names by value, so that a secret that is learnt twice is kept once.
    values: BTreeMap<Vec<u8>, String>,
    /// Tokens of agents, the newest last.
    tokens: VecDeque<(String, Vec<u8>)>,
    /// The index over all of them.
    secrets: Option<Secrets>,
}

impl KnownSecrets {
    fn changed(&mut self) {
        let values = self.values.iter().map(|(value, name)| (name.as_str(), value.as_slice()));
        let tokens = self.tokens.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
        self.secrets = Some(Secrets::new(values.chain(tokens)));
    }
}

/// Returns the secrets known by now.
pub fn known() -> Secrets {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner).secrets.clone().unwrap_or_default()
}

/// Returns names and values, except the tokens of agents, for a child process of ours that has to mask them too.
pub fn all() -> Vec<(String, Vec<u8>)> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    known.values.iter().map(|(value, name)| (name.clone(), value.clone())).collect()
}

/// Adds secrets, each a name and a value. From now on they are masked everywhere.
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

/// Adds the token of an agent, which is forgotten once many newer ones have come.
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
