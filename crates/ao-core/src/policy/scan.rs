//! What was found in the lines that a pull request adds.
//!
//! Looking is work for a machine with the diff at hand. Here is only what is to be looked for, and what came of it: a file,
//! a line and the name of a rule, and never the words themselves, which may be a secret.

use serde::{Deserialize, Serialize};

use super::Policy;
use crate::Commit;
use crate::outside::{cut, one_line};

/// How many findings are kept. Who has as many has enough to do.
pub const MOST_FINDINGS: usize = 50;

/// How much of a name is kept.
const NAME: usize = 300;

/// Raised whenever the rule set that comes with the program changes, so that what was looked through is looked through anew.
const SECRET_RULES: u32 = 1;

/// What no added line may match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pattern {
    pub name: String,
    pub regex: String,
    /// Only in these files; in all of them, if none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
}

/// What came of looking through the added lines of one head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scan {
    pub head: Commit,
    /// What it was looked through for, as [`Policy::looks_for`] names it.
    pub rules: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<Finding>,
    /// There was more than is kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// Why it could not be looked through, or not to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Finding {
    pub file: String,
    /// In the file as the pull request has it.
    pub line: u32,
    pub rule: String,
}

impl Policy {
    /// A name for all that added lines are looked through for; none if that is nothing. Another policy that looks for the
    /// same has the same.
    pub fn looks_for(&self) -> Option<String> {
        if self.forbidden.is_empty() && !self.secrets {
            return None;
        }
        let said = serde_json::to_string(&(&self.forbidden, self.secrets.then_some(SECRET_RULES)));
        Some(format!("{:016x}", fnv(said.unwrap_or_default().as_bytes())))
    }
}

impl Scan {
    /// What of it is kept.
    pub(crate) fn bounded(&self) -> Scan {
        let name = |text: &str| cut(&one_line(text), NAME);
        let kept = |finding: &Finding| Finding {
            file: name(&finding.file),
            line: finding.line,
            rule: name(&finding.rule),
        };
        let mut found: Vec<Finding> = self.found.iter().map(kept).collect();
        found.sort();
        found.dedup();
        let more = self.more || found.len() > MOST_FINDINGS;
        found.truncate(MOST_FINDINGS);
        Scan {
            head: self.head.clone(),
            rules: self.rules.clone(),
            found,
            more,
            failed: self.failed.as_deref().map(name),
        }
    }
}

/// A hash that is the same on every machine and in every release.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
