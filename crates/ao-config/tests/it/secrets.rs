//! Values from the environment are never shown.

use ao_config::{RefError, parse_str};
use ao_core::setup::SecretSource;
use camino::Utf8Path;

use super::support::places_with;

const FILE: &str = "
notifiers:
  team:
    plugin: slack
    webhookUrl: ${HOOK}
    headers: { Authorization: 'Bearer ${TOKEN}' }
  spare: { plugin: telegram, botToken: '${NOT_SET}' }
defaults:
  notifiers: [team]
  tracker: { plugin: linear, apiKey: '${TOKEN}' }
projects:
  app:
    path: /app
    env:
      pass: [EDITOR]
      set: { API_KEY: '${TOKEN}', MODE: '${MODE:-test}', PLAIN: '$${x}' }
      secrets: { A: TOKEN, B: { env: '${HOOK}' }, C: { file: ~/.token } }
";

fn load() -> (ao_config::Places, ao_config::Loaded) {
    let places = places_with(&[("HOOK", "https://hook/s3cret"), ("TOKEN", "t0ken")]);
    let loaded = parse_str(Utf8Path::new("/x/ao.yaml"), FILE, &places).unwrap_or_else(|err| panic!("{err}"));
    (places, loaded)
}

#[test]
fn no_value_is_in_what_is_shown_logged_or_kept() {
    let (places, loaded) = load();
    let kept = serde_json::to_string(&loaded.config.projects["app"].core(&places.env)).unwrap();
    let whole = serde_json::to_string(&loaded.config).unwrap();
    for text in [loaded.show(), format!("{loaded:?} {places:?}"), kept, whole] {
        assert!(!text.contains("s3cret") && !text.contains("t0ken"), "{text}");
    }
    assert!(loaded.show().contains("webhookUrl: ${HOOK}"), "{}", loaded.show());
}

#[test]
fn a_channel_has_its_values_where_it_is_used() {
    let (places, loaded) = load();
    let options = loaded.config.notifiers["team"].resolved(&places.env).unwrap();
    assert_eq!(options["webhookUrl"], "https://hook/s3cret");
    assert_eq!(options["headers"]["Authorization"], "Bearer t0ken");
    assert_eq!(loaded.config.defaults.tracker.resolved(&places.env).unwrap()["apiKey"], "t0ken");
}

#[test]
fn a_value_that_is_missing_is_wrong_only_where_it_is_used() {
    let (places, loaded) = load();
    let told: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with("/x/ao.yaml:7:40: the variable `NOT_SET` is not set"), "{}", told[0]);
    let spare = loaded.config.notifiers["spare"].resolved(&places.env);
    assert_eq!(spare, Err(RefError::Missing("NOT_SET".into())));
}

#[test]
fn a_projects_variables_are_kept_by_reference() {
    let (places, loaded) = load();
    let environment = loaded.config.projects["app"].core(&places.env).environment;
    assert_eq!(environment.pass, ["EDITOR"]);
    let set: Vec<_> = environment.set.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(set, ["MODE=test", "PLAIN=${x}"]);
    let secrets: Vec<_> =
        environment.secrets.iter().map(|secret| (secret.name.as_str(), &secret.from)).collect();
    assert_eq!(
        secrets,
        [
            ("API_KEY", &SecretSource::Env("TOKEN".into())),
            ("A", &SecretSource::Env("TOKEN".into())),
            ("B", &SecretSource::Env("HOOK".into())),
            ("C", &SecretSource::File("/people/ann/.token".into())),
        ]
    );
}

#[test]
fn a_reference_inside_other_text_would_be_kept_and_is_refused() {
    let text = "projects: { app: { path: /x, env: { set: { URL: 'http://u:${TOKEN}@h' } } } }\n";
    let err = parse_str(Utf8Path::new("ao.yaml"), text, &places_with(&[("TOKEN", "t0ken")])).unwrap_err();
    assert!(err.to_string().contains("`URL` mixes a reference with other text"), "{err}");
    assert!(!err.to_string().contains("t0ken"), "{err}");
}

#[test]
fn no_error_tells_what_the_environment_holds() {
    let places = places_with(&[("S", "s3cret")]);
    for text in [
        "port: ${S}\n",
        "defaults: { agent: '${S}' }\n",
        "defaults: { notifiers: ['${S}'] }\n",
        "lifecycle: { stuckAfter: '${S}' }\n",
        "power: { preventIdleSleep: '${S}' }\n",
        "reactions: { ci-failed: { action: '${S}' } }\n",
        "server: { listen: '${S}' }\n",
        "projects: { a: { path: /x, sessionPrefix: 'a ${S}' } }\n",
        "agents: [{ id: '${S}', tool: codex }, { id: '${S}', tool: codex }]\n",
    ] {
        let err = parse_str(Utf8Path::new("ao.yaml"), text, &places).expect_err(text).to_string();
        assert!(!err.contains("s3cret"), "{err}");
    }
}
