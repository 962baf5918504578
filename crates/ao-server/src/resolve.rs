//! Which session is meant: by its id, its name, the beginning of either, or the issue that it is for: `issue-42`, `#42`.

use ao_api::Problem;

use crate::problem::Failure;

/// What there is to choose from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choice<'a, T> {
    pub(crate) id: &'a str,
    pub(crate) name: &'a str,
    /// The key of the issue that it is for.
    pub(crate) issue: Option<&'a str>,
    pub(crate) live: bool,
    pub(crate) it: T,
}

/// How many names are shown to somebody who mistyped one.
const CANDIDATES: usize = 5;
/// How much alike a name must be to be worth showing.
const ALIKE: f64 = 0.7;

/// Finds the one that is meant. The whole id or name comes first; among several that begin alike, one that lives is meant
/// rather than one that has ended.
pub(crate) fn resolve<T: Copy>(choices: &[Choice<'_, T>], meant: &str) -> Result<T, Failure> {
    if let Some(exact) = choices.iter().find(|choice| choice.id == meant || choice.name == meant) {
        return Ok(exact.it);
    }
    let issue = meant.strip_prefix("issue-").or_else(|| meant.strip_prefix('#'));
    let of_issue = |choice: &Choice<'_, T>| issue.is_some() && choice.issue == issue;
    let any_of_issue = choices.iter().any(of_issue);
    let begins = |choice: &&Choice<'_, T>| match any_of_issue {
        true => of_issue(choice),
        false => !meant.is_empty() && (choice.name.starts_with(meant) || choice.id.starts_with(meant)),
    };
    let (live, ended): (Vec<&Choice<'_, T>>, Vec<_>) =
        choices.iter().filter(begins).partition(|choice| choice.live);
    let matching = if live.is_empty() { ended } else { live };
    match matching.as_slice() {
        [] => Err(unknown(choices, meant).into()),
        [one] => Ok(one.it),
        several => {
            let title = format!("`{meant}` could be any of {} sessions", several.len());
            let mut problem = Problem::new(409, "ambiguous-session", title).hint("type more of its name");
            problem.candidates =
                several.iter().take(CANDIDATES).map(|choice| choice.name.to_owned()).collect();
            Err(problem.into())
        }
    }
}

fn unknown<T>(choices: &[Choice<'_, T>], meant: &str) -> Problem {
    let mut alike: Vec<(f64, &str)> = choices
        .iter()
        .map(|choice| (strsim::jaro_winkler(choice.name, meant), choice.name))
        .filter(|(alike, _)| *alike >= ALIKE)
        .collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0));
    let shown: String = meant.chars().take(100).collect();
    let mut problem = Problem::new(404, "unknown-session", format!("there is no session `{shown}`"))
        .hint("`ao list` shows the sessions there are");
    problem.candidates = alike.into_iter().take(CANDIDATES).map(|(_, name)| name.to_owned()).collect();
    problem
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSIONS: &[(&str, &str, bool)] = &[
        ("ses_1f", "my-app-42", true),
        ("ses_1e", "my-app-421", true),
        ("ses_2a", "my-app-fix-login", false),
        ("ses_3b", "docs-fix-typo", true),
        ("ses_4c", "docs-fix-links", false),
        ("ses_5d", "old-one", false),
        ("ses_6e", "old-two", false),
    ];

    /// Those whose names end with a number are for that issue.
    fn issue_of(name: &str) -> Option<&str> {
        name.rsplit('-').next().filter(|key| key.parse::<u32>().is_ok())
    }

    fn found(meant: &str) -> String {
        let choices: Vec<_> = SESSIONS
            .iter()
            .map(|(id, name, live)| Choice { id, name, issue: issue_of(name), live: *live, it: *name })
            .collect();
        match resolve(&choices, meant) {
            Ok(name) => name.to_owned(),
            Err(Failure(problem)) => format!("{}: {}", problem.word(), problem.candidates.join(" ")),
        }
    }

    #[test]
    fn a_session_is_found_by_what_is_typed_of_it() {
        let table = [
            ("ses_1f", "my-app-42"),
            ("my-app-42", "my-app-42"),
            ("my-app-421", "my-app-421"),
            ("issue-42", "my-app-42"),
            ("#421", "my-app-421"),
            ("issue-7", "unknown-session: "),
            ("ses_2", "my-app-fix-login"),
            ("my-app-f", "my-app-fix-login"),
            // One of the two has ended.
            ("docs", "docs-fix-typo"),
            ("docs-fix-l", "docs-fix-links"),
            ("my-app-4", "ambiguous-session: my-app-42 my-app-421"),
            ("ses_1", "ambiguous-session: my-app-42 my-app-421"),
            ("old", "ambiguous-session: old-one old-two"),
            ("my-app-fix-logn", "unknown-session: my-app-fix-login my-app-42 my-app-421"),
            ("zzz", "unknown-session: "),
            ("", "unknown-session: "),
        ];
        for (meant, expected) in table {
            assert_eq!(found(meant), expected, "{meant}");
        }
    }
}
