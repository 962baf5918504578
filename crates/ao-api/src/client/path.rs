//! Paths of calls, with their query.

use serde::Serialize;

use crate::segment;

/// An issue, a pull request or a run as the user typed it, with the project to look in.
///
/// The daemon resolves the name: `7`, `!7`, `my-app!7`, `42`, `#42`, `my-app#42`, a branch or a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemName {
    pub name: String,
    /// All projects if absent; for an agent its own project.
    pub project: Option<String>,
}

impl From<&str> for ItemName {
    fn from(name: &str) -> ItemName {
        ItemName { name: name.to_owned(), project: None }
    }
}

impl ItemName {
    /// Returns true if the name itself includes the project: `my-app!7`, `my-app#42`.
    pub fn has_project(name: &str) -> bool {
        name.find(['!', '#']).is_some_and(|at| at > 0)
    }

    /// Builds the path of the item, or of a part of it: `path("/api/pulls", "/diff")`.
    pub(super) fn path(&self, base: &str, rest: &str) -> RequestPath {
        RequestPath::new(format!("{base}/{}{rest}", segment(&self.name)))
            .with("project", self.project.as_ref())
    }
}

/// A path that parameters are added to.
#[derive(Debug)]
pub(super) struct RequestPath(String);

impl RequestPath {
    pub(super) fn new(path: impl Into<String>) -> RequestPath {
        RequestPath(path.into())
    }

    /// Returns a path with those parameters of a query that have a value.
    pub(super) fn query(path: &str, query: &impl Serialize) -> RequestPath {
        match serde_urlencoded::to_string(query).expect("the parameters are plain values") {
            none if none.is_empty() => RequestPath::new(path),
            query => RequestPath(format!("{path}?{query}")),
        }
    }

    /// Adds a parameter, if it has a value.
    #[must_use]
    pub(super) fn with(mut self, name: &str, value: Option<impl ToString>) -> RequestPath {
        if let Some(value) = value {
            let mark = if self.0.contains('?') { '&' } else { '?' };
            self.0.push_str(&format!("{mark}{name}={}", segment(&value.to_string())));
        }
        self
    }
}

impl From<RequestPath> for String {
    fn from(path: RequestPath) -> String {
        path.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_names_are_escaped() {
        let path = |name: &str, project: Option<&str>| {
            let name = ItemName { project: project.map(str::to_owned), ..name.into() };
            String::from(name.path("/api/pulls", "/diff"))
        };
        assert_eq!(path("7", None), "/api/pulls/7/diff");
        assert_eq!(path("!7", Some("my app")), "/api/pulls/%217/diff?project=my%20app");
        assert_eq!(path("my-app!7", None), "/api/pulls/my-app%217/diff");
        assert_eq!(path("../x", None), "/api/pulls/..%2Fx/diff");
        assert_eq!(path("feat/a b?#1", Some("a&b")), "/api/pulls/feat%2Fa%20b%3F%231/diff?project=a%26b");
    }

    #[test]
    fn absent_parameters_are_left_out() {
        let path = RequestPath::new("/api/pulls").with("state", Some("open")).with("from", None::<u64>);
        assert_eq!(String::from(path.with("label", Some("a&b,c"))), "/api/pulls?state=open&label=a%26b%2Cc");
    }

    #[test]
    fn a_name_has_a_project_before_its_mark() {
        assert!(ItemName::has_project("my-app!7") && ItemName::has_project("my-app#7"));
        assert!(!ItemName::has_project("!7") && !ItemName::has_project("#7") && !ItemName::has_project("7"));
    }
}
