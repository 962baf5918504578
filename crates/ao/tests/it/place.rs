//! A home with repositories in it, and a machine that has only the programs one puts there.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::geteuid;

use crate::support::Home;

/// A user who owns nothing.
const NOBODY: u32 = 65534;

/// A home, and the only folder that `PATH` leads to.
pub(crate) struct Place {
    pub(crate) home: Home,
}

impl Place {
    /// A machine with git and what its own scripts need, and nothing else.
    pub(crate) fn new() -> Place {
        let place = Place::without_git();
        for program in ["git", "sh"] {
            place.link(program);
        }
        place
    }

    pub(crate) fn without_git() -> Place {
        let place = Place { home: Home::new() };
        std::fs::create_dir(place.bin()).unwrap();
        place
    }

    pub(crate) fn bin(&self) -> PathBuf {
        self.home.path().join("bin")
    }

    /// Installs a program that this machine has.
    pub(crate) fn link(&self, program: &str) {
        let path = std::env::var_os("PATH").unwrap();
        let found =
            std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file());
        let found = found.unwrap_or_else(|| panic!("{program} is needed for this test"));
        symlink(found, self.bin().join(program)).unwrap();
    }

    /// Installs a program that does what this shell script says.
    pub(crate) fn script(&self, program: &str, script: &str) {
        let file = self.bin().join(program);
        std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Makes a repository in the home, with a commit on `main`.
    pub(crate) fn repository(&self, name: &str) -> PathBuf {
        let folder = self.home.path().join(name);
        self.git(self.home.path(), &["init", "--quiet", "--initial-branch", "main", name]);
        let who = ["-c", "user.name=You", "-c", "user.email=you@example.invalid"];
        self.git(&folder, &[&who[..], &["commit", "--quiet", "--allow-empty", "-m", "First"]].concat());
        folder
    }

    pub(crate) fn git(&self, folder: &Path, args: &[&str]) {
        let mut command = Command::new("git");
        command.args(args).current_dir(folder).env("HOME", self.home.path()).stdin(Stdio::null());
        assert!(command.status().unwrap().success(), "git {args:?}");
    }

    /// `ao` in a folder, with only the programs of this machine.
    pub(crate) fn ao(&self, folder: &Path, args: &[&str]) -> Command {
        let mut command = self.home.ao(args);
        command.current_dir(folder).env("PATH", self.bin());
        command
    }

    /// Runs it, and returns its exit code and all it said.
    pub(crate) fn run(&self, folder: &Path, args: &[&str]) -> String {
        self.home.told(&self.ao(folder, args).output().unwrap())
    }

    /// The same by somebody for whom permissions count. That is another user if root runs the tests.
    pub(crate) fn ao_of_somebody(&self, folder: &Path, args: &[&str]) -> Command {
        if !geteuid().is_root() {
            return self.ao(folder, args);
        }
        let program = self.home.path().join("ao-program");
        if !program.exists() {
            std::fs::copy(env!("CARGO_BIN_EXE_ao"), &program).unwrap();
        }
        for path in [self.home.path(), &self.bin()] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut command = self.home.ao_at(&program, args);
        command.current_dir(folder).env("PATH", self.bin()).uid(NOBODY).gid(NOBODY);
        command
    }

    /// Makes a folder theirs, with all that is in it.
    pub(crate) fn give_away(&self, folder: &Path) {
        if !geteuid().is_root() {
            return;
        }
        std::os::unix::fs::lchown(folder, Some(NOBODY), Some(NOBODY)).unwrap();
        if folder.symlink_metadata().unwrap().is_dir() {
            for entry in folder.read_dir().unwrap() {
                self.give_away(&entry.unwrap().path());
            }
        }
    }

    /// What is in a folder, but for what git keeps there.
    pub(crate) fn entries(&self, folder: &Path) -> Vec<String> {
        let name =
            |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<String> =
            folder.read_dir().unwrap().map(name).filter(|name| name != ".git").collect();
        names.sort();
        names
    }
}
