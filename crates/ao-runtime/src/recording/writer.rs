//! Records output.

use std::collections::VecDeque;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::PathBuf;

use super::{HEADER, Keyframe, OutputLimits, path, reader};

/// Appends output, and removes the oldest segments.
pub(crate) struct OutputWriter {
    dir: PathBuf,
    keep: OutputLimits,
    segments: VecDeque<OutputSegment>,
    /// The last segment. Absent after a failure, until a new one could be begun.
    file: Option<File>,
    offset: u64,
}

struct OutputSegment {
    start: u64,
    /// The offset of its bytes in the file.
    header: u64,
    bytes: u64,
    size: (u16, u16),
}

impl OutputWriter {
    /// Starts empty; leftovers of an earlier try are removed.
    pub(crate) fn new(dir: PathBuf, keep: OutputLimits) -> io::Result<OutputWriter> {
        match fs::remove_dir_all(&dir) {
            Err(err) if err.kind() != ErrorKind::NotFound => return Err(err),
            _ => {}
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
        Ok(OutputWriter { dir, keep, segments: VecDeque::new(), file: None, offset: 0 })
    }

    /// Continues where the last writer stopped.
    pub(crate) fn resume(dir: PathBuf, keep: OutputLimits) -> io::Result<OutputWriter> {
        DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
        let mut segments = VecDeque::new();
        for start in reader::starts(&dir)? {
            let (_, bytes, header) = reader::open(&dir, start)?;
            segments.push_back(OutputSegment { start, header, bytes, size: (0, 0) });
        }
        let offset = segments.back().map_or(0, |last| last.start + last.bytes);
        Ok(OutputWriter { dir, keep, segments, file: None, offset })
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the first offset that is recorded.
    pub(crate) fn first(&self) -> u64 {
        self.segments.front().map_or(self.offset, |segment| segment.start)
    }

    /// Returns true if the next bytes need a new segment.
    pub(crate) fn is_full(&self) -> bool {
        self.file.is_none() || self.segments.back().is_none_or(|last| last.bytes >= self.keep.segment)
    }

    /// Begins a new segment. One that has no bytes yet is replaced.
    pub(crate) fn cut(&mut self, keyframe: &Keyframe) -> io::Result<()> {
        self.file = None;
        if self.segments.back().is_some_and(|last| last.start == self.offset) {
            self.segments.pop_back();
        }
        let path = path(&self.dir, self.offset);
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        let mut header = Vec::with_capacity(HEADER as usize + keyframe.bytes.len());
        header.extend_from_slice(&(keyframe.bytes.len() as u32).to_le_bytes());
        header.extend_from_slice(&keyframe.size.0.to_le_bytes());
        header.extend_from_slice(&keyframe.size.1.to_le_bytes());
        header.extend_from_slice(&keyframe.bytes);
        if let Err(err) = file.write_all(&header) {
            let _ = fs::remove_file(&path);
            return Err(err);
        }
        self.segments.push_back(OutputSegment {
            start: self.offset,
            header: header.len() as u64,
            bytes: 0,
            size: keyframe.size,
        });
        self.file = Some(file);
        let size = |segment: &OutputSegment| segment.header + segment.bytes;
        // Leave room for the last one, or the total would be too large when it is full.
        while self.segments.len() > 1
            && self.segments.iter().map(size).sum::<u64>() + self.keep.segment > self.keep.total
        {
            let Some(oldest) = self.segments.pop_front() else { break };
            fs::remove_file(self::path(&self.dir, oldest.start))?;
        }
        Ok(())
    }

    /// Appends bytes. If they cannot be written, readers miss them, but they are counted.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = match (&mut self.file, self.segments.back_mut()) {
            (Some(file), Some(last)) => {
                let written = file.write_all(bytes);
                if written.is_ok() {
                    last.bytes += bytes.len() as u64;
                }
                written
            }
            _ => Err(ErrorKind::NotFound.into()),
        };
        self.offset += bytes.len() as u64;
        if written.is_err() {
            self.file = None;
        }
        written
    }

    /// Appends output of a program without a terminal state: segments begin with an empty keyframe.
    pub(crate) fn append_plain(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.is_full() && self.cut(&Keyframe::default()).is_err() {
            // The bytes cannot be written either, but they are counted.
            self.file = None;
        }
        self.append(bytes)
    }

    /// Reads from an offset to the end of the segment, at most as much as fits. `None` if it is not recorded.
    pub(crate) fn read(&self, from: u64, space: &mut [u8]) -> Option<usize> {
        let index = self.segments.partition_point(|segment| segment.start <= from).checked_sub(1)?;
        let segment = &self.segments[index];
        let within = from - segment.start;
        let count = usize::try_from(segment.bytes.checked_sub(within)?).ok()?.min(space.len());
        let is_last = index + 1 == self.segments.len();
        let opened;
        let file = match &self.file {
            Some(file) if is_last => file,
            _ => {
                opened = File::open(path(&self.dir, segment.start)).ok()?;
                &opened
            }
        };
        let count = file.read_at(&mut space[..count], segment.header + within).ok()?;
        (count > 0).then_some(count)
    }

    /// Returns the size of the terminal and a loader for the keyframe, if a segment begins at this offset.
    pub(crate) fn begins_at(&self, offset: u64) -> Option<((u16, u16), impl FnOnce() -> Option<Keyframe>)> {
        let segment = self.segments.iter().rev().find(|segment| segment.start == offset)?;
        Some((segment.size, move || reader::keyframe(&self.dir, offset).ok()))
    }

    /// Returns the start of the segment with at least `bytes` behind it, or of the first one.
    pub(crate) fn back(&self, bytes: u64) -> Option<(u64, Keyframe)> {
        let wanted = self.offset.saturating_sub(bytes);
        let index = self.segments.partition_point(|segment| segment.start <= wanted).saturating_sub(1);
        let start = self.segments.get(index)?.start;
        Some((start, reader::keyframe(&self.dir, start).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    const KEEP: OutputLimits = OutputLimits { segment: 1 << 10, total: 8 << 10 };

    #[test]
    fn recorded_output_is_bounded_and_has_no_gaps() {
        let dir = tempfile::tempdir().unwrap();
        let output = dir.path().join("output");
        let mut writer = OutputWriter::resume(output.clone(), KEEP).unwrap();
        let bytes: Vec<u8> = (0..251).cycle().take(103).collect();
        for _ in 0..120 {
            writer.append_plain(&bytes).unwrap();
        }
        let all = 120 * 103;
        let kept: u64 =
            fs::read_dir(&output).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
        assert!(kept <= KEEP.total + 103 && kept > KEEP.total - 2 * KEEP.segment, "{kept}");
        let mut from = 0;
        while from < all {
            let (piece, end) = read(&output, from, 71).unwrap();
            assert!(end == all && (piece.from == from || from == 0) && !piece.bytes.is_empty());
            for (index, byte) in piece.bytes.iter().enumerate() {
                assert_eq!(u64::from(*byte), (piece.from + index as u64) % 103 % 251);
            }
            from = piece.from + piece.bytes.len() as u64;
        }
        assert_eq!(from, all);
    }

    #[test]
    fn the_next_writer_goes_on_where_the_last_one_stopped() {
        let dir = tempfile::tempdir().unwrap();
        for word in ["one ", "two ", "", "three"] {
            OutputWriter::resume(dir.path().into(), KEEP).unwrap().append_plain(word.as_bytes()).unwrap();
        }
        let read = |from, limit| read(dir.path(), from, limit).unwrap();
        assert_eq!((read(2, 100).0.bytes, read(2, 100).1), (b"e two three".to_vec(), 13));
        assert_eq!(read(2, 4).0.bytes, b"e tw");
        assert_eq!(read(13, 4).0.bytes, b"");
        // Reading behind the end returns the end: this is how to ask for it.
        assert_eq!((read(u64::MAX, 4).0.from, read(14, 4).0.from), (13, 13));
    }

    #[test]
    fn unwritable_output_is_counted_and_skipped() {
        let dir = tempfile::tempdir().unwrap();
        let output = dir.path().join("output");
        let mut writer = OutputWriter::resume(output.clone(), KEEP).unwrap();
        writer.append_plain(b"one").unwrap();
        writer.file = None;
        fs::rename(&output, dir.path().join("aside")).unwrap();
        assert!(writer.append_plain(b"two").is_err());
        fs::rename(dir.path().join("aside"), &output).unwrap();
        writer.append_plain(b"three").unwrap();
        let (first, end) = read(&output, 0, 100).unwrap();
        assert_eq!((first.bytes, end), (b"one".to_vec(), 11));
        let (second, _) = read(&output, 3, 100).unwrap();
        assert_eq!((second.from, second.bytes), (6, b"three".to_vec()));
    }
}
