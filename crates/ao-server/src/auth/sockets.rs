//! TCP connections on this machine and the processes that hold them, as the kernel reports them.
//!
//! The cost of a reading is proportional to the number of connections, or of processes. So all requests that come in
//! during one reading share the next: at most one reading of a kind is under way, however many connections come in at
//! once.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Mutex;

/// The latest tables of connections.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    far_ends: Latest<Option<FarEnds>>,
    holders: Latest<Holders>,
}

/// The other end of a connection, if it is on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FarEnd {
    pub(crate) uid: u32,
    pub(crate) inode: u64,
}

/// The result of looking up a far end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    Here(FarEnd),
    /// It was on this machine, and its holder has closed it.
    Gone,
    /// It is on another machine, or this system does not report it.
    Elsewhere,
}

/// Far ends on this machine, by their address and ours.
type FarEnds = HashMap<(Address, Address), FarEnd>;
type Address = (IpAddr, u16);

/// The open sockets of all processes.
#[derive(Debug, Default)]
pub(crate) struct Holders {
    by_inode: HashMap<u64, Vec<i32>>,
    /// Processes that hide their open files.
    closed: Vec<i32>,
}

impl Sockets {
    /// Finds the far end of one of our connections.
    pub(crate) async fn far_end(&self, remote: SocketAddr, local: SocketAddr) -> Found {
        let port = local.port();
        let Some(table) = self.far_ends.read(move || far_ends(port)).await else { return Found::Elsewhere };
        let Some(table) = &*table else { return Found::Elsewhere };
        match table.get(&(canonical(remote), canonical(local))) {
            Some(end) => Found::Here(*end),
            None if is_ours(remote.ip()) => Found::Gone,
            None => Found::Elsewhere,
        }
    }

    /// Reads the open sockets of all processes, starting after this call.
    pub(crate) async fn holders(&self) -> Option<Arc<Holders>> {
        self.holders.read(holders).await
    }
}

impl Holders {
    pub(crate) fn of(&self, inode: u64) -> &[i32] {
        self.by_inode.get(&inode).map_or(&[], Vec::as_slice)
    }

    /// Returns a user's processes that hide their open files.
    pub(crate) fn closed_of(&self, uid: u32) -> impl Iterator<Item = i32> {
        self.closed.iter().copied().filter(move |pid| real_user(*pid) == Some(uid))
    }
}

/// The latest reading of a kind, and the time at which it started.
#[derive(Debug)]
struct Latest<T> {
    /// Held during a reading.
    last: Mutex<Option<(Instant, Arc<T>)>>,
}

impl<T> Default for Latest<T> {
    fn default() -> Latest<T> {
        Latest { last: Mutex::new(None) }
    }
}

impl<T: Send + Sync + 'static> Latest<T> {
    /// Returns a reading that started after this call.
    async fn read(&self, read: impl FnOnce() -> T + Send + 'static) -> Option<Arc<T>> {
        let asked = Instant::now();
        let mut last = self.last.lock().await;
        if let Some((begun, read)) = &*last
            && *begun >= asked
        {
            return Some(read.clone());
        }
        let begun = Instant::now();
        let read = Arc::new(tokio::task::spawn_blocking(read).await.ok()?);
        *last = Some((begun, read.clone()));
        Some(read)
    }
}

/// Returns `true` if an address belongs to this machine.
pub(crate) fn is_ours(ip: IpAddr) -> bool {
    let ip = ip.to_canonical();
    // The system does not let us bind another machine's address.
    ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok()
}

/// The inode of the initial PID namespace on Linux.
const EVERY_PROCESS: &str = "pid:[4026531836]";

/// Returns `true` if we see every process of this machine, not only those of our container.
pub(crate) fn sees_every_process() -> bool {
    fs::read_link("/proc/self/ns/pid").is_ok_and(|namespace| namespace.as_os_str() == EVERY_PROCESS)
}

/// Reads the far ends; `None` if this system has no such table.
fn far_ends(port: u16) -> Option<FarEnds> {
    // An IPv4 connection may be in the table of IPv6, if one of its sockets is an IPv6 one.
    let tables: Vec<String> =
        ["/proc/net/tcp", "/proc/net/tcp6"].iter().filter_map(|path| fs::read_to_string(path).ok()).collect();
    (!tables.is_empty()).then(|| tables.iter().flat_map(|table| parse(table, port)).collect())
}

/// Finds the connections to a port in a table of the kernel: local address, remote address, state, …, user, …, inode.
fn parse(table: &str, port: u16) -> impl Iterator<Item = ((Address, Address), FarEnd)> {
    table.lines().skip(1).filter_map(move |line| {
        let mut words = line.split_ascii_whitespace();
        let here = words.nth(1)?;
        let there = words.next()?;
        // Cheaper than parsing both, and most are not ours.
        if u16::from_str_radix(there.rsplit_once(':')?.1, 16).ok()? != port {
            return None;
        }
        let uid = words.nth(4)?.parse().ok()?;
        let inode = words.nth(1)?.parse().ok()?;
        // Without an inode, no process holds it any more.
        (inode != 0).then_some(((address(here)?, address(there)?), FarEnd { uid, inode }))
    })
}

fn canonical(at: SocketAddr) -> Address {
    (at.ip().to_canonical(), at.port())
}

/// Parses an address in the kernel's format: 32-bit groups in the machine's byte order, then the port.
fn address(text: &str) -> Option<Address> {
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

fn holders() -> Holders {
    let mut found = Holders::default();
    let Ok(processes) = fs::read_dir("/proc") else { return found };
    let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    for pid in pids {
        match fs::read_dir(format!("/proc/{pid}/fd")) {
            Ok(files) => {
                for inode in files.flatten().filter_map(|file| socket(&fs::read_link(file.path()).ok()?)) {
                    found.by_inode.entry(inode).or_default().push(pid);
                }
            }
            Err(err) if err.kind() == ErrorKind::PermissionDenied => found.closed.push(pid),
            // Exited meanwhile.
            Err(_) => {}
        }
    }
    found
}

/// Returns the number in `socket:[123]`.
fn socket(link: &std::path::Path) -> Option<u64> {
    link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// Returns the real user of a process. Its files may belong to root although it does not run as root.
fn real_user(pid: i32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Uid:")?.split_ascii_whitespace().next()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn a_connection_is_found_in_the_kernels_table() {
        let v4 = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
                  0: 0100007F:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0\n   \
                  1: 0100007F:C350 0100007F:0BB8 01 00000000:00000000 00:00000000 00000000  1001        0 2 1 0\n   \
                  2: 0100007F:C351 0100007F:0BB8 05 00000000:00000000 00:00000000 00000000  1001        0 0 1 0\n";
        let at = |text: &str| canonical(text.parse().unwrap());
        let found = |table: &str| parse(table, 3000).collect::<HashMap<_, _>>();
        let (theirs, ours) = (at("127.0.0.1:50000"), at("127.0.0.1:3000"));
        let expected = HashMap::from([((theirs, ours), FarEnd { uid: 1001, inode: 2 })]);
        assert_eq!(found(v4), expected, "neither our own end, nor one that nobody has any more");
        let v6 = "  sl\n   0: 0000000000000000FFFF00000100007F:C350 0000000000000000FFFF00000100007F:0BB8 01 0:0 00:0 0  7 0 9\n";
        assert_eq!(found(v6), HashMap::from([((theirs, ours), FarEnd { uid: 7, inode: 9 })]));
        assert_eq!(found("  sl\n nonsense\n"), HashMap::new());
    }

    #[tokio::test]
    async fn both_ends_of_a_connection_of_ours_are_found() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let local = listener.local_addr().unwrap();
        let client = tokio::net::TcpStream::connect(local).await.unwrap();
        let remote = client.local_addr().unwrap();
        let sockets = Sockets::default();
        let Found::Here(end) = sockets.far_end(remote, local).await else { panic!("it is there") };
        assert_eq!(end.uid, rustix::process::geteuid().as_raw());
        let me = i32::try_from(std::process::id()).unwrap();
        assert!(sockets.holders().await.unwrap().of(end.inode).contains(&me));
        drop(client);
        assert_eq!(sockets.far_end(remote, local).await, Found::Gone);
        let far = "192.0.2.1:5".parse().unwrap();
        assert_eq!(sockets.far_end(far, local).await, Found::Elsewhere);
    }
}
