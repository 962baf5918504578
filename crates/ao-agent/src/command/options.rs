//! Which program, and how it is spoken to. Plain data, as a manifest has it.

use std::collections::BTreeMap;
use std::time::Duration;

use ao_core::session::AgentChoice;
use ao_ports::Io;
use serde::{Deserialize, Serialize};

/// A program as an agent.
///
/// In `args` and `resume`, `{prompt}`, `{prompt_file}` and `{conversation}` stand for what their names say.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// What people call it.
    pub name: String,
    pub program: String,
    pub args: Vec<String>,
    /// The arguments that go on with an earlier conversation. Absent if it cannot.
    pub resume: Option<Vec<String>>,
    /// A file that exists for as long as a conversation can be resumed. `{conversation}`, `{path}` (the workspace's) and
    /// `{path_dashes}` (the same with `-` for `/` and `.`) are replaced, and `~/` is the home folder.
    pub conversation_file: Option<String>,
    pub env: BTreeMap<String, String>,
    /// Names that are passed on from the daemon's environment.
    pub pass: Vec<String>,
    pub prompt: Prompt,
    /// Arguments that choose a model, with `{model}` for its name. Like those below, they come in the place of an argument
    /// that is just `{options}`, or first.
    pub model: Vec<String>,
    /// Arguments that say what it may do without asking, by the configuration's words for that.
    pub permissions: BTreeMap<String, Vec<String>>,
    /// What stands before a prompt that comes last and begins with `-`, so that it is not taken for an option: `--`, unless
    /// another word is given here. An empty one for a program that knows none. A `{prompt}` in `args` is left alone.
    pub end_of_options: Option<String>,
    /// How the process is held; a terminal if it is typed at, pipes otherwise.
    pub io: Option<Io>,
    /// The program runs `ao hook`, so what it takes and does is told by that.
    pub hooks: bool,
    /// Takes messages into a running turn by itself.
    pub steer: bool,
    pub screen: ScreenOptions,
    pub keys: Keys,
    /// Questions of a first launch that have one right answer for a program in a workspace of its own, such as whether the
    /// folder is trusted. Each is answered once, before the agent is first seen at its prompt; all others are a person's.
    pub first_launch: Vec<Welcome>,
}

/// A question of a first launch, and what is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Welcome {
    /// A regular expression for the whole question, as the screen's `dialog` tells it.
    pub question: String,
    /// As a person would answer it: a word of `keys.answers`, a digit, or text.
    pub answer: String,
}

/// How the program is given its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prompt {
    /// By the line protocol on its stdin, like every later message.
    #[default]
    Lines,
    /// As an argument: in the place of `{prompt}`, or last. It does that one thing and ends; a message starts it again.
    Argument,
    /// On its stdin, which then ends. It does that one thing and ends, as with [`Prompt::Argument`].
    ///
    /// The runtime keeps the pipes of its processes open, so the text is put into a file, and a shell gives that to the
    /// program as its stdin.
    Stdin,
    /// In a file that only its user can read, outside of the repository, in the place of `{prompt_file}` or last. It does
    /// that one thing and ends, as with [`Prompt::Argument`].
    File,
    /// Typed into its terminal, like every later message; with the launch, if `args` have `{prompt}` or `{prompt_file}`.
    Typed,
}

/// What is on its screen when. Regular expressions over all lines, in which `^` and `$` stand for their ends.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScreenOptions {
    /// It sits at its prompt.
    pub prompt: Option<String>,
    /// A turn runs. A group `doing` says what it does.
    pub busy: Option<String>,
    /// A dialog is open, unless the prompt is below it. A group `question` has what is asked.
    pub dialog: Option<String>,
    /// The provider refuses more work. A group `time` has the time of day until when, such as `17:42` or `5pm`.
    pub limit: Option<String>,
    /// A line of the input box. A group `text` has what of it is the draft.
    pub draft: Option<String>,
    /// What stands in the input box for a long text that was pasted.
    pub pasted: Option<String>,
}

/// Which keys do what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Keys {
    /// Submits a draft.
    pub submit: String,
    /// Ends a running turn, for messages that interrupt. Absent if they are just typed.
    pub interrupt: Option<String>,
    /// What stands for a line break where pasted text is not marked as such.
    pub line_break: String,
    /// What is pressed for an answer to a dialog, by the answer in small letters. Of others, one digit is pressed as it is,
    /// and any other is typed and submitted.
    pub answers: BTreeMap<String, String>,
    /// How long after a person's last key nothing is typed.
    #[serde(rename = "human_quiet_ms", with = "milliseconds")]
    pub human_quiet: Duration,
}

impl Default for Keys {
    fn default() -> Keys {
        Keys {
            submit: "\r".into(),
            interrupt: None,
            line_break: " ".into(),
            answers: BTreeMap::new(),
            human_quiet: Duration::from_secs(10),
        }
    }
}

impl Options {
    pub fn io(&self) -> Io {
        self.io.unwrap_or(if self.prompt == Prompt::Typed { Io::Terminal } else { Io::Pipes })
    }

    /// The word before a prompt that comes last, if this one needs it.
    pub(super) fn before_prompt(&self, prompt: &str) -> Option<String> {
        let word = self.end_of_options.as_deref().unwrap_or("--");
        (prompt.starts_with('-') && !word.is_empty()).then(|| word.to_owned())
    }

    /// The arguments that make a choice of this agent what it is.
    pub(super) fn choose(&self, choice: &AgentChoice) -> Vec<String> {
        let model =
            choice.model.iter().flat_map(|model| self.model.iter().map(|arg| arg.replace("{model}", model)));
        // What is not said is as the agent's maker thinks right for a program that nobody watches.
        let permissions = choice.permissions.as_deref().unwrap_or("default");
        let permissions = self.permissions.get(permissions).into_iter().flatten().cloned();
        model.chain(permissions).chain(choice.args.iter().cloned()).collect()
    }

    /// Whether the task goes with the launch.
    pub(super) fn prompt_at_launch(&self) -> bool {
        let mentions = |word: &str| self.args.iter().any(|arg| arg.contains(word));
        match self.prompt {
            Prompt::Lines => false,
            Prompt::Argument | Prompt::Stdin | Prompt::File => true,
            Prompt::Typed => mentions("{prompt}") || mentions("{prompt_file}"),
        }
    }

    /// Whether each message is a process of its own.
    pub(super) fn one_turn(&self) -> bool {
        matches!(self.prompt, Prompt::Argument | Prompt::Stdin | Prompt::File)
    }
}

/// A time as one number, as people write it.
mod milliseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}
