//! Documents, grouped in shelves, in the same file as the log: one commit for both, one lock, one backup.
//!
//! Their owners define their contents. Unlike events, documents are changed in place; they are never pruned, and are
//! not part of the state that events make up.

use ao_ports::{RecordChange, Records, StoreError};
use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension};

use crate::Store;
use crate::error::sqlite_error;
use crate::writer::WriteOp;

#[async_trait]
impl Records for Store {
    async fn get(&self, shelf: &str, key: &str) -> Result<Option<String>, StoreError> {
        let (shelf, key, path) = (shelf.to_owned(), key.to_owned(), self.path().to_owned());
        self.readers().run(move |conn| get(conn, &shelf, &key).map_err(|err| sqlite_error(&path, err))).await
    }

    async fn list(
        &self,
        shelf: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, String)>, StoreError> {
        let (shelf, prefix, after) = (shelf.to_owned(), prefix.to_owned(), after.map(str::to_owned));
        let path = self.path().to_owned();
        self.readers()
            .run(move |conn| {
                list(conn, &shelf, &prefix, after.as_deref(), limit).map_err(|err| sqlite_error(&path, err))
            })
            .await
    }

    async fn change(&self, changes: Vec<RecordChange>) -> Result<(), StoreError> {
        self.writer()?.request(WriteOp::Change(changes)).await.map(|_| ())
    }
}

/// Applies the changes inside the open transaction. A failure breaks it, and the writer then retries each request of
/// the group alone.
pub(crate) fn apply(conn: &Connection, changes: &[RecordChange]) -> rusqlite::Result<()> {
    for RecordChange { shelf, key, body } in changes {
        match body {
            Some(body) => conn
                .prepare_cached(
                    "INSERT INTO records (shelf, key, body) VALUES (?1, ?2, ?3)
                     ON CONFLICT (shelf, key) DO UPDATE SET body = excluded.body",
                )?
                .execute((shelf, key, body))?,
            None => conn
                .prepare_cached("DELETE FROM records WHERE shelf = ?1 AND key = ?2")?
                .execute((shelf, key))?,
        };
    }
    Ok(())
}

fn get(conn: &Connection, shelf: &str, key: &str) -> rusqlite::Result<Option<String>> {
    conn.prepare_cached("SELECT body FROM records WHERE shelf = ?1 AND key = ?2")?
        .query_row((shelf, key), |row| row.get(0))
        .optional()
}

fn list(
    conn: &Connection,
    shelf: &str,
    prefix: &str,
    after: Option<&str>,
    limit: usize,
) -> rusqlite::Result<Vec<(String, String)>> {
    // The index finds the first key with this prefix; the scan stops behind the last one. Not `LIKE`, for which some
    // letters of a key would be patterns, and not an upper bound, which need not be valid UTF-8.
    let (sql, from) = match after {
        Some(after) if after >= prefix => {
            ("SELECT key, body FROM records WHERE shelf = ?1 AND key > ?2 ORDER BY key", after)
        }
        _ => ("SELECT key, body FROM records WHERE shelf = ?1 AND key >= ?2 ORDER BY key", prefix),
    };
    let mut found = Vec::new();
    if limit == 0 {
        return Ok(found);
    }
    let mut select = conn.prepare_cached(sql)?;
    let mut rows = select.query((shelf, from))?;
    while let Some(row) = rows.next()? {
        let key: String = row.get(0)?;
        if !key.starts_with(prefix) {
            break;
        }
        found.push((key, row.get(1)?));
        if found.len() == limit {
            break;
        }
    }
    Ok(found)
}
