//! Lines of a file at a commit, for threads that start on them.

use ao_core::Commit;
use ao_ports::ScmError;

use super::LocalError;
use super::repository::LocalRepository;

/// The largest file that is searched for a line, in bytes.
const LARGEST: usize = 8 * 1024 * 1024;

/// The most characters of a line that are kept with a thread.
const CONTEXT: usize = 400;

impl LocalRepository {
    /// Returns the text of a line, or nothing for a whole file. Refuses paths and lines that do not exist.
    pub(super) async fn line(
        &self,
        commit: &Commit,
        path: &str,
        line: Option<u32>,
    ) -> Result<Option<String>, LocalError> {
        let args = ["--literal-pathspecs", "ls-tree", "-z", commit.as_str(), "--", path];
        let output = self.git.read(&args).await?;
        let short = commit.as_str().get(..10).unwrap_or_default();
        let refused = |why: String| LocalError::from(ScmError::refused(why));
        let entry = output.split('\0').next().unwrap_or_default();
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
            LineLookup::Line(text) => Ok(Some(text)),
            LineLookup::Binary => {
                Err(refused(format!("`{path}` is binary and has no lines; comment on it as a whole")))
            }
            LineLookup::None { .. } if bytes.len() == LARGEST => {
                Err(refused(format!("`{path}` is too large to find line {line}; comment on it as a whole")))
            }
            LineLookup::None { lines } => {
                Err(refused(format!("`{path}` has {lines} lines at {short}, and no line {line}")))
            }
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum LineLookup {
    Line(String),
    None { lines: usize },
    Binary,
}

fn line_of(bytes: &[u8], line: u32) -> LineLookup {
    // Like git: a zero byte near the beginning.
    if memchr::memchr(0, &bytes[..bytes.len().min(8000)]).is_some() {
        return LineLookup::Binary;
    }
    let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let lines = || text.split(|byte| *byte == b'\n').filter(|_| !bytes.is_empty());
    match (line as usize).checked_sub(1).and_then(|index| lines().nth(index)) {
        Some(line) => {
            let line = String::from_utf8_lossy(line);
            LineLookup::Line(line.trim_end_matches('\r').chars().take(CONTEXT).collect())
        }
        None => LineLookup::None { lines: lines().count() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_or_the_reason_is_given() {
        let line = |text: &str| LineLookup::Line(text.to_owned());
        assert_eq!(line_of(b"a\r\nb\r\n", 2), line("b"));
        assert_eq!(line_of(b"a\n\n", 2), line(""));
        assert_eq!(line_of(b"a\nlast", 2), line("last"));
        assert_eq!(line_of(b"a\nb\n", 3), LineLookup::None { lines: 2 });
        assert_eq!(line_of(b"a\n", 0), LineLookup::None { lines: 1 });
        assert_eq!(line_of(b"", 1), LineLookup::None { lines: 0 });
        assert_eq!(line_of(b"PNG\0\n", 1), LineLookup::Binary);
        assert_eq!(line_of("é".repeat(1000).as_bytes(), 1), line(&"é".repeat(400)));
    }
}
