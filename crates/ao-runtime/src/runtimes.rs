//! Several runtimes behind one, for callers that have a process and do not know where it runs.
//!
//! Agents are addressed in the same way wherever they run. So each process reference starts with the name of its
//! runtime, as in `tmux:…`, and every call goes to that runtime.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ao_core::input::{Counted, Life};
use ao_core::{Attempt, SessionId};
use ao_ports::{
    EndOrder, Output, ProcessRef, Runtime, RuntimeAbilities, RuntimeError, Screen, StartSpec, WriteOrder,
    WriteOutcome,
};
use async_trait::async_trait;

/// The available runtimes.
#[derive(Clone, Default)]
pub struct Runtimes {
    known: BTreeMap<String, Arc<dyn Runtime>>,
}

impl Runtimes {
    pub fn add(&mut self, name: &str, runtime: Arc<dyn Runtime>) {
        self.known.insert(name.to_owned(), Arc::new(PrefixedRuntime { name: name.to_owned(), runtime }));
    }

    /// Returns each runtime by its name, for callers that know which one they need.
    pub fn by_name(&self) -> BTreeMap<String, Arc<dyn Runtime>> {
        self.known.clone()
    }

    /// Returns the reference to the process of an attempt, whether or not it is alive. The output of an ended process
    /// is found by this.
    pub fn process(runtime: &str, session: SessionId, attempt: Attempt) -> ProcessRef {
        ProcessRef(format!("{runtime}:{session}/{attempt}"))
    }

    fn of(&self, process: &ProcessRef) -> Result<&dyn Runtime, RuntimeError> {
        let name = process.0.split_once(':').map(|(name, _)| name);
        name.and_then(|name| self.known.get(name)).map(|runtime| &**runtime).ok_or_else(|| stranger(process))
    }
}

/// Forwards every call to the runtime of the process. `start` is not possible here: the caller has to choose a runtime
/// by name.
#[async_trait]
impl Runtime for Runtimes {
    /// Returns the abilities that all of them have.
    fn abilities(&self) -> RuntimeAbilities {
        let of_each = self.known.values().map(|runtime| runtime.abilities());
        let common = of_each.reduce(|all, one| RuntimeAbilities {
            outlives_daemon: all.outlives_daemon && one.outlives_daemon,
            terminal: all.terminal && one.terminal,
            pipes: all.pipes && one.pipes,
            output: all.output && one.output,
            remembers_writes: all.remembers_writes && one.remembers_writes,
            shares_files: all.shares_files && one.shares_files,
        });
        common.unwrap_or_default()
    }

    async fn start(&self, spec: &StartSpec) -> Result<ProcessRef, RuntimeError> {
        Err(unable(&format!("choose a runtime for {}", spec.session)))
    }

    async fn write(&self, order: &WriteOrder) -> Result<WriteOutcome, RuntimeError> {
        self.of(&order.process)?.write(order).await
    }

    async fn output(
        &self,
        process: &ProcessRef,
        from: u64,
        limit: usize,
        wait: Duration,
    ) -> Result<Output, RuntimeError> {
        self.of(process)?.output(process, from, limit, wait).await
    }

    async fn log(
        &self,
        process: &ProcessRef,
        from: u64,
        limit: usize,
        wait: Duration,
    ) -> Result<Output, RuntimeError> {
        self.of(process)?.log(process, from, limit, wait).await
    }

    async fn screen(&self, process: &ProcessRef) -> Result<Screen, RuntimeError> {
        self.of(process)?.screen(process).await
    }

    async fn look(&self, process: &ProcessRef) -> Life {
        match self.of(process) {
            Ok(runtime) => runtime.look(process).await,
            Err(_) => Life::Unknown,
        }
    }

    async fn folder(&self, process: &ProcessRef) -> Option<String> {
        self.of(process).ok()?.folder(process).await
    }

    async fn census(&self) -> Result<Vec<Counted>, RuntimeError> {
        Err(unable("count what all runtimes run; ask each"))
    }

    async fn end(&self, order: &EndOrder) -> Result<(), RuntimeError> {
        match &order.process {
            Some(process) => self.of(process)?.end(order).await,
            None => Err(unable(&format!("find the runtime of {}", order.session))),
        }
    }
}

/// A runtime whose process references start with its name.
struct PrefixedRuntime {
    name: String,
    runtime: Arc<dyn Runtime>,
}

impl PrefixedRuntime {
    fn own(&self, process: &ProcessRef) -> Result<ProcessRef, RuntimeError> {
        let own = process.0.strip_prefix(&self.name).and_then(|rest| rest.strip_prefix(':'));
        own.map(|own| ProcessRef(own.to_owned())).ok_or_else(|| stranger(process))
    }
}

#[async_trait]
impl Runtime for PrefixedRuntime {
    fn abilities(&self) -> RuntimeAbilities {
        self.runtime.abilities()
    }

    async fn start(&self, spec: &StartSpec) -> Result<ProcessRef, RuntimeError> {
        let process = self.runtime.start(spec).await?;
        Ok(ProcessRef(format!("{}:{}", self.name, process.0)))
    }

    async fn write(&self, order: &WriteOrder) -> Result<WriteOutcome, RuntimeError> {
        let process = self.own(&order.process)?;
        self.runtime.write(&WriteOrder { process, ..order.clone() }).await
    }

    async fn output(
        &self,
        process: &ProcessRef,
        from: u64,
        limit: usize,
        wait: Duration,
    ) -> Result<Output, RuntimeError> {
        self.runtime.output(&self.own(process)?, from, limit, wait).await
    }

    async fn log(
        &self,
        process: &ProcessRef,
        from: u64,
        limit: usize,
        wait: Duration,
    ) -> Result<Output, RuntimeError> {
        self.runtime.log(&self.own(process)?, from, limit, wait).await
    }

    async fn screen(&self, process: &ProcessRef) -> Result<Screen, RuntimeError> {
        self.runtime.screen(&self.own(process)?).await
    }

    async fn look(&self, process: &ProcessRef) -> Life {
        match self.own(process) {
            Ok(process) => self.runtime.look(&process).await,
            Err(_) => Life::Unknown,
        }
    }

    async fn folder(&self, process: &ProcessRef) -> Option<String> {
        self.runtime.folder(&self.own(process).ok()?).await
    }

    async fn census(&self) -> Result<Vec<Counted>, RuntimeError> {
        self.runtime.census().await
    }

    async fn end(&self, order: &EndOrder) -> Result<(), RuntimeError> {
        let process = order.process.as_ref().map(|process| self.own(process)).transpose()?;
        self.runtime.end(&EndOrder { process, ..order.clone() }).await
    }
}

fn stranger(process: &ProcessRef) -> RuntimeError {
    RuntimeError::Failed(format!("`{}` is a process of no runtime here", process.0))
}

fn unable(wish: &str) -> RuntimeError {
    RuntimeError::Unable { runtime: "all".into(), wish: wish.to_owned() }
}

impl fmt::Debug for Runtimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.known.keys()).finish()
    }
}
