//! Tokens that prove which agent sent a report.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ao_core::{Attempt, SessionId};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

const KEY_BYTES: usize = 32;

/// The daemon's key. It has no `Debug`, so that no log can show it.
pub(super) struct HookKey([u8; KEY_BYTES]);

/// The reason why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("the key for hooks in `{}` cannot be read or made", .path.display())]
    Io {
        path: PathBuf,
        #[source]
        err: io::Error,
    },
    #[error(
        "the key for hooks in `{}` is no key of ours; remove the file, and running agents will need a restart",
        .path.display()
    )]
    Damaged { path: PathBuf },
    #[error("others may read the key for hooks in `{}`; run `chmod 600` on it", .path.display())]
    Open { path: PathBuf },
}

impl HookKey {
    /// Loads the key, or creates one. It survives restarts, because agents outlive the daemon.
    pub(super) fn load(path: &Path) -> Result<HookKey, KeyError> {
        let failed = |err| KeyError::Io { path: path.to_owned(), err };
        match File::open(path) {
            Ok(file) => {
                if file.metadata().map_err(failed)?.permissions().mode() & 0o077 != 0 {
                    return Err(KeyError::Open { path: path.to_owned() });
                }
                let mut bytes = Vec::new();
                file.take(KEY_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
                let key = bytes.try_into().map_err(|_| KeyError::Damaged { path: path.to_owned() })?;
                Ok(HookKey(key))
            }
            Err(err) if err.kind() == io::ErrorKind::NotFound => HookKey::make(path).map_err(failed),
            Err(err) => Err(failed(err)),
        }
    }

    /// Creates and stores a key. Renamed into place, so that a crash leaves no half of one.
    fn make(path: &Path) -> io::Result<HookKey> {
        let mut key = [0; KEY_BYTES];
        File::open("/dev/urandom")?.read_exact(&mut key)?;
        let new = path.with_extension(format!("new-{}", std::process::id()));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(&key)?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        Ok(HookKey(key))
    }

    pub(super) fn token(&self, session: SessionId, attempt: Attempt) -> String {
        let token = self.mac(session, attempt).finalize().into_bytes();
        token.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns true if a token belongs to this session and attempt. Compares in constant time.
    pub(super) fn knows(&self, token: &str, session: SessionId, attempt: Attempt) -> bool {
        let digit = |at: usize| token.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
        let bytes: Option<Vec<u8>> = (0..token.len()).step_by(2).map(digit).collect();
        bytes.is_some_and(|bytes| self.mac(session, attempt).verify_slice(&bytes).is_ok())
    }

    fn mac(&self, session: SessionId, attempt: Attempt) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("any length of key will do");
        mac.update(format!("ao hook 1\0{session}\0{attempt}").as_bytes());
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_for_one_attempt_of_one_session_only() {
        let key = HookKey([7; KEY_BYTES]);
        let token = key.token(SessionId(1), Attempt(1));
        assert!(key.knows(&token, SessionId(1), Attempt(1)));
        assert!(!key.knows(&token, SessionId(1), Attempt(2)));
        assert!(!key.knows(&token, SessionId(2), Attempt(1)));
        for wrong in ["", "0", "zz", &token[..62], "ü"] {
            assert!(!key.knows(wrong, SessionId(1), Attempt(1)), "{wrong}");
        }
        assert!(!HookKey([8; KEY_BYTES]).knows(&token, SessionId(1), Attempt(1)));
    }

    #[test]
    fn the_key_is_kept_for_us_alone_and_stays_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hook.key");
        let first = HookKey::load(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(HookKey::load(&path).unwrap().0 == first.0);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(HookKey::load(&path), Err(KeyError::Open { .. })));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "short").unwrap();
        assert!(matches!(HookKey::load(&path), Err(KeyError::Damaged { .. })));
    }
}
