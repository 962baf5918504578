//! Replaces what differs between two recordings of one version: paths, ids and times. Cuts long texts.

use std::collections::HashMap;

use crate::agents::agent_box::AgentBox;

/// A text in a message that is longer is cut.
const TEXT_MOST: usize = 4096;

/// The part of a cut text that is kept.
const TEXT_KEPT: usize = 256;

/// Starts of ids that agents and APIs make up.
const ID_STARTS: &[&str] =
    &["msg_", "toolu_", "call_", "resp_", "fc_", "chatcmpl-", "ses_", "prt_", "per_", "req_", "que_", "fc"];

pub(super) fn normal(text: &str, agent_box: &AgentBox) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let folder = agent_box.path("").display().to_string();
    let text = text
        .replace(&format!("{folder}agents/"), "/agents/")
        .replace(&folder, "/box/")
        // The same, as Claude Code writes it in names of folders.
        .replace(&folder.replace(['/', '.'], "-"), "-box-")
        .replace(agent_box.url(), "http://127.0.0.1:1")
        .replace(&format!("\"serverName\":\"{}\"", host.trim()), "\"serverName\":\"host\"");
    let mut ids = KnownIds::default();
    // The name of a socket of Claude Code is the number of its process.
    let text = text.split("/cc-socks/").enumerate().map(|(at, part)| match part.split_once(".sock") {
        Some((_, rest)) if at > 0 => format!("/cc-socks/1.sock{rest}"),
        _ => part.to_owned(),
    });
    text.collect::<String>().lines().map(|line| format!("{}\n", cut(&ids.replaced(line)))).collect()
}

/// Ids in the order in which they were met.
#[derive(Debug, Default)]
struct KnownIds {
    numbers: HashMap<String, usize>,
}

impl KnownIds {
    /// Replaces ids and times, each word on its own.
    fn replaced(&mut self, line: &str) -> String {
        let mut out = String::with_capacity(line.len());
        let mut rest = line;
        while let Some(start) = rest.find(is_word) {
            out.push_str(&rest[..start]);
            rest = &rest[start..];
            if let Some(length) = moment(rest) {
                out.push_str("2026-01-01T00:00:00.000Z");
                rest = &rest[length..];
                continue;
            }
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let word = &rest[..end];
            // The first is what follows a backslash, such as the `n` of a line break.
            let escaped = usize::from(out.ends_with('\\'));
            out.push_str(&word[..escaped]);
            out.push_str(&self.word(&word[escaped..]));
            rest = &rest[end..];
        }
        out + rest
    }

    fn word(&mut self, word: &str) -> String {
        let digits = word.bytes().all(|byte| byte.is_ascii_digit());
        if digits && (word.len() == 10 || word.len() == 13) && word.starts_with('1') {
            return "1800000000000"[..word.len()].to_owned();
        }
        if is_uuid(word) {
            // Those of the client stay as they are.
            let ours = word.starts_with("aaaaaaaa-");
            return if ours {
                word.to_owned()
            } else {
                format!("00000000-0000-4000-8000-{:012}", self.number(word))
            };
        }
        let start = ID_STARTS.iter().find(|start| word.starts_with(**start));
        match start {
            Some(start)
                if word.len() >= start.len() + 12 && word.bytes().any(|byte| byte.is_ascii_digit()) =>
            {
                format!("{start}{:04}", self.number(word))
            }
            _ => word.to_owned(),
        }
    }

    fn number(&mut self, word: &str) -> usize {
        let next = self.numbers.len() + 1;
        *self.numbers.entry(word.to_owned()).or_insert(next)
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

fn is_uuid(word: &str) -> bool {
    let shape = |(at, byte): (usize, u8)| {
        if [8, 13, 18, 23].contains(&at) { byte == b'-' } else { byte.is_ascii_hexdigit() }
    };
    word.len() == 36 && word.bytes().enumerate().all(shape)
}

/// Returns the length of a time such as `2026-11-18T02:12:16.123Z` at the start of a text.
fn moment(text: &str) -> Option<usize> {
    let head = text.as_bytes().get(..19)?;
    let shape =
        |(byte, sample): (&u8, u8)| if sample == b'0' { byte.is_ascii_digit() } else { *byte == sample };
    if !head.iter().zip(*b"0000-00-00T00:00:00").all(shape) {
        return None;
    }
    let rest = &text[19..];
    let fraction = rest.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(rest.len());
    Some(19 + fraction + usize::from(rest[fraction..].starts_with('Z')))
}

/// Cuts each JSON string that is too long, and notes the number of bytes that are missing.
fn cut(line: &str) -> String {
    let mut out = String::with_capacity(line.len().min(TEXT_MOST * 4));
    let mut rest = line;
    while let Some(start) = rest.find('"') {
        let body = &rest[start + 1..];
        let Some(length) = string_length(body) else { break };
        out.push_str(&rest[..=start]);
        if length > TEXT_MOST {
            let mut kept = TEXT_KEPT;
            while !body.is_char_boundary(kept) || body[..kept].ends_with('\\') {
                kept -= 1;
            }
            out.push_str(&body[..kept]);
            out.push_str(&format!("{{{{{} bytes}}}}", length - kept));
        } else {
            out.push_str(&body[..length]);
        }
        out.push('"');
        rest = &body[length + 1..];
    }
    out + rest
}

/// Returns the length of a JSON string up to its closing quote.
fn string_length(body: &str) -> Option<usize> {
    let mut escaped = false;
    body.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_numbered_as_they_come() {
        let mut ids = KnownIds::default();
        let line = r#"{"a":"6db1589e-5bac-4420-822e-7e9f0141dd45","b":"toolu_f5c0dce8216a2ff0","c":"x\nses_e1391be9affe5Yvy"}"#;
        let expected = r#"{"a":"00000000-0000-4000-8000-000000000001","b":"toolu_0002","c":"x\nses_0003"}"#;
        assert_eq!(ids.replaced(line), expected);
        assert_eq!(ids.replaced(line), expected);
        assert_eq!(ids.replaced("call_me msg_delta uuid-x 12"), "call_me msg_delta uuid-x 12");
    }

    #[test]
    fn times_are_replaced() {
        let mut ids = KnownIds::default();
        assert_eq!(
            ids.replaced(r#"{"t":"2026-11-18T02:12:16.123Z","n":1794967997649,"s":1794967997,"k":12345}"#),
            r#"{"t":"2026-01-01T00:00:00.000Z","n":1800000000000,"s":1800000000,"k":12345}"#
        );
    }

    #[test]
    fn long_texts_are_cut_and_stay_json() {
        let long = "ab\\n".repeat(2000);
        let line = cut(&format!(r#"{{"a":"{long}","b":"x \" y"}}"#));
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert!(value["a"].as_str().unwrap().ends_with("{{7744 bytes}}"), "{line}");
        assert_eq!(value["b"], "x \" y");
    }
}
