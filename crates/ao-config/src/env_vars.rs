//! The list of all environment variables that `ao` reads or sets.

/// An environment variable and its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnvVar {
    pub name: &'static str,
    pub doc: &'static str,
    /// The party that sets it.
    pub by: SetBy,
}

/// The party that sets a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetBy {
    /// The user, to change a default.
    You,
    /// `ao`, for the programs that it starts.
    Ao,
}

/// All variables, in the order in which the reference page shows them.
pub const ENV_VARS: &[EnvVar] = &[
    you(
        "AO_CONFIG",
        "the configuration file to use, instead of the one that is found from the current folder upwards",
    ),
    you(
        "AO_DATA_DIR",
        "the folder of the event log and of the records of running agents; by default `~/.local/share/ao`, or `ao` under `XDG_DATA_HOME`",
    ),
    you(
        "AO_SHELL",
        "the shell that runs a project's `postCreate` and `teardown` commands and its hooks; by default `SHELL`, or `/bin/sh`",
    ),
    you(
        "GITHUB_TOKEN",
        "passed to agents that use it, such as Copilot; `ao` itself does not support GitHub yet",
    ),
    you("LINEAR_API_KEY", "the key for Linear, which `ao` does not support yet"),
    you("ANTHROPIC_API_KEY", "passed to agents that use Anthropic's models"),
    you("OPENAI_API_KEY", "passed to agents that use OpenAI's models"),
    you("SLACK_WEBHOOK_URL", "the address for messages to Slack, if its channel sets none"),
    you("DISCORD_WEBHOOK_URL", "the address for messages to Discord, if its channel sets none"),
    you("TELEGRAM_BOT_TOKEN", "the token of the bot that writes to Telegram"),
    you("TELEGRAM_CHAT_ID", "the chat that it writes to"),
    you("COMPOSIO_API_KEY", "the key for Composio"),
    you("COMPOSIO_USER_ID", "the Composio user whose accounts are used, if its channel sets none"),
    you("OPENCLAW_HOOKS_TOKEN", "the token for the hooks of an OpenClaw gateway"),
    you("OPENCLAW_GATEWAY_URL", "the address of that gateway, if its channel sets none"),
    you(
        "XDG_CONFIG_HOME",
        "the folder of your own configuration, `ao/config.yaml` in it; by default `~/.config`",
    ),
    you("XDG_DATA_HOME", "the folder for data; by default `~/.local/share`"),
    you(
        "XDG_RUNTIME_DIR",
        "the folder of the daemon's socket if the path of its data folder is too long for one; by default `/run/user/UID`, or else `/tmp/ao-UID`",
    ),
    ao("AO_SESSION", "for each agent: its session; by it `ao` finds all processes that an agent starts"),
    ao("AO_ATTEMPT", "for each agent: the attempt of its session"),
    ao("AO_TOKEN", "for each agent: the token that authenticates its reports and calls"),
    ao("AO_SPOOL", "for each agent that runs hooks: the folder for its reports"),
    ao("AO_COMPLETE", "by the script of `ao completion`: the shell asks for completions"),
    ao(
        "AO_EXEC",
        "for each command that runs beside an agent: its id; by it `ao` finds all processes that it starts",
    ),
    ao("AO_SETUP", "for `postCreate` and `teardown` commands: their workspace"),
    ao("AO_REPOSITORY", "for `postCreate` commands: the main checkout"),
    ao("AO_KEEPS", "for the keeper process above a check, a set-up command or a hook"),
    ao("AO_CHECK", "for each check: its name"),
    ao("AO_CHECK_RUN", "for each check: its run; by it `ao` finds all processes that a check starts"),
    ao("AO_PROJECT", "for each check and hook: its project"),
    ao("AO_EVENT", "for hooks and commands of reactions: the event"),
    ao("AO_HOOK", "for hooks: the hook point"),
    ao("AO_HOOK_SESSION", "for hooks and commands of reactions: the session, if there is one"),
    ao(
        "AO_JOB",
        "for hooks and commands of reactions: the run; by it `ao` finds all processes that they start",
    ),
];

const fn you(name: &'static str, doc: &'static str) -> EnvVar {
    EnvVar { name, doc, by: SetBy::You }
}

const fn ao(name: &'static str, doc: &'static str) -> EnvVar {
    EnvVar { name, doc, by: SetBy::Ao }
}
