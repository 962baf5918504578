//! Writes the description of the API to where it is checked in. `cargo xtask generate` does the same for everything.

fn main() -> std::io::Result<()> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (path, made) in ao_server::generated() {
        std::fs::write(root.join(path), made)?;
    }
    Ok(())
}
