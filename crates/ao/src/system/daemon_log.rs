//! The daemon's log: JSON lines in a bounded file that only the user can read, with secrets masked.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ao_daemon::secrets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::{EnvFilter, Layer, fmt};

#[cfg(not(feature = "otlp"))]
use lines_alone::{TraceGuard, install};

#[cfg(feature = "otlp")]
use crate::system::otlp::{TraceGuard, install};

/// The file is rotated at this size, and one old file is kept.
const MOST: u64 = 8 * 1024 * 1024;

/// The log level unless RUST_LOG is set.
const USUAL: &str = "info,ao_server=info,hyper=warn,h2=warn";

/// Sends all traces to the file. Keep the returned value until the daemon exits.
pub(crate) fn to_file(path: &Path) -> io::Result<TraceGuard> {
    let log = RotatingLog::open(path)?;
    let lines = fmt::layer().json().with_writer(SharedLog(Arc::new(log))).with_filter(filter());
    install(lines).map_err(io::Error::other)
}

/// Sends all traces to stderr.
pub(crate) fn to_stderr() -> Option<TraceGuard> {
    // A program that embeds the daemon may have set up tracing already.
    install(fmt::layer().with_writer(|| MaskedWriter(io::stderr())).with_filter(filter())).ok()
}

fn filter() -> EnvFilter {
    EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(USUAL))
}

/// The subscriber without the feature `otlp`.
#[cfg(not(feature = "otlp"))]
mod lines_alone {
    use tracing::subscriber::SetGlobalDefaultError;
    use tracing_subscriber::layer::SubscriberExt;
    use tracing_subscriber::{Layer, Registry};

    #[derive(Debug)]
    pub(crate) struct TraceGuard;

    pub(crate) fn install<L>(lines: L) -> Result<TraceGuard, SetGlobalDefaultError>
    where
        L: Layer<Registry> + Send + Sync,
    {
        tracing::subscriber::set_global_default(tracing_subscriber::registry().with(lines))
            .map(|()| TraceGuard)
    }
}

struct RotatingLog {
    path: PathBuf,
    /// Written one line at a time.
    file: Mutex<(File, u64)>,
}

impl RotatingLog {
    fn open(path: &Path) -> io::Result<RotatingLog> {
        let (file, size) = open(path)?;
        Ok(RotatingLog { path: path.to_owned(), file: Mutex::new((file, size)) })
    }

    fn line(&self, line: &[u8]) -> io::Result<()> {
        let masked = secrets::known().mask(&String::from_utf8_lossy(line));
        let mut open_file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if open_file.1 > MOST {
            fs::rename(&self.path, self.path.with_extension("old.log"))?;
            *open_file = open(&self.path)?;
        }
        open_file.1 += masked.len() as u64;
        open_file.0.write_all(masked.as_bytes())
    }
}

fn open(path: &Path) -> io::Result<(File, u64)> {
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    let size = file.metadata()?.len();
    Ok((file, size))
}

/// Masks secrets in lines. The lines of one event come in one piece.
struct MaskedWriter<W>(W);

impl<W: Write> Write for MaskedWriter<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let masked = secrets::known().mask(&String::from_utf8_lossy(line));
        self.0.write_all(masked.as_bytes()).map(|()| line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Writes the lines of one event, which come in one piece.
#[derive(Clone)]
struct SharedLog(Arc<RotatingLog>);

impl Write for SharedLog {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.line(line).map(|()| line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for SharedLog {
    type Writer = SharedLog;

    fn make_writer(&'a self) -> SharedLog {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// acceptance: X5
    #[test]
    fn what_a_person_watches_has_no_secrets_in_it() {
        secrets::learn([("DEPLOY".to_owned(), b"s3cret-of-the-watched-log".to_vec())]);
        let mut shown = Vec::new();
        let line = b"it said s3cret-of-the-watched-log twice: s3cret-of-the-watched-log\n";
        assert_eq!(MaskedWriter(&mut shown).write(line).unwrap(), line.len());
        assert_eq!(String::from_utf8(shown).unwrap(), "it said [secret DEPLOY] twice: [secret DEPLOY]\n");
    }

    #[test]
    fn the_log_is_bounded_and_only_ours() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("daemon.log");
        let log = RotatingLog::open(&path).unwrap();
        let line = vec![b'x'; 1024 * 1024];
        for _ in 0..20 {
            log.line(&line).unwrap();
        }
        let size = |path: &Path| fs::metadata(path).unwrap().len();
        assert!(size(&path) <= MOST + 2 * 1024 * 1024);
        assert!(size(&path.with_extension("old.log")) <= MOST + 2 * 1024 * 1024);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
