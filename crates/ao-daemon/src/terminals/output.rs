//! The output of a session's program, of both streams, as text.

use std::sync::Arc;
use std::time::Duration;

use ao_agent::turn::TurnFormat;
use ao_core::Event;
use ao_core::session::{Phase, Session};
use ao_engine::Handle;
use ao_ports::{ProcessRef, RuntimeError, Runtimes, TerminalView, ViewOptions};
use camino::Utf8PathBuf;
use tokio::time::{Instant, timeout_at};

use super::TerminalViews;
use crate::config::ActiveConfig;
use crate::error::{DaemonError, ErrorKind};
use crate::on_disk;
use crate::secrets::{self, Secrets};

/// A piece of what a program has put out, as plain text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputPiece {
    pub from: u64,
    /// The offset to read on from.
    pub next: u64,
    pub text: String,
    /// True if nothing more will come.
    pub ended: bool,
}

/// The terminals and the output of agents.
#[derive(Debug)]
pub struct AgentTerminals {
    deps: TerminalDeps,
    /// One for all viewers, as they share who has control.
    views: TerminalViews,
}

#[derive(Debug)]
pub(crate) struct TerminalDeps {
    pub(crate) handle: Handle,
    pub(crate) runtimes: Runtimes,
    pub(crate) config: Arc<ActiveConfig>,
    pub(crate) data_dir: Utf8PathBuf,
}

impl AgentTerminals {
    pub(crate) fn new(deps: TerminalDeps, views: TerminalViews) -> AgentTerminals {
        AgentTerminals { deps, views }
    }

    /// Opens a view of a session's terminal.
    pub async fn attach(
        &self,
        session: &Session,
        options: ViewOptions,
    ) -> Result<Box<dyn TerminalView>, DaemonError> {
        self.views.attach(session, options).await
    }

    /// Returns what the program of a session has put out from an offset on, at most so many bytes. With `wait`, not before
    /// there is something, or nothing more will come; can be dropped then. Known secrets are masked.
    ///
    /// An offset beyond the end stands for the end: `u64::MAX` with a limit of 0 shows by `next` where that is.
    pub async fn output(
        &self,
        session: &Session,
        from: u64,
        limit: u32,
        wait: bool,
    ) -> Result<OutputPiece, DaemonError> {
        let TerminalDeps { handle, runtimes, config, .. } = &self.deps;
        let secrets = self.secrets_of(session).await?;
        let until = Instant::now() + if wait { WAIT } else { Duration::ZERO };
        let session = begun(handle, runtimes, session, until).await;
        let agent = &session.spec.agent;
        let format = config.agents().get(&agent.name).map(|options| match agent.mode {
            Some(mode) => options.in_mode(mode).unwrap_or_default().output.format,
            None => options.output.format,
        });
        read(runtimes, &session, from, limit, until, &secrets, format.unwrap_or_default()).await
    }

    /// Returns what the set-up commands of a session have put out; nothing if there were none.
    pub async fn setup_log(&self, session: &Session) -> Result<String, DaemonError> {
        let options = ao_workspace::provision::Options::new(self.deps.data_dir.join("logs"));
        let path = options.setup_log(session.id);
        match tokio::fs::read(&path).await {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(err) if err.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
            Err(err) => {
                Err(DaemonError::new(ErrorKind::UnreadableOutput, format!("`{}`: {err}", path.display())))
            }
        }
    }

    /// Returns all known secrets, with those that the agent of a session was given.
    async fn secrets_of(&self, session: &Session) -> Result<Secrets, DaemonError> {
        let project = session.spec.project.clone();
        let environment = self
            .deps
            .handle
            .view(move |state| state.projects.get(&project).map(|project| project.config.environment.clone()))
            .await;
        let environment = environment.ok().flatten();
        // Looked up again: a file may have got another one since.
        on_disk(move || {
            let variable = |name: &str| std::env::var(name).ok();
            secrets::learn(environment.iter().flat_map(|of| secrets::of_project(of, variable)));
            secrets::known()
        })
        .await
    }
}

/// The time that a call waits for output at most, before it returns nothing.
const WAIT: Duration = Duration::from_secs(25);
/// An escape sequence, or a letter, that is cut off at the end of a piece is no longer than this.
const CUT: usize = 256;

async fn read(
    runtimes: &Runtimes,
    session: &Session,
    from: u64,
    limit: u32,
    until: Instant,
    secrets: &Secrets,
    format: TurnFormat,
) -> Result<OutputPiece, DaemonError> {
    let process = process_of(runtimes, session).await.map_err(|err| unreadable(session, &err))?;
    let (Some(process), false) = (process, has_none_yet(runtimes, session).await) else {
        return Ok(OutputPiece { from: 0, next: 0, text: String::new(), ended: !session.is_live() });
    };
    let runtime = runtimes.of(&process).map_err(|err| unreadable(session, &err))?;
    // More than a secret at a time, so that something of it can always be shown.
    let limit = (limit.clamp(1024, 1024 * 1024) as usize).max(secrets.longest() * 2 + CUT);
    let output = async |from, limit| {
        let left = until.saturating_duration_since(Instant::now());
        runtime.log(&process, from, limit, left).await.map_err(|err| unreadable(session, &err))
    };
    let (read, whole) = loop {
        let read = output(from, limit).await?;
        let is_full = read.bytes.len() >= limit;
        let whole = if read.ended {
            read.bytes.len()
        } else {
            let whole = secrets.whole_part(&read.bytes[..whole_part(&read.bytes)]);
            whole_lines(format, &read.bytes[..whole], is_full)
        };
        if whole > 0 || read.bytes.is_empty() {
            break (read, whole);
        }
        // All of it may be the beginning of a secret, which is known once more has come.
        let more = output(read.from + read.bytes.len() as u64, 1).await?;
        if more.bytes.is_empty() && !more.ended {
            break (read, 0);
        }
    };
    let text = String::from_utf8_lossy(&read.bytes[..whole]);
    let text = ao_agent::turn::render(format, &text);
    let text = anstream::adapter::strip_str(&in_lines(&text)).to_string();
    Ok(OutputPiece {
        from: read.from,
        next: read.from + whole as u64,
        text: secrets.mask(&ao_core::text::sanitise(&text)),
        ended: read.ended,
    })
}

/// Returns the length of the part that can be rendered: whole lines, if lines are reports. A line that fills the
/// piece is taken as it is.
fn whole_lines(format: TurnFormat, bytes: &[u8], is_full: bool) -> usize {
    if format == TurnFormat::Text {
        return bytes.len();
    }
    match bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => end + 1,
        None if is_full => bytes.len(),
        None => 0,
    }
}

/// Returns the session once it has a process or has ended, or as it is at the deadline. Spares callers that wait for
/// output repeated calls.
async fn begun(handle: &Handle, runtimes: &Runtimes, session: &Session, until: Instant) -> Session {
    let id = session.id;
    let begins = async {
        loop {
            let look = handle.view_at(move |state, seq| (state.sessions.get(&id).cloned(), seq));
            let (now, seq) = look.await.ok()?;
            match &now {
                Some(session) if has_none_yet(runtimes, session).await => {}
                _ => return now,
            }
            let mut happens = handle.subscribe(seq);
            while !matches!(&happens.next().await.ok()??.event, Event::Session(of, _) if *of == id) {}
        }
    };
    timeout_at(until, begins).await.ok().flatten().map_or_else(|| session.clone(), |now| *now)
}

/// Returns true if a session is live and has no process yet that could have output: it is queued, or being set up.
async fn has_none_yet(runtimes: &Runtimes, session: &Session) -> bool {
    // Only a person leads on from these, which no call waits for.
    if matches!(
        session.phase,
        Phase::SetupFailed { .. } | Phase::Exited { .. } | Phase::Resting { .. } | Phase::Ended { .. }
    ) {
        return false;
    }
    if session.process.is_some() || !session.is_live() {
        return false;
    }
    // The process of this attempt has ended, or is being started; its runtime knows which.
    let (Ok(Some(process)), Ok(runtime)) =
        (process_of(runtimes, session).await, runtimes.get(&session.spec.runtime))
    else {
        return true;
    };
    !runtime.output(&process, 0, 1, Duration::ZERO).await.is_ok_and(|output| output.ended)
}

/// Returns the process that a session has, or had last.
pub(crate) async fn process_of(
    runtimes: &Runtimes,
    session: &Session,
) -> Result<Option<ProcessRef>, RuntimeError> {
    // An attempt that is being set up, or could not be, has not got as far as a process.
    let is_early = matches!(session.phase, Phase::Preparing { .. } | Phase::SetupFailed { .. });
    if session.process.is_some() || is_early || session.attempt.0 == 0 {
        return Ok(session.process.clone());
    }
    runtimes.get(&session.spec.runtime)?.reference(session.id, session.attempt).await
}

fn unreadable(session: &Session, err: &RuntimeError) -> DaemonError {
    let name = &session.spec.name;
    let mut problem =
        DaemonError::new(ErrorKind::UnreadableOutput, format!("the output of `{name}` cannot be read"));
    problem.detail = Some(err.to_string());
    problem.hint(format!("`ao explain {name}` says what is known of it"))
}

/// Ends a line wherever a program that draws moves to another place of the screen, so that separate lines there are
/// separate in plain text too. Empty lines are left out.
fn in_lines(text: &str) -> String {
    let mut lines = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("\x1b[") {
        lines.push_str(before);
        let parameters = behind.find(|c: char| !matches!(c, '0'..='9' | ';')).unwrap_or(behind.len());
        if behind[parameters..].starts_with(['H', 'f', 'E']) {
            if !lines.is_empty() && !lines.ends_with('\n') {
                lines.push('\n');
            }
            rest = &behind[parameters + 1..];
        } else if behind[..parameters] == *"2" && behind[parameters..].starts_with('K') {
            // A line is cleared before it is drawn anew; kept, it would stand between two ends of lines.
            rest = &behind[parameters + 1..];
        } else {
            lines.push_str("\x1b[");
            rest = behind;
        }
    }
    lines.push_str(rest);
    lines
}

/// Returns the length of the part that can be shown: without an incomplete letter or escape sequence at the end.
fn whole_part(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(CUT);
    let mut end = bytes.len();
    if let Some(escape) = bytes[tail..].iter().rposition(|byte| *byte == 0x1b).map(|at| tail + at) {
        let ended = match bytes.get(escape + 1) {
            None => false,
            Some(b'[') => bytes[escape + 2..].iter().any(|byte| (0x40..=0x7e).contains(byte)),
            Some(b']' | b'P' | b'_' | b'^' | b'X') => {
                bytes[escape + 2..].iter().any(|byte| matches!(byte, 0x07 | 0x1b))
            }
            Some(_) => true,
        };
        if !ended {
            end = escape;
        }
    }
    // A letter has at most four bytes, so at most three of it can be there without the last.
    for back in 1..=3.min(end) {
        let first = bytes[end - back];
        let length = match first {
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            0x80..=0xbf => continue,
            _ => break,
        };
        if length > back {
            end -= back;
        }
        break;
    }
    // Something that never ends must not hold everything up.
    if end == 0 { bytes.len() } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_on_lines_of_their_own_is_told_so() {
        let drawn =
            "\x1b[H\x1b[1;1H\x1b[2Kagent\x1b[2;1H\x1b[2K\x1b[3;1H\x1b[2K\x1b[31m> ask\x1b[0m\x1b[4;1H";
        assert_eq!(anstream::adapter::strip_str(&in_lines(drawn)).to_string(), "agent\n> ask\n");
        assert_eq!(in_lines("plain\r\n\x1b[1mtext\x1b["), "plain\r\n\x1b[1mtext\x1b[");
    }

    #[test]
    fn nothing_is_shown_of_what_is_cut_in_two() {
        let whole = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..whole_part(bytes)]).into_owned();
        assert_eq!(whole(b"plain"), "plain");
        assert_eq!(whole("gr\u{fc}n".as_bytes()), "gr\u{fc}n");
        assert_eq!(whole(&"gr\u{fc}".as_bytes()[..3]), "gr");
        assert_eq!(whole(&"a\u{1f600}".as_bytes()[..4]), "a");
        assert_eq!(whole(b"red \x1b[31"), "red ");
        assert_eq!(whole(b"red \x1b[31mtext"), "red \x1b[31mtext");
        assert_eq!(whole(b"title \x1b]0;a long"), "title ");
        assert_eq!(whole(b"title \x1b]0;x\x07end"), "title \x1b]0;x\x07end");
        assert_eq!(whole(b"\x1b[3"), "\x1b[3", "what never ends holds nothing up");
    }
}
