//! The first page of help, with commands in groups. clap only has a flat list.

use std::fmt::Write;

use clap::Command;

use crate::error::EXIT_CODES;
use crate::ui;

/// Every visible command, in its group.
const GROUPS: &[(&str, &[&str])] = &[
    ("Get started", &["init", "start", "stop", "dashboard", "service", "demo"]),
    ("Sessions", &["new", "spawn", "batch-spawn", "list", "status", "session", "pause", "resume", "retry"]),
    ("Messages", &["send", "asks", "answer", "attach", "wait"]),
    (
        "Changes",
        &["issue", "pr", "approve", "check", "policy", "queue", "conflicts", "review", "review-check"],
    ),
    ("Inspect", &["explain", "why", "plan", "advise", "budget", "logs", "events", "open"]),
    (
        "Projects and configuration",
        &["add-project", "remove-project", "trust-project", "config", "config-help", "plugin"],
    ),
    ("Reactions", &["reactions", "emit", "simulate", "hooks", "notify"]),
    ("Maintenance", &["doctor", "verify"]),
    ("For programs", &["api", "completion", "man"]),
];

const EXAMPLES: &str = "Examples:
  ao start                     in a repository: start the daemon and register the project
  ao spawn 42                  start an agent for issue 42
  ao status                    show all sessions, those that need you first
  ao send issue-42 \"…\"         send an agent a message, and wait until it is accepted
  ao attach issue-42           attach to its terminal
  ao help COMMAND              show help on a command, with examples

Name a session by its name, its id, or a unique prefix of either.";

/// Sets the first page of help.
pub(crate) fn in_groups(command: Command) -> Command {
    let title = ui::TITLE;
    let mut page = "{about-with-newline}\n{usage-heading} {usage}\n\n".to_owned();
    for (group, names) in GROUPS {
        let _ = writeln!(page, "{title}{group}:{title:#}");
        for name in *names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(page, "  {name:<16}{about}");
        }
        page.push('\n');
    }
    let _ = write!(page, "{title}Options for all commands:{title:#}\n{{options}}{{after-help}}");
    command
        .help_template(page)
        .after_help(EXAMPLES)
        .after_long_help(format!("{EXAMPLES}\n\n{}", exit_codes()))
}

/// Renders the exit codes as a table.
fn exit_codes() -> String {
    let mut table = "Exit codes:".to_owned();
    for (_, code, meaning) in EXIT_CODES {
        let _ = write!(table, "\n  {code:>3}  {meaning}");
    }
    table + "\n  128 and more: ended by a signal, as in shells"
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cli;

    #[test]
    fn every_command_for_people_is_in_one_group() {
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let command = cli::command();
        let visible: BTreeSet<&str> =
            command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(Command::get_name).collect();
        assert_eq!(grouped.iter().copied().collect::<BTreeSet<_>>(), visible);
        assert_eq!(grouped.len(), visible.len(), "none is in two");
    }

    #[test]
    fn every_command_says_what_it_does_and_gives_an_example() {
        let examples =
            |command: &Command| command.get_after_help().map(ToString::to_string).unwrap_or_default();
        fn check(
            command: &Command,
            path: &str,
            examples: &impl Fn(&Command) -> String,
            wrong: &mut Vec<String>,
        ) {
            for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
            {
                let path = format!("{path} {}", sub.get_name());
                if sub.get_about().is_none() {
                    wrong.push(format!("{path} does not say what it does"));
                }
                // Its own examples, or those of its parent command. Commands that do not exist yet have none.
                let has_example = examples(sub).contains("Example") || examples(command).contains(&path);
                let can_be_done =
                    !sub.get_about().is_some_and(|about| about.to_string().ends_with("(not available yet)"));
                if has_example != can_be_done {
                    let has = if has_example { "an" } else { "no" };
                    wrong.push(format!("{path} has {has} example"));
                }
                check(sub, &path, examples, wrong);
            }
        }
        let mut wrong = Vec::new();
        check(&cli::command(), "ao", &examples, &mut wrong);
        assert_eq!(wrong, [""; 0]);
    }

    #[test]
    fn clap_finds_no_fault_with_the_command_line() {
        cli::command().debug_assert();
    }
}
