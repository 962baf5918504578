//! Stores issues in files.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use ao_core::{ProjectId, Timestamp};
use ao_ports::{RecordChange, Records, TrackerError};
use async_trait::async_trait;
use camino::Utf8PathBuf;

use super::cache::FileCache;
use super::document::{self, IssueDocument};
use super::folder::{self, FileStamp, FolderError, IssueFolder, ReadResult};
use super::{FileMistake, FileWarning};
use crate::local::issue::{Issue, IssueComment};
use crate::local::records::{escaped, failed};
use crate::local::storage::{IssueMatcher, IssueStorage};

/// Attempts of an edit that meets a concurrent save of the same file.
const TRIES: usize = 3;

/// Most characters of a title in the name of its file.
const MAX_SLUG: usize = 48;

/// The files of one project.
pub(in crate::local) struct FileStorage {
    project: ProjectId,
    pub(super) folder: IssueFolder,
    records: Arc<dyn Records>,
    /// Locked while files are read, on threads where blocking is allowed.
    known: Arc<Mutex<FileCache>>,
}

impl FileStorage {
    pub(in crate::local) fn new(
        project: &ProjectId,
        root: Utf8PathBuf,
        records: Arc<dyn Records>,
    ) -> FileStorage {
        FileStorage { project: project.clone(), folder: IssueFolder { root }, records, known: Arc::default() }
    }

    pub(in crate::local) async fn warnings(&self) -> Result<Vec<FileWarning>, TrackerError> {
        let folder = self.folder.clone();
        self.look(move |known| known.warnings(&folder)).await
    }

    /// Reads the files as they are now.
    pub(super) async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&FileCache) -> T + Send + 'static,
    ) -> Result<T, TrackerError> {
        let (known, project, folder) = (Arc::clone(&self.known), self.project.clone(), self.folder.clone());
        blocking(move || {
            // After a panic it is refreshed like at any other time.
            let mut known = known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            known.refresh(&project, &folder)?;
            Ok(look(&known))
        })
        .await
    }

    /// Edits the text of an issue's file. `None` from `change` means that it cannot be edited cleanly.
    async fn rewrite(
        &self,
        number: u64,
        change: impl Fn(&IssueDocument, &str) -> Option<String> + Send + 'static,
    ) -> Result<(), TrackerError> {
        let name = self.look(move |known| known.get(number).map(|(name, _)| name.to_owned())).await?;
        let Some(name) = name else { return Err(TrackerError::not_found(format!("issue #{number}"))) };
        let (project, folder) = (self.project.clone(), self.folder.clone());
        blocking(move || {
            for _ in 1..TRIES {
                match rewrite_once(&project, &folder, number, &name, &change)? {
                    Err(FolderError::Changed { .. }) => {}
                    done => return Ok(done?),
                }
            }
            Ok(rewrite_once(&project, &folder, number, &name, &change)??)
        })
        .await
    }

    fn counter_key(&self) -> String {
        format!("{}/files/last", escaped(self.project.as_str()))
    }
}

#[async_trait]
impl IssueStorage for FileStorage {
    async fn get(&self, number: u64) -> Result<Option<Issue>, TrackerError> {
        let path = self.folder.path();
        self.look(move |known| match known.get(number) {
            None => Ok(None),
            Some((_, Ok(issue))) => Ok(Some(issue.clone())),
            Some((name, Err(mistake))) => Err(unreadable(&path.join(name), mistake)),
        })
        .await?
    }

    async fn open(&self) -> Result<Vec<Issue>, TrackerError> {
        self.look(|known| known.issues().filter(|issue| !issue.closed).cloned().collect()).await
    }

    async fn closed(&self, wanted: &IssueMatcher, limit: usize) -> Result<Vec<Issue>, TrackerError> {
        let wanted = wanted.clone();
        self.look(move |known| {
            let mut found: Vec<&Issue> =
                known.issues().filter(|issue| issue.closed && wanted.fits(issue)).collect();
            found.sort_by_key(|issue| std::cmp::Reverse((issue.updated, issue.number)));
            found.into_iter().take(limit).cloned().collect()
        })
        .await
    }

    async fn changed(
        &self,
        since: Timestamp,
        page: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<Issue>, Option<String>), TrackerError> {
        let place = |issue: &Issue, at: Timestamp| format!("{:020}/{:010}", at.0.max(0), issue.number);
        let page = page.map(str::to_owned);
        self.look(move |known| {
            let mut found: Vec<(String, &Issue)> = known
                .issues()
                .map(|issue| (known.touched(issue), issue))
                .filter(|(at, _)| *at >= since)
                .map(|(at, issue)| (place(issue, at), issue))
                .filter(|(place, _)| page.as_ref().is_none_or(|page| place > page))
                .collect();
            found.sort_by(|(one, _), (other, _)| one.cmp(other));
            let more = found.len() > limit;
            found.truncate(limit);
            let next = found.last().filter(|_| more).map(|(place, _)| place.clone());
            (found.into_iter().map(|(_, issue)| issue.clone()).collect(), next)
        })
        .await
    }

    async fn still_open(&self, numbers: &BTreeSet<u64>) -> Result<BTreeSet<u64>, TrackerError> {
        if numbers.is_empty() {
            return Ok(BTreeSet::new());
        }
        let numbers = numbers.clone();
        self.look(move |known| numbers.into_iter().filter(|number| known.is_open(*number)).collect()).await
    }

    async fn find(&self, key: &str) -> Result<Option<u64>, TrackerError> {
        let key = Some(key.to_owned());
        self.look(move |known| known.issues().find(|issue| issue.key == key).map(|issue| issue.number)).await
    }

    async fn keys(&self) -> Result<Vec<(String, u64)>, TrackerError> {
        let key = |issue: &Issue| Some((issue.key.clone()?, issue.number));
        self.look(move |known| known.issues().filter_map(key).collect()).await
    }

    async fn add(&self, issue: Issue) -> Result<u64, TrackerError> {
        let last = self.records.get("issues", &self.counter_key()).await.map_err(failed)?;
        let last: u64 = last.and_then(|last| serde_json::from_str(&last).ok()).unwrap_or(0);
        let number = self.look(FileCache::last_number).await?.max(last) + 1;
        // If the file is not written after this, the number is only skipped.
        let counted = RecordChange::put("issues", self.counter_key(), number.to_string());
        self.records.change(vec![counted]).await.map_err(failed)?;
        let folder = self.folder.clone();
        blocking(move || {
            let name = format!("{number}{}.md", slug(&issue.title));
            folder.add(&folder.made()?, &name, &document::written(&Issue { number, ..issue }))?;
            Ok(number)
        })
        .await
    }

    /// Blocked issues are found by reading the files, so `waiting` is not needed.
    async fn save(&self, was: &Issue, is: &Issue, _: &[Issue]) -> Result<(), TrackerError> {
        let (project, was, is) = (self.project.clone(), was.clone(), is.clone());
        self.rewrite(was.number, move |document, text| document.edited(&project, text, &was, &is)).await
    }

    async fn comments(&self, number: u64) -> Result<Vec<IssueComment>, TrackerError> {
        let name = self.look(move |known| known.get(number).map(|(name, _)| name.to_owned())).await?;
        let Some(name) = name else { return Ok(vec![]) };
        let (project, folder) = (self.project.clone(), self.folder.clone());
        blocking(move || Ok(read(&project, &folder, number, &name)?.2.comments)).await
    }

    async fn comment(&self, issue: &Issue, comment: IssueComment) -> Result<(), TrackerError> {
        let project = self.project.clone();
        self.rewrite(issue.number, move |document, text| document.commented(&project, text, &comment)).await
    }
}

impl From<FolderError> for TrackerError {
    fn from(err: FolderError) -> TrackerError {
        match err {
            FolderError::Link { .. } => TrackerError::refused(err.to_string()),
            FolderError::Io { .. } | FolderError::Changed { .. } => TrackerError::Failed(err.to_string()),
        }
    }
}

/// Reads a file, edits it and writes it. The inner error may be retried.
fn rewrite_once(
    project: &ProjectId,
    folder: &IssueFolder,
    number: u64,
    name: &str,
    change: &impl Fn(&IssueDocument, &str) -> Option<String>,
) -> Result<Result<(), FolderError>, TrackerError> {
    let (stamp, text, document) = read(project, folder, number, name)?;
    let path = folder.path().join(name);
    let Some(changed) = change(&document, &text) else {
        return Err(TrackerError::refused(format!(
            "`{path}` is written in a way that cannot be edited without losing something; edit it by hand"
        )));
    };
    if changed.len() as u64 > folder::MAX_BYTES {
        let most = folder::MAX_BYTES / 1024;
        return Err(TrackerError::refused(format!(
            "`{path}` would be longer than {most} KB; nothing was written"
        )));
    }
    if changed == text {
        return Ok(Ok(()));
    }
    let Some(handle) = folder.open()? else { return Ok(Err(FolderError::Changed { path })) };
    Ok(folder.replace(&handle, name, stamp, &changed))
}

fn read(
    project: &ProjectId,
    folder: &IssueFolder,
    number: u64,
    name: &str,
) -> Result<(FileStamp, String, IssueDocument), TrackerError> {
    let path = folder.path().join(name);
    let gone = || TrackerError::not_found(format!("issue #{number}"));
    let handle = folder.open()?.ok_or_else(gone)?;
    match folder.read(&handle, name, None)?.ok_or_else(gone)? {
        ReadResult::Text(stamp, text) => match IssueDocument::read(project, number, stamp.at(), &text) {
            Ok(document) => Ok((stamp, text, document)),
            Err(mistake) => Err(unreadable(&path, &mistake)),
        },
        ReadResult::Odd(_, line, what) => Err(unreadable(&path, &FileMistake { line, what })),
        ReadResult::Same => Err(gone()),
    }
}

fn unreadable(path: &Utf8PathBuf, FileMistake { line, what }: &FileMistake) -> TrackerError {
    TrackerError::refused(format!("`{path}`, line {line}: {what}"))
}

/// Returns the descriptive part of a file name.
fn slug(title: &str) -> String {
    let mut slug = String::new();
    for word in title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let word = word.to_lowercase();
        if slug.chars().count() + word.chars().count() >= MAX_SLUG {
            break;
        }
        slug.push('-');
        slug.push_str(&word);
    }
    slug
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, TrackerError> + Send + 'static,
) -> Result<T, TrackerError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|err| Err(TrackerError::Failed(format!("reading the issues was cut short: {err}"))))
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn a_slug_has_letters_and_digits_only() {
        for (title, expected) in [
            ("Fix the login", "-fix-the-login"),
            ("../../etc/passwd", "-etc-passwd"),
            ("`$(rm -rf ~)`; -x", "-rm-rf-x"),
            ("Grüße 👋 an alle", "-grüße-an-alle"),
            ("!!!", ""),
            (&"x".repeat(200), ""),
            (&"word ".repeat(40), "-word-word-word-word-word-word-word-word-word"),
        ] {
            assert_eq!(slug(title), expected);
        }
    }
}
