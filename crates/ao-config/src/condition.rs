//! When a reaction applies: `label == 'needs-tests'`, several of which may be joined by `&&` or by `||`.
//!
//! No more than that on purpose: whoever needs a language can write a plugin.

/// A condition that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// One of these has to hold, each of which holds if all of its parts do.
    any: Vec<Vec<Comparison>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Comparison {
    name: String,
    equal: bool,
    value: String,
}

/// Why a text is no condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no condition: write one such as `label == 'needs-tests'`, and join several by `&&` or `||`"
)]
pub struct BadCondition(String);

impl Condition {
    pub fn parse(text: &str) -> Result<Condition, BadCondition> {
        let bad = || BadCondition(text.to_owned());
        let mut any = vec![vec![]];
        let mut rest = text.trim_start();
        loop {
            let (comparison, behind) = Comparison::parse(rest).ok_or_else(bad)?;
            any.last_mut().expect("never empty").push(comparison);
            rest = behind.trim_start();
            if rest.is_empty() {
                return Ok(Condition { any });
            } else if let Some(behind) = rest.strip_prefix("&&") {
                rest = behind.trim_start();
            } else if let Some(behind) = rest.strip_prefix("||") {
                any.push(vec![]);
                rest = behind.trim_start();
            } else {
                return Err(bad());
            }
        }
    }

    /// Whether it holds. `is` says whether a name has a value; a name may have several, as an issue has labels.
    pub fn holds(&self, is: impl Fn(&str, &str) -> bool) -> bool {
        let holds = |part: &Comparison| is(&part.name, &part.value) == part.equal;
        self.any.iter().any(|all| all.iter().all(holds))
    }

    /// The names that it asks for.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.any.iter().flatten().map(|part| part.name.as_str())
    }
}

impl Comparison {
    fn parse(text: &str) -> Option<(Comparison, &str)> {
        let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.')))?;
        let name = Some(&text[..end]).filter(|name| !name.is_empty())?;
        let rest = text[end..].trim_start();
        let (equal, rest) = match rest.strip_prefix("==") {
            Some(rest) => (true, rest),
            None => (false, rest.strip_prefix("!=")?),
        };
        let rest = rest.trim_start();
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (value, rest) = rest[1..].split_once(quote)?;
        Some((Comparison { name: name.to_owned(), equal, value: value.to_owned() }, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_hold_as_they_read() {
        let labels = ["bug", "ui"];
        let is = |name: &str, value: &str| name == "label" && labels.contains(&value);
        for (text, holds) in [
            ("label == 'bug'", true),
            ("label=='docs'", false),
            ("label != \"docs\"", true),
            ("label == 'bug' && label == 'ui'", true),
            ("label == 'bug' && label == 'docs'", false),
            ("label == 'docs' || label == 'ui'", true),
            ("author == 'bot'", false),
        ] {
            assert_eq!(Condition::parse(text).unwrap().holds(is), holds, "{text}");
        }
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        for text in [
            "",
            "label",
            "label == bug",
            "label = 'bug'",
            "label == 'bug",
            "label == 'a' label == 'b'",
            "'a'=='a'",
        ] {
            assert!(Condition::parse(text).is_err(), "{text}");
        }
    }
}
