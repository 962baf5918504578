//! URLs of calls, with their queries.

use crate::segment;

/// An issue, a pull request or a run as it was typed, and the project to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meant<'a> {
    pub id: &'a str,
    /// By default any project; for an agent its own.
    pub project: Option<&'a str>,
}

impl<'a> From<&'a str> for Meant<'a> {
    fn from(id: &'a str) -> Meant<'a> {
        Meant { id, project: None }
    }
}

impl<'a> From<&'a String> for Meant<'a> {
    fn from(id: &'a String) -> Meant<'a> {
        Meant { id, project: None }
    }
}

impl Meant<'_> {
    /// Returns its URL, or that of a part of it: `at("/api/pulls", "/diff")`.
    pub(super) fn at(&self, base: &str, rest: &str) -> Query {
        Query::new(format!("{base}/{}{rest}", segment(self.id))).with("project", self.project)
    }
}

/// Builds a URL with a query.
#[derive(Debug)]
pub(super) struct Query(String);

impl Query {
    pub(super) fn new(path: impl Into<String>) -> Query {
        Query(path.into())
    }

    /// Adds a value, if there is one.
    #[must_use]
    pub(super) fn with(mut self, name: &str, value: Option<impl ToString>) -> Query {
        if let Some(value) = value {
            let mark = if self.0.contains('?') { '&' } else { '?' };
            self.0.push_str(&format!("{mark}{name}={}", segment(&value.to_string())));
        }
        self
    }

    pub(super) fn path(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_typed_stays_in_its_place() {
        let meant = Meant { id: "feat/a b?#1", project: Some("a&b") };
        let query = meant.at("/api/pulls", "/diff").with("limit", Some(7)).with("from", None::<u64>);
        assert_eq!(query.path(), "/api/pulls/feat%2Fa%20b%3F%231/diff?project=a%26b&limit=7");
        assert_eq!(Meant::from("7").at("/api/pulls", "").path(), "/api/pulls/7");
    }
}
