//! What an agent's terminal shows, by tmux's reading.

use ao_ports::{ProcessRef, RuntimeError, Screen};

use super::helper::Modes;
use super::runtime::Shared;
use crate::host::files::failed;
use crate::kept;

const STATE: &str = "#{cursor_y} #{cursor_x} #{pane_width} #{pane_height} #{alternate_on}";

pub(super) async fn screen(shared: &Shared, process: &ProcessRef) -> Result<Screen, RuntimeError> {
    let (place, pane) = shared.known(process)?;
    // Before the rest: what comes meanwhile is shown, and read again rather than not at all.
    let dir = place.output();
    let offset = kept::end(&dir).map_err(|err| failed("read", &dir, &err))?;
    let id = &pane.id;
    let commands = [format!("display-message -p -t {id} '{STATE}'"), format!("capture-pane -p -t {id}")];
    let reply = shared.control.ask(&commands).await?;
    if reply.server != pane.server {
        return Err(RuntimeError::Failed(format!("the screen of `{}` went with its tmux server", process.0)));
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
        bracketed_paste: Modes::read(place.dir()).bracketed_paste,
        alternate: *alternate == 1,
        typed: shared.typed.lock().expect("nobody panics while noting").get(&place.key).copied(),
    })
}
