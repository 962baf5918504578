//! Text helpers for display, and for comparison with a screen.

/// Returns the first `most` characters of a text, with an ellipsis if there was more.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Returns the letters and digits of a text: what remains of it on any screen, however it was wrapped, indented and
/// drawn. A text without any is returned without its white space.
pub(crate) fn letters(text: &str) -> String {
    let letters: String = text.chars().filter(|c| c.is_alphanumeric()).collect();
    if letters.is_empty() { text.split_whitespace().collect() } else { letters }
}
