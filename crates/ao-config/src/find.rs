//! Finds configuration files.

use camino::{Utf8Path, Utf8PathBuf};

use crate::error::ConfigError;
use crate::refs::Env;

/// The names of a project's file, the preferred one first.
pub const PROJECT_FILES: [&str; 2] = ["agent-orchestrator.yaml", "ao.config.yaml"];

/// The personal file beside a project's own, which is not committed.
pub const LOCAL_FILE: &str = "agent-orchestrator.local.yaml";

/// The starting points for finding files. This is the only place that reads the environment of the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    pub env: Env,
    /// The folder to look upwards from; an absolute path.
    pub cwd: Utf8PathBuf,
    pub home: Option<Utf8PathBuf>,
}

/// The owner of a file. Later layers override earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LayerKind {
    User,
    Project,
    Local,
}

/// A file that is part of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    pub kind: LayerKind,
    pub path: Utf8PathBuf,
}

impl Places {
    /// Returns those of this process.
    pub fn of_process() -> Result<Places, ConfigError> {
        let env = Env::of_process();
        let home = env.get("HOME").map(Utf8PathBuf::from).filter(|home| home.is_absolute());
        let cwd = std::env::current_dir()
            .map_err(|err| err.to_string())
            .and_then(|cwd| Utf8PathBuf::try_from(cwd).map_err(|err| err.to_string()))
            .map_err(|err| {
                ConfigError::about(".", format!("the current folder cannot be used: {err}"), None)
            })?;
        Ok(Places { env, cwd, home })
    }

    /// Returns the path of the user's own file, existing or not.
    pub fn user_file(&self) -> Option<Utf8PathBuf> {
        // The XDG specification requires relative paths to be ignored.
        let xdg = self.env.get("XDG_CONFIG_HOME").map(Utf8PathBuf::from).filter(|path| path.is_absolute());
        let folder = xdg.or_else(|| self.home.as_ref().map(|home| home.join(".config")))?;
        Some(folder.join("ao/config.yaml"))
    }
}

/// Finds the files, in the order in which they override each other. The list may be empty.
pub fn find(places: &Places) -> Result<Vec<Layer>, ConfigError> {
    let mut layers = Vec::new();
    let project = project_file(places)?;
    let user = places.user_file().filter(|path| path.is_file() && project.as_ref() != Some(path));
    layers.extend(user.map(|path| Layer { kind: LayerKind::User, path }));
    if let Some(path) = project {
        let local = path.with_file_name(LOCAL_FILE);
        let has_local = local.is_file() && local != path;
        layers.push(Layer { kind: LayerKind::Project, path });
        if has_local {
            layers.push(Layer { kind: LayerKind::Local, path: local });
        }
    }
    Ok(layers)
}

fn project_file(places: &Places) -> Result<Option<Utf8PathBuf>, ConfigError> {
    if let Some(named) = places.env.get("AO_CONFIG") {
        let path = match (named.strip_prefix("~/"), &places.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => places.cwd.join(named),
        };
        if path.is_file() {
            return Ok(Some(path));
        }
        let hint = "set AO_CONFIG to a file that exists, or unset it".to_owned();
        return Err(ConfigError::about(path, "AO_CONFIG names a file that does not exist", Some(hint)));
    }
    Ok(places.cwd.ancestors().find_map(in_folder))
}

fn in_folder(folder: &Utf8Path) -> Option<Utf8PathBuf> {
    PROJECT_FILES.iter().map(|name| folder.join(name)).find(|path| path.is_file())
}
