//! What goes into a process.

use std::io::ErrorKind;

use ao_ports::{RuntimeError, WriteOrder, WriteOutcome};
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;

use super::place::failed;
use super::processes::Shared;

pub(super) async fn write(shared: &Shared, order: &WriteOrder) -> Result<WriteOutcome, RuntimeError> {
    let place = shared.find(&order.process)?;
    let _turn = shared.turn(place.key).await;
    let known = |written: &mut std::collections::HashSet<u64>| written.contains(&order.number);
    if shared.written.lock().expect("nobody panics while counting").get_mut(&place.key).is_some_and(known) {
        return Ok(WriteOutcome::AlreadyWritten);
    }
    let path = place.stdin();
    // Fails at once if nobody has the other end open, which only the process and its children do.
    let mut sender = pipe::OpenOptions::new().open_sender(&path).map_err(|err| match err.kind() {
        ErrorKind::NotFound => RuntimeError::Failed(format!("`{}` was never started", order.process.0)),
        _ if err.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
            RuntimeError::Failed(format!("`{}` has ended and reads nothing any more", order.process.0))
        }
        _ => failed("open", &path, &err),
    })?;
    match tokio::time::timeout(shared.options.write_wait, sender.write_all(&order.bytes)).await {
        Ok(Ok(())) => {}
        Ok(Err(err)) => return Err(failed("write to", &path, &err)),
        Err(_) => {
            return Err(RuntimeError::Failed(format!(
                "`{}` has not read what it was told for {} s",
                order.process.0,
                shared.options.write_wait.as_secs()
            )));
        }
    }
    let mut written = shared.written.lock().expect("nobody panics while counting");
    written.entry(place.key).or_default().insert(order.number);
    Ok(WriteOutcome::Written)
}
