//! `ao` in a home of its own.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

pub(crate) struct Home {
    dir: TempDir,
}

impl Home {
    pub(crate) fn new() -> Home {
        let home = Home { dir: tempfile::tempdir().unwrap() };
        std::fs::create_dir(home.path().join("tmp")).unwrap();
        home
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// `ao` with nothing of the caller's environment but the way to its programs.
    pub(crate) fn ao(&self, args: &[&str]) -> Command {
        self.ao_at(Path::new(env!("CARGO_BIN_EXE_ao")), args)
    }

    /// The same from another place, for users who cannot get at where it was built.
    pub(crate) fn ao_at(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path())
            .env("TMPDIR", self.path().join("tmp"))
            // Not the desktop of the person who runs the tests.
            .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
            .stdin(Stdio::null());
        command
    }

    /// A line for the shell, in the same surroundings.
    pub(crate) fn shell(&self, line: &str) -> Command {
        let mut command = self.ao_at(Path::new("sh"), &["-c", line]);
        command.current_dir(self.path());
        command
    }

    /// Runs it, and returns its exit code and all it said, in a form that is the same on every machine.
    pub(crate) fn run(&self, args: &[&str]) -> String {
        self.told(&self.ao(args).output().unwrap())
    }

    pub(crate) fn told(&self, output: &Output) -> String {
        let home = self.path().display().to_string();
        let text = |bytes: &[u8]| {
            let lines = String::from_utf8_lossy(bytes).replace(&home, "[home]");
            lines.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
        };
        let mut told = format!("exit {}", output.status.code().unwrap_or(-1));
        for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            if !bytes.is_empty() {
                told = format!("{told}\n-- {name} --\n{}", text(bytes));
            }
        }
        told
    }
}
