//! The scripted agent as one that speaks the protocol of a maker, on its stdin and stdout.

use std::io::{self, Write};

use serde_json::json;

use super::home::AgentHome;
use crate::fakes::{CONVERSATION, FakeProtocol, ProtocolFake};

/// Speaks until its stdin ends. The turns that it takes are in the transcript of its only conversation.
pub(super) fn run(protocol: &str) -> Result<u8, String> {
    let protocol = match protocol {
        "claude" => FakeProtocol::Claude,
        "codex" => FakeProtocol::Codex,
        "acp" => FakeProtocol::Acp,
        other => return Err(format!("there is no protocol `{other}`")),
    };
    let home = AgentHome::new(std::env::var("SCRIPTED_HOME").map_err(|err| format!("SCRIPTED_HOME: {err}"))?);
    let mut fake = ProtocolFake::new(protocol);
    let mut noted = 0;
    for line in io::stdin().lines() {
        let said = fake.hear(&line.map_err(|err| err.to_string())?);
        for text in &fake.turns()[noted..] {
            let entry = json!({ "type": "user", "text": text });
            home.add(CONVERSATION, &entry).map_err(|err| err.to_string())?;
        }
        noted = fake.turns().len();
        let mut out = io::stdout().lock();
        for line in said {
            writeln!(out, "{line}").map_err(|err| err.to_string())?;
        }
        out.flush().map_err(|err| err.to_string())?;
    }
    Ok(0)
}
