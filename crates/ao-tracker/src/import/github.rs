//! Parses GitHub's JSON: the output of `gh issue list --json …`, and the answers of its REST API.

use std::collections::BTreeSet;

use ao_core::pull::{AuthorFacts, AuthorStanding};
use serde_json::{Map, Value};

use super::{ImportError, IssueDraft, bounded, few_enough};
use crate::local::{MAX_BODY, MAX_LABELS, MAX_TITLE};

/// Parses an array of issues. Pull requests, which the API includes, are left out.
pub fn read(text: &str) -> Result<Vec<IssueDraft>, ImportError> {
    bounded(text)?;
    let not_github = |what: String| ImportError::NotGitHub { what };
    let value: Value = serde_json::from_str(text).map_err(|err| not_github(err.to_string()))?;
    let Value::Array(entries) = value else { return Err(not_github("it is not an array".into())) };
    let mut drafts = Vec::new();
    let mut keys = BTreeSet::new();
    for (n, entry) in entries.iter().enumerate() {
        let Value::Object(entry) = entry else {
            return Err(ImportError::Entry { entry: n + 1, what: "it is not an object".into() });
        };
        if is_pull(entry) {
            continue;
        }
        let draft = draft(entry).map_err(|what| ImportError::Entry { entry: n + 1, what })?;
        // Concatenated pages may contain one twice.
        if keys.insert(draft.key.clone()) {
            drafts.push(draft);
        }
    }
    few_enough(&drafts)?;
    Ok(drafts)
}

/// Returns the number in a name such as `GH-789`, which refers to an issue of GitHub.
pub(crate) fn number_named(name: &str) -> Option<u64> {
    let (prefix, number) = name.split_once('-')?;
    crate::local::number(number).filter(|_| prefix.eq_ignore_ascii_case("gh"))
}

/// Returns GitHub's number of the issue with this key, if the key shows that it came from there.
pub(crate) fn number_of_key(key: &str) -> Option<u64> {
    let number = match key.strip_prefix("github:") {
        Some(number) => number,
        None if key.starts_with("https://") || key.starts_with("http://") => key.rsplit_once("/issues/")?.1,
        None => return None,
    };
    crate::local::number(number)
}

fn is_pull(entry: &Map<String, Value>) -> bool {
    entry.get("pull_request").is_some_and(|pull| !pull.is_null())
        || entry.get("isPullRequest") == Some(&Value::Bool(true))
        || text(entry, "url").is_some_and(|url| url.contains("/pull/"))
}

fn draft(entry: &Map<String, Value>) -> Result<IssueDraft, String> {
    let number = entry.get("number").and_then(Value::as_u64).ok_or("it has no `number`")?;
    let url = text(entry, "html_url").or_else(|| text(entry, "url"));
    let key = url.and_then(word).unwrap_or_else(|| format!("github:{number}"));
    let title = text(entry, "title").ok_or_else(|| format!("issue #{number} has no `title`"))?;
    let title = crate::local::title(title)
        .map_err(|_| format!("the title of issue #{number} is not a line of 1 to {MAX_TITLE} characters"))?;
    let closed = match text(entry, "state").map(str::to_ascii_lowercase).as_deref() {
        None | Some("open") => false,
        Some("closed") => true,
        Some(other) => {
            return Err(format!("the state of issue #{number} is `{other}`, not `open` or `closed`"));
        }
    };
    let body = match entry.get("body") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(body)) => cut(&crate::local::plain_text(body).replace('\0', ""), url),
        Some(_) => return Err(format!("the body of issue #{number} is not a text")),
    };
    Ok(IssueDraft {
        key,
        title,
        body,
        labels: labels(entry, number)?,
        assignee: assignee(entry),
        closed,
        author: author(entry),
        blocked_by: vec![],
    })
}

/// Truncates a long body. GitHub counts characters where we count bytes.
fn cut(body: &str, url: Option<&str>) -> String {
    if body.len() <= MAX_BODY {
        return body.to_owned();
    }
    let rest = format!("\n\n(cut here; the whole text is at {})", url.unwrap_or("GitHub"));
    let end = body.floor_char_boundary(MAX_BODY.saturating_sub(rest.len()));
    format!("{}{rest}", &body[..end])
}

/// Reads the labels, which are objects with a name, or names.
fn labels(entry: &Map<String, Value>, number: u64) -> Result<BTreeSet<String>, String> {
    let list = match entry.get("labels") {
        None | Some(Value::Null) => return Ok(BTreeSet::new()),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(format!("the labels of issue #{number} are not an array")),
    };
    let names: Option<BTreeSet<&str>> = list.iter().map(|label| named(label, "name")).collect();
    let names = names.ok_or_else(|| format!("a label of issue #{number} has no name"))?;
    let labels: Option<BTreeSet<String>> = names.into_iter().map(word).collect();
    labels.filter(|labels| labels.len() <= MAX_LABELS).ok_or_else(|| {
        format!("issue #{number} has more than {MAX_LABELS} labels, or one that is not a word")
    })
}

/// Returns the author, if given. The standing comes from GitHub and is never derived from a login, which anyone can
/// choose: a name that ends in `[bot]` is no bot. Where GitHub does not report it (`gh issue list` does not), the
/// author counts as an outsider.
fn author(entry: &Map<String, Value>) -> Option<AuthorFacts> {
    let who = entry.get("user").or_else(|| entry.get("author")).and_then(Value::as_object);
    let association = text(entry, "author_association").or_else(|| text(entry, "authorAssociation"));
    if who.is_none() && association.is_none() {
        return None;
    }
    let login = who.and_then(|who| text(who, "login")).and_then(word);
    let is_bot = who.is_some_and(|who| {
        text(who, "type") == Some("Bot")
            || who.get("is_bot").or_else(|| who.get("isBot")) == Some(&Value::Bool(true))
    });
    let standing = match association {
        _ if is_bot => AuthorStanding::Bot,
        Some("OWNER") => AuthorStanding::Owner,
        Some("MEMBER") => AuthorStanding::Member,
        Some("COLLABORATOR") => AuthorStanding::Collaborator,
        _ => AuthorStanding::Outsider,
    };
    Some(AuthorFacts { login: login.unwrap_or_else(|| "an unknown author".to_owned()), standing })
}

/// Returns the first assignee: here an issue has only one.
fn assignee(entry: &Map<String, Value>) -> Option<String> {
    let mut all = entry.get("assignees").and_then(Value::as_array).into_iter().flatten();
    let first = all.find_map(|who| named(who, "login"));
    first.or_else(|| named(entry.get("assignee")?, "login")).and_then(word)
}

/// Returns a name that is given as such, or as a field of an object.
fn named<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.as_str().or_else(|| value.get(key)?.as_str())
}

fn word(text: &str) -> Option<String> {
    crate::local::word("", text).ok()
}

fn text<'a>(entry: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    entry.get(key).and_then(Value::as_str)
}
