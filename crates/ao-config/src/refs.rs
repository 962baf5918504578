//! References to environment variables: `${NAME}` and `${NAME:-fallback}`. `$${` is a literal `${`.

use std::collections::BTreeMap;
use std::fmt;

/// Environment variables by name. `Debug` does not show their values.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Env(BTreeMap<String, String>);

/// Reasons for which a text with references has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RefError {
    #[error("the variable `{0}` is not set")]
    Missing(String),
    #[error("`${{` is not closed by a `}}`")]
    Open,
    #[error("`{0}` is not a valid variable name")]
    BadName(String),
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TextPart<'a> {
    Plain(&'a str),
    Ref { name: &'a str, or: Option<&'a str> },
}

impl Env {
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Env {
        Env(variables.into_iter().collect())
    }

    /// Returns the environment of this process, without variables that are not UTF-8.
    pub fn of_process() -> Env {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Env(std::env::vars_os().filter_map(text).collect())
    }

    /// Returns the value of a variable. An empty one counts as not set, as in a shell's `${NAME:-…}`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    pub fn set(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), value.to_owned());
    }

    pub fn unset(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Replaces the references in a text by their values.
    pub fn expand(&self, text: &str) -> Result<String, RefError> {
        let mut whole = String::with_capacity(text.len());
        for part in parts(text)? {
            match part {
                TextPart::Plain(plain) => whole.push_str(plain),
                TextPart::Ref { name, or } => match self.get(name).or(or) {
                    Some(value) => whole.push_str(value),
                    None => return Err(RefError::Missing(name.to_owned())),
                },
            }
        }
        Ok(whole)
    }

    /// Replaces the references in every text of a value.
    pub fn expand_all(&self, value: &serde_json::Value) -> Result<serde_json::Value, RefError> {
        use serde_json::Value;
        Ok(match value {
            Value::String(text) => Value::String(self.expand(text)?),
            Value::Array(list) => list.iter().map(|part| self.expand_all(part)).collect::<Result<_, _>>()?,
            Value::Object(map) => Value::Object(
                map.iter()
                    .map(|(key, part)| Ok((key.clone(), self.expand_all(part)?)))
                    .collect::<Result<_, RefError>>()?,
            ),
            other => other.clone(),
        })
    }
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Env({} variables)", self.0.len())
    }
}

impl crate::shape::Plugin {
    /// Returns its options with references replaced. The values may be secrets and must not be shown.
    pub fn resolved(&self, env: &Env) -> Result<serde_json::Map<String, serde_json::Value>, RefError> {
        self.options.iter().map(|(key, value)| Ok((key.clone(), env.expand_all(value)?))).collect()
    }
}

/// Returns `true` if there may be a reference.
pub(crate) fn has_refs(text: &str) -> bool {
    text.contains("${")
}

/// Returns `true` if there is a reference, not only an escaped `$${`.
pub(crate) fn refers(text: &str) -> bool {
    parts(text).is_ok_and(|parts| parts.iter().any(|part| matches!(part, TextPart::Ref { .. })))
}

/// Returns the name and the fallback, if the text is one reference and nothing else.
pub(crate) fn sole_ref(text: &str) -> Option<(&str, Option<&str>)> {
    match parts(text).ok()?.as_slice() {
        [TextPart::Ref { name, or }] => Some((name, *or)),
        _ => None,
    }
}

pub(crate) fn parts(text: &str) -> Result<Vec<TextPart<'_>>, RefError> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(dollar) = rest.find("${") {
        // Drops the first `$` of `$${`.
        if rest[..dollar].ends_with('$') {
            parts.push(TextPart::Plain(&rest[..dollar - 1]));
            parts.push(TextPart::Plain("${"));
            rest = &rest[dollar + 2..];
            continue;
        }
        if dollar > 0 {
            parts.push(TextPart::Plain(&rest[..dollar]));
        }
        let inside = &rest[dollar + 2..];
        let close = inside.find('}').ok_or(RefError::Open)?;
        let (name, or) = match inside[..close].split_once(":-") {
            Some((name, or)) => (name, Some(or)),
            None => (&inside[..close], None),
        };
        let odd = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
        if name.is_empty() || name.contains(odd) || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(RefError::BadName(name.to_owned()));
        }
        parts.push(TextPart::Ref { name, or });
        rest = &inside[close + 1..];
    }
    if !rest.is_empty() {
        parts.push(TextPart::Plain(rest));
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_replaced_and_nothing_else_is() {
        let env = Env::new([("A".into(), "one".into()), ("EMPTY".into(), String::new())]);
        for (text, becomes) in [
            ("${A}", Ok("one")),
            ("x-${A}-${A}-y", Ok("x-one-one-y")),
            ("$A costs $5", Ok("$A costs $5")),
            ("$${A}", Ok("${A}")),
            ("${B:-two}", Ok("two")),
            ("${B:-}", Ok("")),
            ("${EMPTY:-three}", Ok("three")),
            ("${A:-two}", Ok("one")),
            ("${B}", Err(RefError::Missing("B".into()))),
            ("${EMPTY}", Err(RefError::Missing("EMPTY".into()))),
            ("${A", Err(RefError::Open)),
            ("${}", Err(RefError::BadName(String::new()))),
            ("${a b}", Err(RefError::BadName("a b".into()))),
            ("${{ x }}", Err(RefError::BadName("{ x ".into()))),
        ] {
            assert_eq!(env.expand(text), becomes.map(str::to_owned), "{text}");
        }
    }

    #[test]
    fn an_environment_never_shows_a_value() {
        let env = Env::new([("TOKEN".into(), "s3cret".into())]);
        assert_eq!(format!("{env:?}"), "Env(1 variables)");
    }
}
