//! Names inside of URLs.

/// Encodes a name as one segment of a path, or as one value of a query.
pub fn segment(name: &str) -> String {
    let mut segment = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'~' => segment.push(byte as char),
            // A lone dot would mean the current folder.
            b'.' if !name.trim_matches('.').is_empty() => segment.push('.'),
            _ => segment.push_str(&format!("%{byte:02X}")),
        }
    }
    segment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_user_types_stays_one_segment() {
        assert_eq!(segment("v1.2"), "v1.2");
        assert_eq!(segment(".."), "%2E%2E");
        assert_eq!(segment("a/b?c#d e"), "a%2Fb%3Fc%23d%20e");
        assert_eq!(segment("a&after=0"), "a%26after%3D0");
        assert_eq!(segment("grün"), "gr%C3%BCn");
    }
}
