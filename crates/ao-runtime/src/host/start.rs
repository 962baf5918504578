//! What every start is in need of: an environment, free ports, and a word for what has been ended.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::os::unix::ffi::OsStringExt;

use ao_ports::secret::secrets_in;
use ao_ports::{RuntimeError, StartSpec, environment};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::files::no_procfs;
use super::members;

/// How many are started at the same time. More would not be faster, need several descriptors each, and on a slow host run
/// out of the time that each one has to come up.
const AT_ONCE: usize = 32;

/// Lets so many start at the same time, and the others wait.
pub(crate) struct Door(Semaphore);

impl Door {
    pub(crate) async fn enter(&self) -> SemaphorePermit<'_> {
        self.0.acquire().await.expect("it is never closed")
    }
}

impl Default for Door {
    fn default() -> Door {
        Door(Semaphore::new(AT_ONCE))
    }
}

/// The environment that is wanted, with its secrets.
pub(crate) fn environment(spec: &StartSpec) -> Result<Vec<(OsString, OsString)>, RuntimeError> {
    let wanted = environment::Wanted {
        session: spec.session,
        attempt: spec.attempt,
        pass: &spec.command.pass,
        set: &spec.command.env,
        secrets: &spec.command.secrets,
    };
    environment::compose(wanted, std::env::vars_os())
}

/// The secrets that must not be kept of what it puts out: those in its environment, and all that we know of, which it may
/// have found elsewhere.
pub(crate) fn secrets(spec: &StartSpec, environment: &[(OsString, OsString)]) -> Vec<(String, OsString)> {
    let mut secrets = secrets_of(spec, environment);
    let known = ao_process::secrets::all().into_iter();
    let known = known.map(|(name, value)| (name, OsString::from_vec(value)));
    for other in secrets_in(std::env::vars_os(), &[], &[]).into_iter().chain(known) {
        if !secrets.contains(&other) {
            secrets.push(other);
        }
    }
    secrets
}

/// The secrets that it is given.
pub(crate) fn secrets_of(spec: &StartSpec, environment: &[(OsString, OsString)]) -> Vec<(String, OsString)> {
    secrets_in(environment.iter().cloned(), &spec.command.secrets, &spec.command.pass)
}

/// Tries each port where a server would listen. Only "in use" counts: a host without IPv6, or a port that needs rights we do
/// not have, says nothing about others. Nor does a session's own server, which its set-up has started.
pub(crate) async fn ports_are_free(spec: &StartSpec) -> Result<(), RuntimeError> {
    let Some(port) = spec.ports.iter().copied().find(|port| is_taken(*port)) else { return Ok(()) };
    // Only now: this look costs as much as the host has processes.
    match members::any_of(spec.session).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(RuntimeError::PortTaken { port }),
        Err(err) => Err(no_procfs(&err)),
    }
}

fn is_taken(port: u16) -> bool {
    let addresses: [IpAddr; 4] = [
        Ipv4Addr::LOCALHOST.into(),
        Ipv6Addr::LOCALHOST.into(),
        Ipv4Addr::UNSPECIFIED.into(),
        Ipv6Addr::UNSPECIFIED.into(),
    ];
    let is_in_use = |address: IpAddr| {
        TcpListener::bind((address, port)).is_err_and(|err| err.kind() == ErrorKind::AddrInUse)
    };
    addresses.into_iter().any(is_in_use)
}

/// Why nothing was started.
pub(crate) fn ended(spec: &StartSpec) -> RuntimeError {
    RuntimeError::Failed(format!(
        "attempt {} of `{}` has been ended and is not started again",
        spec.attempt, spec.name
    ))
}

/// Why nothing was started.
pub(crate) fn no_folder(spec: &StartSpec) -> RuntimeError {
    RuntimeError::NoFolder { path: spec.path.clone() }
}
