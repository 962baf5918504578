//! The daemon's side: what was left is read in the order of time, attributed, reported, and only then removed.

use std::collections::HashSet;
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use ao_core::evidence::{Confidence, Reading, Signal, Source};
use ao_core::{Attempt, SessionId, Timestamp};
use ao_ports::{Clock, Report, Reporter};

use super::history::{History, Turn};
use super::key::{Key, KeyError};
use super::leave::Left;
use super::watch::Watch;
use super::{PAYLOAD_MOST, SPOOL, TOKEN, WAITING, folder, understand};

/// A file of ours is at most its payload, escaped once more than it was, and a few words.
const FILE_MOST: u64 = 2 * PAYLOAD_MOST as u64 + 4096;
/// How many are read before they are reported, so that memory stays bounded.
const AT_ONCE: usize = 16;
/// How long hooks go unheard after a failure, at first and at most.
const PAUSE_LEAST: Duration = Duration::from_millis(100);
const PAUSE_MOST: Duration = Duration::from_secs(30);
/// How often what was never finished is removed. Not by a timer: where nothing comes, nothing gathers.
const SWEEP_EVERY: Duration = Duration::from_secs(60 * 60);

/// The folder that hooks leave their reports in.
pub struct Spool {
    folder: PathBuf,
    key: Key,
    history: Arc<History>,
    clock: Arc<dyn Clock>,
    /// When what was never finished was last removed.
    swept: Mutex<Option<Timestamp>>,
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
        folder::make(&folder).map_err(failed)?;
        let key = Key::load(&data.join("hooks.key"))?;
        Ok(Spool { folder, key, history: Arc::default(), clock, swept: Mutex::default() })
    }

    /// What an agent's environment must hold for its hooks to be believed. The token is a secret.
    pub fn environment(&self, session: SessionId, attempt: Attempt) -> [(String, String); 2] {
        let folder = self.folder.to_string_lossy().into_owned();
        [self.token(session, attempt), (SPOOL.to_owned(), folder)]
    }

    /// Returns the token of an agent under its name, for its environment: what it runs is known by that as its own. From now on
    /// it is kept out of all that is written down.
    pub fn token(&self, session: SessionId, attempt: Attempt) -> (String, String) {
        let token = self.key.token(session, attempt);
        ao_process::secrets::learn_token(TOKEN, token.as_bytes());
        (TOKEN.to_owned(), token)
    }

    /// Whether a token is the one that this attempt of this session was given.
    pub fn knows(&self, token: &str, session: SessionId, attempt: Attempt) -> bool {
        self.key.knows(token, session, attempt)
    }

    /// What has been told in this life.
    pub fn history(&self) -> Arc<History> {
        self.history.clone()
    }

    /// Reports whatever hooks leave, and what they left while nobody read, until it is dropped.
    ///
    /// A folder that cannot be read now may be readable soon, so it is tried again, and made again if it is gone. Only a
    /// system that can watch no folder ends it. Cancel-safe: what was not reported for certain is there the next time, under
    /// the same name.
    pub async fn run(self: Arc<Self>, reporter: Arc<dyn Reporter>) -> Result<(), SpoolError> {
        let mut pause = PAUSE_LEAST;
        // Reported, but not to be removed. It must be neither told again nor keep others from being heard.
        let mut stuck = HashSet::new();
        loop {
            let err = match self.hear(&*reporter, &mut stuck, &mut pause).await {
                Ok(never) => match never {},
                Err(err) => err,
            };
            if err.kind() == io::ErrorKind::Unsupported {
                return Err(SpoolError::Folder { folder: self.folder.clone(), err });
            }
            let folder = self.folder.display();
            tracing::error!(%err, %folder, ?pause, "hooks are not heard at present; it is tried again");
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(PAUSE_MOST);
        }
    }

    /// Reads along until that fails.
    async fn hear(
        self: &Arc<Self>,
        reporter: &dyn Reporter,
        stuck: &mut HashSet<String>,
        pause: &mut Duration,
    ) -> io::Result<Infallible> {
        folder::make(&self.folder)?;
        let watch = Watch::folder(&self.folder.join(WAITING))?;
        loop {
            while self.read_all(reporter, stuck).await? {}
            *pause = PAUSE_LEAST;
            watch.changed().await?;
        }
    }

    /// Reports all that waits, and returns whether there was anything.
    async fn read_all(
        self: &Arc<Self>,
        reporter: &dyn Reporter,
        stuck: &mut HashSet<String>,
    ) -> io::Result<bool> {
        let mut names = blocking(self, Spool::look).await??;
        stuck.retain(|name| folder::remove(&folder::place(&self.folder, name)).is_err());
        names.retain(|name| !stuck.contains(name));
        for some in names.chunks(AT_ONCE) {
            let some = some.to_vec();
            for (name, left) in blocking(self, move |this| this.read(some)).await? {
                if let Some(left) = left {
                    self.report(&name, left, reporter).await;
                }
                // Only now: the reporter returns once the report is on disk, and a name that comes twice is known.
                if let Err(err) = folder::remove(&folder::place(&self.folder, &name)) {
                    tracing::error!(%err, name, "a hook's report cannot be removed; it is passed over");
                    stuck.insert(name);
                }
            }
        }
        Ok(!names.is_empty())
    }

    fn look(&self) -> io::Result<Vec<String>> {
        let now = self.clock.now();
        let mut swept = self.swept.lock().expect("nobody panics while sweeping");
        if swept.is_none_or(|last| now.since(last) >= SWEEP_EVERY) {
            *swept = Some(now);
            // Nobody is kept waiting for that.
            if let Err(err) = folder::sweep(&self.folder, SystemTime::now()) {
                tracing::warn!(%err, "what hooks have not finished cannot be removed");
            }
        }
        folder::waiting(&self.folder)
    }

    /// What files have in them; `None` for one that is none of ours.
    fn read(&self, names: Vec<String>) -> Vec<(String, Option<Left>)> {
        let read = |name: String| {
            let left = read(&folder::place(&self.folder, &name));
            if let Err(err) = &left {
                tracing::warn!(%err, name, "a file in the folder for hooks is no report; it is dropped");
            }
            (name, left.ok())
        };
        names.into_iter().map(read).collect()
    }

    async fn report(&self, name: &str, left: Left, reporter: &dyn Reporter) {
        let Some((session, attempt)) = self.attribute(&left) else {
            tracing::warn!(name, session = left.session, "a hook's report has no good token; it is dropped");
            return;
        };
        // A clock that was set back must not make the past out of what comes now, nor the future.
        let at = Timestamp(left.at).min(self.clock.now());
        let told = understand(left.event.as_deref(), &left.payload);
        if let Some(denial) = told.denied {
            let (call, tool) = (denial.call.unwrap_or_else(|| format!("hook {name}")), denial.tool);
            reporter.report(Report::Denied { session, attempt, call, tool }).await;
        }
        if let Some(mut reading) = told.reading {
            let open = self.history.reads(session, attempt, at, &reading, told.reminder);
            if let (Reading::Asking { question }, Some(open)) = (&mut reading, open) {
                *question = open;
            }
            let confidence = Confidence::High;
            let signal = Signal { attempt, source: Source::Hook, at, confidence, reading };
            reporter.report(Report::Signal { session, signal }).await;
        }
        // Last: between a message that was taken and the work on it nobody may look idle.
        if let Some(text) = told.taken {
            let turn = format!("hook {name}");
            self.history.turn(session, attempt, Turn { at, name: turn.clone(), text: text.clone() });
            reporter.report(Report::Taken { session, attempt, turn, text }).await;
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

async fn blocking<T: Send + 'static>(
    spool: &Arc<Spool>,
    work: impl FnOnce(&Spool) -> T + Send + 'static,
) -> io::Result<T> {
    let spool = spool.clone();
    tokio::task::spawn_blocking(move || work(&spool)).await.map_err(io::Error::other)
}

impl std::fmt::Debug for Spool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spool").field("folder", &self.folder).finish_non_exhaustive()
    }
}
