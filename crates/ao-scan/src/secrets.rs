//! The rule set for secrets; `rules/README.md` names its source and license.
//!
//! One pass over a text looks for the keywords of all rules at once. Only the rules with a keyword in the text are
//! compiled and tried; most texts have none.

use std::collections::BTreeSet;
use std::sync::{LazyLock, OnceLock};
use std::time::Instant;

use aho_corasick::AhoCorasick;
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

/// Size limit of a compiled rule, in bytes. Generous, because the bundled rules are long and none comes from a user.
const PATTERN_SIZE_LIMIT: usize = 32 << 20;

static RULES: LazyLock<RuleSet> = LazyLock::new(RuleSet::load);

/// Finds the lines in which secrets begin, counted from zero, each with the id of the rule that matched. Returns at
/// most `most` matches per rule, and only those found before `until`: a text can be crafted to match without end.
pub(crate) fn find(text: &str, most: usize, until: Instant) -> Vec<(usize, &'static str)> {
    RULES.find(text, most, until)
}

#[derive(Debug, Deserialize)]
struct RuleSource {
    id: String,
    regex: String,
    keywords: Vec<String>,
    entropy: Option<f64>,
    #[serde(default)]
    except: Vec<String>,
}

struct RuleSet {
    all: Vec<SecretRule>,
    keywords: Option<AhoCorasick>,
    /// The index of the rule that each keyword belongs to.
    of_keyword: Vec<usize>,
}

struct SecretRule {
    source: RuleSource,
    /// Compiled on first use: compiling all rules takes seconds and megabytes.
    ready: OnceLock<Option<(Regex, Vec<Regex>)>>,
}

impl RuleSet {
    fn load() -> RuleSet {
        let lines = include_str!("../rules/secrets.jsonl").lines();
        let source = lines.filter_map(|line| serde_json::from_str::<RuleSource>(line).ok());
        let all: Vec<SecretRule> =
            source.map(|source| SecretRule { source, ready: OnceLock::new() }).collect();
        let keywords = || {
            let of = |(n, rule): (usize, &SecretRule)| -> Vec<(usize, String)> {
                rule.source.keywords.iter().map(|keyword| (n, keyword.clone())).collect()
            };
            all.iter().enumerate().flat_map(of).collect::<Vec<_>>()
        };
        let (of_keyword, words): (Vec<usize>, Vec<String>) = keywords().into_iter().unzip();
        let keywords = AhoCorasick::builder().ascii_case_insensitive(true).build(words).ok();
        RuleSet { all, keywords, of_keyword }
    }

    fn find(&self, text: &str, most: usize, until: Instant) -> Vec<(usize, &str)> {
        let mut found: Vec<(usize, &str)> = vec![];
        for rule in self.likely(text).into_iter().filter_map(|n| self.all.get(n)) {
            if Instant::now() >= until {
                break;
            }
            let Some((regex, except)) = rule.ready() else { continue };
            // Matches come in order, so the lines between them are counted only once.
            let (mut line, mut counted, before) = (0, 0, found.len());
            for captures in regex.captures_iter(text.as_bytes()) {
                // Where an expression also matches the surrounding text, the first group is the secret itself.
                let Some(secret) = captures.get(1).or_else(|| captures.get(0)) else { continue };
                if found.len() - before >= most || Instant::now() >= until {
                    break;
                }
                let odd_enough = rule.source.entropy.is_none_or(|least| entropy(secret.as_bytes()) > least);
                if odd_enough && !except.iter().any(|known| known.is_match(secret.as_bytes())) {
                    line += newlines(text, counted, secret.start());
                    counted = counted.max(secret.start());
                    let here = (line, rule.source.id.as_str());
                    if found.last() != Some(&here) {
                        found.push(here);
                    }
                }
            }
        }
        found
    }

    /// Returns the indexes of the rules that have a keyword in the text.
    fn likely(&self, text: &str) -> BTreeSet<usize> {
        match &self.keywords {
            Some(keywords) => {
                let hits = keywords.find_overlapping_iter(text);
                hits.filter_map(|hit| self.of_keyword.get(hit.pattern().as_usize()).copied()).collect()
            }
            None => (0..self.all.len()).collect(),
        }
    }
}

impl SecretRule {
    fn ready(&self) -> Option<&(Regex, Vec<Regex>)> {
        let ready = self.ready.get_or_init(|| {
            // Matches bytes, as the authors of the rules intended: a letter is an ASCII letter.
            let build = |text: &str| {
                RegexBuilder::new(text).unicode(false).size_limit(PATTERN_SIZE_LIMIT).build().ok()
            };
            let except = self.source.except.iter().filter_map(|text| build(text)).collect();
            Some((build(&self.source.regex)?, except))
        });
        ready.as_ref()
    }
}

fn newlines(text: &str, from: usize, to: usize) -> usize {
    let between = text.as_bytes().get(from..to).unwrap_or_default();
    between.iter().filter(|byte| **byte == b'\n').count()
}

/// Returns the Shannon entropy in bits per byte. A made-up password has little, a token much.
fn entropy(text: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    text.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let shares = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / text.len() as f64);
    -shares.map(|share| share * share.log2()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_of_the_set_can_be_used() {
        let lines = include_str!("../rules/secrets.jsonl").lines().count();
        assert_eq!(RULES.all.len(), lines);
        assert!(lines > 300 && RULES.keywords.is_some());
        let unusable = |rule: &&SecretRule| {
            let source = &rule.source;
            source.keywords.iter().any(String::is_empty)
                || rule.ready().is_none_or(|(_, except)| except.len() != source.except.len())
        };
        let unusable: Vec<&str> =
            RULES.all.iter().filter(unusable).map(|rule| rule.source.id.as_str()).collect();
        assert_eq!(unusable, [""; 0]);
    }

    #[test]
    fn entropy_tells_words_from_tokens() {
        assert!(entropy(b"aaaaaaaa") < 0.1);
        assert!(entropy(b"password") < 3.0);
        assert!(entropy(b"x7Kq2mZp9Lw4Vt8R") > 3.5);
    }
}
