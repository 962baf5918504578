//! Running effects: none runs twice at a time, and a lasting one is cancelled once it is no longer wanted.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ao_core::{Effect, EffectKey, Input, ProjectId, SessionId, Timestamp};
use ao_ports::Reporter;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tracing::{Instrument, field};

use crate::act;
use crate::slots::AdapterSet;

/// The time for which an agent's output is still read after its end.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// The result of an effect that has ended in any way.
pub(crate) type Done = Result<(Id, Vec<Input>), JoinError>;

/// The running effects.
#[derive(Default)]
pub(crate) struct Running {
    tasks: JoinSet<Vec<Input>>,
    under_way: HashMap<EffectKey, AbortHandle>,
    keys: HashMap<Id, EffectKey>,
    /// Lasting effects, by the session that wanted them.
    lasting: HashMap<SessionId, Vec<Lasting>>,
    farewells: JoinSet<()>,
}

/// A lasting effect that was started, even if it has ended since.
struct Lasting {
    key: EffectKey,
    task: AbortHandle,
}

impl Running {
    /// Starts an effect, unless it is running.
    pub(crate) fn begin(
        &mut self,
        effect: Effect,
        slots: Arc<AdapterSet>,
        now: Timestamp,
        timeout: Duration,
        reporter: Arc<dyn Reporter>,
    ) {
        let key = effect.key();
        if self.under_way.contains_key(&key) || self.has_lasted(&key) {
            return;
        }
        tracing::debug!(effect = %key, "effect begins");
        let span = tracing::info_span!("effect", effect = %key, session = key.session().map(field::display));
        let timed_out = key.clone();
        let act = async move {
            match tokio::time::timeout(timeout, act::run(effect, &slots, now, reporter)).await {
                Ok(inputs) => inputs,
                Err(_) => act::failed(timed_out, format!("it took longer than {} s", timeout.as_secs())),
            }
        };
        let task = self.tasks.spawn(act.instrument(span));
        self.keys.insert(task.id(), key.clone());
        self.under_way.insert(key.clone(), task.clone());
        if let Some(session) = key.lasts_for() {
            self.lasting.entry(session).or_default().push(Lasting { key, task });
        }
    }

    /// Returns whether a lasting effect is known, running or read to its end.
    fn has_lasted(&self, key: &EffectKey) -> bool {
        let known = key.lasts_for().and_then(|session| self.lasting.get(&session));
        known.is_some_and(|lasting| lasting.iter().any(|lasting| lasting.key == *key))
    }

    /// Cancels the lasting effects of a session that it no longer wants.
    pub(crate) fn break_off(&mut self, session: SessionId, wanted: &[Effect]) {
        while self.farewells.try_join_next().is_some() {}
        let Some(lasting) = self.lasting.get_mut(&session) else { return };
        for unwanted in lasting.extract_if(.., |known| !wanted.iter().any(|effect| effect.key() == known.key))
        {
            match unwanted.key {
                // The last output of the agent may still be under way.
                EffectKey::Follow { .. } if !unwanted.task.is_finished() => {
                    self.farewells.spawn(async move {
                        tokio::time::sleep(LAST_WORDS).await;
                        unwanted.task.abort();
                    });
                }
                _ => unwanted.task.abort(),
            }
        }
        if lasting.is_empty() {
            self.lasting.remove(&session);
        }
    }

    /// Cancels the tests of a project that no longer count: they would take machine time from those that do.
    pub(crate) fn abandon(&mut self, project: &ProjectId, counts: impl Fn(&EffectKey) -> bool) {
        let is_void = |key: &EffectKey| {
            matches!(key, EffectKey::TestMerge { pull, .. } if pull.project == *project) && !counts(key)
        };
        // Forgotten at once, so that the same test can start again before this one has ended.
        for (key, task) in self.under_way.extract_if(|key, _| is_void(key)) {
            tracing::debug!(effect = %key, "effect is broken off");
            task.abort();
        }
    }

    /// Waits for the next effect to end. Never returns while none is running.
    pub(crate) async fn next(&mut self) -> Option<Done> {
        self.tasks.join_next_with_id().await
    }

    pub(crate) fn try_next(&mut self) -> Option<Done> {
        self.tasks.try_join_next_with_id()
    }

    /// Returns the result of an effect as inputs. A panic is a failure like any other.
    pub(crate) fn finished(&mut self, done: Done) -> Vec<Input> {
        let id = match &done {
            Ok((id, _)) => *id,
            Err(err) => err.id(),
        };
        let key = self.keys.remove(&id);
        if let Some(key) = &key {
            if self.under_way.get(key).is_some_and(|task| task.id() == id) {
                self.under_way.remove(key);
            }
            // Only an effect that was followed to its end is known to have one. The others can be wanted again.
            let to_the_end = done.is_ok() && matches!(key, EffectKey::Follow { .. });
            if !to_the_end
                && let Some(lasting) = key.lasts_for().and_then(|session| self.lasting.get_mut(&session))
            {
                lasting.retain(|lasting| lasting.key != *key);
            }
        }
        match (done, key) {
            (Ok((_, inputs)), _) => inputs,
            (Err(err), Some(key)) if err.is_panic() => {
                let panic = err.into_panic();
                let why = panic
                    .downcast_ref::<&str>()
                    .map(|why| (*why).to_owned())
                    .or_else(|| panic.downcast_ref::<String>().cloned());
                act::failed(key, format!("it panicked: {}", why.unwrap_or_else(|| "no message".into())))
            }
            (Err(_), _) => vec![],
        }
    }

    /// Cancels everything. The next start wants it again.
    pub(crate) async fn shutdown(&mut self) {
        self.tasks.shutdown().await;
        self.farewells.shutdown().await;
    }
}
