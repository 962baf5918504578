//! The messages against what their takers publish, see `tests/contracts`.

use ao_core::notice::{Notice, NoticeLevel};
use ao_notifier::Page;
use ao_ports::Notifier;
use jsonschema::Validator;
use serde_json::{Map, Value, json};

use crate::server::{Answer, Server};
use crate::support::{channel, linked, notice};

const DISCORD: &str = include_str!("../contracts/discord-execute-webhook.json");
const TELEGRAM: &str = include_str!("../contracts/telegram-send-message.json");

/// Short, long, empty, hostile; with links and without.
fn notices() -> Vec<Notice> {
    let texts = ["done", "", "<!channel> @everyone *b* `c` [a](https://e.example)\n\u{202e}\u{0}\u{7}"];
    let long = ["x".repeat(100_000), "🦀".repeat(50_000), "<".repeat(50_000), "*\n".repeat(50_000)];
    let texts: Vec<&str> = texts.into_iter().chain(long.iter().map(String::as_str)).collect();
    let plain = texts.iter().map(|text| notice(NoticeLevel::Info, text));
    plain.chain(texts.iter().map(|text| linked(NoticeLevel::Urgent, text))).collect()
}

async fn posted(plugin: &str, key: &str, path: &str, more: &[(&str, &str)]) -> Vec<Value> {
    let server = Server::start(Answer::status(200)).await;
    let url = server.url(path);
    let settings: Vec<(&str, &str)> = [(key, url.as_str())].into_iter().chain(more.iter().copied()).collect();
    for page in [None, Some("http://127.0.0.1:3000/"), Some("https://ao.example/")] {
        let channel =
            channel(plugin, &settings).unwrap().with_dashboard(page.map(Page::from).unwrap_or_default());
        for notice in notices() {
            channel.notify(&notice).await.unwrap();
        }
    }
    server.posted().iter().map(|posted| posted.json()).collect()
}

fn assert_valid(schema: &Value, messages: &[Value]) {
    let validator: Validator = jsonschema::options().should_validate_formats(true).build(schema).unwrap();
    assert!(!messages.is_empty());
    for message in messages {
        let wrong: Vec<String> = validator
            .iter_errors(message)
            .map(|wrong| format!("{}: {wrong}", wrong.instance_path()))
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}\n{message:#}");
    }
    // A schema that lets everything pass would show nothing.
    let mut wrong = messages[0].clone();
    wrong["no_such_field"] = json!(1);
    assert!(!validator.is_valid(&wrong));
}

/// No object may have fields that it does not name.
fn strict(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.values_mut().for_each(strict);
            if map.contains_key("properties") {
                map.insert("additionalProperties".into(), false.into());
            }
        }
        Value::Array(list) => list.iter_mut().for_each(strict),
        _ => {}
    }
}

#[tokio::test]
async fn discord_is_sent_what_its_contract_says() {
    let mut contract: Value = serde_json::from_str(DISCORD).unwrap();
    let parameters = &contract["paths"]["/webhooks/{webhook_id}/{webhook_token}"]["post"]["parameters"];
    let names: Vec<&str> =
        parameters.as_array().unwrap().iter().map(|known| known["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"wait") && names.contains(&"with_components"), "{names:?}");
    strict(&mut contract["components"]);
    contract["$ref"] = "#/components/schemas/IncomingWebhookRequestPartial".into();
    let messages = posted("discord", "webhookUrl", "/api/webhooks/7/token", &[]).await;
    assert_valid(&contract, &messages);
    let with_buttons = messages.iter().filter(|message| message.get("components").is_some()).count();
    assert!(with_buttons > 0 && with_buttons < messages.len(), "{with_buttons}");
}

/// A type of Telegram's as a schema: `String`, `Array of Array of InlineKeyboardButton` and so on.
fn telegram_type(name: &str) -> Value {
    if let Some(of) = name.strip_prefix("Array of ") {
        return json!({ "type": "array", "items": telegram_type(of) });
    }
    match name {
        "String" => json!({ "type": "string" }),
        "Integer" => json!({ "type": "integer" }),
        "Boolean" => json!({ "type": "boolean" }),
        "Float" => json!({ "type": "number" }),
        object => json!({ "$ref": format!("#/$defs/{object}") }),
    }
}

fn telegram_object(described: &Value) -> Value {
    let fields = described["fields"].as_array().unwrap();
    let name = |field: &Value| field["name"].as_str().unwrap().to_owned();
    let properties: Map<String, Value> = fields
        .iter()
        .map(|field| {
            let types = field["types"].as_array().unwrap().iter();
            let any: Vec<Value> = types.map(|known| telegram_type(known.as_str().unwrap())).collect();
            (name(field), json!({ "anyOf": any }))
        })
        .collect();
    let required: Vec<String> = fields.iter().filter(|field| field["required"] == true).map(name).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

#[tokio::test]
async fn telegram_is_sent_what_its_contract_says() {
    let contract: Value = serde_json::from_str(TELEGRAM).unwrap();
    let mut schema = telegram_object(&contract["methods"]["sendMessage"]);
    let mut types: Map<String, Value> = contract["types"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, described)| (name.clone(), telegram_object(described)))
        .collect();
    // References are not used here, and nothing matches one.
    let text = schema.to_string() + &Value::from(types.clone()).to_string();
    for named in text.split("#/$defs/").skip(1).filter_map(|rest| rest.split('"').next()) {
        types.entry(named).or_insert(Value::Bool(false));
    }
    schema["$defs"] = types.into();
    let bot = [("botToken", "123:ABC-def_4"), ("chatId", "-100123456")];
    let messages = posted("telegram", "apiUrl", "", &bot).await;
    assert_valid(&schema, &messages);
    for message in &messages {
        // "1-4096 characters after entities parsing", says its description.
        assert!((1..=4096).contains(&message["text"].as_str().unwrap().encode_utf16().count()));
        let buttons = message["reply_markup"]["inline_keyboard"].as_array();
        for button in buttons.into_iter().flatten().flat_map(|row| row.as_array().unwrap()) {
            let url = button["url"].as_str().unwrap();
            assert!(!url.contains("127.0.0.1"), "Telegram refuses the whole message: {url}");
        }
    }
}

/// By Slack's reference of blocks, as of 2026.
#[tokio::test]
async fn slack_is_sent_no_more_than_it_takes() {
    let messages = posted("slack", "webhookUrl", "/services/T0/B0/XXXX", &[]).await;
    let length = |value: &Value| value.as_str().unwrap().encode_utf16().count();
    for message in &messages {
        assert!((1..=40_000).contains(&length(&message["text"])));
        let blocks = message["blocks"].as_array().unwrap();
        assert!((1..=50).contains(&blocks.len()));
        for block in blocks {
            match block["type"].as_str().unwrap() {
                "header" => assert!((1..=150).contains(&length(&block["text"]["text"]))),
                "section" => assert!((1..=3000).contains(&length(&block["text"]["text"]))),
                "actions" => {
                    let elements = block["elements"].as_array().unwrap();
                    assert!((1..=25).contains(&elements.len()));
                    for button in elements {
                        assert_eq!(button["type"], "button");
                        assert!((1..=75).contains(&length(&button["text"]["text"])));
                        assert!((1..=3000).contains(&length(&button["url"])));
                        assert!((1..=255).contains(&length(&button["action_id"])));
                    }
                }
                other => panic!("{other}"),
            }
        }
    }
    assert!(messages.iter().any(|message| message["blocks"].as_array().unwrap().len() == 3));
}
