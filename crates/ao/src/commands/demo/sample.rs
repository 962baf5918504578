//! The sample project: a few shell programs, their tests, and six issues.
//!
//! All of it is real work for a real agent too. Only the deliberate mistakes are the scripted agent's own
//! (`demo_agent/script.rs`).

use camino::Utf8Path;
use serde_json::{Value, json};

use super::git::git;
use crate::error::CommandError;

/// The project, and the folder of its repository.
pub(crate) const PROJECT: &str = "hello";
/// The folder that needs the person's approval.
pub(super) const PROTECTED: &str = "deploy/";

/// One of the six issues, and what it demonstrates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DemoIssue {
    Clean,
    Red,
    Review,
    Conflict,
    Flaky,
    Protected,
}

impl DemoIssue {
    /// In the order of the issues' numbers, starting with 1.
    pub(crate) const ALL: [DemoIssue; 6] = [
        DemoIssue::Clean,
        DemoIssue::Red,
        DemoIssue::Review,
        DemoIssue::Conflict,
        DemoIssue::Flaky,
        DemoIssue::Protected,
    ];

    pub(crate) fn title(self) -> &'static str {
        match self {
            DemoIssue::Clean => "Say goodbye",
            DemoIssue::Red => "Greet in capital letters",
            DemoIssue::Review => "Greet several times",
            DemoIssue::Conflict => "Say good night",
            DemoIssue::Flaky => "Greet over the network",
            DemoIssue::Protected => "Sign what is released",
        }
    }

    /// Describes what it demonstrates.
    pub(super) fn shows(self) -> &'static str {
        match self {
            DemoIssue::Clean => "a clean merge",
            DemoIssue::Red => "a red check, repaired by its agent",
            DemoIssue::Review => "a review comment, answered",
            DemoIssue::Conflict => "a conflict, rebased by its agent",
            DemoIssue::Flaky => "a flaky check, run again without disturbing an agent",
            DemoIssue::Protected => "a protected path, which waits for you",
        }
    }

    pub(super) fn body(self) -> &'static str {
        match self {
            DemoIssue::Clean => {
                "Add `bin/goodbye NAME`, a shell program that prints `Goodbye, NAME.`, and a line for it at the end of USAGE.md."
            }
            DemoIssue::Red => {
                "Add `bin/shout NAME`, a shell program that prints `HELLO, NAME.` with the name in capital letters."
            }
            DemoIssue::Review => {
                "Add `bin/times N`, a shell program that prints `Hello.` N times, each on a line of its own."
            }
            DemoIssue::Conflict => {
                "Add `bin/goodnight NAME`, a shell program that prints `Good night, NAME.`, and a line for it at the end of \
                 USAGE.md."
            }
            DemoIssue::Flaky => "Add `bin/remote NAME`, a shell program that prints `Hello from afar, NAME.`",
            DemoIssue::Protected => "Let `deploy/release.sh` print `signed` behind what it prints now.",
        }
    }
}

/// Creates the repository, with one commit on `main` by a person.
pub(super) async fn make(path: &Utf8Path) -> Result<(), CommandError> {
    for folder in ["bin", "tests", "deploy", ".ao"] {
        std::fs::create_dir_all(path.join(folder)).map_err(CommandError::environment)?;
    }
    git(path, &["init", "--quiet", "--initial-branch", "main"]).await?;
    let settings = [
        ("user.name", "You"),
        ("user.email", "you@example.invalid"),
        ("commit.gpgsign", "false"),
        // The user's own hooks must not apply here.
        ("core.hooksPath", "/dev/null"),
        // Maintenance outlives the commit that started it, and the deletion gate would keep the worktree for it.
        ("maintenance.auto", "false"),
    ];
    for (key, value) in settings {
        git(path, &["config", key, value]).await?;
    }
    for (name, text) in FILES {
        std::fs::write(path.join(name), text).map_err(CommandError::environment)?;
    }
    git(path, &["add", "."]).await?;
    git(path, &["commit", "--quiet", "-m", "First commit"]).await?;
    Ok(())
}

/// Returns the configuration of the project.
pub(super) fn config(agent: &str, tool: Option<Value>, luck: &Utf8Path) -> Value {
    let mut config = json!({
        "defaults": { "runtime": "process", "agent": agent, "tracker": "local", "notifiers": [] },
        "projects": { PROJECT: {
            "path": ".",
            "sessionPrefix": PROJECT,
            // The issues demonstrate real conflicts, not predicted ones.
            "conflictForecast": { "tell": false, "hold": false },
            "checks": [{ "name": "tests", "command": "sh check.sh", "env": { "set": { "HELLO_LUCK": luck } } }],
        } },
        "orchestrator": { "enabled": false },
        "power": { "preventIdleSleep": false },
        "dashboard": { "open": false },
        "lifecycle": { "maxParallelAgents": DemoIssue::ALL.len(), "maxParallelChecks": 4, "minFreeMemory": "1MB" },
        "reactions": { "approved-and-green": { "auto": true, "action": "merge", "strategy": "squash" } },
    });
    if let Some(tool) = tool {
        config["tools"] = json!({ agent: tool });
    }
    config
}

const FILES: [(&str, &str); 10] = [
    ("README.md", "# hello\n\nPrograms that greet. `sh check.sh` says whether they work.\n"),
    ("USAGE.md", "# Usage\n\nhello NAME\n"),
    ("bin/hello", "#!/bin/sh\necho \"Hello, ${1:-world}.\"\n"),
    ("deploy/release.sh", "#!/bin/sh\necho released\n"),
    (".ao/policy.yaml", POLICY),
    (
        "check.sh",
        "#!/bin/sh\n# Runs every test; one of a program that does not exist yet passes.\nbad=0\n\
         for test in tests/*.sh; do\n  if said=$(sh \"$test\" 2>&1); then\n    echo \"ok - $test\"\n  else\n    \
         echo \"not ok - $test\"\n    echo \"  $said\"\n    bad=1\n  fi\ndone\nexit $bad\n",
    ),
    ("tests/hello.sh", "[ \"$(sh bin/hello Ann)\" = 'Hello, Ann.' ]\n"),
    (
        "tests/words.sh",
        "expect() {\n  [ -e \"bin/$1\" ] || return 0\n  said=$(sh \"bin/$1\" \"$2\")\n  [ \"$said\" = \"$3\" ] && return 0\n  \
         echo \"bin/$1 $2 says '$said' and should say '$3'\"\n  exit 1\n}\n\
         expect goodbye Ann 'Goodbye, Ann.'\nexpect goodnight Ann 'Good night, Ann.'\nexpect shout Ann 'HELLO, ANN.'\n\
         expect remote Ann 'Hello from afar, Ann.'\n",
    ),
    ("tests/times.sh", "[ -e bin/times ] || exit 0\n[ \"$(sh bin/times 3 | grep -c Hello)\" = 3 ]\n"),
    (
        "tests/network.sh",
        "# As networks are: it fails the first time that it is needed, and never again.\n\
         [ -e bin/remote ] && [ -n \"$HELLO_LUCK\" ] || exit 0\n[ -e \"$HELLO_LUCK\" ] && exit 0\n: > \"$HELLO_LUCK\"\n\
         echo 'the connection was reset by the other side'\nexit 1\n",
    ),
];

/// Read from the base branch, so that no change weakens its own rules.
const POLICY: &str = "\
# What must hold before anything lands on main: its checks pass, nobody objects, and what is protected has your word.
approvals: 0
autoMerge: true
protected:
  - { paths: [deploy/], approvers: [you] }
";
