//! Reads recorded output.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;

use ao_ports::OutputPart;

use super::{HEADER, Keyframe, path};

/// Most bytes per call on behalf of a caller, regardless of the requested limit.
const READ_MOST: usize = 1 << 20;

/// Reads for a caller of the runtime. The caller determines `has_ended` before this call, so that a read after the end
/// gets everything that is left.
pub(crate) fn output(dir: &Path, from: u64, limit: usize, has_ended: bool) -> io::Result<OutputPart> {
    let (mut output, end) = read(dir, from, limit.min(READ_MOST))?;
    output.ended = has_ended && output.from.saturating_add(output.bytes.len() as u64) >= end;
    Ok(output)
}

/// Returns the offset behind the last byte.
pub(crate) fn end(dir: &Path) -> io::Result<u64> {
    read(dir, u64::MAX, 0).map(|(_, end)| end)
}

/// Reads at most `limit` bytes from an offset on. Starts later if the beginning is no longer recorded, and at the end
/// if the offset lies behind that. Also returns where the output ends.
pub(crate) fn read(dir: &Path, from: u64, limit: usize) -> io::Result<(OutputPart, u64)> {
    loop {
        let starts = starts(dir)?;
        let nothing = OutputPart { from: 0, bytes: Vec::new(), ended: false };
        let Some(last) = starts.last() else { return Ok((nothing, 0)) };
        match read_of(dir, &starts, *last, from, limit) {
            // Removed since it was listed, so there are newer ones.
            Err(err) if err.kind() == ErrorKind::NotFound => {}
            other => return other,
        }
    }
}

fn read_of(dir: &Path, starts: &[u64], last: u64, from: u64, limit: usize) -> io::Result<(OutputPart, u64)> {
    let end = last + open(dir, last)?.1;
    let from = from.min(end);
    let mut output = OutputPart { from, bytes: Vec::new(), ended: false };
    let mut index = starts.partition_point(|start| *start <= from).saturating_sub(1);
    // A read beyond the end returns the end.
    output.from = from.min(end).max(starts[index]);
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
            // A gap, where the disk was full: the bytes behind it are a separate piece.
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

/// Opens a segment. Returns the file, its number of output bytes, and where they begin.
pub(super) fn open(dir: &Path, start: u64) -> io::Result<(File, u64, u64)> {
    let file = File::open(path(dir, start))?;
    let len = file.metadata()?.len();
    let mut header = [0; HEADER as usize];
    match file.read_exact_at(&mut header, 0) {
        // The segment is just being created.
        Err(err) if err.kind() == ErrorKind::UnexpectedEof => return Ok((file, 0, HEADER)),
        other => other?,
    }
    let begin = HEADER + u64::from(u32::from_le_bytes([header[0], header[1], header[2], header[3]]));
    Ok((file, len.saturating_sub(begin), begin))
}

/// Returns the terminal state at the beginning of a segment.
pub(crate) fn keyframe(dir: &Path, start: u64) -> io::Result<Keyframe> {
    let (file, _, begin) = open(dir, start)?;
    let mut bytes = vec![0; begin as usize];
    file.read_exact_at(&mut bytes, 0)?;
    let number = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    Ok(Keyframe { size: (number(4), number(6)), bytes: bytes.split_off(HEADER as usize) })
}

/// Lists the offsets at which segments begin, in order.
pub(crate) fn starts(dir: &Path) -> io::Result<Vec<u64>> {
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
