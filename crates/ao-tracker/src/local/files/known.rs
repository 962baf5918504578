//! What is known of the files: each read once, and again only when it changed.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::time::{Duration, SystemTime};

use ao_core::{ProjectId, Timestamp};

use super::document::Document;
use super::folder::{Folder, FolderError, Found, Stamp};
use super::{Mistake, Warning};
use crate::local::issue::Issue;

/// Two changes within a tick of the file system's clock look the same. Who has read a file so soon after it changed reads
/// it again.
const TICK: Duration = Duration::from_millis(100);

/// Numbers beyond this are some other counting, such as dates.
const MAX_NUMBER: u64 = 9_999_999;

/// The files of a folder, as they were last seen.
#[derive(Debug, Default)]
pub(super) struct Known {
    files: BTreeMap<u64, KnownFile>,
    /// Of names, which belong to no file that is read.
    odd_names: Vec<Warning>,
    /// Those that were logged.
    told: BTreeSet<Warning>,
}

#[derive(Debug)]
struct KnownFile {
    name: String,
    stamp: Option<Stamp>,
    read: SystemTime,
    /// Of the text, whatever it says.
    print: u64,
    issue: Result<(Issue, usize), Mistake>,
}

impl Known {
    /// Looks at every file, and reads those that changed.
    pub(super) fn refresh(&mut self, project: &ProjectId, folder: &Folder) -> Result<(), FolderError> {
        let mut before = std::mem::take(&mut self.files);
        self.odd_names.clear();
        let Some(handle) = folder.open()? else { return Ok(()) };
        for name in folder.names(&handle)? {
            let number = match number(&name) {
                Named::Issue(number) => number,
                Named::Other => continue,
                Named::Odd(what) => {
                    self.odd_names.push(Warning { path: folder.path().join(name), line: 1, what });
                    continue;
                }
            };
            if let Some(first) = self.files.get(&number) {
                let what =
                    format!("it has the number of `{}`; give it another one, or it is not seen", first.name);
                self.odd_names.push(Warning { path: folder.path().join(name), line: 1, what });
                continue;
            }
            let old = before.remove(&number).filter(|old| old.name == name);
            let known = old.as_ref().and_then(|old| old.stamp.filter(|stamp| stamp.is_settled(old.read)));
            let read = SystemTime::now();
            let file = match (folder.read(&handle, &name, known)?, old) {
                (None, _) => continue,
                (Some(Found::Same), Some(old)) => old,
                (Some(Found::Same), None) => continue,
                (Some(Found::Text(stamp, text)), _) => KnownFile {
                    name,
                    stamp: Some(stamp),
                    read,
                    print: print(&text),
                    issue: Document::read(project, number, stamp.at(), &text)
                        .map(|document| (document.issue, document.blocked_by_line)),
                },
                (Some(Found::Odd(stamp, line, what)), _) => {
                    let print = print(&what);
                    KnownFile { name, stamp, read, print, issue: Err(Mistake { line, what }) }
                }
            };
            self.files.insert(number, file);
        }
        self.tell(folder);
        Ok(())
    }

    pub(super) fn issues(&self) -> impl DoubleEndedIterator<Item = &Issue> {
        self.files.values().filter_map(|file| file.issue.as_ref().ok()).map(|(issue, _)| issue)
    }

    /// The file of an issue, what it says, or what is wrong with it.
    pub(super) fn get(&self, number: u64) -> Option<(&str, Result<&Issue, &Mistake>)> {
        let file = self.files.get(&number)?;
        Some((&file.name, file.issue.as_ref().map(|(issue, _)| issue)))
    }

    /// Whether it is not closed, as far as can be told: one that cannot be read is not known to be.
    pub(super) fn is_open(&self, number: u64) -> bool {
        self.get(number).is_some_and(|(_, issue)| issue.map_or(true, |issue| !issue.closed))
    }

    pub(super) fn last_number(&self) -> u64 {
        self.files.keys().next_back().copied().unwrap_or(0)
    }

    /// When there was last something new about an issue: it changed, or one that it waits for.
    pub(super) fn touched(&self, issue: &Issue) -> Timestamp {
        let blockers = issue.blocked_by.iter().filter_map(|blocker| self.get(*blocker)?.1.ok());
        blockers.map(|blocker| blocker.updated).fold(issue.updated, Timestamp::max)
    }

    /// What each file holds, as something that can be compared, and whom it waits for.
    pub(super) fn prints(&self) -> BTreeMap<u64, (u64, BTreeSet<u64>)> {
        let blockers = |file: &KnownFile| {
            file.issue.as_ref().map_or_else(|_| BTreeSet::new(), |(i, _)| i.blocked_by.clone())
        };
        self.files.iter().map(|(number, file)| (*number, (file.print, blockers(file)))).collect()
    }

    pub(super) fn warnings(&self, folder: &Folder) -> Vec<Warning> {
        let mut warnings = self.odd_names.clone();
        for (number, file) in &self.files {
            let path = folder.path().join(&file.name);
            match &file.issue {
                Err(Mistake { line, what }) => {
                    warnings.push(Warning { path, line: *line, what: what.clone() });
                }
                Ok((issue, line)) => {
                    let mut odd = |what| warnings.push(Warning { path: path.clone(), line: *line, what });
                    for blocker in issue.blocked_by.iter().filter(|blocker| !self.files.contains_key(blocker))
                    {
                        odd(format!(
                            "it waits for #{blocker}, and there is no such issue; take it out, or it is passed over"
                        ));
                    }
                    if !issue.closed && self.waits_for_itself(*number) {
                        odd("it waits for itself, by way of those that it waits for; nobody can begin".into());
                    }
                }
            }
        }
        warnings.sort();
        warnings
    }

    fn waits_for_itself(&self, number: u64) -> bool {
        let behind =
            |number: u64| self.get(number).and_then(|(_, issue)| issue.ok()).map(|issue| &issue.blocked_by);
        let mut next: Vec<u64> = behind(number).into_iter().flatten().copied().collect();
        let mut seen = BTreeSet::new();
        while let Some(other) = next.pop() {
            if other == number {
                return true;
            }
            if seen.insert(other) {
                next.extend(behind(other).into_iter().flatten());
            }
        }
        false
    }

    fn tell(&mut self, folder: &Folder) {
        let warnings: BTreeSet<Warning> = self.warnings(folder).into_iter().collect();
        for Warning { path, line, what } in warnings.difference(&self.told) {
            tracing::warn!(%path, line, what, "an issue's file is not as it should be");
        }
        self.told = warnings;
    }
}

impl Stamp {
    /// Whether a read at that time saw all changes up to this stamp.
    fn is_settled(&self, read: SystemTime) -> bool {
        let changed = SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(self.at().0).unwrap_or(0));
        read.duration_since(changed).is_ok_and(|since| since > TICK)
    }
}

enum Named {
    Issue(u64),
    /// Nothing that is meant as an issue.
    Other,
    Odd(String),
}

/// `12-fix-the-login.md` is issue 12.
fn number(name: &str) -> Named {
    let Some(stem) = name.strip_suffix(".md").filter(|stem| !stem.starts_with('.')) else {
        return Named::Other;
    };
    let digits = stem.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = stem.split_at(digits);
    match digits.parse() {
        _ if stem.eq_ignore_ascii_case("readme") => Named::Other,
        Ok(number) if (1..=MAX_NUMBER).contains(&number) && (rest.is_empty() || rest.starts_with('-')) => {
            Named::Issue(number)
        }
        _ => Named::Odd(
            "its name has no number; call it by one that is free, such as `12-what-it-is-about.md`".into(),
        ),
    }
}

fn print(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_begins_with_the_number() {
        for (name, expected) in [("12-fix.md", 12), ("12.md", 12), ("0012-fix.md", 12), ("1-2-3.md", 1)] {
            assert!(matches!(number(name), Named::Issue(n) if n == expected), "{name}");
        }
        for name in ["README.md", "notes.txt", ".hidden.md", ".12-fix.md.swp", "12-fix.md~", "4913"] {
            assert!(matches!(number(name), Named::Other), "{name}");
        }
        for name in ["fix.md", "0-fix.md", "12fix.md", "20260102030405-log.md", "-1.md"] {
            assert!(matches!(number(name), Named::Odd(_)), "{name}");
        }
    }
}
