//! Who is at the other end of a connection, as far as the system can tell.

use std::fs;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::{COOKIE, FORWARDED, ORIGIN, USER_AGENT, VIA};
use tokio::sync::OnceCell;

/// The other end of a connection. The listener puts it into every request.
#[derive(Debug, Clone)]
pub enum Peer {
    /// Over the socket, by the credentials that the system vouches for.
    Unix { uid: u32 },
    Tcp {
        remote: SocketAddr,
        local: SocketAddr,
        /// Whose the other end is. Looked up once for a connection, and only if somebody asks.
        uid: Arc<OnceCell<Option<u32>>>,
    },
}

impl Peer {
    pub(crate) fn tcp(remote: SocketAddr, local: SocketAddr) -> Peer {
        Peer::Tcp { remote, local, uid: Arc::default() }
    }

    /// Whether the other end is a program of our own user on this machine, by the system's word.
    pub(super) async fn is_us(&self) -> bool {
        let ours = rustix::process::geteuid().as_raw();
        match self {
            // Root can read all that is ours anyway.
            Peer::Unix { uid } => *uid == ours || *uid == 0,
            Peer::Tcp { remote, local, uid } if is_loopback(remote.ip()) && is_loopback(local.ip()) => {
                let (remote, local) = (*remote, *local);
                let look = || async move {
                    // Reads a file of the kernel's, which takes a moment on a machine with many connections.
                    tokio::task::spawn_blocking(move || owner_of(remote, local)).await.ok().flatten()
                };
                *uid.get_or_init(look).await == Some(ours)
            }
            Peer::Tcp { .. } => false,
        }
    }
}

/// Whether a request looks like one that a browser or a proxy has sent. Those speak for others than who runs them.
pub(super) fn speaks_for_others(headers: &HeaderMap) -> bool {
    let told = [ORIGIN, COOKIE, FORWARDED, VIA].iter().any(|name| headers.contains_key(name));
    let agent = headers.get(USER_AGENT).map(|agent| agent.to_str().unwrap_or("Mozilla"));
    told || agent.is_some_and(|agent| agent.contains("Mozilla"))
        || headers.keys().any(|name| {
            let name = name.as_str();
            name.starts_with("sec-") && !name.starts_with("sec-websocket-")
                || name.starts_with("x-forwarded-")
        })
}

fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

/// The user whose socket is at `remote` and is connected to us at `local`.
fn owner_of(remote: SocketAddr, local: SocketAddr) -> Option<u32> {
    // An IPv4 connection may stand in the table of IPv6, if one of its ends was made there.
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .find_map(|table| find(&table, remote, local))
}

/// Finds a connection in a table of the kernel's: local address, remote address, state, …, user.
fn find(table: &str, theirs: SocketAddr, ours: SocketAddr) -> Option<u32> {
    table.lines().skip(1).find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let here = address(words.nth(1)?)?;
        let there = address(words.next()?)?;
        let established = words.next()? == "01";
        (established && here == canonical(theirs) && there == canonical(ours))
            .then(|| words.nth(3)?.parse().ok())
            .flatten()
    })
}

fn canonical(at: SocketAddr) -> (IpAddr, u16) {
    (at.ip().to_canonical(), at.port())
}

/// Reads an address as the kernel writes it: words of 32 bits in the machine's own order, then the port.
fn address(text: &str) -> Option<(IpAddr, u16)> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| {
        let digits = ip.get(at * 8..at * 8 + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    let ip = match ip.len() {
        8 => IpAddr::from(word(0)?),
        32 => {
            let mut bytes = [0; 16];
            for at in 0..4 {
                bytes[at * 4..at * 4 + 4].copy_from_slice(&word(at)?);
            }
            IpAddr::from(Ipv6Addr::from(bytes)).to_canonical()
        }
        _ => return None,
    };
    Some((ip, port))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn a_connection_is_found_in_the_kernels_table() {
        let v4 = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
                  0: 0100007F:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0\n   \
                  1: 0100007F:C350 0100007F:0BB8 01 00000000:00000000 00:00000000 00000000  1001        0 2 1 0\n";
        let (theirs, ours) = ("127.0.0.1:50000".parse().unwrap(), "127.0.0.1:3000".parse().unwrap());
        assert_eq!(find(v4, theirs, ours), Some(1001));
        assert_eq!(find(v4, ours, theirs), None, "our own end of it is not theirs");
        assert_eq!(find(v4, "127.0.0.2:50000".parse().unwrap(), ours), None);
        let v6 = "  sl\n   0: 0000000000000000FFFF00000100007F:C350 0000000000000000FFFF00000100007F:0BB8 01 0:0 00:0 0  7 0 2\n";
        assert_eq!(find(v6, theirs, ours), Some(7));
        assert_eq!(find("  sl\n nonsense\n", theirs, ours), None);
    }

    /// acceptance: X6
    #[test]
    fn browsers_and_proxies_speak_for_others() {
        let plain: HeaderMap = [(USER_AGENT, HeaderValue::from_static("curl/8.5.0"))].into_iter().collect();
        assert!(!speaks_for_others(&plain));
        assert!(!speaks_for_others(&HeaderMap::new()));
        let telling = [
            ("origin", "http://localhost:3000"),
            ("cookie", "a=b"),
            ("sec-fetch-site", "none"),
            ("sec-ch-ua", "x"),
            ("x-forwarded-for", "10.0.0.1"),
            ("via", "1.1 proxy"),
            ("user-agent", "Mozilla/5.0"),
        ];
        for (name, value) in telling {
            let mut headers = plain.clone();
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
            assert!(speaks_for_others(&headers), "{name}");
        }
    }
}
