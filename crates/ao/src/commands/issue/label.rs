//! `ao issue label`.

use ao_api::IssueEdit;

use super::{IssueArg, print_issue};
use crate::cli::context::Context;
use crate::error::CommandError;

/// Add labels to an issue, or remove them
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao issue label 42 +bug -later
  ao issue label 42 --project my-app +bug   options stand before the labels
  ao issue label 42 --add bug,auth --remove later")]
pub(crate) struct Args {
    #[command(flatten)]
    which: IssueArg,
    /// `+label` adds a label, `-label` removes it
    #[arg(allow_hyphen_values = true, value_name = "+LABEL|-LABEL")]
    changes: Vec<String>,
    /// Labels to add
    #[arg(long, value_delimiter = ',', value_name = "LABEL")]
    add: Vec<String>,
    /// Labels to remove
    #[arg(long, value_delimiter = ',', value_name = "LABEL")]
    remove: Vec<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let mut edit = IssueEdit {
        add_labels: args.add.clone(),
        remove_labels: args.remove.clone(),
        ..IssueEdit::default()
    };
    changes(&args.changes, &mut edit)?;
    if edit == IssueEdit::default() {
        return Err(CommandError::user("no label was named").hint("write `+bug`, `-bug` or both"));
    }
    cx.call(async |client| {
        let issue = client.edit_issue(&args.which.named(client).await?, &edit).reply().await?;
        let labels = match issue.value.labels.is_empty() {
            true => "has no labels now".to_owned(),
            false => format!("has the labels {}", crate::show::plain(&issue.value.labels.join(", "))),
        };
        print_issue(&issue, &labels, cx)
    })
}

fn changes(typed: &[String], edit: &mut IssueEdit) -> Result<(), CommandError> {
    for change in typed {
        // clap takes everything after a label for a label too.
        if change.starts_with("--") || change == "-p" || change == "-h" {
            let error = format!("`{change}` follows a label, so it would be read as one");
            return Err(CommandError::config(error)
                .hint("put options before the labels; `--remove` removes labels with any name"));
        }
        let (labels, label) = match (change.strip_prefix('+'), change.strip_prefix('-')) {
            (Some(label), _) => (&mut edit.add_labels, label),
            (_, Some(label)) => (&mut edit.remove_labels, label),
            _ => (&mut edit.add_labels, change.as_str()),
        };
        if label.is_empty() {
            let error = format!("`{change}` is not a label");
            return Err(CommandError::user(error).hint("write `+bug` or `-bug`"));
        }
        labels.push(label.to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_says_whether_a_label_comes_or_goes() {
        let read = |typed: &[&str]| {
            let mut edit = IssueEdit::default();
            let typed: Vec<String> = typed.iter().map(|word| (*word).to_owned()).collect();
            changes(&typed, &mut edit).ok().map(|()| (edit.add_labels, edit.remove_labels))
        };
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(read(&["+a", "-b", "c"]), Some((words(&["a", "c"]), words(&["b"]))));
        assert_eq!(read(&["+"]), None);
        assert_eq!(read(&["+a", "--json"]), None);
        assert_eq!(read(&["+a", "-p", "my-app"]), None);
    }
}
