//! The table of agents: pinned packages, and the settings and command lines that were seen to work with them.
//!
//! In the values, `{url}` is the base URL of the stand-in, `{work}` the repository, and `{prompt}` the prompt. In paths of
//! a package, `{arch}` and `{cpu}` are the processor as Node and Rust call it.

use serde_json::Value;

/// A real agent program, at the version that is tested.
#[derive(Debug)]
pub struct RealAgent {
    pub name: &'static str,
    /// The name of its program.
    pub command: &'static str,
    pub version: &'static str,
    pub(super) package: PackageSource,
    /// `true` if it belongs to the ordinary test run.
    pub by_default: bool,
    /// Files in the home of a user who is logged in, with their content.
    pub(super) home: &'static [(&'static str, &'static str)],
    /// Its environment, beside that of every program in a box.
    pub(super) env: &'static [(&'static str, &'static str)],
    /// Arguments that run one turn and end, with all permissions.
    headless: &'static [&'static str],
    /// The place of the reply in its output: lines of JSON with this `type`, and a pointer to the text. Without it, the
    /// whole output is the reply.
    reply: Option<(&'static str, &'static str)>,
}

/// The registry of a package, its name, and its program in the folder of installed packages.
#[derive(Debug, Clone, Copy)]
pub(super) enum PackageSource {
    /// A package of npm with a program for the processor.
    Native { package: &'static str, program: &'static str },
    /// A package of npm with a script for Node.
    Script { package: &'static str, program: &'static str },
    /// A package of PyPI with a module that is the program.
    Python { package: &'static str, module: &'static str },
}

/// The version of Node that runs the scripts, from npm. Some agents need a newer one than systems have.
pub(super) const NODE: (&str, &str) = ("node-linux-{arch}", "22.23.3");

/// The agents, those of the ordinary test run first.
pub fn all() -> &'static [RealAgent] {
    AGENTS
}

pub fn find(name: &str) -> Option<&'static RealAgent> {
    AGENTS.iter().find(|agent| agent.name == name)
}

impl RealAgent {
    /// Returns the arguments of one turn without a person.
    pub fn headless(&self, prompt: &str) -> Vec<String> {
        self.headless.iter().map(|arg| arg.replace("{prompt}", prompt)).collect()
    }

    /// Extracts the reply from the output of a turn without a person.
    pub fn reply(&self, output: &str) -> String {
        let Some((kind, pointer)) = self.reply else { return output.trim().to_owned() };
        let events = output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let replies = events.filter(|event| event["type"] == kind && event["role"] != "user");
        replies.filter_map(|event| Some(event.pointer(pointer)?.as_str()?.to_owned())).collect()
    }
}

const OPENAI: &[(&str, &str)] =
    &[("OPENAI_API_KEY", "test-key"), ("OPENAI_BASE_URL", "{url}/v1"), ("OPENAI_MODEL", "stand-in")];

const AGENTS: &[RealAgent] = &[
    RealAgent {
        name: "claude-code",
        command: "claude",
        version: "2.1.325",
        package: PackageSource::Native {
            package: "@anthropic-ai/claude-code",
            program: "@anthropic-ai/claude-code-linux-{arch}/claude",
        },
        by_default: true,
        home: &[(
            ".claude.json",
            r#"{"hasCompletedOnboarding":true,"theme":"dark","customApiKeyResponses":{"approved":["test-key"],"rejected":[]},"projects":{"{work}":{"hasTrustDialogAccepted":true}}}"#,
        )],
        env: &[
            ("ANTHROPIC_BASE_URL", "{url}"),
            ("ANTHROPIC_API_KEY", "test-key"),
            ("DISABLE_TELEMETRY", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("DISABLE_ERROR_REPORTING", "1"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ],
        headless: &[
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--dangerously-skip-permissions",
            "{prompt}",
        ],
        reply: Some(("result", "/result")),
    },
    RealAgent {
        name: "codex",
        command: "codex",
        version: "0.166.0",
        package: PackageSource::Native {
            package: "@openai/codex",
            program: "@openai/codex-linux-{arch}/vendor/{cpu}-unknown-linux-musl/bin/codex",
        },
        by_default: true,
        home: &[(
            ".codex/config.toml",
            "model = \"gpt-5\"\n\
             model_provider = \"standin\"\n\
             check_for_update_on_startup = false\n\
             [model_providers.standin]\n\
             name = \"standin\"\n\
             base_url = \"{url}/v1\"\n\
             env_key = \"OPENAI_API_KEY\"\n\
             wire_api = \"responses\"\n\
             supports_websockets = false\n\
             [analytics]\n\
             enabled = false\n\
             [projects.\"{work}\"]\n\
             trust_level = \"trusted\"\n",
        )],
        env: &[("OPENAI_API_KEY", "test-key")],
        headless: &["exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "{prompt}"],
        reply: Some(("item.completed", "/item/text")),
    },
    RealAgent {
        name: "opencode",
        command: "opencode",
        version: "1.18.33",
        package: PackageSource::Native {
            package: "opencode-ai",
            program: "opencode-linux-{arch}/bin/opencode",
        },
        by_default: true,
        home: &[(
            ".config/opencode/opencode.json",
            r#"{"$schema":"https://opencode.ai/config.json","provider":{"standin":{"npm":"@ai-sdk/openai-compatible","name":"standin","options":{"baseURL":"{url}/v1","apiKey":"{env:OPENAI_API_KEY}"},"models":{"stand-in":{"name":"stand-in"}}}},"model":"standin/stand-in","small_model":"standin/stand-in","enabled_providers":["standin"],"autoupdate":false,"share":"disabled"}"#,
        )],
        env: &[
            ("OPENAI_API_KEY", "test-key"),
            ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ],
        headless: &["run", "--format", "json", "{prompt}"],
        reply: Some(("text", "/part/text")),
    },
    RealAgent {
        name: "gemini",
        command: "gemini",
        version: "0.61.0",
        package: PackageSource::Script {
            package: "@google/gemini-cli",
            program: "@google/gemini-cli/bundle/gemini.js",
        },
        by_default: true,
        home: &[(
            ".gemini/settings.json",
            r#"{"security":{"auth":{"selectedType":"gemini-api-key"},"folderTrust":{"enabled":false}},"privacy":{"usageStatisticsEnabled":false},"general":{"enableAutoUpdate":false}}"#,
        )],
        env: &[("GEMINI_API_KEY", "test-key"), ("GOOGLE_GEMINI_BASE_URL", "{url}")],
        headless: &["-p", "{prompt}", "--yolo", "--output-format", "stream-json", "-m", "gemini-2.5-pro"],
        reply: Some(("message", "/content")),
    },
    RealAgent {
        name: "qwen",
        command: "qwen",
        version: "0.24.4",
        package: PackageSource::Script {
            package: "@qwen-code/qwen-code",
            program: "@qwen-code/qwen-code/cli-entry.js",
        },
        by_default: true,
        home: &[(
            ".qwen/settings.json",
            r#"{"security":{"auth":{"selectedType":"openai"}},"privacy":{"usageStatisticsEnabled":false},"general":{"disableAutoUpdate":true}}"#,
        )],
        env: OPENAI,
        headless: &["-p", "{prompt}", "--yolo", "--output-format", "stream-json"],
        reply: Some(("result", "/result")),
    },
    RealAgent {
        name: "copilot",
        command: "copilot",
        version: "1.0.102",
        package: PackageSource::Script { package: "@github/copilot", program: ".bin/copilot" },
        by_default: false,
        home: &[],
        env: &[
            ("COPILOT_PROVIDER_BASE_URL", "{url}/v1"),
            ("COPILOT_PROVIDER_API_KEY", "test-key"),
            ("COPILOT_MODEL", "stand-in"),
            ("COPILOT_OFFLINE", "true"),
        ],
        headless: &["-p", "{prompt}", "--allow-all-tools", "--disable-client-telemetry", "--no-auto-update"],
        reply: None,
    },
    RealAgent {
        name: "kimicode",
        command: "kimi",
        version: "2.1.0",
        package: PackageSource::Script { package: "@moonshot-ai/kimi-code", program: ".bin/kimi" },
        by_default: false,
        home: &[(
            ".kimi-code/config.toml",
            "default_model = \"standin\"\n\
             telemetry = false\n\
             [providers.standin]\n\
             type = \"openai\"\n\
             base_url = \"{url}/v1\"\n\
             api_key = \"test-key\"\n\
             [models.standin]\n\
             provider = \"standin\"\n\
             model = \"stand-in\"\n\
             max_context_size = 100000\n",
        )],
        env: &[],
        headless: &["-p", "{prompt}", "--output-format", "stream-json"],
        reply: None,
    },
    RealAgent {
        name: "goose",
        command: "goose",
        version: "0.20.1",
        package: PackageSource::Native {
            package: "@aaif/goose",
            program: "@aaif/goose-binary-linux-{arch}/bin/goose",
        },
        by_default: false,
        home: &[(
            ".config/goose/config.yaml",
            "GOOSE_PROVIDER: openai\nGOOSE_MODEL: stand-in\nGOOSE_MODE: auto\nextensions:\n  developer:\n    type: builtin\n    name: developer\n    enabled: true\n    bundled: true\n    timeout: 300\n",
        )],
        env: &[("OPENAI_API_KEY", "test-key"), ("OPENAI_HOST", "{url}"), ("GOOSE_DISABLE_KEYRING", "1")],
        headless: &["run", "--no-session", "-t", "{prompt}"],
        reply: None,
    },
    RealAgent {
        name: "cline",
        command: "cline",
        version: "3.0.65",
        package: PackageSource::Script { package: "cline", program: ".bin/cline" },
        by_default: false,
        home: &[],
        env: OPENAI,
        headless: &["--json", "-P", "openai", "-m", "stand-in", "{prompt}"],
        reply: None,
    },
    RealAgent {
        name: "pi",
        command: "pi",
        version: "0.74.2",
        package: PackageSource::Script { package: "@earendil-works/pi-coding-agent", program: ".bin/pi" },
        by_default: false,
        home: &[(
            ".pi/agent/models.json",
            r#"{"providers":{"standin":{"baseUrl":"{url}/v1","api":"openai-completions","apiKey":"test-key","models":[{"id":"stand-in"}]}}}"#,
        )],
        env: &[],
        headless: &["-p", "--provider", "standin", "--model", "stand-in", "{prompt}"],
        reply: None,
    },
    RealAgent {
        name: "aider",
        command: "aider",
        version: "0.86.2",
        package: PackageSource::Python { package: "aider-chat", module: "aider" },
        by_default: false,
        home: &[],
        env: &[("OPENAI_API_KEY", "test-key"), ("OPENAI_API_BASE", "{url}/v1")],
        headless: &[
            "--model",
            "openai/stand-in",
            "--message",
            "{prompt}",
            "--yes-always",
            "--no-check-update",
            "--analytics-disable",
            "--no-show-model-warnings",
            "--no-gitignore",
            "--no-show-release-notes",
        ],
        reply: None,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ordinary_test_run_has_five_agents() {
        let names: Vec<_> = all().iter().filter(|agent| agent.by_default).map(|agent| agent.name).collect();
        assert_eq!(names, ["claude-code", "codex", "opencode", "gemini", "qwen"]);
    }

    #[test]
    fn replies_are_found_in_lines_of_json() {
        let codex = find("codex").unwrap();
        let output = "warning: x\n{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"hi\"}}\n";
        assert_eq!(codex.reply(output), "hi");
        let gemini = find("gemini").unwrap();
        let output = "{\"type\":\"message\",\"role\":\"user\",\"content\":\"a\"}\n{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"b\"}\n{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"c\"}";
        assert_eq!(gemini.reply(output), "bc");
    }
}
