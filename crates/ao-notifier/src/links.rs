//! The links of a notice: the session on the dashboard, and the pull request.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use ao_core::notice::Notice;
use reqwest::Url;

use crate::settings::is_loopback;

/// The URL of the dashboard, as soon as it is known.
#[derive(Debug, Clone, Default)]
pub struct Page(Arc<Mutex<Option<Url>>>);

impl Page {
    /// Sets the URL. An invalid one clears it.
    pub fn set(&self, url: Option<&str>) {
        let url = url.and_then(|url| Url::parse(url).ok()).filter(|url| url.has_host());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = url;
    }

    pub(crate) fn url(&self) -> Option<Url> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl From<&str> for Page {
    fn from(url: &str) -> Page {
        let page = Page::default();
        page.set(Some(url));
        page
    }
}

/// A URL that accompanies a notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoticeLink {
    pub(crate) rel: &'static str,
    pub(crate) label: &'static str,
    pub(crate) url: Url,
}

/// Returns the links of a notice, the most useful first. The URL of a forge is accepted only if it is `http` or
/// `https`.
pub(crate) fn links(notice: &Notice, dashboard: Option<&Url>) -> Vec<NoticeLink> {
    let session = dashboard.map(|page| {
        let mut url = page.clone();
        let place = notice.about.session.as_ref().map(|name| format!("/s/{name}"));
        url.set_fragment(place.as_deref());
        match place {
            Some(_) => NoticeLink { rel: "session", label: "Open session", url },
            None => NoticeLink { rel: "dashboard", label: "Open dashboard", url },
        }
    });
    let pull = notice.about.pull.as_ref().and_then(|address| Url::parse(address).ok());
    let pull = pull
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host() && url.username().is_empty())
        .map(|url| NoticeLink { rel: "pull", label: "Open pull request", url });
    session.into_iter().chain(pull).collect()
}

impl NoticeLink {
    /// Returns true if it works on the reader's machine. Chats reject buttons for other URLs.
    pub(crate) fn is_public(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        match bare.parse::<IpAddr>() {
            Ok(address) => !address.is_loopback() && !address.is_unspecified(),
            Err(_) => !is_loopback(&self.url) && host.contains('.'),
        }
    }

    pub(crate) fn line(&self) -> String {
        format!("{}: {}", self.label, self.url)
    }
}

/// Splits links into those that can be buttons, and lines of text for the others. `longest` is the channel's limit of a
/// URL.
pub(crate) fn buttons(links: Vec<NoticeLink>, longest: usize) -> (Vec<NoticeLink>, Vec<String>) {
    let (buttons, lines): (Vec<NoticeLink>, Vec<NoticeLink>) =
        links.into_iter().partition(|link| link.is_public() && link.url.as_str().len() <= longest);
    (buttons, lines.iter().map(NoticeLink::line).collect())
}

#[cfg(test)]
mod tests {
    use ao_core::NoticeId;
    use ao_core::incident::Subject;
    use ao_core::notice::{NoticeContext, NoticeLevel};

    use super::*;

    fn urls(session: Option<&str>, pull: Option<&str>, dashboard: Option<&str>) -> Vec<String> {
        let notice = Notice {
            about: NoticeContext {
                project: None,
                session: session.map(str::to_owned),
                pull: pull.map(str::to_owned),
            },
            ..Notice::new(NoticeId(1), NoticeLevel::Info, Subject::Host, "k", "t")
        };
        let dashboard = dashboard.map(|page| Url::parse(page).unwrap());
        links(&notice, dashboard.as_ref()).iter().map(|link| link.url.to_string()).collect()
    }

    #[test]
    fn a_notice_leads_to_its_session_and_its_pull_request() {
        let page = Some("http://127.0.0.1:3000/");
        let forge = Some("https://forge.example/app/pull/7");
        assert_eq!(
            urls(Some("app-3"), forge, page),
            ["http://127.0.0.1:3000/#/s/app-3", "https://forge.example/app/pull/7"]
        );
        assert_eq!(urls(None, None, page), ["http://127.0.0.1:3000/"]);
        assert_eq!(
            urls(Some("app-3"), None, Some("https://ao.example/here/")),
            ["https://ao.example/here/#/s/app-3"]
        );
        assert!(urls(Some("app-3"), None, None).is_empty());
    }

    #[test]
    fn only_web_addresses_become_links() {
        for pull in ["javascript:alert(1)", "file:///etc/passwd", "not one", "", "https://me@evil.example/"] {
            assert!(urls(None, Some(pull), None).is_empty(), "{pull}");
        }
    }

    #[test]
    fn only_public_links_become_buttons() {
        let link = |url: &str| NoticeLink { rel: "pull", label: "Open", url: Url::parse(url).unwrap() };
        for (url, public) in [
            ("https://forge.example/7", true),
            ("http://192.168.1.4:3000/", true),
            ("http://127.0.0.1:3000/", false),
            ("http://[::1]:3000/", false),
            ("http://0.0.0.0:3000/", false),
            ("http://localhost:3000/", false),
            ("http://buildbox:3000/", false),
        ] {
            assert_eq!(link(url).is_public(), public, "{url}");
        }
        let (buttons, lines) = buttons(vec![link("https://a.example/"), link("http://localhost/")], 100);
        assert_eq!((buttons.len(), lines), (1, vec!["Open: http://localhost/".to_owned()]));
    }
}
