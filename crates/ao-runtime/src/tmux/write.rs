//! What goes into an agent's terminal.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ao_ports::{RuntimeError, WriteOrder, WriteOutcome};

use super::names::quoted;
use super::runtime::Shared;
use super::start::path_text;
use super::wrote::{self, Wrote};
use crate::host::files::failed;

/// Up to so many bytes go as keys. For each the command is parsed anew, which is slow for a long text.
const KEYS: usize = 64;

pub(super) async fn write(shared: &Shared, order: &WriteOrder) -> Result<WriteOutcome, RuntimeError> {
    let (place, pane) = shared.known(&order.process)?;
    if pane.without_input {
        let why = "was started without an input, so nothing can be written to it";
        return Err(RuntimeError::Failed(format!("`{}` {why}", order.process.0)));
    }
    let _turn = shared.turns.take(place.key).await;
    let ended =
        || RuntimeError::Failed(format!("`{}` has ended and reads nothing any more", order.process.0));
    if place.exit()?.is_some() || place.ending()?.is_some() {
        return Err(ended());
    }
    let (server, pane) = (&pane.server, &pane.id);
    let note = wrote::note(order.number);
    // Taken away while something is done with it: if that is cut off, tmux is asked.
    let known = shared.wrote.lock().expect("nobody panics while looking one up").remove(&place.key);
    let mut state = vec![
        format!("display-message -p -t {pane} '#{{pane_dead}} #{{{note}}}'"),
        "list-commands -F '#{command_list_usage}' paste-buffer".to_owned(),
    ];
    if known.is_none() {
        state.push(Wrote::question(pane));
    }
    let state = shared.control.ask(&state).await?;
    if state.server != *server {
        return Err(ended());
    }
    match state.line().split_once(' ') {
        Some(("0", "")) => {}
        Some(("0", _)) => return Ok(WriteOutcome::AlreadyWritten),
        _ => return Err(ended()),
    }
    let mut wrote = known.unwrap_or_else(|| Wrote::of(state.blocks.get(2).map_or(&[], Vec::as_slice)));
    // A person may have scrolled back; keys would then move about in there.
    let mut commands = vec![format!("copy-mode -q -t {pane}")];
    let mut text = None;
    if order.bytes.len() > KEYS {
        let file = TextFile::new(place.dir(), &order.bytes)?;
        let usage = state.blocks.get(1).and_then(|lines| lines.first()).map_or("", String::as_str);
        commands.extend(file.paste(pane, usage)?);
        text = Some(file);
    } else if !order.bytes.is_empty() {
        commands.push(keys(pane, &order.bytes));
    }
    commands.extend(wrote.add(pane, order.number));
    // One line, which tmux has whole or not at all: the bytes and the note cannot come apart.
    shared.control.ask(&commands).await?;
    shared.wrote.lock().expect("nobody panics while noting").insert(place.key, wrote);
    drop(text);
    Ok(WriteOutcome::Written)
}

fn keys(pane: &str, bytes: &[u8]) -> String {
    let mut keys = format!("send-keys -H -t {pane}");
    bytes.iter().for_each(|byte| write!(keys, " {byte:02x}").expect("a string takes everything"));
    keys
}

/// A long text on its way to tmux, which reads it from here: not every byte can be said in its language.
struct TextFile(PathBuf);

impl TextFile {
    fn new(place: &Path, bytes: &[u8]) -> Result<TextFile, RuntimeError> {
        let path = place.join("text");
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| file.write_all(bytes))
            .map_err(|err| failed("write", &path, &err))?;
        Ok(TextFile(path))
    }

    fn paste(&self, pane: &str, usage: &str) -> Result<[String; 2], RuntimeError> {
        // Each pane has a buffer of its own. Names of files are formats, in which this sign is special.
        let buffer = format!("ao_{}", pane.trim_start_matches('%'));
        let path = quoted(&path_text(&self.0)?.replace('#', "##"));
        // As it is: without changes to line ends, and, from 3.7 on, to control bytes.
        let raw = if takes(usage, 'S') { "-S -r" } else { "-r" };
        Ok([
            format!("load-buffer -b {buffer} {path}"),
            format!("paste-buffer -d {raw} -b {buffer} -t {pane}"),
        ])
    }
}

impl Drop for TextFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Whether a command takes a flag, by its usage: `[-dprS] [-b buffer-name] …`.
fn takes(usage: &str, flag: char) -> bool {
    let flags = usage.trim_start().strip_prefix("[-").and_then(|rest| rest.split(']').next());
    flags.is_some_and(|flags| flags.contains(flag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_from_the_usage() {
        assert!(takes("[-dprS] [-s separator] [-b buffer-name]", 'S'));
        assert!(!takes("[-dpr] [-s separator] [-S x]", 'S'));
        assert!(!takes("", 'S'));
    }
}
