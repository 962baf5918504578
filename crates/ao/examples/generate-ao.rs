//! Prints the files that are made from this crate, as one JSON object of path and text, for `cargo xtask generate`.

use std::collections::BTreeMap;
use std::io::{self, Write};

fn main() -> io::Result<()> {
    let files: BTreeMap<&str, String> = ao::cli::reference::generated().into_iter().collect();
    serde_json::to_writer(io::stdout().lock(), &files)?;
    io::stdout().flush()
}
