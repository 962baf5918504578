//! Logs of commands: a file for each run, readable by its owner alone, and only the newest of them.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};

use ao_core::Timestamp;
use camino::{Utf8Path, Utf8PathBuf};

/// The prefix of the ids of runs by hand, which the engine does not know.
pub(crate) const BY_HAND: &str = "by_hand";
/// The number of logs that are kept: the newest.
const KEPT: usize = 200;
/// The number of bytes that are kept of one command's output.
const LARGEST: u64 = 1 << 20;
/// The number of bytes at a log's end that are read to find how the command ended.
const END: u64 = 512;

/// The folder with the logs.
#[derive(Debug)]
pub(super) struct HookLogFolder {
    folder: Utf8PathBuf,
}

/// One log, while it is written.
#[derive(Debug)]
pub(super) struct HookLogFile {
    file: File,
    path: Utf8PathBuf,
    size: u64,
    left_out: u64,
    /// True if the last byte ended a line.
    at_start: bool,
}

/// A log as people find it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookLog {
    /// Its name, by which it can be read.
    pub id: String,
    pub at: Option<Timestamp>,
    /// The point, or `run` for a reaction's command.
    pub what: String,
    /// The end of its last command, as text; nothing while it runs.
    pub ended: Option<String>,
    pub path: Utf8PathBuf,
}

impl HookLogFolder {
    pub(super) fn new(folder: Utf8PathBuf) -> HookLogFolder {
        HookLogFolder { folder }
    }

    /// Begins a log, and forgets the oldest ones if there are too many.
    pub(super) fn begin(&self, at: Timestamp, what: &str, id: &str) -> io::Result<HookLogFile> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let names = self.names()?;
        for old in names.iter().take(names.len().saturating_sub(KEPT - 1)) {
            fs::remove_file(self.folder.join(old)).ok();
        }
        let stem = format!("{}-{what}-{id}", date(at));
        let tries = (0..100).map(|n| if n == 0 { format!("{stem}.log") } else { format!("{stem}-{n}.log") });
        for name in tries {
            let path = self.folder.join(name);
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => return Ok(HookLogFile { file, path, size: 0, left_out: 0, at_start: true }),
                Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {}
                Err(err) => return Err(err),
            }
        }
        Err(io::Error::other(format!("`{stem}` has been there a hundred times at one moment")))
    }

    /// The logs, the newest first.
    pub(super) fn list(&self) -> io::Result<Vec<HookLog>> {
        let mut names = self.names()?;
        names.reverse();
        Ok(names.into_iter().map(|name| self.look(&name)).collect())
    }

    /// Returns the ids of runs by hand whose log has no end, with that log.
    pub(super) fn begun_by_hand(&self) -> io::Result<Vec<(String, Utf8PathBuf)>> {
        let logs = self.list()?.into_iter().filter(|log| log.ended.is_none());
        let id = |log: HookLog| {
            let (_, id) = log.id.rsplit_once(&format!("-{BY_HAND}"))?;
            // A second hook of the same occasion has a number behind it.
            let id = id.split('-').next().unwrap_or(id);
            Some((format!("{BY_HAND}{id}"), log.path))
        };
        Ok(logs.filter_map(id).collect())
    }

    /// Adds the end of a command to a log that has no writer any more.
    pub(super) fn close(path: &Utf8Path, how: &str) {
        let file = OpenOptions::new().append(true).open(path);
        if let Err(err) = file.and_then(|mut file| file.write_all(format!("\n[ao: {how}]\n").as_bytes())) {
            tracing::warn!(%err, %path, "the log of a hook cannot be closed");
        }
    }

    /// The log whose name begins so, with what is in it. Nothing if there is none, or more than one.
    pub(super) fn read(&self, id: &str) -> io::Result<Option<(HookLog, String)>> {
        let names = self.names()?;
        let exact = names.iter().find(|name| name.strip_suffix(".log") == Some(id));
        let mut beginning = names.iter().filter(|name| !id.is_empty() && name.contains(id));
        let found = match (exact, beginning.next(), beginning.next()) {
            (Some(name), ..) | (None, Some(name), None) => name,
            _ => return Ok(None),
        };
        let text = fs::read(self.folder.join(found))?;
        Ok(Some((self.look(found), String::from_utf8_lossy(&text).into_owned())))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
            Err(err) => return Err(err),
        };
        let name = |entry: io::Result<fs::DirEntry>| entry.ok()?.file_name().into_string().ok();
        let mut names: Vec<String> = entries.filter_map(name).filter(|name| name.ends_with(".log")).collect();
        // Names begin with the time, so this is their order.
        names.sort();
        Ok(names)
    }

    fn look(&self, name: &str) -> HookLog {
        let id = name.strip_suffix(".log").unwrap_or(name).to_owned();
        let path = self.folder.join(name);
        let (stamp, rest) = id.split_once("Z-").unwrap_or(("", &id));
        let what = rest
            .rsplit_once("-job_")
            .or_else(|| rest.rsplit_once(&format!("-{BY_HAND}")))
            .map_or(rest, |(what, _)| what);
        HookLog { at: read_date(stamp), what: what.to_owned(), ended: ended(&path), id, path }
    }
}

impl HookLogFile {
    pub(super) fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// Takes what a command has put out, as long as there is room.
    // Written at once and not by another thread: these are small writes to a local file, which the kernel only notes down.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = usize::try_from(LARGEST.saturating_sub(self.size)).unwrap_or(usize::MAX);
        let kept = &bytes[..bytes.len().min(room)];
        self.left_out += (bytes.len() - kept.len()) as u64;
        self.put(kept)
    }

    /// Adds a line of our own.
    pub(super) fn say(&mut self, line: &str) -> io::Result<()> {
        let gap = if self.at_start { "" } else { "\n" };
        if self.left_out > 0 {
            let left = std::mem::take(&mut self.left_out);
            self.put(format!("{gap}[ao: {left} bytes were left out here]\n").as_bytes())?;
            return self.put(format!("{line}\n").as_bytes());
        }
        self.put(format!("{gap}{line}\n").as_bytes())
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.size += bytes.len() as u64;
        if let Some(last) = bytes.last() {
            self.at_start = *last == b'\n';
        }
        Ok(())
    }
}

/// Returns how the last command of a log ended, by the line that we put behind it.
fn ended(path: &Utf8Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let from = file.metadata().ok()?.len().saturating_sub(END);
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut end = Vec::new();
    file.read_to_end(&mut end).ok()?;
    let end = String::from_utf8_lossy(&end).into_owned();
    let last = end.lines().next_back()?;
    Some(last.strip_prefix("[ao: ")?.strip_suffix(']')?.to_owned())
}

/// `20261116T091606.123`, always in UTC.
fn date(at: Timestamp) -> String {
    let at = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    at.strftime("%Y%m%dT%H%M%S%.3fZ").to_string()
}

fn read_date(stamp: &str) -> Option<Timestamp> {
    let at = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%S%.f", stamp).ok()?;
    Some(Timestamp(at.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_millisecond()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn logs(folder: &tempfile::TempDir) -> HookLogFolder {
        HookLogFolder::new(Utf8PathBuf::from_path_buf(folder.path().join("hooks")).unwrap())
    }

    #[test]
    fn a_log_is_found_by_its_name_and_tells_how_it_ended() {
        let folder = tempfile::tempdir().unwrap();
        let logs = logs(&folder);
        let at = Timestamp(1_700_000_000_123);
        let mut log = logs.begin(at, "before-merge", "job_3").unwrap();
        assert_eq!(fs::metadata(log.path()).unwrap().permissions().mode() & 0o777, 0o600);
        log.write(b"no newline").unwrap();
        assert_eq!(logs.list().unwrap()[0].ended, None);
        log.say("[ao: ended with code 3 after 0.1 s]").unwrap();
        let listed = logs.list().unwrap();
        assert_eq!(listed[0].id, "20231114T221320.123Z-before-merge-job_3");
        assert_eq!((listed[0].at, listed[0].what.as_str()), (Some(at), "before-merge"));
        assert_eq!(listed[0].ended.as_deref(), Some("ended with code 3 after 0.1 s"));
        let (_, text) = logs.read("before-merge-job_3").unwrap().unwrap();
        assert_eq!(text, "no newline\n[ao: ended with code 3 after 0.1 s]\n");
        assert_eq!(logs.read("../ao.db").unwrap(), None);
        let second = logs.begin(at, "before-merge", "job_3").unwrap();
        assert!(second.path().as_str().ends_with("job_3-1.log"), "{}", second.path());
    }

    #[test]
    fn what_was_begun_by_hand_and_never_ended_is_found_until_that_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let logs = logs(&folder);
        let at = Timestamp(1_700_000_000_123);
        for (what, id) in
            [("merged", "job_3"), ("before-merge", "by_hand00ab"), ("before-merge", "by_hand00ab")]
        {
            logs.begin(at, what, id).unwrap().write(b"begun").unwrap();
        }
        logs.begin(at, "merged", "by_hand00cd").unwrap().say("[ao: ended with code 0]").unwrap();
        let left = logs.begun_by_hand().unwrap();
        assert_eq!(
            left.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(),
            ["by_hand00ab", "by_hand00ab"]
        );
        left.iter().for_each(|(_, path)| HookLogFolder::close(path, "ended with the daemon that ran it"));
        assert_eq!(logs.begun_by_hand().unwrap(), []);
    }

    #[test]
    fn only_the_newest_are_kept_and_none_grows_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let logs = logs(&folder);
        for n in 0..KEPT as i64 + 50 {
            logs.begin(Timestamp(1_700_000_000_000 + n), "merged", &format!("job_{n}")).unwrap();
        }
        let listed = logs.list().unwrap();
        assert_eq!(listed.len(), KEPT);
        assert!(listed[0].id.ends_with("job_249") && listed[KEPT - 1].id.ends_with("job_50"));
        let mut log = logs.begin(Timestamp(1_800_000_000_000), "merged", "job_999").unwrap();
        for _ in 0..3 {
            log.write(&vec![b'x'; 1 << 20]).unwrap();
        }
        log.say("[ao: ended with code 0 after 0.1 s]").unwrap();
        let text = fs::read_to_string(log.path()).unwrap();
        assert!(
            text.len() < (1 << 20) + 200 && text.contains("2097152 bytes were left out"),
            "{}",
            text.len()
        );
    }
}
