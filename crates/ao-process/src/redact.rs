//! Keeping secrets out of what is written down, whichever way they are cut into pieces.
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

/// Shorter values are words that stand in any log for other reasons, and to cross those out would tell what they are.
const SHORTEST: usize = 8;
/// So much of what may become a secret is shown to somebody who waits for it. It tells nothing that a maker's own prefix does
/// not tell, and a prompt that ends in such a letter is not kept from its reader.
const EASE: usize = 4;
/// So much is held back at most beside the length of a secret: codes without end between two letters hold nothing up.
const CODES_MOST: usize = 16 * 1024;

/// Secrets by their names, found in any text by one pass over it: as they are, in base64, and as addresses have them; and
/// with codes of a terminal, line ends and characters without width between their letters.
#[derive(Clone, Default)]
pub struct Secrets {
    known: Option<Arc<Known>>,
}

struct Known {
    finder: AhoCorasick,
    /// What is looked for, in the order of the finder.
    values: Vec<Vec<u8>>,
    labels: Vec<Vec<u8>>,
    longest: usize,
    /// The numbers of those that begin with a byte, by the byte.
    by_first: Vec<Vec<u32>>,
}

impl Secrets {
    /// Looks out for these values, each with its name. Short ones are left as they are.
    pub fn new<'a>(secrets: impl Iterator<Item = (&'a str, &'a [u8])>) -> Secrets {
        let (mut values, mut labels): (Vec<Vec<u8>>, Vec<Vec<u8>>) = (vec![], vec![]);
        for (name, value) in secrets.filter(|(_, value)| value.len() >= SHORTEST) {
            let forms = forms::of(value).into_iter();
            // Also as it is seen where codes and line ends are left out.
            let forms = forms.flat_map(|form| [view::joined(&form).bytes, form]);
            for form in forms.filter(|form| form.len() >= SHORTEST) {
                if !values.contains(&form) {
                    values.push(form);
                    labels.push(format!("[secret {name}]").into());
                }
            }
        }
        let finder = AhoCorasick::builder()
            // One secret may begin with another; of the longer one nothing may be left.
            .match_kind(MatchKind::LeftmostLongest)
            // Small, because every agent's holder has one.
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
        Secrets { known: Some(Arc::new(Known { finder, values, labels, longest, by_first })) }
    }

    pub fn is_empty(&self) -> bool {
        self.known.is_none()
    }

    /// The most bytes that one of them has, in whichever form.
    pub fn longest(&self) -> usize {
        self.known.as_ref().map_or(0, |known| known.longest)
    }

    /// A text without the secrets in it.
    pub fn mask(&self, text: &str) -> String {
        let mut masked = text.to_owned();
        self.mask_in(&mut masked);
        masked
    }

    /// The same in place. Says whether there was one.
    pub fn mask_in(&self, text: &mut String) -> bool {
        let Some(known) = &self.known else { return false };
        let found = known.find(text.as_bytes(), true);
        if found.masks.is_empty() {
            return false;
        }
        let Passed { shown, .. } = known.pass(text.as_bytes(), &found);
        // Secrets may be cut out of the middle of letters only if they are no text themselves.
        *text = String::from_utf8(shown)
            .unwrap_or_else(|err| String::from_utf8_lossy(err.as_bytes()).into_owned());
        true
    }

    /// How much of a piece of something longer can be shown: not the end of it that may be the beginning of a secret.
    pub fn whole_part(&self, piece: &[u8]) -> usize {
        self.known.as_ref().map_or(piece.len(), |known| known.find(piece, false).until)
    }
}

/// The secrets of a text.
struct Found {
    /// The parts that are secrets, in order and apart from each other, each with the number of its label.
    masks: Vec<(Range<usize>, usize)>,
    /// Up to where it is certain.
    until: usize,
}

/// A text, or the beginning of it, as it can be shown.
struct Passed {
    shown: Vec<u8>,
    /// How much there is in front of the first secret.
    plain: usize,
}

impl Known {
    /// Finds the secrets in a text. If it is not the last piece, the end that may become a secret is left.
    fn find(&self, text: &[u8], last: bool) -> Found {
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
        Found { until: held.unwrap_or(text.len()), masks }
    }

    /// Returns the part of a text that can be shown, without what was found in it.
    fn pass(&self, text: &[u8], found: &Found) -> Passed {
        let mut shown = Vec::with_capacity(found.until);
        let (mut at, mut plain) = (0, None);
        for (mask, label) in found.masks.iter().filter(|(mask, _)| mask.start < found.until) {
            shown.extend_from_slice(&text[at..mask.start]);
            shown.extend_from_slice(&self.labels[*label]);
            plain.get_or_insert(mask.start);
            at = mask.end;
        }
        shown.extend_from_slice(&text[at..found.until]);
        Passed { shown, plain: plain.unwrap_or(found.until) }
    }

    /// Where something begins that goes on to the end and may be the beginning of a secret.
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

/// Of parts that overlap makes one, which has the label of the longest.
fn apart(mut masks: Vec<(Range<usize>, usize)>) -> Vec<(Range<usize>, usize)> {
    masks.sort_by_key(|(mask, _)| (mask.start, std::cmp::Reverse(mask.end)));
    let mut apart: Vec<(Range<usize>, usize)> = Vec::with_capacity(masks.len());
    // The length of the one that the last label is of.
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

/// Replaces the values of secrets in a stream of bytes by their names.
#[derive(Debug, Default)]
pub struct Redactor {
    secrets: Secrets,
    /// Those that this process learns later are looked for too.
    learns: bool,
    /// The end of the stream so far, if it may be the beginning of a secret.
    held: Vec<u8>,
    /// How much of that has been shown already.
    eased: usize,
}

impl Redactor {
    /// Looks out for these values, each with its name. Short ones are left as they are.
    pub fn new<'a>(secrets: impl Iterator<Item = (&'a str, &'a [u8])>) -> Redactor {
        Redactor::of(Secrets::new(secrets))
    }

    pub fn of(secrets: Secrets) -> Redactor {
        Redactor { secrets, ..Redactor::default() }
    }

    /// Looks out for all that this process knows, and for what it learns meanwhile.
    pub fn of_known() -> Redactor {
        Redactor { secrets: known(), learns: true, ..Redactor::default() }
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// Takes the next piece, and returns what can be shown by now.
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

    /// Returns what was held back, because nothing comes after it.
    pub fn finish(&mut self) -> Vec<u8> {
        self.take(true)
    }

    /// Whether something is held back of which [`Redactor::ease`] would show more.
    pub fn can_ease(&self) -> bool {
        self.eased < self.held.len().min(EASE)
    }

    /// Returns the first few bytes of what is held back, because nothing has come for a while and somebody waits to see it. If
    /// it becomes a secret after all, these are all that was shown of it.
    pub fn ease(&mut self) -> Vec<u8> {
        let until = self.held.len().min(EASE);
        let shown = self.held[self.eased.min(until)..until].to_vec();
        self.eased = self.eased.max(until);
        shown
    }

    fn take(&mut self, last: bool) -> Vec<u8> {
        let Some(known) = &self.secrets.known else { return std::mem::take(&mut self.held) };
        let found = known.find(&self.held, last);
        let Passed { mut shown, plain } = known.pass(&self.held, &found);
        let until = found.until;
        // Some of it was shown before, and nothing is shown twice.
        shown.drain(..self.eased.min(plain));
        self.eased = self.eased.saturating_sub(until);
        self.held.drain(..until);
        shown
    }
}

#[cfg(test)]
mod tests;
