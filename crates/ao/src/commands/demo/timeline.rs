//! What happens, as it happens, read from the engine's feed and from nothing else.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ao_core::session::{Session, StatusWord};
use ao_core::{Event, Stamped, State, Timestamp, codec};
use ao_engine::{Handle, Published, Subscription};
use ao_ports::Seq;
use tokio::time::{Instant, timeout_at};

use super::describe::describe;
use crate::error::{CommandError, Kind};
use crate::ui::{self, BUSY, FAINT, GOOD, TITLE};

/// How long a step may take before the demo has failed. On a quiet machine each takes well under a second.
const BOUND: Duration = Duration::from_secs(12);
/// What fits beside the time and the kind on a usual terminal.
const DETAIL_MOST: usize = 72;

/// A watcher of the feed with a state of its own, folded from the events as anybody's would be.
pub(super) struct Timeline {
    feed: Option<Subscription>,
    pub(super) state: State,
    pub(super) last: Seq,
    pub(super) kinds: Vec<String>,
    began: Option<Timestamp>,
    shown: Option<(StatusWord, String)>,
    steps: usize,
    pub(super) notices: Notices,
}

/// Where the notifier writes, until the event comes that says it has.
#[derive(Clone, Default)]
pub(super) struct Notices(Arc<Mutex<Vec<u8>>>);

impl Write for Notices {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panics while writing").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Timeline {
    pub(super) fn new() -> Timeline {
        Timeline {
            feed: None,
            state: State::default(),
            last: 0,
            kinds: Vec::new(),
            began: None,
            shown: None,
            steps: 0,
            notices: Notices::default(),
        }
    }

    /// Watches this daemon from where the last one left off.
    pub(super) fn watch(&mut self, handle: &Handle) {
        self.feed = Some(handle.subscribe(self.last));
    }

    /// Begins a step of the story.
    pub(super) fn step(&mut self, title: &str) -> Result<(), CommandError> {
        self.steps += 1;
        Ok(ui::line(format_args!("\n{TITLE}{}. {title}{TITLE:#}", self.steps))?)
    }

    /// Says what is done beside what happens.
    pub(super) fn say(&self, words: &str) -> Result<(), CommandError> {
        Ok(ui::line(format_args!("   {words}"))?)
    }

    /// The session that the demo is about, as the events tell it.
    pub(super) fn session(&self) -> Option<&Session> {
        self.state.live().next().or_else(|| self.state.sessions.values().next().map(|session| &**session))
    }

    pub(super) fn count(&self, kind: &str) -> usize {
        self.kinds.iter().filter(|known| *known == kind).count()
    }

    /// Shows events until they fulfil a condition.
    pub(super) async fn until(
        &mut self,
        what: &str,
        done: impl Fn(&Timeline) -> bool,
    ) -> Result<(), CommandError> {
        let bound = Instant::now() + BOUND;
        while !done(self) {
            let feed = self.feed.as_mut().expect("a timeline is told whom to watch before it waits");
            let Ok(next) = timeout_at(bound, feed.next()).await else {
                return Err(failed(format!("{what} did not happen within {} s", BOUND.as_secs())));
            };
            match next? {
                Some(published) => self.take(&published)?,
                None => return Err(failed(format!("the daemon stopped before {what}"))),
            }
        }
        Ok(())
    }

    /// Waits until the session has this status.
    pub(super) async fn until_status(&mut self, word: StatusWord) -> Result<(), CommandError> {
        let name = name_of(word);
        self.until(&format!("`{name}`"), |it| it.shown.as_ref().is_some_and(|(shown, _)| *shown == word))
            .await
    }

    fn take(&mut self, published: &Published) -> Result<(), CommandError> {
        let began = *self.began.get_or_insert(published.at);
        let since = published.at.since(began).as_secs_f64();
        let kind = codec::encode(&published.event).kind;
        let detail = short(&describe(&published.event));
        match detail.as_str() {
            "" => ui::line(format_args!("   {FAINT}{since:>7.3}s{FAINT:#}  {kind}"))?,
            detail => {
                ui::line(format_args!(
                    "   {FAINT}{since:>7.3}s{FAINT:#}  {kind:<26} {FAINT}{detail}{FAINT:#}"
                ))?;
            }
        }
        if kind == "notice.sent" {
            let written = std::mem::take(&mut *self.notices.0.lock().expect("nobody panics while writing"));
            for line in String::from_utf8_lossy(&written).lines() {
                ui::line(format_args!("             {BUSY}!{BUSY:#} {line}"))?;
            }
        }
        self.kinds.push(kind);
        self.state.evolve(&Stamped { at: published.at, event: published.event.clone() });
        self.last = published.seq;
        if matches!(published.event, Event::Session(..)) {
            self.show_status(published.at)?;
        }
        Ok(())
    }

    fn show_status(&mut self, now: Timestamp) -> Result<(), CommandError> {
        let Some(status) = self.session().map(|session| session.status(now)) else { return Ok(()) };
        let told = Some((status.word, status.reason.clone()));
        if told != self.shown {
            let style = match status.word {
                StatusWord::Idle | StatusWord::Merged => GOOD,
                StatusWord::NeedsInput | StatusWord::Working => BUSY,
                _ => TITLE,
            };
            let (word, reason) = (name_of(status.word), short(&status.reason));
            ui::line(format_args!("             {style}= {word}{style:#}  {reason}"))?;
            self.shown = told;
        }
        Ok(())
    }
}

/// A step that did not happen. That is our fault, unless the machine is very slow.
pub(super) fn failed(what: String) -> CommandError {
    CommandError::new(Kind::Bug, what)
        .hint("`ao demo --keep` leaves the event log and the agent's output there to look at")
}

fn name_of(word: StatusWord) -> String {
    let value = serde_json::to_value(word).ok();
    value.as_ref().and_then(|word| word.as_str()).unwrap_or_default().to_owned()
}

fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(DETAIL_MOST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}
