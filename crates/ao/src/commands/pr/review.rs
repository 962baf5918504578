//! `ao pr review`, `ao pr approve` and `ao pr request-changes`: a verdict, with comments on lines.
//!
//! A review is for the head that was read. It is refused if commits were pushed since, so that unseen commits are not
//! approved.

use ao_api::client::ItemName;
use ao_api::{NewReview, NewReviewComment, ReviewChoice};
use camino::Utf8PathBuf;

use super::PullArg;
use super::location::FileLocation;
use crate::cli::context::Context;
use crate::cli::text_input::{self, BodyArgs};
use crate::client::retry::{self, CallRetry};
use crate::error::CommandError;
use crate::{show, ui};

/// Review a pull request, with comments on lines
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao pr review 7 --comment -b \"Two small things\" --at src/main.rs:12 \"Name it\" --at src/a.rs:3:old \"Why gone?\"
  ao pr review 7 --approve
  ao pr review 7 --request-changes --file findings.json   an array of {path, line, side, body}")]
pub(crate) struct Args {
    #[command(flatten)]
    which: PullArg,
    /// Approve it
    #[arg(long, group = "verdict")]
    approve: bool,
    /// Request changes
    #[arg(long, group = "verdict")]
    request_changes: bool,
    /// Comment without a verdict
    #[arg(long, group = "verdict")]
    comment: bool,
    #[command(flatten)]
    body: BodyArgs,
    /// Comment on a line; `:old` after it means the line before the change
    #[arg(long, num_args = 2, value_names = ["PATH:LINE", "TEXT"], allow_hyphen_values = true)]
    at: Vec<String>,
    /// Read comments from a file: a JSON array of {path, line, side, body}; `-` is stdin
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: Option<Utf8PathBuf>,
    /// The commit that was read [default: the current head]
    #[arg(long, value_name = "SHA")]
    head: Option<String>,
}

/// Approve a pull request
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao pr approve 7
  ao pr approve 7 -b \"Thank you\" --head 4f1c2d3")]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    review: PlainReview,
}

/// A verdict without comments on lines.
#[derive(Debug, clap::Args)]
struct PlainReview {
    #[command(flatten)]
    which: PullArg,
    #[command(flatten)]
    body: BodyArgs,
    /// The commit that was read [default: the current head]
    #[arg(long, value_name = "SHA")]
    head: Option<String>,
}

/// Request changes to a pull request
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao pr request-changes 7 -b \"The parser needs tests\"
  ao pr request-changes 7 --body-file review.md")]
pub(crate) struct RequestArgs {
    #[command(flatten)]
    review: PlainReview,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let mut comments = at_places(&args.at)?;
    if let Some(file) = &args.file {
        let text = text_input::file_or_stdin(file)?;
        let found: Vec<NewReviewComment> = serde_json::from_str(&text).map_err(|err| {
            CommandError::user(format!("`{file}` is not a list of comments: {err}"))
                .hint("write it as [{\"path\": \"src/main.rs\", \"line\": 12, \"body\": \"…\"}]")
        })?;
        comments.extend(found);
    }
    let body = args.body.read()?.unwrap_or_default();
    let verdict = match (args.approve, args.request_changes) {
        (true, _) => ReviewChoice::Approve,
        (_, true) => ReviewChoice::RequestChanges,
        _ => ReviewChoice::Comment,
    };
    let review = NewReview { body, comments, ..NewReview::new(verdict) };
    submit(&args.which, args.head.as_deref(), review, cx)
}

pub(crate) fn approve(args: &ApproveArgs, cx: &Context) -> Result<(), CommandError> {
    args.review.submit(ReviewChoice::Approve, cx)
}

pub(crate) fn request_changes(args: &RequestArgs, cx: &Context) -> Result<(), CommandError> {
    args.review.submit(ReviewChoice::RequestChanges, cx)
}

impl PlainReview {
    fn submit(&self, verdict: ReviewChoice, cx: &Context) -> Result<(), CommandError> {
        let review = NewReview { body: self.body.read()?.unwrap_or_default(), ..NewReview::new(verdict) };
        submit(&self.which, self.head.as_deref(), review, cx)
    }
}

fn submit(
    which: &PullArg,
    head: Option<&str>,
    mut review: NewReview,
    cx: &Context,
) -> Result<(), CommandError> {
    if review.verdict != ReviewChoice::Approve && review.body.trim().is_empty() && review.comments.is_empty()
    {
        let error = "the review is empty, so it was not submitted";
        return Err(CommandError::user(error).hint(
            "describe the changes with `-b`, or comment on lines with `ao pr review --at` or `--file`",
        ));
    }
    if review.comments.iter().any(|comment| comment.path.is_empty() || comment.body.trim().is_empty()) {
        return Err(CommandError::user("a comment has no path or no text, so nothing was submitted"));
    }
    cx.call(async |client| {
        let mut tries = CallRetry::default();
        let named = which.named(client).await?;
        let pull = tries.call(async || client.pull(&named).await).await?.pull;
        review.head = Some(pinned(head, &pull.head));
        review.key = Some(retry::key());
        let named = ItemName::from(pull.id.as_str());
        let answer = tries.call(async || client.review_pull(&named, &review).reply().await).await?;
        if cx.json() {
            return Ok(ui::raw(answer.json())?);
        }
        let done = match review.verdict {
            ReviewChoice::Approve => "approved",
            ReviewChoice::RequestChanges => "changes requested of",
            ReviewChoice::Comment => "commented on",
        };
        let (title, id, named) = (ui::TITLE, show::plain(&pull.id), show::plain(&pull.title));
        let found = match review.comments.len() {
            0 => String::new(),
            found => format!(", with {}", ui::count(found as u64, "finding")),
        };
        let at = pull.head.get(..8).unwrap_or(&pull.head);
        Ok(ui::line(format_args!("{done} {title}{id}{title:#} at {at}{found}: {named}"))?)
    })
}

/// Returns the full commit for a typed prefix.
pub(in crate::commands) fn pinned(typed: Option<&str>, head: &str) -> String {
    match typed {
        Some(typed) if typed.len() < 4 || !head.starts_with(&typed.to_ascii_lowercase()) => typed.to_owned(),
        _ => head.to_owned(),
    }
}

/// Parses places and texts, which alternate on the command line.
fn at_places(typed: &[String]) -> Result<Vec<NewReviewComment>, CommandError> {
    let comment = |pair: &[String]| {
        let Ok(place) = pair[0].parse::<FileLocation>();
        NewReviewComment { side: place.side(), line: place.line, path: place.path, body: pair[1].clone() }
    };
    match typed.len() % 2 {
        0 => Ok(typed.chunks(2).map(comment).collect()),
        _ => Err(CommandError::user("`--at` needs a file with a line, and a text")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_review_is_of_the_head_that_was_read() {
        let head = "4f1c2d3e5a6b7c8d9e0f";
        assert_eq!(pinned(None, head), head);
        assert_eq!(pinned(Some("4F1C2D3"), head), head);
        assert_eq!(pinned(Some("abcdef0"), head), "abcdef0", "the daemon says that it has moved");
        assert_eq!(pinned(Some(""), head), "");
    }
}
