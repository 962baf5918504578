//! Conditions of reactions: expressions such as `label == 'needs-tests' && pr.added < 500`.
//!
//! The language is CEL. It cannot loop for ever, call out or change anything, and it has the same variables as message
//! templates. An expression is checked when the configuration is read; [`judge`] evaluates it when something happens.

use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ao_core::reaction::words::{BadTemplate, LONGEST, known_name};
use ao_core::reaction::{ConditionJudge, sample};
use cel::common::ast::{EntryExpr, Expr, IdedExpr};
use cel::objects::{Key, Map};
use cel::{Context, ExecutionError, Program, Value};
use serde_json::Value as Json;

use crate::names::nearest;

/// The functions that an expression may call.
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
/// Limits on nesting and on the number of operators. The parser recurses for each of them, and a stack overflow cannot
/// be caught.
const MAX_DEPTH: usize = 12;
const MAX_OPERATORS: usize = 100;
/// Limit on the depth of the parsed expression, because the evaluator runs on the engine's stack.
const MAX_LEVELS: usize = 20;
/// Limit on prefix operators, each of which nests deeper than the one before.
const MAX_PREFIXES: usize = 12;
/// Number of parsed expressions in the cache.
const MAX_CACHED: usize = 256;

/// Reasons to refuse a condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadCondition {
    #[error("it has {0} characters; the limit is {LONGEST}")]
    TooLong(usize),
    #[error(
        "it is too complex: {MAX_DEPTH} levels of brackets, {MAX_OPERATORS} operators and {MAX_PREFIXES} of `!`, `-` and `?` are the limits"
    )]
    TooComplex,
    #[error("{0}")]
    Syntax(String),
    #[error("{0}")]
    Unknown(BadTemplate),
    #[error("it returns {0} instead of `true` or `false`")]
    NotBoolean(&'static str),
    #[error("{0}")]
    Fails(String),
}

impl BadCondition {
    /// Returns advice on how to write it instead.
    pub fn hint(&self) -> String {
        let known = match self {
            BadCondition::Unknown(bad) => hint_for(bad),
            _ => None,
        };
        if *self == BadCondition::TooComplex {
            return "use fewer brackets and operators".into();
        }
        known.unwrap_or_else(|| {
            "write one such as `label == 'needs-tests'`, and combine several with `&&` or `||`".into()
        })
    }
}

/// Suggests the name that was most likely meant instead of an unknown one.
pub(crate) fn hint_for(bad: &BadTemplate) -> Option<String> {
    let BadTemplate::Unknown { name, known, .. } = bad else { return None };
    match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => Some(format!("did you mean `{near}`?")),
        None if known.is_empty() => None,
        None => Some(format!("known here: {}", known.join(", "))),
    }
}

/// Checks that an expression can be evaluated for every event.
pub fn check(text: &str) -> Result<(), BadCondition> {
    let length = text.chars().count();
    if length > LONGEST {
        return Err(BadCondition::TooLong(length));
    }
    let program = parse(text)?;
    let mut names = UsedNames::default();
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
    match evaluate(&program, &sample()) {
        Ok(Value::Bool(_)) => Ok(()),
        // The data of a custom event is only known when the event happens.
        _ if names.used.iter().any(|name| name == "data" || name.starts_with("data.")) => Ok(()),
        Ok(other) => Err(BadCondition::NotBoolean(kind_of(&other))),
        Err(EvaluationError::Failed(ExecutionError::IndexOutOfBounds(_))) => Ok(()),
        Err(wrong) => Err(BadCondition::Fails(wrong.to_string())),
    }
}

/// Returns the function that evaluates conditions for the engine.
pub fn judge() -> ConditionJudge {
    ConditionJudge(|expression, context| match evaluate(&*cached(expression)?, context) {
        Ok(Value::Bool(holds)) => Ok(holds),
        Ok(other) => Err(BadCondition::NotBoolean(kind_of(&other)).to_string()),
        Err(wrong) => Err(wrong.to_string()),
    })
}

#[derive(Debug, thiserror::Error)]
enum EvaluationError {
    #[error("{}", .0.to_string().chars().take(300).collect::<String>())]
    Failed(ExecutionError),
    #[error("it could not be evaluated")]
    Panicked,
}

/// Parses an expression. A panic in the parser must not end the daemon, so it is returned as an error.
fn parse(text: &str) -> Result<Program, BadCondition> {
    if text.chars().count() > LONGEST || is_too_complex(text) {
        return Err(BadCondition::TooComplex);
    }
    match compile_on_large_stack(text) {
        Ok(Ok(program)) if depth(program.expression()) > MAX_LEVELS => Err(BadCondition::TooComplex),
        Ok(Ok(program)) => Ok(program),
        Ok(Err(err)) => {
            let first = err.errors.first().map(|err| err.msg.clone()).unwrap_or_else(|| err.to_string());
            // The parser appends a list of every token it would have accepted.
            let what = first.split(" expecting ").next().unwrap_or_default();
            let what = what.lines().next().unwrap_or_default().trim_start_matches("Syntax error: ");
            Err(BadCondition::Syntax(format!("`{text}` is not a valid expression: {what}")))
        }
        Err(_) => Err(BadCondition::Syntax("it could not be parsed".into())),
    }
}

/// Parses on a thread of its own, because the parser needs more than a hundred kilobytes of stack for each bracket.
fn compile_on_large_stack(text: &str) -> Result<Result<Program, cel::ParseErrors>, Box<dyn Any + Send>> {
    const STACK: usize = 32 * 1024 * 1024;
    std::thread::scope(|scope| {
        let parser = std::thread::Builder::new().name("condition".into()).stack_size(STACK);
        match parser.spawn_scoped(scope, || Program::compile(text)) {
            Ok(parsing) => parsing.join(),
            Err(err) => Err(Box::new(err) as Box<dyn Any + Send>),
        }
    })
}

/// Counts brackets and operators character by character, string literals included: no real literal has that many.
fn is_too_complex(text: &str) -> bool {
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
    // Names may contain dashes; only those before or between values count.
    let dashes = text.matches("--").count() + text.matches("- ").count() + text.matches("(-").count();
    deepest > MAX_DEPTH || count("+*/%&|.<>=,:([{") > MAX_OPERATORS || count("!?") + dashes > MAX_PREFIXES
}

fn evaluate(program: &Program, context: &Json) -> Result<Value, EvaluationError> {
    let judged = catch_unwind(AssertUnwindSafe(|| {
        let mut scope = Context::default();
        for (name, value) in context.as_object().into_iter().flatten() {
            scope.add_variable_from_value(name.as_str(), cel_value(value));
        }
        program.execute(&scope)
    }));
    judged.map_err(|_| EvaluationError::Panicked)?.map_err(EvaluationError::Failed)
}

/// Returns a parsed expression from the cache. The same few are evaluated over and over, and parsing is the slower
/// part.
fn cached(text: &str) -> Result<Arc<Program>, String> {
    thread_local! {
        static KNOWN: RefCell<BTreeMap<String, Arc<Program>>> = const { RefCell::new(BTreeMap::new()) };
    }
    KNOWN.with_borrow_mut(|known| {
        if let Some(program) = known.get(text) {
            return Ok(program.clone());
        }
        let program = Arc::new(parse(text).map_err(|bad| bad.to_string())?);
        if known.len() >= MAX_CACHED {
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
        // All whole numbers become `Int`, so that they compare with literals in an expression.
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
        Value::String(_) => "a string",
        Value::Int(_) | Value::UInt(_) | Value::Float(_) => "a number",
        Value::List(_) => "a list",
        Value::Map(_) => "a mapping",
        Value::Null => "null",
        _ => "another type",
    }
}

/// The variables and functions that an expression uses.
#[derive(Default)]
struct UsedNames {
    used: Vec<String>,
    called: Vec<String>,
}

impl UsedNames {
    /// Collects names. `bound` holds the names that the expression itself introduces, as in `pr.labels.exists(l, l ==
    /// 'bug')`.
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

/// Splits `pr.title` into its parts, if it consists of names only.
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
            ("label", "it returns a string instead of `true` or `false`"),
            ("1 + 1", "it returns a number instead of `true` or `false`"),
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

    /// An expression of maximal length and depth causes neither a crash nor a hang.
    #[test]
    fn a_hostile_expression_is_an_error_and_no_crash() {
        // Half of the stack of a daemon's thread.
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
