//! The configuration files in force: their paths, their combined content, and its application to the engine.
//!
//! Each file that ao was started with is remembered. The first one has the settings for all (limits, channels, the
//! port); projects and agents come from all of them. A file that cannot be read is reported and changes nothing: its
//! last content stays in force.

mod active;
pub mod apply;
pub mod combination;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{ErrorKind, Write};
use std::sync::Arc;

use ao_config::shape::Plugin;
use ao_config::{ConfigError, Layer, LayerKind, Loaded, Places};
use ao_core::ProjectId;
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

pub use self::active::{ActiveConfig, ProjectChecks};
use self::apply::strange_tools;
use crate::error::DaemonError;
use crate::registry::{self, Registry};

/// The stored list of files, with the projects that each has named. By those a person can select a file to forget
/// once it is gone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct StoredFiles {
    files: Vec<Utf8PathBuf>,
    #[serde(default)]
    projects: BTreeMap<Utf8PathBuf, Vec<String>>,
}

/// The configuration files in force, and what they hold.
#[derive(Debug, Clone)]
pub struct InForce {
    /// The environment and the home that files are read with, and the adapters whose names they may have.
    base: Arc<(Places, Arc<Registry>)>,
    files: Vec<RegisteredFile>,
    /// The user's own file, and what is wrong with it.
    own: Arc<Loaded>,
    own_problem: Option<String>,
    /// The settings for all: the first file, or the user's own.
    pub main: Arc<Loaded>,
    /// Settings that were not taken: agents that make no sense, projects that the engine refuses.
    pub not_taken: Vec<String>,
}

/// A file that ao was started with.
#[derive(Debug, Clone)]
struct RegisteredFile {
    path: Utf8PathBuf,
    /// Its content when it could last be read; nothing if it never could.
    said: Option<Arc<Loaded>>,
    /// The fault that it has now.
    problem: Option<String>,
    /// The projects that it named when it could last be read, by any daemon.
    names: Vec<String>,
}

/// A project and the configuration that names it.
#[derive(Debug, Clone)]
pub struct KnownProject {
    pub name: String,
    pub loaded: Arc<Loaded>,
    /// The file that was registered for it; absent for those of the user's own file.
    pub file: Option<Utf8PathBuf>,
}

impl InForce {
    /// Reads the files that are remembered in the data folder.
    pub fn open(data_dir: &Utf8Path) -> Result<InForce, DaemonError> {
        let base = Places::of_process(registry::catalog()).map_err(config_error)?;
        InForce::open_in(data_dir, base, registry::built_in())
    }

    /// The same with another environment and home than those of this process, and with other adapters.
    pub fn open_in(
        data_dir: &Utf8Path,
        base: Places,
        registry: Arc<Registry>,
    ) -> Result<InForce, DaemonError> {
        let base = Arc::new((Places { catalog: registry.catalog(), ..base }, registry));
        let mut kept = remembered(data_dir)?;
        let registered = |path: Utf8PathBuf| RegisteredFile {
            names: kept.projects.remove(&path).unwrap_or_default(),
            path,
            said: None,
            problem: None,
        };
        InForce::read(base, kept.files.into_iter().map(registered).collect(), None)
    }

    /// Returns the configuration that a text describes, without any file. An empty text has no project and all defaults.
    pub fn of_text(text: &str, registry: Arc<Registry>) -> Result<InForce, DaemonError> {
        let places = Places::of_process(registry.catalog()).map_err(config_error)?;
        let own = InForce::parse(&places, text)?;
        Ok(InForce::of(Arc::new((places, registry)), vec![], own, None))
    }

    fn parse(base: &Places, text: &str) -> Result<Arc<Loaded>, DaemonError> {
        let loaded = ao_config::parse_str("".into(), text, &places_in(base, None)).map_err(config_error)?;
        Ok(Arc::new(loaded))
    }

    /// Reads everything again. What can no longer be read stays as it was.
    pub fn again(&self) -> Result<InForce, DaemonError> {
        InForce::read(self.base.clone(), self.files.clone(), Some(self))
    }

    /// The same with one more file, which must be right. The others stay as they are, with what is wrong with them.
    pub fn with(&self, path: &Utf8Path) -> Result<InForce, DaemonError> {
        let mut file = RegisteredFile { path: path.to_owned(), said: None, problem: None, names: vec![] };
        let loaded = load_in(&self.base.0, Some(path))?;
        let problems = strange_tools(&loaded);
        if !problems.is_empty() {
            return Err(config_error(ConfigError { problems }));
        }
        combination::workable(&loaded, self.registry())?;
        file.says(loaded);
        let mut files = self.files.clone();
        match files.iter_mut().find(|known| known.path == path) {
            Some(known) => *known = file,
            None => files.push(file),
        }
        let new = InForce::of(self.base.clone(), files, self.own.clone(), self.own_problem.clone());
        // A clash between other files is reported already, and not the fault of this one.
        let before = self.clashes();
        match new.clashes().into_iter().find(|clash| !before.contains(clash)) {
            Some(clash) => Err(DaemonError::config(clash)),
            None => Ok(new),
        }
    }

    /// The same without a file.
    pub fn without(&self, file: &Utf8Path) -> Result<InForce, DaemonError> {
        let files = self.files.iter().filter(|known| known.path != file).cloned().collect();
        InForce::read(self.base.clone(), files, Some(self))
    }

    fn read(
        base: Arc<(Places, Arc<Registry>)>,
        mut files: Vec<RegisteredFile>,
        before: Option<&InForce>,
    ) -> Result<InForce, DaemonError> {
        for file in &mut files {
            match load_in(&base.0, Some(&file.path)) {
                Ok(loaded) => file.says(loaded),
                Err(err) => file.problem = Some(file.wrong(&err)),
            }
        }
        let (own, own_problem) = match load_in(&base.0, None) {
            Ok(own) => (Arc::new(own), None),
            Err(err) => match before {
                Some(before) => (before.own.clone(), Some(err.to_plain())),
                // Without any file there is nothing that could stay in force.
                None if files.iter().all(|file| file.said.is_none()) => return Err(err),
                None => (InForce::parse(&base.0, "")?, Some(err.to_plain())),
            },
        };
        Ok(InForce::of(base, files, own, own_problem))
    }

    fn of(
        base: Arc<(Places, Arc<Registry>)>,
        files: Vec<RegisteredFile>,
        own: Arc<Loaded>,
        own_problem: Option<String>,
    ) -> InForce {
        let main = files.iter().find_map(|file| file.said.clone()).unwrap_or_else(|| own.clone());
        InForce { base, files, own, own_problem, main, not_taken: vec![] }
    }

    /// Returns the adapters whose names it may have.
    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.base.1
    }

    /// Returns the faults of the files as they are now.
    pub fn problems(&self) -> Vec<String> {
        let of_files = self.files.iter().filter_map(|file| file.problem.clone());
        let mut problems: Vec<String> = of_files.chain(self.own_problem.clone()).collect();
        problems.extend(self.clashes());
        problems.extend(self.not_taken.iter().cloned());
        problems
    }

    /// Returns the settings of agents and runtimes that cannot work. Sessions that would need it are refused.
    pub fn unworkable(&self) -> Vec<String> {
        let said = self.files.iter().filter_map(|file| file.said.as_ref());
        let own = self.files.is_empty().then_some(&self.own);
        let all = said.chain(own);
        let problems = all.flat_map(|loaded| combination::unworkable(loaded, self.registry()).refused);
        problems.map(|problem| problem.to_string()).collect()
    }

    /// Remembers which files these are.
    pub fn remember(&self, data_dir: &Utf8Path) -> Result<(), DaemonError> {
        let projects = self.files.iter().map(|file| (file.path.clone(), file.names.clone())).collect();
        let kept = StoredFiles { files: self.paths(), projects };
        if remembered(data_dir)? == kept {
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
            .map_err(|err| DaemonError::environment(format!("`{path}` cannot be written: {err}")))
    }

    /// The registered files.
    pub fn paths(&self) -> Vec<Utf8PathBuf> {
        self.files.iter().map(|file| file.path.clone()).collect()
    }

    /// Returns every file that takes part.
    pub fn layers(&self) -> Vec<Layer> {
        let loaded = self.files.iter().filter_map(|file| file.said.as_ref());
        let mut layers: Vec<Layer> = Vec::new();
        for layer in loaded.chain([&self.own]).flat_map(|loaded| &loaded.layers) {
            if !layers.contains(layer) {
                layers.push(layer.clone());
            }
        }
        layers
    }

    /// Returns every file that is worth watching: those that take part, those that could not be read, and those that
    /// would join them once they exist.
    pub fn watched(&self) -> Vec<Utf8PathBuf> {
        let mut files = BTreeSet::new();
        let around = |layers: &[Layer]| ao_config::watch::files(layers, &places_in(&self.base.0, None));
        files.extend(around(&self.own.layers));
        for file in &self.files {
            let registered = Layer { kind: LayerKind::Project, path: file.path.clone() };
            let said = file.said.as_ref().map(|loaded| loaded.layers.clone()).unwrap_or_default();
            files.extend(around(&[vec![registered], said].concat()));
        }
        files.into_iter().collect()
    }

    /// Returns the user's own configuration, and then the content of each registered file in order.
    pub fn by_file(&self) -> (&Arc<Loaded>, impl Iterator<Item = (&Utf8Path, Option<&Arc<Loaded>>)>) {
        (&self.own, self.files.iter().map(|file| (file.path.as_path(), file.said.as_ref())))
    }

    /// Returns true if every file could be read, so that what none of them names is named nowhere.
    pub fn is_whole(&self) -> bool {
        self.own_problem.is_none() && self.files.iter().all(|file| file.problem.is_none())
    }

    pub fn projects(&self) -> BTreeMap<ProjectId, KnownProject> {
        let mut projects = BTreeMap::new();
        let files = self.files.iter().filter_map(|file| Some((Some(file.path.clone()), file.said.clone()?)));
        for (file, loaded) in files.chain([(None, self.own.clone())]) {
            // Those of the user's own file are in every configuration, and belong to none of the others.
            for name in loaded.config.projects.keys().filter(|name| file.is_none() || loaded.names(name)) {
                let known =
                    || KnownProject { name: name.clone(), loaded: loaded.clone(), file: file.clone() };
                projects.entry(ProjectId::new(name)).or_insert_with(known);
            }
        }
        projects
    }

    /// The file to forget so that a project is forgotten: one that names no other, or one that is not there any more.
    pub fn file_to_forget(&self, project: &str) -> Option<&Utf8Path> {
        let named = |file: &&RegisteredFile| file.names.iter().any(|name| name == project);
        let file = self.files.iter().find(named)?;
        (file.names.len() == 1 || !file.path.exists()).then_some(&file.path)
    }

    /// Returns a text for each two projects of one name in two files. The first one counts.
    fn clashes(&self) -> Vec<String> {
        let mut seen: BTreeMap<&str, (&Utf8Path, &Utf8Path)> = BTreeMap::new();
        let mut clashes = Vec::new();
        for RegisteredFile { path: file, said, .. } in &self.files {
            let Some(loaded) = said else { continue };
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

impl RegisteredFile {
    fn says(&mut self, loaded: Loaded) {
        self.names = loaded.config.projects.keys().filter(|name| loaded.names(name)).cloned().collect();
        self.said = Some(Arc::new(loaded));
        self.problem = None;
    }

    fn wrong(&self, err: &DaemonError) -> String {
        match self.names.first().filter(|_| !self.path.exists()) {
            Some(name) => format!(
                "`{}` is not there any more; put it back, or forget it with `ao remove-project {name}`",
                self.path
            ),
            None => err.to_plain(),
        }
    }
}

impl KnownProject {
    pub fn effective(&self) -> ao_config::Effective<'_> {
        self.loaded.config.effective(&self.name).expect("a known project is in its configuration")
    }

    /// Returns its forge.
    pub fn scm(&self) -> Plugin {
        self.effective().forge(&self.loaded.catalog)
    }
}

/// Reads one file with the layers around it; without one, the user's own.
pub fn load(file: Option<&Utf8Path>) -> Result<Loaded, DaemonError> {
    ao_config::load(&places(file)?).map_err(config_error)
}

fn load_in(base: &Places, file: Option<&Utf8Path>) -> Result<Loaded, DaemonError> {
    ao_config::load(&places_in(base, file)).map_err(config_error)
}

/// From where a file is read, wherever the daemon itself happens to be.
pub fn places(file: Option<&Utf8Path>) -> Result<Places, DaemonError> {
    Ok(places_in(&Places::of_process(registry::catalog()).map_err(config_error)?, file))
}

fn places_in(base: &Places, file: Option<&Utf8Path>) -> Places {
    let mut places = base.clone();
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
    places
}

pub fn config_error(err: ao_config::ConfigError) -> DaemonError {
    DaemonError::config(err)
}

/// Returns true if ao was started with this file before.
pub fn is_registered(data_dir: &Utf8Path, file: &Utf8Path) -> bool {
    remembered(data_dir).is_ok_and(|kept| kept.files.iter().any(|known| known == file))
}

/// Returns the main file: the first of those that ao was started with and that still exist.
pub fn first_file(data_dir: &Utf8Path) -> Option<Utf8PathBuf> {
    remembered(data_dir).ok()?.files.into_iter().find(|file| file.is_file())
}

fn list_of(data_dir: &Utf8Path) -> Utf8PathBuf {
    data_dir.join("configs.json")
}

fn remembered(data_dir: &Utf8Path) -> Result<StoredFiles, DaemonError> {
    let path = list_of(data_dir);
    let text = match fs::read_to_string(&path) {
        Err(err) if err.kind() == ErrorKind::NotFound => return Ok(StoredFiles::default()),
        read => read.map_err(|err| DaemonError::environment(format!("`{path}` cannot be read: {err}")))?,
    };
    serde_json::from_str(&text).map_err(|err| {
        DaemonError::environment(format!("`{path}` cannot be parsed: {err}"))
            .hint("remove it, and run `ao start` in each repository again")
    })
}
