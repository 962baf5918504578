//! The reference of all commands, generated from the command line itself.

use std::fmt::Write;

use clap::{Arg, Command};

use crate::cli;
use crate::error::EXIT_CODES;

/// Returns the files that are generated from this crate, by their path in the repository. `cargo xtask generate`
/// writes them.
pub fn generated() -> Vec<(&'static str, String)> {
    vec![("docs/cli.md", markdown())]
}

const BEGINNING: &str = "\
# Commands

<!-- Made by `cargo xtask generate` from the command line itself. -->

Every command tells of itself with `--help`, and `ao man COMMAND` prints its page of the manual.

";

fn markdown() -> String {
    let mut root = cli::command();
    root.build();
    let mut page = BEGINNING.to_owned();
    page.push_str("## Options for all commands\n\n");
    let globals: Vec<&Arg> = root.get_arguments().filter(|arg| is_for_all(arg)).collect();
    table(&mut page, &globals);
    for command in root.get_subcommands().filter(|command| is_for_people(command)) {
        section(&mut page, command, &format!("ao {}", command.get_name()), 2);
    }
    page.push_str("\n## Exit codes\n\n| code | meaning |\n|---|---|\n");
    for (_, code, meaning) in EXIT_CODES {
        let _ = writeln!(page, "| {code} | {meaning} |");
    }
    page.push_str("| 128 and more | a signal ended it, as shells count: 130 for Ctrl-C |\n");
    page
}

fn section(page: &mut String, command: &Command, name: &str, depth: usize) {
    let _ = write!(page, "\n{} `{name}`\n\n", "#".repeat(depth));
    if let Some(about) = command.get_long_about().or(command.get_about()) {
        let _ = write!(page, "{}\n\n", plain(&about.to_string()));
    }
    let below: Vec<&Command> = command.get_subcommands().filter(|below| is_for_people(below)).collect();
    if below.is_empty() {
        let usage = command.clone().render_usage().to_string();
        let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage).trim_end();
        let _ = write!(page, "```text\n{usage}\n```\n\n");
    }
    let own: Vec<&Arg> =
        command.get_arguments().filter(|arg| !arg.is_hide_set() && !is_for_all(arg)).collect();
    if !own.is_empty() {
        table(page, &own);
        page.push('\n');
    }
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    if let Some(examples) = examples.strip_prefix("Examples:\n") {
        let lines: Vec<&str> = examples.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
        let _ = writeln!(page, "```console\n{}\n```", lines.join("\n").trim_end());
    }
    while page.ends_with("\n\n") {
        page.pop();
    }
    for command in below {
        section(page, command, &format!("{name} {}", command.get_name()), depth + 1);
    }
}

fn table(page: &mut String, args: &[&Arg]) {
    page.push_str("| | |\n|---|---|\n");
    for arg in args {
        let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
        let mut name = arg.to_string();
        if let (Some(short), Some(_)) = (arg.get_short(), arg.get_long()) {
            name = format!("-{short}, {name}");
        }
        let variable =
            arg.get_env().map(|name| format!(" Also `{}`.", name.to_string_lossy())).unwrap_or_default();
        let _ = writeln!(page, "| `{}` | {}{variable} |", name.replace('|', "\\|"), cell(&help));
    }
}

fn is_for_people(command: &Command) -> bool {
    !command.is_hide_set() && command.get_name() != "help"
}

/// Returns true for options of all commands, which are listed once, at the top.
fn is_for_all(arg: &Arg) -> bool {
    arg.is_global_set() || matches!(arg.get_id().as_str(), "help" | "version")
}

/// Escapes text for a table.
fn cell(text: &str) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
    if !line.is_empty() && !line.ends_with(['.', ']', '!', '?', ')', '…']) {
        line.push('.');
    }
    html_safe(&line)
}

/// Turns the first line, which is a title in help, into a sentence.
fn plain(text: &str) -> String {
    let text = html_safe(text.trim());
    match text.split_once("\n\n") {
        Some((title, rest)) => format!("{}.\n\n{rest}", title.trim_end_matches('.')),
        None => format!("{}.", text.trim_end_matches('.')),
    }
}

/// Escapes `<…>` outside of code, which would vanish from the page.
fn html_safe(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut code = false;
    for c in text.chars() {
        match c {
            '`' => {
                code = !code;
                safe.push(c);
            }
            '<' if !code => safe.push_str("&lt;"),
            c => safe.push(c),
        }
    }
    safe
}
