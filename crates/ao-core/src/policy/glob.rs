//! Path patterns, as protected paths are written: `*` and `?` within a name, `**` across names, `dir/` for all below.
//!
//! A crate would add classes and braces, and each further rule is one more way to write a pattern that protects less
//! than it seems to. This syntax is enough for paths, and every pattern runs in bounded time.

/// Returns whether the whole `path`, relative to the root of the repository, matches `glob`.
pub fn matches(glob: &str, path: &str) -> bool {
    let below = if glob.ends_with('/') { "**" } else { "" };
    let glob = format!("{}{below}", glob.trim_start_matches('/'));
    let names: Vec<&str> = glob.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    fits(&names, &path, |name| *name == "**", |name, part| name_matches(name, part))
}

fn name_matches(name: &str, part: &str) -> bool {
    let (name, part): (Vec<char>, Vec<char>) = (name.chars().collect(), part.chars().collect());
    fits(&name, &part, |c| *c == '*', |c, with| *c == '?' || c == with)
}

/// Matches a sequence with wildcards, of letters or of names. Only the last wildcard seen ever needs another try,
/// because it can take everything that an earlier one could give up.
fn fits<P, T>(pattern: &[P], text: &[T], any: impl Fn(&P) -> bool, one: impl Fn(&P, &T) -> bool) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut retry = None;
    while t < text.len() {
        if p < pattern.len() && any(&pattern[p]) {
            retry = Some((p, t));
            p += 1;
        } else if p < pattern.len() && one(&pattern[p], &text[t]) {
            (p, t) = (p + 1, t + 1);
        } else if let Some((wildcard, taken)) = retry {
            retry = Some((wildcard, taken + 1));
            (p, t) = (wildcard + 1, taken + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(any)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn patterns_mean_what_they_look_like() {
        for (glob, path, expected) in [
            ("Cargo.lock", "Cargo.lock", true),
            ("Cargo.lock", "sub/Cargo.lock", false),
            ("/Cargo.lock", "Cargo.lock", true),
            ("*.rs", "lib.rs", true),
            ("*.rs", "src/lib.rs", false),
            ("src/*", "src/a/b.rs", false),
            ("src/**", "src/a/b.rs", true),
            ("src/**", "src", true),
            ("src/", "src/a/b.rs", true),
            ("src/", "src2/a.rs", false),
            ("**/*.sql", "x.sql", true),
            ("**/*.sql", "db/up/x.sql", true),
            ("a/**/z", "a/z", true),
            ("a/**/z", "a/b/c/z", true),
            ("a/**/z", "a/b/c/zz", false),
            ("**", "any/thing", true),
            ("a?c", "abc", true),
            ("a?c", "a/c", false),
            ("a?c", "aéc", true),
            ("a*b*c", "axxbyybc", true),
            ("a*b*c", "axxbyyb", false),
            ("", "x", false),
            (".github/workflows/*", ".github/workflows/ci.yml", true),
        ] {
            assert_eq!(matches(glob, path), expected, "{glob} on {path}");
        }
    }

    #[test]
    fn a_hostile_pattern_takes_no_longer_than_its_length_times_the_paths() {
        let path = "a".repeat(2_000);
        assert!(!matches(&format!("{}b", "a*".repeat(500)), &path));
        assert!(!matches(&format!("{}b", "**/".repeat(500)), &vec!["a"; 500].join("/")));
    }

    /// A naive reference implementation that tries everything a wildcard could take.
    fn slow<P, T>(pattern: &[P], text: &[T], any: &dyn Fn(&P) -> bool, one: &dyn Fn(&P, &T) -> bool) -> bool {
        match pattern {
            [] => text.is_empty(),
            [first, rest @ ..] if any(first) => {
                (0..=text.len()).any(|taken| slow(rest, &text[taken..], any, one))
            }
            [first, rest @ ..] => {
                text.first().is_some_and(|t| one(first, t)) && slow(rest, &text[1..], any, one)
            }
        }
    }

    fn slow_matches(glob: &str, path: &str) -> bool {
        let (glob, path): (Vec<&str>, Vec<&str>) = (glob.split('/').collect(), path.split('/').collect());
        slow(&glob, &path, &|name| *name == "**", &|name, part| {
            let (name, part): (Vec<char>, Vec<char>) = (name.chars().collect(), part.chars().collect());
            slow(&name, &part, &|c| *c == '*', &|c, with| *c == '?' || c == with)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn the_quick_matcher_agrees_with_the_naive_one(
            glob in "([ab?*]{1,4}|\\*\\*)(/([ab?*]{1,4}|\\*\\*)){0,4}",
            path in "[ab]{1,4}(/[ab]{1,4}){0,4}",
        ) {
            prop_assert_eq!(matches(&glob, &path), slow_matches(&glob, &path));
        }

        #[test]
        fn every_path_matches_itself_and_all_of_its_folders(path in "[a-z.]{1,4}(/[a-z.]{1,4}){0,4}") {
            prop_assert!(matches(&path, &path));
            for (slash, _) in path.match_indices('/') {
                prop_assert!(matches(&path[..=slash], &path));
            }
        }
    }
}
