//! The facts about the machine that findings depend on.

use std::sync::Arc;

use ao_config::{Env, Loaded};
use ao_daemon::config;
use camino::Utf8Path;

/// The environment of a configuration.
#[derive(Debug, Clone)]
pub(crate) struct MachineFacts {
    pub(crate) env: Env,
    /// Ok if notices can be shown on a desktop, or the reason why not.
    pub(crate) desktop: Result<(), String>,
    /// The configuration of the whole daemon, if it is another one.
    pub(crate) main: Option<Arc<Loaded>>,
}

impl MachineFacts {
    pub(crate) async fn gather(loaded: &Loaded, data_dir: &Utf8Path) -> MachineFacts {
        let env = Env::of_process();
        let desktop = desktop(&env).await;
        let real = |file: &Utf8Path| file.canonicalize_utf8().unwrap_or_else(|_| file.to_owned());
        let own = loaded.main_file().map(real);
        let first = config::first_file(data_dir).filter(|first| own != Some(real(first)));
        let main = first.and_then(|first| config::load(Some(&first)).ok()).map(Arc::new);
        MachineFacts { env, desktop, main }
    }

    /// Returns the configuration that sets the global keys.
    pub(super) fn main<'a>(&'a self, loaded: &'a Loaded) -> &'a Loaded {
        self.main.as_deref().unwrap_or(loaded)
    }
}

/// Checks whether notices can be shown on a desktop.
pub(crate) async fn desktop(env: &Env) -> Result<(), String> {
    ao_notifier::desktop_reachable(&|name| env.get(name).map(str::to_owned)).await
}
