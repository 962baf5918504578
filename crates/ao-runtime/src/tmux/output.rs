//! Reads the output of an agent's terminal.

use std::time::Duration;

use ao_ports::{OutputPart, RuntimeError};

use super::runtime::SharedTmux;
use crate::host::files::failed;
use crate::host::output_wait::{self, OutputRequest};
use crate::host::{AttemptDir, EndState};
use crate::recording;

pub(super) async fn output(
    shared: &SharedTmux,
    attempt_dir: AttemptDir,
    from: u64,
    limit: usize,
    wait: Duration,
) -> Result<OutputPart, RuntimeError> {
    let wanted = OutputRequest {
        file_watcher: &shared.host.file_watcher,
        attempt_dir: &attempt_dir,
        dir: attempt_dir.output(),
        limit,
        wait,
    };
    output_wait::wait_for(wanted, || look(&attempt_dir, from, limit)).await
}

async fn look(attempt_dir: &AttemptDir, from: u64, limit: usize) -> Result<OutputPart, RuntimeError> {
    attempt_dir.aside(move |attempt_dir| read(attempt_dir, from, limit)).await
}

fn read(attempt_dir: &AttemptDir, from: u64, limit: usize) -> Result<OutputPart, RuntimeError> {
    // Checked first. The exit is recorded after all output, so a read after it gets everything.
    let has_ended = attempt_dir.exit()?.is_some() || attempt_dir.ending()? == Some(EndState::Done);
    let dir = attempt_dir.output();
    recording::output(&dir, from, limit, has_ended).map_err(|err| failed("read", &dir, &err))
}
