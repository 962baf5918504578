//! The options of an agent: its program and how to talk to it. Plain data, as in a manifest.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ao_core::session::{AgentChoice, AgentMode};
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
    /// The way in which it gets its task.
    pub prompt: Prompt,
    /// The protocol by which it is spoken to: `claude`, `codex` or `acp`. It then stays between its turns, asks for permissions,
    /// can be interrupted and reports what it uses.
    pub protocol: Option<ProtocolKind>,
    /// Parameters of the opening request of the protocol, by the words of `agentConfig.permissions`: those of `thread/start` for
    /// `codex`, `mode` for `acp`.
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
    /// `{git_dir}` the git folder of the workspace and `{git_common}` the one that it shares with the repository. `{secret}` is a new
    /// password for each launch, for a program that opens a port.
    pub after: Vec<String>,
    /// The streams of its process: a terminal if messages are typed, pipes if they are lines, and otherwise no input.
    pub io: Option<ProcessIo>,
    /// Runs `ao hook` to report its turns and its state.
    pub hooks: bool,
    /// Takes messages into a running turn by itself.
    pub steer: bool,
    /// Ends its running turn when it is sent `cancel` by the line protocol, and stays. A program that is typed at does so with
    /// `keys.interrupt`.
    pub cancel: bool,
    /// Patterns by which its screen is read.
    pub screen: ScreenOptions,
    /// Format of its output, if it runs for one turn and has no screen.
    pub output: OutputOptions,
    /// Keys for submitting, interrupting and answering.
    pub keys: Keys,
    /// Questions of a first launch that have one right answer for a program in a workspace of its own, such as whether the
    /// folder is trusted. Each is answered once, before the agent is first seen at its prompt; all others are a person's.
    #[serde(alias = "firstLaunch")]
    pub first_launch: Vec<Welcome>,
    /// Ways to run it whose process stays between its turns. `agentConfig.mode` chooses one, or `turns` for the way that is described
    /// above. Without that, it is run by its protocol, if it has one here and the runtime has pipes for it.
    pub modes: ModeTable,
}

/// The ways to run an agent that has several.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "ToolModes")]
pub struct ModeTable {
    /// By the protocol of its maker.
    pub protocol: Option<Box<ModeOptions>>,
    /// On its own screen, where it is typed at.
    pub terminal: Option<Box<ModeOptions>>,
}

/// One way to run an agent. What is absent here is as without a mode.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "ToolMode", rename_all = "camelCase")]
pub struct ModeOptions {
    /// Its arguments.
    pub args: Option<Vec<String>>,
    /// The arguments that resume a conversation.
    pub resume: Option<Vec<String>>,
    /// Variables that are set for it, besides those without a mode.
    #[schemars(extend("x-text" = true))]
    pub env: BTreeMap<String, String>,
    /// The way in which it gets its task.
    pub prompt: Option<Prompt>,
    /// The protocol by which it is spoken to.
    pub protocol: Option<ProtocolKind>,
    /// Parameters of the opening request of the protocol, by the words of `agentConfig.permissions`.
    pub opening: Option<BTreeMap<String, Value>>,
    /// Arguments that choose a model.
    pub model: Option<Vec<String>>,
    /// Arguments that choose a reasoning effort.
    pub effort: Option<Vec<String>>,
    /// Arguments that set what it may do without asking.
    pub permissions: Option<BTreeMap<String, Vec<String>>>,
    /// Runs `ao hook` to report its turns and its state.
    pub hooks: Option<bool>,
    /// Takes messages into a running turn by itself.
    pub steer: Option<bool>,
    /// Patterns by which its screen is read.
    pub screen: Option<ScreenOptions>,
    /// Format of its output, for its log.
    pub output: Option<OutputOptions>,
    /// Keys for submitting, interrupting and answering.
    pub keys: Option<Keys>,
    /// Questions of a first launch that have one right answer.
    #[serde(alias = "firstLaunch")]
    pub first_launch: Option<Vec<Welcome>>,
}

impl ModeTable {
    fn get(&self, mode: AgentMode) -> Option<&ModeOptions> {
        match mode {
            AgentMode::Protocol => self.protocol.as_deref(),
            AgentMode::Terminal => self.terminal.as_deref(),
            AgentMode::Turns => None,
        }
    }
}

/// The settings of a configuration that a program has to understand.
#[derive(Debug, Clone, Copy, Default)]
pub struct AgentSettings<'a> {
    pub permissions: Option<&'a str>,
    pub model: Option<&'a str>,
    pub effort: Option<&'a str>,
}

/// A question of a first launch, and its answer.
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

/// The way in which the program gets its task.
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

/// Signs of its states on its screen. Regular expressions over all lines, in which `^` and `$` stand for their ends.
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
    /// A line of the input box, or all of it if the expression contains `\n`. A group `text` has what of it is the draft.
    #[schemars(extend("x-kind" = "regex"))]
    pub draft: Option<String>,
    /// The text in the input box that stands for a long text that was pasted.
    #[schemars(extend("x-kind" = "regex"))]
    pub pasted: Option<String>,
}

/// Output of a program that runs for one turn. Regular expressions over one line each.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "ToolOutput", rename_all = "camelCase")]
pub struct OutputOptions {
    /// The language of its reports: `text`, `claude`, `codex`, `opencode`, `gemini`, `app_server` or `acp`.
    pub format: TurnFormat,
    /// The provider refuses more work. A group `time` has the time of day until when, such as `17:42` or `5pm`.
    #[schemars(extend("x-kind" = "regex"))]
    pub limit: Option<String>,
    /// There is no conversation of the id that it was to go on with.
    #[schemars(extend("x-kind" = "regex"))]
    pub gone: Option<String>,
}

/// Keys for submitting, interrupting and answering.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "ToolKeys", rename_all = "camelCase")]
pub struct Keys {
    /// Submits a draft.
    pub submit: String,
    /// Ends a running turn, for messages that interrupt and for spent budgets. Absent if messages are just typed.
    pub interrupt: Option<String>,
    /// A replacement for line breaks where pasted text is not marked as such.
    #[serde(alias = "lineBreak")]
    pub line_break: String,
    /// Keys for an answer to a dialog, by the answer in small letters. Of others, one digit is pressed as it is,
    /// and any other is typed and submitted.
    #[schemars(extend("x-text" = true))]
    pub answers: BTreeMap<String, String>,
    /// Milliseconds after a person's last key in which nothing is typed.
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
    /// Returns the modes that it has.
    pub fn modes(&self) -> impl Iterator<Item = AgentMode> + '_ {
        let all = [AgentMode::Protocol, AgentMode::Terminal, AgentMode::Turns];
        all.into_iter().filter(move |mode| match mode {
            AgentMode::Turns => self.one_turn(),
            mode => self.modes.get(*mode).is_some(),
        })
    }

    /// Returns the options for a mode, if it has that mode.
    pub fn in_mode(&self, mode: AgentMode) -> Option<Options> {
        if mode == AgentMode::Turns {
            return self.one_turn().then(|| Options { modes: ModeTable::default(), ..self.clone() });
        }
        let own = self.modes.get(mode)?.clone();
        let whole = self.clone();
        Some(Options {
            args: own.args.unwrap_or(whole.args),
            resume: own.resume.or(whole.resume),
            env: whole.env.into_iter().chain(own.env).collect(),
            prompt: own.prompt.unwrap_or(whole.prompt),
            protocol: own.protocol.or(whole.protocol),
            opening: own.opening.unwrap_or(whole.opening),
            model: own.model.unwrap_or(whole.model),
            effort: own.effort.unwrap_or(whole.effort),
            permissions: own.permissions.unwrap_or(whole.permissions),
            hooks: own.hooks.unwrap_or(whole.hooks),
            steer: own.steer.unwrap_or(whole.steer),
            screen: own.screen.unwrap_or(whole.screen),
            output: own.output.unwrap_or(whole.output),
            keys: own.keys.unwrap_or(whole.keys),
            first_launch: own.first_launch.unwrap_or(whole.first_launch),
            modes: ModeTable::default(),
            ..whole
        })
    }

    /// Returns the mode in which it is run if none is configured: its protocol, where the runtime can hold that.
    pub fn default_mode(&self, runtime: RuntimeAbilities) -> Option<AgentMode> {
        let protocol = self.in_mode(AgentMode::Protocol)?;
        protocol.unfit_for(runtime).is_none().then_some(AgentMode::Protocol)
    }

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
        let profiles: BTreeSet<&String> = self.permissions.keys().chain(self.opening.keys()).collect();
        let unknown =
            permissions.filter(|word| *word != "default" && !profiles.iter().any(|known| known == word));
        if let Some(word) = unknown {
            let known: Vec<String> = profiles.iter().map(|known| format!("`{known}`")).collect();
            let has = match known.is_empty() {
                true => "none but its own default".to_owned(),
                false => known.join(", "),
            };
            return Some(format!(
                "the agent `{}` has no permission profile `{word}` (it has {has})",
                self.name
            ));
        }
        // These protocols choose it with the opening.
        let opens_with_model = matches!(self.protocol, Some(ProtocolKind::Codex | ProtocolKind::Acp));
        if let Some(model) = model.filter(|_| self.model.is_empty() && !opens_with_model) {
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
