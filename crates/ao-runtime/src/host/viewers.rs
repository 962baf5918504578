//! The viewers of terminals: one of them at a time has control.
//!
//! While a viewer has control, the terminal is as large as its window; afterwards it is as large as it was before.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::watch;

use super::AttemptKey;

pub(crate) type Size = (u16, u16);

/// The terminals that are being viewed.
#[derive(Debug, Default)]
pub(crate) struct Viewers {
    terminals: Mutex<HashMap<AttemptKey, Weak<SharedTerminal>>>,
}

/// The common state of all viewers of one terminal.
#[derive(Debug)]
pub(crate) struct SharedTerminal {
    /// Its size when no viewer has control; known while one has.
    natural: Mutex<Option<Size>>,
    /// The number of the viewer that has control, or 0.
    holder: watch::Sender<u64>,
}

impl Viewers {
    pub(crate) fn of(&self, key: AttemptKey) -> Arc<SharedTerminal> {
        let mut terminals = self.terminals.lock().expect("no thread panics while looking one up");
        if let Some(known) = terminals.get(&key).and_then(Weak::upgrade) {
            return known;
        }
        terminals.retain(|_, known| known.strong_count() > 0);
        let shared = Arc::new(SharedTerminal { natural: Mutex::default(), holder: watch::Sender::new(0) });
        terminals.insert(key, Arc::downgrade(&shared));
        shared
    }
}

impl SharedTerminal {
    /// Returns a number for a viewer, unlike all others.
    pub(crate) fn number() -> u64 {
        static LAST: AtomicU64 = AtomicU64::new(0);
        LAST.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns the number of the viewer that has control, and its changes.
    pub(crate) fn holder(&self) -> watch::Receiver<u64> {
        self.holder.subscribe()
    }

    /// Gives control to a viewer, and records the size of the terminal unless another viewer had control before.
    pub(crate) fn take(&self, number: u64, size: Size) {
        self.natural.lock().expect("no thread panics while setting it").get_or_insert(size);
        self.holder.send_replace(number);
    }

    /// Takes control from a viewer that has it. Returns the size that the terminal is to have again.
    pub(crate) fn hand_back(&self, number: u64) -> Option<Size> {
        let had = self.holder.send_if_modified(|holder| {
            let had = *holder == number;
            if had {
                *holder = 0;
            }
            had
        });
        if had { self.natural.lock().expect("no thread panics while setting it").take() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_to_hand_control_back_restores_the_size_before_the_first() {
        let shared = SharedTerminal { natural: Mutex::default(), holder: watch::Sender::new(0) };
        shared.take(1, (120, 40));
        shared.take(2, (80, 24));
        assert_eq!(shared.hand_back(1), None, "another has it");
        assert_eq!(shared.hand_back(2), Some((120, 40)));
        assert_eq!(shared.hand_back(2), None, "once");
    }
}
