//! The process at the other end of a connection, as far as the system reports it.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use ao_core::SessionId;
use ao_ports::{Descent, Lineage};
use axum::http::HeaderMap;
use axum::http::header::{COOKIE, FORWARDED, ORIGIN, USER_AGENT, VIA};
use tokio::sync::OnceCell;

use super::sockets::{self, FarEnd, Found, Sockets};

/// The number of searches for the holders of a connection, if one of them exits meanwhile.
const LOOKS: usize = 3;

/// The other end of a connection. The listener adds it to every request.
#[derive(Debug, Clone)]
pub struct Peer {
    way: Way,
    /// Looked up once per connection.
    found: Arc<OnceCell<Found>>,
    whose: Arc<OnceCell<Whose>>,
}

#[derive(Debug, Clone, Copy)]
enum Way {
    /// Over the socket, with credentials from the kernel.
    Socket {
        uid: u32,
        pid: Option<i32>,
    },
    Tcp {
        remote: SocketAddr,
        local: SocketAddr,
    },
}

/// The owner of the program at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// A program of our own user on this machine, with its descent; or one that descends from an agent, of any user.
    Ours(Descent),
    /// A program of our own user on this machine that hides its descent.
    Hidden,
    /// A program of another user, or on another machine.
    Anothers,
}

/// The identity by which shared resources are divided among callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Identity {
    /// Our own user.
    Us,
    Agent(SessionId),
    /// A program that the daemon runs, or of unknown descent.
    Obscure,
    User(u32),
    Network(IpAddr),
}

impl Peer {
    /// Creates the peer of a connection to the socket.
    pub fn socket(uid: u32, pid: Option<i32>) -> Peer {
        // The kernel reports 0 for a process outside of our container, where no agent of ours is.
        Peer::by(Way::Socket { uid, pid: pid.filter(|pid| *pid > 0) })
    }

    pub fn tcp(remote: SocketAddr, local: SocketAddr) -> Peer {
        Peer::by(Way::Tcp { remote, local })
    }

    fn by(way: Way) -> Peer {
        Peer { way, found: Arc::default(), whose: Arc::default() }
    }

    pub(crate) fn is_socket(&self) -> bool {
        matches!(self.way, Way::Socket { .. })
    }

    /// Determines the owner of the program.
    pub(crate) async fn whose(&self, sockets: &Sockets, lineage: &Arc<dyn Lineage>) -> Whose {
        let look = || async {
            match self.way {
                Way::Socket { uid, pid } => {
                    // Root can read all our files anyway.
                    let ours = uid == us() || uid == 0;
                    match pid {
                        Some(pid) => whose_is([pid], ours, lineage).await,
                        // The system does not report it, or the process is in another namespace.
                        None => {
                            if ours {
                                Whose::Ours(Descent::Apart)
                            } else {
                                Whose::Anothers
                            }
                        }
                    }
                }
                Way::Tcp { .. } => match self.found(sockets).await {
                    Found::Here(end) => holder_of(end, sockets, lineage).await,
                    Found::Gone => Whose::Ours(Descent::Unknown),
                    Found::Elsewhere => Whose::Anothers,
                },
            }
        };
        *self.whose.get_or_init(look).await
    }

    /// Returns the identity before anything is read from the connection. The cost of finding out is shared.
    pub(crate) async fn at_the_door(&self, sockets: &Sockets, lineage: &Arc<dyn Lineage>) -> Identity {
        match self.way {
            Way::Socket { uid, .. } => match self.whose(sockets, lineage).await {
                Whose::Anothers => Identity::User(uid),
                whose => ours(whose),
            },
            Way::Tcp { remote, .. } => match self.found(sockets).await {
                Found::Here(end) if end.uid == us() => Identity::Us,
                Found::Here(end) => Identity::User(end.uid),
                Found::Gone => Identity::Obscure,
                Found::Elsewhere => Identity::Network(network(remote.ip())),
            },
        }
    }

    /// Returns the identity of its requests.
    pub(crate) async fn identity(&self, sockets: &Sockets, lineage: &Arc<dyn Lineage>) -> Identity {
        match self.at_the_door(sockets, lineage).await {
            Identity::Us => ours(self.whose(sockets, lineage).await),
            other => other,
        }
    }

    async fn found(&self, sockets: &Sockets) -> Found {
        let Way::Tcp { remote, local } = self.way else { return Found::Elsewhere };
        *self.found.get_or_init(|| sockets.far_end(remote, local)).await
    }
}

/// Among several holders of one connection, the one with the least rights decides.
async fn holder_of(end: FarEnd, sockets: &Sockets, lineage: &Arc<dyn Lineage>) -> Whose {
    let is_us = end.uid == us();
    let mut whose = Whose::Ours(Descent::Unknown);
    for _ in 0..LOOKS {
        let Some(holders) = sockets.holders().await else { break };
        let shown = holders.of(end.inode).to_vec();
        whose = if !shown.is_empty() {
            whose_is(shown, is_us, lineage).await
        } else if is_us {
            hidden_by(holders.closed_of(end.uid).collect(), sockets::sees_every_process(), lineage).await
        } else {
            Whose::Anothers
        };
        if whose != Whose::Ours(Descent::Unknown) {
            break;
        }
    }
    whose
}

async fn whose_is(
    pids: impl IntoIterator<Item = i32> + Send + 'static,
    is_us: bool,
    lineage: &Arc<dyn Lineage>,
) -> Whose {
    match (least(pids, lineage).await, is_us) {
        (Descent::Apart | Descent::Unknown, false) => Whose::Anothers,
        (descent, _) => Whose::Ours(descent),
    }
}

/// Handles a connection without a visible holder. If an agent has a process that hides its open files, it may be that
/// one; if there is no such process, and none is out of our sight, the holder hides on purpose.
async fn hidden_by(closed: Vec<i32>, sees_all: bool, lineage: &Arc<dyn Lineage>) -> Whose {
    match closed.is_empty() {
        true if sees_all => Whose::Ours(Descent::Unknown),
        true => Whose::Hidden,
        false if least(closed, lineage).await == Descent::Apart => Whose::Hidden,
        false => Whose::Ours(Descent::Unknown),
    }
}

async fn least(pids: impl IntoIterator<Item = i32> + Send + 'static, lineage: &Arc<dyn Lineage>) -> Descent {
    let lineage = lineage.clone();
    let rank = |descent: &Descent| match descent {
        Descent::Unknown => 0,
        Descent::Command => 1,
        Descent::Agent { .. } => 2,
        Descent::Apart => 3,
    };
    let look = move || pids.into_iter().map(|pid| lineage.descent(pid)).min_by_key(rank);
    tokio::task::spawn_blocking(look).await.ok().flatten().unwrap_or(Descent::Unknown)
}

fn us() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn ours(whose: Whose) -> Identity {
    match whose {
        Whose::Ours(Descent::Agent { session, .. }) => Identity::Agent(session),
        Whose::Ours(Descent::Command | Descent::Unknown) => Identity::Obscure,
        Whose::Ours(Descent::Apart) | Whose::Hidden | Whose::Anothers => Identity::Us,
    }
}

/// Returns the network of one customer: an address, or 64 bits of one.
fn network(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & (u128::MAX << 64)).into(),
        ip => ip,
    }
}

/// Returns `true` if a request looks as if sent by a browser or a proxy. Those act for others than the user who runs
/// them.
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

#[cfg(test)]
mod tests {
    use ao_core::Attempt;
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    /// A fake lineage that knows the descent of each process.
    struct Told(fn(i32) -> Descent);

    impl Lineage for Told {
        fn descent(&self, pid: i32) -> Descent {
            (self.0)(pid)
        }
    }

    const AGENT: Descent = Descent::Agent { session: SessionId(1), attempt: Attempt(1) };

    /// Odd ones are unrelated, 2 is an agent, 4 a check, and others are gone.
    fn lineage() -> Arc<dyn Lineage> {
        Arc::new(Told(|pid| match pid {
            2 => AGENT,
            4 => Descent::Command,
            _ if pid % 2 == 1 => Descent::Apart,
            _ => Descent::Unknown,
        }))
    }

    /// acceptance: G4
    #[tokio::test]
    async fn of_all_who_hold_a_connection_the_one_with_the_least_rights_decides() {
        let cases: [(&[i32], bool, Whose); 9] = [
            (&[1, 3], true, Whose::Ours(Descent::Apart)),
            (&[1, 2, 3], true, Whose::Ours(AGENT)),
            (&[2, 4], true, Whose::Ours(Descent::Command)),
            (&[1, 6], true, Whose::Ours(Descent::Unknown)),
            (&[], true, Whose::Ours(Descent::Unknown)),
            (&[1], false, Whose::Anothers),
            (&[6], false, Whose::Anothers),
            (&[2], false, Whose::Ours(AGENT)),
            (&[4], false, Whose::Ours(Descent::Command)),
        ];
        for (pids, is_us, expected) in cases {
            assert_eq!(whose_is(pids.to_vec(), is_us, &lineage()).await, expected, "{pids:?} {is_us}");
        }
    }

    /// acceptance: G4
    #[tokio::test]
    async fn a_connection_that_nobody_shows_may_be_an_agents_if_one_hides() {
        assert_eq!(hidden_by(vec![1, 3], true, &lineage()).await, Whose::Hidden);
        assert_eq!(
            hidden_by(vec![], false, &lineage()).await,
            Whose::Hidden,
            "it may be outside of our container"
        );
        for closed in [vec![], vec![1, 2], vec![1, 4], vec![6]] {
            assert_eq!(
                hidden_by(closed.clone(), true, &lineage()).await,
                Whose::Ours(Descent::Unknown),
                "{closed:?}"
            );
        }
    }

    #[test]
    fn a_network_is_an_address_or_half_of_one() {
        let cases = [
            ("10.1.2.3", "10.1.2.3"),
            ("::ffff:10.1.2.3", "10.1.2.3"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ];
        for (ip, expected) in cases {
            assert_eq!(network(ip.parse().unwrap()), expected.parse::<IpAddr>().unwrap());
        }
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
