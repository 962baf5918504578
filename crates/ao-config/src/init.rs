//! Writes a first configuration file, for people to read and extend.

use camino::Utf8PathBuf;

use crate::catalog::{PluginCatalog, PluginSlot};
use crate::edit::quoted;

/// The values that it is filled with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitValues {
    /// The project's name.
    pub project: String,
    /// The repository's name on its forge: `owner/name`.
    pub repo: Option<String>,
    /// The main checkout; absolute, or relative to the file.
    pub path: Utf8PathBuf,
    pub default_branch: String,
    pub tracker: String,
    pub agent: String,
    pub runtime: String,
    pub workspace: String,
    /// The channels that notices go to.
    pub notifiers: Vec<String>,
    /// The address at which editors find the schema.
    pub schema: Option<String>,
    /// The checks that were detected in the repository.
    pub checks: Vec<InitCheck>,
    /// If `false`, the checks are written as a comment.
    pub runs_checks: bool,
}

/// A check of a first configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitCheck {
    pub name: String,
    pub command: String,
}

/// Returns the text of a first configuration.
pub fn template(init: &InitValues, catalog: &PluginCatalog) -> String {
    // Aligns the remarks in one column.
    let aligned = |key: &str, value: &str| format!("{:<25}", format!("  {key}: {}", quoted(value)));
    let schema = match &init.schema {
        Some(schema) => format!("# yaml-language-server: $schema={}\n", schema.replace(char::is_control, "")),
        None => String::new(),
    };
    let repo = match &init.repo {
        Some(repo) => format!("    repo: {}\n", quoted(repo)),
        None => "    # repo: owner/name      # its name on the forge\n".into(),
    };
    let InitValues { project, path, default_branch, tracker, agent, runtime, workspace, notifiers, .. } =
        init;
    let notifiers = format!("  notifiers: [{}]", notifiers.join(", "));
    let choice = |slot: PluginSlot| catalog.available(slot).join(" | ");
    let tracker_remark = match catalog.has(PluginSlot::Tracker, tracker) {
        true => choice(PluginSlot::Tracker),
        false => format!("not available yet; use {}", choice(PluginSlot::Tracker)),
    };
    let first_agents: Vec<&str> = catalog.names(PluginSlot::Agent).take(5).collect();
    format!(
        r#"{schema}# Configuration of ao for this repository. `ao config-help` explains every key, `ao config check` finds mistakes.
# Personal settings go into agent-orchestrator.local.yaml beside this file.

# port: 3000              # the dashboard and the HTTP API; the file of the first project decides

defaults:
{runtime} # {runtime_names}
{agent} # {agent_names} | …
{workspace} # {workspace_names}
{tracker} # {tracker_remark}
{notifiers:<25} # {notifier_names}

projects:
  {project}:
{repo}    path: {path}
    defaultBranch: {default_branch}
    # symlinks: [node_modules]       # shared with your checkout
    # include: [.env]                # copied from your checkout
    # postCreate: [npm install]      # run in each new workspace
    # maxParallelAgents: 3
{checks}
reactions:
  ci-failed:
    auto: true
    action: send-to-agent   # the agent gets the failing checks
    retries: 2              # then you get a notice
  changes-requested:
    auto: true
    action: send-to-agent
    escalateAfter: 30m
  approved-and-green:
    auto: false             # true merges automatically
    action: merge
    strategy: squash        # squash | merge | rebase
"#,
        project = quoted(project),
        path = quoted(path.as_str()),
        default_branch = quoted(default_branch),
        tracker = aligned("tracker", tracker),
        notifier_names = choice(PluginSlot::Notifier),
        runtime_names = choice(PluginSlot::Runtime),
        workspace_names = choice(PluginSlot::Workspace),
        agent_names = first_agents.join(" | "),
        agent = aligned("agent", agent),
        runtime = aligned("runtime", runtime),
        workspace = aligned("workspace", workspace),
        checks = checks(init),
    )
}

/// Formats the checks of the project, or a hint on how to add some.
fn checks(init: &InitValues) -> String {
    if init.checks.is_empty() {
        return "    # checks: [make test]            # commands that must pass before a merge\n".to_owned();
    }
    let lines = init.checks.iter().map(|InitCheck { name, command }| {
        format!("      - {{ name: {}, command: {} }}\n", quoted(name), in_quotes(command))
    });
    let lines: String = lines.collect();
    if init.runs_checks {
        return format!("    checks:                          # must pass before a merge\n{lines}");
    }
    let comment = |line: &str| format!("    # {}\n", &line[4..]);
    let commented: String = lines.lines().map(comment).collect();
    format!(
        "    # These checks were detected. To enable them, remove the `# ` from the lines below.\n    \
         # checks:\n{commented}"
    )
}

/// Quotes a command for a flow mapping, where more characters have a meaning.
fn in_quotes(command: &str) -> String {
    format!("'{}'", command.replace('\'', "''"))
}
