//! A log that can be read while it grows, and whose size is bounded.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ao_process::{Redactor, secrets};

use super::tail;

/// The output of commands, with secrets masked. Starts empty each time it is opened.
#[derive(Debug)]
pub(super) struct SetupLog {
    file: File,
    path: PathBuf,
    limit: u64,
    size: u64,
    /// The number of bytes cut out of the middle.
    cut: u64,
    redactor: Redactor,
    end: Vec<u8>,
}

impl SetupLog {
    pub(super) fn create(path: &Path, limit: u64) -> io::Result<SetupLog> {
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        // Truncated and not replaced, so that a reader that follows the file sees the new beginning.
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(path)?;
        file.set_permissions(PermissionsExt::from_mode(0o600))?;
        let redactor = Redactor::of_known();
        Ok(SetupLog { file, path: path.to_owned(), limit, size: 0, cut: 0, redactor, end: vec![] })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Logs output of a command.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let shown = self.redactor.push(bytes);
        self.append(&shown)
    }

    /// Adds a line of our own.
    pub(super) fn say(&mut self, line: &str) -> io::Result<()> {
        let held = self.redactor.finish();
        self.append(&held)?;
        let gap = if matches!(self.end.last(), None | Some(b'\n')) { "" } else { "\n" };
        let line = format!("{gap}{}\n", secrets::known().mask(line));
        self.append(line.as_bytes())
    }

    /// Returns the last lines, as plain text.
    pub(super) fn tail(&self) -> String {
        tail::plain(&self.end)
    }

    // Written directly and not by another thread: these are small writes to a local file, which only reach the page
    // cache.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.size += bytes.len() as u64;
        self.end.extend_from_slice(bytes);
        let surplus = self.end.len().saturating_sub(tail::BYTES);
        self.end.drain(..surplus);
        if self.size > self.limit { self.cut_middle() } else { Ok(()) }
    }

    /// Keeps the first and the last quarter of the limit, so that the next cut is half a log away.
    fn cut_middle(&mut self) -> io::Result<()> {
        let quarter = self.limit / 4;
        let mut last = Vec::new();
        self.file.seek(SeekFrom::End(-(quarter as i64)))?;
        self.file.read_to_end(&mut last)?;
        self.cut += self.size - 2 * quarter;
        let note = format!("\n[ao: about {} KiB were left out here]\n", self.cut >> 10);
        self.file.seek(SeekFrom::Start(quarter))?;
        self.file.write_all(note.as_bytes())?;
        self.file.write_all(&last)?;
        self.size = self.file.stream_position()?;
        self.file.set_len(self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_middle_is_cut_out_and_both_ends_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ses_1/setup.log");
        let mut log = SetupLog::create(&path, 4096).unwrap();
        for line in 0..10_000 {
            log.write(format!("line {line}\n").as_bytes()).unwrap();
            assert!(fs::metadata(&path).unwrap().len() <= 4096);
        }
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("line 0\nline 1\n") && text.ends_with("line 9998\nline 9999\n"), "{text}");
        assert_eq!(text.matches("were left out here").count(), 1, "{text}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(log.tail().lines().count(), 40);
    }

    #[test]
    fn our_own_lines_start_on_a_new_line_and_mask_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("setup.log");
        let mut log = SetupLog::create(&path, 4096).unwrap();
        secrets::learn([("KEY".to_owned(), b"hunter2hunter2".to_vec())]);
        log.write(b"key: hunter2").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "key: ", "what may be a secret waits");
        log.write(b"hunter2, and hunter").unwrap();
        log.say("[`hunter2hunter2` ended]").unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "key: [secret KEY], and hunter\n[`[secret KEY]` ended]\n"
        );
    }
}
