//! The reference of the commands is what the commands say of themselves.

use std::path::Path;

#[test]
fn what_is_checked_in_is_what_the_code_makes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (path, text) in ao::reference::generated() {
        let found = std::fs::read_to_string(root.join(path)).unwrap_or_default();
        assert!(found == text, "{path} is not what the code makes: run `cargo xtask generate`");
    }
}
