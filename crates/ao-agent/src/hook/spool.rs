//! The daemon's side: reads reports in order of time, verifies, forwards and only then removes them.

use std::collections::HashSet;
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use ao_core::agent_report::{AgentReport, CallState, ToolCall};
use ao_core::evidence::{Confidence, Reading, Signal, SignalSource};
use ao_core::{Attempt, SessionId, Timestamp};
use ao_ports::{Clock, Report, Reporter};

use super::history::{HookHistory, HookTurn};
use super::key::{HookKey, KeyError};
use super::leave::SpooledReport;
use super::watch::FolderWatch;
use super::{PAYLOAD_MOST, SPOOL, TOKEN, WAITING, folder, understand};

/// Most bytes of a file: a payload with one more level of escaping, and a few fields.
const FILE_MOST: u64 = 2 * PAYLOAD_MOST as u64 + 4096;
/// Files read before they are reported, so that memory stays bounded.
const AT_ONCE: usize = 16;
/// Pause after a failure: the first and the longest.
const PAUSE_LEAST: Duration = Duration::from_millis(100);
const PAUSE_MOST: Duration = Duration::from_secs(30);
/// Interval of removing unfinished files. Not by a timer: without reports nothing accumulates.
const SWEEP_EVERY: Duration = Duration::from_secs(60 * 60);

/// The folder in which hooks leave their reports.
pub struct Spool {
    folder: PathBuf,
    key: HookKey,
    history: Arc<HookHistory>,
    clock: Arc<dyn Clock>,
    /// The time at which unfinished files were last removed.
    swept: Mutex<Option<Timestamp>>,
}

/// The reason why the reports of hooks cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    #[error(transparent)]
    HookKey(#[from] KeyError),
    #[error("the folder `{}`, in which hooks leave their reports, cannot be used", .folder.display())]
    Folder {
        folder: PathBuf,
        #[source]
        err: io::Error,
    },
}

impl Spool {
    /// Opens the spool in the daemon's own folder, and creates what is missing. Its key is stored beside it.
    pub fn open(data: &Path, clock: Arc<dyn Clock>) -> Result<Spool, SpoolError> {
        let folder = data.join("hooks");
        let failed = |err| SpoolError::Folder { folder: folder.clone(), err };
        folder::make(&folder).map_err(failed)?;
        let key = HookKey::load(&data.join("hooks.key"))?;
        Ok(Spool { folder, key, history: Arc::default(), clock, swept: Mutex::default() })
    }

    /// Returns the variables that an agent needs for its hooks to be accepted. The token is a secret.
    pub fn environment(&self, session: SessionId, attempt: Attempt) -> [(String, String); 2] {
        let folder = self.folder.to_string_lossy().into_owned();
        [self.token(session, attempt), (SPOOL.to_owned(), folder)]
    }

    /// Returns the token variable of an agent, which identifies the programs that it runs. From now on the token is
    /// masked everywhere.
    pub fn token(&self, session: SessionId, attempt: Attempt) -> (String, String) {
        let token = self.key.token(session, attempt);
        ao_process::secrets::learn_token(TOKEN, token.as_bytes());
        (TOKEN.to_owned(), token)
    }

    /// Returns true if a token was given to this attempt of this session.
    pub fn knows(&self, token: &str, session: SessionId, attempt: Attempt) -> bool {
        self.key.knows(token, session, attempt)
    }

    /// Returns the reports since the daemon started.
    pub fn history(&self) -> Arc<HookHistory> {
        self.history.clone()
    }

    /// Reports everything that hooks leave, including what they left while no daemon ran, until it is dropped.
    ///
    /// A folder that cannot be read now may be readable soon, so it is retried, and created again if it is gone. Only a
    /// system that can watch no folder ends it. Cancel-safe: a report that was not forwarded for certain is there the
    /// next time, under the same name.
    pub async fn run(self: Arc<Self>, reporter: Arc<dyn Reporter>) -> Result<(), SpoolError> {
        let mut pause = PAUSE_LEAST;
        // Reported, but not removable. It must neither be reported again nor block others.
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

    /// Reads reports until that fails.
    async fn hear(
        self: &Arc<Self>,
        reporter: &dyn Reporter,
        stuck: &mut HashSet<String>,
        pause: &mut Duration,
    ) -> io::Result<Infallible> {
        folder::make(&self.folder)?;
        let watch = FolderWatch::folder(&self.folder.join(WAITING))?;
        loop {
            while self.read_all(reporter, stuck).await? {}
            *pause = PAUSE_LEAST;
            watch.changed().await?;
        }
    }

    /// Reports all waiting files, and returns true if there were any.
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
                // Only now: the reporter returns once the report is on disk, and a repeated name is recognised.
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
        let mut swept = self.swept.lock().expect("no thread panics while sweeping");
        if swept.is_none_or(|last| now.since(last) >= SWEEP_EVERY) {
            *swept = Some(now);
            // A failure does not delay reports.
            if let Err(err) = folder::sweep(&self.folder, SystemTime::now()) {
                tracing::warn!(%err, "what hooks have not finished cannot be removed");
            }
        }
        folder::waiting(&self.folder)
    }

    /// Reads files; `None` for those that are no reports.
    fn read(&self, names: Vec<String>) -> Vec<(String, Option<SpooledReport>)> {
        let read = |name: String| {
            let left = read(&folder::place(&self.folder, &name));
            if let Err(err) = &left {
                tracing::warn!(%err, name, "a file in the folder for hooks is no report; it is dropped");
            }
            (name, left.ok())
        };
        names.into_iter().map(read).collect()
    }

    async fn report(&self, name: &str, left: SpooledReport, reporter: &dyn Reporter) {
        let Some((session, attempt)) = self.attribute(&left) else {
            tracing::warn!(name, session = left.session, "a hook's report has no good token; it is dropped");
            return;
        };
        // A clock that was set back must move a report neither into the past nor into the future.
        let at = Timestamp(left.at).min(self.clock.now());
        let event = understand(left.event.as_deref(), &left.payload);
        let report = |report| Report::Agent { session, attempt, source: SignalSource::Hook, at, report };
        if let Some(denial) = event.denied {
            let id = denial.call.unwrap_or_else(|| format!("hook {name}"));
            let (tool, detail, state) = (denial.tool, String::new(), CallState::Denied);
            reporter.report(report(AgentReport::ToolCall(ToolCall { id, tool, detail, state }))).await;
        }
        if let Some(Reading::Asking { question }) = &event.reading
            && !event.details.is_empty()
        {
            // First: a notice about the question has its subject.
            let (question, details) = (question.clone(), event.details);
            reporter.report(report(AgentReport::Dialog { question, details })).await;
        }
        if let Some(mut reading) = event.reading {
            let open = self.history.reads(session, attempt, at, &reading, event.reminder);
            if let (Reading::Asking { question }, Some(open)) = (&mut reading, open) {
                *question = open;
            }
            let confidence = Confidence::High;
            let signal = Signal { attempt, source: SignalSource::Hook, at, confidence, reading };
            reporter.report(Report::Signal { session, signal }).await;
        }
        // Last: between a message that was taken and the work on it no agent may look idle.
        if let Some(text) = event.taken {
            let turn = format!("hook {name}");
            self.history.turn(session, attempt, HookTurn { at, name: turn.clone(), text: text.clone() });
            reporter.report(report(AgentReport::taken(&turn, &text))).await;
        }
    }

    fn attribute(&self, left: &SpooledReport) -> Option<(SessionId, Attempt)> {
        let session = left.session.parse().ok()?;
        let attempt = Attempt(left.attempt.parse().ok()?);
        self.key.knows(&left.token, session, attempt).then_some((session, attempt))
    }
}

fn read(path: &Path) -> io::Result<SpooledReport> {
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
