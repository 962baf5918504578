//! Checks of `Host` and `Origin`.
//!
//! A foreign page can make a browser call any address, also on this machine, and can make its own name point here.
//! `Origin` reveals the first, `Host` the second.

use std::net::{IpAddr, SocketAddr};

use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};

/// The names under which we may be called over TCP.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    port: u16,
    /// Valid with our port only.
    own: Vec<String>,
    /// Valid with any port: behind such a name may be a proxy, which has a port of its own.
    given: Vec<String>,
}

impl Names {
    /// Returns the names for a listener at this address, with additional configured names.
    pub(crate) fn of(bound: SocketAddr, given: &[String]) -> Names {
        let mut own: Vec<String> = vec!["localhost".into(), "127.0.0.1".into(), "[::1]".into()];
        match bound.ip() {
            ip if ip.is_unspecified() => {}
            IpAddr::V4(ip) => own.push(ip.to_string()),
            IpAddr::V6(ip) => own.push(format!("[{ip}]")),
        }
        let given = given.iter().map(|name| name.to_ascii_lowercase()).collect();
        Names { port: bound.port(), own, given }
    }

    /// Returns the name of the cookie of a signed-in browser. Browsers store cookies per host name and not per port, so
    /// our port is in it: two daemons on one machine do not sign each other's browsers out.
    pub(crate) fn cookie(&self) -> String {
        format!("ao_session_{}", self.port)
    }

    /// Returns `true` if `Host` names us.
    pub(crate) fn mean_us(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(HOST).iter();
        match (hosts.next().map(|host| host.to_str()), hosts.next()) {
            (Some(Ok(host)), None) => self.is_ours(host, 80),
            _ => false,
        }
    }

    /// Returns `true` if the request comes from no page, or from our own.
    pub(crate) fn are_at_home(&self, headers: &HeaderMap) -> bool {
        let mut origins = headers.get_all(ORIGIN).iter();
        match (origins.next().map(|origin| origin.to_str()), origins.next()) {
            (None, _) => true,
            (Some(Ok(origin)), None) => {
                // It has to be the name that was called, not merely another name of ours.
                let called = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
                let (page, port) = match (origin.strip_prefix("http://"), origin.strip_prefix("https://")) {
                    (Some(page), _) => (page, 80),
                    (_, Some(page)) => (page, 443),
                    _ => return false,
                };
                page.eq_ignore_ascii_case(called) && self.is_ours(page, port)
            }
            _ => false,
        }
    }

    /// Returns `true` if a `host:port` is one of ours.
    fn is_ours(&self, place: &str, default_port: u16) -> bool {
        let (name, port) = match place.rsplit_once(':') {
            Some((name, port)) if !port.contains(']') => match port.parse() {
                Ok(port) => (name, port),
                Err(_) => return false,
            },
            _ => (place, default_port),
        };
        let name = name.to_ascii_lowercase();
        self.given.contains(&name) || (self.own.contains(&name) && port == self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(host: &str, origin: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        headers
    }

    /// acceptance: X6
    #[test]
    fn only_our_own_names_mean_us() {
        let names = Names::of("127.0.0.1:3000".parse().unwrap(), &["ao.home".into()]);
        for ours in
            ["localhost:3000", "127.0.0.1:3000", "[::1]:3000", "LOCALHOST:3000", "ao.home:3000", "AO.home"]
        {
            assert!(names.mean_us(&headers(ours, None)), "{ours}");
        }
        let foreign = [
            "",
            "localhost",
            "localhost:80",
            "evil.example:3000",
            "127.0.0.1.evil.example:3000",
            "0.0.0.0:3000",
            "localhost:3000:3000",
            "[::1]",
            "localhost:x",
        ];
        for foreign in foreign {
            assert!(!names.mean_us(&headers(foreign, None)), "{foreign}");
        }
        assert!(!names.mean_us(&HeaderMap::new()));
        let mut two = headers("localhost:3000", None);
        two.append(HOST, "evil.example".parse().unwrap());
        assert!(!names.mean_us(&two));
    }

    /// acceptance: X6
    #[test]
    fn a_page_is_at_home_only_where_it_called() {
        let names = Names::of("127.0.0.1:3000".parse().unwrap(), &[]);
        let host = "localhost:3000";
        assert!(names.are_at_home(&headers(host, None)));
        assert!(names.are_at_home(&headers(host, Some("http://localhost:3000"))));
        // A proxy in front of us has another protocol and another port.
        let behind = Names::of("127.0.0.1:3000".parse().unwrap(), &["ao.home".into()]);
        assert!(behind.are_at_home(&headers("ao.home", Some("https://ao.home"))));
        assert!(!behind.are_at_home(&headers("ao.home", Some("https://localhost:3000"))));
        let foreign = [
            "null",
            "",
            "http://localhost",
            "http://localhost:3001",
            "http://127.0.0.1:3000",
            "http://evil.example",
            "https://localhost:3000.evil.example",
            "file://localhost:3000",
            "http://localhost:3000/",
        ];
        for foreign in foreign {
            assert!(!names.are_at_home(&headers(host, Some(foreign))), "{foreign}");
        }
    }
}
