//! The runtime in memory keeps those promises of the port that tests rely on.

use std::sync::Arc;

use ao_ports::{ProcessIo, Reporter, Runtime};
use ao_testkit::contract::runtime::RuntimeBench;
use ao_testkit::pty::PtyRuntime;
use async_trait::async_trait;

/// Survives what a story takes for a restart of the daemon: it is one and the same.
struct InMemory(Arc<PtyRuntime>);

#[async_trait]
impl RuntimeBench for InMemory {
    async fn open(&self, _: Arc<dyn Reporter>) -> Arc<dyn Runtime> {
        self.0.clone()
    }

    fn io(&self) -> ProcessIo {
        ProcessIo::Terminal
    }
}

ao_testkit::runtime_contract!(super::pty_contract::InMemory(Arc::default()); [
    a_second_start_returns_the_same_process,
    a_start_after_a_restart_returns_the_same_process,
    a_program_starts_in_its_folder,
    a_write_arrives_once_for_each_number,
    output_is_read_by_offset_and_limit,
    who_waits_for_output_is_woken_by_it_and_by_the_end,
    a_screen_shows_what_a_person_would_see,
    what_is_not_known_is_not_dead,
    a_reference_is_the_same_wherever_it_comes_from,
    a_reference_of_another_runtime_is_refused,
]);
