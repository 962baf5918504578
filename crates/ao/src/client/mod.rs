//! The command line as a client of the daemon: starting one, choosing a project, waiting for events, retrying calls.

pub(crate) mod daemon_process;
pub(crate) mod event_watch;
pub(crate) mod project_choice;
pub(crate) mod retry;

use ao_api::client::{Client, ClientError};
use ao_api::{Session, TreeState};
use camino::Utf8Path;

/// Looks one session up, or lists all if none is named.
pub(crate) async fn sessions(client: &Client, named: Option<&str>) -> Result<Vec<Session>, ClientError> {
    match named {
        Some(session) => Ok(vec![find_session(client, session).await?]),
        None => Ok(client.sessions().await?.sessions),
    }
}

/// Looks a session up by name, id or unique prefix, and checks that the folder of its workspace still exists.
pub(crate) async fn find_session(client: &Client, session: &str) -> Result<Session, ClientError> {
    let mut session = client.session(session).await?;
    if let Some(tree) = &mut session.workspace
        && matches!(tree.state, TreeState::Ready | TreeState::Kept)
        && matches!(Utf8Path::new(&tree.path).try_exists(), Ok(false))
    {
        tree.state = TreeState::Deleted;
    }
    Ok(session)
}
