//! Types at a terminal: a text arrives as one user turn, or nothing is typed.
//!
//! ```text
//!  look ──► dialog, work, a person, another's draft, an unknown screen ──► Held
//!   │ our draft stands there ───────────────┐
//!   ▼ the box is empty                      ▼
//!  paste, once in the life of a delivery ─► it shows ─► Enter ─► it is gone ─► Written, or Taken
//!                                             ▲           │
//!                                             └───────────┘ it still stands there: 3 times in all
//! ```

use std::time::Duration;

use ao_core::Timestamp;
use ao_core::evidence::{Confidence, Reading, Signal, SignalSource};
use ao_core::session::is_turn_of;
use ao_core::text::sanitise;
use ao_ports::{AgentError, DeliverOrder, DeliveryOutcome, ProcessRef, Screen, WriteOrder, WriteOutcome};
use tokio::time::Instant;

use super::TerminalDriver;
use super::watching::signal;
use crate::command::base::failed;
use crate::command::drivers::follower::turn_of;

/// Most presses of Enter per delivery.
const ENTERS: u64 = 3;
/// Time limit for a pasted text to show.
const SHOWS: Duration = Duration::from_secs(4);
/// Time limit for a draft to disappear once Enter was pressed.
const GOES: Duration = Duration::from_millis(1200);
/// Time limit for a turn to end once it was interrupted.
pub(super) const STOPS: Duration = Duration::from_secs(4);
/// A screen is drawn in pieces; this is the wait for the next.
const FRAME: Duration = Duration::from_millis(25);

/// The low bits of a delivery's write numbers. The paste has one number for all tries, so it is never repeated.
const PASTE: u64 = 0;
const INTERRUPT: u64 = 0x10;

impl TerminalDriver {
    /// Delivers a text through the terminal.
    pub(super) async fn type_in(&self, order: &DeliverOrder) -> Result<DeliveryOutcome, AgentError> {
        let Some(process) = &order.process else {
            return Err(AgentError::Failed("there is no process to write to".into()));
        };
        let agent_process = self.base.agent_process(order.session, order.attempt);
        // Locked all the while: two concurrent writers would mix their texts.
        let mut memory = agent_process.memory().await.map_err(failed)?;
        // Clean already, and sanitised once more: no text may press keys.
        let text = sanitise(&order.text);
        // A retry of the text it was started with, whose proof is late or lost.
        let by_launch = memory.launched_with(&text).filter(|_| order.tries > 1);
        let before = memory.pasted(order.delivery).or(by_launch);
        if let Some(taken) = self.taken(order, &text, before) {
            return Ok(taken);
        }
        let runtime = self.base.runtime(process)?;
        let mut screen = runtime.screen(process).await.map_err(failed)?;
        if let Some(held) = self.in_the_way(order, &screen) {
            return Ok(held);
        }
        let draft = self.patterns.draft(&screen);
        let begun = screen.typed;
        match (before, draft.as_deref()) {
            (None, Some(draft)) if !draft.is_empty() => return Ok(not_ours()),
            (Some(_), Some(draft)) if !draft.is_empty() => {
                if !self.patterns.is_ours(draft, &text) {
                    return Ok(not_ours());
                }
            }
            (None, None) if self.patterns.know_drafts() => return Ok(held("its input box cannot be seen")),
            // It was typed before, and is not there. Only a runtime that records writes can tell more.
            (Some(_), _) if by_launch.is_some() || !runtime.abilities().remembers_writes => {
                return Ok(DeliveryOutcome::Written);
            }
            _ => {
                // Not on a retry: the running turn may be the one that this very message began.
                if let Some(keys) = self.interrupts(order, &screen).filter(|_| before.is_none()) {
                    self.press(process, number(order, order.tries, INTERRUPT), keys).await?;
                    let at_prompt = |screen: &Screen| self.reads(screen) == Reading::Idle;
                    let (now, stopped) = self.until(process, STOPS, at_prompt).await?;
                    if !stopped {
                        return Ok(self.in_the_way(order, &now).unwrap_or_else(|| held("it did not stop")));
                    }
                    screen = now;
                }
                if before.is_none() {
                    memory.paste(order.delivery, self.base.clock.now()).map_err(failed)?;
                }
                let paste = WriteOrder {
                    process: process.clone(),
                    number: number(order, 0, PASTE),
                    bytes: self.pasted(&text, &screen),
                };
                if runtime.write(&paste).await.map_err(failed)? == WriteOutcome::AlreadyWritten {
                    return Ok(DeliveryOutcome::Written);
                }
                if !self.shows(process).await? {
                    return Ok(DeliveryOutcome::Written);
                }
            }
        }
        let since = before.or(memory.pasted(order.delivery));
        self.submit(order, process, &text, since, begun).await
    }

    /// Presses Enter until the draft is gone, a few times at most.
    async fn submit(
        &self,
        order: &DeliverOrder,
        process: &ProcessRef,
        text: &str,
        since: Option<Timestamp>,
        begun: Option<Timestamp>,
    ) -> Result<DeliveryOutcome, AgentError> {
        for press in 1..=ENTERS {
            let screen = self.base.runtime(process)?.screen(process).await.map_err(failed)?;
            // A dialog that has opened meanwhile would take Enter for a choice, and a person's key changes the draft.
            if matches!(self.reads(&screen), Reading::Asking { .. }) || screen.typed != begun {
                return Ok(DeliveryOutcome::Written);
            }
            let number = number(order, order.tries, press);
            if self.press(process, number, &self.base.options.keys.submit).await?
                == WriteOutcome::AlreadyWritten
            {
                continue;
            }
            if !self.patterns.know_drafts() {
                break;
            }
            let gone = |screen: &Screen| match self.patterns.draft(screen) {
                Some(draft) => draft.is_empty(),
                None => matches!(self.reads(screen), Reading::Working { .. } | Reading::Asking { .. }),
            };
            let (screen, gone) = self.until(process, GOES, gone).await?;
            if let Some(taken) = self.taken(order, text, since) {
                return Ok(taken);
            }
            if gone && !self.base.options.hooks && screen.typed == begun {
                // Without hooks there is no better proof: our text was in the box, and Enter removed it.
                let turn = turn_of(order.attempt, order.delivery);
                return Ok(DeliveryOutcome::Taken { turn, text: order.text.clone() });
            }
            if gone {
                break;
            }
        }
        Ok(DeliveryOutcome::Written)
    }

    /// Returns what prevents typing, with the evidence.
    fn in_the_way(&self, order: &DeliverOrder, screen: &Screen) -> Option<DeliveryOutcome> {
        let now = self.base.clock.now();
        let quiet = self.base.options.keys.human_quiet;
        if let Some(at) = screen.typed.filter(|typed| now.since(*typed) < quiet) {
            let typed = Signal {
                attempt: order.attempt,
                source: SignalSource::Terminal,
                at,
                confidence: Confidence::High,
                reading: Reading::HumanTyped,
            };
            return Some(DeliveryOutcome::Held { why: "a person is typing".into(), signals: vec![typed] });
        }
        if self.patterns.are_none() {
            return None;
        }
        let reading = self.patterns.read(screen, now);
        let why = match &reading {
            Reading::Idle => return None,
            Reading::Working { .. } if order.interrupt || self.base.options.steer => return None,
            Reading::Working { .. } => "it is at work".to_owned(),
            Reading::Asking { question } => format!("a question is open: {question}"),
            Reading::Limited { .. } => "its provider refuses more work".to_owned(),
            _ => "its screen is none that is known".to_owned(),
        };
        Some(DeliveryOutcome::Held { why, signals: vec![signal(order.attempt, now, reading)] })
    }

    /// Returns the keys that stop a running turn, if this message interrupts and one runs.
    fn interrupts(&self, order: &DeliverOrder, screen: &Screen) -> Option<&str> {
        let runs = order.interrupt && matches!(self.reads(screen), Reading::Working { .. });
        self.base.options.keys.interrupt.as_deref().filter(|_| runs)
    }

    /// Returns the turn in which, according to a hook, our text was taken since it was pasted.
    fn taken(&self, order: &DeliverOrder, text: &str, since: Option<Timestamp>) -> Option<DeliveryOutcome> {
        let history = self.base.history.as_ref()?;
        let turn = history.find(order.session, order.attempt, since?, |taken| is_turn_of(taken, text))?;
        Some(DeliveryOutcome::Taken { turn: turn.name, text: order.text.clone() })
    }

    fn pasted(&self, text: &str, screen: &Screen) -> Vec<u8> {
        if screen.bracketed_paste {
            return format!("\x1b[200~{text}\x1b[201~").into_bytes();
        }
        // Without bracketed paste each line break would be a press of Enter, and a tab would have its own meaning.
        text.trim_end().replace('\t', " ").replace('\n', &self.base.options.keys.line_break).into_bytes()
    }

    /// Waits until the box has a draft.
    async fn shows(&self, process: &ProcessRef) -> Result<bool, AgentError> {
        if !self.patterns.know_drafts() {
            // There is nothing to wait for but that it has been drawn.
            self.until(process, 4 * FRAME, |_| false).await?;
            return Ok(true);
        }
        let shows = |screen: &Screen| self.patterns.draft(screen).is_some_and(|draft| !draft.is_empty());
        Ok(self.until(process, SHOWS, shows).await?.1)
    }

    /// Waits until the screen meets a condition, woken by output, and returns true if it does.
    pub(super) async fn until(
        &self,
        process: &ProcessRef,
        bound: Duration,
        is: impl Fn(&Screen) -> bool,
    ) -> Result<(Screen, bool), AgentError> {
        let by = Instant::now() + bound;
        loop {
            let screen = self.base.runtime(process)?.screen(process).await.map_err(failed)?;
            if is(&screen) {
                return Ok((screen, true));
            }
            let left = by.saturating_duration_since(Instant::now());
            let piece =
                self.base.runtime(process)?.output(process, screen.offset, 1, left).await.map_err(failed)?;
            if piece.ended || left.is_zero() {
                return Ok((screen, false));
            }
            tokio::time::sleep(FRAME).await;
        }
    }

    pub(super) async fn press(
        &self,
        process: &ProcessRef,
        number: u64,
        keys: &str,
    ) -> Result<WriteOutcome, AgentError> {
        let order = WriteOrder { process: process.clone(), number, bytes: keys.as_bytes().to_vec() };
        self.base.runtime(process)?.write(&order).await.map_err(failed)
    }

    pub(super) fn reads(&self, screen: &Screen) -> Reading {
        self.patterns.read(screen, self.base.clock.now())
    }
}

fn held(why: &str) -> DeliveryOutcome {
    DeliveryOutcome::Held { why: why.into(), signals: vec![] }
}

fn not_ours() -> DeliveryOutcome {
    held("a draft that is not ours stands in the input box")
}

/// Composes the number of a write: by delivery, by try, by what is written.
fn number(order: &DeliverOrder, tries: u32, what: u64) -> u64 {
    u64::from(order.delivery) << 24 | u64::from(tries.min(0xffff)) << 8 | what
}
