//! The dashboard: a few files that are part of the program, and a client of the API like any other.
//!
//! The files contain no data, so they need no sign-in; the calls they make do. Nothing is loaded from elsewhere, and no
//! script runs that is not in one of these files: their content security policy makes browsers enforce that.

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::body::Body;
use axum::extract::MatchedPath;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH,
};
use axum::http::{Response, StatusCode};
use axum::routing::get;
use sha2::{Digest, Sha256};

use crate::app::App;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// A file with the path that it is served under.
struct File {
    path: &'static str,
    kind: &'static str,
    text: &'static str,
    /// The `ETag`, which depends on the text.
    tag: LazyLock<String>,
}

macro_rules! file {
    ($path:literal, $kind:expr, $name:literal) => {
        File {
            path: $path,
            kind: $kind,
            text: include_str!($name),
            tag: LazyLock::new(|| tag(include_str!($name))),
        }
    };
}

static FILES: [File; 12] = [
    file!("/", HTML, "index.html"),
    file!("/style.css", CSS, "style.css"),
    file!("/app.js", SCRIPT, "app.js"),
    file!("/api.js", SCRIPT, "api.js"),
    file!("/dom.js", SCRIPT, "dom.js"),
    file!("/fleet.js", SCRIPT, "fleet.js"),
    file!("/live.js", SCRIPT, "live.js"),
    file!("/output.js", SCRIPT, "output.js"),
    file!("/session.js", SCRIPT, "session.js"),
    file!("/talk.js", SCRIPT, "talk.js"),
    file!("/wish.js", SCRIPT, "wish.js"),
    file!("/words.js", SCRIPT, "words.js"),
];

/// Returns the routes of the dashboard. They are not part of the API, and so not of its description.
pub(crate) fn routes() -> Router<Arc<App>> {
    FILES.iter().fold(Router::new(), |router, file| router.route(file.path, get(serve)))
}

/// Returns `true` if a path belongs to the dashboard.
pub(crate) fn has(path: &str) -> bool {
    find(path).is_some()
}

async fn serve(path: MatchedPath, headers: HeaderMap) -> Response<Body> {
    let file = find(path.as_str()).expect("only paths of files lead here");
    let known = headers.get_all(IF_NONE_MATCH).iter().any(|tags| names(tags, &file.tag));
    let mut response = Response::new(if known { Body::empty() } else { Body::from(file.text) });
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(file.kind));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    // Cached, but validated each time: another daemon may have another version.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(ETAG, HeaderValue::try_from(file.tag.as_str()).expect("hexadecimal digits in quotes"));
    response
}

fn find(path: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.path == path)
}

/// Returns `true` if an `If-None-Match` names this tag.
fn names(tags: &HeaderValue, tag: &str) -> bool {
    let tags = tags.to_str().unwrap_or_default();
    tags.split(',')
        .map(str::trim)
        .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

fn tag(text: &str) -> String {
    let digest = Sha256::digest(text);
    let digits: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("\"{digits}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_that_a_script_imports_is_served() {
        for file in &FILES {
            for (at, _) in file.text.match_indices(" from './") {
                let name = &file.text[at + " from './".len()..];
                let name = &name[..name.find('\'').unwrap()];
                assert!(has(&format!("/{name}")), "{} imports {name}", file.path);
            }
        }
    }

    /// acceptance: X6
    #[test]
    fn what_the_server_says_never_becomes_markup_or_script() {
        for file in FILES.iter().filter(|file| file.kind == SCRIPT) {
            for way in
                ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("]
            {
                assert!(!file.text.contains(way), "{} uses {way}", file.path);
            }
        }
    }

    #[test]
    fn a_tag_is_found_among_others() {
        let names = |tags| names(&HeaderValue::from_static(tags), "\"a1\"");
        assert!(names("\"a1\"") && names("W/\"a1\"") && names("\"b2\", \"a1\"") && names("*"));
        assert!(!names("\"b2\"") && !names("a1") && !names(""));
    }
}
