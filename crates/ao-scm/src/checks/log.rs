//! The output of a run: can be followed while it grows, has secrets masked, and is bounded in size.
//!
//! ```text
//!  the file     beginning │ a line that counts the omitted bytes │ end
//!  offsets      0 … head  │ (none)                               │ head + cut … total
//! ```
//!
//! Readers use offsets in the complete output, so an offset stays valid when the middle is cut out. The part that was
//! cut reads as the line that counts it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::Mutex;

use ao_process::{Redactor, secrets};
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// Smallest size limit: a smaller log would have no room for useful output.
const SMALLEST: u64 = 4 << 10;

/// The part that was cut out of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct LogCut {
    /// Offset of the cut.
    pub(super) head: u64,
    /// Length of the cut; 0 if there is none.
    pub(super) cut: u64,
}

/// A piece of a log, and the offset after it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LogChunk {
    pub(super) bytes: Vec<u8>,
    pub(super) next: u64,
    /// True if the piece reaches the current end.
    pub(super) last: bool,
}

/// A log that is being written.
#[derive(Debug)]
pub(super) struct RunLog {
    path: Utf8PathBuf,
    limit: u64,
    /// Locked for a write or a read of the file: neither may overlap with a cut.
    inner: Mutex<LogFile>,
    /// Number of writes so far.
    grown: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct LogFile {
    /// Absent before the first output.
    file: Option<File>,
    size: u64,
    shape: LogCut,
    /// True if the last byte did not end a line.
    in_line: bool,
    redactor: Redactor,
}

impl RunLog {
    pub(super) fn new(path: Utf8PathBuf, limit: u64) -> RunLog {
        let grown = watch::Sender::new(0);
        let inner = Mutex::new(LogFile { redactor: Redactor::of_known(), ..LogFile::default() });
        RunLog { path, limit: limit.max(SMALLEST), inner, grown }
    }

    pub(super) fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// Creates the file, so that a reader who has its path finds it.
    pub(super) fn begin(&self) -> io::Result<()> {
        let mut inner = self.lock();
        if inner.file.is_none() {
            let mut open = OpenOptions::new();
            let file =
                open.read(true).write(true).create(true).truncate(true).mode(0o600).open(&self.path)?;
            inner.file = Some(file);
        }
        Ok(())
    }

    /// Appends output of the command.
    // Written in place and not by another thread: these are small writes to a local file, which the kernel buffers.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut inner = self.lock();
        let shown = inner.redactor.push(bytes);
        inner.append(&shown, self.limit)?;
        drop(inner);
        self.wake();
        Ok(())
    }

    /// Adds a line of our own.
    pub(super) fn add_line(&self, line: &str) -> io::Result<()> {
        let mut inner = self.lock();
        let held = inner.redactor.finish();
        inner.append(&held, self.limit)?;
        let mut shown = if inner.in_line { b"\n".to_vec() } else { vec![] };
        shown.extend_from_slice(secrets::known().mask(&format!("[ao: {line}]\n")).as_bytes());
        inner.append(&shown, self.limit)?;
        drop(inner);
        self.wake();
        Ok(())
    }

    /// Writes bytes that the redactor held back, because no more output follows.
    pub(super) fn flush(&self) -> io::Result<()> {
        let mut inner = self.lock();
        let held = inner.redactor.finish();
        inner.append(&held, self.limit)
    }

    /// Wakes readers that follow the log.
    pub(super) fn wake(&self) {
        self.grown.send_modify(|times| *times += 1);
    }

    /// Returns a receiver that is notified of every later write.
    pub(super) fn follow(&self) -> watch::Receiver<u64> {
        self.grown.subscribe()
    }

    pub(super) fn shape(&self) -> LogCut {
        self.lock().shape
    }

    pub(super) fn read(&self, from: u64, limit: u64) -> io::Result<LogChunk> {
        let inner = self.lock();
        match &inner.file {
            Some(file) => read(file, inner.size, inner.shape, from, limit),
            None => Ok(LogChunk { bytes: vec![], next: from, last: true }),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, LogFile> {
        self.inner.lock().expect("no panic while writing")
    }
}

impl LogFile {
    fn append(&mut self, bytes: &[u8], limit: u64) -> io::Result<()> {
        let Some(last) = bytes.last() else { return Ok(()) };
        let Some(file) = &mut self.file else { return Ok(()) };
        file.write_all(bytes)?;
        self.in_line = *last != b'\n';
        self.size += bytes.len() as u64;
        if self.size > limit { self.cut_middle(limit / 4) } else { Ok(()) }
    }

    /// Keeps the first and the last quarter of the limit, so that the next cut is half a log away.
    fn cut_middle(&mut self, quarter: u64) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut last = vec![0; quarter as usize];
        file.read_exact_at(&mut last, self.size - quarter)?;
        let note = note(self.shape).len() as u64;
        self.shape = LogCut { head: quarter, cut: self.shape.cut + self.size - note - 2 * quarter };
        let middle = self::note(self.shape);
        file.write_all_at(middle.as_bytes(), quarter)?;
        file.write_all_at(&last, quarter + middle.len() as u64)?;
        self.size = 2 * quarter + middle.len() as u64;
        file.set_len(self.size)?;
        io::Seek::seek(file, io::SeekFrom::Start(self.size))?;
        Ok(())
    }
}

/// Reads a log that is complete.
pub(super) fn read_ended(path: &Utf8Path, shape: LogCut, from: u64, limit: u64) -> io::Result<LogChunk> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    read(&file, size, shape, from, limit)
}

fn read(file: &File, size: u64, shape: LogCut, from: u64, limit: u64) -> io::Result<LogChunk> {
    let note = note(shape);
    let (behind, total) = (shape.head + shape.cut, size.saturating_sub(note.len() as u64) + shape.cut);
    if shape.cut > 0 && (shape.head..behind).contains(&from) {
        return Ok(LogChunk { bytes: note.into_bytes(), next: behind, last: behind >= total });
    }
    let (place, end) = match shape.cut > 0 && from >= behind {
        true => (from - shape.cut + note.len() as u64, total),
        false => (from, if shape.cut > 0 { shape.head } else { total }),
    };
    let mut bytes = vec![0; limit.min(end.saturating_sub(from)) as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], place + filled as u64)? {
            // The file is shorter than recorded; return what there is.
            0 => break,
            read => filled += read,
        }
    }
    let last = filled < bytes.len() || from + filled as u64 >= total;
    bytes.truncate(filled);
    let next = from + bytes.len() as u64;
    Ok(LogChunk { bytes, next, last })
}

fn note(shape: LogCut) -> String {
    match shape.cut {
        0 => String::new(),
        cut => format!("\n[ao: {cut} bytes were left out here]\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(limit: u64) -> (tempfile::TempDir, RunLog) {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(folder.path().join("run_1.log")).unwrap();
        let log = RunLog::new(path, limit);
        log.begin().unwrap();
        (folder, log)
    }

    #[test]
    fn the_middle_is_cut_out_and_both_ends_stay() {
        let (_folder, log) = log(4096);
        for line in 0..10_000 {
            log.write(format!("line {line}\n").as_bytes()).unwrap();
        }
        let text = std::fs::read_to_string(log.path()).unwrap();
        assert!(text.len() <= 4096, "{}", text.len());
        assert!(text.starts_with("line 0\nline 1\n") && text.ends_with("line 9998\nline 9999\n"), "{text}");
        assert_eq!(text.matches("were left out here").count(), 1, "{text}");
    }

    #[test]
    fn a_reader_that_follows_sees_every_byte_before_the_cut() {
        let (_folder, log) = log(4096);
        let (mut from, mut seen, mut whole) = (0, Vec::new(), Vec::new());
        for line in 0..3_000 {
            let text = format!("line {line}\n");
            whole.extend_from_slice(text.as_bytes());
            log.write(text.as_bytes()).unwrap();
            loop {
                let piece = log.read(from, 7).unwrap();
                seen.extend(piece.bytes);
                from = piece.next;
                if piece.last {
                    break;
                }
            }
        }
        assert_eq!(seen, whole);
        let ended = read_ended(log.path(), log.shape(), from - 10, 100).unwrap();
        assert_eq!(ended, LogChunk { bytes: b"line 2999\n".to_vec(), next: from, last: true });
    }

    #[test]
    fn a_late_reader_sees_how_much_was_cut() {
        let (_folder, log) = log(4096);
        log.write("0123456789abcde\n".repeat(1_000).as_bytes()).unwrap();
        let (mut from, mut seen) = (0, Vec::new());
        loop {
            let piece = read_ended(log.path(), log.shape(), from, 1_000).unwrap();
            seen.extend(piece.bytes);
            from = piece.next;
            if piece.last {
                break;
            }
        }
        assert_eq!(seen, std::fs::read(log.path()).unwrap());
        assert_eq!(from, 16_000, "places are those of the whole output");
        let behind = log.read(99_999, 10).unwrap();
        assert_eq!((behind.bytes.len(), behind.next), (0, 99_999));
    }

    #[test]
    fn secrets_stay_out_of_the_file_and_of_our_own_lines() {
        let (_folder, log) = log(4096);
        secrets::learn([("KEY".to_owned(), b"hunter2hunter2".to_vec())]);
        log.write(b"key: hunter2").unwrap();
        log.write(b"hunter2, and hunter").unwrap();
        log.add_line("`hunter2hunter2` ended").unwrap();
        let text = std::fs::read_to_string(log.path()).unwrap();
        assert_eq!(text, "key: [secret KEY], and hunter\n[ao: `[secret KEY]` ended]\n");
    }
}
