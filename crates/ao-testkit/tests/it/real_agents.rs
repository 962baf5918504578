//! The real agents against the stand-in, in a box. `cargo xtask test --only agents` installs them first.

use ao_testkit::agents;

#[test]
fn claude_code_runs_a_turn() {
    runs_a_turn("claude-code");
}

#[test]
fn codex_runs_a_turn() {
    runs_a_turn("codex");
}

#[test]
fn opencode_runs_a_turn() {
    runs_a_turn("opencode");
}

#[test]
fn gemini_runs_a_turn() {
    runs_a_turn("gemini");
}

#[test]
fn qwen_runs_a_turn() {
    runs_a_turn("qwen");
}

fn runs_a_turn(name: &str) {
    if let Err(difference) = agents::smoke(agents::required(name)) {
        panic!("{difference}");
    }
}
