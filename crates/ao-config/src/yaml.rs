//! Formats values as readable YAML.

use serde::Serialize;

/// Returns the whole document, with a newline at its end.
pub(crate) fn write(value: &impl Serialize) -> String {
    let options = serde_saphyr::ser_options! { indent_step: 2, compact_list_indent: false, prefer_block_scalars: false };
    let mut text = String::new();
    serde_saphyr::to_fmt_writer_with_options(&mut text, value, options)
        .expect("a tree of plain values can be written");
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}
