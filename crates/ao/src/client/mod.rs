//! The command line as a client of the daemon: starting one, choosing a project, waiting for events, retrying calls.

pub(crate) mod daemon_process;
pub(crate) mod event_watch;
pub(crate) mod project_choice;
pub(crate) mod retry;

use ao_api::Session;
use ao_api::client::{Client, ClientError};
use camino::Utf8Path;

/// The state of a workspace whose folder was deleted behind the daemon's back. The daemon notices when it needs the folder.
pub(crate) const DELETED: &str = "deleted";

/// Looks a session up by name, id or unique prefix, and checks that the folder of its workspace still exists.
pub(crate) async fn find_session(client: &Client, session: &str) -> Result<Session, ClientError> {
    let mut session = client.session(session).await?;
    if let Some(tree) =
        session.workspace.as_mut().filter(|tree| matches!(tree.state.as_str(), "ready" | "kept"))
        && matches!(Utf8Path::new(&tree.path).try_exists(), Ok(false))
    {
        DELETED.clone_into(&mut tree.state);
    }
    Ok(session)
}
