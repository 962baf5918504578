//! What the readers found, kept within bounds, and made into a failure at the end.
//!
//! Every find has a weight. Items are those of the greatest weight there is: an uncaught exception in the log is the
//! failure if nothing else is, and somebody's log line if a test failed.

use std::collections::hash_map::{Entry as Slot, HashMap};
use std::collections::{BTreeSet, VecDeque};

use ao_ports::{Failure, FailureKind};

pub(super) use super::entry::{Entry, Family, Place};
use super::window::Seen;
use super::{Options, excerpt, signature, text};

/// So many finds are kept with their lines; of the others only what the signature and the count need.
const KEPT: usize = 200;
/// So many finds are told from one another; after that they are only counted.
const KNOWN: usize = 20_000;
/// A step is named by so many bytes at most.
const STEP: usize = 200;

/// Finds of one weight.
#[derive(Default)]
pub(super) struct Pile {
    entries: Vec<Option<Entry>>,
    /// Where each known one is among the entries, if it was kept.
    known: HashMap<u64, Option<u32>>,
    /// What the signature needs of those that were not kept.
    others: BTreeSet<u64>,
    uncounted: u32,
}

impl Pile {
    fn add(&mut self, entry: Entry) {
        match self.known.entry(entry.key()) {
            Slot::Occupied(slot) => {
                if let Some(at) = *slot.get()
                    && let Some(known) = &mut self.entries[at as usize]
                {
                    known.learn(entry);
                }
            }
            Slot::Vacant(slot) if self.entries.len() < KEPT => {
                slot.insert(Some(self.entries.len() as u32));
                self.entries.push(Some(entry));
            }
            Slot::Vacant(slot) => {
                self.uncounted += 1;
                slot.insert(None);
                self.others.insert(signature::number(&signature::short(&entry)));
            }
        }
    }

    fn remove(&mut self, entry: &Entry) {
        if let Some(Some(at)) = self.known.get(&entry.key()) {
            self.entries[*at as usize] = None;
        }
    }

    fn kept(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten()
    }

    fn is_empty(&self) -> bool {
        self.kept().next().is_none()
    }

    fn count(&self) -> u32 {
        self.kept().count() as u32 + self.uncounted
    }

    /// With their messages if all are kept; without, where the messages of those that came too late are not known.
    fn signature(&self) -> String {
        if self.uncounted == 0 {
            return signature::of_parts(self.kept().map(signature::long).collect());
        }
        let mut shorts = self.others.clone();
        shorts.extend(self.kept().map(|entry| signature::number(&signature::short(entry))));
        signature::of_parts(shorts.iter().map(|short| format!("{short:016x}")).collect())
    }
}

/// A line that may matter if nothing better is found, with what was around it.
#[derive(Debug, Clone)]
pub(super) struct Hint {
    pub line: String,
    pub around: Vec<Seen>,
    /// It says outright that it is an error.
    pub outright: bool,
}

/// The end of the log: readable lines, the last one last.
pub(super) type Tail = Vec<Seen>;

#[derive(Default)]
pub(super) struct Found {
    roots: Vec<String>,
    /// A test failed, or a compiler says so.
    certain: Pile,
    /// Something went wrong; whether that is why the check failed is not known.
    likely: Pile,
    /// What was said of tests that may have failed, until it is known whether they did.
    details: Vec<Entry>,
    summaries: Vec<Entry>,
    /// The last lines that may matter.
    pub hints: VecDeque<Hint>,
    /// The step that the output is at.
    pub at_step: Option<String>,
    /// The step that the output was at when something failed.
    failed_step: Option<String>,
    /// A step by the words of the tool that ran it, and how much that is worth.
    named_step: Option<(u8, String)>,
}

impl Found {
    pub(super) fn new(options: &Options) -> Found {
        Found { roots: options.roots.clone(), ..Found::default() }
    }

    /// A find that is certain to be why the check failed.
    pub(super) fn certain(&mut self, entry: Entry) {
        if self.certain.known.len() >= KNOWN {
            self.certain.uncounted += 1;
            return;
        }
        self.step_failed();
        let entry = entry.tidy(&self.roots);
        self.certain.add(entry);
    }

    /// A find that may be why.
    pub(super) fn likely(&mut self, entry: Entry) {
        if self.likely.known.len() >= KNOWN {
            self.likely.uncounted += 1;
            return;
        }
        let entry = entry.tidy(&self.roots);
        self.likely.add(entry);
    }

    /// What was said of a test, whether or not it failed.
    pub(super) fn detail(&mut self, entry: Entry) {
        if self.details.len() < 2 * KEPT {
            let entry = entry.tidy(&self.roots);
            self.details.push(entry);
        }
    }

    /// What a summary said of a test: only worth something if nobody says more.
    pub(super) fn summary(&mut self, entry: Entry) {
        if self.summaries.len() < 2 * KEPT {
            let entry = entry.tidy(&self.roots);
            self.summaries.push(entry);
        }
    }

    /// It failed first and passed in the end.
    pub(super) fn passed(&mut self, entry: &Entry) {
        self.certain.remove(entry);
    }

    /// The step that the output is at now has failed.
    pub(super) fn step_failed(&mut self) {
        if self.failed_step.is_none() {
            self.failed_step.clone_from(&self.at_step);
        }
    }

    /// A tool names the step that failed. Of two that are worth the same, the first one counts: it is the innermost.
    pub(super) fn name_step(&mut self, worth: u8, step: &str) {
        if self.named_step.as_ref().is_none_or(|(known, _)| *known < worth) {
            self.named_step = Some((worth, text::shorten(step.trim(), STEP).into_owned()));
        }
    }

    pub(super) fn finish(mut self, tail: &Tail, options: &Options) -> Failure {
        self.settle();
        let step = self.failed_step.take().or(self.named_step.take().map(|(_, step)| step));
        let pile = [&self.certain, &self.likely].into_iter().find(|pile| !pile.is_empty());
        let Some(pile) = pile else {
            let (signature, excerpt) = excerpt::of_hints(&self.hints, tail, options);
            let step = step.or_else(|| last_command(tail));
            return Failure { signature, step, excerpt, items: Vec::new(), count: 0 };
        };
        let mut entries: Vec<&Entry> = pile.kept().collect();
        // What does not compile is the reason for what follows.
        entries.sort_by_key(|entry| entry.kind != FailureKind::Error);
        Failure {
            signature: pile.signature(),
            step,
            excerpt: excerpt::of_entries(&entries, pile.count(), options),
            items: entries.iter().take(options.items).map(|entry| entry.item()).collect(),
            count: pile.count(),
        }
    }

    /// Puts what was said of tests to those that failed.
    fn settle(&mut self) {
        let mut named: HashMap<(Family, String), Vec<usize>> = HashMap::new();
        for (at, entry) in self.certain.entries.iter().enumerate() {
            if let Some(entry) = entry {
                named.entry((entry.family, plain_name(entry))).or_default().push(at);
            }
        }
        let families: Vec<Family> = self.certain.kept().map(|entry| entry.family).collect();
        let details = std::mem::take(&mut self.details);
        for detail in details.into_iter().chain(std::mem::take(&mut self.summaries)) {
            let Some(places) = named.get(&(detail.family, plain_name(&detail))) else {
                // Where it is known which tests failed, those that nobody names have passed.
                match detail.kind {
                    _ if families.contains(&detail.family) => {}
                    FailureKind::Test => self.certain.add(detail),
                    FailureKind::Error => self.likely.add(detail),
                }
                continue;
            };
            let entries = &self.certain.entries;
            let silent = |at: &&usize| entries[**at].as_ref().is_some_and(|entry| entry.lines.is_empty());
            let fitting = |at: &&usize| entries[**at].as_ref().is_some_and(|entry| fits(entry, &detail));
            let best = places.iter().filter(silent).find(fitting).or_else(|| places.iter().find(silent));
            if let Some(&at) = best
                && let Some(entry) = &mut self.certain.entries[at]
            {
                entry.learn(detail);
            }
        }
        self.drop_parents();
    }

    /// A test that failed only because one inside it did says nothing of its own.
    fn drop_parents(&mut self) {
        let names: Vec<(String, String)> = self
            .certain
            .kept()
            .filter(|entry| entry.family == Family::Go)
            .filter_map(|entry| Some((entry.scope.clone(), entry.name.clone()?)))
            .collect();
        for slot in &mut self.certain.entries {
            let Some(entry) = slot else { continue };
            if entry.family != Family::Go || !entry.lines.is_empty() {
                continue;
            }
            let parent = format!("{}/", entry.name.as_deref().unwrap_or_default());
            if names.iter().any(|(scope, name)| *scope == entry.scope && name.starts_with(&parent)) {
                *slot = None;
            }
        }
    }
}

/// Reports and summaries of the same tool join the parts of a name in two ways.
fn plain_name(entry: &Entry) -> String {
    entry.name.as_deref().unwrap_or_default().replace("::", ".")
}

/// Whether what was said is about this one, where there are more of the same name.
fn fits(entry: &Entry, detail: &Entry) -> bool {
    let path = |entry: &Entry| entry.place.as_ref().map(|place| place.path.clone());
    if detail.scope.is_empty() { path(entry) == path(detail) } else { entry.scope == detail.scope }
}

/// The last command that a shell showed before it ran it.
fn last_command(tail: &Tail) -> Option<String> {
    let shown = |line: &&str| line.starts_with("+ ") || line.starts_with("++ ");
    let command = tail.iter().rev().map(|seen| seen.line.as_str()).find(shown)?;
    Some(text::shorten(command.trim_start_matches('+').trim(), STEP).into_owned())
}
