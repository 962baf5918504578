//! Reports of adapters, collected for a test.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ao_core::evidence::Signal;
use ao_ports::{AgentReport, Reporter};
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
    all: Vec<AgentReport>,
    /// Number of reports that [`ReportLog::next`] and [`ReportLog::unread`] have returned.
    read: usize,
}

#[async_trait]
impl Reporter for ReportLog {
    async fn report(&self, report: AgentReport) {
        self.lock().all.push(report);
        self.reported.notify_waiters();
    }
}

impl ReportLog {
    /// Waits for the next report.
    pub async fn next(&self) -> AgentReport {
        loop {
            let reported = self.reported.notified();
            if let Some(report) = self.read_one() {
                return report;
            }
            reported.await;
        }
    }

    /// Returns the reports that were not read yet.
    pub fn unread(&self) -> Vec<AgentReport> {
        std::iter::from_fn(|| self.read_one()).collect()
    }

    /// Returns a short form of all reports.
    pub fn reports(&self) -> Vec<String> {
        let short = |report: &AgentReport| match report {
            AgentReport::Signal { signal, .. } => format!("{:?}", signal.reading),
            AgentReport::Taken { text, .. } => format!("Taken {text:?}"),
            AgentReport::Flooding { .. } => "Flooding".to_owned(),
            AgentReport::Denied { call, tool, .. } => format!("Denied {tool} {call}"),
            AgentReport::Conversation { conversation, .. } => format!("Conversation {conversation}"),
            AgentReport::ConversationGone { .. } => "ConversationGone".into(),
            AgentReport::LastWords { text, .. } => format!("LastWords {text:?}"),
            AgentReport::Spent { spend, .. } => format!("Spent {:?}", spend.turns),
        };
        self.lock().all.iter().map(short).collect()
    }

    pub fn signals(&self) -> Vec<Signal> {
        let signal = |report: &AgentReport| match report {
            AgentReport::Signal { signal, .. } => Some(signal.clone()),
            _ => None,
        };
        self.lock().all.iter().filter_map(signal).collect()
    }

    /// Returns the readings of all signals, each with its source.
    pub fn with_source(&self) -> Vec<String> {
        self.signals().iter().map(|signal| format!("{:?} {:?}", signal.source, signal.reading)).collect()
    }

    /// Returns the names of the reported turns.
    pub fn turns(&self) -> Vec<String> {
        let turn = |report: &AgentReport| match report {
            AgentReport::Taken { turn, .. } => Some(turn.clone()),
            _ => None,
        };
        self.lock().all.iter().filter_map(turn).collect()
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

    fn read_one(&self) -> Option<AgentReport> {
        let mut collected = self.lock();
        let report = collected.all.get(collected.read).cloned()?;
        collected.read += 1;
        Some(report)
    }

    fn lock(&self) -> MutexGuard<'_, CollectedReports> {
        self.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
