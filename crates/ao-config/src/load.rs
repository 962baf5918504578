//! Reads files into one configuration, or says everything that is wrong with them.
//!
//! ```text
//! text ─► tree ─► main dialect ─► right names ─┐
//! text ─► tree ─► main dialect ─► right names ─┼─ laid over each other ─► environment ─► types ─► sense
//! text ─► tree ─► main dialect ─► right names ─┘
//! ```

use std::collections::BTreeSet;
use std::io::Read;

use camino::{Utf8Path, Utf8PathBuf};

use crate::error::{ConfigError, Problem, Source, Warning};
use crate::find::{Layer, LayerKind, Places, find};
use crate::fit::{self, Around, Found, Misfit};
use crate::implicit::{self, ImplicitProject};
use crate::reference::TOP;
use crate::shape::Config;
use crate::tree::{At, MAX_BYTES, Tree};
use crate::{check, dialect};

/// A configuration and where it comes from.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub config: Config,
    /// The files it was read from, in the order in which they were laid over each other.
    pub layers: Vec<Layer>,
    /// What will not work if it is used.
    pub warnings: Vec<Warning>,
    /// What is wrong with agents of the user's own, by their name.
    wrong_tools: Vec<(String, Problem)>,
    /// The projects that a file other than the user's own names.
    named: BTreeSet<String>,
    /// The project that no file names.
    pub implicit: Option<ImplicitProject>,
    /// The keys at the top that a file other than the user's own has.
    top_keys: Vec<(String, At)>,
    /// As it was written, for showing it.
    tree: Tree,
    /// The files as they were read, for showing lines of them.
    sources: Vec<Source>,
}

/// Finds and reads the configuration. Without any file it is the default one.
pub fn load(places: &Places) -> Result<Loaded, ConfigError> {
    load_files(find(places)?, places)
}

/// Reads these files, each laid over those before it.
pub fn load_files(layers: Vec<Layer>, places: &Places) -> Result<Loaded, ConfigError> {
    let read = |layer: &Layer| Ok(Source { path: layer.path.clone(), text: read_file(&layer.path)? });
    let sources = layers.iter().map(read).collect::<Result<Vec<_>, ConfigError>>()?;
    assemble(layers, &sources, places)
}

/// The same, as if one of the files had this text: what an edit would come to, before it is kept.
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
        Ok(Source { path: layer.path.clone(), text })
    };
    let sources = layers.iter().map(read).collect::<Result<Vec<_>, ConfigError>>()?;
    assemble(layers, &sources, places)
}

/// Reads a text as if it were a project's file of that name.
pub fn parse_str(path: &Utf8Path, text: &str, places: &Places) -> Result<Loaded, ConfigError> {
    parse_layers(&[(LayerKind::Project, path, text)], places)
}

/// Reads texts as if they were files of those names, each laid over those before it.
pub fn parse_layers(texts: &[(LayerKind, &Utf8Path, &str)], places: &Places) -> Result<Loaded, ConfigError> {
    let layer =
        |(kind, path, _): &(LayerKind, &Utf8Path, &str)| Layer { kind: *kind, path: path.to_path_buf() };
    let source = |(_, path, text): &(LayerKind, &Utf8Path, &str)| Source {
        path: path.to_path_buf(),
        text: (*text).to_owned(),
    };
    if let Some((_, path, _)) = texts.iter().find(|(_, _, text)| text.len() > MAX_BYTES) {
        return Err(too_long(path));
    }
    let sources: Vec<Source> = texts.iter().map(source).collect();
    assemble(texts.iter().map(layer).collect(), &sources, places)
}

/// Reads a file that may be anything.
pub fn read_file(path: &Utf8Path) -> Result<String, ConfigError> {
    let about = |what: String| ConfigError::about(path, what, None);
    let cannot = |err: std::io::Error| about(format!("cannot be read: {err}"));
    // Opening a pipe would wait for whoever writes into it.
    if !std::fs::metadata(path).map_err(cannot)?.is_file() {
        return Err(about("is no file".into()));
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
        about(format!("line {line} is no UTF-8 text"))
    })
}

impl Loaded {
    /// What was configured, in the main dialect: all layers in one, with references instead of what they stand for.
    pub fn show(&self) -> String {
        let mut tree = self.tree.clone();
        fit::shorten(&mut tree);
        let place = |key: &String| TOP.iter().position(|known| known == key);
        if let Some(top) = tree.as_map_mut() {
            top.sort_by(|a, _, b, _| place(a).cmp(&place(b)));
        }
        crate::yaml::write(&tree)
    }

    /// A problem with what stands at a path, found by whoever knows more of it than its shape. The nearest part that exists is
    /// the place.
    pub fn problem(&self, path: &[&str], what: &str, hint: Option<String>) -> Problem {
        let tree = self.tree.follow(path.iter().copied());
        Problem::at(&self.sources, tree.at, tree.veiled(what.to_owned()), hint)
    }

    /// Returns what is wrong with the agents that `tools` describes, by their name. One that is wrong stops no other, so it is
    /// up to the caller to refuse it.
    pub fn wrong_tools(&self) -> &[(String, Problem)] {
        &self.wrong_tools
    }

    /// The file that projects are added to: the project's own, or else the user's.
    pub fn main_file(&self) -> Option<&Utf8Path> {
        let project = self.layers.iter().find(|layer| layer.kind == LayerKind::Project);
        project.or(self.layers.first()).map(|layer| layer.path.as_path())
    }

    /// Something that is not right with what stands at a path, such as `["defaults", "tracker"]`. Where nothing stands there, it
    /// is about the file as a whole.
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

    /// The same about a key at the top of the project's own files; none if they do not have it.
    pub fn problem_at_top(
        &self,
        key: &str,
        what: impl Into<String>,
        hint: Option<String>,
    ) -> Option<Problem> {
        let (_, at) = self.top_keys.iter().find(|(known, _)| known == key)?;
        Some(Problem::at(&self.sources, *at, what, hint))
    }

    /// Whether something stands at a path in one of the files.
    pub fn is_written(&self, path: &[&str]) -> bool {
        self.tree.find(path.iter().copied()).is_some()
    }

    /// Whether the project's own files name this project, and not the user's alone.
    pub fn names(&self, project: &str) -> bool {
        self.named.contains(project)
    }

    /// The name of the project that a folder belongs to: the one with the longest path that leads to it.
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

fn assemble(layers: Vec<Layer>, sources: &[Source], places: &Places) -> Result<Loaded, ConfigError> {
    let problem = |misfit: &Misfit| Problem::at(sources, misfit.at, &misfit.what, misfit.hint.clone());
    let refuse = |misfits: &[Misfit]| ConfigError { problems: misfits.iter().map(problem).collect() };

    let folders: Vec<Utf8PathBuf> =
        sources.iter().map(|source| folder_of(&source.path, &places.cwd)).collect();
    let mut tree = Tree::map(At::default());
    let mut misfits = Vec::new();
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
                misfits.extend(found.misfits);
                tools.extend(found.tools);
            }
            Err(misfit) => misfits.push(misfit),
        }
    }
    if !misfits.is_empty() {
        return Err(refuse(&misfits));
    }

    let project_file = layers.iter().position(|layer| layer.kind == LayerKind::Project);
    let implicit = match project_file {
        Some(file) if named.is_empty() => {
            implicit::add(&mut tree, file, &folders[file], places.home.as_deref())
        }
        _ => None,
    };
    named.extend(implicit.iter().map(|project| project.name.clone()));

    let around = Around { env: &places.env, home: places.home.as_deref(), folders };
    let found = fit::fit_whole(&mut tree, &around);
    if !found.misfits.is_empty() {
        return Err(refuse(&found.misfits));
    }
    let found_by_layer: BTreeSet<String> = tools.iter().map(|(name, _)| name.clone()).collect();
    for wrong in found.tools {
        // Of one that a layer got wrong, what was left of it says nothing more.
        if !found_by_layer.contains(&wrong.0) {
            tools.push(wrong);
        }
    }
    let config: Config = serde_path_to_error::deserialize(tree.to_json()).map_err(|err| {
        let parts: Vec<String> = err.path().iter().map(|part| part.to_string()).collect();
        let parts = parts.iter().map(|part| part.trim_matches(['[', ']']));
        refuse(&[Misfit { at: tree.follow(parts).at, what: err.inner().to_string(), hint: None }])
    })?;
    let misfits = check::check(&config, &tree);
    if !misfits.is_empty() {
        return Err(refuse(&misfits));
    }
    let idle = check::idle(&config, &tree);
    let warnings = found.warnings.iter().chain(&idle).map(|misfit| Warning(problem(misfit))).collect();
    let wrong_tools = tools.iter().map(|(name, misfit)| (name.clone(), problem(misfit))).collect();
    let sources = sources.to_vec();
    Ok(Loaded { config, layers, warnings, wrong_tools, named, implicit, top_keys, tree, sources })
}

fn read_layer(file: usize, source: &Source, folder: &Utf8Path) -> Result<(Tree, Found), Misfit> {
    let mut tree = Tree::read(file, &source.text).map_err(|malformed| {
        let tab = source
            .text
            .lines()
            .nth(malformed.at.line.saturating_sub(1))
            .is_some_and(|line| line.chars().take_while(|c| c.is_whitespace()).any(|c| c == '\t'));
        let hint = tab.then(|| "YAML is indented by spaces, never by tabs".to_owned());
        Misfit { at: malformed.at, what: malformed.what, hint }
    })?;
    dialect::to_main(&mut tree, folder)?;
    let found = fit::fit_layer(&mut tree);
    Ok((tree, found))
}

fn folder_of(path: &Utf8Path, cwd: &Utf8Path) -> Utf8PathBuf {
    let whole = cwd.join(path);
    whole.parent().unwrap_or(cwd).to_path_buf()
}

fn too_long(path: &Utf8Path) -> ConfigError {
    let what = format!("is longer than a configuration may be ({} KB)", MAX_BYTES / 1024);
    ConfigError::about(path, what, None)
}
