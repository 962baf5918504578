//! A ratchet on plain English in doc comments and type names: its figures may get better, never worse.
//!
//! Only product sources count: files below a `src` folder, without unit tests.

use std::collections::BTreeMap;

use super::TidyFinding;
use super::rust_text::numbered;
use super::sources::SourceTree;

/// The file with the limits, which findings refer to.
const THIS_FILE: &str = "xtask/src/tidy/prose.rs";

/// The recorded limits. Lower them when the figures get better; never raise them.
const LIMITS: ProseFigures =
    ProseFigures { openers: 1.0, pronouns: 2.0, tell: 5.5, one_word: 19.5, shared: 4.0 };

/// A figure that is better than its limit by this share of it, and by at least 1, asks for a lower limit.
const MARGIN: f64 = 0.2;

/// The number of places that a finding names.
const EXAMPLES: usize = 5;

/// Starts of a relative clause. A doc comment opens with a verb or a noun phrase instead.
const RELATIVE: [&str; 13] = [
    "what", "who", "whom", "whose", "whether", "which", "where", "how", "that", "why", "when", "whatever",
    "whoever",
];
const PRONOUNS: [&str; 6] = ["nobody", "somebody", "anybody", "whoever", "whatever", "whomever"];
const TELL: [&str; 7] = ["tell", "tells", "told", "said", "says", "word", "words"];

/// Names that every command, parser or error type may have.
const COMMON: [&str; 5] = ["Args", "Command", "Options", "Error", "Which"];

/// The figures: shares in percent, and rates per ten thousand in the prose of doc comments.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ProseFigures {
    /// Share of doc comments that open with a relative clause.
    openers: f64,
    /// Rate of indefinite pronouns.
    pronouns: f64,
    /// Rate of verbs and nouns of speech.
    tell: f64,
    /// Share of type names with a single capital letter.
    one_word: f64,
    /// Share of type names that name several types.
    shared: f64,
}

/// The numbers behind the figures, each with the places that count.
#[derive(Debug, Default)]
struct ProseCounts {
    comments: usize,
    words: usize,
    openers: Vec<String>,
    pronouns: Vec<String>,
    tell: Vec<String>,
    /// The places of each type name.
    types: BTreeMap<String, Vec<String>>,
}

pub(super) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    let counts = ProseCounts::of(tree);
    compare(&counts, counts.figures(), LIMITS)
}

fn compare(counts: &ProseCounts, found: ProseFigures, limits: ProseFigures) -> Vec<TidyFinding> {
    let one_word: Vec<String> = counts.names(is_one_word);
    let shared: Vec<String> = counts.names(is_shared);
    let rows = [
        (
            "doc comments that open with a relative clause, in percent",
            found.openers,
            limits.openers,
            "open them with a verb or a noun phrase",
            &counts.openers,
        ),
        (
            "nobody, somebody, whoever and the like per 10,000 words of doc comments",
            found.pronouns,
            limits.pronouns,
            "name the party, or leave it out",
            &counts.pronouns,
        ),
        (
            "tell, told, said, says and word per 10,000 words of doc comments",
            found.tell,
            limits.tell,
            "use the verbs of the glossary: report, return, send",
            &counts.tell,
        ),
        (
            "one-word type names, in percent",
            found.one_word,
            limits.one_word,
            "give new types a name of two words",
            &one_word,
        ),
        (
            "names of several types, in percent",
            found.shared,
            limits.shared,
            "give new types a name that no other type has",
            &shared,
        ),
    ];
    let finding = |(what, found, limit, fix, places): (&str, f64, f64, &str, &Vec<String>)| {
        let (found, limit) = (rounded(found), rounded(limit));
        if found > limit {
            let examples = places.iter().take(EXAMPLES).map(String::as_str).collect::<Vec<_>>().join("; ");
            let fix = format!("{fix}, for example {examples}");
            return Some(TidyFinding::new(THIS_FILE, format!("{what}: {found}, the limit is {limit}"), fix));
        }
        let better = format!("{what}: {found}, much better than the limit of {limit}");
        (limit - found > (limit * MARGIN).max(1.0))
            .then(|| TidyFinding::new(THIS_FILE, better, format!("lower its entry of `LIMITS` to {found}")))
    };
    rows.into_iter().filter_map(finding).collect()
}

impl ProseCounts {
    fn of(tree: &SourceTree) -> ProseCounts {
        let mut counts = ProseCounts::default();
        for (path, source) in tree.rust().filter(|(path, _)| is_product(path)) {
            counts.add_file(path, source);
        }
        counts
    }

    fn add_file(&mut self, path: &str, source: &str) {
        let mut comment: Vec<&str> = vec![];
        let mut start = 0;
        for (line, text) in numbered(source) {
            let trimmed = text.trim();
            if trimmed.strip_prefix("mod tests").is_some_and(|rest| !starts_word(rest) && rest.contains('{'))
            {
                break;
            }
            if let Some(prose) = trimmed.strip_prefix("///").or_else(|| trimmed.strip_prefix("//!")) {
                if comment.is_empty() {
                    start = line;
                }
                comment.push(prose.strip_prefix(' ').unwrap_or(prose));
                continue;
            }
            self.add_comment(path, start, &std::mem::take(&mut comment));
            if let Some(name) = type_name(trimmed) {
                self.types.entry(name.to_owned()).or_default().push(format!("{path}:{line}"));
            }
        }
        self.add_comment(path, start, &comment);
    }

    fn add_comment(&mut self, path: &str, line: usize, comment: &[&str]) {
        if comment.is_empty() {
            return;
        }
        self.comments += 1;
        let mut fenced = false;
        let mut prose = String::new();
        for text in comment {
            if text.starts_with("```") {
                fenced = !fenced;
            } else if !fenced {
                prose.push_str(text);
                prose.push(' ');
            }
        }
        let prose = prose.trim().to_lowercase();
        self.words += prose.split_whitespace().count();
        let words: Vec<&str> = prose.split(|c: char| !is_word_char(c)).filter(|w| !w.is_empty()).collect();
        let place = format!("{path}:{line}");
        let count = |list: &[&str]| words.iter().filter(|word| list.contains(word)).count();
        let own =
            prose.match_indices("one's own").filter(|(at, _)| !prose[..*at].ends_with(is_word_char)).count();
        self.pronouns.extend(std::iter::repeat_n(place.clone(), count(&PRONOUNS) + own));
        self.tell.extend(std::iter::repeat_n(place.clone(), count(&TELL)));
        if prose.starts_with(is_word_char) && words.first().is_some_and(|word| RELATIVE.contains(word)) {
            self.openers.push(place);
        }
    }

    fn names(&self, wanted: impl Fn(&str, &[String]) -> bool) -> Vec<String> {
        let named = self.types.iter().filter(|(name, places)| wanted(name, places));
        named.map(|(name, places)| format!("`{name}` in {}", places.join(", "))).collect()
    }

    fn figures(&self) -> ProseFigures {
        let share = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
        ProseFigures {
            openers: share(self.openers.len(), self.comments),
            pronouns: 100.0 * share(self.pronouns.len(), self.words),
            tell: 100.0 * share(self.tell.len(), self.words),
            one_word: share(self.names(is_one_word).len(), self.types.len()),
            shared: share(self.names(is_shared).len(), self.types.len()),
        }
    }
}

fn is_product(path: &str) -> bool {
    let mut parts: Vec<&str> = path.split('/').collect();
    let file = parts.pop();
    let excluded = |part: &&str| matches!(*part, "target" | "tests" | "benches");
    parts.contains(&"src") && !parts.iter().any(excluded) && file != Some("tests.rs")
}

/// Returns the name that a line defines: of a struct, an enum or a trait, or of a public type alias.
fn type_name(line: &str) -> Option<&str> {
    let (public, rest) = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => (true, rest.split_once(')')?.1),
        Some(rest) if rest.starts_with(' ') => (true, rest),
        _ => (false, line),
    };
    let (kind, rest) = rest.trim_start().split_once(' ')?;
    let defines = matches!(kind, "struct" | "enum" | "trait") || public && kind == "type";
    if !defines {
        return None;
    }
    let rest = rest.trim_start();
    let name = &rest[..rest.find(|c| !is_word_char(c)).unwrap_or(rest.len())];
    name.starts_with(|c: char| c.is_ascii_uppercase()).then_some(name)
}

fn is_one_word(name: &str, _: &[String]) -> bool {
    name.chars().filter(char::is_ascii_uppercase).count() <= 1
}

fn is_shared(name: &str, places: &[String]) -> bool {
    places.len() > 1 && !COMMON.contains(&name)
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn starts_word(text: &str) -> bool {
    text.starts_with(is_word_char)
}

fn rounded(figure: f64) -> f64 {
    (figure * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(source: &str) -> ProseCounts {
        ProseCounts::of(&SourceTree::of(&[("crates/a/src/lib.rs", source)]))
    }

    fn figures(openers: f64) -> ProseFigures {
        ProseFigures { openers, pronouns: 0.0, tell: 0.0, one_word: 0.0, shared: 0.0 }
    }

    #[test]
    fn a_relative_clause_counts_only_at_the_start() {
        let counts = counts(
            "//! What it does.\n\n/// Returns what it does.\nfn a() {}\n\n/// Whatsoever.\n/// When two lines go on.\nfn b() {}\n",
        );
        assert_eq!(
            (counts.comments, counts.openers.as_slice()),
            (3, &["crates/a/src/lib.rs:1".to_owned()][..])
        );
    }

    #[test]
    fn pronouns_and_verbs_of_speech_count_as_whole_words() {
        let counts = counts(
            "/// Nobody says a word to one's own; foretell, swords.\n/// ```\n/// told\n/// ```\nfn a() {}\n",
        );
        assert_eq!((counts.words, counts.pronouns.len(), counts.tell.len()), (9, 2, 2));
    }

    #[test]
    fn unit_tests_and_test_files_do_not_count() {
        let hidden = "/// What.\nstruct Place;\n";
        let tree = SourceTree::of(&[
            ("crates/a/src/lib.rs", "fn a() {}\n#[cfg(test)]\nmod tests {\n/// What.\nstruct Place;\n}\n"),
            ("crates/a/src/b/tests.rs", hidden),
            ("crates/a/tests/it/src/c.rs", hidden),
            ("crates/a/build.rs", hidden),
        ]);
        let counts = ProseCounts::of(&tree);
        assert_eq!((counts.comments, counts.types.len()), (0, 0));
    }

    #[test]
    fn type_names_are_found_by_their_definition() {
        let source = "pub struct Place<T>(T);\npub(crate) enum MergeOrder {}\ntrait Port {}\npub type Answer = u8;\n\
                      type Item = u8;\nimpl Place {}\n";
        let types: Vec<String> = counts(source).types.into_keys().collect();
        assert_eq!(types, ["Answer", "MergeOrder", "Place", "Port"]);
    }

    #[test]
    fn single_and_shared_names_are_shares_of_all_names() {
        let source = "struct Place;\nenum Place {}\nstruct Args;\nstruct Args;\nstruct MergeOrder;\nstruct QueueEntry;\n";
        let found = counts(source).figures();
        assert_eq!((found.one_word, found.shared), (50.0, 25.0));
    }

    #[test]
    fn a_worse_figure_is_a_finding_with_an_example() {
        let counts = counts("/// What it is.\nfn a() {}\n");
        let found = compare(&counts, counts.figures(), figures(99.9));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].what.ends_with("in percent: 100, the limit is 99.9"), "{found:?}");
        assert!(found[0].fix.ends_with("for example crates/a/src/lib.rs:1"), "{found:?}");
    }

    #[test]
    fn a_figure_at_its_limit_or_a_little_below_is_fine() {
        let counts = ProseCounts::default();
        assert_eq!(compare(&counts, figures(10.04), figures(10.0)), []);
        assert_eq!(compare(&counts, figures(8.1), figures(10.0)), []);
        assert_eq!(compare(&counts, figures(0.0), figures(0.9)), []);
    }

    #[test]
    fn a_much_better_figure_asks_for_a_lower_limit() {
        let found = compare(&ProseCounts::default(), figures(7.0), figures(10.0));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].fix, "lower its entry of `LIMITS` to 7");
    }
}
