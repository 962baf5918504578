//! One command of the user's, from its start to its end: a document on its standard input, its output in a log of its own,
//! and nothing of it left when it is over.

use std::ffi::{OsStr, OsString};
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use ao_process::{Keeper, Kept, Mark, Redactor, ended_how, secrets};
use ao_runtime::Families;
use camino::Utf8Path;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, timeout};

use super::logs::HookLogFile;

/// The time to wait, once the shell has ended, for others to let go of its output.
const DRAIN: Duration = Duration::from_millis(250);
/// The bytes of each stream that are kept for the error.
const TAIL: usize = 8 * 1024;
/// The part of that in the error.
const TOLD: usize = 500;
/// The upper bound of a limit that no clock can hold.
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// A command as it is to be run.
pub(super) struct CommandOrder<'a> {
    pub(super) shell: &'a OsStr,
    pub(super) keeper: &'a Keeper,
    pub(super) command: &'a str,
    pub(super) folder: &'a Utf8Path,
    pub(super) environment: Vec<(OsString, OsString)>,
    /// The register of processes that speak for the user.
    pub(super) families: &'a Arc<Families>,
    pub(super) mark: Mark,
    pub(super) timeout: Duration,
    pub(super) document: &'a str,
}

/// The end of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandEnded {
    pub(crate) code: Option<i32>,
    /// The reason of an objection, if it is one: the last line of output, as plain text.
    pub(crate) objection: Option<String>,
}

/// Runs a command. An error means that it could not be run, not that it objects.
pub(super) async fn run(order: CommandOrder<'_>, log: &mut HookLogFile) -> io::Result<CommandEnded> {
    let begun = Instant::now();
    log.say(&format!("$ {}", secrets::known().mask(order.command)))?;
    let (starting, _of_the_user) = order.families.start_for_the_user(|| spawn(&order), Kept::id)?;
    let mut child = starting.started().await.map_err(|err| not_started(&order, &err))?;
    let guard = order.mark.guard(child.id());
    let mut streams = OutputStreams::of(&mut child);
    let limit = order.timeout.min(YEAR);
    let status = timeout(limit, streams.follow(&mut child, order.document, log)).await;
    // Everything that it has left running ends with it, in time or not.
    let last = timeout(Duration::from_secs(3), streams.drain(log));
    let (ended, _) = tokio::join!(guard.end(), last);
    streams.finish(log)?;
    let took = begun.elapsed().as_secs_f64();
    let ended =
        ended.map_err(|err| io::Error::other(format!("what it has started could not be ended: {err}")));
    let told = match status {
        Ok(status) => {
            let status = status?;
            log.say(&format!("[ao: {} after {took:.1} s]", ended_how(status)))?;
            let objection =
                (!status.success()).then(|| streams.last_word().unwrap_or_else(|| ended_how(status)));
            CommandEnded { code: status.code(), objection }
        }
        Err(_) => {
            child.wait().await.ok();
            log.say(&format!("[ao: took too long, ended after {took:.1} s]"))?;
            let limit = limit.as_secs_f64();
            CommandEnded { code: None, objection: Some(format!("no answer within {limit} s")) }
        }
    };
    ended.map(|()| told)
}

fn spawn(order: &CommandOrder<'_>) -> io::Result<Kept> {
    if !order.folder.is_dir() {
        let what = format!("the project's folder `{}` is not there", order.folder);
        return Err(io::Error::new(io::ErrorKind::NotFound, what));
    }
    let kept = ao_process::Order {
        shell: order.shell,
        command: order.command,
        folder: order.folder.as_std_path(),
        environment: &order.environment,
        input: true,
        out: Stdio::piped(),
        err: Stdio::piped(),
    };
    order.keeper.begin(kept).map_err(|err| not_started(order, &err))
}

fn not_started(order: &CommandOrder<'_>, err: &io::Error) -> io::Error {
    let shell = order.shell.to_string_lossy();
    io::Error::new(err.kind(), format!("the shell `{shell}` could not be started: {err}"))
}

/// The output of a command. The streams are kept apart because the reason is looked for among the errors first.
struct OutputStreams {
    out: OutputStream,
    err: OutputStream,
    stdin: Option<Box<dyn AsyncWrite + Send + Unpin>>,
}

struct OutputStream {
    pipe: Option<Box<dyn AsyncRead + Send + Unpin>>,
    redactor: Redactor,
    tail: Vec<u8>,
}

impl OutputStreams {
    fn of(child: &mut Kept) -> OutputStreams {
        let stream = |pipe: Option<Box<dyn AsyncRead + Send + Unpin>>| OutputStream {
            pipe,
            redactor: Redactor::of_known(),
            tail: vec![],
        };
        let (out, err) = (child.take_out(), child.take_err());
        OutputStreams {
            out: stream(out.map(|pipe| Box::new(pipe) as _)),
            err: stream(err.map(|pipe| Box::new(pipe) as _)),
            stdin: child.take_input(),
        }
    }

    /// Writes down what comes until the shell has ended.
    async fn follow(
        &mut self,
        child: &mut Kept,
        document: &str,
        log: &mut HookLogFile,
    ) -> io::Result<ExitStatus> {
        let stdin = self.stdin.take();
        let feed = async move {
            if let Some(mut stdin) = stdin {
                // Who does not want to know it need not read it.
                stdin.write_all(document.as_bytes()).await.ok();
            }
        };
        tokio::pin!(feed);
        let mut fed = false;
        let status = loop {
            tokio::select! {
                status = child.wait() => break status?,
                () = &mut feed, if !fed => fed = true,
                more = self.next(log), if self.is_open() => more?,
            }
        };
        // The end of the output is waited for only a little: what was left running may hold it open for ever.
        match timeout(DRAIN, self.drain(log)).await {
            Ok(drained) => drained.map(|()| status),
            Err(_) => Ok(status),
        }
    }

    async fn drain(&mut self, log: &mut HookLogFile) -> io::Result<()> {
        while self.is_open() {
            self.next(log).await?;
        }
        Ok(())
    }

    fn is_open(&self) -> bool {
        self.out.pipe.is_some() || self.err.pipe.is_some()
    }

    async fn next(&mut self, log: &mut HookLogFile) -> io::Result<()> {
        let (mut one, mut other) = (vec![0; 16 << 10], vec![0; 16 << 10]);
        tokio::select! {
            read = read(&mut self.out.pipe, &mut one), if self.out.pipe.is_some() => {
                self.out.take(&one[..read?], log)
            }
            read = read(&mut self.err.pipe, &mut other), if self.err.pipe.is_some() => {
                self.err.take(&other[..read?], log)
            }
            else => Ok(()),
        }
    }

    fn finish(&mut self, log: &mut HookLogFile) -> io::Result<()> {
        for stream in [&mut self.out, &mut self.err] {
            let held = stream.redactor.finish();
            stream.keep(&held, log)?;
        }
        Ok(())
    }

    /// Returns the last line with text, of its errors or else of its output.
    fn last_word(&self) -> Option<String> {
        [&self.err, &self.out].into_iter().find_map(|stream| last_line(&stream.tail))
    }
}

impl OutputStream {
    fn take(&mut self, bytes: &[u8], log: &mut HookLogFile) -> io::Result<()> {
        if bytes.is_empty() {
            self.pipe = None;
            return Ok(());
        }
        let shown = self.redactor.push(bytes);
        self.keep(&shown, log)
    }

    fn keep(&mut self, shown: &[u8], log: &mut HookLogFile) -> io::Result<()> {
        log.write(shown)?;
        self.tail.extend_from_slice(shown);
        let surplus = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..surplus);
        Ok(())
    }
}

async fn read(pipe: &mut Option<Box<dyn AsyncRead + Send + Unpin>>, buffer: &mut [u8]) -> io::Result<usize> {
    match pipe {
        Some(pipe) => pipe.read(buffer).await,
        None => Ok(0),
    }
}

/// The last line of an output that has something to say, as plain text of one line.
fn last_line(output: &[u8]) -> Option<String> {
    let text = ao_core::text::sanitise(&String::from_utf8_lossy(output));
    // What turns the direction of writing is text to a terminal and a trick to its reader.
    let tricks =
        |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}');
    let text: String = text.chars().filter(|c| !tricks(*c)).collect();
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(match line.char_indices().nth(TOLD) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_that_says_something_is_told_as_plain_text() {
        let cases: [(&[u8], Option<&str>); 6] = [
            (b"", None),
            (b"\n \n\t\n", None),
            (b"one\ntwo\n\n", Some("two")),
            (b"\x1b[31mred\x1b[0m \x07bell\r\n", Some("red bell")),
            ("safe\u{202e}txt.exe".as_bytes(), Some("safetxt.exe")),
            (b"\xff\xfe broken", Some("\u{fffd}\u{fffd} broken")),
        ];
        for (output, told) in cases {
            assert_eq!(last_line(output).as_deref(), told, "{output:?}");
        }
        let long = last_line("é".repeat(10_000).as_bytes()).unwrap();
        assert_eq!(long.chars().count(), TOLD + 1);
    }
}
