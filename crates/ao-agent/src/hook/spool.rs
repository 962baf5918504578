//! The daemon's side: what was left is read in the order of time, attributed, reported, and only then removed.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ao_core::evidence::{Confidence, Reading, Signal, Source};
use ao_core::{Attempt, SessionId, Timestamp};
use ao_ports::{Clock, Report, Reporter};

use super::history::{History, Turn};
use super::key::{Key, KeyError};
use super::leave::Left;
use super::watch::Watch;
use super::{PAYLOAD_MOST, SPOOL, TOKEN, UNFINISHED, WAITING, understand};

/// A file of ours is at most its payload, escaped once more than it was, and a few words.
const FILE_MOST: u64 = 2 * PAYLOAD_MOST as u64 + 4096;
/// How many may wait. A hook that runs wild loses its oldest words, of which the latest says it all.
const WAITING_MOST: usize = 10_000;
/// How many are read before they are reported, so that memory stays bounded.
const AT_ONCE: usize = 16;

/// The folder that hooks leave their reports in.
pub struct Spool {
    folder: PathBuf,
    key: Key,
    history: Arc<History>,
    clock: Arc<dyn Clock>,
}

/// Why what hooks tell cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error("the folder `{}`, in which hooks leave their reports, cannot be used", .folder.display())]
    Folder {
        folder: PathBuf,
        #[source]
        err: io::Error,
    },
}

impl Spool {
    /// Opens the spool in the daemon's own folder, and makes what is missing. Its key lies beside it.
    pub fn open(data: &Path, clock: Arc<dyn Clock>) -> Result<Spool, SpoolError> {
        let folder = data.join("hooks");
        let failed = |err| SpoolError::Folder { folder: folder.clone(), err };
        for part in [UNFINISHED, WAITING] {
            let mut make = fs::DirBuilder::new();
            make.recursive(true).mode(0o700).create(folder.join(part)).map_err(failed)?;
        }
        let key = Key::load(&data.join("hooks.key"))?;
        Ok(Spool { folder, key, history: Arc::default(), clock })
    }

    /// What an agent's environment must hold for its hooks to be believed. The token is a secret.
    pub fn environment(&self, session: SessionId, attempt: Attempt) -> [(String, String); 2] {
        [
            (TOKEN.to_owned(), self.key.token(session, attempt)),
            (SPOOL.to_owned(), self.folder.to_string_lossy().into_owned()),
        ]
    }

    /// What has been told in this life.
    pub fn history(&self) -> Arc<History> {
        self.history.clone()
    }

    /// Reports whatever hooks leave, and what they left while nobody read, until it is dropped.
    ///
    /// Cancel-safe: what was not reported for certain is there the next time, under the same name.
    pub async fn run(self: Arc<Self>, reporter: Arc<dyn Reporter>) -> Result<(), SpoolError> {
        let failed = |err| SpoolError::Folder { folder: self.folder.clone(), err };
        let watch = Watch::folder(&self.folder.join(WAITING)).map_err(failed)?;
        loop {
            while self.read_some(&*reporter).await.map_err(failed)? {}
            watch.changed().await.map_err(failed)?;
        }
    }

    /// Reports the next few, and returns whether there were any.
    async fn read_some(self: &Arc<Self>, reporter: &dyn Reporter) -> io::Result<bool> {
        let this = self.clone();
        let found = tokio::task::spawn_blocking(move || this.look()).await.map_err(io::Error::other)??;
        let any = !found.is_empty();
        for (name, left) in found {
            if let Some(left) = left {
                self.report(&name, left, reporter).await;
            }
            // Only now: the reporter returns once the report is on disk, and a name that comes twice is known.
            fs::remove_file(self.folder.join(WAITING).join(&name)).or_else(gone_is_fine)?;
        }
        Ok(any)
    }

    /// The oldest few files, read; `None` for one that is none of ours.
    fn look(&self) -> io::Result<Vec<(String, Option<Left>)>> {
        let waiting = self.folder.join(WAITING);
        let mut names: Vec<String> = fs::read_dir(&waiting)?
            .flatten()
            // A folder is nobody's report, and not ours to remove.
            .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_dir()))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort_unstable();
        if names.len() > WAITING_MOST {
            let too_many = names.len() - WAITING_MOST;
            tracing::warn!(too_many, "hooks run wild; their oldest reports are dropped");
            for name in names.drain(..too_many) {
                fs::remove_file(waiting.join(name)).or_else(gone_is_fine)?;
            }
        }
        names.truncate(AT_ONCE);
        let read = |name: String| {
            let left = read(&waiting.join(&name));
            if let Err(err) = &left {
                tracing::warn!(%err, name, "a file in the folder for hooks is no report; it is dropped");
            }
            (name, left.ok())
        };
        Ok(names.into_iter().map(read).collect())
    }

    async fn report(&self, name: &str, left: Left, reporter: &dyn Reporter) {
        let Some((session, attempt)) = self.attribute(&left) else {
            tracing::warn!(name, session = left.session, "a hook's report has no good token; it is dropped");
            return;
        };
        // A clock that was set back must not make the past out of what comes now, nor the future.
        let at = Timestamp(left.at).min(self.clock.now());
        let told = understand(left.event.as_deref(), &left.payload);
        if let Some(text) = told.taken {
            let turn = format!("hook {name}");
            self.history.turn(session, attempt, Turn { at, name: turn.clone(), text: text.clone() });
            reporter.report(Report::Taken { session, attempt, turn, text }).await;
        }
        if let Some(mut reading) = told.reading {
            if let Reading::Asking { question } = &mut reading {
                if let Some(known) = self.history.same_question(session, attempt, question) {
                    *question = known;
                }
                self.history.question(session, attempt, at, question);
            }
            let confidence = Confidence::High;
            let signal = Signal { attempt, source: Source::Hook, at, confidence, reading };
            reporter.report(Report::Signal { session, signal }).await;
        }
    }

    fn attribute(&self, left: &Left) -> Option<(SessionId, Attempt)> {
        let session = left.session.parse().ok()?;
        let attempt = Attempt(left.attempt.parse().ok()?);
        self.key.knows(&left.token, session, attempt).then_some((session, attempt))
    }
}

fn read(path: &Path) -> io::Result<Left> {
    // A link could lead anywhere, and a pipe would never end.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = File::options().read(true).custom_flags(flags.bits() as i32).open(path)?;
    let facts = file.metadata()?;
    if !facts.is_file() || facts.len() > FILE_MOST {
        return Err(io::Error::other("it is no file, or too large"));
    }
    let mut bytes = Vec::new();
    file.take(FILE_MOST).read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

fn gone_is_fine(err: io::Error) -> io::Result<()> {
    if err.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(err) }
}

impl std::fmt::Debug for Spool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spool").field("folder", &self.folder).finish_non_exhaustive()
    }
}
