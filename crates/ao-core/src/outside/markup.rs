//! Text that markup hides from people who see it rendered: comments, scripts, elements that are not shown.
//!
//! It works on the text alone and errs on one side: what might be hidden is removed, and a mark is left in its place.
//! Titles of links, definitions of references and `<details>` stay, as visible text. Entities are not decoded, so no
//! plain text turns into markup.

/// The replacement for removed text.
const LEFT_OUT: &str = "[hidden text left out]";
/// The largest size of one tag in bytes.
const TAG_MOST: usize = 4096;
/// A removal can form a new tag, so this repeats. Honest text never needs more rounds than this.
const TURNS: usize = 4;

/// Elements that a browser does not show.
const UNSEEN: &[&str] = &[
    "applet", "audio", "canvas", "datalist", "embed", "frameset", "head", "iframe", "math", "noembed",
    "noframes", "noscript", "object", "script", "style", "svg", "template", "textarea", "title", "video",
    "xmp",
];
/// Elements without an end tag.
const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];
/// Parts of a style, without blanks, that make an element invisible.
const HIDING: &[&str] = &[
    "display:none",
    "visibility:hidden",
    "visibility:collapse",
    "opacity:0",
    "opacity:.0",
    "font-size:0",
    "font:0",
    "width:0",
    "height:0",
    "clip:",
    "clip-path:",
    "scale(0",
    "text-indent:-",
    "left:-",
    "top:-",
    "right:-",
    "bottom:-",
    "color:transparent",
    "content-visibility:hidden",
    "mask",
    "filter:",
    "z-index:-",
];

pub(super) fn without_hidden(text: String) -> String {
    let mut text = text;
    for _ in 0..TURNS {
        let next = one_turn(&text);
        if next == text {
            return text;
        }
        text = next;
    }
    if one_turn(&text) == text { text } else { text.replace('<', "‹") }
}

fn one_turn(text: &str) -> String {
    let mut seen = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        seen.push_str(&rest[..at]);
        let here = &rest[at..];
        let (shown, behind) = match remark_end(here) {
            Some(end) => (LEFT_OUT, &here[end..]),
            None => match Tag::at(here) {
                None => ("<", &here[1..]),
                Some(tag) if tag.hides() => (LEFT_OUT, &here[tag.end_of_element(here)..]),
                Some(tag) => (&here[..tag.len], &here[tag.len..]),
            },
        };
        seen.push_str(shown);
        rest = behind;
    }
    seen.push_str(rest);
    seen
}

/// Returns the end of a comment, a declaration or a processing instruction that begins here. Without an end it hides
/// all that follows.
fn remark_end(here: &str) -> Option<usize> {
    let find = |from: usize, ends: &[&str]| {
        let found =
            ends.iter().filter_map(|end| here[from..].find(end).map(|at| from + at + end.len())).min();
        Some(found.unwrap_or(here.len()))
    };
    let behind = &here[1..];
    if let Some(inside) = behind.strip_prefix("!--") {
        // Empty comments end early.
        return match inside {
            empty if empty.starts_with('>') => Some(5),
            empty if empty.starts_with("->") => Some(6),
            _ => find(4, &["-->", "--!>"]),
        };
    }
    if behind.starts_with("![CDATA[") {
        return find(9, &["]]>"]);
    }
    let mut next = behind.chars();
    match (next.next(), next.next()) {
        (Some('?'), Some(_)) => find(2, &["?>"]),
        (Some('!'), Some(letter)) if letter.is_ascii_alphabetic() => find(2, &[">"]),
        _ => None,
    }
}

/// A tag that opens or closes an element.
struct Tag<'a> {
    name: String,
    attributes: &'a str,
    closes: bool,
    len: usize,
}

impl<'a> Tag<'a> {
    fn at(here: &'a str) -> Option<Tag<'a>> {
        let behind = here.strip_prefix('<')?;
        let (closes, behind) = behind.strip_prefix('/').map_or((false, behind), |behind| (true, behind));
        if !behind.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let name_end = behind.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(behind.len());
        // No real name is that long, and copying it repeatedly would be slow.
        if name_end > 64 {
            return None;
        }
        let mut quote = None;
        for (at, byte) in behind.bytes().enumerate().skip(name_end).take(TAG_MOST) {
            match (quote, byte) {
                (Some(open), byte) if byte == open => quote = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b'>') => {
                    return Some(Tag {
                        name: behind[..name_end].to_ascii_lowercase(),
                        attributes: &behind[name_end..at],
                        closes,
                        len: here.len() - behind.len() + at + 1,
                    });
                }
                (None, b'<') => return None,
                (None, _) => {}
            }
        }
        None
    }

    /// Returns whether the element that it opens is not shown.
    fn hides(&self) -> bool {
        if self.closes {
            return false;
        }
        if UNSEEN.contains(&self.name.as_str()) {
            return true;
        }
        let plain = self.attributes.to_ascii_lowercase();
        let plain: String =
            plain.chars().filter(|c| !c.is_whitespace() && !matches!(c, '"' | '\'')).collect();
        let word = |word: &str| {
            let attributes = self.attributes.to_ascii_lowercase();
            attributes.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').any(|found| found == word)
        };
        // Entities, escapes and comments in a style have no honest use here.
        let disguised = plain.contains("style=") && plain.contains(['&', '\\']) || plain.contains("style=/*");
        word("hidden")
            || disguised
            || (plain.contains("style=") && HIDING.iter().any(|hiding| plain.contains(hiding)))
            || plain.contains("width=0")
            || plain.contains("height=0")
    }

    /// Returns the end of the element that it opens, nested elements of the same name included. Without an end tag it
    /// extends to the last byte.
    fn end_of_element(&self, here: &str) -> usize {
        if VOID.contains(&self.name.as_str()) || self.attributes.ends_with('/') && self.name != "script" {
            return self.len;
        }
        let (mut at, mut depth) = (self.len, 1u32);
        while let Some(next) = here[at..].find('<') {
            at += next;
            let Some(tag) = Tag::at(&here[at..]) else {
                at += 1;
                continue;
            };
            at += tag.len;
            if tag.name == self.name {
                depth = if tag.closes { depth - 1 } else { depth + 1 };
                if depth == 0 {
                    return at;
                }
            }
        }
        here.len()
    }
}
