//! Path filters of checks.

use globset::{GlobBuilder, GlobMatcher};

/// Returns true if any changed path matches the patterns.
///
/// `*` stays within a folder and `**` does not; a folder matches everything in it; `!` excludes paths, and the last
/// pattern that matches a path decides.
pub(super) fn touched(patterns: &[String], changed: &[String]) -> Result<bool, globset::Error> {
    let patterns = patterns.iter().map(|text| PathPattern::new(text)).collect::<Result<Vec<_>, _>>()?;
    // A list that begins with an exclusion starts from all paths.
    let first = patterns.first().is_some_and(|pattern| pattern.takes_away);
    Ok(changed.iter().any(|path| {
        let last = patterns.iter().rev().find(|pattern| pattern.fits(path));
        last.map_or(first, |pattern| !pattern.takes_away)
    }))
}

struct PathPattern {
    takes_away: bool,
    itself: GlobMatcher,
    below: GlobMatcher,
}

impl PathPattern {
    fn new(text: &str) -> Result<PathPattern, globset::Error> {
        let (takes_away, text) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let text = text.trim_start_matches("./").trim_start_matches('/');
        let glob = |text: &str| {
            GlobBuilder::new(text).literal_separator(true).build().map(|glob| glob.compile_matcher())
        };
        let folder = text.trim_end_matches('/');
        Ok(PathPattern { takes_away, itself: glob(text)?, below: glob(&format!("{folder}/**"))? })
    }

    fn fits(&self, path: &str) -> bool {
        self.itself.is_match(path) || self.below.is_match(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(patterns: &[&str], path: &str) -> bool {
        let patterns: Vec<String> = patterns.iter().map(|text| (*text).to_owned()).collect();
        touched(&patterns, &[path.to_owned()]).expect("patterns that can be read")
    }

    #[test]
    fn patterns_mean_what_people_expect_of_them() {
        for (patterns, path, expected) in [
            (&["src/**"][..], "src/a/b.rs", true),
            (&["src/**"], "docs/src/b.rs", false),
            (&["src"], "src/a/b.rs", true),
            (&["src/"], "src/a.rs", true),
            (&["./src/*.rs"], "src/a.rs", true),
            (&["src/*.rs"], "src/a/b.rs", false),
            (&["*.md"], "README.md", true),
            (&["*.md"], "docs/README.md", false),
            (&["**/*.md"], "docs/README.md", true),
            (&["**/*.md"], "README.md", true),
            (&["**"], "any/thing", true),
            (&["*.{js,ts}"], "a.ts", true),
            (&["src/**", "!src/**/*.md"], "src/notes.md", false),
            (&["src/**", "!src/**/*.md"], "src/a.rs", true),
            (&["!docs/**"], "src/a.rs", true),
            (&["!docs/**"], "docs/a.md", false),
            (&["a b/'c'/*"], "a b/'c'/\"d\"", true),
        ] {
            assert_eq!(fits(patterns, path), expected, "{patterns:?} and `{path}`");
        }
    }

    #[test]
    fn one_path_is_enough_and_none_is_not() {
        let patterns = ["src/**".to_owned()];
        let paths = |all: &[&str]| all.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
        assert!(touched(&patterns, &paths(&["a.md", "src/a.rs"])).unwrap());
        assert!(!touched(&patterns, &paths(&["a.md"])).unwrap());
        assert!(!touched(&patterns, &[]).unwrap());
        assert!(touched(&["[".to_owned()], &paths(&["a"])).is_err());
    }
}
