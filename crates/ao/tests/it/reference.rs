//! The reference of the commands is what the commands say of themselves.

use std::path::Path;

#[test]
fn what_is_checked_in_is_what_the_code_makes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (path, text) in ao::cli::reference::generated() {
        let found = std::fs::read_to_string(root.join(path)).unwrap_or_default();
        assert!(found == text, "{path} is not what the code makes: run `cargo xtask generate`");
    }
}

/// Every message that the page explains is one that the program can say.
#[test]
fn the_messages_of_the_troubleshooting_page_are_in_the_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/troubleshooting.md")).unwrap();
    let mut code = String::new();
    for folder in root.join("crates").read_dir().unwrap() {
        read_all(&folder.unwrap().path().join("src"), &mut code);
    }
    let headings: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`')).collect();
    assert!(headings.len() > 20, "{headings:?}");
    for heading in headings {
        let message = heading.trim_matches('`').trim();
        let mut pieces =
            message.split('…').filter(|piece| !piece.trim_matches([' ', '`', '(', ')', ':']).is_empty());
        let missing = pieces.find(|piece| !code.contains(piece));
        assert_eq!(missing, None, "the code does not say: {message}");
    }
}

/// The sources as one text, with texts that go over several lines put together.
fn read_all(folder: &Path, code: &mut String) {
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            read_all(&path, code);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            code.extend(
                text.split("\\\n")
                    .enumerate()
                    .map(|(at, part)| if at == 0 { part } else { part.trim_start() }),
            );
        }
    }
}
