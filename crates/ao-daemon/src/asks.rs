//! The details of asks that are too long for the state: a diff of a megabyte is stored once, in a file, and read only for a
//! person who wants to see all of it.
//!
//! ```text
//!  agent's report ─► AskDetails::keep (all of it, masked) ─► engine (the beginnings)
//!  GET …/asks/{ask} ─► AskDetails::all
//! ```

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, BufReader, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::time::SystemTime;

use ao_core::ask::{Ask, AskDetail};
use ao_core::{AskId, Attempt, FreeText as _, SessionId};
use ao_engine::LongAsks;
use async_trait::async_trait;
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use crate::on_disk;
use crate::secrets::known;

/// The number of asks whose details are kept for one session: the latest.
const KEPT: usize = 32;
/// The number of bytes of an id's beginning, and of its end, that are part of a file's name.
const NAME_HALF: usize = 50;

/// The folder with the details.
#[derive(Debug, Clone)]
pub struct AskDetails {
    folder: Utf8PathBuf,
}

/// The details of one ask, as they are stored.
#[derive(Serialize, Deserialize)]
struct StoredDetails<Details> {
    ask: AskId,
    details: Details,
}

impl AskDetails {
    pub fn new(data_dir: &Utf8Path) -> AskDetails {
        AskDetails { folder: data_dir.join("asks") }
    }

    /// Returns all details of an ask, or `None` if they are not kept.
    pub async fn all(&self, session: SessionId, attempt: Attempt, ask: &AskId) -> Option<Vec<AskDetail>> {
        let (path, ask) = (self.path(session, attempt, ask), ask.clone());
        on_disk(move || read(&path).filter(|stored| stored.ask == ask).map(|stored| stored.details))
            .await
            .ok()
            .flatten()
    }

    /// Removes the details of all sessions but these.
    pub async fn retain(&self, live: BTreeSet<SessionId>) {
        let folder = self.folder.clone();
        let removed = on_disk(move || {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let session = entry.file_name().to_str().and_then(|name| name.parse().ok());
                if session.is_none_or(|session| !live.contains(&session)) {
                    fs::remove_dir_all(entry.path())?;
                }
            }
            io::Result::Ok(())
        });
        if let Ok(Err(err)) = removed.await {
            tracing::warn!(%err, "old details of asks are kept");
        }
    }

    fn path(&self, session: SessionId, attempt: Attempt, ask: &AskId) -> Utf8PathBuf {
        let id = ask.as_str().as_bytes();
        let short = id.len() <= 2 * NAME_HALF;
        let parts = if short { [id, &[]] } else { [&id[..NAME_HALF], &id[id.len() - NAME_HALF..]] };
        let name: String = parts.concat().iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(session.to_string()).join(format!("{attempt}-{name}.json"))
    }
}

#[async_trait]
impl LongAsks for AskDetails {
    async fn keep(&self, session: SessionId, attempt: Attempt, ask: &mut Ask) {
        let secrets = known();
        ask.each_text(&mut |text| {
            secrets.mask_in(text);
        });
        let path = self.path(session, attempt, &ask.id);
        // Moved and given back: it may be megabytes.
        let stored = StoredDetails { ask: ask.id.clone(), details: std::mem::take(&mut ask.details) };
        let written = on_disk(move || {
            let written = write(&path, &stored);
            (stored.details, written)
        });
        match written.await {
            Ok((details, written)) => {
                ask.details = details;
                if let Err(err) = written {
                    tracing::warn!(%session, %err, "the end of a long ask is not kept");
                }
            }
            Err(err) => tracing::error!(%session, %err, "the details of an ask are lost"),
        }
    }
}

fn read(path: &Utf8Path) -> Option<StoredDetails<Vec<AskDetail>>> {
    let file = fs::File::open(path).ok()?;
    let stored = serde_json::from_reader(BufReader::new(file));
    stored.inspect_err(|err| tracing::warn!(%path, %err, "the details of an ask cannot be read")).ok()
}

/// Writes details that are not stored yet, and removes those of earlier asks. Readers see the old or the new file.
fn write(path: &Utf8Path, stored: &StoredDetails<Vec<AskDetail>>) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    if read(path).is_some_and(|old| old.ask == stored.ask && old.details == stored.details) {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    remove_oldest(folder)?;
    let partial = path.with_extension("partial");
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&partial)?;
    let mut out = BufWriter::new(file);
    serde_json::to_writer(&mut out, stored)?;
    out.flush()?;
    fs::rename(&partial, path)
}

/// Makes room for one more.
fn remove_oldest(folder: &Utf8Path) -> io::Result<()> {
    let mut files: Vec<(SystemTime, _)> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        files.push((entry.metadata()?.modified()?, entry.path()));
    }
    files.sort();
    let too_many = (files.len() + 1).saturating_sub(KEPT);
    files.into_iter().take(too_many).try_for_each(|(_, path)| fs::remove_file(path))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn long(id: &str, diff: &str) -> Ask {
        let details = vec![AskDetail::Diff { path: "a".into(), diff: diff.repeat(1 << 20) }];
        Ask { details, ..Ask::question(AskId::new(id), "Edit: a") }
    }

    #[tokio::test]
    async fn a_long_diff_is_stored_once_and_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let data = Utf8Path::from_path(folder.path()).unwrap();
        let asks = AskDetails::new(data);
        let (session, attempt) = (SessionId(7), Attempt(2));
        let mut ask = long("toolu_1/../ü", "+");
        let whole = ask.clone();
        for _ in 0..3 {
            asks.keep(session, attempt, &mut ask).await;
            assert_eq!(ask, whole, "the report itself is not changed");
        }
        assert_eq!(asks.all(session, attempt, &ask.id).await, Some(whole.details));
        assert_eq!(asks.all(session, Attempt(1), &ask.id).await, None);
        assert_eq!(asks.all(SessionId(8), attempt, &ask.id).await, None);
        let files: Vec<_> = fs::read_dir(data.join("asks/ses_7")).unwrap().map(Result::unwrap).collect();
        assert_eq!(files.len(), 1);
        assert_eq!(files[0].metadata().unwrap().permissions().mode() & 0o777, 0o600);

        let other = long("toolu_2", "-");
        asks.keep(session, attempt, &mut other.clone()).await;
        assert_eq!(asks.all(session, attempt, &other.id).await, Some(other.details));
        asks.retain([SessionId(8)].into()).await;
        assert_eq!(asks.all(session, attempt, &ask.id).await, None);
    }

    #[tokio::test]
    async fn only_the_latest_asks_of_a_session_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let asks = AskDetails::new(Utf8Path::from_path(folder.path()).unwrap());
        for number in 0..KEPT + 5 {
            let details = vec![AskDetail::Command { command: "x".repeat(70_000) }];
            let mut ask = Ask { details, ..Ask::question(AskId::new(&format!("a{number}")), "Bash") };
            asks.keep(SessionId(1), Attempt(1), &mut ask).await;
        }
        let files = fs::read_dir(asks.folder.join("ses_1")).unwrap().count();
        assert_eq!(files, KEPT);
        let last = AskId::new(&format!("a{}", KEPT + 4));
        assert!(asks.all(SessionId(1), Attempt(1), &last).await.is_some());
    }
}
