//! Writes to an agent's terminal.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ao_core::text::single_quoted;
use ao_ports::{RuntimeError, WriteOrder, WriteOutcome};

use super::noted_writes::{self, NotedWrites};
use super::runtime::SharedTmux;
use super::start::path_text;
use crate::host::files::failed;

/// Up to this many bytes are sent as keys. The command is parsed anew for each, which is slow for a long text.
const KEYS: usize = 64;

pub(super) async fn write(shared: &SharedTmux, order: &WriteOrder) -> Result<WriteOutcome, RuntimeError> {
    let (attempt_dir, pane) = shared.known(&order.process)?;
    if pane.without_input {
        let why = "was started without an input, so nothing can be written to it";
        return Err(RuntimeError::Failed(format!("`{}` {why}", order.process)));
    }
    let _turn = shared.host.turns.take(attempt_dir.key).await;
    let ended = || RuntimeError::Failed(format!("`{}` has ended and reads nothing any more", order.process));
    if attempt_dir.exit()?.is_some() || attempt_dir.ending()?.is_some() {
        return Err(ended());
    }
    let (server, pane) = (&pane.server, &pane.id);
    let note = noted_writes::note(order.number);
    // Removed while it is in use: if this is cancelled, tmux is asked.
    let known = shared.wrote.lock().expect("no thread panics while looking one up").remove(&attempt_dir.key);
    let mut state = vec![
        format!("display-message -p -t {pane} '#{{pane_dead}} #{{{note}}}'"),
        "list-commands -F '#{command_list_usage}' paste-buffer".to_owned(),
    ];
    if known.is_none() {
        state.push(NotedWrites::question(pane));
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
    let mut wrote = known.unwrap_or_else(|| NotedWrites::of(state.blocks.get(2).map_or(&[], Vec::as_slice)));
    // A person may have scrolled back; keys would then move in copy mode.
    let mut commands = vec![format!("copy-mode -q -t {pane}")];
    let mut text = None;
    if order.bytes.len() > KEYS {
        let file = TextFile::new(attempt_dir.dir(), &order.bytes)?;
        let usage = state.blocks.get(1).and_then(|lines| lines.first()).map_or("", String::as_str);
        commands.extend(file.paste(pane, usage)?);
        text = Some(file);
    } else if !order.bytes.is_empty() {
        commands.push(keys(pane, &order.bytes));
    }
    commands.extend(wrote.add(pane, order.number));
    // One line, which tmux gets whole or not at all: the bytes and the note cannot be separated.
    shared.control.ask(&commands).await?;
    shared.wrote.lock().expect("no thread panics while noting").insert(attempt_dir.key, wrote);
    drop(text);
    Ok(WriteOutcome::Written)
}

fn keys(pane: &str, bytes: &[u8]) -> String {
    let mut keys = format!("send-keys -H -t {pane}");
    bytes.iter().for_each(|byte| write!(keys, " {byte:02x}").expect("a string takes everything"));
    keys
}

/// A file with a long text, which tmux reads: not every byte can be expressed in its command language.
struct TextFile(PathBuf);

impl TextFile {
    fn new(attempt_dir: &Path, bytes: &[u8]) -> Result<TextFile, RuntimeError> {
        let path = attempt_dir.join("text");
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
        // Each pane has its own buffer. File names are formats, in which `#` is special.
        let buffer = format!("ao_{}", pane.trim_start_matches('%'));
        let path = single_quoted(&path_text(&self.0)?.replace('#', "##"));
        // Raw: without changes to line ends, and, from 3.7 on, to control bytes.
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

/// Returns true if a command takes a flag, by its usage: `[-dprS] [-b buffer-name] …`.
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
