//! The first configuration of a repository: its defaults, and its text.
//!
//! It contains no path of this machine, so that it can be committed.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;

use ao_config::catalog::PluginSlot;
use ao_config::init::{InitCheck, InitValues};
use ao_config::shape::Defaults;
use ao_config::{Env, PROJECT_FILES, names};
use ao_daemon::registry;
use ao_scm::checks::ProposedCheck;
use camino::{Utf8Path, Utf8PathBuf};

use crate::config::check_offer;
use crate::error::CommandError;
use crate::repository::GitRepository;
use crate::{findings, program};

/// The user's choices; absent ones are detected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct InitialChoices {
    pub(crate) tracker: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) runtime: Option<String>,
    pub(crate) workspace: Option<String>,
    pub(crate) project: Option<String>,
}

/// A configuration to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InitialConfig {
    pub(crate) project: String,
    pub(crate) repo: Option<String>,
    pub(crate) default_branch: String,
    pub(crate) runtime: String,
    pub(crate) agent: String,
    pub(crate) workspace: String,
    pub(crate) tracker: String,
    /// Checks that the repository's files suggest.
    pub(crate) checks: Vec<ProposedCheck>,
    /// The checks are enabled.
    pub(crate) runs_checks: bool,
    pub(crate) notifiers: Vec<String>,
    /// Notes about defaults that were chosen.
    pub(crate) notes: Vec<String>,
}

impl InitialConfig {
    /// Chooses what fits the repository and the machine.
    pub(crate) async fn choose(
        repository: &GitRepository,
        wishes: &InitialChoices,
    ) -> Result<InitialConfig, CommandError> {
        let (mut notes, catalog, defaults) = (Vec::new(), registry::catalog(), Defaults::default());
        let runtime = match &wishes.runtime {
            Some(wanted) => known(PluginSlot::Runtime, wanted)?,
            None => {
                let mut runtimes = catalog.of(PluginSlot::Runtime);
                let preferred = runtimes.find(|runtime| {
                    let program = runtime.program.as_deref().filter(|_| !program::is_there(runtime));
                    notes.extend(program.map(|program| {
                        format!("{program} is not installed, so agents run in ao's built-in terminals")
                    }));
                    program.is_none()
                });
                preferred.map_or(defaults.runtime.plugin, |runtime| runtime.name.clone())
            }
        };
        let agent = match &wishes.agent {
            Some(wanted) => known(PluginSlot::Agent, wanted)?,
            None => match catalog.of(PluginSlot::Agent).find(|agent| program::is_there(agent)) {
                Some(agent) => agent.name.clone(),
                None => {
                    let default = catalog.find(PluginSlot::Agent, &defaults.agent);
                    let install = default.and_then(|agent| agent.install.as_deref()).unwrap_or_default();
                    notes.push(format!("no agent is installed; to get {}: `{install}`", defaults.agent));
                    defaults.agent
                }
            },
        };
        let tracker = match &wishes.tracker {
            Some(wanted) => known(PluginSlot::Tracker, wanted)?,
            None => defaults.tracker.plugin,
        };
        let workspace = match &wishes.workspace {
            Some(wanted) => known(PluginSlot::Workspace, wanted)?,
            None => defaults.workspace.plugin,
        };
        let notifiers = match findings::desktop(&Env::of_process()).await {
            Ok(()) => {
                let mut notifiers = catalog.of(PluginSlot::Notifier);
                notifiers.find(|notifier| notifier.on_desktop).map(|it| it.name.clone()).into_iter().collect()
            }
            Err(_) => {
                notes.push(
                    "there is no desktop for notices, so `notifiers` is empty; `ao config-help notifiers` describes other channels"
                        .into(),
                );
                vec![]
            }
        };
        let project = wishes.project.clone().unwrap_or_else(|| repository.name.clone());
        if names::project_name(&project) != project {
            return Err(CommandError::config(format!("`{project}` cannot be the name of a project")).hint(
                "a name has letters, digits, `-`, `_` and `.` only, and starts with a letter or digit",
            ));
        }
        Ok(InitialConfig {
            project,
            repo: repository.repo().map(str::to_owned),
            default_branch: repository.default_branch.clone(),
            runtime,
            agent,
            workspace,
            tracker,
            checks: ao_scm::checks::propose(&repository.root),
            runs_checks: false,
            notifiers,
            notes,
        })
    }

    /// Asks at a terminal whether to run the checks that fit. Otherwise they are written as a comment, with a note on
    /// how to enable them.
    pub(crate) fn settle_checks(&mut self, asks: bool) -> Result<(), CommandError> {
        if self.checks.is_empty() {
            return Ok(());
        }
        self.runs_checks = asks && check_offer::accepted(&self.checks)?;
        if !self.runs_checks {
            let commands: Vec<String> =
                self.checks.iter().map(|check| format!("`{}`", check.command)).collect();
            self.notes.push(format!(
                "no checks are enabled; {} would fit, and are commented out under `checks` in the file",
                commands.join(" and ")
            ));
        }
        Ok(())
    }

    /// Renders the file.
    pub(crate) fn text(&self) -> String {
        let init = InitValues {
            project: self.project.clone(),
            repo: self.repo.clone(),
            path: ".".into(),
            default_branch: self.default_branch.clone(),
            tracker: self.tracker.clone(),
            agent: self.agent.clone(),
            runtime: self.runtime.clone(),
            workspace: self.workspace.clone(),
            notifiers: self.notifiers.clone(),
            schema: None,
            checks: self.checks.iter().map(to_init).collect(),
            runs_checks: self.runs_checks,
        };
        ao_config::init::template(&init, &registry::catalog())
    }

    /// Refuses to overwrite an existing file, unless `force` is set. Called before any question is asked.
    pub(crate) fn can_be_written(&self, root: &Utf8Path, force: bool) -> Result<(), CommandError> {
        match existing(root).filter(|_| !force) {
            Some(there) => Err(already(&there)),
            None => Ok(()),
        }
    }

    /// Writes it to the repository's root, atomically. An existing file is kept unless `force` is set.
    pub(crate) fn write(&self, root: &Utf8Path, force: bool) -> Result<Utf8PathBuf, CommandError> {
        self.can_be_written(root, force)?;
        let file = root.join(PROJECT_FILES[0]);
        match write_whole(&file, &self.text(), force) {
            Ok(()) => Ok(file),
            // Another process was faster.
            Err(err) if err.kind() == io::ErrorKind::AlreadyExists => Err(already(&file)),
            Err(err) => Err(CommandError::environment(format!("`{file}` could not be written: {err}"))
                .hint("check the folder's owner and free disk space; nothing was changed")),
        }
    }
}

fn to_init(check: &ProposedCheck) -> InitCheck {
    InitCheck { name: check.name.clone(), command: check.command.clone() }
}

/// Returns the configuration file that a repository has already.
pub(crate) fn existing(root: &Utf8Path) -> Option<Utf8PathBuf> {
    PROJECT_FILES.iter().map(|name| root.join(name)).find(|file| file.symlink_metadata().is_ok())
}

/// Writes a file beside its place and renames it, so that a partial file is never visible.
pub(crate) fn write_whole(file: &Utf8Path, text: &str, replace: bool) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Utf8Path::new("."));
    let mut beside = tempfile::Builder::new()
        .prefix(".ao-")
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(folder)?;
    beside.write_all(text.as_bytes())?;
    beside.as_file().sync_all()?;
    match replace {
        true => beside.persist(file).map_err(|err| err.error)?,
        false => beside.persist_noclobber(file).map_err(|err| err.error)?,
    };
    Ok(())
}

fn already(file: &Utf8Path) -> CommandError {
    CommandError::user(format!("there is a configuration already: `{file}`"))
        .hint("change it with `ao config set`, or overwrite it with `ao init --force`")
}

/// Returns a name that works, or an error with the most similar one.
fn known(slot: PluginSlot, wanted: &str) -> Result<String, CommandError> {
    let catalog = registry::catalog();
    let names = catalog.available(slot);
    // Sessions work without a tracker, so one that is not available yet is written, with a remark.
    if names.contains(&wanted) || !slot.is_essential() && catalog.find(slot, wanted).is_some() {
        return Ok(wanted.to_owned());
    }
    let what = match catalog.find(slot, wanted) {
        Some(_) => catalog.not_available(slot, wanted),
        None => {
            let meant = names::nearest(wanted, names.iter().copied());
            let meant = meant.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
            format!("there is no {slot} `{wanted}`{meant}")
        }
    };
    Err(CommandError::config(what).hint(format!("there are {}", names.join(", "))))
}
