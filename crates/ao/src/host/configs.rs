//! The configuration files in force: which they are, what they say together, and what the engine is told of it.
//!
//! Each file that somebody started ao with is remembered. The first one says what holds for all (limits, channels, the
//! port); projects and agents come from all of them. A file that cannot be read is told of and changes nothing: what it
//! said before stays in force.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write};
use std::sync::Arc;

use ao_config::{Loaded, Places};
use ao_core::ProjectId;
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use crate::error::{CommandError, Kind};

/// The list of files, as it is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    files: Vec<Utf8PathBuf>,
}

/// What the files say.
#[derive(Debug, Clone)]
pub(crate) struct InForce {
    /// The registered files with what they said when they could last be read; nothing if they never could.
    files: Vec<(Utf8PathBuf, Option<Arc<Loaded>>)>,
    /// What holds for all: the first file, or the user's own.
    pub(crate) main: Arc<Loaded>,
    /// What is wrong with files as they are now.
    pub(crate) problems: Vec<String>,
}

/// A project and the configuration that names it.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) name: String,
    pub(crate) loaded: Arc<Loaded>,
    /// The file that was registered for it; absent for those of the user's own file.
    pub(crate) file: Option<Utf8PathBuf>,
}

impl InForce {
    /// Reads the files that are remembered in the data folder.
    pub(crate) fn open(data_dir: &Utf8Path) -> Result<InForce, CommandError> {
        InForce::read(remembered(data_dir)?, None)
    }

    /// Reads everything again. What can no longer be read stays as it was.
    pub(crate) fn again(&self) -> Result<InForce, CommandError> {
        InForce::read(self.files.iter().map(|(file, _)| file.clone()).collect(), Some(self))
    }

    /// The same with one more file, which must be right.
    pub(crate) fn with(&self, file: &Utf8Path) -> Result<InForce, CommandError> {
        let loaded = Arc::new(load(Some(file))?);
        let mut files = self.files.clone();
        match files.iter_mut().find(|(known, _)| known == file) {
            Some((_, known)) => *known = Some(loaded),
            None => files.push((file.to_owned(), Some(loaded))),
        }
        let new = InForce::of(files, self.main.clone(), vec![]);
        match new.clashes().into_iter().next() {
            Some(clash) => Err(CommandError::new(Kind::Config, clash)),
            None => Ok(new),
        }
    }

    /// The same without a file.
    pub(crate) fn without(&self, file: &Utf8Path) -> Result<InForce, CommandError> {
        let files = self.files.iter().map(|(known, _)| known.clone()).filter(|known| known != file).collect();
        InForce::read(files, Some(self))
    }

    fn read(files: Vec<Utf8PathBuf>, before: Option<&InForce>) -> Result<InForce, CommandError> {
        let mut problems = Vec::new();
        let mut read = Vec::new();
        for file in files {
            let said = before.and_then(|before| before.said(&file));
            read.push(match load(Some(&file)) {
                Ok(loaded) => (file, Some(Arc::new(loaded))),
                Err(err) => {
                    problems.push(err.to_plain());
                    (file, said)
                }
            });
        }
        let own = match load(None) {
            Ok(own) => Arc::new(own),
            Err(err) => match before {
                Some(before) => {
                    problems.push(err.to_plain());
                    before.main.clone()
                }
                // Without any file there is nothing that could stay in force.
                None if read.iter().all(|(_, loaded)| loaded.is_none()) => return Err(err),
                None => {
                    problems.push(err.to_plain());
                    Arc::new(ao_config::parse_str("".into(), "", &places(None)?).map_err(config_error)?)
                }
            },
        };
        let mut new = InForce::of(read, own, problems);
        new.problems.extend(new.clashes());
        Ok(new)
    }

    fn of(
        files: Vec<(Utf8PathBuf, Option<Arc<Loaded>>)>,
        own: Arc<Loaded>,
        problems: Vec<String>,
    ) -> InForce {
        let main = files.iter().find_map(|(_, loaded)| loaded.clone()).unwrap_or(own);
        InForce { files, main, problems }
    }

    fn said(&self, file: &Utf8Path) -> Option<Arc<Loaded>> {
        self.files.iter().find(|(known, _)| known == file).and_then(|(_, loaded)| loaded.clone())
    }

    /// Remembers which files these are.
    pub(crate) fn remember(&self, data_dir: &Utf8Path) -> Result<(), CommandError> {
        let kept = Kept { files: self.paths() };
        if remembered(data_dir)? == kept.files {
            return Ok(());
        }
        let path = list_of(data_dir);
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(data_dir)?;
            serde_json::to_writer_pretty(&mut file, &kept)?;
            file.as_file_mut().flush()?;
            file.persist(&path).map_err(|err| err.error)
        };
        write()
            .map(drop)
            .map_err(|err| CommandError::environment(format!("`{path}` cannot be written: {err}")))
    }

    /// The registered files.
    pub(crate) fn paths(&self) -> Vec<Utf8PathBuf> {
        self.files.iter().map(|(file, _)| file.clone()).collect()
    }

    /// Every file that takes part, for whoever watches them.
    pub(crate) fn layers(&self) -> Vec<ao_config::Layer> {
        let loaded = self.files.iter().filter_map(|(_, loaded)| loaded.as_ref());
        let mut layers: Vec<ao_config::Layer> = Vec::new();
        for layer in loaded.chain([&self.main]).flat_map(|loaded| &loaded.layers) {
            if !layers.contains(layer) {
                layers.push(layer.clone());
            }
        }
        layers
    }

    /// Every file that is worth watching: those that take part, and those that could not be read.
    pub(crate) fn watched(&self) -> Vec<Utf8PathBuf> {
        let mut files: Vec<Utf8PathBuf> = self.layers().into_iter().map(|layer| layer.path).collect();
        files.extend(self.paths());
        files.sort();
        files.dedup();
        files
    }

    /// Every configuration in force, the one that holds for all first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Loaded>> {
        let others = self.files.iter().filter_map(|(_, loaded)| loaded.as_ref());
        std::iter::once(&self.main).chain(others.filter(|loaded| !Arc::ptr_eq(loaded, &self.main)))
    }

    /// Whether every file could be read, so that what none of them names is named nowhere.
    pub(crate) fn is_whole(&self) -> bool {
        self.problems.is_empty()
    }

    pub(crate) fn projects(&self) -> BTreeMap<ProjectId, Known> {
        let mut projects = BTreeMap::new();
        let files =
            self.files.iter().filter_map(|(file, loaded)| Some((Some(file.clone()), loaded.clone()?)));
        for (file, loaded) in files.chain([(None, self.main.clone())]) {
            for name in loaded.config.projects.keys() {
                let known = || Known { name: name.clone(), loaded: loaded.clone(), file: file.clone() };
                projects.entry(ProjectId::new(name)).or_insert_with(known);
            }
        }
        projects
    }

    /// Two projects of one name in two files: the first one counts, and the second is told of.
    fn clashes(&self) -> Vec<String> {
        let mut seen: BTreeMap<&str, (&Utf8Path, &Utf8Path)> = BTreeMap::new();
        let mut clashes = Vec::new();
        for (file, loaded) in &self.files {
            let Some(loaded) = loaded else { continue };
            for (name, project) in &loaded.config.projects {
                let (first, path) = *seen.entry(name).or_insert((file, &project.path));
                if path != project.path {
                    clashes.push(format!(
                        "the project `{name}` of `{file}` has the name of another one, `{path}` of `{first}`; \
                         give one of them another name"
                    ));
                }
            }
        }
        clashes
    }
}

impl Known {
    pub(crate) fn effective(&self) -> ao_config::Effective<'_> {
        self.loaded.config.effective(&self.name).expect("a known project is in its configuration")
    }
}

/// Reads one file with the layers around it; without one, the user's own.
pub(crate) fn load(file: Option<&Utf8Path>) -> Result<Loaded, CommandError> {
    ao_config::load(&places(file)?).map_err(config_error)
}

/// From where a file is read, wherever the daemon itself happens to be.
fn places(file: Option<&Utf8Path>) -> Result<Places, CommandError> {
    let mut places = Places::of_process().map_err(config_error)?;
    match file {
        Some(file) => {
            places.cwd = file.parent().unwrap_or(Utf8Path::new("/")).to_owned();
            places.env.set("AO_CONFIG", file.as_str());
        }
        None => {
            places.cwd = "/".into();
            places.env.unset("AO_CONFIG");
        }
    }
    Ok(places)
}

pub(crate) fn config_error(err: ao_config::ConfigError) -> CommandError {
    CommandError::new(Kind::Config, err)
}

fn list_of(data_dir: &Utf8Path) -> Utf8PathBuf {
    data_dir.join("configs.json")
}

fn remembered(data_dir: &Utf8Path) -> Result<Vec<Utf8PathBuf>, CommandError> {
    let path = list_of(data_dir);
    let text = match fs::read_to_string(&path) {
        Err(err) if err.kind() == ErrorKind::NotFound => return Ok(vec![]),
        read => read.map_err(|err| CommandError::environment(format!("`{path}` cannot be read: {err}")))?,
    };
    let kept: Kept = serde_json::from_str(&text).map_err(|err| {
        CommandError::environment(format!("`{path}` makes no sense: {err}"))
            .hint("remove it, and run `ao start` in each repository again")
    })?;
    Ok(kept.files)
}
