//! Single requests to a shim: write, and show the screen.

use std::io::{self, ErrorKind};

use ao_ports::{ProcessRef, RuntimeError, Screen, WriteOrder, WriteOutcome};
use rustix::io::Errno;

use super::connection::ShimConnection;
use super::processes::SharedProcesses;
use super::protocol::{ShimMessage, ShimRequest};
use crate::host::AttemptDir;

pub(super) async fn write(
    shared: &SharedProcesses,
    order: &WriteOrder,
) -> Result<WriteOutcome, RuntimeError> {
    let attempt_dir = shared.find(&order.process)?;
    let wish = ShimRequest::Write { number: order.number };
    let ask = ask(&attempt_dir, &wish, &order.bytes);
    let said = match tokio::time::timeout(shared.options.write_wait, ask).await {
        Ok(said) => said,
        // The shim has the write, and a repeated write of this number waits for it instead of writing again.
        Err(_) => {
            return Err(RuntimeError::Failed(format!(
                "`{}` has not read what it was told for {} s",
                order.process,
                shared.options.write_wait.as_secs()
            )));
        }
    };
    match said.map_err(|err| unreachable(&attempt_dir, &order.process, &err))? {
        ShimMessage::Written { again: false } => Ok(WriteOutcome::Written),
        ShimMessage::Written { again: true } => Ok(WriteOutcome::AlreadyWritten),
        other => Err(refused(&order.process, other)),
    }
}

pub(super) async fn screen(shared: &SharedProcesses, process: &ProcessRef) -> Result<Screen, RuntimeError> {
    let attempt_dir = shared.find(process)?;
    let asked =
        tokio::time::timeout(shared.options.write_wait, ask(&attempt_dir, &ShimRequest::Screen, &[])).await;
    let said = asked.unwrap_or_else(|passed| Err(passed.into()));
    match said.map_err(|err| unreachable(&attempt_dir, process, &err))? {
        ShimMessage::Screen { screen } => Ok(screen),
        ShimMessage::Failed { .. } => {
            Err(super::processes::unable("show the screen of a process that has no terminal"))
        }
        other => Err(refused(process, other)),
    }
}

/// Sends one request and waits for the answer.
async fn ask(attempt_dir: &AttemptDir, ask: &ShimRequest, bytes: &[u8]) -> io::Result<ShimMessage> {
    let mut line = ShimConnection::to(attempt_dir.dir()).await?;
    line.ask(ask, bytes).await?;
    match line.hear().await? {
        Some((said, _)) => Ok(said),
        None => Err(ErrorKind::UnexpectedEof.into()),
    }
}

fn refused(process: &ProcessRef, said: ShimMessage) -> RuntimeError {
    match said {
        ShimMessage::Failed { why } => RuntimeError::Failed(format!("`{process}`: {why}")),
        other => {
            RuntimeError::Failed(format!("`{process}` gave an answer that was not asked for: {other:?}"))
        }
    }
}

/// Explains why a shim cannot be reached.
pub(super) fn unreachable(attempt_dir: &AttemptDir, process: &ProcessRef, err: &io::Error) -> RuntimeError {
    let why = match (attempt_dir.record(), attempt_dir.exit()) {
        (Ok(None), _) => "was never started".to_owned(),
        (_, Ok(Some(_))) => "has ended and reads nothing any more".to_owned(),
        // Nothing is wrong with the process.
        _ if matches!(Errno::from_io_error(err), Some(Errno::MFILE | Errno::NFILE)) => {
            format!("cannot be spoken to just now; raise the limit of open files ({err})")
        }
        _ => format!("has lost its shim and cannot be spoken to; end it and start it again ({err})"),
    };
    RuntimeError::Failed(format!("`{process}` {why}"))
}
