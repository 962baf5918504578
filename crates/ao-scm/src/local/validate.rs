//! Validation of text from people and agents: titles, bodies, labels and names of branches. Bounds them, and refuses
//! what would do harm in a commit message or on a screen.

use std::collections::BTreeSet;

use ao_ports::ScmError;

const TITLE: usize = 256;
const TEXT: usize = 64 * 1024;
const LABEL: usize = 64;
const LABELS: usize = 32;

/// Returns a title as one line, without blanks around it.
pub(super) fn title(text: &str) -> Result<String, ScmError> {
    let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || c.is_control()).collect();
    let line = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    if line.is_empty() {
        return Err(ScmError::refused("a pull request needs a title"));
    }
    Ok(match line.chars().count() > TITLE {
        true => line.chars().take(TITLE - 1).chain(['…']).collect(),
        false => line,
    })
}

/// Returns a body of several lines. One that is too long is refused and not cut: its author can shorten it better.
pub(super) fn body(text: &str) -> Result<String, ScmError> {
    if text.len() > TEXT {
        let why = format!("the text has {} bytes, and {TEXT} are the most; shorten it", text.len());
        return Err(ScmError::refused(why));
    }
    if text.contains('\0') {
        return Err(ScmError::refused("the text has a zero byte; take it out"));
    }
    Ok(text.trim_end().to_owned())
}

pub(super) fn labels(labels: &BTreeSet<String>) -> Result<BTreeSet<String>, ScmError> {
    let labels: BTreeSet<String> = labels.iter().map(|label| label.trim().to_owned()).collect();
    if labels.len() > LABELS {
        return Err(ScmError::refused(format!(
            "{} labels are too many; {LABELS} are the most",
            labels.len()
        )));
    }
    for label in &labels {
        if label.is_empty() || label.chars().count() > LABEL || label.chars().any(char::is_control) {
            let why =
                format!("`{}` is not a label; it has 1 to {LABEL} letters in one line", label.escape_debug());
            return Err(ScmError::refused(why));
        }
    }
    Ok(labels)
}

/// Returns the name of a branch, without `refs/heads/`.
pub(super) fn branch(name: &str) -> Result<&str, ScmError> {
    let short = name.strip_prefix("refs/heads/").unwrap_or(name);
    let bad = |c: char| c.is_whitespace() || c.is_control() || "~^:?*[\\".contains(c);
    if short.is_empty() || short.contains("..") || short.contains("@{") || short.contains(bad) {
        return Err(ScmError::refused(format!("`{}` is not the name of a branch", name.escape_debug())));
    }
    Ok(short)
}

/// Returns the path of a file in the repository.
pub(super) fn path(path: &str) -> Result<&str, ScmError> {
    let path = path.strip_prefix("./").unwrap_or(path);
    let odd = |part: &str| part.is_empty() || part == "." || part == "..";
    if path.contains('\0') || path.split('/').any(odd) {
        let why =
            format!("`{}` is not the path of a file, from the root of the repository", path.escape_debug());
        return Err(ScmError::refused(why));
    }
    Ok(path)
}

/// Returns the names that are most similar to this one.
pub(super) fn alike<'a>(name: &str, names: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    let mut alike: Vec<(f64, &str)> = names
        .map(|other| (strsim::jaro_winkler(name, other), other.as_str()))
        .filter(|(score, other)| *score > 0.8 || other.ends_with(&format!("/{name}")))
        .collect();
    alike.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    alike.into_iter().take(3).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line() {
        assert_eq!(title("  Fix\n\nthe \u{7} bell\t ").unwrap(), "Fix the bell");
        assert_eq!(title(&"é".repeat(300)).unwrap().chars().count(), 256);
        assert!(title(" \n\t").is_err());
    }

    #[test]
    fn a_path_stays_in_the_repository() {
        assert_eq!(path("./a/b c.rs").unwrap(), "a/b c.rs");
        for bad in ["", "/etc/passwd", "../x", "a/../b", "a//b", "a/", "a\0b", "."] {
            assert!(path(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn odd_names_of_branches_are_names_all_the_same() {
        for name in ["feat/$(touch-x)", "-rf", "a'b\"c", "прод", "a;b&c|d"] {
            assert_eq!(branch(name).unwrap(), name);
        }
        assert_eq!(branch("refs/heads/x").unwrap(), "x");
        for bad in ["", "a b", "a\nb", "a..b", "HEAD~1", "a:b", "x@{1}"] {
            assert!(branch(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_mistyped_branch_brings_those_that_are_alike() {
        let names = ["agent/login".to_owned(), "agent/logout".to_owned(), "main".to_owned()];
        assert_eq!(alike("agent/logn", names.iter())[0], "agent/login");
        assert_eq!(alike("login", names.iter()), ["agent/login"]);
        assert_eq!(alike("zzz", names.iter()), Vec::<&str>::new());
    }
}
