//! What is shown, and what is compared with a screen.

/// The beginning of a text, of at most so many characters, and a mark if there was more.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// The letters and digits of a text: what is left of it on any screen, however it was wrapped, indented and drawn. A text
/// without any is taken without its white space.
pub(crate) fn letters(text: &str) -> String {
    let letters: String = text.chars().filter(|c| c.is_alphanumeric()).collect();
    if letters.is_empty() { text.split_whitespace().collect() } else { letters }
}
