//! The tags by which prompts mark a speaker. In a quotation they are plain text, and are changed to look like it.

/// Names of such tags, without `-`, `_` and `:`. A name that ends in `*` matches as a prefix.
const NAMES: &[&str] = &[
    "admin",
    "agent",
    "ao",
    "aosays",
    "assistant",
    "antml*",
    "begin*ofsentence",
    "bos",
    "claude",
    "command*",
    "developer",
    "endoftext",
    "endofturn",
    "eos",
    "function",
    "functioncall*",
    "functionresult*",
    "functions",
    "human",
    "hook*",
    "imend",
    "important",
    "imstart",
    "inst",
    "instruction*",
    "invoke",
    "localcommand*",
    "message",
    "orchestrator",
    "override",
    "parameter",
    "policy",
    "prompt",
    "root",
    "s",
    "startofturn",
    "sys",
    "system",
    "systeminstruction*",
    "systemmessage",
    "systemnote",
    "systemprompt",
    "systemreminder",
    "think",
    "thinking",
    "tool",
    "toolcall*",
    "toolresponse",
    "toolresult*",
    "tooluse*",
    "user",
    "userinput",
    "usermessage",
    "userprompt*",
];
/// The distance in which the other end of a tag is searched.
const MARK_MOST: usize = 400;

/// Replaces the brackets of such tags: `<system-reminder>` becomes `‹system-reminder›`, and so do `<|…|>` and
/// `[INST]`.
pub(super) fn neutralised(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // The other end of an open tag, counted from the end of the text.
    let mut closes: Option<(usize, char)> = None;
    while let Some(c) = rest.chars().next() {
        let behind = &rest[c.len_utf8()..];
        match c {
            '<' if behind.starts_with('|') || is_mark(behind) => {
                out.push('‹');
                closes = end_of(behind, '>').map(|at| (behind.len() - at, '›'));
            }
            '[' if is_inst(behind) => {
                out.push('‹');
                closes = end_of(behind, ']').map(|at| (behind.len() - at, '›'));
            }
            // `<<SYS>>` has two of each.
            '<' if behind.starts_with('<') && is_mark(&behind[1..]) => out.push('‹'),
            _ => match closes {
                Some((at, with)) if at == rest.len() => {
                    out.push(with);
                    closes = behind.starts_with('>').then_some((behind.len(), '›'));
                }
                _ => out.push(c),
            },
        }
        rest = behind;
    }
    out
}

fn end_of(text: &str, close: char) -> Option<usize> {
    let near = &text[..text.floor_char_boundary(MARK_MOST)];
    let end = near.find([close, '\n', '<'])?;
    near[end..].starts_with(close).then_some(end)
}

fn is_mark(behind: &str) -> bool {
    let name = behind.trim_start_matches([' ', '\t', '/']);
    // No more than the longest name, so that a long token costs nothing.
    let name: String = name
        .chars()
        .take(48)
        .take_while(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '▁'))
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    let Some(first) = name.bytes().next() else { return false };
    NAMES.iter().filter(|known| known.as_bytes()[0] == first).any(|known| match known.split_once('*') {
        Some((begin, end)) => name.starts_with(begin) && name.ends_with(end),
        None => name == *known,
    })
}

fn is_inst(behind: &str) -> bool {
    let word: String = behind.trim_start_matches([' ', '/']).chars().take(5).collect();
    word.eq_ignore_ascii_case("inst]") || word.to_ascii_lowercase().starts_with("inst ")
}
