//! Broken links between our own documents.

use super::TidyFinding;
use super::rust_text::numbered;
use super::sources::SourceTree;

pub(super) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for (path, text) in tree.markdown() {
        for (line, target) in links(text) {
            if !resolve(path, &target).is_some_and(|file| tree.has(&file)) {
                findings.push(TidyFinding::new(
                    format!("{path}:{line}"),
                    format!("links to `{target}`, which does not exist"),
                    "correct the link, or remove it",
                ));
            }
        }
    }
    findings
}

/// Returns all links to files, with their line, except those in code.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    let mut in_code = false;
    for (line, text) in numbered(text) {
        if text.trim_start().starts_with("```") || text.trim_start().starts_with("~~~") {
            in_code = !in_code;
            continue;
        }
        if in_code {
            continue;
        }
        // Every second part is between backticks.
        let prose: String = text.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let inline = prose.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
        let reference = prose
            .trim_start()
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("]: "))
            .map(|(_, to)| to.trim());
        links.extend(inline.chain(reference).filter_map(file_part).map(|target| (line, target)));
    }
    links
}

/// Returns the file of a link, or `None` for the web and for anchors on the same page.
fn file_part(target: &str) -> Option<String> {
    let target = target.trim_matches(['<', '>']);
    let file = target.split('#').next().unwrap_or_default();
    let elsewhere = target.contains("://") || target.starts_with("mailto:");
    (!elsewhere && !file.is_empty()).then(|| file.to_owned())
}

/// Returns the path from the root of the repository, or `None` if it leads out of it.
fn resolve(from: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    if !target.starts_with('/') {
        parts.extend(from.split('/'));
        parts.pop();
    }
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let tree =
            SourceTree::of(&[("docs/design/001-log.md", text), ("docs/errors/a.md", ""), ("README.md", "")]);
        check(&tree).into_iter().map(|finding| format!("{} {}", finding.place, finding.what)).collect()
    }

    #[test]
    fn a_link_to_nowhere_is_found() {
        let nowhere = "links to `b.md`, which does not exist";
        assert_eq!(
            found("\nsee [b](b.md) and [c](../errors/a.md)"),
            [format!("docs/design/001-log.md:2 {nowhere}")]
        );
        assert_eq!(found("[b]: b.md"), [format!("docs/design/001-log.md:1 {nowhere}")]);
        assert_eq!(found("[b](b.md#part) ![i](<b.md> \"title\")").len(), 2);
        assert_eq!(found("[out](../../../x.md)").len(), 1);
    }

    #[test]
    fn good_links_and_other_places_are_fine() {
        assert_eq!(
            found("[a](../errors/a.md#x) [r](/README.md) [d](../errors/) [w](https://x.org/b.md) [h](#here)"),
            [""; 0]
        );
    }

    #[test]
    fn code_is_not_a_link() {
        assert_eq!(found("`[b](b.md)`\n```\n[b](b.md)\n```\n"), [""; 0]);
    }
}
