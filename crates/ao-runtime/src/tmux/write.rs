//! What goes into an agent's terminal.

use std::fmt::Write as _;

use ao_ports::{RuntimeError, WriteOrder, WriteOutcome};

use super::runtime::Shared;

pub(super) async fn write(shared: &Shared, order: &WriteOrder) -> Result<WriteOutcome, RuntimeError> {
    let (place, record) = shared.known(&order.process)?;
    let _turn = shared.turn(place.key).await;
    let ended =
        || RuntimeError::Failed(format!("`{}` has ended and reads nothing any more", order.process.0));
    if place.exit()?.is_some() || place.ending()?.is_some() {
        return Err(ended());
    }
    let pane = &record.pane;
    // Noted in tmux with the pane, and so forgotten with it. One for each number: numbers need not come in order.
    let note = format!("@ao_wrote_{}", order.number);
    let state =
        shared.control.ask(&[format!("display-message -p -t {pane} '#{{pane_dead}} #{{{note}}}'")]).await?;
    if state.server != record.server {
        return Err(ended());
    }
    match state.line().split_once(' ') {
        Some(("0", "")) => {}
        Some(("0", _)) => return Ok(WriteOutcome::AlreadyWritten),
        _ => return Err(ended()),
    }
    let mut commands = vec![
        // A person may have scrolled back; keys would then move about in there.
        format!("copy-mode -q -t {pane}"),
    ];
    if !order.bytes.is_empty() {
        let mut keys = format!("send-keys -H -t {pane}");
        order.bytes.iter().for_each(|byte| write!(keys, " {byte:02x}").expect("a string takes everything"));
        commands.push(keys);
    }
    commands.push(format!("set-option -p -t {pane} {note} 1"));
    // One line, which tmux has whole or not at all: the bytes and the note cannot come apart.
    shared.control.ask(&commands).await?;
    Ok(WriteOutcome::Written)
}
