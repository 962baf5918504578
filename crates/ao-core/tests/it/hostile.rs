//! Texts that were written to get the better of an agent, each in a file of `tests/corpus` with what has to come of it.
//!
//! Above the line `---` stands what must be `present` and `absent` afterwards. Below it is the text, in which `\e`, `\xNN`,
//! `\u{…}`, `\0`, `\r`, `\n` and `\\` stand for what cannot be seen in a file.

use std::fs;
use std::path::Path;

use ao_core::outside::{self, NOTE, QuotedKind, TextSource};
use ao_core::pull::{AuthorFacts, AuthorStanding};

const LIMIT: usize = 8 * 1024;

/// acceptance: X4
#[test]
fn no_hostile_text_reaches_an_agent_but_bounded_stripped_and_fenced() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut cases = 0;
    for entry in fs::read_dir(corpus).unwrap() {
        let path = entry.unwrap().path();
        let (rules, text) = read(&path);
        let name = path.file_stem().unwrap().to_string_lossy();
        let author = AuthorFacts { login: "bob[bot]".into(), standing: AuthorStanding::Member };
        let source = TextSource {
            kind: QuotedKind::Comment,
            author: Some(&author),
            place: "a.rs:1",
            url: "https://forge/1",
        };
        let quoted = outside::quoted(source, &text, LIMIT);
        let (heading, body) = quoted.split_once('\n').unwrap();
        assert_eq!(heading, format!("a.rs:1, bob[bot] (member), https://forge/1 {NOTE}"), "{name}");
        assert!(body.lines().all(|line| line.starts_with("> ")), "{name}: {body}");
        assert!(body.len() <= 3 * (LIMIT + 48) + 3, "{name}: {} bytes", body.len());
        let unseen = |c: char| {
            (c.is_control() && c != '\n' && c != '\t')
                || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
                || matches!(c, '\u{feff}' | '\u{e0000}'..='\u{e0fff}' | '\u{2028}' | '\u{2029}')
        };
        assert!(!body.contains(unseen), "{name}: {body:?}");
        let clean = outside::stripped(QuotedKind::Comment, &text);
        assert_eq!(outside::stripped(QuotedKind::Comment, &clean), clean, "{name}");
        for (rule, words) in rules {
            match rule.as_str() {
                "present" => assert!(body.contains(&words), "{name}: `{words}` is not in {body}"),
                "absent" => assert!(!body.contains(&words), "{name}: `{words}` is in {body}"),
                other => panic!("{name}: `{other}` is no rule"),
            }
        }
        cases += 1;
    }
    assert!(cases >= 40, "{cases} cases");
}

fn read(path: &Path) -> (Vec<(String, String)>, String) {
    let file = fs::read_to_string(path).unwrap();
    let (above, below) = file.split_once("---\n").expect("there is a line between rules and text");
    let rules = above.lines().map(|line| line.split_once(": ").expect("a rule has two parts"));
    let mut rules: Vec<(String, String)> = rules.map(|(rule, words)| (rule.into(), words.into())).collect();
    let repeat = rules.iter().position(|(rule, _)| rule == "repeat").map(|at| rules.remove(at).1);
    let text = String::from_utf8_lossy(&decoded(below.strip_suffix('\n').unwrap_or(below))).into_owned();
    match repeat {
        Some(size) => (rules, text.repeat(size.parse::<usize>().unwrap() / text.len())),
        None => (rules, text),
    }
}

fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('\\') {
        bytes.extend_from_slice(before.as_bytes());
        let kind = behind.chars().next().expect("something follows");
        rest = &behind[1..];
        match kind {
            'e' => bytes.push(0x1b),
            '0' => bytes.push(0),
            'r' => bytes.push(b'\r'),
            'n' => bytes.push(b'\n'),
            '\\' => bytes.push(b'\\'),
            'x' => {
                bytes.push(u8::from_str_radix(&rest[..2], 16).unwrap());
                rest = &rest[2..];
            }
            'u' => {
                let (code, behind) = rest[1..].split_once('}').unwrap();
                let c = char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap();
                bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                rest = behind;
            }
            other => panic!("`\\{other}` stands for nothing"),
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}
