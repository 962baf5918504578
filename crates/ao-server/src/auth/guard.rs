//! The guard, which every request passes before its handler runs.

use std::sync::Arc;

use ao_api::Problem;
use ao_core::{Attempt, SessionId};
use ao_ports::Descent;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, TRANSFER_ENCODING};
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::Response;

use super::peer::{self, Whose};
use super::{Agent, Caller, Peer, Right, rule};
use crate::app::App;
use crate::problem::{Failure, forbidden};

/// Authenticates the caller and checks its rights; passes the request on with its [`Caller`], or refuses it.
pub(crate) async fn guard(
    State(app): State<Arc<App>>,
    mut request: Request,
    next: Next,
) -> Result<Response, Failure> {
    let peer = request.extensions().get::<Peer>().cloned();
    let headers = request.headers();
    comes_from_home(&app, peer.as_ref(), headers)?;
    let path = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let right = path.as_deref().and_then(|path| rule(request.method(), path));
    let caller = match right {
        Some(Right::Public) => Caller::Anonymous,
        _ => who(&app, peer.as_ref(), headers).await?,
    };
    let may = match (right, &caller) {
        (Some(Right::Public), _) | (_, Caller::Owner) => true,
        (_, Caller::Anonymous) => false,
        // Authenticated callers get a 404 for unknown routes.
        (Some(Right::Known | Right::Own | Right::Forge), _) => true,
        (None, _) => path.is_none(),
        (Some(Right::Project), Caller::Session(agent)) => agent.is_orchestrator(),
        (Some(Right::Owner), Caller::Session(_)) => false,
    };
    if !may {
        return Err(forbidden().into());
    }
    says_json(request.method(), request.headers())?;
    request.extensions_mut().insert(caller.clone());
    let mut response = next.run(request).await;
    response.extensions_mut().insert(caller);
    Ok(response)
}

/// Refuses requests of foreign pages and for other hosts.
fn comes_from_home(app: &App, peer: Option<&Peer>, headers: &HeaderMap) -> Result<(), Failure> {
    if peer.is_some_and(Peer::is_socket) {
        // No page can call a socket. A request with an origin came through a program that lends pages its rights.
        return if headers.contains_key("origin") { Err(foreign_origin().into()) } else { Ok(()) };
    }
    let names = app.names();
    if !names.mean_us(headers) {
        return Err(Problem::new(421, "foreign-host", "the request does not name this daemon as its host")
            .hint("call it by `localhost` or `127.0.0.1` and its port, or add the name to the configuration")
            .into());
    }
    if !names.are_at_home(headers) {
        return Err(foreign_origin().into());
    }
    Ok(())
}

fn foreign_origin() -> Problem {
    Problem::new(403, "foreign-origin", "pages of another origin may not call this daemon")
}

/// Authenticates the caller. The descent of the program decides first, then its credentials.
async fn who(app: &App, peer: Option<&Peer>, headers: &HeaderMap) -> Result<Caller, Failure> {
    let by_socket = peer.is_some_and(Peer::is_socket);
    let shown = shown(app, headers, by_socket)?;
    let whose = match peer {
        Some(peer) => peer.whose(&app.sockets, &app.lineage).await,
        None => Whose::Anothers,
    };
    match (whose, shown) {
        (Whose::Ours(Descent::Agent { session, attempt }), _) => {
            // A process left over from an earlier attempt of the session has no rights any more.
            agent(app, session, attempt).await?.ok_or_else(|| forbidden().into())
        }
        (Whose::Ours(Descent::Command), _) => Err(not_the_owner().into()),
        (Whose::Ours(Descent::Unknown), _) => Err(nobody_knows().into()),
        (_, Some(Shown::Owner)) => Ok(Caller::Owner),
        (_, Some(Shown::Session(session, attempt))) => {
            agent(app, session, attempt).await?.ok_or_else(|| no_token().into())
        }
        (Whose::Ours(Descent::Apart), None) if by_socket || !peer::speaks_for_others(headers) => {
            Ok(Caller::Owner)
        }
        (Whose::Hidden, None) => Err(hidden().into()),
        (_, None) => Err(no_token().into()),
    }
}

/// The credentials of a caller.
enum Shown {
    Owner,
    Session(SessionId, Attempt),
}

/// Reads the credentials. Wrong ones are worse than none.
fn shown(app: &App, headers: &HeaderMap, by_socket: bool) -> Result<Option<Shown>, Failure> {
    if let Some(token) = headers.get(AUTHORIZATION) {
        let token = token.to_str().ok().and_then(bearer).ok_or_else(no_token)?;
        if app.auth.is_token(token) {
            return Ok(Some(Shown::Owner));
        }
        let (session, attempt) = app.daemon.session_of(token).ok_or_else(no_token)?;
        return Ok(Some(Shown::Session(session, attempt)));
    }
    match cookie(headers, &app.names().cookie()) {
        // No browser calls a socket.
        Some(cookie) if !by_socket => {
            let signed_in = app.auth.is_signed_in(cookie, app.clock.now());
            if signed_in { Ok(Some(Shown::Owner)) } else { Err(no_token().into()) }
        }
        _ => Ok(None),
    }
}

/// Returns the agent of a session, unless a later attempt has replaced it.
async fn agent(app: &App, session: SessionId, attempt: Attempt) -> Result<Option<Caller>, Failure> {
    let known = app.handle.view(move |state| {
        let session = state.sessions.get(&session).filter(|session| session.attempt == attempt);
        session.map(|session| Caller::Session(Box::new(Agent::of(session))))
    });
    Ok(known.await?)
}

fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(COOKIE).iter().filter_map(|header| header.to_str().ok());
    all.flat_map(|header| header.split(';'))
        .find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
}

fn no_token() -> Problem {
    Problem::new(401, "unauthorized", "this call needs a token, or is to be made by the daemon's own user")
        .hint("`ao api` and the daemon's socket need no token; elsewhere send `Authorization: Bearer …`")
}

fn hidden() -> Problem {
    Problem::new(
        401,
        "unauthorized",
        "the system does not show which program calls, so this call needs a token",
    )
    .hint("`ao api` and the daemon's socket need no token; elsewhere send `Authorization: Bearer …`")
}

fn nobody_knows() -> Problem {
    Problem::new(401, "unknown-caller", "the calling program cannot be identified").hint(
        "the program must keep its connection until it is answered; `ao api` and the daemon's socket do",
    )
}

fn not_the_owner() -> Problem {
    Problem::new(403, "not-the-owner", "programs that the daemon or its tmux server started may not call the daemon")
        .hint("checks and set-up commands run a repository's code; hooks of your configuration may call, and so may your own shell")
}

/// Requires JSON for changes. A page may send plain text to any address without a preflight, but not JSON.
fn says_json(method: &Method, headers: &HeaderMap) -> Result<(), Failure> {
    let length = headers.get(CONTENT_LENGTH).map(|length| length.as_bytes() != b"0");
    let has_body = length.unwrap_or_else(|| headers.contains_key(TRANSFER_ENCODING));
    if matches!(*method, Method::GET | Method::HEAD) || !has_body {
        return Ok(());
    }
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Problem::new(415, "not-json", "a request with a body needs the type `application/json`").into())
}
