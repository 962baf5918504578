//! A first configuration file, written for people to read and go on from.

use std::io;

use camino::{Utf8Path, Utf8PathBuf};

use crate::edit::{self, quoted};
use crate::names;

/// What goes into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Init {
    /// The project's name.
    pub project: String,
    /// What its forge calls it: `owner/name`.
    pub repo: Option<String>,
    /// Its checkout; relative to the file, or whole.
    pub path: Utf8PathBuf,
    pub default_branch: String,
    pub tracker: String,
    pub agent: String,
    pub runtime: String,
    pub workspace: String,
    /// The channels that news goes to.
    pub notifiers: Vec<String>,
    /// Where editors find the schema.
    pub schema: Option<String>,
    /// The checks that fit the repository.
    pub checks: Vec<InitCheck>,
    /// Whether they are switched on. If not, they are written as a comment.
    pub runs_checks: bool,
}

/// A check of a first configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitCheck {
    pub name: String,
    pub command: String,
}

/// Why no file was written.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    #[error("`{0}` is there already; it is overwritten only with `--force`")]
    Exists(Utf8PathBuf),
    #[error("failed to write `{path}`")]
    Write {
        path: Utf8PathBuf,
        #[source]
        err: io::Error,
    },
}

/// The text of a first configuration.
pub fn template(init: &Init) -> String {
    // The remarks behind them stand in one column.
    let aligned = |key: &str, value: &str| format!("{:<25}", format!("  {key}: {}", quoted(value)));
    let schema = match &init.schema {
        Some(schema) => format!("# yaml-language-server: $schema={}\n", schema.replace(char::is_control, "")),
        None => String::new(),
    };
    let repo = match &init.repo {
        Some(repo) => format!("    repo: {}\n", quoted(repo)),
        None => "    # repo: owner/name      # what its forge calls it\n".into(),
    };
    let Init { project, path, default_branch, tracker, agent, runtime, workspace, notifiers, .. } = init;
    let notifiers = format!("  notifiers: [{}]", notifiers.join(", "));
    let tracker_remark = match names::AVAILABLE_TRACKERS.contains(&tracker.as_str()) {
        true => names::AVAILABLE_TRACKERS.join(" | "),
        false => format!("not available yet; there is {}", names::AVAILABLE_TRACKERS.join(" | ")),
    };
    format!(
        r#"{schema}# What ao does in this repository. `ao config-help` explains every key, `ao config check` finds mistakes.
# What is for you alone goes into agent-orchestrator.local.yaml beside this file.

# port: 3000              # the dashboard and the HTTP interface; the first project's file says it for all

defaults:
{runtime} # tmux | process
{agent} # claude-code | codex | aider | cursor | opencode | …
{workspace} # worktree | clone
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
    retries: 2              # then you are told
  changes-requested:
    auto: true
    action: send-to-agent
    escalateAfter: 30m
  approved-and-green:
    auto: false             # true merges by itself
    action: merge
    strategy: squash        # squash | merge | rebase
"#,
        project = quoted(project),
        path = quoted(path.as_str()),
        default_branch = quoted(default_branch),
        tracker = aligned("tracker", tracker),
        notifier_names = names::NOTIFIERS.join(" | "),
        agent = aligned("agent", agent),
        runtime = aligned("runtime", runtime),
        workspace = aligned("workspace", workspace),
        checks = checks(init),
    )
}

/// The checks of the project, or how it gets some.
fn checks(init: &Init) -> String {
    if init.checks.is_empty() {
        return "    # checks: [make test]            # what must pass before a merge; without any, nothing is checked\n"
            .to_owned();
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
        "    # These checks fit. To switch them on, take away the `# ` before the lines below.\n    \
         # checks:\n{commented}"
    )
}

/// A command as it stands within a mapping on one line, where more signs mean something.
fn in_quotes(command: &str) -> String {
    format!("'{}'", command.replace('\'', "''"))
}

/// Writes a first configuration. A file that is there is left alone, unless it is to be overwritten.
pub fn write(path: &Utf8Path, text: &str, force: bool) -> Result<(), InitError> {
    let failed = |err| InitError::Write { path: path.to_path_buf(), err };
    if force {
        return edit::write(path, text).map_err(failed);
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    // Made by whoever is first: of two that start at once, one is told that the file is there.
    match std::fs::OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => io::Write::write_all(&mut file, text.as_bytes()).map_err(failed),
        Err(err) if err.kind() == io::ErrorKind::AlreadyExists => Err(InitError::Exists(path.to_path_buf())),
        Err(err) => Err(failed(err)),
    }
}
