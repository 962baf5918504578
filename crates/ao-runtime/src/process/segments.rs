//! What a program has put out, in files, by offset and bounded.
//!
//! ```text
//!  <place>/output/
//!     0000000000000000   keyframe, then the bytes from offset 0 on
//!     0000000000100000   keyframe, then the bytes from there on
//! ```
//!
//! The shim appends; the daemon reads the files itself, whether the shim lives or not. The oldest segment goes when there
//! are too many bytes. Each begins with the state of the terminal at its beginning, so what is left can be shown exactly.
//! Offsets count the program's bytes only.

use std::collections::VecDeque;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ao_ports::Output;
use serde::{Deserialize, Serialize};

/// The length of the keyframe, and the size of the terminal.
const HEADER: u64 = 8;

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keep {
    /// How long a segment gets.
    pub segment: u64,
    /// How much there is at most in all segments, keyframes included, but for what the last one has too much.
    pub total: u64,
}

impl Default for Keep {
    fn default() -> Keep {
        Keep { segment: 1 << 20, total: 8 << 20 }
    }
}

/// The state of a terminal at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Keyframe {
    pub(super) size: (u16, u16),
    pub(super) bytes: Vec<u8>,
}

/// Appends, and drops what is too old.
pub(super) struct Writer {
    dir: PathBuf,
    keep: Keep,
    segments: VecDeque<Segment>,
    /// The last segment. Absent after a failure, until the next one could be begun.
    file: Option<File>,
    offset: u64,
}

struct Segment {
    start: u64,
    /// Where its bytes begin in the file.
    header: u64,
    bytes: u64,
    size: (u16, u16),
}

impl Writer {
    /// Begins with nothing; what an earlier try has left is removed.
    pub(super) fn new(dir: PathBuf, keep: Keep) -> io::Result<Writer> {
        match fs::remove_dir_all(&dir) {
            Err(err) if err.kind() != ErrorKind::NotFound => return Err(err),
            _ => {}
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
        Ok(Writer { dir, keep, segments: VecDeque::new(), file: None, offset: 0 })
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The first offset that is kept.
    pub(super) fn first(&self) -> u64 {
        self.segments.front().map_or(self.offset, |segment| segment.start)
    }

    /// Whether the next bytes want a new segment.
    pub(super) fn is_full(&self) -> bool {
        self.file.is_none() || self.segments.back().is_none_or(|last| last.bytes >= self.keep.segment)
    }

    /// Begins a new segment. One that has no bytes yet is replaced.
    pub(super) fn cut(&mut self, keyframe: &Keyframe) -> io::Result<()> {
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
        self.segments.push_back(Segment {
            start: self.offset,
            header: header.len() as u64,
            bytes: 0,
            size: keyframe.size,
        });
        self.file = Some(file);
        let size = |segment: &Segment| segment.header + segment.bytes;
        // The last one is to have room, or there would be too much when it is full.
        while self.segments.len() > 1
            && self.segments.iter().map(size).sum::<u64>() + self.keep.segment > self.keep.total
        {
            let Some(oldest) = self.segments.pop_front() else { break };
            fs::remove_file(self::path(&self.dir, oldest.start))?;
        }
        Ok(())
    }

    /// Appends. What cannot be written is lost to readers, and counted all the same.
    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
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

    /// Reads from an offset on, at most what is asked for and to the end of the segment. `None` if it is not kept.
    pub(super) fn read(&self, from: u64, space: &mut [u8]) -> Option<usize> {
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

    /// The size of the terminal and the way to the keyframe, if a segment begins at this offset.
    pub(super) fn begins_at(&self, offset: u64) -> Option<((u16, u16), impl FnOnce() -> Option<Keyframe>)> {
        let segment = self.segments.iter().rev().find(|segment| segment.start == offset)?;
        Some((segment.size, move || keyframe(&self.dir, offset).ok()))
    }

    /// The beginning of the segment that has at least so many bytes behind it, or the first one.
    pub(super) fn back(&self, bytes: u64) -> Option<(u64, Keyframe)> {
        let wanted = self.offset.saturating_sub(bytes);
        let index = self.segments.partition_point(|segment| segment.start <= wanted).saturating_sub(1);
        let start = self.segments.get(index)?.start;
        Some((start, keyframe(&self.dir, start).ok()?))
    }
}

/// Reads at most so many bytes from an offset on. Begins later if the beginning is no longer kept. Says also where the
/// output ends.
pub(super) fn read(dir: &Path, from: u64, limit: usize) -> io::Result<(Output, u64)> {
    loop {
        let starts = starts(dir)?;
        let nothing = Output { from, bytes: Vec::new(), ended: false };
        let Some(last) = starts.last() else { return Ok((nothing, 0)) };
        match read_of(dir, &starts, *last, from, limit) {
            // Dropped since it was listed, so there are newer ones.
            Err(err) if err.kind() == ErrorKind::NotFound => {}
            other => return other,
        }
    }
}

fn read_of(dir: &Path, starts: &[u64], last: u64, from: u64, limit: usize) -> io::Result<(Output, u64)> {
    let end = last + open(dir, last)?.1;
    let mut output = Output { from, bytes: Vec::new(), ended: false };
    let mut index = starts.partition_point(|start| *start <= from).saturating_sub(1);
    output.from = from.max(starts[index]);
    while let Some(start) = starts.get(index) {
        let (file, bytes, header) = open(dir, *start)?;
        let at = output.from + output.bytes.len() as u64;
        let left = (start + bytes).saturating_sub(at).min((limit - output.bytes.len()) as u64);
        if left > 0 {
            let have = output.bytes.len();
            output.bytes.resize(have + left as usize, 0);
            file.read_exact_at(&mut output.bytes[have..], header + at - start)?;
        }
        index += 1;
        match starts.get(index) {
            // A gap, where the disk was full: what is behind it is another piece.
            Some(next) if at + left < *next && output.bytes.is_empty() && limit > 0 => output.from = *next,
            Some(next) if at + left < *next => break,
            _ => {}
        }
        if output.bytes.len() == limit {
            break;
        }
    }
    Ok((output, end))
}

/// A segment, how many bytes of output it has, and where they begin.
fn open(dir: &Path, start: u64) -> io::Result<(File, u64, u64)> {
    let file = File::open(path(dir, start))?;
    let len = file.metadata()?.len();
    let mut header = [0; HEADER as usize];
    match file.read_exact_at(&mut header, 0) {
        // It is only just being made.
        Err(err) if err.kind() == ErrorKind::UnexpectedEof => return Ok((file, 0, HEADER)),
        other => other?,
    }
    let begin = HEADER + u64::from(u32::from_le_bytes([header[0], header[1], header[2], header[3]]));
    Ok((file, len.saturating_sub(begin), begin))
}

/// The state of the terminal at the beginning of a segment.
pub(super) fn keyframe(dir: &Path, start: u64) -> io::Result<Keyframe> {
    let (file, _, begin) = open(dir, start)?;
    let mut bytes = vec![0; begin as usize];
    file.read_exact_at(&mut bytes, 0)?;
    let number = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    Ok(Keyframe { size: (number(4), number(6)), bytes: bytes.split_off(HEADER as usize) })
}

/// Where the kept segments begin, in order.
pub(super) fn starts(dir: &Path) -> io::Result<Vec<u64>> {
    let entries = match fs::read_dir(dir) {
        Err(err) if err.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let number = |name: &str| u64::from_str_radix(name, 16).ok();
    let mut starts: Vec<u64> =
        entries.flatten().filter_map(|entry| number(entry.file_name().to_str()?)).collect();
    starts.sort_unstable();
    Ok(starts)
}

fn path(dir: &Path, start: u64) -> PathBuf {
    dir.join(format!("{start:016x}"))
}
