//! Properties of all files, tested with many odd ones.

use ao_core::pull::{AuthorFacts, AuthorStanding};
use ao_core::{ProjectId, Timestamp};
use proptest::prelude::*;

use super::FileMistake;
use super::document::{IssueDocument, written};
use crate::local::issue::{self, Issue, IssueComment};

/// Fragments of text, many of which have a meaning in YAML or Markdown.
const BITS: &str = "a¦B ¦é¦\u{1f980}¦ ¦  ¦\n¦\r\n¦\r¦:¦: ¦ #¦#¦-¦- ¦---¦...¦'¦\"¦\\¦[¦]¦{¦}¦,¦&x¦*x¦!t¦|¦>¦%¦@¦`¦~¦null¦true¦0x1¦\
    1e3¦\t¦\u{feff}¦\u{85}¦\u{2028}¦## Comments¦### a · 2026-01-01¦title: x¦<!-- key: ¦ -->";

fn words() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(BITS.split('¦').collect::<Vec<_>>()), 0..12)
        .prop_map(|bits| bits.concat())
}

fn issues() -> impl Strategy<Value = Issue> {
    let lists = (prop::collection::vec(words(), 0..4), prop::collection::btree_set(1..50_u64, 0..4));
    (words(), words(), lists, any::<i32>(), words(), any::<bool>()).prop_filter_map(
        "not what an issue may look like",
        |(title, body, (labels, blocked_by), priority, login, closed)| {
            let words = |what: &str, text: &str| issue::word(what, text).ok();
            Some(Issue {
                number: 60,
                title: issue::title(&title).ok()?,
                body: issue::body("a body", &body).ok()?,
                labels: labels.iter().filter_map(|label| words("a label", label)).collect(),
                priority,
                blocked_by,
                assignee: words("an assignee", &login),
                closed,
                author: words("an author", &login)
                    .map(|login| AuthorFacts { login, standing: AuthorStanding::Owner }),
                key: words("a mark", &login),
                created: Timestamp(1_767_323_045_678),
                updated: Timestamp(1_767_323_045_999),
            })
        },
    )
}

fn read(text: &str) -> Result<IssueDocument, FileMistake> {
    IssueDocument::read(&ProjectId::new("my-app"), 60, Timestamp(1_767_323_045_999), text)
}

proptest! {
    #[test]
    fn a_written_issue_is_read_back(issue in issues()) {
        let text = written(&issue);
        prop_assert_eq!(read(&text).map(|document| document.issue), Ok(issue), "{}", text);
    }

    #[test]
    fn an_issue_of_ours_can_become_any_other(was in issues(), is in issues(), comment in words()) {
        let is = Issue { author: was.author.clone(), key: was.key.clone(), ..is };
        let project = ProjectId::new("my-app");
        let text = written(&was);
        let edited = read(&text).unwrap().edited(&project, &text, &was, &is);
        let edited = edited.ok_or_else(|| TestCaseError::fail(format!("no clean way from {text}")))?;
        let document = read(&edited).unwrap();
        prop_assert_eq!(&document.issue, &is, "{}", edited);
        if let Ok(body) = issue::body("a comment", &comment)
            && !body.is_empty()
        {
            let author = AuthorFacts { login: "ann".into(), standing: AuthorStanding::Agent };
            let comment = IssueComment { key: is.key.clone(), author, body, at: Timestamp(1_767_323_045_678) };
            let commented = document.commented(&project, &edited, &comment);
            let commented = commented.ok_or_else(|| TestCaseError::fail(format!("no clean way from {edited}")))?;
            let read = read(&commented).unwrap();
            prop_assert_eq!((read.issue, read.comments), (is, vec![comment]), "{}", commented);
        }
    }

    /// Reading any file terminates, and an edit is either clean or not made.
    #[test]
    fn no_file_is_too_odd_to_be_read(front in prop::collection::vec(words(), 0..6), rest in words(), is in issues()) {
        let text = format!("---\n{}\n---\n{rest}", front.join("\n"));
        for text in [text.as_str(), rest.as_str()] {
            let titled = text.replacen("---\n", "---\ntitle: x\n", 1);
            for text in [text, titled.as_str()] {
                if let Ok(document) = read(text) {
                    let was = document.issue.clone();
                    _ = document.edited(&ProjectId::new("my-app"), text, &was, &is);
                }
            }
        }
    }
}
