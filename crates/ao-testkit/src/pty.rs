//! A runtime of pseudo-terminals with an emulator, in the memory of the test: small enough to trust, so that a
//! failure is the adapter's.
//!
//! Its processes end with it.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::io::{Read, Write};
use std::num::NonZero;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ao_core::input::ProcessLife;
use ao_core::{Attempt, SessionId, Timestamp};
use ao_ports::{
    CensusEntry, Clock, EndOrder, OutputPart, ProcessRef, Runtime, RuntimeAbilities, RuntimeError, Screen,
    StartSpec, WriteOrder, WriteOutcome, environment,
};
use async_trait::async_trait;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use tokio::sync::watch;

use crate::WallClock;

/// Columns and rows of every terminal.
pub const SIZE: (u16, u16) = (100, 40);

/// Processes on pseudo-terminals.
#[derive(Default)]
pub struct PtyRuntime {
    processes: Mutex<HashMap<ProcessRef, Arc<PtyProcess>>>,
    forgets_writes: bool,
}

struct PtyProcess {
    session: SessionId,
    attempt: Attempt,
    child: Mutex<Box<dyn Child + Send + Sync>>,
    writer: Mutex<Box<dyn Write + Send>>,
    /// Kept open as long as the output may be read.
    _master: Mutex<Box<dyn MasterPty + Send>>,
    shown: Arc<Mutex<PtyScreen>>,
    /// Number of output bytes, and whether the output has ended.
    progress: watch::Receiver<(u64, bool)>,
    written: Mutex<BTreeSet<u64>>,
    typed: Mutex<Option<Timestamp>>,
    life: Mutex<Option<ProcessLife>>,
}

struct PtyScreen {
    output: Vec<u8>,
    parser: vt100::Parser,
}

impl PtyRuntime {
    /// Creates a runtime. With `forgets_writes` it behaves like tmux: a write with the same number is repeated.
    pub fn new(forgets_writes: bool) -> PtyRuntime {
        PtyRuntime { processes: Mutex::default(), forgets_writes }
    }

    /// Types as a person.
    pub fn person_types(&self, process: &ProcessRef, keys: &str) -> Result<(), RuntimeError> {
        let process = self.process(process)?;
        *lock(&process.typed) = Some(WallClock::default().now());
        process.put(keys.as_bytes())
    }

    /// Returns the visible text of the terminal.
    pub fn text(&self, process: &ProcessRef) -> String {
        self.process(process).map(|process| process.screen().lines.join("\n")).unwrap_or_default()
    }

    /// Waits until the screen shows something, and panics with its content if that does not happen.
    pub async fn until(&self, process: &ProcessRef, what: impl Fn(&str) -> bool) -> String {
        let running = self.process(process).expect("the process is known");
        let mut progress = running.progress.clone();
        let found = async {
            loop {
                progress.mark_unchanged();
                let text = self.text(process);
                if what(&text) || progress.changed().await.is_err() {
                    return text;
                }
            }
        };
        let bounded = tokio::time::timeout(Duration::from_secs(20), found).await;
        bounded.unwrap_or_else(|_| panic!("the screen stays at:\n{}", self.text(process)))
    }

    fn process(&self, process: &ProcessRef) -> Result<Arc<PtyProcess>, RuntimeError> {
        let known = lock(&self.processes).get(process).cloned();
        known.ok_or_else(|| RuntimeError::Failed(format!("there is no process {process}")))
    }
}

impl PtyProcess {
    fn start(spec: &StartSpec) -> Result<PtyProcess, RuntimeError> {
        let failed = |err: &dyn fmt::Display| RuntimeError::Failed(err.to_string());
        let (cols, rows) = SIZE;
        let size = PtySize { rows, cols, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).map_err(|err| failed(&err))?;
        let mut command = CommandBuilder::new(&spec.command.program);
        command.args(&spec.command.args);
        command.cwd(&spec.path);
        command.env_clear();
        let wanted = environment::ProgramVariables {
            session: spec.session,
            attempt: spec.attempt,
            pass: &spec.command.pass,
            set: &spec.command.env,
            secrets: &spec.command.secrets,
        };
        for (name, value) in environment::compose(wanted, std::env::vars_os())? {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).map_err(|err| failed(&err))?;
        let reader = pair.master.try_clone_reader().map_err(|err| failed(&err))?;
        let writer = pair.master.take_writer().map_err(|err| failed(&err))?;
        let shown = Arc::new(Mutex::new(PtyScreen { output: Vec::new(), parser: emulator() }));
        let (progress_sender, progress) = watch::channel((0, false));
        let into = shown.clone();
        std::thread::spawn(move || read(reader, &into, &progress_sender));
        Ok(PtyProcess {
            session: spec.session,
            attempt: spec.attempt,
            child: Mutex::new(child),
            writer: Mutex::new(writer),
            _master: Mutex::new(pair.master),
            shown,
            progress,
            written: Mutex::default(),
            typed: Mutex::default(),
            life: Mutex::default(),
        })
    }

    fn put(&self, bytes: &[u8]) -> Result<(), RuntimeError> {
        let mut writer = lock(&self.writer);
        let put = writer.write_all(bytes).and_then(|()| writer.flush());
        put.map_err(|err| RuntimeError::Failed(err.to_string()))
    }

    fn screen(&self) -> Screen {
        let shown = lock(&self.shown);
        let screen = shown.parser.screen();
        Screen {
            lines: screen.rows(0, SIZE.0).collect(),
            cursor: screen.cursor_position(),
            size: SIZE,
            offset: shown.output.len() as u64,
            bracketed_paste: screen.bracketed_paste(),
            alternate: screen.alternate_screen(),
            typed: *lock(&self.typed),
        }
    }

    fn life(&self) -> ProcessLife {
        let mut life = lock(&self.life);
        if let Some(life) = *life {
            return life;
        }
        match lock(&self.child).try_wait() {
            Ok(Some(status)) => {
                *life.insert(ProcessLife::Gone { code: i32::try_from(status.exit_code()).ok() })
            }
            Ok(None) => ProcessLife::Alive { busy: false },
            Err(_) => ProcessLife::Unknown,
        }
    }

    fn piece(&self, from: u64, limit: usize) -> OutputPart {
        let ended = self.progress.borrow().1;
        let shown = lock(&self.shown);
        let rest = shown.output.get(from as usize..).unwrap_or_default();
        OutputPart {
            from,
            bytes: rest[..rest.len().min(limit)].to_vec(),
            ended: ended && rest.len() <= limit,
        }
    }
}

fn read(
    mut from: Box<dyn Read + Send>,
    into: &Mutex<PtyScreen>,
    progress_sender: &watch::Sender<(u64, bool)>,
) {
    let mut piece = [0; 16 * 1024];
    loop {
        // Reading past the end of a terminal is an error.
        let length = from.read(&mut piece).unwrap_or(0);
        let mut shown = lock(into);
        shown.output.extend_from_slice(&piece[..length]);
        shown.parser.process(&piece[..length]);
        let offset = shown.output.len() as u64;
        drop(shown);
        progress_sender.send_replace((offset, length == 0));
        if length == 0 {
            return;
        }
    }
}

#[async_trait]
impl Runtime for PtyRuntime {
    fn name(&self) -> &str {
        "pty"
    }

    fn abilities(&self) -> RuntimeAbilities {
        RuntimeAbilities {
            terminal: true,
            remembers_writes: !self.forgets_writes,
            shares_files: true,
            ..RuntimeAbilities::default()
        }
    }

    async fn start(&self, spec: &StartSpec) -> Result<ProcessRef, RuntimeError> {
        let process = reference(spec.session, spec.attempt);
        let mut processes = lock(&self.processes);
        if !processes.contains_key(&process) {
            processes.insert(process.clone(), Arc::new(PtyProcess::start(spec)?));
        }
        Ok(process)
    }

    async fn reference(
        &self,
        session: SessionId,
        attempt: Attempt,
    ) -> Result<Option<ProcessRef>, RuntimeError> {
        let process = reference(session, attempt);
        Ok(lock(&self.processes).contains_key(&process).then_some(process))
    }

    async fn write(&self, order: &WriteOrder) -> Result<WriteOutcome, RuntimeError> {
        let process = self.process(&order.process)?;
        if !lock(&process.written).insert(order.number) && !self.forgets_writes {
            return Ok(WriteOutcome::AlreadyWritten);
        }
        // A terminal accepts only so much until its program reads, so wait on a blocking thread.
        let bytes = order.bytes.clone();
        let put = tokio::task::spawn_blocking(move || process.put(&bytes)).await;
        put.map_err(|err| RuntimeError::Failed(err.to_string()))?.map(|()| WriteOutcome::Written)
    }

    async fn output(
        &self,
        process: &ProcessRef,
        from: u64,
        limit: usize,
        wait: Duration,
    ) -> Result<OutputPart, RuntimeError> {
        let process = self.process(process)?;
        let mut progress = process.progress.clone();
        let more = progress.wait_for(|(offset, ended)| *offset > from || *ended);
        let _ = tokio::time::timeout(wait, more).await;
        Ok(process.piece(from, limit))
    }

    async fn screen(&self, process: &ProcessRef) -> Result<Screen, RuntimeError> {
        Ok(self.process(process)?.screen())
    }

    async fn look(&self, process: &ProcessRef) -> ProcessLife {
        self.process(process).map_or(ProcessLife::Unknown, |process| process.life())
    }

    async fn folder(&self, _: &ProcessRef) -> Option<String> {
        None
    }

    async fn census(&self) -> Result<Vec<CensusEntry>, RuntimeError> {
        let entry = |(process, it): (&ProcessRef, &Arc<PtyProcess>)| CensusEntry {
            process: process.clone(),
            session: it.session,
            attempt: it.attempt,
            life: it.life(),
            folder: None,
        };
        Ok(lock(&self.processes).iter().map(entry).collect())
    }

    async fn end(&self, order: &EndOrder) -> Result<(), RuntimeError> {
        let process = reference(order.session, order.attempt);
        if let Ok(process) = self.process(&process) {
            process.end();
        }
        Ok(())
    }
}

fn reference(session: SessionId, attempt: Attempt) -> ProcessRef {
    ProcessRef::new("pty", format!("{session}/{attempt}"))
}

impl PtyProcess {
    fn end(&self) {
        if self.life() == (ProcessLife::Alive { busy: false }) {
            let mut child = lock(&self.child);
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for PtyRuntime {
    fn drop(&mut self) {
        for process in lock(&self.processes).values() {
            process.end();
        }
    }
}

fn emulator() -> vt100::Parser {
    let size = |of| NonZero::new(of).expect("no terminal is without size");
    vt100::Parser::new(size(SIZE.1), size(SIZE.0), 0)
}

impl fmt::Debug for PtyRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PtyRuntime").finish_non_exhaustive()
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().expect("no thread panics while it holds the lock")
}
