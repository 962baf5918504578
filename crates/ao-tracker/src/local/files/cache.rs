//! A cache of the files: each is read once, and again only when it has changed.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::time::{Duration, SystemTime};

use ao_core::{ProjectId, Timestamp};

use super::document::IssueDocument;
use super::folder::{FileStamp, FolderError, IssueFolder, ReadResult};
use super::{FileMistake, FileWarning};
use crate::local::issue::Issue;

/// Two changes within a tick of the file system's clock look the same. A file that was read this soon after a change is
/// read again.
const TICK: Duration = Duration::from_millis(100);

/// Numbers beyond this follow some other scheme, such as dates.
const MAX_NUMBER: u64 = 9_999_999;

/// The files of a folder, as they were last seen.
#[derive(Debug, Default)]
pub(super) struct FileCache {
    files: BTreeMap<u64, KnownFile>,
    /// Warnings about names that belong to no issue.
    odd_names: Vec<FileWarning>,
    /// The warnings that were logged.
    logged: BTreeSet<FileWarning>,
}

#[derive(Debug)]
struct KnownFile {
    name: String,
    stamp: Option<FileStamp>,
    read: SystemTime,
    /// A hash of the text.
    print: u64,
    issue: Result<(Issue, usize), FileMistake>,
}

impl FileCache {
    /// Checks every file, and reads those that have changed.
    pub(super) fn refresh(&mut self, project: &ProjectId, folder: &IssueFolder) -> Result<(), FolderError> {
        let mut before = std::mem::take(&mut self.files);
        self.odd_names.clear();
        let Some(handle) = folder.open()? else { return Ok(()) };
        for name in folder.names(&handle)? {
            let number = match number(&name) {
                ParsedName::Issue(number) => number,
                ParsedName::Other => continue,
                ParsedName::Odd(what) => {
                    self.odd_names.push(FileWarning { path: folder.path().join(name), line: 1, what });
                    continue;
                }
            };
            if let Some(first) = self.files.get(&number) {
                let what =
                    format!("it has the number of `{}`; give it another one, or it is not seen", first.name);
                self.odd_names.push(FileWarning { path: folder.path().join(name), line: 1, what });
                continue;
            }
            let old = before.remove(&number).filter(|old| old.name == name);
            let known = old.as_ref().and_then(|old| old.stamp.filter(|stamp| stamp.is_settled(old.read)));
            let read = SystemTime::now();
            let file = match (folder.read(&handle, &name, known)?, old) {
                (None, _) => continue,
                (Some(ReadResult::Same), Some(old)) => old,
                (Some(ReadResult::Same), None) => continue,
                (Some(ReadResult::Text(stamp, text)), _) => KnownFile {
                    name,
                    stamp: Some(stamp),
                    read,
                    print: print(&text),
                    issue: IssueDocument::read(project, number, stamp.at(), &text)
                        .map(|document| (document.issue, document.blocked_by_line)),
                },
                (Some(ReadResult::Odd(stamp, line, what)), _) => {
                    let print = print(&what);
                    KnownFile { name, stamp, read, print, issue: Err(FileMistake { line, what }) }
                }
            };
            self.files.insert(number, file);
        }
        self.log_new_warnings(folder);
        Ok(())
    }

    pub(super) fn issues(&self) -> impl DoubleEndedIterator<Item = &Issue> {
        self.files.values().filter_map(|file| file.issue.as_ref().ok()).map(|(issue, _)| issue)
    }

    /// Returns the file of an issue, with its content or its mistake.
    pub(super) fn get(&self, number: u64) -> Option<(&str, Result<&Issue, &FileMistake>)> {
        let file = self.files.get(&number)?;
        Some((&file.name, file.issue.as_ref().map(|(issue, _)| issue)))
    }

    /// Returns true unless it is known to be closed; an unreadable one is not.
    pub(super) fn is_open(&self, number: u64) -> bool {
        self.get(number).is_some_and(|(_, issue)| issue.map_or(true, |issue| !issue.closed))
    }

    pub(super) fn last_number(&self) -> u64 {
        self.files.keys().next_back().copied().unwrap_or(0)
    }

    /// Returns the time of the last change of an issue or of one that it waits for.
    pub(super) fn touched(&self, issue: &Issue) -> Timestamp {
        let blockers = issue.blocked_by.iter().filter_map(|blocker| self.get(*blocker)?.1.ok());
        blockers.map(|blocker| blocker.updated).fold(issue.updated, Timestamp::max)
    }

    /// Returns a hash of each file, and its blockers.
    pub(super) fn prints(&self) -> BTreeMap<u64, (u64, BTreeSet<u64>)> {
        let blockers = |file: &KnownFile| {
            file.issue.as_ref().map_or_else(|_| BTreeSet::new(), |(i, _)| i.blocked_by.clone())
        };
        self.files.iter().map(|(number, file)| (*number, (file.print, blockers(file)))).collect()
    }

    pub(super) fn warnings(&self, folder: &IssueFolder) -> Vec<FileWarning> {
        let mut warnings = self.odd_names.clone();
        for (number, file) in &self.files {
            let path = folder.path().join(&file.name);
            match &file.issue {
                Err(FileMistake { line, what }) => {
                    warnings.push(FileWarning { path, line: *line, what: what.clone() });
                }
                Ok((issue, line)) => {
                    let mut odd = |what| warnings.push(FileWarning { path: path.clone(), line: *line, what });
                    for blocker in issue.blocked_by.iter().filter(|blocker| !self.files.contains_key(blocker))
                    {
                        odd(format!(
                            "it waits for #{blocker}, and there is no such issue; take it out, or it is passed over"
                        ));
                    }
                    if !issue.closed && self.waits_for_itself(*number) {
                        odd("it waits for itself, by way of those that it waits for, so none of them can begin".into());
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

    fn log_new_warnings(&mut self, folder: &IssueFolder) {
        let warnings: BTreeSet<FileWarning> = self.warnings(folder).into_iter().collect();
        for FileWarning { path, line, what } in warnings.difference(&self.logged) {
            tracing::warn!(%path, line, what, "an issue's file is not as it should be");
        }
        self.logged = warnings;
    }
}

impl FileStamp {
    /// Returns true if a read at that time saw all changes up to this stamp.
    fn is_settled(&self, read: SystemTime) -> bool {
        let changed = SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(self.at().0).unwrap_or(0));
        read.duration_since(changed).is_ok_and(|since| since > TICK)
    }
}

enum ParsedName {
    Issue(u64),
    /// Not meant as an issue.
    Other,
    Odd(String),
}

/// Parses a file name: `12-fix-the-login.md` is issue 12.
fn number(name: &str) -> ParsedName {
    let Some(stem) = name.strip_suffix(".md").filter(|stem| !stem.starts_with('.')) else {
        return ParsedName::Other;
    };
    let digits = stem.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = stem.split_at(digits);
    match digits.parse() {
        _ if stem.eq_ignore_ascii_case("readme") => ParsedName::Other,
        Ok(number) if (1..=MAX_NUMBER).contains(&number) && (rest.is_empty() || rest.starts_with('-')) => {
            ParsedName::Issue(number)
        }
        _ => ParsedName::Odd(
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
            assert!(matches!(number(name), ParsedName::Issue(n) if n == expected), "{name}");
        }
        for name in ["README.md", "notes.txt", ".hidden.md", ".12-fix.md.swp", "12-fix.md~", "4913"] {
            assert!(matches!(number(name), ParsedName::Other), "{name}");
        }
        for name in ["fix.md", "0-fix.md", "12fix.md", "20260102030405-log.md", "-1.md"] {
            assert!(matches!(number(name), ParsedName::Odd(_)), "{name}");
        }
    }
}
