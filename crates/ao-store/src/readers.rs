//! The pool of read-only connections. In WAL mode they see a stable snapshot and never wait for the writer.

use std::sync::{Arc, Mutex};

use ao_ports::StoreError;
use camino::Utf8PathBuf;
use rusqlite::Connection;
use tokio::sync::Semaphore;

use crate::error::failed;
use crate::schema;

/// Most concurrent reads. Each holds a thread and a page cache of 2 MB, and more would only share one disk.
const READERS: usize = 4;

#[derive(Debug)]
pub(crate) struct ReaderPool {
    path: Utf8PathBuf,
    permits: Arc<Semaphore>,
    /// Idle connections; `None` once closed. A plain lock: held for a push or a pop, never while reading.
    idle: Mutex<Option<Vec<Connection>>>,
}

impl ReaderPool {
    pub(crate) fn new(path: Utf8PathBuf) -> ReaderPool {
        ReaderPool { path, permits: Arc::new(Semaphore::new(READERS)), idle: Mutex::new(Some(Vec::new())) }
    }

    /// Runs a read on a thread where blocking is allowed.
    pub(crate) async fn run<T: Send + 'static>(
        self: &Arc<ReaderPool>,
        read: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await.expect("the semaphore is never closed");
        let readers = Arc::clone(self);
        tokio::task::spawn_blocking(move || {
            // Moves along, because the thread continues to read after its caller has stopped waiting.
            let _permit = permit;
            readers.run_here(read)
        })
        .await
        .unwrap_or_else(|err| Err(failed(&self.path, format!("a read was cut short: {err}"))))
    }

    /// Runs a read on this thread.
    pub(crate) fn run_here<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let conn = match self.idle.lock().expect("no panic while held").as_mut() {
            None => return Err(failed(&self.path, "it has been closed")),
            Some(idle) => idle.pop(),
        };
        let conn = conn.map_or_else(|| schema::open_reader(&self.path), Ok)?;
        let result = read(&conn);
        // After an error the connection itself may be broken, so the next read opens a new one.
        if result.is_ok()
            && let Some(idle) = self.idle.lock().expect("no panic while held").as_mut()
            && idle.len() < READERS
        {
            idle.push(conn);
        }
        result
    }

    /// Closes the idle connections and refuses further reads, so that the writer is the last to close the file and can
    /// remove the WAL.
    pub(crate) fn close(&self) {
        self.idle.lock().expect("no panic while held").take();
    }
}
