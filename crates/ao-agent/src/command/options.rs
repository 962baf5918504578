//! The options of an agent: its program and how to talk to it. Plain data, as in a manifest.

use std::collections::BTreeMap;
use std::time::Duration;

use ao_core::session::AgentChoice;
use ao_ports::{ProcessIo, RuntimeAbilities};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::drivers::protocol::ProtocolKind;
use crate::turn::TurnFormat;

/// Describes a program as an agent. Users write it under `tools:`, so the comments here are their reference: the schema of the
/// configuration is made from these types (`cargo xtask generate`), and a new key needs no other place than this one.
///
/// Manifests are written with `snake_case` names. A configuration uses `camelCase`, so a field with an underscore has an alias.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(
    rename = "ToolConfig",
    rename_all = "camelCase",
    description = "An agent of your own: how its program is started, read and spoken to. In `args` and `resume`, `{prompt}`, \
        `{prompt_file}` and `{conversation}` stand for what their names say, and `{options}` for the arguments of `model` and \
        `permissions`.",
    extend("required" = ["program"])
)]
pub struct Options {
    /// Its name; by default the key of this entry.
    pub name: String,
    /// The program to start: a name on `PATH`, or an absolute path.
    pub program: String,
    /// The command that installs it.
    pub install: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// The arguments that resume a conversation, in place of `args`. Absent if it cannot.
    pub resume: Option<Vec<String>>,
    /// A file that exists for as long as a conversation can be resumed. `{conversation}`, `{path}` (the workspace's) and
    /// `{path_dashes}` (the same with `-` for `/` and `.`) are replaced, and `~/` is the home folder.
    #[serde(alias = "conversationFile")]
    pub conversation_file: Option<String>,
    /// Variables that are set for it.
    #[schemars(extend("x-text" = true))]
    pub env: BTreeMap<String, String>,
    /// Names of variables that are passed on from the daemon's environment.
    pub pass: Vec<String>,
    /// How it gets its task.
    pub prompt: Prompt,
    /// The protocol by which it is spoken to: `claude`, `codex` or `acp`. It then stays between its turns, asks for permissions,
    /// can be interrupted and reports what it uses.
    pub protocol: Option<ProtocolKind>,
    /// What is sent with the opening request of the protocol, by the words of `agentConfig.permissions`: the parameters of
    /// `thread/start` for `codex`, `mode` for `acp`.
    pub opening: BTreeMap<String, Value>,
    /// Arguments that choose a model, with `{model}` for its name. Like those of `effort` and `permissions`, they come in the place of an
    /// argument that is just `{options}`, or first.
    pub model: Vec<String>,
    /// Arguments that choose a reasoning effort, with `{effort}` for its name.
    pub effort: Vec<String>,
    /// Arguments that set what it may do without asking, for each value of `agentConfig.permissions`: `default`, `auto-edit`,
    /// `suggest` and `permissionless`.
    pub permissions: BTreeMap<String, Vec<String>>,
    /// The word before a prompt that comes last and begins with `-`, so that it is not taken for an option: `--`, unless
    /// another word is given here. An empty one for a program that knows none. A `{prompt}` in `args` is left alone.
    #[serde(alias = "endOfOptions")]
    pub end_of_options: Option<String>,
    /// A command to run in the workspace after a successful turn, for a program that runs no commands itself.
    ///
    /// Here, in `permissions` and in `env`, `{ao}` is our own program, `{check_logs}` the folder of the logs that messages name,
    /// `{git_dir}` the git folder of the workspace and `{git_common}` the one that it shares with the repository.
    pub after: Vec<String>,
    /// How the process is held: in a terminal if messages are typed, with pipes if they are lines, and otherwise without input.
    pub io: Option<ProcessIo>,
    /// Whether the program runs `ao hook` to report its turns and its state.
    pub hooks: bool,
    /// Whether it takes messages into a running turn by itself.
    pub steer: bool,
    /// Ends its running turn when it is sent `cancel` by the line protocol, and stays. A program that is typed at does so with
    /// `keys.interrupt`.
    pub cancel: bool,
    /// How its screen is read.
    pub screen: ScreenOptions,
    /// How its output is read, if it runs for one turn and has no screen.
    pub output: OutputOptions,
    /// Which keys do what.
    pub keys: Keys,
    /// Questions of a first launch that have one right answer for a program in a workspace of its own, such as whether the
    /// folder is trusted. Each is answered once, before the agent is first seen at its prompt; all others are a person's.
    #[serde(alias = "firstLaunch")]
    pub first_launch: Vec<Welcome>,
}

/// The settings of a configuration that a program has to understand.
#[derive(Debug, Clone, Copy, Default)]
pub struct AgentSettings<'a> {
    pub permissions: Option<&'a str>,
    pub model: Option<&'a str>,
    pub effort: Option<&'a str>,
}

/// A question of a first launch, and what is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ToolWelcome")]
pub struct Welcome {
    /// A regular expression for the whole question, as `dialog` of the screen captures it.
    #[schemars(extend("x-kind" = "regex"))]
    pub question: String,
    /// As a person would answer it: a word of `keys.answers`, a digit, or text.
    pub answer: String,
}

/// How the program gets its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ToolPrompt")]
pub enum Prompt {
    /// By the line protocol on its stdin, like every later message.
    #[default]
    Lines,
    /// As an argument: in the place of `{prompt}`, or last. It does that one thing and ends; a message starts it again.
    Argument,
    /// On its stdin, which then ends. It does that one thing and ends, as with `argument`.
    ///
    /// The text is put into a file, and a shell gives that to the program as its stdin.
    Stdin,
    /// In a file that only its user can read, outside of the repository, in the place of `{prompt_file}` or last. It does
    /// that one thing and ends, as with `argument`.
    File,
    /// Typed into its terminal, like every later message; with the launch, if `args` have `{prompt}` or `{prompt_file}`.
    Typed,
}

/// What is on its screen when. Regular expressions over all lines, in which `^` and `$` stand for their ends.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "ToolScreen", rename_all = "camelCase")]
pub struct ScreenOptions {
    /// It sits at its prompt.
    #[schemars(extend("x-kind" = "regex"))]
    pub prompt: Option<String>,
    /// A turn runs. A group `doing` says what it does.
    #[schemars(extend("x-kind" = "regex"))]
    pub busy: Option<String>,
    /// A dialog is open, unless the prompt is below it. A group `question` has what is asked.
    #[schemars(extend("x-kind" = "regex"))]
    pub dialog: Option<String>,
    /// The provider refuses more work. A group `time` has the time of day until when, such as `17:42` or `5pm`.
    #[schemars(extend("x-kind" = "regex"))]
    pub limit: Option<String>,
    /// A line of the input box. A group `text` has what of it is the draft.
    #[schemars(extend("x-kind" = "regex"))]
    pub draft: Option<String>,
    /// What stands in the input box for a long text that was pasted.
    #[schemars(extend("x-kind" = "regex"))]
    pub pasted: Option<String>,
}

/// What a program that runs for one turn puts out. Regular expressions over one line each.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "ToolOutput", rename_all = "camelCase")]
pub struct OutputOptions {
    /// The language of its reports: `text`, `claude`, `codex`, `opencode` or `gemini`.
    pub format: TurnFormat,
    /// The provider refuses more work. A group `time` has the time of day until when, such as `17:42` or `5pm`.
    #[schemars(extend("x-kind" = "regex"))]
    pub limit: Option<String>,
    /// There is no conversation of the id that it was to go on with.
    #[schemars(extend("x-kind" = "regex"))]
    pub gone: Option<String>,
}

/// Which keys do what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "ToolKeys", rename_all = "camelCase")]
pub struct Keys {
    /// Submits a draft.
    pub submit: String,
    /// Ends a running turn, for messages that interrupt and for spent budgets. Absent if messages are just typed.
    pub interrupt: Option<String>,
    /// What stands for a line break where pasted text is not marked as such.
    #[serde(alias = "lineBreak")]
    pub line_break: String,
    /// What is pressed for an answer to a dialog, by the answer in small letters. Of others, one digit is pressed as it is,
    /// and any other is typed and submitted.
    #[schemars(extend("x-text" = true))]
    pub answers: BTreeMap<String, String>,
    /// How many milliseconds after a person's last key nothing is typed.
    #[serde(rename = "human_quiet_ms", alias = "humanQuietMs", with = "milliseconds")]
    #[schemars(rename = "humanQuietMs", with = "u64")]
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
    pub fn io(&self) -> ProcessIo {
        self.io.unwrap_or(match self.prompt {
            Prompt::Typed => ProcessIo::Terminal,
            Prompt::Lines => ProcessIo::Pipes,
            Prompt::Argument | Prompt::Stdin | Prompt::File => ProcessIo::Output,
        })
    }

    /// Returns the separator before a prompt that comes last, if this one needs it.
    pub(super) fn before_prompt(&self, prompt: &str) -> Option<String> {
        let word = self.end_of_options.as_deref().unwrap_or("--");
        (prompt.starts_with('-') && !word.is_empty()).then(|| word.to_owned())
    }

    /// Returns the arguments for a choice of model and permissions.
    pub(super) fn choose(&self, choice: &AgentChoice) -> Vec<String> {
        let filled = |args: &[String], word: &str, value: &Option<String>| -> Vec<String> {
            value.iter().flat_map(|value| args.iter().map(|arg| arg.replace(word, value))).collect()
        };
        let model = filled(&self.model, "{model}", &choice.model);
        let effort = filled(&self.effort, "{effort}", &choice.effort);
        // The default is what the agent's maker considers right for an unattended program.
        let permissions = choice.permissions.as_deref().unwrap_or("default");
        let permissions = self.permissions.get(permissions).into_iter().flatten().cloned();
        [model, effort, permissions.collect(), choice.args.clone()].concat()
    }

    /// Returns what is sent with the opening request of its protocol.
    pub(super) fn opening(&self, choice: &AgentChoice) -> Value {
        let permissions = choice.permissions.as_deref().unwrap_or("default");
        self.opening.get(permissions).cloned().unwrap_or_default()
    }

    /// Returns why this agent cannot be started as configured: it has no permission profile of that name, or does not
    /// support choosing a model or an effort. Ignoring such a setting would start it with other permissions than requested.
    pub fn cannot_take(&self, settings: AgentSettings<'_>) -> Option<String> {
        let AgentSettings { permissions, model, effort } = settings;
        let unknown = permissions.filter(|word| *word != "default" && !self.permissions.contains_key(*word));
        if let Some(word) = unknown {
            let known: Vec<String> = self.permissions.keys().map(|known| format!("`{known}`")).collect();
            let has = match known.is_empty() {
                true => "none but its own default".to_owned(),
                false => known.join(", "),
            };
            return Some(format!(
                "the agent `{}` has no permission profile `{word}` (it has {has})",
                self.name
            ));
        }
        if let Some(model) = model.filter(|_| self.model.is_empty()) {
            return Some(format!("the agent `{}` cannot use the model `{model}`", self.name));
        }
        let effort = effort.filter(|_| self.effort.is_empty())?;
        Some(format!("the agent `{}` has no setting for the effort `{effort}`", self.name))
    }

    /// Returns true if the task is passed at launch.
    pub(super) fn prompt_at_launch(&self) -> bool {
        let mentions = |word: &str| self.args.iter().any(|arg| arg.contains(word));
        match self.prompt {
            Prompt::Lines => false,
            Prompt::Argument | Prompt::Stdin | Prompt::File => true,
            Prompt::Typed => mentions("{prompt}") || mentions("{prompt_file}"),
        }
    }

    /// Returns true if a launch with these arguments needs a file with the prompt.
    pub(super) fn needs_files(&self, args: &[String]) -> bool {
        matches!(self.prompt, Prompt::File | Prompt::Stdin)
            || args.iter().any(|arg| arg.contains("{prompt_file}"))
    }

    /// Returns the reason why a runtime with these abilities cannot hold the agent, if it cannot.
    pub fn unfit_for(&self, runtime: RuntimeAbilities) -> Option<&'static str> {
        let args = [&self.args[..], self.resume.as_deref().unwrap_or_default()].concat();
        if !runtime.holds(self.io()) {
            return Some(match self.io() {
                ProcessIo::Terminal => "needs a terminal",
                ProcessIo::Pipes => "needs pipes for stdin and stdout",
                ProcessIo::Output => "runs without input",
            });
        }
        if self.protocol.is_some() && !runtime.remembers_writes {
            return Some("needs a runtime that writes each of its messages once");
        }
        if self.hooks && !runtime.shares_files {
            return Some("reports by hooks through a folder of this machine");
        }
        (self.needs_files(&args) && !runtime.places_files).then_some("needs its task in a file")
    }

    /// Returns true if each message is a process of its own.
    pub fn one_turn(&self) -> bool {
        matches!(self.prompt, Prompt::Argument | Prompt::Stdin | Prompt::File)
    }
}

/// A duration as one number, as people write it.
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
