//! Collects what the readers find, within bounds, and makes a failure of it at the end.
//!
//! Every entry has a weight. Only entries of the greatest weight are reported: an uncaught exception is the failure
//! if there is nothing else, and a mere log line if a test failed.

use std::collections::hash_map::{Entry as Slot, HashMap};
use std::collections::{BTreeSet, VecDeque};

use ao_ports::{FailureKind, FailureReport};

use super::entry::{FailureEntry, FailureFamily};
use super::window::LogLine;
use super::{Options, excerpt, signature, text};

/// The most entries that are kept with their lines; of others only the count and a part of the signature.
const KEPT: usize = 200;
/// The most entries that are distinguished; further ones are only counted.
const KNOWN: usize = 20_000;
/// The most bytes of the name of a step.
const STEP: usize = 200;

/// Entries of one weight.
#[derive(Default)]
pub(super) struct FailureSet {
    entries: Vec<Option<FailureEntry>>,
    /// Index of each known entry, if it was kept.
    known: HashMap<u64, Option<u32>>,
    /// Signatures of the entries that were not kept.
    others: BTreeSet<u64>,
    uncounted: u32,
}

impl FailureSet {
    fn add(&mut self, entry: FailureEntry, roots: &[String]) {
        if self.known.len() >= KNOWN {
            self.uncounted += 1;
            return;
        }
        let entry = entry.tidy(roots);
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

    fn remove(&mut self, entry: &FailureEntry) {
        if let Some(Some(at)) = self.known.get(&entry.key()) {
            self.entries[*at as usize] = None;
        }
    }

    fn kept(&self) -> impl Iterator<Item = &FailureEntry> {
        self.entries.iter().flatten()
    }

    fn is_empty(&self) -> bool {
        self.kept().next().is_none()
    }

    fn count(&self) -> u32 {
        self.kept().count() as u32 + self.uncounted
    }

    /// Returns the signature: with messages if all entries are kept, else without, because the messages of the others
    /// are unknown.
    fn signature(&self) -> String {
        if self.uncounted == 0 {
            return signature::of_parts(self.kept().map(signature::long).collect());
        }
        let mut shorts = self.others.clone();
        shorts.extend(self.kept().map(|entry| signature::number(&signature::short(entry))));
        signature::of_parts(shorts.iter().map(|short| format!("{short:016x}")).collect())
    }
}

/// A line that may matter if nothing better is found, with its context.
#[derive(Debug, Clone)]
pub(super) struct HintLine {
    pub line: String,
    pub around: Vec<LogLine>,
    /// True if it explicitly reports an error.
    pub outright: bool,
}

/// The end of the log: readable lines, the last one last.
pub(super) type LogTail = Vec<LogLine>;

#[derive(Default)]
pub(super) struct FailureCollector {
    roots: Vec<String>,
    /// Failed tests and compiler errors.
    certain: FailureSet,
    /// Problems that may or may not be why the check failed.
    likely: FailureSet,
    /// Output of tests that may have failed, until their result is known.
    details: Vec<FailureEntry>,
    summaries: Vec<FailureEntry>,
    /// The last lines that may matter.
    pub hints: VecDeque<HintLine>,
    /// The current step of the output.
    pub at_step: Option<String>,
    /// The step in which the first failure occurred.
    failed_step: Option<String>,
    /// The failed step as named by the tool that ran it, with a priority.
    named_step: Option<(u8, String)>,
}

impl FailureCollector {
    pub(super) fn new(options: &Options) -> FailureCollector {
        FailureCollector { roots: options.roots.clone(), ..FailureCollector::default() }
    }

    /// Adds a certain cause of the failure.
    pub(super) fn certain(&mut self, entry: FailureEntry) {
        self.step_failed();
        self.certain.add(entry, &self.roots);
    }

    /// Adds a likely cause.
    pub(super) fn likely(&mut self, entry: FailureEntry) {
        self.likely.add(entry, &self.roots);
    }

    /// Adds output of a test, regardless of its result.
    pub(super) fn detail(&mut self, entry: FailureEntry) {
        if self.details.len() < 2 * KEPT {
            self.details.push(entry.tidy(&self.roots));
        }
    }

    /// Adds a line of a summary, which is used only if there is no other output of the test.
    pub(super) fn summary(&mut self, entry: FailureEntry) {
        if self.summaries.len() < 2 * KEPT {
            self.summaries.push(entry.tidy(&self.roots));
        }
    }

    /// Removes a test that failed first and passed in the end.
    pub(super) fn passed(&mut self, entry: &FailureEntry) {
        self.certain.remove(entry);
    }

    /// Marks the current step as failed.
    pub(super) fn step_failed(&mut self) {
        if self.failed_step.is_none() {
            self.failed_step.clone_from(&self.at_step);
        }
    }

    /// Records the failed step as named by a tool. Of equal priorities the first one counts: it is the innermost.
    pub(super) fn name_step(&mut self, worth: u8, step: &str) {
        if self.named_step.as_ref().is_none_or(|(known, _)| *known < worth) {
            self.named_step = Some((worth, text::shorten(step.trim(), STEP).into_owned()));
        }
    }

    pub(super) fn finish(mut self, tail: &LogTail, options: &Options) -> FailureReport {
        self.settle();
        let step = self.failed_step.take().or(self.named_step.take().map(|(_, step)| step));
        let pile = [&self.certain, &self.likely].into_iter().find(|pile| !pile.is_empty());
        let Some(pile) = pile else {
            let (signature, excerpt) = excerpt::of_hints(&self.hints, tail, options);
            let step = step.or_else(|| last_command(tail));
            return FailureReport { signature, step, excerpt, items: Vec::new(), count: 0 };
        };
        let mut entries: Vec<&FailureEntry> = pile.kept().collect();
        // Compiler errors cause what follows, so they come first.
        entries.sort_by_key(|entry| entry.kind != FailureKind::Error);
        FailureReport {
            signature: pile.signature(),
            step,
            excerpt: excerpt::of_entries(&entries, pile.count(), options),
            items: entries.iter().take(options.items).map(|entry| entry.item()).collect(),
            count: pile.count(),
        }
    }

    /// Assigns the collected output to the tests that failed.
    fn settle(&mut self) {
        let mut named: HashMap<(FailureFamily, String), Vec<usize>> = HashMap::new();
        for (at, entry) in self.certain.entries.iter().enumerate() {
            if let Some(entry) = entry {
                named.entry((entry.family, plain_name(entry))).or_default().push(at);
            }
        }
        let families: Vec<FailureFamily> = self.certain.kept().map(|entry| entry.family).collect();
        let details = std::mem::take(&mut self.details);
        for detail in details.into_iter().chain(std::mem::take(&mut self.summaries)) {
            let Some(places) = named.get(&(detail.family, plain_name(&detail))) else {
                // If the failed tests are known, a test that is not listed has passed.
                match detail.kind {
                    _ if families.contains(&detail.family) => {}
                    FailureKind::Test => self.certain.add(detail, &[]),
                    FailureKind::Error => self.likely.add(detail, &[]),
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

    /// Drops tests that failed only because a subtest did.
    fn drop_parents(&mut self) {
        let names: Vec<(String, String)> = self
            .certain
            .kept()
            .filter(|entry| entry.family == FailureFamily::Go)
            .filter_map(|entry| Some((entry.scope.clone(), entry.name.clone()?)))
            .collect();
        for slot in &mut self.certain.entries {
            let Some(entry) = slot else { continue };
            if entry.family != FailureFamily::Go || !entry.lines.is_empty() {
                continue;
            }
            let parent = format!("{}/", entry.name.as_deref().unwrap_or_default());
            if names.iter().any(|(scope, name)| *scope == entry.scope && name.starts_with(&parent)) {
                *slot = None;
            }
        }
    }
}

/// Returns the name in one notation: reports and summaries of the same tool join its parts differently.
fn plain_name(entry: &FailureEntry) -> String {
    entry.name.as_deref().unwrap_or_default().replace("::", ".")
}

/// Returns true if this output belongs to the entry, where several have the same name.
fn fits(entry: &FailureEntry, detail: &FailureEntry) -> bool {
    let path = |entry: &FailureEntry| entry.place.as_ref().map(|place| place.path.clone());
    if detail.scope.is_empty() { path(entry) == path(detail) } else { entry.scope == detail.scope }
}

/// Returns the last command that a shell traced.
fn last_command(tail: &LogTail) -> Option<String> {
    let shown = |line: &&str| line.starts_with("+ ") || line.starts_with("++ ");
    let command = tail.iter().rev().map(|seen| seen.line.as_str()).find(shown)?;
    Some(text::shorten(command.trim_start_matches('+').trim(), STEP).into_owned())
}
