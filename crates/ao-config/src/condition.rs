//! When a reaction applies: an expression such as `label == 'needs-tests' && pr.added < 500`.
//!
//! The language is CEL. It cannot loop for ever, call anything or change anything, and it speaks of the same names as the
//! messages. An expression is tried when the configuration is read; [`judge`] answers when something happens.

use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ao_core::reaction::words::{BadTemplate, LONGEST, known_name};
use ao_core::reaction::{Judge, sample};
use cel::common::ast::{EntryExpr, Expr, IdedExpr};
use cel::objects::{Key, Map};
use cel::{Context, ExecutionError, Program, Value};
use serde_json::Value as Json;

use crate::names::nearest;

/// What can be called.
const FUNCTIONS: [&str; 12] = [
    "size",
    "contains",
    "startsWith",
    "endsWith",
    "matches",
    "int",
    "uint",
    "double",
    "string",
    "bool",
    "min",
    "max",
];
/// How deep an expression may be, and how many operators it may have: its parser goes down for each on the stack, which
/// nothing could save if it ran out.
const DEEPEST: usize = 12;
const OPERATORS: usize = 100;
/// How many levels the evaluator may go down, whose stack is the engine's.
const LEVELS: usize = 20;
/// Those among them of which each goes deeper than the one before.
const PREFIXES: usize = 12;
/// How many expressions are remembered as they were understood.
const REMEMBERED: usize = 256;

/// Why a text is no condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadCondition {
    #[error("it has {0} characters, and {LONGEST} are the most")]
    TooLong(usize),
    #[error(
        "it is too tangled: brackets {DEEPEST} deep, {OPERATORS} operators and {PREFIXES} of `!`, `-` and `?` are the most"
    )]
    Tangled,
    #[error("{0}")]
    Syntax(String),
    #[error("{0}")]
    Unknown(BadTemplate),
    #[error("it says {0}, and has to say `true` or `false`")]
    NoTruth(&'static str),
    #[error("{0}")]
    Fails(String),
}

impl BadCondition {
    /// What would be right.
    pub fn hint(&self) -> String {
        let known = match self {
            BadCondition::Unknown(bad) => hint_for(bad),
            _ => None,
        };
        if *self == BadCondition::Tangled {
            return "say it with fewer brackets and operators".into();
        }
        known.unwrap_or_else(|| {
            "write one such as `label == 'needs-tests'`, and join several by `&&` or `||`".into()
        })
    }
}

/// What somebody most likely meant who wrote a name that is not known.
pub(crate) fn hint_for(bad: &BadTemplate) -> Option<String> {
    let BadTemplate::Unknown { name, known, .. } = bad else { return None };
    match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => Some(format!("did you mean `{near}`?")),
        None if known.is_empty() => None,
        None => Some(format!("known here: {}", known.join(", "))),
    }
}

/// Whether an expression can be judged, whatever happens.
pub fn check(text: &str) -> Result<(), BadCondition> {
    let length = text.chars().count();
    if length > LONGEST {
        return Err(BadCondition::TooLong(length));
    }
    let program = understood(text)?;
    let mut names = Names::default();
    names.walk(program.expression(), &mut vec![]);
    for name in &names.used {
        known_name(name).map_err(BadCondition::Unknown)?;
    }
    for function in names.called {
        if !FUNCTIONS.contains(&function.as_str()) {
            let known = FUNCTIONS.iter().map(|name| (*name).to_owned()).collect();
            return Err(BadCondition::Unknown(BadTemplate::Unknown {
                what: "function",
                name: function,
                known,
            }));
        }
    }
    match answer(&program, &sample()) {
        Ok(Value::Bool(_)) => Ok(()),
        // What the event's own data are like, nobody can know yet.
        _ if names.used.iter().any(|name| name == "data" || name.starts_with("data.")) => Ok(()),
        Ok(other) => Err(BadCondition::NoTruth(kind_of(&other))),
        Err(Wrong::Asked(ExecutionError::IndexOutOfBounds(_))) => Ok(()),
        Err(wrong) => Err(BadCondition::Fails(wrong.to_string())),
    }
}

/// Judges conditions for the engine.
pub fn judge() -> Judge {
    Judge(|expression, context| match answer(&*remembered(expression)?, context) {
        Ok(Value::Bool(holds)) => Ok(holds),
        Ok(other) => Err(BadCondition::NoTruth(kind_of(&other)).to_string()),
        Err(wrong) => Err(wrong.to_string()),
    })
}

#[derive(Debug, thiserror::Error)]
enum Wrong {
    #[error("{}", .0.to_string().chars().take(300).collect::<String>())]
    Asked(ExecutionError),
    #[error("it could not be judged at all")]
    Panicked,
}

/// A fault in the language's parser or evaluator must not end a daemon, so a panic in it is an error like others.
fn understood(text: &str) -> Result<Program, BadCondition> {
    if text.chars().count() > LONGEST || is_tangled(text) {
        return Err(BadCondition::Tangled);
    }
    match on_a_large_stack(text) {
        Ok(Ok(program)) if depth(program.expression()) > LEVELS => Err(BadCondition::Tangled),
        Ok(Ok(program)) => Ok(program),
        Ok(Err(err)) => {
            let first = err.errors.first().map(|err| err.msg.clone()).unwrap_or_else(|| err.to_string());
            // What else could stand there is a list of every sign there is.
            let what = first.split(" expecting ").next().unwrap_or_default();
            let what = what.lines().next().unwrap_or_default().trim_start_matches("Syntax error: ");
            Err(BadCondition::Syntax(format!("`{text}` is no expression: {what}")))
        }
        Err(_) => Err(BadCondition::Syntax("it could not be understood at all".into())),
    }
}

/// The parser takes a hundred kilobytes and more for each bracket, so it has a thread of its own, and a panic ends that.
fn on_a_large_stack(text: &str) -> Result<Result<Program, cel::ParseErrors>, Box<dyn Any + Send>> {
    const STACK: usize = 32 * 1024 * 1024;
    std::thread::scope(|scope| {
        let parser = std::thread::Builder::new().name("condition".into()).stack_size(STACK);
        match parser.spawn_scoped(scope, || Program::compile(text)) {
            Ok(parsing) => parsing.join(),
            Err(err) => Err(Box::new(err) as Box<dyn Any + Send>),
        }
    })
}

/// Counted by the letters alone, also inside of texts: nobody needs as many there.
fn is_tangled(text: &str) -> bool {
    let (mut deep, mut deepest) = (0_usize, 0);
    for c in text.chars() {
        match c {
            '(' | '[' | '{' => deep += 1,
            ')' | ']' | '}' => deep = deep.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(deep);
    }
    let count = |signs: &str| text.chars().filter(|c| signs.contains(*c)).count();
    // A name has dashes in it, so that only those count that stand before or between values.
    let dashes = text.matches("--").count() + text.matches("- ").count() + text.matches("(-").count();
    deepest > DEEPEST || count("+*/%&|.<>=,:([{") > OPERATORS || count("!?") + dashes > PREFIXES
}

fn answer(program: &Program, context: &Json) -> Result<Value, Wrong> {
    let judged = catch_unwind(AssertUnwindSafe(|| {
        let mut around = Context::default();
        for (name, value) in context.as_object().into_iter().flatten() {
            around.add_variable_from_value(name.as_str(), cel_value(value));
        }
        program.execute(&around)
    }));
    judged.map_err(|_| Wrong::Panicked)?.map_err(Wrong::Asked)
}

/// The same few expressions are asked about again and again, and reading one takes longer than judging it.
fn remembered(text: &str) -> Result<Arc<Program>, String> {
    thread_local! {
        static KNOWN: RefCell<BTreeMap<String, Arc<Program>>> = const { RefCell::new(BTreeMap::new()) };
    }
    KNOWN.with_borrow_mut(|known| {
        if let Some(program) = known.get(text) {
            return Ok(program.clone());
        }
        let program = Arc::new(understood(text).map_err(|bad| bad.to_string())?);
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(text.to_owned(), program.clone());
        Ok(program)
    })
}

fn depth(expr: &IdedExpr) -> usize {
    let entry = |entry: &EntryExpr| match entry {
        EntryExpr::StructField(field) => depth(&field.value),
        EntryExpr::MapEntry(entry) => depth(&entry.key).max(depth(&entry.value)),
    };
    let below = match &expr.expr {
        Expr::Unspecified | Expr::Literal(_) | Expr::Ident(_) => 0,
        Expr::Select(select) => depth(&select.operand),
        Expr::Call(call) => {
            let args = call.args.iter().chain(call.target.as_deref()).map(depth);
            args.max().unwrap_or_default()
        }
        Expr::List(list) => list.elements.iter().map(depth).max().unwrap_or_default(),
        Expr::Map(map) => map.entries.iter().map(|part| entry(&part.expr)).max().unwrap_or_default(),
        Expr::Struct(made) => made.entries.iter().map(|part| entry(&part.expr)).max().unwrap_or_default(),
        Expr::Comprehension(all) => {
            let parts = [&all.iter_range, &all.accu_init, &all.loop_cond, &all.loop_step, &all.result];
            parts.into_iter().map(depth).max().unwrap_or_default()
        }
    };
    below + 1
}

fn cel_value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        // All whole numbers alike, so that they compare with those in an expression.
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::Int(whole),
            None => Value::Float(number.as_f64().unwrap_or_default()),
        },
        Json::String(text) => Value::String(Arc::new(text.clone())),
        Json::Array(list) => Value::List(Arc::new(list.iter().map(cel_value).collect())),
        Json::Object(map) => {
            let entries =
                map.iter().map(|(key, value)| (Key::String(Arc::new(key.clone())), cel_value(value)));
            Value::Map(Map { map: Arc::new(entries.collect::<HashMap<_, _>>()) })
        }
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a text",
        Value::Int(_) | Value::UInt(_) | Value::Float(_) => "a number",
        Value::List(_) => "a list",
        Value::Map(_) => "a mapping",
        Value::Null => "nothing",
        _ => "something else",
    }
}

/// The names that an expression speaks of, and what it calls.
#[derive(Default)]
struct Names {
    used: Vec<String>,
    called: Vec<String>,
}

impl Names {
    /// `bound` are the names that the expression itself gives, as in `pr.labels.exists(l, l == 'bug')`.
    fn walk<'e>(&mut self, expr: &'e IdedExpr, bound: &mut Vec<&'e str>) {
        match &expr.expr {
            Expr::Unspecified | Expr::Literal(_) => {}
            Expr::Ident(_) | Expr::Select(_) => match path_of(expr) {
                Some(path) if bound.contains(&path[0]) => {}
                Some(path) => self.used.push(path.join(".")),
                None => {
                    if let Expr::Select(select) = &expr.expr {
                        self.walk(&select.operand, bound);
                    }
                }
            },
            Expr::Call(call) => {
                if call.func_name.starts_with(|c: char| c.is_ascii_alphabetic()) {
                    self.called.push(call.func_name.clone());
                }
                call.target.iter().for_each(|target| self.walk(target, bound));
                call.args.iter().for_each(|arg| self.walk(arg, bound));
            }
            Expr::List(list) => list.elements.iter().for_each(|element| self.walk(element, bound)),
            Expr::Map(map) => map.entries.iter().for_each(|entry| self.entry(&entry.expr, bound)),
            Expr::Struct(made) => made.entries.iter().for_each(|entry| self.entry(&entry.expr, bound)),
            Expr::Comprehension(all) => {
                self.walk(&all.iter_range, bound);
                self.walk(&all.accu_init, bound);
                let before = bound.len();
                bound.extend([all.iter_var.as_str(), all.accu_var.as_str()]);
                bound.extend(all.iter_var2.as_deref());
                self.walk(&all.loop_cond, bound);
                self.walk(&all.loop_step, bound);
                self.walk(&all.result, bound);
                bound.truncate(before);
            }
        }
    }

    fn entry<'e>(&mut self, entry: &'e EntryExpr, bound: &mut Vec<&'e str>) {
        match entry {
            EntryExpr::StructField(field) => self.walk(&field.value, bound),
            EntryExpr::MapEntry(entry) => {
                self.walk(&entry.key, bound);
                self.walk(&entry.value, bound);
            }
        }
    }
}

/// `pr.title` as its parts, if it is names all the way down.
fn path_of(expr: &IdedExpr) -> Option<Vec<&str>> {
    match &expr.expr {
        Expr::Ident(name) => Some(vec![name]),
        Expr::Select(select) => {
            let mut path = path_of(&select.operand)?;
            path.push(&select.field);
            Some(path)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn conditions_hold_as_they_read() {
        for (text, holds) in [
            ("label == 'needs-tests'", true),
            ("label==\"docs\"", false),
            ("label != 'docs' && attempt < 2", true),
            ("label == 'docs' || 'bug' in pr.labels", true),
            ("pr.labels.exists(l, l == 'bug') && !pr.draft", true),
            ("pr.files.all(f, f.startsWith('docs/'))", false),
            ("size(pr.files) == 1 && pr.added + pr.removed <= 12", true),
            ("pr.title.matches('^Fix') ? retries == 3 : false", true),
            ("pr['number'] == 7", true),
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
            assert_eq!((judge().0)(text, &sample()), Ok(holds), "{text}");
        }
    }

    #[test]
    fn what_is_no_condition_is_refused_with_a_reason() {
        for (text, says) in [
            ("label", "it says a text, and has to say `true` or `false`"),
            ("1 + 1", "it says a number, and has to say `true` or `false`"),
            ("lable == 'x'", "there is no variable `lable`"),
            ("false && lable == 'x'", "there is no variable `lable`"),
            ("pr.titel == 'x'", "there is no attribute `pr.titel`"),
            ("has(pr.titel)", "there is no attribute `pr.titel`"),
            ("pr.labels.exists(l, m == 'x')", "there is no variable `m`"),
            ("false && shout(label)", "there is no function `shout`"),
            ("attempt < 'x'", "found no matching overload for '_<_' applied to '(int, string)'"),
        ] {
            assert_eq!(check(text).map_err(|err| err.to_string()), Err(says.to_owned()), "{text}");
        }
        for text in [
            "",
            "label is bug",
            "label = 'bug'",
            "label == 'bug",
            "((",
            "a ||",
            "\u{0}",
            "{",
            "x(",
            "'\u{202e}",
        ] {
            assert!(matches!(check(text), Err(BadCondition::Syntax(_))), "{text}: {:?}", check(text));
        }
        assert_eq!(check(&" ".repeat(2_001)), Err(BadCondition::TooLong(2_001)));
    }

    #[test]
    fn the_data_of_an_event_are_free_and_an_error_is_said_when_they_are_missing() {
        let text = "data.env == 'production'";
        assert_eq!(check(text), Ok(()));
        let mut context = sample();
        assert_eq!((judge().0)(text, &context), Err("No such key: env".into()));
        context["data"] = json!({ "env": "production" });
        assert_eq!((judge().0)(text, &context), Ok(true));
        assert_eq!((judge().0)("has(data.nothing)", &context), Ok(false));
    }

    /// As long as one may be, and as deep: neither a crash nor a hang.
    #[test]
    fn a_hostile_expression_is_an_error_and_no_crash() {
        // Half of what a thread of the daemon has.
        let small = std::thread::Builder::new().stack_size(1024 * 1024);
        small.spawn(hostile_expressions).unwrap().join().unwrap();
    }

    fn hostile_expressions() {
        for (open, middle, close) in [
            ("(", "true", ")"),
            ("!", "true", ""),
            ("-", "1", ""),
            ("- ", "1", ""),
            ("[", "1", "]"),
            ("true?", "true", ":true"),
            ("true&&", "true", ""),
            ("1+", "1", ""),
            ("1-", "1", ""),
            ("data.", "a", ""),
            ("data", "", "[0]"),
            ("size(", "'a'", ")"),
            ("{'a':", "1", "}"),
            ("pr.labels.exists(l,", "true", ")"),
        ] {
            let most = (LONGEST - middle.len()) / (open.len() + close.len());
            for n in (1..=20).chain([49, 50, 51, 98, 99, 100, 101, most]) {
                let text = format!("{}{middle}{}", open.repeat(n.min(most)), close.repeat(n.min(most)));
                let _either = check(&text);
                let _either = (judge().0)(&text, &sample());
            }
        }
    }
}
