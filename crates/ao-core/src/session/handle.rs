//! The names of a session, and the one rule that resolves a typed name.
//!
//! | typed | found by |
//! |---|---|
//! | `app-3`, `my-app-orchestrator` | the session's name |
//! | `ses_1f…` | its id |
//! | `my-app-fix-login-validation-bug` | its project and its title |
//! | `my-app-42`, `issue-42`, `my-app#42`, `#42`, `42` | the issue that it works on |
//!
//! A prefix of a name or of an id is enough if it is unique. An issue is always typed in full: `issue-4` does not
//! mean issue 42.

/// The names of a session by which it is found.
#[derive(Debug, Clone, Copy)]
pub struct SessionHandle<'a> {
    pub id: &'a str,
    pub name: &'a str,
    pub project: &'a str,
    pub title: &'a str,
    /// The key of the issue that it works on.
    pub issue: Option<&'a str>,
    pub live: bool,
}

/// Result of the search for a typed name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionMatch<T> {
    One(T),
    /// It is ambiguous between these.
    Several(Vec<T>),
    Nothing,
}

impl SessionHandle<'_> {
    /// Returns all names of the session, the main one first.
    pub fn all(&self) -> Vec<String> {
        let mut all = self.names();
        all.push(self.id.to_owned());
        all.extend(self.issue_names());
        all
    }

    /// Returns the names of which a prefix is enough.
    pub fn names(&self) -> Vec<String> {
        let mut names = vec![self.name.to_owned()];
        names.push(slug(&format!("{}-{}", self.project, self.title)));
        names.extend(self.issue.map(|issue| slug(&format!("{}-{issue}", self.project))));
        names
    }

    /// Returns the names by its issue, which are typed in full.
    fn issue_names(&self) -> Vec<String> {
        let Some(issue) = self.issue else { return vec![] };
        let project = self.project;
        vec![format!("issue-{issue}"), format!("#{issue}"), format!("{project}#{issue}"), issue.to_owned()]
    }

    fn is_called(&self, meant: &str) -> bool {
        self.name == meant || self.id == meant
    }

    fn answers_to(&self, meant: &str) -> bool {
        self.names().iter().chain(&self.issue_names()).any(|name| name == meant)
    }

    /// Returns true if one of its names begins like this. The name of its project alone names no session.
    fn begins_with(&self, meant: &str) -> bool {
        let project = slug(self.project);
        if project.starts_with(meant.trim_end_matches('-')) {
            return self.name.starts_with(meant);
        }
        self.id.starts_with(meant) || self.names().iter().any(|name| name.starts_with(meant))
    }
}

/// Resolves a typed name to a session.
///
/// An exact name or id counts first, then any other name typed in full, then a prefix. Within each of the three, a
/// live session goes before ended ones.
pub fn session_meant<T: Copy>(choices: &[(SessionHandle<'_>, T)], meant: &str) -> SessionMatch<T> {
    if meant.is_empty() {
        return SessionMatch::Nothing;
    }
    let rules: [fn(&SessionHandle<'_>, &str) -> bool; 3] =
        [|it, name| it.is_called(name), |it, name| it.answers_to(name), |it, name| it.begins_with(name)];
    for rule in rules {
        let (live, ended): (Vec<_>, Vec<_>) =
            choices.iter().filter(|(handle, _)| rule(handle, meant)).partition(|(handle, _)| handle.live);
        let matching = if live.is_empty() { ended } else { live };
        match matching.as_slice() {
            [] => {}
            [(_, one)] => return SessionMatch::One(*one),
            several => return SessionMatch::Several(several.iter().map(|(_, one)| *one).collect()),
        }
    }
    SessionMatch::Nothing
}

/// Converts text into a part of a name: lower case, joined by single dashes.
pub(crate) fn slug(words: &str) -> String {
    let dashed: String =
        words.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    dashed.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Id, name, project, title, issue, and whether it is live.
    type Row = (&'static str, &'static str, &'static str, &'static str, Option<&'static str>, bool);

    const SESSIONS: &[Row] = &[
        ("ses_1f", "app-42", "my-app", "Fix login validation bug", Some("42"), true),
        ("ses_1e", "app-421", "my-app", "Fix the footer: it's too low", Some("421"), true),
        ("ses_2a", "app-add-export", "my-app", "Add export", None, false),
        ("ses_3b", "docs-fix-typo", "docs", "Fix typo", None, true),
        ("ses_4c", "docs-fix-links", "docs", "Fix links", Some("42"), false),
        ("ses_5d", "old-one", "old", "one", None, false),
        ("ses_6e", "old-two", "old", "two", Some("GH-7"), false),
        ("ses_7f", "app-fix", "my-app", "Fix it", None, true),
        ("ses_8a", "twin-1", "twin", "Same title", None, true),
        ("ses_9b", "twin-2", "twin", "Same title", None, false),
    ];

    fn found(meant: &str) -> String {
        let choice = |row: &Row| {
            let (id, name, project, title, issue, live) = *row;
            (SessionHandle { id, name, project, title, issue, live }, name)
        };
        let choices: Vec<_> = SESSIONS.iter().map(choice).collect();
        match session_meant(&choices, meant) {
            SessionMatch::One(name) => name.to_owned(),
            SessionMatch::Several(names) => format!("? {}", names.join(" ")),
            SessionMatch::Nothing => "-".to_owned(),
        }
    }

    #[test]
    fn a_session_is_found_by_what_is_typed_of_it() {
        let table = [
            // Its name and its id, whole and in part.
            ("app-42", "app-42"),
            ("app-421", "app-421"),
            ("ses_1f", "app-42"),
            ("ses_2", "app-add-export"),
            ("ses_1", "? app-42 app-421"),
            // Its project and its title.
            ("my-app-fix-login-validation-bug", "app-42"),
            ("my-app-fix-login", "app-42"),
            ("my-app-fix-the-footer-it-s-too", "app-421"),
            ("my-app-add", "app-add-export"),
            ("my-app-fix", "? app-42 app-421 app-fix"),
            // Its issue, in full.
            ("issue-42", "app-42"),
            ("#421", "app-421"),
            ("42", "app-42"),
            ("docs#42", "docs-fix-links"),
            ("my-app-421", "app-421"),
            ("issue-GH-7", "old-two"),
            ("issue-4", "-"),
            ("4", "-"),
            ("issue-7", "-"),
            // An exact name goes before a prefix of another; a live session before an ended one.
            ("app-fix", "app-fix"),
            ("docs", "docs-fix-typo"),
            ("docs-fix-l", "docs-fix-links"),
            ("twin-same-title", "twin-1"),
            ("twin-2", "twin-2"),
            ("app-4", "? app-42 app-421"),
            ("old", "? old-one old-two"),
            ("zzz", "-"),
            ("", "-"),
        ];
        for (meant, expected) in table {
            assert_eq!(found(meant), expected, "{meant}");
        }
    }
}
