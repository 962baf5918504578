//! Determines whether an agent is alive, and whether it is busy.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ao_core::input::ProcessLife;
use ao_ports::{CensusEntry, RuntimeError};

use super::{AttemptDir, AttemptKey, ProcessRecord};

/// The kernel counts processor time in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);
/// Below this share of one processor an agent counts as idle: event loops wake up now and then.
const BUSY: f64 = 0.03;
/// Wait before a second sample, if there is none from an earlier look.
const GLANCE: Duration = Duration::from_millis(100);

/// The processor time of each agent when it was last sampled.
#[derive(Default)]
pub(crate) struct CpuSamples {
    last: Mutex<HashMap<AttemptKey, (Instant, u64)>>,
}

impl CpuSamples {
    /// Compares with the last sample and stores this one.
    pub(crate) fn is_busy(&self, key: AttemptKey, used: u64) -> bool {
        let now = Instant::now();
        let last = self.last.lock().expect("no thread panics while counting").insert(key, (now, used));
        let Some((then, before)) = last else { return false };
        let worked = TICK * u32::try_from(used.saturating_sub(before)).unwrap_or(u32::MAX);
        worked.as_secs_f64() >= now.duration_since(then).as_secs_f64() * BUSY && !worked.is_zero()
    }

    pub(crate) fn forget(&self, key: AttemptKey) {
        self.last.lock().expect("no thread panics while counting").remove(&key);
    }

    fn has(&self, key: AttemptKey) -> bool {
        self.last.lock().expect("no thread panics while counting").contains_key(&key)
    }

    /// Looks at an agent, and once more if one sample cannot show whether it is busy.
    pub(crate) async fn look<F: Future<Output = ProcessLife>>(
        &self,
        key: AttemptKey,
        look: impl Fn() -> F,
    ) -> ProcessLife {
        // Checked first: the look itself stores a sample.
        let is_new = !self.has(key);
        match look().await {
            ProcessLife::Alive { .. } if is_new => {
                tokio::time::sleep(GLANCE).await;
                look().await
            }
            life => life,
        }
    }
}

/// Builds a census entry. A failed look counts as unknown, neither alive nor dead.
pub(crate) fn entry(
    runtime: &str,
    attempt_dir: &AttemptDir,
    record: Result<Option<ProcessRecord>, RuntimeError>,
    judged: Result<ProcessLife, RuntimeError>,
) -> CensusEntry {
    let (session, attempt) = attempt_dir.key;
    let life = judged.unwrap_or_else(|err| {
        tracing::warn!(%err, %session, %attempt, "cannot tell whether an agent lives");
        ProcessLife::Unknown
    });
    let lives = matches!(life, ProcessLife::Alive { .. } | ProcessLife::Unheld);
    let folder = record.ok().flatten().filter(|_| lives).and_then(|record| record.folder());
    CensusEntry { process: attempt_dir.process(runtime), session, attempt, life, folder }
}

#[cfg(test)]
mod tests {
    use ao_core::{Attempt, SessionId};

    use super::*;

    const KEY: AttemptKey = (SessionId(1), Attempt(1));

    #[tokio::test(start_paused = true)]
    async fn the_first_look_takes_two_readings_and_the_next_one() {
        let samples = CpuSamples::default();
        let looks = std::cell::Cell::new(0);
        let look = || {
            looks.set(looks.get() + 1);
            std::future::ready(ProcessLife::Alive { busy: samples.is_busy(KEY, 1000 * looks.get()) })
        };
        assert_eq!(samples.look(KEY, look).await, ProcessLife::Alive { busy: true });
        assert_eq!(looks.get(), 2);
        assert_eq!(samples.look(KEY, look).await, ProcessLife::Alive { busy: true });
        assert_eq!(looks.get(), 3);
        samples.forget(KEY);
        assert!(!samples.is_busy(KEY, 9000), "there is nothing to compare with");
    }
}
