//! Commands that people know by another name. The most similar name is often wrong: `restore` is not `resume`.

use std::ffi::OsString;

use ao_core::text::shell_quoted;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::error::CommandError;

/// An unknown command, the commands that it may be typed below, and the command to use instead. Words in capitals are
/// replaced by the arguments that were typed.
const OTHER_NAMES: &[(&str, &[&str], &str)] = &[
    ("", &["restore", "revive"], "ao session restore SESSION"),
    ("", &["cleanup", "clean", "prune", "gc"], "ao session cleanup"),
    ("", &["kill", "rm", "delete", "destroy", "terminate"], "ao session kill SESSION"),
    ("", &["claim-pr", "claim"], "ao session claim-pr PR"),
    ("", &["version"], "ao --version"),
    ("", &["ps", "sessions", "agents", "dir", "workers"], "ao list"),
    ("", &["run", "create", "task", "do", "prompt"], "ao new TITLE"),
    ("", &["spawn-batch", "batch"], "ao batch-spawn ISSUE"),
    ("", &["watch", "top", "monitor", "tui"], "ao status --watch"),
    ("", &["show", "info", "inspect", "describe", "view"], "ao status SESSION"),
    ("", &["log", "tail", "output"], "ao logs SESSION"),
    ("", &["message", "msg", "tell", "say", "reply"], "ao send SESSION TEXT"),
    ("", &["connect", "enter", "exec", "join", "terminal", "shell"], "ao attach SESSION"),
    ("", &["end", "halt", "abort", "cancel"], "ao stop SESSION"),
    ("", &["down", "shutdown", "quit"], "ao stop"),
    ("", &["up", "serve", "launch"], "ao start"),
    ("", &["restart"], "ao stop && ao start"),
    ("", &["reload"], "ao start"),
    ("", &["ui", "web", "browser"], "ao dashboard"),
    ("", &["merge", "land"], "ao pr merge PR"),
    ("", &["diff"], "ao pr diff PR"),
    ("", &["comment"], "ao pr comment PR TEXT"),
    ("", &["prs", "pulls", "pull-requests"], "ao pr list"),
    ("", &["issues", "tasks"], "ao issue list"),
    ("", &["checks", "ci"], "ao check list"),
    ("", &["projects"], "ao status"),
    ("", &["add", "register"], "ao add-project PATH"),
    ("", &["remove", "unregister"], "ao remove-project PROJECT"),
    ("", &["set"], "ao config set KEY VALUE"),
    ("", &["get", "settings"], "ao config show"),
    ("", &["validate", "lint"], "ao config check"),
    ("", &["notifications", "notifiers"], "ao notify list"),
    ("", &["plugins"], "ao plugin list"),
    ("", &["history", "activity"], "ao events"),
    ("", &["cost", "costs", "usage", "spend"], "ao budget"),
    ("", &["continue"], "ao resume SESSION"),
    ("session", &["stop", "end"], "ao stop SESSION"),
    ("session", &["rm", "delete", "remove", "destroy"], "ao session kill SESSION"),
    ("session", &["new", "create", "start", "spawn"], "ao new TITLE"),
    ("session", &["show", "info", "status", "view"], "ao status SESSION"),
    ("session", &["attach", "connect", "open"], "ao attach SESSION"),
    ("session", &["send", "message"], "ao send SESSION TEXT"),
    ("session", &["log", "logs"], "ao logs SESSION"),
    ("session", &["pause"], "ao pause SESSION"),
    ("session", &["resume", "continue"], "ao resume SESSION"),
    ("session", &["retry", "restart"], "ao retry SESSION"),
    ("session", &["clean", "prune", "gc"], "ao session cleanup"),
    ("pr", &["view", "status", "get"], "ao pr show PR"),
    ("pr", &["open", "new", "add"], "ao pr create"),
    ("issue", &["view", "get", "status"], "ao issue show ISSUE"),
    ("issue", &["create", "new", "open"], "ao issue add TITLE"),
    ("config", &["get", "view", "list", "print"], "ao config show"),
    ("config", &["validate", "lint", "test"], "ao config check"),
    ("config", &["edit"], "ao config set KEY VALUE"),
    ("config", &["help", "keys"], "ao config-help"),
];

/// Suggests the command to use, if the command line has one that is known elsewhere.
pub(crate) fn meant(err: &clap::Error, args: &[OsString], known: &clap::Command) -> Option<CommandError> {
    let (typed, command) = other_name(err, args, known)?;
    let error = format!("there is no command `ao {typed}`");
    Some(CommandError::config(error).hint(format!("use `{command}`")))
}

/// Returns the command as typed, and the one to use instead.
fn other_name(err: &clap::Error, args: &[OsString], known: &clap::Command) -> Option<(String, String)> {
    if err.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(word)) = err.get(ContextKind::InvalidSubcommand) else { return None };
    let (below, behind) = place(word, args, known)?;
    let (_, _, command) =
        OTHER_NAMES.iter().find(|(of, words, _)| *of == below && words.contains(&word.as_str()))?;
    let typed = if below.is_empty() { word.clone() } else { format!("{below} {word}") };
    Some((typed, filled(command, &behind)))
}

/// Returns the command that the name was typed below, and the arguments after it that are no options.
fn place(word: &str, args: &[OsString], known: &clap::Command) -> Option<(String, Vec<String>)> {
    let words: Vec<&str> = args.iter().skip(1).map(|arg| arg.to_str().unwrap_or("")).collect();
    let (mut command, mut path) = (known, Vec::new());
    for (at, typed) in words.iter().enumerate() {
        if *typed == word {
            let behind = words[at + 1..].iter().take_while(|word| !word.starts_with('-'));
            return Some((path.join(" "), behind.map(|word| (*word).to_owned()).collect()));
        }
        if let Some(below) = command.find_subcommand(typed) {
            path.push(below.get_name().to_owned());
            command = below;
        }
    }
    None
}

/// Fills the typed arguments into a command.
fn filled(command: &str, behind: &[String]) -> String {
    let mut behind = behind.iter();
    let word = |word: &str| match word.chars().all(|c| c.is_ascii_uppercase()) {
        true => behind.next().map_or_else(|| word.to_owned(), |typed| shell_quoted(typed)),
        false => word.to_owned(),
    };
    command.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> Option<(String, String)> {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let known = crate::cli::command();
        let err = known.clone().try_get_matches_from(args.clone()).expect_err("it is no command");
        other_name(&err, &args, &known)
    }

    #[test]
    fn a_command_of_another_name_is_told_with_what_was_typed() {
        let table = [
            ("ao restore app-3", "restore", "ao session restore app-3"),
            ("ao restore", "restore", "ao session restore SESSION"),
            ("ao cleanup", "cleanup", "ao session cleanup"),
            ("ao kill a;b", "kill", "ao session kill 'a;b'"),
            ("ao version", "version", "ao --version"),
            ("ao --data-dir /d session stop my-app-3", "session stop", "ao stop my-app-3"),
        ];
        for (line, typed, command) in table {
            assert_eq!(told(line), Some((typed.into(), command.into())), "{line}");
        }
        assert_eq!(told("ao frobnicate"), None);
    }

    /// No alias is a command of ours, and each leads to one.
    #[test]
    fn every_other_name_is_no_command_and_leads_to_one() {
        let known = crate::cli::command();
        for (below, words, command) in OTHER_NAMES {
            let place = match *below {
                "" => &known,
                below => known.find_subcommand(below).expect("a command"),
            };
            for word in *words {
                assert!(place.find_subcommand(word).is_none(), "`ao {below} {word}` is a command");
            }
            for single in command.split(" && ") {
                let mut at = &known;
                for word in single.split(' ').skip(1).take_while(|word| !word.starts_with('-')) {
                    if word.chars().all(|c| c.is_ascii_uppercase()) {
                        break;
                    }
                    at = at.find_subcommand(word).unwrap_or_else(|| panic!("`{single}` is no command"));
                }
            }
        }
    }
}
