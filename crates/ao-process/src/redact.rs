//! Keeping secrets out of what is written down, whichever way they are cut into pieces.

/// Shorter values are words that stand in any log for other reasons, and to cross those out would tell what they are.
const SHORTEST: usize = 8;

/// Replaces the values of secrets in a stream of bytes by their names.
#[derive(Debug, Default)]
pub struct Redactor {
    secrets: Vec<Known>,
    /// The end of the stream so far, if it may be the beginning of a secret.
    held: Vec<u8>,
}

struct Known {
    value: Vec<u8>,
    label: Vec<u8>,
}

// By hand, so that no value gets into a log by way of `{:?}`.
impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.label))
    }
}

impl Redactor {
    /// Looks out for these values, each with its name. Short ones are left as they are.
    pub fn new<'a>(secrets: impl Iterator<Item = (&'a str, &'a [u8])>) -> Redactor {
        let mut secrets: Vec<Known> = secrets
            .filter(|(_, value)| value.len() >= SHORTEST)
            .map(|(name, value)| Known { value: value.to_owned(), label: format!("[secret {name}]").into() })
            .collect();
        // One secret may begin with another; the longer one is looked for first, or its rest would be shown.
        secrets.sort_by_key(|known| std::cmp::Reverse(known.value.len()));
        Redactor { secrets, held: vec![] }
    }

    /// Takes the next piece, and returns what can be shown by now.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        if self.secrets.is_empty() {
            return piece.to_vec();
        }
        self.held.extend_from_slice(piece);
        self.take(false)
    }

    /// Returns what was held back, because nothing comes after it.
    pub fn finish(&mut self) -> Vec<u8> {
        self.take(true)
    }

    fn take(&mut self, last: bool) -> Vec<u8> {
        let mut shown = Vec::with_capacity(self.held.len());
        let mut rest = self.held.as_slice();
        'next: while let Some(first) = rest.first() {
            for Known { value, label } in &self.secrets {
                if rest.starts_with(value) {
                    shown.extend_from_slice(label);
                    rest = &rest[value.len()..];
                    continue 'next;
                }
                if !last && value.starts_with(rest) {
                    break 'next;
                }
            }
            shown.push(*first);
            rest = &rest[1..];
        }
        self.held = rest.to_vec();
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor() -> Redactor {
        let secrets: [(&str, &[u8]); 4] = [
            ("KEY", b"abcabcabd"),
            ("LONG", b"abcabcabdXYZ"),
            ("PEM", b"line one\nline two"),
            ("SHORT", b"abc1234"),
        ];
        Redactor::new(secrets.into_iter())
    }

    fn shown(pieces: &[&[u8]]) -> String {
        let mut redactor = redactor();
        let mut shown: Vec<u8> = pieces.iter().flat_map(|piece| redactor.push(piece)).collect();
        shown.extend(redactor.finish());
        String::from_utf8(shown).expect("only text went in")
    }

    #[test]
    fn a_value_is_replaced_by_its_name() {
        assert_eq!(shown(&[b"key=abcabcabd\n"]), "key=[secret KEY]\n");
        assert_eq!(shown(&[b"abcabcabcabd"]), "abc[secret KEY]", "a start that fails is not a secret");
        assert_eq!(shown(&[b"abcabcabdXYZ!"]), "[secret LONG]!", "the longer of two");
        assert_eq!(shown(&[b"<line one\nline two>"]), "<[secret PEM]>");
        assert_eq!(shown(&[b"abc1234"]), "abc1234", "too short to be told from other words");
    }

    #[test]
    fn it_does_not_matter_where_the_stream_is_cut() {
        let text = b"a abcabcabdXY abcabcabdXYZ line one\nline two abcabcab";
        let whole = shown(&[text]);
        assert_eq!(whole, "a [secret KEY]XY [secret LONG] [secret PEM] abcabcab");
        for first in 0..text.len() {
            for second in first..text.len() {
                assert_eq!(shown(&[&text[..first], &text[first..second], &text[second..]]), whole);
            }
        }
    }

    #[test]
    fn only_what_may_be_a_secret_is_held_back() {
        let mut redactor = redactor();
        assert_eq!(redactor.push(b"done? ab"), b"done? ");
        assert_eq!(redactor.push(b"x"), b"abx");
        assert!(!format!("{redactor:?}").contains("abcabcabd"));
    }
}
