//! Where things are.

use camino::Utf8PathBuf;

use crate::error::{CommandError, Kind};

/// The option that every command with a log has.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct DataDir {
    /// Where ao keeps its event log [default: ~/.local/share/ao, or under $XDG_DATA_HOME]
    #[arg(long, env = "AO_DATA_DIR", hide_env_values = true, value_name = "DIR")]
    data_dir: Option<Utf8PathBuf>,
}

impl DataDir {
    pub(crate) fn path(&self) -> Result<Utf8PathBuf, CommandError> {
        // An empty one counts as none, as it does for the other variables.
        if let Some(dir) = self.data_dir.as_ref().filter(|dir| !dir.as_str().is_empty()) {
            return Ok(dir.clone());
        }
        let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        // By its specification, a path that is not absolute is to be ignored.
        if let Some(data) = set("XDG_DATA_HOME").map(Utf8PathBuf::from).filter(|data| data.is_absolute()) {
            return Ok(data.join("ao"));
        }
        match set("HOME") {
            Some(home) => Ok(Utf8PathBuf::from(home).join(".local/share/ao")),
            None => Err(CommandError::new(
                Kind::Config,
                "it is not known where ao keeps its data: HOME is not set",
            )
            .hint("set AO_DATA_DIR, or give `--data-dir`")),
        }
    }
}
