//! Reports of adapters, collected for a test.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ao_core::agent_report::{AgentReport, CallState, ToolCall, TurnCause, TurnEnd};
use ao_core::ask::Ask;
use ao_core::evidence::Signal;
use ao_ports::{Report, Reporter};
use async_trait::async_trait;
use tokio::sync::Notify;

/// Collects reports, which a test reads one by one or all at once.
#[derive(Debug, Default)]
pub struct ReportLog {
    collected: Mutex<CollectedReports>,
    reported: Notify,
}

#[derive(Debug, Default)]
struct CollectedReports {
    all: Vec<Report>,
    /// Number of reports that [`ReportLog::next`] and [`ReportLog::unread`] have returned.
    read: usize,
}

#[async_trait]
impl Reporter for ReportLog {
    async fn report(&self, report: Report) {
        self.lock().all.push(report);
        self.reported.notify_waiters();
    }
}

impl ReportLog {
    /// Waits for the next report.
    pub async fn next(&self) -> Report {
        loop {
            let reported = self.reported.notified();
            if let Some(report) = self.read_one() {
                return report;
            }
            reported.await;
        }
    }

    /// Returns the reports that were not read yet.
    pub fn unread(&self) -> Vec<Report> {
        std::iter::from_fn(|| self.read_one()).collect()
    }

    /// Returns a short form of all reports.
    pub fn reports(&self) -> Vec<String> {
        let short = |report: &Report| match report {
            Report::Signal { signal, .. } => format!("{:?}", signal.reading),
            Report::Agent { report, .. } => short_report(report),
            Report::Flooding { .. } => "Flooding".to_owned(),
            Report::Conversation { conversation, .. } => format!("Conversation {conversation}"),
            Report::ConversationGone { .. } => "ConversationGone".into(),
        };
        self.lock().all.iter().map(short).collect()
    }

    pub fn signals(&self) -> Vec<Signal> {
        let signal = |report: &Report| match report {
            Report::Signal { signal, .. } => Some(signal.clone()),
            _ => None,
        };
        self.lock().all.iter().filter_map(signal).collect()
    }

    /// Returns the readings of all signals, each with its source.
    pub fn with_source(&self) -> Vec<String> {
        self.signals().iter().map(|signal| format!("{:?} {:?}", signal.source, signal.reading)).collect()
    }

    /// Returns the names of the reported turns, each once: a report is repeated when more is known.
    pub fn turns(&self) -> Vec<String> {
        let mut turns: Vec<String> = Vec::new();
        for report in &self.lock().all {
            if let Report::Agent { report: AgentReport::TurnBegan { turn, .. }, .. } = report
                && !turns.contains(turn)
            {
                turns.push(turn.clone());
            }
        }
        turns
    }

    /// Returns the asks that were reported as open and not closed since.
    pub fn open_asks(&self) -> Vec<Ask> {
        let mut open: Vec<Ask> = Vec::new();
        for report in &self.lock().all {
            match report {
                Report::Agent { report: AgentReport::Asked { ask }, .. } => {
                    open.retain(|known| known.id != ask.id);
                    open.push(ask.clone());
                }
                Report::Agent { report: AgentReport::AskClosed { ask }, .. } => {
                    open.retain(|known| known.id != *ask);
                }
                _ => {}
            }
        }
        open
    }

    /// Waits until the reports fulfil a condition. The caller bounds the wait.
    pub async fn when(&self, holds: impl Fn(&[String]) -> bool) -> Vec<String> {
        self.wait(|| self.reports(), holds).await
    }

    pub async fn when_with_source(&self, holds: impl Fn(&[String]) -> bool) -> Vec<String> {
        self.wait(|| self.with_source(), holds).await
    }

    /// Waits until there are so many reports, or a minute. With a paused clock the bound costs no time.
    pub async fn until(&self, count: usize) -> Vec<String> {
        let enough = self.when(|reports| reports.len() >= count);
        let _ = tokio::time::timeout(Duration::from_secs(60), enough).await;
        self.reports()
    }

    async fn wait(&self, read: impl Fn() -> Vec<String>, holds: impl Fn(&[String]) -> bool) -> Vec<String> {
        loop {
            let reported = self.reported.notified();
            let reports = read();
            if holds(&reports) {
                return reports;
            }
            reported.await;
        }
    }

    fn read_one(&self) -> Option<Report> {
        let mut collected = self.lock();
        let report = collected.all.get(collected.read).cloned()?;
        collected.read += 1;
        Some(report)
    }

    fn lock(&self) -> MutexGuard<'_, CollectedReports> {
        self.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn short_report(report: &AgentReport) -> String {
    match report {
        AgentReport::TurnBegan { cause: TurnCause::User { text, delivery: Some(delivery) }, .. }
            if text.is_empty() =>
        {
            format!("Taken {delivery}")
        }
        AgentReport::TurnBegan { cause: TurnCause::User { text, .. }, .. } => format!("Taken {text:?}"),
        AgentReport::TurnBegan { cause: TurnCause::Agent {}, .. } => "OwnTurn".to_owned(),
        AgentReport::TurnEnded { end } => match end {
            TurnEnd::Done {} => "TurnEnded Done".to_owned(),
            TurnEnd::Cancelled {} => "TurnEnded Cancelled".to_owned(),
            TurnEnd::Failed { why } => format!("TurnEnded Failed {why:?}"),
            TurnEnd::Limited { .. } => "TurnEnded Limited".to_owned(),
        },
        AgentReport::Reply { text } => format!("Reply {text:?}"),
        AgentReport::ToolCall(ToolCall { id, tool, state: CallState::Denied, .. }) => {
            format!("Denied {tool} {id}")
        }
        AgentReport::ToolCall(call) => format!("{:?} {:?}", call.state, call.summary()),
        AgentReport::Plan { steps } => format!("Plan {}", steps.len()),
        AgentReport::Usage { spend } => format!("Spent {:?}", spend.turns),
        AgentReport::Asked { ask } => format!("Asked {} {:?}", ask.id, ask.title),
        AgentReport::AskClosed { ask } => format!("AskClosed {ask}"),
    }
}
