//! Longer texts from the user: on the command line, in a file, on stdin, or in an editor.

use std::io::{IsTerminal, Write};
use std::process::Command;

use camino::{Utf8Path, Utf8PathBuf};

use crate::error::CommandError;
use crate::ui;

/// The text below a title.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct BodyArgs {
    /// The text; `-` reads it from stdin
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    body: Option<String>,
    /// Read the text from this file; `-` is stdin
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, conflicts_with = "body")]
    body_file: Option<Utf8PathBuf>,
}

impl BodyArgs {
    /// Returns the text, if one was given.
    pub(crate) fn read(&self) -> Result<Option<String>, CommandError> {
        match (&self.body, &self.body_file) {
            (Some(text), _) => text_or_stdin(text).map(Some),
            (None, Some(file)) => file_or_stdin(file).map(Some),
            (None, None) => Ok(None),
        }
    }
}

/// Returns a text as typed; `-` reads it from stdin.
pub(crate) fn text_or_stdin(text: &str) -> Result<String, CommandError> {
    if text == "-" { stdin("text") } else { Ok(text.to_owned()) }
}

/// Like [`text_or_stdin`], but refuses an empty text.
pub(crate) fn require_text(text: &str) -> Result<String, CommandError> {
    let text = text_or_stdin(text)?;
    match text.trim().is_empty() {
        true => Err(CommandError::user("the text is empty, so nothing was sent")),
        false => Ok(text),
    }
}

pub(crate) fn file_or_stdin(file: &Utf8Path) -> Result<String, CommandError> {
    if file == "-" { stdin("text") } else { self::file(file) }
}

pub(crate) fn file(file: &Utf8Path) -> Result<String, CommandError> {
    std::fs::read_to_string(file).map_err(|err| CommandError::user(format!("`{file}` cannot be read: {err}")))
}

/// Reads stdin. At a terminal, asks for the text, which the user knows by this word.
pub(crate) fn stdin(what: &str) -> Result<String, CommandError> {
    if std::io::stdin().is_terminal() {
        ui::note(format_args!("type the {what}; Ctrl-D ends it"));
    }
    std::io::read_to_string(std::io::stdin())
        .map_err(|err| CommandError::user(format!("stdin cannot be read: {err}")))
}

/// A title with a text, as edited: the title in the first line, then an empty line, then the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TitledText {
    pub(crate) title: String,
    pub(crate) body: String,
}

impl TitledText {
    pub(crate) fn to_text(&self) -> String {
        format!("{}\n\n{}\n", self.title, self.body.trim_end())
    }

    /// Parses an edited text; absent if there is no title.
    pub(crate) fn parse(text: &str) -> Option<TitledText> {
        let (title, body) = text.trim_start().split_once('\n').unwrap_or((text, ""));
        let title = title.trim();
        let body = body.trim_start_matches(['\r', '\n']).trim_end();
        (!title.is_empty()).then(|| TitledText { title: title.to_owned(), body: body.to_owned() })
    }

    /// Opens it in the user's editor. Absent if nothing was changed.
    pub(crate) fn edited(&self) -> Result<Option<TitledText>, CommandError> {
        let text = edit(&self.to_text())?;
        let form = TitledText::parse(&text).ok_or_else(|| {
            CommandError::user("the first line must be the title, but it is empty; nothing was changed")
        })?;
        let same = TitledText::parse(&self.to_text()).as_ref() == Some(&form);
        Ok((!same).then_some(form))
    }
}

/// Asks a yes-or-no question; anything but a clear yes is a no.
pub(crate) fn confirm(question: &str) -> Result<bool, CommandError> {
    let failed = |err| CommandError::environment(format!("the answer cannot be read: {err}"));
    let mut err = anstream::stderr();
    write!(err, "{question} [y/N] ").and_then(|()| err.flush()).map_err(failed)?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).map_err(failed)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Returns true if stdin and stdout are terminals.
pub(crate) fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

fn edit(text: &str) -> Result<String, CommandError> {
    let set = |name| std::env::var(name).ok().filter(|value: &String| !value.trim().is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    let failed = |err: std::io::Error| CommandError::environment(format!("the text cannot be edited: {err}"));
    // Ends in `.md`, so that editors recognise the format. Only the user can read it.
    let mut file = tempfile::Builder::new().prefix("ao-").suffix(".md").tempfile().map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    // Through a shell, because the variable may contain options; the path is passed as an argument.
    let status = Command::new("sh")
        .args(["-c", &format!("{editor} \"$1\""), "sh"])
        .arg(file.path())
        .status()
        .map_err(failed)?;
    if !status.success() {
        let error = format!("the editor `{editor}` failed ({status}), so nothing was changed");
        return Err(CommandError::user(error).hint("set VISUAL or EDITOR to use another editor"));
    }
    std::fs::read_to_string(file.path()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_read_as_it_was_written() {
        let form = |title: &str, body: &str| TitledText { title: title.into(), body: body.into() };
        for form in [form("Fix it", ""), form("Fix it", "one\n\n  two"), form("ü", "# head")] {
            assert_eq!(TitledText::parse(&form.to_text()), Some(form));
        }
        assert_eq!(TitledText::parse("\n\n Fix it \r\n\r\nbody\r\n"), Some(form("Fix it", "body")));
        assert_eq!(TitledText::parse("only a title"), Some(form("only a title", "")));
        assert_eq!(TitledText::parse(" \n\n"), None);
    }
}
