//! `ao issue import`: imports a task list, or issues of GitHub.

use ao_api::{ImportOrder, ImportOutcome, ImportSource};
use camino::Utf8PathBuf;

use crate::cli::context::Context;
use crate::cli::{choice, completers, text_input};
use crate::client::project_choice::project;
use crate::error::CommandError;
use crate::show::Canvas;
use crate::{show, ui};

/// Import issues from a file
///
/// Reads task lists in Markdown (`- [ ] …`) and the JSON of GitHub (`gh issue list --json …`). Issues that were
/// imported before are not created again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao issue import TODO.md --dry-run
  ao issue import TODO.md
  gh issue list --state all --limit 1000 --json number,title,body,labels,state | ao issue import -")]
pub(crate) struct Args {
    /// The file; `-` is stdin
    #[arg(value_hint = clap::ValueHint::FilePath)]
    file: Utf8PathBuf,
    /// The format of the file [default: detected from its content]
    #[arg(long, value_parser = choice::<ImportSource>())]
    format: Option<ImportSource>,
    /// Only show what would be created
    #[arg(long, short = 'n')]
    dry_run: bool,
    /// The project they belong to [default: the project of the current folder]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let text = text_input::file_or_stdin(&args.file)?;
    let format = args.format.unwrap_or_else(|| guessed(&text));
    let imported = cx.call(async |client| {
        let project_id = project(client, args.project.as_deref()).await?;
        let order = ImportOrder { project_id, format, text, dry_run: args.dry_run };
        Ok(client.import_issues(&order).reply().await?)
    })?;
    if cx.json() {
        return Ok(ui::raw(imported.json())?);
    }
    let issues = &imported.value.issues;
    let known = issues.iter().filter(|issue| issue.result == ImportOutcome::Known).count();
    let count = |issues: usize| ui::count(issues as u64, "issue");
    ui::text(show::imported(&imported.value, Canvas::here()))?;
    ui::note(match (issues.len() - known, known, args.dry_run) {
        (0, 0, _) => "nothing in it looks like an issue".to_owned(),
        (new, known, true) => format!("{} would be created, {known} known already", count(new)),
        (new, known, false) => format!("{} created, {known} known already", count(new)),
    });
    Ok(())
}

/// Guesses the format. JSON starts with a bracket and parses; a task list may start with one too, and does not parse.
fn guessed(text: &str) -> ImportSource {
    let is_json = text.trim_start().starts_with(['[', '{'])
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    // GitHub exports several pages as several objects in a row.
    let is_stream = || {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
        text.trim_start().starts_with('{') && values.next().is_some_and(|value| value.is_ok())
    };
    if is_json || is_stream() { ImportSource::GitHub } else { ImportSource::Markdown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_seen_from_the_text() {
        assert_eq!(guessed("- [ ] one\n- [x] two\n"), ImportSource::Markdown);
        assert_eq!(guessed("# Tasks\n"), ImportSource::Markdown);
        assert_eq!(guessed("[link](x) and more\n"), ImportSource::Markdown);
        assert_eq!(guessed("  [{\"title\": \"one\"}]"), ImportSource::GitHub);
        assert_eq!(guessed("{\"title\": \"one\"}\n{\"title\": \"two\"}\n"), ImportSource::GitHub);
        assert_eq!(guessed(""), ImportSource::Markdown);
    }
}
