//! A terminal agent without a model: a real program with a real screen, whose prompts are its script.
//!
//! It has the features of real agents: an input box that takes pasted and typed drafts, a spinner while a turn runs,
//! dialogs, a transcript for each conversation, and hooks. Tags in the text that it receives control what it does in
//! a turn. Settings control how it misbehaves.
//!
//! ```text
//! scripted-agent [--conversation ID | --resume ID] [PROMPT]
//! scripted-agent --speak claude|codex|acp
//! ```
//!
//! The second form has no terminal: it is the [`ProtocolFake`](crate::ProtocolFake) of that protocol on stdin and stdout.
//!
//! | variable | meaning |
//! |---|---|
//! | `SCRIPTED_HOME` | folder for transcripts, drafts and counters; required, see [`AgentHome`] for reading them |
//! | `SCRIPTED_HOOK` | shell command that is run for each hook, with the event as JSON on its stdin |
//! | `SCRIPTED_SCRIPT` | settings, one per line or separated by `;`, or `@` and the path of a file with them |
//!
//! Tags, executed in order; text between them is ignored:
//!
//! | tag | effect |
//! |---|---|
//! | `[[work 3s]]` | works for that long (`250ms`, `3s`, `2m`) with a moving spinner |
//! | `[[tool CMD]]` | runs a shell command as a tool call, with its hooks and a moving spinner |
//! | `[[silent CMD]]` | the same, but nothing moves on the screen meanwhile |
//! | `[[busy 3s]]` | the same as `silent`, with a child that keeps a processor busy |
//! | `[[ask QUESTION]]` | opens a permission dialog: 1 yes, 2 no, 3 exit; Enter takes the marked one, Esc cancels |
//! | `[[say TEXT]]` | prints the text |
//! | `[[crash N]]` | leaves the terminal as it is and exits with N |
//! | `[[kill9]]` | kills itself with SIGKILL |
//! | `[[fork PORT]]` | starts a server on that port that has left the process tree and the terminal's session |
//! | `[[limit 17:42]]`, `[[limit 17:42:30]]` | reports that the provider's limit is reached until then, and ends the turn |
//! | `[[screen unknown]]` | shows an unknown screen, until a key is pressed |
//! | `[[set SETTING]]` | changes a setting from now on |
//!
//! Settings:
//!
//! | setting | effect |
//! |---|---|
//! | `swallow-enters N` | the next N presses of Enter on a draft do nothing |
//! | `never-submit` | Enter never does anything on a draft |
//! | `lose-hook EVENT` | that hook is not run; `*` for all |
//! | `delay-hook EVENT 2s` | that hook is run so much later |
//! | `stale-dialog` | an answered dialog stays on the screen, above the prompt |
//! | `outlive-terminal` | goes on without its terminal; start it with SIGHUP ignored |
//! | `first-launch trust` | begins with that dialog, whose marked choice is to exit: `trust`, `onboarding`, `unknown` |
//! | `slow-start 2s` | shows nothing at first |
//! | `die-at-start N` | the first N starts in this home exit with 1 |
//! | `slow-redraw 20ms` | waits so long after each line that it draws |
//! | `no-bracketed-paste` | does not ask for pasted text to be marked, and does not understand the marks |
//! | `collapse-paste N` | pasted text of more than N lines is shown as `[Pasted text #1 +N lines]` |
//! | `alternate-screen` | takes the whole screen |
//! | `ignore-tags` | text is only text |
//! | `take-up` | a text without tags repeats the last turn that had some |
//! | `notify-after 6s` | time after which an open dialog sends a reminder as a notification |
//! | `remind-after 60s` | time after which an idle agent sends a notification |

mod app;
mod dialog;
mod draw;
mod home;
mod hooks;
mod keys;
mod settings;
mod speak;
mod tags;
mod terminal;
mod turn;

use std::path::PathBuf;
use std::process::ExitCode;

pub use home::AgentHome;

/// Runs the agent with the arguments and the environment of this process.
pub fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let ended = match args.next().as_deref() {
        Some("--speak") => speak::run(&args.next().unwrap_or_default()),
        _ => app::run(std::env::args().skip(1)),
    };
    match ended {
        Ok(code) => ExitCode::from(code),
        Err(why) => {
            eprintln!("scripted-agent: {why}");
            ExitCode::from(1)
        }
    }
}

/// Screen patterns and keys of the agent, as `ao_agent::Options` in JSON. The test adds program and environment.
pub const MANIFEST: &str = r#"{
    "name": "scripted",
    "args": ["--conversation", "{conversation}"],
    "resume": ["--resume", "{conversation}"],
    "prompt": "typed",
    "hooks": true,
    "screen": {
        "prompt": "^│ >( |$)",
        "busy": "^[✻✽✶✢] (?P<doing>\\w+)… \\(",
        "dialog": "^│ (?P<question>[^\\n]*)\\n│ [❯ ] 1\\. ",
        "limit": "hit your limit · resets (?P<time>[0-9:apm ]+)",
        "draft": "^│ [> ](?: (?P<text>.*))?$",
        "pasted": "\\[Pasted text #\\d+ \\+\\d+ lines\\]"
    },
    "keys": {
        "interrupt": "\u001b",
        "answers": { "yes": "1", "no": "2", "1": "1", "2": "2", "3": "3" }
    },
    "first_launch": [
        { "question": "Do you trust the files in this folder\\?", "answer": "yes" },
        { "question": "Choose the text style", "answer": "1" }
    ]
}"#;

/// Finds the program beside the running test.
///
/// Cargo builds it there for the tests of this crate and of the whole workspace. A crate that is tested alone has an
/// example of the same name that calls [`main`].
pub fn program() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let profile = test.parent().and_then(|deps| deps.parent()).expect("tests lie in target/<profile>/deps");
    let places = [profile.join("examples/scripted-agent"), profile.join("scripted-agent")];
    places
        .into_iter()
        .find(|place| place.exists())
        .expect("the scripted agent is built: run `cargo build -p ao-testkit --bin scripted-agent`")
}
