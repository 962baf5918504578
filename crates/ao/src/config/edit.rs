//! Edits a configuration file: only if the result is valid, and with a reload of the running daemon.

use std::fs::File;
use std::io;

use ao_api::Reloaded;
use ao_config::edit::{self, EditError};
use ao_config::{ConfigError, Layer, LayerKind, Loaded, Places, Problem};
use ao_daemon::config::apply::strange_tools;
use ao_daemon::registry;
use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::{FlockOperation, flock};

use crate::cli::context::Context;
use crate::config::settings;
use crate::error::{CommandError, FailureKind};
use crate::{combination, ui};

/// A file to edit, and all files that are loaded with it.
#[derive(Debug)]
pub(crate) struct ConfigEdit {
    places: Places,
    layers: Vec<Layer>,
    file: Utf8PathBuf,
}

impl ConfigEdit {
    /// Returns the project's file, or else the user's.
    pub(crate) fn of_main_file(cx: &Context) -> Result<ConfigEdit, CommandError> {
        ConfigEdit::of_found_file(cx)?.ok_or_else(|| {
            CommandError::config("there is no configuration file here to change")
                .hint("write one with `ao init`, name one with `--config`, or use your own with `--user`")
        })
    }

    /// Returns the file in use, if there is one.
    pub(crate) fn of_found_file(cx: &Context) -> Result<Option<ConfigEdit>, CommandError> {
        let places = settings::places(cx)?;
        let layers = ao_config::find(&places)?;
        let project = layers.iter().find(|layer| layer.kind == LayerKind::Project);
        let file = project.or(layers.first()).map(|layer| layer.path.clone());
        Ok(file.map(|file| ConfigEdit { places, layers, file }))
    }

    /// Returns the user's own file, which is created if needed.
    pub(crate) fn of_user_file(cx: &Context) -> Result<ConfigEdit, CommandError> {
        let places = settings::places(cx)?;
        let mut layers = ao_config::find(&places)?;
        let file = places.user_file().ok_or_else(|| {
            CommandError::config("the folder of your configuration is unknown: HOME is not set")
        })?;
        if !layers.iter().any(|layer| layer.path == file) {
            layers.insert(0, Layer { kind: LayerKind::User, path: file.clone() });
        }
        Ok(ConfigEdit { places, layers, file })
    }

    /// Returns a given one of the files in use.
    pub(crate) fn of_file(file: &Utf8Path, cx: &Context) -> Result<ConfigEdit, CommandError> {
        let mut places = settings::places(cx)?;
        let mut layers = ao_config::find(&places)?;
        if !layers.iter().any(|layer| layer.path == file) {
            places.cwd = file.parent().unwrap_or(file).to_owned();
            layers = vec![Layer { kind: LayerKind::Project, path: file.to_owned() }];
        }
        Ok(ConfigEdit { places, layers, file: file.to_owned() })
    }

    pub(crate) fn file(&self) -> &Utf8Path {
        &self.file
    }

    pub(crate) fn places(&self) -> &Places {
        &self.places
    }

    /// Applies an edit, and returns true if it changed anything. Nothing is written if the result would be invalid.
    pub(crate) fn make(
        &self,
        edit: impl FnOnce(&str) -> Result<String, EditError>,
    ) -> Result<bool, CommandError> {
        let _turn = self.turn();
        let before = match self.file.exists() {
            true => ao_config::read_file(&self.file)?,
            false => String::new(),
        };
        let after = edit(&before).map_err(|err| match err {
            // Loading the whole file reports this better, with the line itself.
            EditError::Malformed { .. } => {
                self.check(&before).err().unwrap_or_else(|| CommandError::config(err))
            }
            EditError::UnknownKey { .. } | EditError::BadPath(_) => {
                CommandError::new(FailureKind::UnknownKey, err).hint("`ao config-help` lists all keys")
            }
            EditError::Invalid { .. } => CommandError::config(err).hint("the file was not changed"),
            err => CommandError::user(format!("`{}`: {err}", self.file)),
        })?;
        if after == before {
            return Ok(false);
        }
        self.check(&after)
            .and_then(|loaded| self.adds_nothing_unworkable(&before, &loaded))
            .map_err(|err| err.hint("the file was not changed"))?;
        match edit::write(&self.file, &after) {
            Ok(()) => Ok(true),
            Err(err) => {
                Err(CommandError::environment(format!("`{}` could not be written: {err}", self.file))
                    .hint("check its owner and free disk space; the file was not changed"))
            }
        }
    }

    /// Concurrent edits take turns. Locks the folder, because the file itself is replaced.
    fn turn(&self) -> Option<File> {
        let folder = File::open(self.file.parent()?).ok()?;
        flock(&folder, FlockOperation::LockExclusive).ok()?;
        Some(folder)
    }

    /// Loads all files as they would be after the edit.
    fn check(&self, text: &str) -> Result<Loaded, CommandError> {
        Ok(ao_config::load_edited(self.layers.clone(), &self.file, text, &self.places)?)
    }

    /// Refuses settings that cannot work, unless they were there before: problems are fixed one by one. Names that no plugin
    /// has yet are only reported where sessions work without them.
    fn adds_nothing_unworkable(&self, before: &str, after: &Loaded) -> Result<(), CommandError> {
        let missing = |loaded: &Loaded, essential: bool| -> Vec<Problem> {
            let named = loaded.missing.iter().filter(|missing| missing.slot.is_essential() == essential);
            named.map(|missing| missing.problem.clone()).collect()
        };
        let unworkable = |loaded: &Loaded| {
            let found = combination::unworkable(loaded, &registry::built_in()).refused;
            [strange_tools(loaded), missing(loaded, true), found].concat()
        };
        let was = self.check(before).ok();
        let added = |found: &dyn Fn(&Loaded) -> Vec<Problem>| {
            let mut known: Vec<String> = was.iter().flat_map(found).map(|problem| problem.what).collect();
            let mut new = found(after);
            new.retain(|problem| {
                let is_new = !known.contains(&problem.what);
                known.push(problem.what.clone());
                is_new
            });
            new
        };
        let problems = added(&unworkable);
        if !problems.is_empty() {
            return Err(ConfigError { problems }.into());
        }
        added(&|loaded| missing(loaded, false)).iter().for_each(ui::problem);
        Ok(())
    }
}

/// The daemon's response to an edit; nothing if none runs.
#[derive(Debug)]
pub(crate) struct ReloadReport {
    pub(crate) reloaded: Option<Reloaded>,
    /// The daemon reads that file at all.
    used: bool,
}

/// Asks the running daemon, if there is one, to reload its configuration.
pub(crate) fn reload_daemon(file: &Utf8Path, cx: &Context) -> Result<ReloadReport, CommandError> {
    let answer = cx.call(async |client| {
        match client.post::<Reloaded>("/api/daemon/reload", &serde_json::json!({})).await {
            Ok(reloaded) => Ok(Some(reloaded)),
            Err(err) if err.is_absence() => Ok(None),
            Err(err) => Err(CommandError::from(err).hint("the file was changed anyway")),
        }
    })?;
    let user_file = settings::places(cx)?.user_file();
    let used = answer.as_ref().is_none_or(|reloaded| {
        user_file.as_deref() == Some(file) || reloaded.configs.iter().any(|config| config == file.as_str())
    });
    Ok(ReloadReport { reloaded: answer, used })
}

impl ReloadReport {
    /// Returns true if a daemon runs and does not read the file.
    pub(crate) fn is_unread(&self) -> bool {
        self.reloaded.is_some() && !self.used
    }

    /// Prints the response for people.
    pub(crate) fn show(&self) -> io::Result<()> {
        match &self.reloaded {
            None => ui::note("no daemon runs; it applies from the next `ao start`"),
            Some(_) if !self.used => {
                ui::note("the running daemon does not read this file; `ao start` in its folder adds it");
            }
            Some(reloaded) => {
                ui::line("The daemon has applied it")?;
                for change in &reloaded.changes {
                    ui::line(format_args!("  {change}"))?;
                }
                for setting in &reloaded.needs_restart {
                    ui::note(format_args!("{setting} applies from its next start: `ao stop && ao start`"));
                }
            }
        }
        Ok(())
    }
}
