//! Follows check runs until they have ended, with their output.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use ao_api::client::{Client, ClientError};
use ao_api::{CheckRun, CheckRunState};
use futures::future::try_join_all;
use tokio::time::{Instant, sleep};

use crate::client::event_watch;
use crate::error::{CommandError, FailureKind};
use crate::show::check::{is_bad, is_pending};
use crate::{show, ui};

/// A response that came sooner than this was not waited for.
const AT_ONCE: Duration = Duration::from_millis(300);
/// An incomplete line is held back up to this many bytes.
const LONGEST: usize = 64 * 1024;
const COLOURS: [AnsiColor; 5] =
    [AnsiColor::Cyan, AnsiColor::Magenta, AnsiColor::Blue, AnsiColor::Yellow, AnsiColor::Green];

/// Waits until all runs have ended, and returns them. Shows their output if wanted: unchanged for a single run, with
/// the name of the check before each line for several.
pub(super) async fn to_the_end(
    client: &Client,
    runs: Vec<CheckRun>,
    shown: bool,
) -> Result<Vec<CheckRun>, CommandError> {
    let pending = runs.iter().filter(|run| is_pending(run.state)).count();
    let longest = runs.iter().map(|run| run.check.chars().count()).max().unwrap_or(0);
    let each = runs.iter().enumerate().map(async |(at, run)| {
        if !is_pending(run.state) {
            return Ok(run.clone());
        }
        let mut out = RunOutput {
            shown,
            label: (pending > 1).then(|| {
                let style = COLOURS[at % COLOURS.len()].on_default();
                (style, format!("{:longest$}", show::plain(&run.check)))
            }),
            held: String::new(),
            safe: std::io::stdout().is_terminal(),
        };
        one(client, run, 0, &mut out).await
    });
    try_join_all(each).await
}

/// Prints the output of one run from an offset on until it has ended.
pub(super) async fn output(client: &Client, run: &CheckRun, from: u64) -> Result<CheckRun, CommandError> {
    let safe = std::io::stdout().is_terminal();
    one(client, run, from, &mut RunOutput { shown: true, label: None, held: String::new(), safe }).await
}

async fn one(
    client: &Client,
    run: &CheckRun,
    from: u64,
    out: &mut RunOutput,
) -> Result<CheckRun, CommandError> {
    let mut from = from;
    let mut away_since = None;
    loop {
        let asked = Instant::now();
        match client.check_log(&run.id, from, true).await {
            Ok(piece) => {
                away_since = None;
                out.put(&piece.text)?;
                let more = piece.next > from;
                from = piece.next;
                if piece.ended && !more {
                    break;
                }
                // Avoids a busy loop with a daemon that does not wait.
                if !more && asked.elapsed() < AT_ONCE {
                    sleep(AT_ONCE).await;
                }
            }
            // It has no output yet, or never will: it may have ended before it started.
            Err(ClientError::Refused(problem)) if problem.status == 404 => {
                if !is_pending(client.check_run(&run.id).await?.state) {
                    break;
                }
                sleep(AT_ONCE).await;
            }
            Err(err) if event_watch::is_away(&err) => {
                let since = *away_since.get_or_insert_with(Instant::now);
                if since.elapsed() > event_watch::AWAY {
                    return Err(err.into());
                }
                sleep(AT_ONCE).await;
            }
            Err(err) => return Err(err.into()),
        }
    }
    out.end()?;
    loop {
        let run = client.check_run(&run.id).await?;
        if !is_pending(run.state) {
            return Ok(run);
        }
        sleep(AT_ONCE).await;
    }
}

/// Prints the output of a run by line, so that several runs do not mix.
struct RunOutput {
    shown: bool,
    label: Option<(Style, String)>,
    held: String,
    /// The output goes to a person's terminal, so control characters are removed.
    safe: bool,
}

impl RunOutput {
    fn put(&mut self, text: &str) -> Result<(), CommandError> {
        self.held.push_str(text);
        let end = match self.held.rfind('\n') {
            Some(end) => end + 1,
            None if self.held.len() > LONGEST => self.held.len(),
            None => return Ok(()),
        };
        let rest = self.held.split_off(end);
        let lines = std::mem::replace(&mut self.held, rest);
        self.write(&lines)
    }

    fn end(&mut self) -> Result<(), CommandError> {
        let mut rest = std::mem::take(&mut self.held);
        if rest.is_empty() {
            return Ok(());
        }
        rest.push('\n');
        self.write(&rest)
    }

    fn write(&self, lines: &str) -> Result<(), CommandError> {
        if !self.shown {
            return Ok(());
        }
        let safe = if self.safe { made_safe(lines) } else { lines.to_owned() };
        let Some((style, label)) = &self.label else {
            let mut out = std::io::stdout().lock();
            out.write_all(safe.as_bytes())?;
            return Ok(out.flush()?);
        };
        let told = safe.lines().fold(String::with_capacity(safe.len() * 2), |told, line| {
            told + &format!("{style}{label} │{style:#} {line}\n")
        });
        Ok(ui::text(told)?)
    }
}

/// Removes control characters. A line that was overwritten is shown as it was in the end.
pub(super) fn made_safe(lines: &str) -> String {
    let last = |line: &str| {
        let line = line.strip_suffix('\r').unwrap_or(line);
        ao_core::text::sanitise(line.rsplit('\r').next().unwrap_or(line))
    };
    let mut safe = String::with_capacity(lines.len());
    for line in lines.split_inclusive('\n') {
        match line.strip_suffix('\n') {
            Some(line) => safe.push_str(&(last(line) + "\n")),
            None => safe.push_str(&last(line)),
        }
    }
    safe
}

/// Returns the result for scripts: all passed, one failed, or some are pending.
pub(crate) fn verdict(runs: &[CheckRun]) -> Result<(), CommandError> {
    let names = |is: &dyn Fn(CheckRunState) -> bool| {
        let names =
            runs.iter().filter(|run| is(run.state)).map(|run| format!("`{}`", show::plain(&run.check)));
        names.collect::<Vec<_>>()
    };
    let (bad, pending) = (names(&is_bad), names(&is_pending));
    let count = runs.len();
    if !bad.is_empty() {
        let of = ui::count(count as u64, "check");
        let error = format!("{} of {of} failed: {}", bad.len(), bad.join(", "));
        let error = CommandError::new(FailureKind::ChecksFailed, error);
        let first = runs.iter().find(|run| is_bad(run.state));
        return Err(match first {
            Some(run) => error.hint(format!("`ao check logs {}` shows its whole output", run.id)),
            None => error,
        });
    }
    if !pending.is_empty() {
        let error = format!("not over yet: {}", pending.join(", "));
        return Err(CommandError::new(FailureKind::ChecksPending, error).hint("`--watch` waits for them"));
    }
    Ok(())
}

/// The last printed states of runs.
#[derive(Debug, Default)]
pub(crate) struct RunWatch(BTreeMap<String, CheckRunState>);

impl RunWatch {
    /// Prints runs whose state has changed to stderr.
    pub(crate) fn print_changes(&mut self, runs: &[CheckRun]) {
        for run in runs {
            let before = self.0.insert(run.id.clone(), run.state);
            if before != Some(run.state) {
                ui::note(format_args!("{}: {}", show::plain(&run.check), run.state));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_shown_without_what_steers_a_terminal() {
        assert_eq!(made_safe("\x1b[31mred\x1b[0m\r\n10%\r50%\r100%\nend"), "red\n100%\nend");
        assert_eq!(made_safe("\x1b]0;title\x07x\n\n"), "x\n\n");
    }
}
