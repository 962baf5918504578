//! Secrets that must not be stored: the places where they are configured, and the ways in by which texts contain them.
//!
//! ```text
//!  people, agents' reports, commands ──► Input ──► MaskingRules ────────┐
//!  issues, pull requests, comments ────► Tracker, Scm ──► looks/masked ────┤──► memory, store, events, answers
//!  output of commands ─────────────────► Redactor of each log ──────────┘
//! ```
//!
//! Nothing is masked again on its way out, except where rendering joins separate parts (`output.rs`).

use std::ffi::OsString;
use std::sync::Arc;

use ao_config::Env;
use ao_config::shape::Channel;
use ao_core::setup::{Environment, SecretSource};
use ao_core::{Effect, FreeText as _, Input, Moment, Refusal, Scope, StampedEvent, State};
use ao_engine::{CoreRules, EngineRules};
use ao_ports::secret::secrets_in;
use ao_ports::{RecordChange, Records, StoreError};
pub use ao_process::Secrets;
pub use ao_process::secrets::{known, learn};
use async_trait::async_trait;
use serde_json::Value;

/// Learns what this process has in its own environment. To be called before anything is written down.
pub fn learn_own() {
    let ours = secrets_in(std::env::vars_os(), &[], &[]);
    learn(ours.into_iter().map(|(name, value)| (name, value.into_encoded_bytes())));
}

/// The secrets that a project's programs are given, as far as they can be read.
pub fn of_project(
    environment: &Environment,
    variable: impl Fn(&str) -> Option<String>,
) -> Vec<(String, Vec<u8>)> {
    let value = |from: &SecretSource| match from {
        SecretSource::Env(name) => variable(name),
        SecretSource::File(path) => std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned()),
    };
    let named = |secret: &ao_core::setup::SecretRef| Some((secret.name.clone(), value(&secret.from)?));
    let passed = environment.pass.iter().filter_map(|name| Some((name.clone(), variable(name)?)));
    let all = environment.secrets.iter().filter_map(named).chain(passed);
    let all = all.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let all = secrets_in(all, &environment.secrets, &environment.pass);
    all.into_iter().map(|(name, value)| (name, value.into_encoded_bytes())).collect()
}

/// Returns the secrets in the options of channels: references, values with names of secrets, and addresses, many of
/// which contain one. Recipients are no secrets and appear in many harmless texts.
pub fn of_channels<'a>(
    channels: impl IntoIterator<Item = (&'a String, &'a Channel)>,
    env: &Env,
) -> Vec<(String, Vec<u8>)> {
    let mut found = vec![];
    for (name, channel) in channels {
        for (key, value) in &channel.options {
            of_option(&format!("{name}.{key}"), key, value, env, &mut found);
        }
    }
    found.into_iter().map(|(name, value)| (name, value.into_bytes())).collect()
}

/// The options that name recipients.
const WHOM: [&str; 5] = ["channel", "to", "chatid", "userid", "username"];
/// Parts of the names of secrets.
const SECRET: [&str; 9] =
    ["token", "secret", "webhook", "apikey", "api-key", "password", "authorization", "cookie", "credential"];

fn of_option(place: &str, key: &str, value: &Value, env: &Env, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                of_option(&format!("{place}.{key}"), key, value, env, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| of_option(place, key, value, env, found)),
        Value::String(written) => {
            let key = key.to_ascii_lowercase();
            let named =
                SECRET.iter().any(|word| key.contains(word)) || matches!(key.as_str(), "url" | "apiurl");
            if WHOM.contains(&key.as_str()) || !(named || written.contains("${")) {
                return;
            }
            let Ok(value) = env.expand(written) else { return };
            // Of `Bearer abc`, the second part alone is a secret too.
            if let Some((_, alone)) = value.split_once(' ').filter(|_| key == "authorization") {
                found.push((place.to_owned(), alone.trim().to_owned()));
            }
            found.push((place.to_owned(), value));
        }
        // A password of digits is sent like any other.
        Value::Number(number) => {
            of_option(place, key, &Value::String(number.to_string()), env, found);
        }
        Value::Bool(_) | Value::Null => {}
    }
}

/// The rules of the core without secrets: inputs are masked before the rules see them, and so before anything is
/// stored, delivered or sent.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MaskingRules;

impl EngineRules for MaskingRules {
    fn step(
        &self,
        state: &mut State,
        moment: &Moment,
        mut input: Input,
    ) -> Result<Vec<StampedEvent>, Refusal> {
        let secrets = known();
        if !secrets.is_empty() {
            input.each_text(&mut |text| {
                secrets.mask_in(text);
            });
        }
        CoreRules.step(state, moment, input)
    }

    fn wants(&self, state: &State, scope: &Scope) -> Vec<Effect> {
        CoreRules.wants(state, scope)
    }
}

/// Records that are stored without secrets. A forge writes some texts itself, such as a title from a commit's
/// message, and those come by no other way in.
pub(crate) struct MaskedRecords(pub(crate) Arc<dyn Records>);

#[async_trait]
impl Records for MaskedRecords {
    async fn get(&self, shelf: &str, key: &str) -> Result<Option<String>, StoreError> {
        self.0.get(shelf, key).await
    }

    async fn list(
        &self,
        shelf: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, String)>, StoreError> {
        self.0.list(shelf, prefix, after, limit).await
    }

    async fn change(&self, mut changes: Vec<RecordChange>) -> Result<(), StoreError> {
        let secrets = known();
        // A name of ours has nothing in it that JSON would have to escape.
        changes.iter_mut().filter_map(|change| change.body.as_mut()).for_each(|body| {
            secrets.mask_in(body);
        });
        self.0.change(changes).await
    }
}

#[cfg(test)]
mod tests {
    use ao_core::setup::SecretRef;

    use super::*;

    /// acceptance: X5
    #[test]
    fn the_secrets_of_channels_are_found_wherever_they_stand_and_whom_they_tell_is_none() {
        let mut channel = Channel::named("webhook");
        let options = serde_json::json!({
            "url": "https://example.org/hooks/abc",
            "apiUrl": "https://example.org/${KEY}",
            "headers": { "Authorization": "Bearer one-two-three", "Content-Type": "application/json",
                         "X-Own": "${KEY}" },
            "arguments": { "list": [{ "password": "nested-password" }] },
            "channel": "${ROOM}", "to": "${ROOM}", "chatId": "${ROOM}", "userId": "token-bearer", "port": 3,
            "password": 12_345_678, "retryToken": true, "chat": 87_654_321,
        });
        channel.options = serde_json::from_value(options).unwrap();
        let env = Env::new(
            [("KEY", "key-value"), ("ROOM", "C0RELEASES")]
                .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        let channels = [("ops".to_owned(), channel)];
        let mut found: Vec<String> =
            of_channels(channels.iter().map(|(name, channel)| (name, channel)), &env)
                .into_iter()
                .map(|(name, value)| format!("{name} {}", String::from_utf8_lossy(&value)))
                .collect();
        found.sort();
        let expected = [
            "ops.apiUrl https://example.org/key-value",
            "ops.arguments.list.password nested-password",
            "ops.headers.Authorization Bearer one-two-three",
            "ops.headers.Authorization one-two-three",
            "ops.headers.X-Own key-value",
            "ops.password 12345678",
            "ops.url https://example.org/hooks/abc",
        ];
        assert_eq!(found, expected);
    }

    /// acceptance: X5
    #[test]
    fn what_a_project_gives_its_sessions_is_known_once_it_was_learnt() {
        let environment = Environment {
            secrets: vec![
                SecretRef { name: "DB".into(), from: SecretSource::Env("DB_PASSWORD".into()) },
                SecretRef { name: "NOT_THERE".into(), from: SecretSource::File("/nowhere".into()) },
            ],
            ..Environment::default()
        };
        let set = |name: &str| (name == "DB_PASSWORD").then(|| "hunter2-and-more".to_owned());
        assert_eq!(known().mask("hunter2-and-more"), "hunter2-and-more");
        learn(of_project(&environment, set));
        learn(of_project(&environment, set));
        assert_eq!(known().mask("a hunter2-and-more b"), "a [secret DB] b");
        assert!(!format!("{:?}", known()).contains("hunter2"));
    }
}
