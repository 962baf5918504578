//! Every environment variable that means something to `ao`, in one list.

/// A variable and what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnvVar {
    pub name: &'static str,
    pub doc: &'static str,
    /// Who sets it.
    pub by: SetBy,
}

/// Who sets a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetBy {
    /// You, if you want something other than the default.
    You,
    /// `ao`, for the programs that it starts.
    Ao,
}

/// The list, in the order in which people read it.
pub const ENV_VARS: &[EnvVar] = &[
    you(
        "AO_CONFIG",
        "the configuration file to use, instead of the one that is found from the current folder upwards",
    ),
    you(
        "AO_DATA_DIR",
        "where the event log and the records of running agents are kept; by default `~/.local/share/ao`, or `ao` under `XDG_DATA_HOME`",
    ),
    you(
        "AO_SHELL",
        "the shell that runs a project's `postCreate` and `teardown` commands and its hooks; by default `SHELL`, or `/bin/sh`",
    ),
    you("GITHUB_TOKEN", "the token for GitHub"),
    you("LINEAR_API_KEY", "the key for Linear"),
    you("ANTHROPIC_API_KEY", "the key for agents that use Anthropic's models"),
    you("OPENAI_API_KEY", "the key for agents that use OpenAI's models"),
    you("SLACK_WEBHOOK_URL", "where messages for Slack go, if its channel names no other"),
    you("DISCORD_WEBHOOK_URL", "where messages for Discord go, if its channel names no other"),
    you("TELEGRAM_BOT_TOKEN", "the token of the bot that writes to Telegram"),
    you("TELEGRAM_CHAT_ID", "the chat that it writes to"),
    you("COMPOSIO_API_KEY", "the key for Composio"),
    you("COMPOSIO_USER_ID", "the user there whose accounts are used, if its channel names no other"),
    you("OPENCLAW_HOOKS_TOKEN", "the token for the hooks of an OpenClaw gateway"),
    you("OPENCLAW_GATEWAY_URL", "where that gateway is, if its channel names no other"),
    you("XDG_CONFIG_HOME", "where your own configuration is: `ao/config.yaml` in it; by default `~/.config`"),
    you("XDG_DATA_HOME", "where data is kept; by default `~/.local/share`"),
    you(
        "XDG_RUNTIME_DIR",
        "where the daemon's socket is if the path of its data folder is too long for one; by default `/run/user/UID`, or else `/tmp/ao-UID`",
    ),
    ao("AO_SESSION", "for each agent: which session it is; whatever an agent starts is found by it"),
    ao("AO_ATTEMPT", "for each agent: which run of its session it is"),
    ao("AO_TOKEN", "for each agent: what proves that a report or a call is its own"),
    ao("AO_SPOOL", "for each agent that runs hooks: where a report is left"),
    ao("AO_COMPLETE", "by the script of `ao completion`: a shell asks for the words that fit"),
    ao(
        "AO_EXEC",
        "for each command that runs beside an agent: which one it is; whatever it starts is found by it",
    ),
    ao("AO_SETUP", "for `postCreate` and `teardown` commands: the workspace they are for"),
    ao("AO_REPOSITORY", "for `postCreate` commands: the main checkout"),
    ao("AO_KEEPS", "for the process of its own that a check, a set-up command or a hook runs below"),
    ao("AO_CHECK", "for each check: its name"),
    ao("AO_CHECK_RUN", "for each check: which run of it this is; whatever a check starts is found by it"),
    ao("AO_PROJECT", "for each check and hook: the project that it is about"),
    ao("AO_EVENT", "for hooks and commands of reactions: what happened"),
    ao("AO_HOOK", "for hooks: the point at which it runs"),
    ao(
        "AO_HOOK_SESSION",
        "for hooks and commands of reactions: the session that it is about, if there is one",
    ),
    ao(
        "AO_ERRAND",
        "for hooks and commands of reactions: which run this is; whatever they start is found by it",
    ),
];

const fn you(name: &'static str, doc: &'static str) -> EnvVar {
    EnvVar { name, doc, by: SetBy::You }
}

const fn ao(name: &'static str, doc: &'static str) -> EnvVar {
    EnvVar { name, doc, by: SetBy::Ao }
}
