//! The token on disk, and values signed with it.

use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use ao_core::Timestamp;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

const BYTES: usize = 32;
/// Makes the token recognizable where it leaks: in a log, in a repository.
const PREFIX: &str = "ao_";

/// A token. It has no `Debug`, so that no log can show it.
pub(super) struct Secret([u8; BYTES]);

impl Secret {
    /// Reads the token, or creates one.
    pub(super) fn load(path: &Path) -> io::Result<Secret> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Secret::make(path),
            Err(err) => return Err(err),
        };
        let facts = file.metadata()?;
        if facts.permissions().mode() & 0o077 != 0 || facts.uid() != rustix::process::geteuid().as_raw() {
            // Others may have read it, so it is replaced.
            tracing::warn!(path = %path.display(), "others could read the token of the API; it is made anew");
            return Secret::make(path);
        }
        let mut text = String::new();
        file.take(1024).read_to_string(&mut text)?;
        match Secret::parse(text.trim()) {
            Some(secret) => Ok(secret),
            None => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it is no token of ours; remove the file, and a new one is made",
            )),
        }
    }

    /// Creates a token and stores it. It is renamed into place, so that a crash leaves no partial file.
    pub(super) fn make(path: &Path) -> io::Result<Secret> {
        let secret = Secret(random()?);
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut file =
            tempfile::Builder::new().permissions(Permissions::from_mode(0o600)).tempfile_in(folder)?;
        writeln!(file, "{}", secret.text())?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|err| err.error)?;
        Ok(secret)
    }

    pub(super) fn text(&self) -> String {
        format!("{PREFIX}{}", hex(&self.0))
    }

    /// Compares in constant time: keyed digests are compared, which a caller cannot choose.
    pub(super) fn is(&self, token: &str) -> bool {
        let digest = self.mac(&[token.as_bytes()]).finalize().into_bytes();
        self.mac(&[self.text().as_bytes()]).verify_slice(&digest).is_ok()
    }

    /// Signs a value that is valid until then.
    pub(super) fn sign(&self, until: Timestamp) -> String {
        let proof = self.mac(&[b"until", until.to_string().as_bytes()]).finalize().into_bytes();
        format!("{until}.{}", hex(&proof))
    }

    /// Returns the time until which a signed value is valid, if we signed it.
    pub(super) fn signed(&self, word: &str) -> Option<Timestamp> {
        let (until, proof) = word.split_once('.')?;
        let proof = unhex::<32>(proof)?;
        self.mac(&[b"until", until.as_bytes()]).verify_slice(&proof).ok()?;
        until.parse().ok().map(Timestamp)
    }

    fn parse(text: &str) -> Option<Secret> {
        unhex(text.strip_prefix(PREFIX)?).map(Secret)
    }

    fn mac(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length will do");
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac
    }
}

pub(super) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_itself_is_the_token() {
        let secret = Secret([7; BYTES]);
        let text = secret.text();
        assert!(secret.is(&text));
        for wrong in ["", "ao_", &text[1..], &text.to_uppercase(), "ao_00", "ü"] {
            assert!(!secret.is(wrong), "{wrong}");
        }
        assert!(!Secret([8; BYTES]).is(&text));
    }

    #[test]
    fn a_signed_word_cannot_be_stretched() {
        let secret = Secret([7; BYTES]);
        let word = secret.sign(Timestamp(1000));
        assert_eq!(secret.signed(&word), Some(Timestamp(1000)));
        assert_eq!(secret.signed(&word.replacen("1000", "9000", 1)), None);
        assert_eq!(Secret([8; BYTES]).signed(&word), None);
        assert_eq!(secret.signed(""), None);
    }

    #[test]
    fn a_token_lies_on_disk_for_nobody_else_and_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("api.token");
        let made = Secret::load(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(Secret::load(&path).unwrap().text(), made.text());
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let anew = Secret::load(&path).unwrap();
        assert_ne!(anew.text(), made.text(), "a token that others could read is no secret");
        std::fs::write(&path, "nonsense").unwrap();
        assert!(Secret::load(&path).is_err());
    }
}
