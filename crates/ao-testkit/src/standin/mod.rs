//! A stand-in for the model APIs, so that the real agent programs run without a model: the prompt is its script.
//!
//! It serves Anthropic messages, OpenAI responses and chat completions, and Gemini, streamed or not, on loopback. It
//! keeps no conversation: a request carries the whole conversation, and the step is the number of tool results after
//! the newest prompt. It has no tool names of its own: it picks a tool from the list in the request and fills its
//! arguments by the tool's schema.
//!
//! Tags in the newest prompt, executed in order, one for each answer:
//!
//! | tag | effect |
//! |---|---|
//! | `[[say TEXT]]` | answers with the text; ends the turn |
//! | `[[run CMD]]`, `[[sh CMD]]` | calls the shell tool |
//! | `[[background CMD]]` | calls the shell tool, to run in the background |
//! | `[[write FILE TEXT]]` | calls the tool that writes files |
//! | `[[fill FILE BYTES]]` | the same, with a text of that size |
//! | `[[question TEXT \| OPTION \| OPTION]]` | calls the tool that asks the user |
//! | `[[tool NAME JSON]]` | calls this tool with these arguments |
//!
//! A script that does not end with `say` gets a closing text. A prompt without a step writes `hello.txt`, commits it and
//! says so. Tags that change how it answers:
//!
//! | tag | effect |
//! |---|---|
//! | `[[ask]]` | a command asks to leave the sandbox, where the shell tool can (Codex) |
//! | `[[slow SECONDS]]` | waits before each answer |
//! | `[[drip SECONDS]]` | spreads the text over this time |
//! | `[[http CODE TIMES]]` | refuses with this status: so many times, or always |
//! | `[[limit SECONDS]]` | refuses with 429 and the headers of a usage limit, which ends so long after the first refusal |
//! | `[[hang TIMES]]` | accepts the request and sends nothing, so many times or always |
//! | `[[stall TIMES]]` | sends the start of the stream and nothing more |
//! | `[[cut TIMES]]` | closes the connection in the middle of the stream |
//!
//! Trouble meets only requests that offer tools: agents also ask for titles and summaries, without tools.

mod decide;
mod protocol;
mod record;
mod script;
mod server;

use std::path::PathBuf;

pub use record::{RecordedRequest, turns_with};
pub use server::{StandinOptions, StandinServer};

/// Finds the program `ao-model-standin` beside the running test or program.
pub fn program() -> PathBuf {
    let own = std::env::current_exe().expect("a program knows its own path");
    let folders = own.ancestors().skip(1).take(2);
    folders
        .map(|folder| folder.join("ao-model-standin"))
        .find(|place| place.exists())
        .expect("it is built: run `cargo build -p ao-testkit --features standin --bin ao-model-standin`")
}
