//! Reads the screen of an agent's terminal from tmux.

use ao_ports::{ProcessRef, RuntimeError, Screen};

use super::helper::TerminalModes;
use super::runtime::SharedTmux;
use crate::host::files::failed;
use crate::recording;

const STATE: &str = "#{cursor_y} #{cursor_x} #{pane_width} #{pane_height} #{alternate_on}";

pub(super) async fn screen(shared: &SharedTmux, process: &ProcessRef) -> Result<Screen, RuntimeError> {
    let (attempt_dir, pane) = shared.known(process)?;
    // Before the screen: output that arrives meanwhile is on it, and is read twice rather than missed.
    let dir = attempt_dir.output();
    let offset = recording::end(&dir).map_err(|err| failed("read", &dir, &err))?;
    let id = &pane.id;
    let commands = [format!("display-message -p -t {id} '{STATE}'"), format!("capture-pane -p -t {id}")];
    let reply = shared.control.ask(&commands).await?;
    if reply.server != pane.server {
        return Err(RuntimeError::Failed(format!("the screen of `{process}` went with its tmux server")));
    }
    let numbers: Option<Vec<u16>> = reply.line().split(' ').map(|word| word.parse().ok()).collect();
    let Some([row, column, columns, rows, alternate]) = numbers.as_deref() else {
        return Err(RuntimeError::Failed(format!("tmux described a screen oddly: `{}`", reply.line())));
    };
    let mut lines = reply.blocks.get(1).cloned().unwrap_or_default();
    lines.resize(usize::from(*rows), String::new());
    Ok(Screen {
        lines,
        cursor: (*row, *column),
        size: (*columns, *rows),
        offset,
        bracketed_paste: TerminalModes::read(attempt_dir.dir()).bracketed_paste,
        alternate: *alternate == 1,
        typed: shared.typed.lock().expect("no thread panics while noting").get(&attempt_dir.key).copied(),
    })
}
