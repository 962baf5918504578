//! Message templates of reactions: validated when the configuration is read and rendered when something happens.
//!
//! A small part of Jinja on purpose: values, `if`, `for`, and the filters of [`FILTERS`]. Nothing can be included,
//! defined or called, so that a template produces text and nothing else. Its length, number of steps and depth are
//! bounded.

use minijinja::value::Serde;
use minijinja::{Environment, ErrorKind, UndefinedBehavior, filters, tests};
use serde_json::Value;

use super::context::{context, sample, with_detail};
use crate::incident::Incident;
use crate::state::State;

/// Limit of a template or a condition, in characters.
pub const LONGEST: usize = 2_000;
/// Limit of the steps of one evaluation.
const FUEL: u64 = 20_000;
/// Limit of the depth of loops.
const LOOPS: usize = 2;
/// The names that carry the details. If a template uses none of them, the details are appended.
const DETAILS: [&str; 4] = ["errors", "comments", "conflicts", "detail"];
const STATEMENTS: [&str; 6] = ["if", "elif", "else", "endif", "for", "endfor"];
/// Filters of values.
pub const FILTERS: [&str; 13] = [
    "capitalize",
    "default",
    "first",
    "indent",
    "join",
    "last",
    "length",
    "lower",
    "replace",
    "reverse",
    "sort",
    "trim",
    "upper",
];
/// Tests of values.
const TESTS: [&str; 4] = ["defined", "undefined", "string", "number"];

/// An error in a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTemplate {
    #[error("it has {0} characters; the limit is {LONGEST}")]
    TooLong(usize),
    #[error("there is no {what} `{name}`")]
    Unknown { what: &'static str, name: String, known: Vec<String> },
    #[error("loops are more than {LOOPS} deep in each other")]
    TooDeep,
    #[error("{what}{}", if *.line > 1 { format!(" (line {line} of it)") } else { String::new() })]
    Wrong { what: String, line: usize },
}

/// Checks that a template can be filled in for every problem.
pub fn check(template: &str) -> Result<(), BadTemplate> {
    let length = template.chars().count();
    if length > LONGEST {
        return Err(BadTemplate::TooLong(length));
    }
    let env = environment();
    let parsed = env.template_from_str(template).map_err(|err| wrong(&err))?;
    check_tags(template)?;
    let mut example = sample();
    let mut used: Vec<String> = parsed.undeclared_variables(true).into_iter().collect();
    used.sort();
    for name in &used {
        known_name(name)?;
        lend(&mut example, name);
    }
    parsed.render(Serde(&example)).map_err(|err| wrong(&err))?;
    Ok(())
}

/// Checks that the context has a value of this name: `pr.title`. Anything may be behind `data`.
pub fn known_name(name: &str) -> Result<(), BadTemplate> {
    let mut here = &sample();
    let mut what = "variable";
    for (depth, part) in name.split('.').enumerate() {
        let Some(map) = here.as_object() else {
            let known = vec![];
            return Err(BadTemplate::Unknown { what: "attribute", name: name.to_owned(), known });
        };
        let Some(next) = map.get(part) else {
            let before: String = name.split('.').take(depth).map(|part| format!("{part}.")).collect();
            let known = map.keys().map(|key| format!("{before}{key}")).collect();
            return Err(BadTemplate::Unknown { what, name: format!("{before}{part}"), known });
        };
        if part == "data" && depth == 0 {
            return Ok(());
        }
        (here, what) = (next, "attribute");
    }
    Ok(())
}

/// Renders a template.
pub fn render(template: &str, context: &Value) -> Result<String, String> {
    let env = environment();
    let parsed = env.template_from_str(template).map_err(|err| wrong(&err).to_string())?;
    parsed.render(Serde(context)).map_err(|err| wrong(&err).to_string())
}

/// Returns the text about a problem: the reaction's own, or else the kind's, and the details unless they are in it.
pub(crate) fn said(state: &State, incident: &Incident, message: Option<&str>, detail: &str) -> String {
    let usual = incident.key.kind.default_message();
    let Some(template) = message else { return format!("{usual}\n{detail}") };
    let mut context = context(state, incident);
    with_detail(&mut context, &incident.key.kind, detail);
    match render(template, &context) {
        Ok(text) if has_details(template) => text,
        Ok(text) => format!("{text}\n{detail}"),
        // Validated when it was read, so only a part of the event's own data can be missing.
        Err(why) => format!("{usual}\n{detail}\n(the configured message could not be used: {why})"),
    }
}

fn has_details(template: &str) -> bool {
    let env = environment();
    let parsed = env.template_from_str(template);
    parsed.is_ok_and(|parsed| DETAILS.iter().any(|name| parsed.undeclared_variables(false).contains(*name)))
}

fn environment() -> Environment<'static> {
    let mut env = Environment::empty();
    // A missing value can be tested, as in `if data.code`, but not rendered.
    env.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    env.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    env.set_fuel(Some(FUEL));
    env.set_recursion_limit(20);
    env.add_filter("capitalize", filters::capitalize);
    env.add_filter("default", filters::default);
    env.add_filter("first", filters::first);
    env.add_filter("indent", filters::indent);
    env.add_filter("join", filters::join);
    env.add_filter("last", filters::last);
    env.add_filter("length", filters::length);
    env.add_filter("lower", filters::lower);
    env.add_filter("replace", filters::replace);
    env.add_filter("reverse", filters::reverse);
    env.add_filter("sort", filters::sort);
    env.add_filter("trim", filters::trim);
    env.add_filter("upper", filters::upper);
    env.add_test("defined", tests::is_defined);
    env.add_test("undefined", tests::is_undefined);
    env.add_test("string", tests::is_string);
    env.add_test("number", tests::is_number);
    env
}

/// Puts an example value at a name of the event's own data, which is unknown when the configuration is read.
fn lend(example: &mut Value, name: &str) {
    if !name.starts_with("data.") {
        return;
    }
    let mut here = example;
    for part in name.split('.') {
        if !here.is_object() {
            *here = serde_json::json!({});
        }
        here = here.as_object_mut().expect("just made").entry(part).or_insert(Value::String("…".into()));
    }
}

fn wrong(err: &minijinja::Error) -> BadTemplate {
    let detail = err.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
    let what = match err.kind() {
        ErrorKind::OutOfFuel => "it takes too many steps".to_owned(),
        kind => format!("{kind}{detail}"),
    };
    BadTemplate::Wrong { what, line: err.line().unwrap_or(1) }
}

/// Checks the tags of a template. The engine reports a wrong filter only on the path that it takes, and a template
/// must be valid on all paths. So its tags are read here once more, without their string literals.
fn check_tags(template: &str) -> Result<(), BadTemplate> {
    let mut rest = template;
    let mut deep = 0_usize;
    while let Some(at) = rest.find('{') {
        rest = &rest[at + 1..];
        let (statement, close) = match rest.chars().next() {
            Some('{') => (false, "}}"),
            Some('%') => (true, "%}"),
            Some('#') => {
                rest = rest.split_once("#}").map_or("", |(_, behind)| behind);
                continue;
            }
            _ => continue,
        };
        let (inside, behind) = tag(&rest[1..], close);
        rest = behind;
        let words: Vec<&str> = inside
            .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '|'))
            .filter(|w| !w.is_empty())
            .collect();
        if statement {
            let first = words.first().copied().unwrap_or_default();
            known("statement", first, &STATEMENTS)?;
            match first {
                "for" => deep += 1,
                "endfor" => deep = deep.saturating_sub(1),
                _ => {}
            }
            if deep > LOOPS {
                return Err(BadTemplate::TooDeep);
            }
        }
        for part in inside.split('|').skip(1) {
            known("filter", first_word(part), &FILTERS)?;
        }
        for (at, word) in words.iter().enumerate().filter(|(_, word)| **word == "is") {
            let asked = words[at + 1..].iter().find(|word| **word != "not").copied().unwrap_or(word);
            known("test", asked.split('|').next().unwrap_or_default(), &TESTS)?;
        }
    }
    Ok(())
}

/// Returns the content of a tag without its texts, and the rest behind it.
fn tag<'a>(text: &'a str, close: &str) -> (String, &'a str) {
    let mut inside = String::new();
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None if text[at..].starts_with(close) => return (inside, &text[at + close.len()..]),
            None => inside.push(c),
        }
    }
    (inside, "")
}

fn first_word(text: &str) -> &str {
    let text = text.trim_start();
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    &text[..end]
}

fn known(what: &'static str, name: &str, known: &[&str]) -> Result<(), BadTemplate> {
    if known.contains(&name) {
        return Ok(());
    }
    let known = known.iter().map(|name| (*name).to_owned()).collect();
    Err(BadTemplate::Unknown { what, name: name.to_owned(), known })
}

#[cfg(test)]
mod tests_of_words {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_comes_out_with_its_values() {
        for (template, text) in [
            ("CI failed: {{errors}}", "CI failed: > error[E0308]: mismatched types"),
            ("{{ pr.title }} by {{ pr.author | upper }}", "Fix the login by ANN"),
            ("{% for file in pr.files %}{{ file }};{% endfor %}", "src/lib.rs;"),
            ("{% if attempt > 1 %}again{% else %}first of {{ retries }}{% endif %}", "first of 3"),
            ("{{ pr.labels | join(', ') }}{# aside | nothing #}", "bug"),
            ("{{ 'a | b' }} { plain } {{ data.absent is defined }}", "a | b { plain } False"),
            ("{{ data.absent | default('-') }} <b>", "- <b>"),
            ("{% if data.absent %}{{ data.absent }}{% endif %}!", "!"),
        ] {
            assert_eq!(check(template), Ok(()), "{template}");
            assert_eq!(render(template, &sample()).as_deref(), Ok(text), "{template}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_before_anything_happens() {
        for (template, says) in [
            ("{{ error }}", "there is no variable `error`"),
            ("{{ pr.titel }}", "there is no attribute `pr.titel`"),
            ("{{ pr.title.size }}", "there is no attribute `pr.title.size`"),
            ("{{ errors | shout }}", "there is no filter `shout`"),
            ("{% if attempt > 9 %}{{ errors | shout }}{% endif %}", "there is no filter `shout`"),
            ("{% if attempt > 9 %}{{ nothing }}{% endif %}", "there is no variable `nothing`"),
            ("{% if errors is odd %}{% endif %}", "there is no test `odd`"),
            ("{% set a = 1 %}", "there is no statement `set`"),
            (
                "{% for a in conflicts %}{% for b in conflicts %}{% for c in conflicts %}{% endfor %}{% endfor %}{% endfor %}",
                "loops are more than 2 deep in each other",
            ),
            (
                "one\ntwo {{ errors",
                "syntax error: unexpected end of input, expected end of variable block (line 2 of it)",
            ),
            ("{{ range(3) }}", "there is no variable `range`"),
        ] {
            assert_eq!(check(template).map_err(|err| err.to_string()), Err(says.to_owned()), "{template}");
        }
        assert_eq!(check(&"é".repeat(2_001)), Err(BadTemplate::TooLong(2_001)));
        assert_eq!(check(&"é".repeat(2_000)), Ok(()));
    }

    /// The text of a value is never read as a template. acceptance: X1
    #[test]
    fn a_hostile_value_stays_a_value() {
        let mut context = sample();
        for hostile in ["{{ pr.url }}", "{% for a in b %}", "{# x", "}}{{", "<script>", "\u{202e}x", "$(id)"]
        {
            context["errors"] = json!(hostile);
            assert_eq!(render("[{{ errors }}]", &context).unwrap(), format!("[{hostile}]"));
        }
    }

    #[test]
    fn what_is_missing_in_the_data_is_an_error_and_never_an_empty_word() {
        assert_eq!(check("on {{ data.env }}"), Ok(()));
        assert_eq!(render("on {{ data.env }}", &sample()), Err("undefined value".into()));
    }

    #[test]
    fn a_template_that_never_ends_ends() {
        let mut context = sample();
        context["pr"]["files"] = json!(vec!["x"; 1_000]);
        let nested = "{% for a in pr.files %}{% for b in pr.files %}{{ a }}{% endfor %}{% endfor %}";
        assert_eq!(render(nested, &context), Err("it takes too many steps".into()));
    }
}
