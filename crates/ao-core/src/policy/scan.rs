//! Findings in the lines that a pull request adds.
//!
//! The scan itself needs the diff and runs elsewhere. This module defines the patterns to look for and the result: a
//! file, a line and the name of a rule. The matched text is left out, because it may be a secret.

use serde::{Deserialize, Serialize};

use super::Policy;
use crate::Commit;
use crate::outside::{cut, one_line};

/// The number of findings that are stored.
pub const MOST_FINDINGS: usize = 50;

/// The number of bytes of a name that are stored.
const NAME: usize = 300;

/// The version of the rule set that comes with the program. A new version makes earlier scans stale.
const SECRET_RULES: u32 = 1;

/// A pattern that no added line may match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForbiddenPattern {
    pub name: String,
    pub regex: String,
    /// The files to scan; all of them if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
}

/// The result of a scan of the added lines of one head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanResult {
    pub head: Commit,
    /// The identity of the rules that it looked for, from [`Policy::looks_for`].
    pub rules: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<ScanFinding>,
    /// There were more findings than are stored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// The reason why the scan failed or ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ScanFinding {
    pub file: String,
    /// The line in the file at the head of the pull request.
    pub line: u32,
    pub rule: String,
}

impl Policy {
    /// Returns the identity of everything that added lines are scanned for; `None` if that is nothing. Policies that
    /// look for the same have the same identity.
    pub fn looks_for(&self) -> Option<String> {
        if self.forbidden.is_empty() && !self.secrets {
            return None;
        }
        let said = serde_json::to_string(&(&self.forbidden, self.secrets.then_some(SECRET_RULES)));
        Some(format!("{:016x}", fnv(said.unwrap_or_default().as_bytes())))
    }
}

impl ScanResult {
    /// Returns the part of it that is stored.
    pub(crate) fn bounded(&self) -> ScanResult {
        let name = |text: &str| cut(&one_line(text), NAME);
        let kept = |finding: &ScanFinding| ScanFinding {
            file: name(&finding.file),
            line: finding.line,
            rule: name(&finding.rule),
        };
        let mut found: Vec<ScanFinding> = self.found.iter().map(kept).collect();
        found.sort();
        found.dedup();
        let more = self.more || found.len() > MOST_FINDINGS;
        found.truncate(MOST_FINDINGS);
        ScanResult {
            head: self.head.clone(),
            rules: self.rules.clone(),
            found,
            more,
            failed: self.failed.as_deref().map(name),
        }
    }
}

/// Returns a hash that is the same on every machine and in every release.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
