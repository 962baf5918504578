//! What is asked of a shim now and then: to write, and to show the screen.

use std::io::{self, ErrorKind};

use ao_ports::{ProcessRef, RuntimeError, Screen, WriteOrder, WriteOutcome};
use rustix::io::Errno;

use super::line::Line;
use super::processes::Shared;
use super::protocol::{Ask, Say};
use crate::host::Place;

pub(super) async fn write(shared: &Shared, order: &WriteOrder) -> Result<WriteOutcome, RuntimeError> {
    let place = shared.find(&order.process)?;
    let wish = Ask::Write { number: order.number };
    let ask = ask(&place, &wish, &order.bytes);
    let said = match tokio::time::timeout(shared.options.write_wait, ask).await {
        Ok(said) => said,
        // It is in the shim's hands, and a repeated write of this number waits for it instead of writing.
        Err(_) => {
            return Err(RuntimeError::Failed(format!(
                "`{}` has not read what it was told for {} s",
                order.process.0,
                shared.options.write_wait.as_secs()
            )));
        }
    };
    match said.map_err(|err| unreachable(&place, &order.process, &err))? {
        Say::Written { again: false } => Ok(WriteOutcome::Written),
        Say::Written { again: true } => Ok(WriteOutcome::AlreadyWritten),
        other => Err(refused(&order.process, other)),
    }
}

pub(super) async fn screen(shared: &Shared, process: &ProcessRef) -> Result<Screen, RuntimeError> {
    let place = shared.find(process)?;
    let asked = tokio::time::timeout(shared.options.write_wait, ask(&place, &Ask::Screen, &[])).await;
    let said = asked.unwrap_or_else(|passed| Err(passed.into()));
    match said.map_err(|err| unreachable(&place, process, &err))? {
        Say::Screen { screen } => Ok(screen),
        Say::Failed { .. } => {
            Err(super::processes::unable("show the screen of a process that has no terminal"))
        }
        other => Err(refused(process, other)),
    }
}

/// Asks one thing and waits for the answer.
async fn ask(place: &Place, ask: &Ask, bytes: &[u8]) -> io::Result<Say> {
    let mut line = Line::to(place.dir()).await?;
    line.ask(ask, bytes).await?;
    match line.hear().await? {
        Some((said, _)) => Ok(said),
        None => Err(ErrorKind::UnexpectedEof.into()),
    }
}

fn refused(process: &ProcessRef, said: Say) -> RuntimeError {
    match said {
        Say::Failed { why } => RuntimeError::Failed(format!("`{}`: {why}", process.0)),
        other => {
            RuntimeError::Failed(format!("`{}` gave an answer that was not asked for: {other:?}", process.0))
        }
    }
}

/// Why a shim could not be spoken to, in words that help.
pub(super) fn unreachable(place: &Place, process: &ProcessRef, err: &io::Error) -> RuntimeError {
    let why = match (place.record(), place.exit()) {
        (Ok(None), _) => "was never started".to_owned(),
        (_, Ok(Some(_))) => "has ended and reads nothing any more".to_owned(),
        // Nothing is wrong with the process.
        _ if matches!(Errno::from_io_error(err), Some(Errno::MFILE | Errno::NFILE)) => {
            format!("cannot be spoken to just now; raise the limit of open files ({err})")
        }
        _ => format!("has lost its shim and cannot be spoken to; end it and start it again ({err})"),
    };
    RuntimeError::Failed(format!("`{}` {why}", process.0))
}
