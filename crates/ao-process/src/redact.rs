//! Masks secrets in text and in streams, wherever a stream is cut into pieces.
//!
//! ```text
//!  bytes ──┬── as they are ───────────────────────────┐
//!          ├── without codes, on one line ────────────┼─► found ─► the places in the bytes, with the codes inside
//!          └── as a screen has it, if drawn over ─────┘
//! ```

mod forms;
pub mod known;
mod view;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use self::known::known;

/// Values shorter than this also occur in logs for other reasons, and masking those would reveal the value.
const SHORTEST: usize = 8;
/// Bytes of a possible secret that [`Redactor::ease`] may show. They reveal no more than a vendor's token prefix does,
/// and a prompt that ends in such a letter reaches its reader.
const EASE: usize = 4;
/// Limit of held-back bytes beyond the length of a secret, so that endless escape codes between two letters cannot hold
/// up the stream.
const CODES_MOST: usize = 16 * 1024;

/// Named secrets, found in one pass over a text: as they are, in base64 and percent-encoded; also with terminal codes,
/// line ends and zero-width characters between their letters.
#[derive(Clone, Default)]
pub struct Secrets {
    known: Option<Arc<SecretIndex>>,
}

struct SecretIndex {
    finder: AhoCorasick,
    /// The byte strings to look for, in the order of the finder.
    values: Vec<Vec<u8>>,
    labels: Vec<Vec<u8>>,
    longest: usize,
    /// The indexes of the values that begin with a byte, by that byte.
    by_first: Vec<Vec<u32>>,
}

impl Secrets {
    /// Builds the index of these secrets, each a name and a value. Values that are too short are ignored.
    pub fn new<'a>(secrets: impl Iterator<Item = (&'a str, &'a [u8])>) -> Secrets {
        let (mut values, mut labels): (Vec<Vec<u8>>, Vec<Vec<u8>>) = (vec![], vec![]);
        for (name, value) in secrets.filter(|(_, value)| value.len() >= SHORTEST) {
            let forms = forms::of(value).into_iter();
            // Also as it appears once codes and line ends are left out.
            let forms = forms.flat_map(|form| [view::joined(&form).bytes, form]);
            for form in forms.filter(|form| form.len() >= SHORTEST) {
                if !values.contains(&form) {
                    values.push(form);
                    labels.push(format!("[secret {name}]").into());
                }
            }
        }
        let finder = AhoCorasick::builder()
            // One secret may begin with another; of the longer one nothing may remain.
            .match_kind(MatchKind::LeftmostLongest)
            // The smallest kind, because every agent's shim has one.
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&values);
        let Ok(finder) = finder.inspect_err(|_| debug_assert!(false, "there are not that many secrets"))
        else {
            return Secrets::default();
        };
        if values.is_empty() {
            return Secrets::default();
        }
        let mut by_first = vec![vec![]; 256];
        (0..).zip(&values).for_each(|(nth, value)| by_first[usize::from(value[0])].push(nth));
        let longest = values.iter().map(Vec::len).max().unwrap_or_default();
        Secrets { known: Some(Arc::new(SecretIndex { finder, values, labels, longest, by_first })) }
    }

    pub fn is_empty(&self) -> bool {
        self.known.is_none()
    }

    /// Returns the length in bytes of the longest form of any secret.
    pub fn longest(&self) -> usize {
        self.known.as_ref().map_or(0, |known| known.longest)
    }

    /// Returns the text with its secrets masked.
    pub fn mask(&self, text: &str) -> String {
        let mut masked = text.to_owned();
        self.mask_in(&mut masked);
        masked
    }

    /// Masks secrets in place. Returns true if there was one.
    pub fn mask_in(&self, text: &mut String) -> bool {
        let Some(known) = &self.known else { return false };
        let found = known.find(text.as_bytes(), true);
        if found.masks.is_empty() {
            return false;
        }
        let MaskedText { shown, .. } = known.pass(text.as_bytes(), &found);
        // A mask can only cut a character in half if the secret itself is not valid text.
        *text = String::from_utf8(shown)
            .unwrap_or_else(|err| String::from_utf8_lossy(err.as_bytes()).into_owned());
        true
    }

    /// Returns how many bytes of a piece can be shown: all but an end that may be the beginning of a secret.
    pub fn whole_part(&self, piece: &[u8]) -> usize {
        self.known.as_ref().map_or(piece.len(), |known| known.find(piece, false).until)
    }
}

/// The secrets found in a text.
struct SecretMatches {
    /// The parts that are secrets, in order and without overlap, each with the index of its label.
    masks: Vec<(Range<usize>, usize)>,
    /// The end of the part that is certain.
    until: usize,
}

/// The masked beginning of a text.
struct MaskedText {
    shown: Vec<u8>,
    /// The number of bytes before the first secret.
    plain: usize,
}

impl SecretIndex {
    /// Finds the secrets in a text. Unless it is the last piece, an end that may become a secret is left out.
    fn find(&self, text: &[u8], last: bool) -> SecretMatches {
        let in_bytes = |bytes: &[u8]| -> Vec<(Range<usize>, usize)> {
            self.finder.find_iter(bytes).map(|found| (found.range(), found.pattern().as_usize())).collect()
        };
        let mut masks = in_bytes(text);
        let mut open: Vec<usize> = if last { vec![] } else { self.open(text).collect() };
        for view in view::of(text) {
            let found = in_bytes(&view.bytes).into_iter();
            masks.extend(found.map(|(part, label)| (view.range(part), label)));
            if !last {
                open.extend(self.open(&view.bytes).map(|at| view.range(at..at + 1).start));
            }
        }
        let masks = apart(masks);
        let is_inside = |at: usize| masks.iter().any(|(mask, _)| mask.start < at && at < mask.end);
        let held = open.into_iter().filter(|at| !is_inside(*at)).min();
        let held = held.filter(|at| text.len() - at <= self.longest + CODES_MOST);
        SecretMatches { until: held.unwrap_or(text.len()), masks }
    }

    /// Returns the part of a text that can be shown, with its secrets masked.
    fn pass(&self, text: &[u8], found: &SecretMatches) -> MaskedText {
        let mut shown = Vec::with_capacity(found.until);
        let (mut at, mut plain) = (0, None);
        for (mask, label) in found.masks.iter().filter(|(mask, _)| mask.start < found.until) {
            shown.extend_from_slice(&text[at..mask.start]);
            shown.extend_from_slice(&self.labels[*label]);
            plain.get_or_insert(mask.start);
            at = mask.end;
        }
        shown.extend_from_slice(&text[at..found.until]);
        MaskedText { shown, plain: plain.unwrap_or(found.until) }
    }

    /// Returns the positions from which the rest of the text may be the beginning of a secret.
    fn open<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
        let tail: Range<usize> = text.len().saturating_sub(self.longest - 1)..text.len();
        tail.filter(|at| {
            let rest = &text[*at..];
            let mut values =
                self.by_first[usize::from(rest[0])].iter().map(|nth| &self.values[*nth as usize]);
            values.any(|value| value.len() > rest.len() && value.starts_with(rest))
        })
    }
}

/// Merges overlapping parts. A merged part takes the label of the longest.
fn apart(mut masks: Vec<(Range<usize>, usize)>) -> Vec<(Range<usize>, usize)> {
    masks.sort_by_key(|(mask, _)| (mask.start, std::cmp::Reverse(mask.end)));
    let mut apart: Vec<(Range<usize>, usize)> = Vec::with_capacity(masks.len());
    // The length of the part that the last label belongs to.
    let mut length = 0;
    for (mask, label) in masks {
        match apart.last_mut().filter(|(before, _)| mask.start < before.end) {
            Some((before, of)) => {
                before.end = before.end.max(mask.end);
                if mask.len() > length {
                    (*of, length) = (label, mask.len());
                }
            }
            None => {
                length = mask.len();
                apart.push((mask, label));
            }
        }
    }
    apart
}

// By hand, so that no value gets into a log by way of `{:?}`.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels = self.known.as_ref().map(|known| {
            let mut labels: Vec<_> =
                known.labels.iter().map(|label| String::from_utf8_lossy(label)).collect();
            labels.dedup();
            labels
        });
        f.debug_tuple("Secrets").field(&labels.unwrap_or_default()).finish()
    }
}

/// Replaces secrets in a byte stream by their names.
#[derive(Debug, Default)]
pub struct Redactor {
    secrets: Secrets,
    /// True if it also masks secrets that this process learns later.
    learns: bool,
    /// The end of the stream so far, if it may be the beginning of a secret.
    held: Vec<u8>,
    /// The number of held bytes that have been shown already.
    eased: usize,
}

impl Redactor {
    /// Masks these secrets, each a name and a value. Values that are too short are ignored.
    pub fn new<'a>(secrets: impl Iterator<Item = (&'a str, &'a [u8])>) -> Redactor {
        Redactor::of(Secrets::new(secrets))
    }

    pub fn of(secrets: Secrets) -> Redactor {
        Redactor { secrets, ..Redactor::default() }
    }

    /// Masks all secrets that this process knows, including those it learns later.
    pub fn of_known() -> Redactor {
        Redactor { secrets: known(), learns: true, ..Redactor::default() }
    }

    /// Returns true if it masks nothing.
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// Takes the next piece, and returns the bytes that can be shown by now.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        if self.learns {
            self.secrets = known();
        }
        if self.secrets.is_empty() {
            return piece.to_vec();
        }
        self.held.extend_from_slice(piece);
        self.take(false)
    }

    /// Returns the held-back bytes, masked, at the end of the stream.
    pub fn finish(&mut self) -> Vec<u8> {
        self.take(true)
    }

    /// Returns true if [`Redactor::ease`] would show more bytes.
    pub fn can_ease(&self) -> bool {
        self.eased < self.held.len().min(EASE)
    }

    /// Returns the first few held-back bytes, because the stream has paused and a reader waits. If they turn out to
    /// begin a secret, nothing more of it is ever shown.
    pub fn ease(&mut self) -> Vec<u8> {
        let until = self.held.len().min(EASE);
        let shown = self.held[self.eased.min(until)..until].to_vec();
        self.eased = self.eased.max(until);
        shown
    }

    fn take(&mut self, last: bool) -> Vec<u8> {
        let Some(known) = &self.secrets.known else { return std::mem::take(&mut self.held) };
        let found = known.find(&self.held, last);
        let MaskedText { mut shown, plain } = known.pass(&self.held, &found);
        let until = found.until;
        // Bytes that `ease` has shown are not shown twice.
        shown.drain(..self.eased.min(plain));
        self.eased = self.eased.saturating_sub(until);
        self.held.drain(..until);
        shown
    }
}

#[cfg(test)]
mod tests;
