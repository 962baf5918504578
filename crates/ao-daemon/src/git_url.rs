//! URLs of git repositories: recognised, compared, and kept free of secrets.

use std::fmt;
use std::path::Path;

/// The URL of a repository. Never holds a password or token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitUrl {
    text: String,
    /// In lower case; absent for a repository on this machine.
    host: Option<String>,
    /// The path on the host, without `.git` and surrounding slashes.
    path: String,
}

/// The URL contains a secret. It is not repeated here, because errors are shown and logged.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("this URL contains a password or token")]
pub struct HasSecret;

/// Prefixes that only git URLs have; anything else may be a path.
const SCHEMES: [&str; 6] = ["https://", "http://", "ssh://", "git://", "git+ssh://", "file://"];

/// Prefixes of forges' tokens.
const TOKENS: [&str; 9] =
    ["ghp_", "gho_", "ghu_", "ghs_", "github_pat_", "glpat-", "gloas-", "x-access-token", "oauth2"];

impl GitUrl {
    /// Parses a URL: `https://…`, `ssh://…`, `file://…`, or `git@host:owner/name`. Absent if it is none.
    pub fn parse(text: &str) -> Result<Option<GitUrl>, HasSecret> {
        if let Some((scheme, rest)) =
            SCHEMES.iter().find_map(|scheme| Some((*scheme, text.strip_prefix(scheme)?)))
        {
            let (place, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let (user, host) =
                place.rsplit_once('@').map_or((None, place), |(user, host)| (Some(user), host));
            if user.is_some_and(has_secret) || path.contains(['?', '#']) {
                return Err(HasSecret);
            }
            let host = host.split(':').next().unwrap_or_default();
            let host = (scheme != "file://" && !host.is_empty()).then(|| host.to_lowercase());
            return Ok(GitUrl::new(text, host, path));
        }
        // `git@host:owner/name`, as in ssh: a colon before the first slash, and nothing like a path before it.
        let Some((place, path)) = text.split_once(':') else { return Ok(None) };
        let (user, host) = place.rsplit_once('@').map_or((None, place), |(user, host)| (Some(user), host));
        let is_host =
            !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
        if !is_host
            || host.starts_with('-')
            || path.is_empty()
            || path.starts_with(':')
            || path.starts_with("//")
        {
            return Ok(None);
        }
        if user.is_some_and(has_secret) {
            return Err(HasSecret);
        }
        Ok(GitUrl::new(text, Some(host.to_lowercase()), path))
    }

    /// Like [`GitUrl::parse`], and accepts `owner/name` for a repository on GitHub. For text that is no existing
    /// path.
    pub fn parse_short(text: &str) -> Result<Option<GitUrl>, HasSecret> {
        if let Some(url) = GitUrl::parse(text)? {
            return Ok(Some(url));
        }
        let Some((owner, name)) = text.split_once('/') else { return Ok(None) };
        let plain = |part: &str, more: &str| {
            part.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
                && part.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
        };
        if plain(owner, "-") && plain(name, "-_.") {
            return GitUrl::parse(&format!("https://github.com/{owner}/{name}"));
        }
        Ok(None)
    }

    fn new(text: &str, host: Option<String>, path: &str) -> Option<GitUrl> {
        let path = path.trim_end_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
        let path = if host.is_some() { path.trim_start_matches('/') } else { path };
        (!path.is_empty()).then(|| GitUrl { text: text.to_owned(), host, path: path.to_owned() })
    }

    pub fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    /// Returns `owner/name`, if it is on a forge.
    pub fn repo(&self) -> Option<&str> {
        self.host.as_ref().map(|_| self.path.as_str()).filter(|path| path.contains('/'))
    }

    /// Returns the last part, which names a clone. Never leads out of the folder it is put in.
    pub fn name(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        if matches!(name, "" | "." | "..") { "repository" } else { name }
    }

    /// Returns true if both refer to one repository, perhaps by different protocols.
    pub fn same_repository(&self, other: &GitUrl) -> bool {
        let real = |path: &str| Path::new(path).canonicalize().ok();
        match (&self.host, &other.host) {
            (Some(one), Some(another)) => one == another && self.path.eq_ignore_ascii_case(&other.path),
            (None, None) => {
                self.path == other.path
                    || real(&self.path).is_some_and(|path| real(&other.path) == Some(path))
            }
            _ => false,
        }
    }
}

impl fmt::Display for GitUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Returns true for a user part with a password, or one that looks like a forge's token.
fn has_secret(user: &str) -> bool {
    user.contains(':') || user.len() >= 30 || TOKENS.iter().any(|token| user.starts_with(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        match GitUrl::parse_short(text) {
            Ok(Some(url)) => format!("{} {}", url.host().unwrap_or("-"), url.path),
            Ok(None) => "no address".into(),
            Err(err) => err.to_string(),
        }
    }

    #[test]
    fn addresses_are_told_from_paths() {
        for (text, means) in [
            ("https://github.com/owner/my-app", "github.com owner/my-app"),
            ("https://GitHub.com/owner/my-app.git/", "github.com owner/my-app"),
            ("https://me@dev.azure.com/org/project/_git/app", "dev.azure.com org/project/_git/app"),
            ("ssh://git@host.example:2222/group/sub/app.git", "host.example group/sub/app"),
            ("git@github.com:owner/my-app.git", "github.com owner/my-app"),
            ("work:owner/my-app", "work owner/my-app"),
            ("file:///srv/git/app.git", "- /srv/git/app"),
            ("owner/my-app", "github.com owner/my-app"),
            ("./owner/my-app", "no address"),
            ("../my-app", "no address"),
            ("~/my-app", "no address"),
            ("a/b/c", "no address"),
            ("my-app", "no address"),
            ("/srv/a:b", "no address"),
            ("ext::sh -c true", "no address"),
            ("-oProxyCommand=x:y", "no address"),
            ("--upload-pack=x/y", "no address"),
            ("https://github.com", "no address"),
            ("", "no address"),
        ] {
            assert_eq!(read(text), means, "{text}");
        }
    }

    #[test]
    fn a_secret_is_refused_and_not_repeated() {
        for text in [
            "https://me:hunter2@example.invalid/owner/app",
            "https://ghp_abcdef@github.com/owner/app",
            "https://x-access-token@github.com/owner/app",
            "https://example.invalid/owner/app?private_token=hunter2",
            "ssh://me:hunter2@example.invalid/owner/app",
        ] {
            assert_eq!(read(text), "this URL contains a password or token", "{text}");
        }
    }

    #[test]
    fn one_repository_is_known_by_every_protocol() {
        let url = |text| GitUrl::parse(text).unwrap().unwrap();
        let https = url("https://github.com/owner/app");
        assert!(https.same_repository(&url("git@github.com:Owner/app.git")));
        assert!(https.same_repository(&url("ssh://git@github.com/owner/app.git")));
        assert!(!https.same_repository(&url("https://github.com/owner/other")));
        assert!(!https.same_repository(&url("https://example.invalid/owner/app")));
        assert!(!https.same_repository(&url("file:///owner/app")));
    }
}
