//! Shared parts of every start: the environment, free ports, and error messages.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::os::unix::ffi::OsStringExt;

use ao_ports::secret::secrets_in;
use ao_ports::{RuntimeError, StartSpec, environment};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::files::no_procfs;
use super::members;

/// Most concurrent starts. More would not be faster, would need several descriptors each, and on a slow host would
/// exceed the time that each one has to come up.
const AT_ONCE: usize = 32;

/// Limits concurrent starts; further ones wait.
pub(crate) struct StartLimit(Semaphore);

impl StartLimit {
    pub(crate) async fn enter(&self) -> SemaphorePermit<'_> {
        self.0.acquire().await.expect("it is never closed")
    }
}

impl Default for StartLimit {
    fn default() -> StartLimit {
        StartLimit(Semaphore::new(AT_ONCE))
    }
}

/// Builds the environment of the program, including its secrets.
pub(crate) fn environment(spec: &StartSpec) -> Result<Vec<(OsString, OsString)>, RuntimeError> {
    let wanted = environment::ProgramVariables {
        session: spec.session,
        attempt: spec.attempt,
        pass: &spec.command.pass,
        set: &spec.command.env,
        secrets: &spec.command.secrets,
    };
    environment::compose(wanted, std::env::vars_os())
}

/// Returns the secrets to mask in its output: those in its environment, and all that we know, which it may have found
/// elsewhere.
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

/// Returns the secrets that it is given.
pub(crate) fn secrets_of(spec: &StartSpec, environment: &[(OsString, OsString)]) -> Vec<(String, OsString)> {
    secrets_in(environment.iter().cloned(), &spec.command.secrets, &spec.command.pass)
}

/// Checks each port where a server would listen. Only "in use" counts: a host without IPv6, or a port that needs
/// privileges, proves nothing. A port held by the session's own server, which its set-up has started, counts as free.
pub(crate) async fn ports_are_free(spec: &StartSpec) -> Result<(), RuntimeError> {
    let Some(port) = spec.ports.iter().copied().find(|port| is_taken(*port)) else { return Ok(()) };
    // Checked only now: this search costs time in proportion to the processes of the host.
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

/// The error for an attempt that was ended before.
pub(crate) fn ended(spec: &StartSpec) -> RuntimeError {
    RuntimeError::Failed(format!(
        "attempt {} of `{}` has been ended and is not started again",
        spec.attempt, spec.name
    ))
}

/// The error for a missing folder.
pub(crate) fn no_folder(spec: &StartSpec) -> RuntimeError {
    RuntimeError::NoFolder { path: spec.path.clone() }
}
