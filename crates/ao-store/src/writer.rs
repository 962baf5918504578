//! The one thread that writes.
//!
//! It takes whatever is waiting, puts it into one transaction, syncs once, and then answers everybody. While it
//! syncs, the next group gathers; so a lone append costs one commit, and a thousand cost a few.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use ao_core::Timestamp;
use ao_ports::{Change, NewRecord, Seq, Snapshot, StoreError};
use camino::{Utf8Path, Utf8PathBuf};
use rusqlite::{Connection, ErrorCode};
use tokio::sync::{mpsc, oneshot};

use crate::error::{failed, sqlite_error};
use crate::lock::DirLock;
use crate::{prune, read, records, snapshot};

/// How many requests may wait: two full groups, one being committed and one gathering. Whoever comes later waits
/// outside, so a stalled disk slows its callers down instead of filling memory.
const QUEUE: usize = 2 * GROUP;

/// How many requests share a commit. Beyond this the sync is a small part of the cost, and the first would only wait
/// longer for the last.
const GROUP: usize = 512;

/// How many records a group gathers before it stops asking for more, so that large batches do not add up to a
/// transaction that keeps everybody waiting.
const GROUP_RECORDS: usize = 4096;

/// Something to be done to the file, as part of a transaction.
#[derive(Debug)]
pub(crate) enum Work {
    /// Answers with the position of the last record.
    Append {
        records: Vec<NewRecord>,
        after: Option<Seq>,
    },
    SaveSnapshot(Snapshot),
    /// Changes documents, all of them or none.
    Change(Vec<Change>),
    /// Removes one bounded batch. Answers with how many records went.
    Prune {
        before: Timestamp,
        covered: Seq,
    },
    /// Gives one bounded batch of free pages back to the disk. Answers with how many are left.
    Shrink,
    #[cfg(test)]
    Panic,
}

#[derive(Debug)]
struct Request {
    work: Work,
    reply: Reply,
}

/// The outcome, and the work itself: the caller drops it. Freed here, the memory of many records from another thread
/// makes both wait for the allocator; under load that was a quarter of an append.
type Reply = oneshot::Sender<(Result<u64, StoreError>, Work)>;

#[derive(Debug)]
enum Message {
    Do(Request),
    Close(oneshot::Sender<Result<(), StoreError>>),
}

/// The way to the writer. Dropping it waits until the thread has written everything and released the lock.
#[derive(Debug)]
pub(crate) struct Handle {
    path: Utf8PathBuf,
    /// `None` only while being dropped, to tell the thread that nothing more will come.
    sender: Option<mpsc::Sender<Message>>,
    thread: Option<JoinHandle<()>>,
    /// What the thread said when it panicked.
    last_words: Arc<OnceLock<String>>,
}

impl Handle {
    /// Starts the thread on an open log. `conn` and `lock` live and end with it.
    pub(crate) fn start(path: &Utf8Path, conn: Connection, lock: Arc<DirLock>) -> Result<Handle, StoreError> {
        let last = read::last_seq(&conn).map_err(|err| sqlite_error(path, err))?;
        let (sender, inbox) = mpsc::channel(QUEUE);
        let last_words = Arc::new(OnceLock::new());
        let writer = Writer { path: path.to_owned(), conn, last };
        let heard = Arc::clone(&last_words);
        let thread = thread::Builder::new()
            .name("ao-store-writer".into())
            .spawn(move || writer.run(inbox, lock, &heard))
            .map_err(|err| failed(path, format!("could not start its writer thread: {err}")))?;
        Ok(Handle { path: path.to_owned(), sender: Some(sender), thread: Some(thread), last_words })
    }

    /// Has something done. Once it was handed over, dropping the future does not take it back.
    pub(crate) async fn request(&self, work: Work) -> Result<u64, StoreError> {
        let (reply, answer) = oneshot::channel();
        let sent = self.sender().send(Message::Do(Request { work, reply })).await;
        match sent {
            Ok(()) => answer.await.map_or_else(|_| Err(self.gone()), |(outcome, _work)| outcome),
            Err(_) => Err(self.gone()),
        }
    }

    /// Writes what was accepted, refuses what comes later, and releases file and lock.
    pub(crate) async fn close(&self) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        match self.sender().send(Message::Close(reply)).await {
            Ok(()) => answer.await.unwrap_or_else(|_| Err(self.gone())),
            // Closed is closed, whoever did it.
            Err(_) if self.last_words.get().is_none() => Ok(()),
            Err(_) => Err(self.gone()),
        }
    }

    fn sender(&self) -> &mpsc::Sender<Message> {
        self.sender.as_ref().expect("only taken by drop")
    }

    fn gone(&self) -> StoreError {
        match self.last_words.get() {
            Some(words) => failed(&self.path, format!("its writer panicked ({words}); restart ao")),
            None => failed(&self.path, "it has been closed"),
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.sender.take();
        if let Some(thread) = self.thread.take() {
            // A panic was logged where it happened.
            _ = thread.join();
        }
    }
}

/// What shares a commit.
#[derive(Default)]
struct Group {
    works: Vec<Work>,
    replies: Vec<Reply>,
    records: usize,
}

impl Group {
    fn push(&mut self, request: Request) {
        self.records += request.work.records();
        self.works.push(request.work);
        self.replies.push(request.reply);
    }

    fn has_room(&self) -> bool {
        self.works.len() < GROUP && self.records < GROUP_RECORDS
    }
}

struct Writer {
    path: Utf8PathBuf,
    conn: Connection,
    /// Where the log ends. Kept here because nobody else may write; read anew after a failure, in case somebody did.
    last: Seq,
}

impl Writer {
    fn run(mut self, mut inbox: mpsc::Receiver<Message>, lock: Arc<DirLock>, last_words: &OnceLock<String>) {
        let mut closers = Vec::new();
        let mut group = Group::default();
        while let Some(first) = inbox.blocking_recv() {
            let mut next = Some(first);
            while let Some(message) = next {
                match message {
                    Message::Do(request) => group.push(request),
                    Message::Close(reply) => {
                        // What was accepted before is still received; what comes now hears that we are closed.
                        inbox.close();
                        closers.push(reply);
                    }
                }
                next = if group.has_room() { inbox.try_recv().ok() } else { None };
            }
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.commit(&mut group))) {
                // The reason is set before group and inbox go, because with them go the replies: every caller then
                // hears an error, and none waits for ever.
                let words = words(panic.as_ref());
                tracing::error!(panic = words, "the writer of the event log panicked");
                _ = last_words.set(words.to_owned());
                return;
            }
        }
        let closed = self.finish();
        // Only now, with the file closed, may the next daemon have it.
        drop(lock);
        for closer in closers {
            // A closer that went away does not mind.
            _ = closer.send(closed.clone());
        }
    }

    /// Commits a group and answers it.
    fn commit(&mut self, group: &mut Group) {
        let outcomes = match self.transact(&group.works) {
            Ok(outcomes) => outcomes,
            // Whoever keeps the file locked would let each of them wait as long as he did all of them.
            Err(err) if is_busy(&err) => {
                let err = sqlite_error(&self.path, err);
                group.works.iter().map(|_| Err(err.clone())).collect()
            }
            Err(err) if group.works.len() == 1 => vec![Err(sqlite_error(&self.path, err))],
            // One of them broke the transaction, or all of them together were too much for the disk. Each alone, so
            // that only those fail that have to.
            Err(_) => group.works.iter().map(|work| self.transact_alone(work)).collect(),
        };
        group.records = 0;
        for ((reply, work), outcome) in group.replies.drain(..).zip(group.works.drain(..)).zip(outcomes) {
            // A caller that stopped waiting does not undo what it asked for.
            _ = reply.send((outcome, work));
        }
    }

    /// Does everything or nothing. The inner results are refusals that leave the transaction whole.
    fn transact(&mut self, works: &[Work]) -> rusqlite::Result<Vec<Result<u64, StoreError>>> {
        let done = self.begin_apply_commit(works);
        if done.is_err() {
            // Some failures have already rolled back.
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

    fn transact_alone(&mut self, work: &Work) -> Result<u64, StoreError> {
        let mut outcomes =
            self.transact(slice::from_ref(work)).map_err(|err| sqlite_error(&self.path, err))?;
        outcomes.pop().expect("one outcome for one piece of work")
    }

    fn begin_apply_commit(&mut self, works: &[Work]) -> rusqlite::Result<Vec<Result<u64, StoreError>>> {
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

/// Does one piece of work inside the open transaction.
fn apply(
    conn: &Connection,
    path: &Utf8Path,
    last: &mut Seq,
    work: &Work,
) -> rusqlite::Result<Result<u64, StoreError>> {
    match work {
        Work::Append { after: Some(expected), .. } if expected != last => {
            Ok(Err(StoreError::Moved { expected: *expected, found: *last }))
        }
        Work::Append { records, .. } => {
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
        // It would hide events that are yet to come from whoever starts with it.
        Work::SaveSnapshot(snapshot) if snapshot.seq > *last => {
            let detail = format!("a snapshot of event {} was refused: the log ends at {last}", snapshot.seq);
            Ok(Err(failed(path, detail)))
        }
        Work::SaveSnapshot(snapshot) => snapshot::save(conn, snapshot).map(|()| Ok(0)),
        Work::Change(changes) => records::apply(conn, changes).map(|()| Ok(0)),
        Work::Prune { before, covered } => prune::remove_batch(conn, *before, *covered).map(Ok),
        Work::Shrink => prune::shrink_batch(conn).map(Ok),
        #[cfg(test)]
        Work::Panic => panic!("as the test asked"),
    }
}

fn is_busy(err: &rusqlite::Error) -> bool {
    matches!(err.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

impl Work {
    fn records(&self) -> usize {
        match self {
            Work::Append { records, .. } => records.len(),
            Work::Change(changes) => changes.len(),
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
        let handle =
            Handle::start(&path, schema::open_writer(&path).unwrap(), Arc::new(DirLock::take(dir).unwrap()))
                .unwrap();

        let append = || Work::Append { records: vec![], after: None };
        let (during, beside) = tokio::join!(handle.request(Work::Panic), handle.request(append()));
        let afterwards = handle.request(append()).await;

        for outcome in [during, beside, afterwards, handle.close().await.map(|()| 0)] {
            let message = outcome.unwrap_err().to_string();
            assert!(message.contains("its writer panicked (as the test asked); restart ao"), "{message}");
        }
    }
}
