//! Whether the ports that a process was given are free.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};

use ao_ports::RuntimeError;

/// Tries each where a server would listen. Only "in use" counts: a host without IPv6, or a port that needs rights we do not
/// have, says nothing about others.
pub(super) fn are_free(ports: &[u16]) -> Result<(), RuntimeError> {
    let addresses: [IpAddr; 4] = [
        Ipv4Addr::LOCALHOST.into(),
        Ipv6Addr::LOCALHOST.into(),
        Ipv4Addr::UNSPECIFIED.into(),
        Ipv6Addr::UNSPECIFIED.into(),
    ];
    for port in ports {
        for address in addresses {
            match TcpListener::bind((address, *port)) {
                Err(err) if err.kind() == ErrorKind::AddrInUse => {
                    return Err(RuntimeError::PortTaken { port: *port });
                }
                _ => {}
            }
        }
    }
    Ok(())
}
