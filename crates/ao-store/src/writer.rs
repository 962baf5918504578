//! The only thread that writes.
//!
//! It takes all waiting requests, applies them in one transaction, syncs once, and then answers all of them. While it
//! syncs, the next group gathers; so a single append costs one commit, and a thousand cost a few.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use ao_core::Timestamp;
use ao_ports::{NewRecord, RecordChange, Seq, Snapshot, StoreError};
use camino::{Utf8Path, Utf8PathBuf};
use rusqlite::{Connection, ErrorCode};
use tokio::sync::{mpsc, oneshot};

use crate::error::{failed, sqlite_error};
use crate::lock::DirLock;
use crate::{prune, read, records, snapshot};

/// Most requests in the queue: two full groups, one being committed and one gathering. Further callers wait before the
/// queue, so a stalled disk slows them down instead of filling memory.
const QUEUE: usize = 2 * GROUP;

/// Most requests per commit. Beyond this the sync is a small part of the cost, and the first would only wait longer for
/// the last.
const GROUP: usize = 512;

/// Records at which a group is full, so that large batches do not add up to a transaction that keeps every caller
/// waiting.
const GROUP_RECORDS: usize = 4096;

/// A change of the file, as part of a transaction.
#[derive(Debug)]
pub(crate) enum WriteOp {
    /// Returns the position of the last record.
    Append { records: Vec<NewRecord>, after: Option<Seq> },
    /// Saves a snapshot.
    SaveSnapshot(Snapshot),
    /// Changes documents, all of them or none.
    Change(Vec<RecordChange>),
    /// Removes one bounded batch. Returns the number of records removed.
    Prune { before: Timestamp, covered: Seq },
    /// Releases one bounded batch of free pages to the disk. Returns how many are left.
    Shrink,
    /// Panics, as a test of that.
    #[cfg(test)]
    Panic,
}

#[derive(Debug)]
struct WriteRequest {
    work: WriteOp,
    reply: WriteReply,
}

/// The outcome, and the operation itself, so that the caller frees it. Freeing many records of another thread here
/// would make both wait for the allocator; under load that was a quarter of an append.
type WriteReply = oneshot::Sender<(Result<u64, StoreError>, WriteOp)>;

#[derive(Debug)]
enum WriterMessage {
    Do(WriteRequest),
    Close(oneshot::Sender<Result<(), StoreError>>),
}

/// A handle to the writer. Dropping it waits until the thread has written everything and released the lock.
#[derive(Debug)]
pub(crate) struct WriterHandle {
    path: Utf8PathBuf,
    /// `None` only while being dropped, which makes the thread end.
    sender: Option<mpsc::Sender<WriterMessage>>,
    thread: Option<JoinHandle<()>>,
    /// The panic message of the thread, if it panicked.
    last_words: Arc<OnceLock<String>>,
}

impl WriterHandle {
    /// Starts the thread on an open log, which owns `conn` and `lock`.
    pub(crate) fn start(
        path: &Utf8Path,
        conn: Connection,
        lock: Arc<DirLock>,
    ) -> Result<WriterHandle, StoreError> {
        let last = read::last_seq(&conn).map_err(|err| sqlite_error(path, err))?;
        let (sender, inbox) = mpsc::channel(QUEUE);
        let last_words = Arc::new(OnceLock::new());
        let writer = LogWriter { path: path.to_owned(), conn, last };
        let heard = Arc::clone(&last_words);
        let thread = thread::Builder::new()
            .name("ao-store-writer".into())
            .spawn(move || writer.run(inbox, lock, &heard))
            .map_err(|err| failed(path, format!("could not start its writer thread: {err}")))?;
        Ok(WriterHandle { path: path.to_owned(), sender: Some(sender), thread: Some(thread), last_words })
    }

    /// Runs an operation. Once it was sent, dropping the future does not take it back.
    pub(crate) async fn request(&self, work: WriteOp) -> Result<u64, StoreError> {
        let (reply, answer) = oneshot::channel();
        let sent = self.sender().send(WriterMessage::Do(WriteRequest { work, reply })).await;
        match sent {
            Ok(()) => answer.await.map_or_else(|_| Err(self.gone()), |(outcome, _work)| outcome),
            Err(_) => Err(self.gone()),
        }
    }

    /// Writes what was accepted, refuses later requests, and releases file and lock.
    pub(crate) async fn close(&self) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        match self.sender().send(WriterMessage::Close(reply)).await {
            Ok(()) => answer.await.unwrap_or_else(|_| Err(self.gone())),
            // Another handle closed it first.
            Err(_) if self.last_words.get().is_none() => Ok(()),
            Err(_) => Err(self.gone()),
        }
    }

    fn sender(&self) -> &mpsc::Sender<WriterMessage> {
        self.sender.as_ref().expect("only taken by drop")
    }

    fn gone(&self) -> StoreError {
        match self.last_words.get() {
            Some(words) => failed(&self.path, format!("its writer panicked ({words}); restart ao")),
            None => failed(&self.path, "it has been closed"),
        }
    }
}

impl Drop for WriterHandle {
    fn drop(&mut self) {
        self.sender.take();
        if let Some(thread) = self.thread.take() {
            // The panic was logged where it happened.
            _ = thread.join();
        }
    }
}

/// The requests that share a commit.
#[derive(Default)]
struct CommitGroup {
    works: Vec<WriteOp>,
    replies: Vec<WriteReply>,
    records: usize,
}

impl CommitGroup {
    fn push(&mut self, request: WriteRequest) {
        self.records += request.work.records();
        self.works.push(request.work);
        self.replies.push(request.reply);
    }

    fn has_room(&self) -> bool {
        self.works.len() < GROUP && self.records < GROUP_RECORDS
    }
}

struct LogWriter {
    path: Utf8PathBuf,
    conn: Connection,
    /// The last position in the log. Cached because no other process may write; read again after a failure, in case one
    /// did.
    last: Seq,
}

impl LogWriter {
    fn run(
        mut self,
        mut inbox: mpsc::Receiver<WriterMessage>,
        lock: Arc<DirLock>,
        last_words: &OnceLock<String>,
    ) {
        let mut closers = Vec::new();
        let mut group = CommitGroup::default();
        while let Some(first) = inbox.blocking_recv() {
            let mut next = Some(first);
            while let Some(message) = next {
                match message {
                    WriterMessage::Do(request) => group.push(request),
                    WriterMessage::Close(reply) => {
                        // Requests accepted before are still received; later ones fail because the store is closed.
                        inbox.close();
                        closers.push(reply);
                    }
                }
                next = if group.has_room() { inbox.try_recv().ok() } else { None };
            }
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.commit(&mut group))) {
                // The reason is set before group and inbox are dropped, because the replies go with them: every caller
                // then gets an error, and none waits forever.
                let words = words(panic.as_ref());
                tracing::error!(panic = words, "the writer of the event log panicked");
                _ = last_words.set(words.to_owned());
                return;
            }
        }
        let closed = self.finish();
        // The next daemon may take over only now that the file is closed.
        drop(lock);
        for closer in closers {
            // A closer that stopped waiting is not an error.
            _ = closer.send(closed.clone());
        }
    }

    /// Commits a group and answers its callers.
    fn commit(&mut self, group: &mut CommitGroup) {
        let outcomes = match self.transact(&group.works) {
            Ok(outcomes) => outcomes,
            // The file is locked by another program, so each request alone would wait as long as the group did.
            Err(err) if is_busy(&err) => {
                let err = sqlite_error(&self.path, err);
                group.works.iter().map(|_| Err(err.clone())).collect()
            }
            Err(err) if group.works.len() == 1 => vec![Err(sqlite_error(&self.path, err))],
            // One of them broke the transaction, or together they were too much for the disk. Retried one by one, so
            // that only those fail that must.
            Err(_) => group.works.iter().map(|work| self.transact_alone(work)).collect(),
        };
        group.records = 0;
        for ((reply, work), outcome) in group.replies.drain(..).zip(group.works.drain(..)).zip(outcomes) {
            // A caller that stopped waiting does not undo its request.
            _ = reply.send((outcome, work));
        }
    }

    /// Applies all operations or none. The inner results are refusals that leave the transaction intact.
    fn transact(&mut self, works: &[WriteOp]) -> rusqlite::Result<Vec<Result<u64, StoreError>>> {
        let done = self.begin_apply_commit(works);
        if done.is_err() {
            // After some failures SQLite has already rolled back.
            if !self.conn.is_autocommit()
                && let Err(err) = self.conn.execute_batch("ROLLBACK")
            {
                tracing::warn!(%err, "rollback failed");
            }
            if let Ok(last) = read::last_seq(&self.conn) {
                self.last = last;
            }
        }
        done
    }

    fn transact_alone(&mut self, work: &WriteOp) -> Result<u64, StoreError> {
        let mut outcomes =
            self.transact(slice::from_ref(work)).map_err(|err| sqlite_error(&self.path, err))?;
        outcomes.pop().expect("one outcome for one piece of work")
    }

    fn begin_apply_commit(&mut self, works: &[WriteOp]) -> rusqlite::Result<Vec<Result<u64, StoreError>>> {
        self.conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let mut last = self.last;
        let outcomes = works
            .iter()
            .map(|work| apply(&self.conn, &self.path, &mut last, work))
            .collect::<rusqlite::Result<Vec<_>>>()?;
        self.conn.prepare_cached("COMMIT")?.execute([])?;
        self.last = last;
        Ok(outcomes)
    }

    /// Moves the WAL into the file, so that one file is the whole log, and closes it.
    fn finish(self) -> Result<(), StoreError> {
        // A full disk may have no room for that. Nothing is lost: the WAL stays, and the next start reads it.
        if let Err(err) = self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())) {
            tracing::warn!(%err, "the last events stay in the WAL");
        }
        self.conn.close().map_err(|(_, err)| sqlite_error(&self.path, err))
    }
}

/// Applies one operation inside the open transaction.
fn apply(
    conn: &Connection,
    path: &Utf8Path,
    last: &mut Seq,
    work: &WriteOp,
) -> rusqlite::Result<Result<u64, StoreError>> {
    match work {
        WriteOp::Append { after: Some(expected), .. } if expected != last => {
            Ok(Err(StoreError::Moved { expected: *expected, found: *last }))
        }
        WriteOp::Append { records, .. } => {
            let mut insert = conn.prepare_cached(
                "INSERT INTO events (seq, at, kind, version, scope, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?;
            for new in records {
                let seq = *last + 1;
                insert.execute((seq as i64, new.at.0, &new.kind, new.version, &new.scope, &new.body))?;
                *last = seq;
            }
            Ok(Ok(*last))
        }
        // It would hide future events from a process that starts from it.
        WriteOp::SaveSnapshot(snapshot) if snapshot.seq > *last => {
            let detail = format!("a snapshot of event {} was refused: the log ends at {last}", snapshot.seq);
            Ok(Err(failed(path, detail)))
        }
        WriteOp::SaveSnapshot(snapshot) => snapshot::save(conn, snapshot).map(|()| Ok(0)),
        WriteOp::Change(changes) => records::apply(conn, changes).map(|()| Ok(0)),
        WriteOp::Prune { before, covered } => prune::remove_batch(conn, *before, *covered).map(Ok),
        WriteOp::Shrink => prune::shrink_batch(conn).map(Ok),
        #[cfg(test)]
        WriteOp::Panic => panic!("as the test asked"),
    }
}

fn is_busy(err: &rusqlite::Error) -> bool {
    matches!(err.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

impl WriteOp {
    fn records(&self) -> usize {
        match self {
            WriteOp::Append { records, .. } => records.len(),
            WriteOp::Change(changes) => changes.len(),
            _ => 0,
        }
    }
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no reason given")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Store, schema};

    #[tokio::test]
    async fn a_panic_of_the_writer_reaches_every_caller_as_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let path = dir.join("ao.db");
        Store::open(dir, Options::default()).unwrap();
        let handle = WriterHandle::start(
            &path,
            schema::open_writer(&path).unwrap(),
            Arc::new(DirLock::take(dir).unwrap()),
        )
        .unwrap();

        let append = || WriteOp::Append { records: vec![], after: None };
        let (during, beside) = tokio::join!(handle.request(WriteOp::Panic), handle.request(append()));
        let afterwards = handle.request(append()).await;

        for outcome in [during, beside, afterwards, handle.close().await.map(|()| 0)] {
            let message = outcome.unwrap_err().to_string();
            assert!(message.contains("its writer panicked (as the test asked); restart ao"), "{message}");
        }
    }
}
