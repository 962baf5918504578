//! The description of the API, as it is checked in.

use std::fs;
use std::path::Path;

#[test]
fn the_description_that_is_checked_in_is_the_one_of_this_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (path, made) in ao_server::generated() {
        let kept = fs::read_to_string(root.join(path)).unwrap_or_default();
        assert!(
            kept == made,
            "{path} is not what the code says; run `cargo xtask generate` and look at the change"
        );
    }
}
