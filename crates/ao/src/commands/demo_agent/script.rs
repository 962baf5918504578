//! The actions of the scripted agent for each issue of the demo, and for the messages about it.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{about, send_line, show};
use crate::commands::demo::DemoIssue;
use crate::error::CommandError;

/// Time that the agent with the conflict waits for another to land first.
const AHEAD: Duration = Duration::from_secs(20);

/// An agent with one task.
pub(super) struct DemoScript {
    pause: Duration,
    tale: Option<DemoIssue>,
}

impl DemoScript {
    pub(super) fn new(pause: Duration) -> DemoScript {
        DemoScript { pause, tale: None }
    }

    /// Handles a prompt as a turn: first the task, then messages about it, recognised by ao's wording.
    pub(super) fn turn(&mut self, text: &str) -> Result<(), CommandError> {
        let Some(tale) = self.tale else {
            let Some(tale) = DemoIssue::ALL.into_iter().find(|tale| text.contains(tale.title())) else {
                return show("● That is none of the six things that I can do.");
            };
            self.tale = Some(tale);
            return self.first(tale);
        };
        match tale {
            _ if text.contains("conflicts with its base") => self.rebase(),
            DemoIssue::Red if text.contains("A check failed") => self.mend(),
            DemoIssue::Review if text.contains("asks for changes") => self.answer(),
            _ => show("● I have nothing to add to that."),
        }
    }

    fn first(&self, tale: DemoIssue) -> Result<(), CommandError> {
        self.work("reading the issue")?;
        match tale {
            DemoIssue::Clean => {
                program("goodbye", "echo \"Goodbye, ${1:-world}.\"")?;
                usage("goodbye NAME")?;
            }
            // Forgets the name, on purpose.
            DemoIssue::Red => program("shout", "echo \"HELLO, ${1:-world}.\"")?,
            DemoIssue::Review => {
                program("times", "n=$1\nwhile [ \"$n\" -gt 0 ]; do\n  echo 'Hello.'\n  n=$((n - 1))\ndone")?;
            }
            DemoIssue::Conflict => {
                program("goodnight", "echo \"Good night, ${1:-world}.\"")?;
                usage("goodnight NAME")?;
                self.let_others_go_ahead()?;
            }
            DemoIssue::Flaky => program("remote", "echo \"Hello from afar, ${1:-world}.\"")?,
            DemoIssue::Protected => append("deploy/release.sh", "echo signed")?,
        }
        self.work("writing it")?;
        self.commit(tale.title())?;
        // A reviewer should see it first.
        let draft: &[&str] = if tale == DemoIssue::Review { &["--draft"] } else { &[] };
        self.run(&ao()?, &[&["pr", "create", "--title", tale.title()], draft].concat())
    }

    fn mend(&self) -> Result<(), CommandError> {
        self.work("reading what failed")?;
        program("shout", "echo \"HELLO, ${1:-world}.\" | tr a-z A-Z")?;
        self.commit("Put the name in capital letters too")
    }

    fn answer(&self) -> Result<(), CommandError> {
        self.work("reading the review")?;
        program("times", "n=${1:-1}\nwhile [ \"$n\" -gt 0 ]; do\n  echo 'Hello.'\n  n=$((n - 1))\ndone")?;
        self.commit("Greet once if no number is given")?;
        let mine = std::env::var("AO_SESSION").unwrap_or_default();
        self.run(&ao()?, &["pr", "reply", &mine, "t1", "Done: without a number it greets once."])?;
        self.run(&ao()?, &["pr", "ready", &mine])
    }

    /// Rebases as instructed; where both sides added a line, keeps both.
    fn rebase(&self) -> Result<(), CommandError> {
        self.work("rebasing onto main")?;
        if git(&["rebase", "main"]).is_ok() {
            return Ok(());
        }
        let text = fs::read_to_string("USAGE.md").map_err(about("read USAGE.md"))?;
        let marks = ["<<<<<<<", "=======", ">>>>>>>"];
        let both = text.lines().filter(|line| !marks.iter().any(|mark| line.starts_with(mark)));
        let both = both.map(|line| format!("{line}\n")).collect::<String>();
        fs::write("USAGE.md", both).map_err(about("write USAGE.md"))?;
        self.run("git", &["add", "USAGE.md"])?;
        self.run("git", &["-c", "core.editor=true", "rebase", "--continue"])
    }

    fn commit(&self, title: &str) -> Result<(), CommandError> {
        self.run("git", &["add", "--all"])?;
        // After a restart, this may have been done already.
        if git(&["diff", "--cached", "--quiet"]).is_err() {
            self.run("git", &["commit", "--quiet", "-m", title])?;
        }
        self.run("git", &["push", "--quiet"])
    }

    /// Waits until `main` has moved, so that its own branch is out of date.
    fn let_others_go_ahead(&self) -> Result<(), CommandError> {
        let tip = || git(&["rev-parse", "main"]);
        let (before, until) = (tip()?, Instant::now() + AHEAD);
        while tip()? == before && Instant::now() < until {
            self.work("thinking about the best words")?;
            thread::sleep(Duration::from_millis(200));
        }
        Ok(())
    }

    fn work(&self, doing: &str) -> Result<(), CommandError> {
        send_line(&json!({ "ao": "working", "doing": doing }))?;
        thread::sleep(self.pause);
        Ok(())
    }

    /// Runs a program as a tool.
    fn run(&self, program: &str, args: &[&str]) -> Result<(), CommandError> {
        let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy().into_owned();
        show(&format!("● {name} {}", args.join(" ")))?;
        output_of(program, args).map(drop)
    }
}

/// Returns this program, regardless of which `ao` is in `PATH`.
fn ao() -> Result<String, CommandError> {
    let own = std::env::current_exe().map_err(about("find this program"))?;
    Ok(own.to_string_lossy().into_owned())
}

fn program(name: &str, lines: &str) -> Result<(), CommandError> {
    fs::write(format!("bin/{name}"), format!("#!/bin/sh\n{lines}\n")).map_err(about("write a program"))
}

fn usage(line: &str) -> Result<(), CommandError> {
    append("USAGE.md", line)
}

fn append(file: &str, line: &str) -> Result<(), CommandError> {
    let known = fs::read_to_string(file).map_err(about("read a file"))?;
    if known.lines().any(|known| known == line) {
        return Ok(());
    }
    let mut file = fs::OpenOptions::new().append(true).open(file).map_err(about("open a file"))?;
    writeln!(file, "{line}").map_err(about("write a file"))
}

fn git(args: &[&str]) -> Result<String, CommandError> {
    output_of("git", args)
}

/// Returns the output of a program, kept from the terminal: its lines could be taken for ours.
fn output_of(program: &str, args: &[&str]) -> Result<String, CommandError> {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output();
    let output = output.map_err(about("start a program"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(CommandError::environment(format!("`{program} {}` failed: {}", args.join(" "), why.trim())))
}
