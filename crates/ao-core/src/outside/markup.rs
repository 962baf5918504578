//! What markup hides from people who see it rendered: comments, scripts, elements that are not shown.
//!
//! It works on the text alone and errs to one side: what might be hidden is taken out, and a mark is left in its place. What
//! stands in titles of links, in definitions of references and in `<details>` stays, as text for everybody to see. Entities
//! are not decoded, so nothing becomes markup that was none.

/// What stands where something was.
const LEFT_OUT: &str = "[hidden text left out]";
/// The most bytes of one tag.
const TAG_MOST: usize = 4096;
/// What is taken out can make a tag of what was none. More turns than this need nobody who wants to be read.
const TURNS: usize = 4;

/// Elements of which a browser shows nothing.
const UNSEEN: &[&str] = &[
    "applet", "audio", "canvas", "datalist", "embed", "frameset", "head", "iframe", "math", "noembed",
    "noframes", "noscript", "object", "script", "style", "svg", "template", "textarea", "title", "video",
    "xmp",
];
/// Elements without an end.
const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];
/// Words in a style, blanks taken out, by which something is there and cannot be seen.
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

/// Where a comment, a declaration or an instruction to some processor ends, if one begins here. Without an end it hides
/// all that follows.
fn remark_end(here: &str) -> Option<usize> {
    let find = |from: usize, ends: &[&str]| {
        let found =
            ends.iter().filter_map(|end| here[from..].find(end).map(|at| from + at + end.len())).min();
        Some(found.unwrap_or(here.len()))
    };
    let behind = &here[1..];
    if let Some(inside) = behind.strip_prefix("!--") {
        // Empty ones end where they have hardly begun.
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

/// A tag that opens an element or closes one.
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
        // A name that long is none, and copying it again and again would cost.
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

    /// Whether what it opens is not shown.
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
        // Entities, escapes and remarks in a style have no honest use here.
        let disguised = plain.contains("style=") && plain.contains(['&', '\\']) || plain.contains("style=/*");
        word("hidden")
            || disguised
            || (plain.contains("style=") && HIDING.iter().any(|hiding| plain.contains(hiding)))
            || plain.contains("width=0")
            || plain.contains("height=0")
    }

    /// Where the element ends that it opens, others of its name inside it included. Without an end it goes on to the last
    /// byte.
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
