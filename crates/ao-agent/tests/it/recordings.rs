//! The recorded protocols of the real agents can be read; `fixtures/protocol/README.md` describes them.

use std::fs;
use std::path::Path;

#[test]
fn recordings_are_messages_with_a_direction() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/protocol");
    let mut count = 0;
    for agent in ["claude-code", "codex", "opencode", "gemini", "qwen"] {
        for file in fs::read_dir(folder.join(agent)).unwrap() {
            let path = file.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            let messages = text.lines().map(|line| {
                let message = line.strip_prefix("-> ").or_else(|| line.strip_prefix("<- "));
                let message = message.unwrap_or_else(|| panic!("{}: no direction: {line}", path.display()));
                serde_json::from_str::<serde_json::Value>(message).unwrap_or_else(|err| {
                    panic!("{}: {err}: {line}", path.display());
                })
            });
            assert!(messages.count() > 3, "{}", path.display());
            count += 1;
        }
    }
    assert_eq!(count, 58);
}
