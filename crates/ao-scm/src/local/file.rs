//! A line of a file at a commit, for threads that are begun on it.

use ao_core::Commit;
use ao_ports::TrackerError;

use super::LocalError;
use super::repository::Repository;

/// Files that are larger are not read to find a line.
const LARGEST: usize = 8 * 1024 * 1024;

/// How much of a line is kept with a thread.
const CONTEXT: usize = 400;

impl Repository {
    /// The text of a line, if there is such a line; of a whole file, nothing. Refuses what cannot be spoken of.
    pub(super) async fn line(
        &self,
        commit: &Commit,
        path: &str,
        line: Option<u32>,
    ) -> Result<Option<String>, LocalError> {
        let args = ["--literal-pathspecs", "ls-tree", "-z", commit.as_str(), "--", path];
        let told = self.git.read(&args).await?;
        let short = commit.as_str().get(..10).unwrap_or_default();
        let refused = |why: String| LocalError::from(TrackerError::refused(why));
        let entry = told.split('\0').next().unwrap_or_default();
        let (kind, object) = match entry.split_once('\t') {
            Some((entry, found)) if found == path => {
                let mut words = entry.split(' ').skip(1);
                (words.next().unwrap_or_default(), words.next().unwrap_or_default())
            }
            _ => return Err(refused(format!("there is no file `{path}` at {short}"))),
        };
        if kind == "tree" {
            return Err(refused(format!("`{path}` is a folder at {short}; name a file")));
        }
        let Some(line) = line else { return Ok(None) };
        if kind != "blob" {
            return Err(refused(format!(
                "`{path}` is a submodule, which has no lines; comment on it as a whole"
            )));
        }
        let bytes = self.git.read_bytes(&["cat-file", "blob", object], LARGEST).await?;
        match line_of(&bytes, line) {
            Found::Line(text) => Ok(Some(text)),
            Found::Binary => {
                Err(refused(format!("`{path}` is binary and has no lines; comment on it as a whole")))
            }
            Found::None { .. } if bytes.len() == LARGEST => {
                Err(refused(format!("`{path}` is too large to find line {line}; comment on it as a whole")))
            }
            Found::None { lines } => {
                Err(refused(format!("`{path}` has {lines} lines at {short}, and no line {line}")))
            }
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Found {
    Line(String),
    None { lines: usize },
    Binary,
}

fn line_of(bytes: &[u8], line: u32) -> Found {
    // As git tells: a zero byte near the beginning.
    if memchr::memchr(0, &bytes[..bytes.len().min(8000)]).is_some() {
        return Found::Binary;
    }
    let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let lines = || text.split(|byte| *byte == b'\n').filter(|_| !bytes.is_empty());
    match (line as usize).checked_sub(1).and_then(|index| lines().nth(index)) {
        Some(line) => {
            let line = String::from_utf8_lossy(line);
            Found::Line(line.trim_end_matches('\r').chars().take(CONTEXT).collect())
        }
        None => Found::None { lines: lines().count() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_or_it_is_said_why_not() {
        let line = |text: &str| Found::Line(text.to_owned());
        assert_eq!(line_of(b"a\r\nb\r\n", 2), line("b"));
        assert_eq!(line_of(b"a\n\n", 2), line(""));
        assert_eq!(line_of(b"a\nlast", 2), line("last"));
        assert_eq!(line_of(b"a\nb\n", 3), Found::None { lines: 2 });
        assert_eq!(line_of(b"a\n", 0), Found::None { lines: 1 });
        assert_eq!(line_of(b"", 1), Found::None { lines: 0 });
        assert_eq!(line_of(b"PNG\0\n", 1), Found::Binary);
        assert_eq!(line_of("é".repeat(1000).as_bytes(), 1), line(&"é".repeat(400)));
    }
}
