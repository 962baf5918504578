//! The rule set for secrets: see `rules/README.md` for whose it is.
//!
//! A text is first looked through for the keywords of all rules at once, and only the expressions of those that have one
//! there are made ready and tried. Most texts have none.

use std::collections::BTreeSet;
use std::sync::{LazyLock, OnceLock};
use std::time::Instant;

use aho_corasick::AhoCorasick;
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

/// How large an expression may become when it is made ready. Those of the set are long, and none of them is a user's.
const EXPRESSION: usize = 32 << 20;

static RULES: LazyLock<Rules> = LazyLock::new(Rules::load);

/// The lines in which secrets begin, counted from nought, each with the rule that found it. At most so many of each rule, and
/// those that were found until then: a text can be made so that there is no end of them.
pub(crate) fn find(text: &str, most: usize, until: Instant) -> Vec<(usize, &'static str)> {
    RULES.find(text, most, until)
}

#[derive(Debug, Deserialize)]
struct Written {
    id: String,
    regex: String,
    keywords: Vec<String>,
    #[serde(default)]
    entropy: Option<f64>,
    #[serde(default)]
    except: Vec<String>,
}

struct Rules {
    all: Vec<Rule>,
    keywords: Option<AhoCorasick>,
    /// The rule of each keyword.
    of_keyword: Vec<usize>,
}

struct Rule {
    written: Written,
    /// Made when it is first needed: all of them at once take seconds and megabytes.
    ready: OnceLock<Option<(Regex, Vec<Regex>)>>,
}

impl Rules {
    fn load() -> Rules {
        let lines = include_str!("../rules/secrets.jsonl").lines();
        let written = lines.filter_map(|line| serde_json::from_str::<Written>(line).ok());
        let all: Vec<Rule> = written.map(|written| Rule { written, ready: OnceLock::new() }).collect();
        let keywords = || {
            let of = |(n, rule): (usize, &Rule)| -> Vec<(usize, String)> {
                rule.written.keywords.iter().map(|keyword| (n, keyword.clone())).collect()
            };
            all.iter().enumerate().flat_map(of).collect::<Vec<_>>()
        };
        let (of_keyword, words): (Vec<usize>, Vec<String>) = keywords().into_iter().unzip();
        let keywords = AhoCorasick::builder().ascii_case_insensitive(true).build(words).ok();
        Rules { all, keywords, of_keyword }
    }

    fn find(&self, text: &str, most: usize, until: Instant) -> Vec<(usize, &str)> {
        let mut found: Vec<(usize, &str)> = vec![];
        for rule in self.likely(text).into_iter().filter_map(|n| self.all.get(n)) {
            if Instant::now() >= until {
                break;
            }
            let Some((regex, except)) = rule.ready() else { continue };
            // Matches come one behind the other, so that the lines between them are counted once.
            let (mut line, mut counted, before) = (0, 0, found.len());
            for captures in regex.captures_iter(text.as_bytes()) {
                // The first group is the secret itself, where an expression looks at what stands around it, too.
                let Some(secret) = captures.get(1).or_else(|| captures.get(0)) else { continue };
                if found.len() - before >= most || Instant::now() >= until {
                    break;
                }
                let odd_enough = rule.written.entropy.is_none_or(|least| entropy(secret.as_bytes()) > least);
                if odd_enough && !except.iter().any(|known| known.is_match(secret.as_bytes())) {
                    line += newlines(text, counted, secret.start());
                    counted = counted.max(secret.start());
                    let here = (line, rule.written.id.as_str());
                    if found.last() != Some(&here) {
                        found.push(here);
                    }
                }
            }
        }
        found
    }

    /// The rules that have a keyword in the text.
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

impl Rule {
    fn ready(&self) -> Option<&(Regex, Vec<Regex>)> {
        let ready = self.ready.get_or_init(|| {
            // By bytes, as those who wrote them mean it: a letter is one of ASCII's.
            let build =
                |text: &str| RegexBuilder::new(text).unicode(false).size_limit(EXPRESSION).build().ok();
            let except = self.written.except.iter().filter_map(|text| build(text)).collect();
            Some((build(&self.written.regex)?, except))
        });
        ready.as_ref()
    }
}

fn newlines(text: &str, from: usize, to: usize) -> usize {
    let between = text.as_bytes().get(from..to).unwrap_or_default();
    between.iter().filter(|byte| **byte == b'\n').count()
}

/// How many bits each letter of a text tells. A password that somebody made up has few, and a token many.
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
        let unusable = |rule: &&Rule| {
            let written = &rule.written;
            written.keywords.iter().any(String::is_empty)
                || rule.ready().is_none_or(|(_, except)| except.len() != written.except.len())
        };
        let unusable: Vec<&str> =
            RULES.all.iter().filter(unusable).map(|rule| rule.written.id.as_str()).collect();
        assert_eq!(unusable, [""; 0]);
    }

    #[test]
    fn entropy_tells_words_from_tokens() {
        assert!(entropy(b"aaaaaaaa") < 0.1);
        assert!(entropy(b"password") < 3.0);
        assert!(entropy(b"x7Kq2mZp9Lw4Vt8R") > 3.5);
    }
}
