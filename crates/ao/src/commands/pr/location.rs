//! A place in the files of a pull request, as typed.

use std::convert::Infallible;
use std::str::FromStr;

use ao_api::ThreadSide;

/// `src/main.rs:12`, `src/main.rs:12:old` for a line before the change, or `src/main.rs` for the file as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileLocation {
    pub(super) path: String,
    pub(super) line: Option<u32>,
    /// The line is one of the file before the change.
    pub(super) old: bool,
}

impl FileLocation {
    pub(super) fn side(&self) -> Option<ThreadSide> {
        self.line.map(|_| if self.old { ThreadSide::Old } else { ThreadSide::New })
    }
}

impl FromStr for FileLocation {
    type Err = Infallible;

    fn from_str(typed: &str) -> Result<FileLocation, Infallible> {
        let (rest, old) = match typed.rsplit_once(':') {
            Some((rest, "old")) => (rest, true),
            Some((rest, "new")) => (rest, false),
            _ => (typed, false),
        };
        // A colon may be part of a name; only a number after it makes it a line.
        let line = rest.rsplit_once(':').and_then(|(path, line)| Some((path, line.parse().ok()?)));
        Ok(match line {
            Some((path, line)) if !path.is_empty() && line > 0 => {
                FileLocation { path: path.to_owned(), line: Some(line), old }
            }
            _ => FileLocation { path: typed.to_owned(), line: None, old: false },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_path_with_or_without_a_line() {
        let place = |path: &str, line, old| Ok(FileLocation { path: path.into(), line, old });
        for (typed, right) in [
            ("src/a.rs:12", place("src/a.rs", Some(12), false)),
            ("src/a.rs:12:old", place("src/a.rs", Some(12), true)),
            ("src/a.rs:12:new", place("src/a.rs", Some(12), false)),
            ("src/a.rs", place("src/a.rs", None, false)),
            ("odd:name", place("odd:name", None, false)),
            ("odd:name:3", place("odd:name", Some(3), false)),
            ("a:0", place("a:0", None, false)),
            (":3", place(":3", None, false)),
            ("a:old", place("a:old", None, false)),
        ] {
            assert_eq!(typed.parse::<FileLocation>(), right, "{typed}");
        }
    }
}
