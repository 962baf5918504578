//! Loads files into one configuration, or returns everything that is wrong with them.
//!
//! ```text
//! text ─► tree ─► main dialect ─► right names ─┐
//! text ─► tree ─► main dialect ─► right names ─┼─ laid over each other ─► environment ─► types ─► sense
//! text ─► tree ─► main dialect ─► right names ─┘
//! ```

use std::collections::BTreeSet;
use std::io::Read;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use crate::catalog::{MissingPlugin, PluginCatalog};
use crate::error::{ConfigError, Problem, SourceText, Warning};
use crate::find::{Layer, LayerKind, Places, find};
use crate::implicit::{self, ImplicitProject};
use crate::normalize::{self, ConfigMistake, NormalizeContext, NormalizeReport};
use crate::reference::TOP;
use crate::shape::Config;
use crate::tree::{ConfigTree, MAX_BYTES, TextPosition};
use crate::{check, dialect};

/// A configuration and its sources.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub config: Config,
    /// The files it was read from, in the order in which they override each other.
    pub layers: Vec<Layer>,
    /// Problems that have no effect until the value is used.
    pub warnings: Vec<Warning>,
    /// The configured names that no plugin has yet. Each is refused where it is used.
    pub missing: Vec<MissingPlugin>,
    /// Mistakes in the user's own agents, by name.
    wrong_tools: Vec<(String, Problem)>,
    /// The projects that are named in a file other than the user's own.
    named: BTreeSet<String>,
    /// The project that no file names.
    pub implicit: Option<ImplicitProject>,
    /// The top-level keys of all files except the user's own.
    top_keys: Vec<(String, TextPosition)>,
    /// The merged tree, for display.
    tree: ConfigTree,
    /// The files as they were read, to show lines of them.
    sources: Vec<SourceText>,
    /// The plugins that it was checked against.
    pub catalog: Arc<PluginCatalog>,
}

/// Finds and loads the configuration. Without any file it is the default one.
pub fn load(places: &Places) -> Result<Loaded, ConfigError> {
    load_files(find(places)?, places)
}

/// Loads these files, each overriding those before it.
pub fn load_files(layers: Vec<Layer>, places: &Places) -> Result<Loaded, ConfigError> {
    let read = |layer: &Layer| Ok(SourceText { path: layer.path.clone(), text: read_file(&layer.path)? });
    let sources = layers.iter().map(read).collect::<Result<Vec<_>, ConfigError>>()?;
    assemble(layers, &sources, places)
}

/// Loads files as if one of them had this text, to check an edit before it is written.
pub fn load_edited(
    layers: Vec<Layer>,
    path: &Utf8Path,
    text: &str,
    places: &Places,
) -> Result<Loaded, ConfigError> {
    if text.len() > MAX_BYTES {
        return Err(too_long(path));
    }
    let read = |layer: &Layer| {
        let text = if layer.path == path { text.to_owned() } else { read_file(&layer.path)? };
        Ok(SourceText { path: layer.path.clone(), text })
    };
    let sources = layers.iter().map(read).collect::<Result<Vec<_>, ConfigError>>()?;
    assemble(layers, &sources, places)
}

/// Parses a text as a project's file at that path.
pub fn parse_str(path: &Utf8Path, text: &str, places: &Places) -> Result<Loaded, ConfigError> {
    parse_layers(&[(LayerKind::Project, path, text)], places)
}

/// Parses texts as files at those paths, each overriding those before it.
pub fn parse_layers(texts: &[(LayerKind, &Utf8Path, &str)], places: &Places) -> Result<Loaded, ConfigError> {
    let layer =
        |(kind, path, _): &(LayerKind, &Utf8Path, &str)| Layer { kind: *kind, path: path.to_path_buf() };
    let source = |(_, path, text): &(LayerKind, &Utf8Path, &str)| SourceText {
        path: path.to_path_buf(),
        text: (*text).to_owned(),
    };
    if let Some((_, path, _)) = texts.iter().find(|(_, _, text)| text.len() > MAX_BYTES) {
        return Err(too_long(path));
    }
    let sources: Vec<SourceText> = texts.iter().map(source).collect();
    assemble(texts.iter().map(layer).collect(), &sources, places)
}

/// Reads a file of unknown content.
pub fn read_file(path: &Utf8Path) -> Result<String, ConfigError> {
    let about = |what: String| ConfigError::about(path, what, None);
    let cannot = |err: std::io::Error| about(format!("cannot be read: {err}"));
    // Opening a named pipe would block until another process writes to it.
    if !std::fs::metadata(path).map_err(cannot)?.is_file() {
        return Err(about("is not a file".into()));
    }
    let file = std::fs::File::open(path).map_err(cannot)?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() > MAX_BYTES {
        return Err(too_long(path));
    }
    String::from_utf8(bytes).map_err(|err| {
        let line = 1 + err.as_bytes()[..err.utf8_error().valid_up_to()]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        about(format!("line {line} is not UTF-8 text"))
    })
}

impl Loaded {
    /// Returns the merged layers in the main dialect, with references instead of their values.
    pub fn show(&self) -> String {
        let mut tree = self.tree.clone();
        normalize::shorten(&mut tree);
        let place = |key: &String| TOP.iter().position(|known| known == key);
        if let Some(top) = tree.as_map_mut() {
            top.sort_by(|a, _, b, _| place(a).cmp(&place(b)));
        }
        crate::yaml::write(&tree)
    }

    /// Returns a problem with the value at a path, for callers that know more about it than its schema. Its position is
    /// that of the nearest part that exists.
    pub fn problem(&self, path: &[&str], what: &str, hint: Option<String>) -> Problem {
        let tree = self.tree.follow(path.iter().copied());
        Problem::at(&self.sources, tree.at, tree.masked(what.to_owned()), hint)
    }

    /// Returns the mistakes in the agents that `tools` describes, by name. One faulty agent stops no other, so the
    /// caller has to refuse it.
    pub fn wrong_tools(&self) -> &[(String, Problem)] {
        &self.wrong_tools
    }

    /// Returns the file that projects are added to: the project's own, or else the user's.
    pub fn main_file(&self) -> Option<&Utf8Path> {
        let project = self.layers.iter().find(|layer| layer.kind == LayerKind::Project);
        project.or(self.layers.first()).map(|layer| layer.path.as_path())
    }

    /// Returns a problem with the value at a path, such as `["defaults", "tracker"]`. If there is no value, the problem
    /// concerns the file as a whole.
    pub fn problem_at(&self, path: &[&str], what: impl Into<String>, hint: Option<String>) -> Problem {
        let at = self.tree.find(path.iter().copied()).map(|tree| tree.at).unwrap_or_default();
        match at.line {
            0 => Problem {
                file: self.main_file().map(ToOwned::to_owned).unwrap_or_default(),
                place: None,
                what: what.into(),
                hint,
                source: None,
            },
            _ => Problem::at(&self.sources, at, what, hint),
        }
    }

    /// Returns a problem with a top-level key of the project's own files, or `None` if they do not have it.
    pub fn problem_at_top(
        &self,
        key: &str,
        what: impl Into<String>,
        hint: Option<String>,
    ) -> Option<Problem> {
        let (_, at) = self.top_keys.iter().find(|(known, _)| known == key)?;
        Some(Problem::at(&self.sources, *at, what, hint))
    }

    /// Returns `true` if one of the files has a value at this path.
    pub fn is_written(&self, path: &[&str]) -> bool {
        self.tree.find(path.iter().copied()).is_some()
    }

    /// Returns `true` if the project's own files name this project, not only the user's.
    pub fn names(&self, project: &str) -> bool {
        self.named.contains(project)
    }

    /// Returns the project that a folder belongs to: the one with the longest path above it.
    pub fn project_of(&self, folder: &Utf8Path) -> Option<&str> {
        let real = |path: &Utf8Path| path.canonicalize_utf8().unwrap_or_else(|_| path.to_path_buf());
        let folder = real(folder);
        let holding =
            self.config.projects.iter().filter(|(_, project)| folder.starts_with(real(&project.path)));
        holding
            .max_by_key(|(_, project)| real(&project.path).components().count())
            .map(|(name, _)| name.as_str())
    }
}

fn assemble(layers: Vec<Layer>, sources: &[SourceText], places: &Places) -> Result<Loaded, ConfigError> {
    let problem =
        |mistake: &ConfigMistake| Problem::at(sources, mistake.at, &mistake.what, mistake.hint.clone());
    let refuse =
        |mistakes: &[ConfigMistake]| ConfigError { problems: mistakes.iter().map(problem).collect() };

    let folders: Vec<Utf8PathBuf> =
        sources.iter().map(|source| folder_of(&source.path, &places.cwd)).collect();
    let mut tree = ConfigTree::map(TextPosition::default());
    let mut mistakes = Vec::new();
    let mut named = BTreeSet::new();
    let mut tools = Vec::new();
    let mut top_keys = Vec::new();
    for (file, source) in sources.iter().enumerate() {
        match read_layer(file, source, &folders[file]) {
            Ok((layer, found)) => {
                if layers[file].kind != LayerKind::User {
                    let projects = layer.as_map().and_then(|top| top.get("projects")?.tree.as_map());
                    named.extend(projects.into_iter().flat_map(|projects| projects.keys().cloned()));
                    let keys = layer.as_map().into_iter().flatten();
                    top_keys.extend(keys.map(|(key, entry)| (key.clone(), entry.key_at)));
                }
                tree.overlay(layer);
                mistakes.extend(found.mistakes);
                tools.extend(found.tools);
            }
            Err(mistake) => mistakes.push(mistake),
        }
    }
    if !mistakes.is_empty() {
        return Err(refuse(&mistakes));
    }

    let project_file = layers.iter().position(|layer| layer.kind == LayerKind::Project);
    let implicit = match project_file {
        Some(file) if named.is_empty() => {
            implicit::add(&mut tree, file, &folders[file], places.home.as_deref())
        }
        _ => None,
    };
    named.extend(implicit.iter().map(|project| project.name.clone()));

    let context = NormalizeContext { env: &places.env, home: places.home.as_deref(), folders };
    let found = normalize::normalize_merged(&mut tree, &context);
    if !found.mistakes.is_empty() {
        return Err(refuse(&found.mistakes));
    }
    let found_by_layer: BTreeSet<String> = tools.iter().map(|(name, _)| name.clone()).collect();
    for wrong in found.tools {
        // If a layer had mistakes in this agent, the merged rest of it gives no further information.
        if !found_by_layer.contains(&wrong.0) {
            tools.push(wrong);
        }
    }
    let config: Config = normalize::read_as(&tree).map_err(|mistake| refuse(&[mistake]))?;
    let (mistakes, missing) = check::check(&config, &tree, &places.catalog);
    if !mistakes.is_empty() {
        return Err(refuse(&mistakes));
    }
    let unused = check::unused_keys(&config, &tree, &places.catalog);
    let warnings = found.warnings.iter().chain(&unused).map(|mistake| Warning(problem(mistake))).collect();
    let catalog = places.catalog.clone();
    let missing = missing.into_iter().map(|(slot, name, path)| {
        let at = tree.follow(path.iter().map(String::as_str)).at;
        let key = config_key(&path);
        let hint = catalog.alternative(slot, &name, key.as_deref());
        let problem = Problem::at(sources, at, catalog.not_available(slot, &name), Some(hint));
        MissingPlugin { slot, name, path, problem }
    });
    let missing = missing.collect();
    let wrong_tools = tools.iter().map(|(name, mistake)| (name.clone(), problem(mistake))).collect();
    let sources = sources.to_vec();
    Ok(Loaded {
        config,
        layers,
        warnings,
        missing,
        wrong_tools,
        named,
        implicit,
        top_keys,
        tree,
        sources,
        catalog,
    })
}

/// Returns the key by which `ao config set` changes the value at a path; none for a part of a list.
fn config_key(path: &[String]) -> Option<String> {
    let path = path.strip_suffix(&["plugin".to_owned()]).unwrap_or(path);
    path.iter().all(|part| part.parse::<usize>().is_err()).then(|| path.join("."))
}

fn read_layer(
    file: usize,
    source: &SourceText,
    folder: &Utf8Path,
) -> Result<(ConfigTree, NormalizeReport), ConfigMistake> {
    let mut tree = ConfigTree::read(file, &source.text).map_err(|malformed| {
        let tab = source
            .text
            .lines()
            .nth(malformed.at.line.saturating_sub(1))
            .is_some_and(|line| line.chars().take_while(|c| c.is_whitespace()).any(|c| c == '\t'));
        let hint = tab.then(|| "YAML is indented by spaces, never by tabs".to_owned());
        ConfigMistake { at: malformed.at, what: malformed.what, hint }
    })?;
    dialect::to_main(&mut tree, folder)?;
    let found = normalize::normalize_layer(&mut tree);
    Ok((tree, found))
}

fn folder_of(path: &Utf8Path, cwd: &Utf8Path) -> Utf8PathBuf {
    let whole = cwd.join(path);
    whole.parent().unwrap_or(cwd).to_path_buf()
}

fn too_long(path: &Utf8Path) -> ConfigError {
    let what = format!("is larger than a configuration may be ({} KB)", MAX_BYTES / 1024);
    ConfigError::about(path, what, None)
}
