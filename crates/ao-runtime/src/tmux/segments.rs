//! Output in files of bounded size, of which the oldest go.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const PREFIX: &str = "output-";
const SEGMENT: u64 = 1 << 20;
/// With the one that is being written.
const KEPT: usize = 8;
/// The most that one call reads, whatever it is asked for.
const READ_MOST: usize = 1 << 20;

/// Writes on where the last one stopped.
#[derive(Debug)]
pub(super) struct Writer {
    folder: PathBuf,
    file: File,
    size: u64,
    /// The offset behind the last byte.
    end: u64,
}

impl Writer {
    pub(super) fn open(folder: &Path) -> io::Result<Writer> {
        let end = end(folder)?;
        Ok(Writer { folder: folder.to_owned(), file: segment(folder, end)?, size: 0, end })
    }

    pub(super) fn append(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.size >= SEGMENT {
                self.file = segment(&self.folder, self.end)?;
                self.size = 0;
                let all = list(&self.folder)?;
                for (_, path) in all.iter().rev().skip(KEPT) {
                    fs::remove_file(path)?;
                }
            }
            let room = usize::try_from(SEGMENT - self.size).unwrap_or(usize::MAX).min(bytes.len());
            self.file.write_all(&bytes[..room])?;
            self.size += room as u64;
            self.end += room as u64;
            bytes = &bytes[room..];
        }
        Ok(())
    }
}

/// Reads from an offset on, or from the first that is kept. Returns where it begins, what there is, and whether that is
/// all.
pub(super) fn read(folder: &Path, from: u64, limit: usize) -> io::Result<(u64, Vec<u8>, bool)> {
    loop {
        match try_read(folder, from, limit) {
            // It was let go between the listing and the opening.
            Err(err) if err.kind() == ErrorKind::NotFound => {}
            read => return read,
        }
    }
}

fn try_read(folder: &Path, from: u64, limit: usize) -> io::Result<(u64, Vec<u8>, bool)> {
    let all = list(folder)?;
    let Some((first, _)) = all.first() else { return Ok((from, Vec::new(), true)) };
    let begin = from.max(*first);
    let limit = limit.min(READ_MOST);
    let mut bytes = Vec::new();
    let mut last = *first;
    for (index, (start, path)) in all.iter().enumerate() {
        let next = all.get(index + 1).map(|(start, _)| *start);
        if next.is_some_and(|next| next <= begin) {
            continue;
        }
        let file = File::open(path)?;
        last = start + file.metadata()?.len();
        let at = begin + bytes.len() as u64;
        let left = usize::try_from(last.saturating_sub(at)).unwrap_or(usize::MAX).min(limit - bytes.len());
        if left > 0 {
            let filled = bytes.len();
            bytes.resize(filled + left, 0);
            file.read_exact_at(&mut bytes[filled..], at - start)?;
        }
    }
    let whole = begin + bytes.len() as u64 >= last;
    Ok((begin, bytes, whole))
}

/// The offset behind the last byte.
pub(super) fn end(folder: &Path) -> io::Result<u64> {
    match list(folder)?.last() {
        Some((start, path)) => Ok(start + fs::metadata(path)?.len()),
        None => Ok(0),
    }
}

/// All of them with the offset of their first byte, in order.
fn list(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if let Some(start) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse().ok()) {
            all.push((start, entry.path()));
        }
    }
    all.sort_unstable();
    Ok(all)
}

fn segment(folder: &Path, start: u64) -> io::Result<File> {
    let path = folder.join(format!("{PREFIX}{start:020}"));
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_and_has_no_gaps() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = Writer::open(dir.path()).unwrap();
        let bytes: Vec<u8> = (0..251).cycle().take(100_003).collect();
        let mut all = 0;
        for _ in 0..120 {
            writer.append(&bytes).unwrap();
            all += bytes.len() as u64;
        }
        assert_eq!(end(dir.path()).unwrap(), all);
        let kept: u64 =
            list(dir.path()).unwrap().iter().map(|(_, path)| fs::metadata(path).unwrap().len()).sum();
        assert!(kept <= KEPT as u64 * SEGMENT && kept > (KEPT as u64 - 1) * SEGMENT);
        let (mut from, mut whole) = (0, false);
        while !whole {
            let (begin, piece, done) = read(dir.path(), from, 70_001).unwrap();
            assert!(begin == from || from == 0);
            for (index, byte) in piece.iter().enumerate() {
                assert_eq!(u64::from(*byte), (begin + index as u64) % 100_003 % 251);
            }
            (from, whole) = (begin + piece.len() as u64, done);
        }
        assert_eq!(from, all);
    }

    #[test]
    fn the_next_writer_goes_on_where_the_last_one_stopped() {
        let dir = tempfile::tempdir().unwrap();
        for word in ["one ", "two ", "", "three"] {
            Writer::open(dir.path()).unwrap().append(word.as_bytes()).unwrap();
        }
        assert_eq!(read(dir.path(), 2, 100).unwrap(), (2, b"e two three".to_vec(), true));
        assert_eq!(read(dir.path(), 2, 4).unwrap(), (2, b"e tw".to_vec(), false));
        assert_eq!(read(dir.path(), 13, 4).unwrap(), (13, vec![], true));
    }
}
