//! Chooses the answer to a request: a text, or a call of one of the tools that the agent offers.

use serde_json::{Map, Value, json};

use super::protocol::{ModelRequest, OfferedTool};
use super::script::{ModelScript, ModelStep};

/// The answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ModelAnswer {
    Text(String),
    Call { tool: OfferedTool, arguments: Value },
}

impl ModelAnswer {
    /// Returns the text, or the name of the tool.
    pub(super) fn title(&self) -> &str {
        match self {
            ModelAnswer::Text(text) => text,
            ModelAnswer::Call { tool, .. } => &tool.name,
        }
    }
}

const WRITERS: &[&str] = &[
    "write",
    "write_file",
    "writefile",
    "create_file",
    "create",
    "write_to_file",
    "fs_write",
    "editor",
    "str_replace_based_edit_tool",
];
const SHELLS: &[&str] = &[
    "bash",
    "shell",
    "exec_command",
    "shell_command",
    "run_shell_command",
    "local_shell",
    "execute_command",
    "run_commands",
    "run_command",
    "terminal",
    "execute",
];
const ASKERS: &[&str] =
    &["askuserquestion", "question", "ask_user_question", "ask_user", "request_user_input"];

const PATHS: &[&str] = &["file_path", "filepath", "filePath", "path", "absolute_path", "filename", "file"];
const TEXTS: &[&str] = &["new_text", "new_str", "content", "contents", "file_text", "text", "newText"];
const COMMANDS: &[&str] = &["command", "cmd", "commands", "script"];
const BACKGROUND: &[&str] = &["run_in_background", "is_background", "background"];

/// Chooses the answer for the step that the conversation has reached.
pub(super) fn answer(request: &ModelRequest, script: &ModelScript, body: &Value) -> ModelAnswer {
    if request.tools.is_empty() {
        return without_tools(script, body);
    }
    let step =
        script.steps.get(request.results).or(script.steps.last()).expect("a script has a closing text");
    match step {
        ModelStep::Say(text) => ModelAnswer::Text(text.clone()),
        ModelStep::Tool { name, arguments } => {
            let tool = request.tools.iter().find(|tool| tool.name == *name).cloned();
            let tool = tool.unwrap_or_else(|| OfferedTool { name: name.clone(), ..OfferedTool::default() });
            ModelAnswer::Call { tool, arguments: arguments.clone() }
        }
        ModelStep::Run { command, background } => run(request, script, command, *background),
        ModelStep::Write { file, text } => match pick(&request.tools, WRITERS) {
            Some(tool) => write(tool, file, text, body),
            None => {
                run(request, script, &format!("printf '%s' '{}' > {file}", text.replace('\'', "")), false)
            }
        },
        ModelStep::Question { text, options } => match pick(&request.tools, ASKERS) {
            Some(tool) => question(tool, text, options),
            None => no_tool(request),
        },
    }
}

/// Answers an agent that offers no tools: one that parses edits from text, or one that wants a title.
fn without_tools(script: &ModelScript, body: &Value) -> ModelAnswer {
    let mut texts = Vec::new();
    collect_texts(body, &mut texts);
    let has = |what: &str| texts.iter().any(|text| text.contains(what));
    ModelAnswer::Text(if has("SEARCH/REPLACE") {
        "Here is the change.\n\nhello.txt\n```\n<<<<<<< SEARCH\n=======\nhello from the stand-in\n>>>>>>> REPLACE\n```\n".into()
    } else if has("file listing") {
        "Here is the change.\n\nhello.txt\n```\nhello from the stand-in\n```\n".into()
    } else {
        let said = |step: &ModelStep| if let ModelStep::Say(text) = step { Some(text.clone()) } else { None };
        script.steps.iter().find_map(said).unwrap_or_else(|| "stand-in title".into())
    })
}

fn run(request: &ModelRequest, script: &ModelScript, command: &str, background: bool) -> ModelAnswer {
    let Some(tool) = pick(&request.tools, SHELLS) else { return no_tool(request) };
    let mut arguments = Map::new();
    for (names, value) in [(COMMANDS, json!(command)), (&["description"], json!("stand-in step"))] {
        set(&mut arguments, tool, names, value);
    }
    if background {
        set(&mut arguments, tool, BACKGROUND, json!(true));
    }
    if script.escalate && tool.property("sandbox_permissions").is_some() {
        arguments.insert("sandbox_permissions".into(), json!("require_escalated"));
        arguments.insert("justification".into(), json!("stand-in wants approval"));
    }
    call(tool, arguments)
}

fn write(tool: &OfferedTool, file: &str, text: &str, body: &Value) -> ModelAnswer {
    let folder = if file.starts_with('/') { None } else { working_folder(body) };
    let path = folder.map_or_else(|| file.to_owned(), |folder| format!("{folder}/{file}"));
    let mut arguments = Map::new();
    set(&mut arguments, tool, PATHS, json!(path));
    set(&mut arguments, tool, TEXTS, json!(text));
    set(&mut arguments, tool, &["command"], json!("create"));
    call(tool, arguments)
}

fn question(tool: &OfferedTool, text: &str, options: &[String]) -> ModelAnswer {
    let options: Vec<Value> =
        options.iter().map(|label| json!({ "label": label, "description": label })).collect();
    let mut arguments = Map::new();
    let item = tool.property("questions").map(|questions| &questions["items"]);
    let mut question = json!({ "question": text, "header": "Question", "options": options });
    if let (Some(item), Some(question)) = (item, question.as_object_mut()) {
        fill_required(item, question);
    }
    if item.is_some() {
        arguments.insert("questions".into(), json!([question]));
    } else {
        set(&mut arguments, tool, &["question", "text", "prompt"], json!(text));
        set(&mut arguments, tool, &["options", "choices"], json!(options));
    }
    call(tool, arguments)
}

fn no_tool(request: &ModelRequest) -> ModelAnswer {
    let names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    ModelAnswer::Text(format!("stand-in: no usable tool among {}", names.join(", ")))
}

fn call(tool: &OfferedTool, mut arguments: Map<String, Value>) -> ModelAnswer {
    fill_required(&tool.schema, &mut arguments);
    ModelAnswer::Call { tool: tool.clone(), arguments: Value::Object(arguments) }
}

/// Finds a tool by its name, or by the end of a name with a namespace, such as `developer__shell`.
fn pick<'a>(tools: &'a [OfferedTool], names: &[&str]) -> Option<&'a OfferedTool> {
    let plain = |tool: &OfferedTool| tool.name.to_lowercase().replace('-', "_");
    let exact = names.iter().find_map(|name| tools.iter().find(|tool| plain(tool) == *name));
    let ends = |tool: &OfferedTool, name: &str| {
        plain(tool).strip_suffix(name).is_some_and(|space| space.ends_with("__") || space.ends_with('.'))
    };
    exact.or_else(|| names.iter().find_map(|name| tools.iter().find(|tool| ends(tool, name))))
}

/// Sets the first of these properties that the tool has, in the shape that it wants.
fn set(arguments: &mut Map<String, Value>, tool: &OfferedTool, names: &[&str], value: Value) {
    let Some((name, schema)) = names.iter().find_map(|name| Some((*name, tool.property(name)?))) else {
        return;
    };
    let kind = &schema["type"];
    let is_list = kind == "array" || kind.as_array().is_some_and(|kinds| kinds.contains(&json!("array")));
    let value = match (is_list && value.is_string(), name) {
        (true, "commands") => json!([value]),
        (true, _) => json!(["bash", "-lc", value]),
        (false, _) => value,
    };
    arguments.insert(name.into(), value);
}

fn fill_required(schema: &Value, arguments: &mut Map<String, Value>) {
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !arguments.contains_key(name) {
            arguments.insert(name.into(), dummy(&schema["properties"][name]));
        }
    }
}

/// Returns any value that the schema accepts.
fn dummy(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    if let Some(first) = schema["anyOf"].get(0) {
        return dummy(first);
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"].get(0)?.as_str()).unwrap_or("string");
    match kind.to_lowercase().as_str() {
        "boolean" => json!(false),
        "integer" | "number" => json!(30),
        "array" => json!([]),
        "object" => {
            let mut fields = Map::new();
            fill_required(schema, &mut fields);
            Value::Object(fields)
        }
        _ => json!("stand-in"),
    }
}

/// Finds the agent's working folder in what it says about its environment, because many tools want whole paths.
fn working_folder(body: &Value) -> Option<String> {
    const MARKS: &[&str] = &["<cwd>", "orking directory:", "orking directory is", "in the directory:"];
    let mut texts = Vec::new();
    collect_texts(body, &mut texts);
    MARKS.iter().find_map(|mark| {
        texts.iter().find_map(|text| {
            let (_, behind) = text.split_once(mark)?;
            let behind = behind.trim_start_matches([' ', '`', '*']);
            let end = behind.find(['\n', '<', '`', '"']).unwrap_or(behind.len());
            let path = behind[..end].trim_end().trim_end_matches(['.', ',', '/']);
            path.starts_with('/').then(|| path.to_owned())
        })
    })
}

fn collect_texts<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| collect_texts(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| collect_texts(value, texts)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, schema: Value) -> OfferedTool {
        OfferedTool { name: name.into(), schema, namespace: None }
    }

    fn arguments(tools: Vec<OfferedTool>, prompt: &str, body: &Value) -> Value {
        let request = ModelRequest { tools, ..ModelRequest::default() };
        match answer(&request, &ModelScript::parse(prompt), body) {
            ModelAnswer::Call { arguments, .. } => arguments,
            ModelAnswer::Text(text) => json!(text),
        }
    }

    #[test]
    fn arguments_follow_the_schema() {
        let list = tool("shell", json!({ "properties": { "command": { "type": "array" } } }));
        assert_eq!(
            arguments(vec![list], "[[run ls]]", &json!({})),
            json!({ "command": ["bash", "-lc", "ls"] })
        );
        let bash = json!({
            "properties": { "command": {}, "timeout": { "type": "integer" }, "run_in_background": {} },
            "required": ["command", "timeout"],
        });
        assert_eq!(
            arguments(vec![tool("Bash", bash)], "[[background ls]]", &json!({})),
            json!({ "command": "ls", "timeout": 30, "run_in_background": true })
        );
    }

    #[test]
    fn a_file_is_written_into_the_working_folder() {
        let body = json!({ "system": "Environment\n<cwd>/srv/a b</cwd>" });
        let write = tool("dev__write", json!({ "properties": { "file_path": {}, "content": {} } }));
        assert_eq!(
            arguments(vec![write], "[[write f text]]", &body),
            json!({ "file_path": "/srv/a b/f", "content": "text" })
        );
    }

    #[test]
    fn a_question_has_options() {
        let schema = json!({ "properties": { "questions": { "items": {
            "properties": { "multiSelect": { "type": "boolean" } }, "required": ["question", "multiSelect"],
        } } } });
        let option = |label: &str| json!({ "label": label, "description": label });
        assert_eq!(
            arguments(vec![tool("AskUserQuestion", schema)], "[[question Which? | a | b]]", &json!({})),
            json!({ "questions": [{
                "question": "Which?", "header": "Question", "options": [option("a"), option("b")], "multiSelect": false,
            }] })
        );
    }

    #[test]
    fn a_title_is_no_step() {
        assert_eq!(arguments(vec![], "[[run ls]]", &json!({})), json!(CLOSING_TEXT));
        assert_eq!(arguments(vec![], "[[say hi]]", &json!({})), json!("hi"));
    }

    const CLOSING_TEXT: &str = "DONE: all scripted steps ran.";
}
