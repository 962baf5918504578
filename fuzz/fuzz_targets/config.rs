//! Any bytes as a configuration file, and as a key and a value to set in one.
#![no_main]

use ao_config::{Env, Places, edit, parse_str};
use camino::Utf8Path;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    let places = Places {
        env: Env::new([("SET".to_owned(), "s3cret-value".to_owned())]),
        cwd: "/repo".into(),
        home: Some("/people/ann".into()),
    };
    let name = Utf8Path::new("/repo/agent-orchestrator.yaml");
    match parse_str(name, &text, &places) {
        Ok(loaded) => {
            // The shown configuration has the same meaning.
            let shown = loaded.show();
            let again = parse_str(name, &shown, &places).expect("what is shown can be read");
            assert_eq!(again.config, loaded.config);
            let _ = loaded.config.settings();
            for project in loaded.config.projects.values() {
                let _ = project.core(&places.env);
            }
        }
        Err(err) => assert!(!err.to_string().is_empty()),
    }
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    for (key, value) in [("defaults.runtime", first), ("projects.app.agentRules", first), ("port", "1")] {
        if let Ok(after) = edit::set(rest, key, value) {
            assert!(edit::set(&after, key, value).is_ok_and(|again| again == after));
        }
    }
    let _ = edit::unset(rest, "projects.app");
});
