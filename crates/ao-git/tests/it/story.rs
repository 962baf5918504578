//! Repositories written by `git fast-import`: without a checkout, so many can be created.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Files by their paths: the mode and the content.
pub(crate) type Files = BTreeMap<String, (&'static str, String)>;

/// Runs git and returns its output, and whether it succeeded.
pub(crate) fn git(dir: &Path, args: &[&str]) -> (String, bool) {
    let output = Command::new("git").args(args).current_dir(dir).output().unwrap();
    (String::from_utf8_lossy(&output.stdout).trim_end().to_owned(), output.status.success())
}

/// The input of `git fast-import`.
#[derive(Default)]
pub(crate) struct Story(Vec<u8>);

impl Story {
    pub(crate) fn branch(&mut self, name: &str, from: &str) {
        write!(self.0, "reset refs/heads/{name}\nfrom refs/heads/{from}\n\n").unwrap();
    }

    /// Adds a commit to the branch, with these files and no others.
    pub(crate) fn commit(&mut self, name: &str, merge: Option<&str>, files: &Files) {
        write!(self.0, "commit refs/heads/{name}\ncommitter T <t@example.com> 1700000000 +0000\ndata 1\nx\n")
            .unwrap();
        if let Some(merge) = merge {
            writeln!(self.0, "merge refs/heads/{merge}").unwrap();
        }
        writeln!(self.0, "deleteall").unwrap();
        for (path, (mode, text)) in files {
            writeln!(self.0, "M {mode} inline {path}\ndata {}\n{text}", text.len()).unwrap();
        }
        writeln!(self.0).unwrap();
    }

    /// Adds a commit that only changes some files.
    pub(crate) fn edit(&mut self, name: &str, files: &Files) {
        write!(self.0, "commit refs/heads/{name}\ncommitter T <t@example.com> 1700000000 +0000\ndata 1\nx\n")
            .unwrap();
        for (path, (mode, text)) in files {
            writeln!(self.0, "M {mode} inline {path}\ndata {}\n{text}", text.len()).unwrap();
        }
        writeln!(self.0).unwrap();
    }

    pub(crate) fn tell(self, dir: &Path) {
        let mut import = Command::new("git");
        import.args(["fast-import", "--quiet", "--force"]).current_dir(dir).stdin(Stdio::piped());
        let mut import = import.spawn().unwrap();
        import.stdin.take().unwrap().write_all(&self.0).unwrap();
        assert!(import.wait().unwrap().success());
    }
}
