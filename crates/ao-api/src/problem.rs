//! Errors, by RFC 9457.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A refusal or a failure, sent as `application/problem+json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The kind of problem after `urn:ao:`, such as `urn:ao:unknown-session`. Programs should match on this.
    #[serde(rename = "type")]
    pub kind: String,
    /// The error message, in one line.
    pub title: String,
    pub status: u16,
    /// The causes, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Advice on what to do next.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// Names that may have been meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<String>,
    /// The session that conflicts, or that exists already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The conditions that are not met.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<String>,
}

impl Problem {
    pub fn new(status: u16, kind: &str, title: impl Into<String>) -> Problem {
        Problem {
            kind: format!("urn:ao:{kind}"),
            title: title.into(),
            status,
            detail: None,
            hints: vec![],
            candidates: vec![],
            session_id: None,
            blockers: vec![],
        }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Problem {
        self.hints.push(hint.into());
        self
    }

    #[must_use]
    pub fn candidates(self, candidates: Vec<String>) -> Problem {
        Problem { candidates, ..self }
    }

    /// Returns the kind of problem, without `urn:ao:`.
    pub fn word(&self) -> &str {
        self.kind.strip_prefix("urn:ao:").unwrap_or(&self.kind)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.title)
    }
}

impl std::error::Error for Problem {}
