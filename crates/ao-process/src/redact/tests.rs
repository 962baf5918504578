use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

use proptest::prelude::*;

use super::*;

fn redactor() -> Redactor {
    let secrets: [(&str, &[u8]); 4] = [
        ("KEY", b"abcabcabd"),
        ("LONG", b"abcabcabdXYZ"),
        ("PEM", b"line one\nline two"),
        ("SHORT", b"abc1234"),
    ];
    Redactor::new(secrets.into_iter())
}

fn shown(pieces: &[&[u8]]) -> String {
    let mut redactor = redactor();
    let mut shown: Vec<u8> = pieces.iter().flat_map(|piece| redactor.push(piece)).collect();
    shown.extend(redactor.finish());
    String::from_utf8(shown).expect("only text went in")
}

#[test]
fn a_value_is_replaced_by_its_name() {
    assert_eq!(shown(&[b"key=abcabcabd\n"]), "key=[secret KEY]\n");
    assert_eq!(shown(&[b"abcabcabcabd"]), "abc[secret KEY]", "a start that fails is not a secret");
    assert_eq!(shown(&[b"abcabcabdXYZ!"]), "[secret LONG]!", "the longer of two");
    assert_eq!(shown(&[b"<line one\nline two>"]), "<[secret PEM]>");
    assert_eq!(shown(&[b"<line one\r\nline two>"]), "<[secret PEM]>", "as a terminal has it");
    assert_eq!(shown(&[b"abc1234"]), "abc1234", "too short to be told from other words");
}

#[test]
fn it_does_not_matter_where_the_stream_is_cut() {
    let text = b"a abcabcabdXY abcabcabdXYZ line one\nline two abcabcab";
    let whole = shown(&[text]);
    assert_eq!(whole, "a [secret KEY]XY [secret LONG] [secret PEM] abcabcab");
    for first in 0..text.len() {
        for second in first..text.len() {
            assert_eq!(shown(&[&text[..first], &text[first..second], &text[second..]]), whole);
        }
    }
}

#[test]
fn only_a_possible_secret_is_held_back() {
    let mut redactor = redactor();
    assert_eq!(redactor.push(b"done? ab"), b"done? ");
    assert_eq!(redactor.push(b"!"), b"ab!");
    assert!(!format!("{redactor:?}").contains("abcabcabd"));
}

/// A reader who waits sees the last letter of a prompt, but never more than the first few of a secret.
#[test]
fn a_waiting_reader_sees_the_first_held_back_bytes() {
    let mut redactor = redactor();
    assert_eq!(redactor.push(b"a> ab"), b"a> ");
    assert!(redactor.can_ease());
    assert_eq!((redactor.ease(), redactor.can_ease(), redactor.ease()), (b"ab".to_vec(), false, vec![]));
    assert_eq!(redactor.push(b"cabcab"), b"");
    assert_eq!(redactor.ease(), b"ca");
    assert_eq!(redactor.push(b"d"), b"", "it may be the longer one");
    assert_eq!(redactor.push(b"."), b"[secret KEY].");
    assert_eq!(redactor.push(b"abc"), b"");
    assert_eq!(redactor.ease(), b"abc");
    assert_eq!(redactor.push(b"d."), b"d.", "nothing is shown twice");
    assert_eq!(redactor.push(b"abca"), b"");
    assert_eq!(redactor.ease(), b"abca");
    assert_eq!(redactor.push(b"bcabcabd."), b"[secret KEY].", "it began later");
    redactor.push(b"abc");
    redactor.ease();
    assert_eq!(redactor.finish(), b"");
}

#[test]
fn it_is_found_in_base64_and_in_addresses() {
    let value = b"p?ss w/rd+\xc3\xbc~~{}";
    let secrets = Secrets::new([("DB", value.as_slice())].into_iter());
    for before in 0..5 {
        for behind in 0..4 {
            let mut text = vec![b'u'; before];
            text.extend_from_slice(value);
            text.extend(vec![b':'; behind]);
            for encoded in [STANDARD.encode(&text), URL_SAFE.encode(&text)] {
                let masked = secrets.mask(&format!("Basic {encoded}."));
                assert!(masked.contains("[secret DB]") && masked.len() < 40, "{masked}");
            }
        }
    }
    let masked =
        secrets.mask("https://x/?p=p%3Fss%20w%2Frd%2B%C3%BC~~%7B%7D&q=p%3fss%20w%2frd%2b%c3%bc~~%7b%7d");
    assert_eq!(masked, "https://x/?p=[secret DB]&q=[secret DB]");
    assert_eq!(secrets.mask("nothing here"), "nothing here");
    let mut text = String::from_utf8(value.to_vec()).unwrap();
    assert!(secrets.mask_in(&mut text) && text == "[secret DB]" && !secrets.mask_in(&mut text));
}

#[test]
fn without_secrets_nothing_changes() {
    let mut redactor = Redactor::new([("NO", b"short".as_slice())].into_iter());
    assert!(redactor.is_empty() && redactor.push(b"short") == b"short" && redactor.finish() == b"");
    assert_eq!(Secrets::default().whole_part(b"short"), 5);
}

/// Invisible codes that may stand between two letters.
const CODES: [&str; 18] = [
    "\u{1b}[31m",
    "\u{1b}[0m",
    "\u{1b}[38;2;1;2;3m",
    "\u{1b}]0;a title\u{7}",
    "\u{1b}]8;;https://example.org\u{1b}\\",
    "\u{1b}(B",
    "\u{1b}=",
    "\u{9b}1m",
    "\u{1b}[2;5H",
    "\r",
    "\r\n",
    "\n    ",
    "\u{8}",
    "\u{7}",
    "\u{0}",
    "\u{200b}",
    "\u{feff}",
    "\u{ad}",
];
const TOKEN: &str = "ghp_16C7e42F/tok+en";

/// Returns the visible part of a text.
fn stripped(text: &[u8]) -> String {
    String::from_utf8_lossy(&view::joined(text).bytes).into_owned()
}

proptest! {
    /// acceptance: X5
    #[test]
    fn a_secret_is_found_whatever_stands_between_its_letters(
        codes in proptest::collection::vec((0..TOKEN.len(), 0..CODES.len()), 0..6),
        cuts in proptest::collection::vec(0..400usize, 0..8),
        before in "[ -~]{0,20}",
        behind in "[ -~]{0,20}",
    ) {
        let mut text = before.into_bytes();
        for (at, byte) in TOKEN.bytes().enumerate() {
            for (_, code) in codes.iter().filter(|(before, _)| *before == at && at > 0) {
                text.extend_from_slice(CODES[*code].as_bytes());
            }
            text.push(byte);
        }
        text.extend_from_slice(behind.as_bytes());
        let mut redactor = Redactor::new([("TOKEN", TOKEN.as_bytes())].into_iter());
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % (text.len() + 1)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let mut shown = vec![];
        for cut in cuts.windows(2) {
            shown.extend(redactor.push(&text[cut[0]..cut[1]]));
        }
        shown.extend(redactor.finish());
        prop_assert!(!stripped(&shown).contains(TOKEN), "{:?}", String::from_utf8_lossy(&shown));
        prop_assert!(String::from_utf8_lossy(&shown).contains("[secret TOKEN]"));
        let masked = Secrets::new([("TOKEN", TOKEN.as_bytes())].into_iter()).mask(&String::from_utf8_lossy(&text));
        prop_assert_eq!(masked.as_bytes(), &shown[..], "a stream and a text are cleaned alike");
    }

    #[test]
    fn a_text_without_secrets_stays_as_it_is(
        text in "(\\PC|[\\x00-\\x1f\\x7f-\u{9f}\\[\\]~;0-9]|ghp_|tok){0,200}",
        cuts in proptest::collection::vec(0..400usize, 0..8),
    ) {
        let mut redactor = Redactor::new([("TOKEN", TOKEN.as_bytes())].into_iter());
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % (text.len() + 1)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|cut| &text.as_bytes()[cut[0]..cut[1]]);
        let mut shown: Vec<u8> = pieces.flat_map(|piece| redactor.push(piece)).collect();
        shown.extend(redactor.finish());
        prop_assert_eq!(shown, text.as_bytes());
    }
}

#[test]
fn a_secret_that_is_drawn_over_something_else_is_found() {
    let secrets = Secrets::new([("KEY", b"abcdefgh".as_slice())].into_iter());
    assert_eq!(secrets.mask("> abX\u{8}cdefgh."), "> [secret KEY].");
    assert_eq!(secrets.mask("XXXXefgh\rabcd\n"), "XXXX[secret KEY]\n");
    assert_eq!(
        secrets.mask("a\u{8}ab\u{8}bc\u{8}cd\u{8}defgh"),
        "a\u{8}[secret KEY]",
        "as `man` has bold letters"
    );
}

/// acceptance: X5
#[test]
fn codes_without_end_are_not_held_back_for_ever() {
    let mut redactor = redactor();
    redactor.push(b"abcabc");
    let shown: usize = (0..10_000).map(|_| redactor.push(b"\x1b[31m").len()).sum();
    assert!(shown > 40_000, "{shown}");
}

#[test]
fn secrets_learnt_later_are_masked_from_then_on() {
    let mut redactor = Redactor::of_known();
    assert_eq!(redactor.push(b"learnt-in-a-test-1 "), b"learnt-in-a-test-1 ");
    known::learn([("LATE".to_owned(), b"learnt-in-a-test-1".to_vec())]);
    assert_eq!(redactor.push(b"learnt-in-a-test-1 "), b"[secret LATE] ");
    assert!(known::all().contains(&("LATE".to_owned(), b"learnt-in-a-test-1".to_vec())));
}

#[test]
fn tokens_of_agents_are_forgotten_when_there_are_many() {
    let token = |nth: usize| format!("token-of-an-agent-{nth:04}");
    (0..200).for_each(|nth| known::learn_token("AGENT", token(nth).as_bytes()));
    assert_eq!(known::known().mask(&token(199)), "[secret AGENT]");
    assert_eq!(known::known().mask(&token(0)), token(0));
    assert!(known::all().iter().all(|(name, _)| name != "AGENT"));
}
