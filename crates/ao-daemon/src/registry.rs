//! The registry of adapters: one entry for each, with its name, what it is, what it needs, and how it is made.
//!
//! Everything else derives from it: the names that a configuration may have, `ao plugin list`, `ao init`, `ao doctor`, and
//! the adapters that a daemon makes. To add an adapter, write it and add its entry to [`Registry::built_in`]; a program
//! that embeds the daemon adds entries of its own with [`Registry::add`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use ao_agent::{CommandAgent, Ground, Options, OptionsError};
use ao_config::catalog::{PluginCatalog, PluginInfo, PluginOptions, PluginSlot, ServiceFacts};
use ao_config::shape::Plugin;
use ao_core::ProjectId;
use ao_git::Queues;
use ao_notifier::{Channel, ChannelError, ChannelPlugin, Page};
use ao_ports::{Agent, Clock, Notifier, Runtime, RuntimeAbilities, Scm, Tracker, Workspace};
use ao_process::Keeper;
use ao_runtime::tmux::{self, Tmux};
use ao_runtime::{Families, Processes, Shim};
use ao_scm::local::{LocalScm, Witness};
use ao_tracker::{Keep, LocalTracker};
use ao_workspace::{Clones, Worktrees, provision};
use camino::Utf8PathBuf;
use futures::future::{BoxFuture, ready};

use crate::config::apply::AgentsByName;
use crate::daemon::{SHIM, TMUX_HELPER};
pub use crate::looks::{ForgeConfig, ForgeDeps};

static BUILT_IN: LazyLock<Arc<Registry>> = LazyLock::new(|| Arc::new(Registry::built_in()));

/// Returns the adapters of this program.
pub fn built_in() -> Arc<Registry> {
    BUILT_IN.clone()
}

/// Returns the catalog of the adapters of this program.
pub fn catalog() -> Arc<PluginCatalog> {
    BUILT_IN.catalog()
}

/// All adapters of a program, in order of preference within a slot.
#[derive(Debug, Clone)]
pub struct Registry {
    adapters: Vec<Adapter>,
    /// The names that files from elsewhere may have and that no adapter has yet.
    missing: Vec<PluginInfo>,
    catalog: Arc<PluginCatalog>,
}

/// One adapter: its description and its constructor.
#[derive(Debug, Clone)]
pub struct Adapter {
    info: PluginInfo,
    maker: AdapterMaker,
}

/// The constructor of an adapter, by its slot.
#[derive(Clone)]
pub enum AdapterMaker {
    Runtime(RuntimeAbilities, HostMaker<dyn Runtime>),
    Workspace(HostMaker<dyn Workspace>),
    /// The manifest of the program, and the constructor of the adapter that drives it.
    Agent(Box<Options>, AgentMaker),
    Tracker(Arc<dyn Fn(ProjectDeps) -> ProjectAdapter<dyn Tracker> + Send + Sync>),
    Scm(Arc<dyn Fn(ProjectDeps) -> ProjectAdapter<dyn Scm> + Send + Sync>),
    Notifier(ChannelMaker),
}

/// Makes an adapter that the whole daemon uses.
pub type HostMaker<T> = Arc<dyn Fn(&HostDeps) -> Arc<T> + Send + Sync>;
/// Makes an agent of a manifest, which a configuration may have changed.
pub type AgentMaker = fn(Options, Ground) -> Result<Arc<dyn Agent>, OptionsError>;
/// Opens a channel.
pub type ChannelMaker = Arc<dyn Fn(&ChannelDeps<'_>) -> Result<OpenChannel, ChannelError> + Send + Sync>;
/// An adapter of one project that is being made, or the reason why that is not possible.
pub type ProjectAdapter<T> = BoxFuture<'static, Result<Arc<T>, String>>;

/// The parts of the daemon that runtimes and workspaces are made with.
#[derive(Clone)]
pub struct HostDeps {
    pub data_dir: Utf8PathBuf,
    /// The program that holds agents and keeps commands.
    pub program: PathBuf,
    pub clock: Arc<dyn Clock>,
    pub families: Arc<Families>,
    pub keeper: Keeper,
    pub queues: Arc<Queues>,
}

/// The parts that the tracker and the forge of a project are made with.
#[derive(Clone)]
pub struct ProjectDeps {
    pub project: ProjectId,
    /// The name and the options, as configured.
    pub plugin: Plugin,
    pub config: ForgeConfig,
    pub shared: ForgeDeps,
    /// Finds the sessions at work in the project.
    pub witness: Arc<dyn Witness>,
}

/// The settings that a channel is opened with.
pub struct ChannelDeps<'a> {
    pub name: &'a str,
    /// Nested settings by their paths, such as `headers.Authorization`.
    pub settings: &'a BTreeMap<String, String>,
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// The dashboard, for the links in notices.
    pub page: Page,
}

/// An open channel.
pub struct OpenChannel {
    pub notifier: Arc<dyn Notifier>,
    /// The place that it sends to, without secrets.
    pub target: String,
}

impl Registry {
    /// Returns the adapters that ship with `ao`.
    pub fn built_in() -> Registry {
        let github = "`ao issue import` imports the output of `gh issue list --json`";
        let gh = ServiceFacts { issue_prefix: Some("GH-"), ..ServiceFacts::default() };
        let on_github = ServiceFacts { forge: Some("github"), ..ServiceFacts::default() };
        let requests =
            ServiceFacts { pull_ref: Some("refs/merge-requests/{number}/head"), ..ServiceFacts::default() };
        let missing = [
            (PluginSlot::Runtime, "docker", ServiceFacts::default()),
            (PluginSlot::Runtime, "kubernetes", ServiceFacts::default()),
            (PluginSlot::Tracker, "github", ServiceFacts { instead: Some(github), ..gh }),
            (PluginSlot::Tracker, "linear", on_github),
            (PluginSlot::Tracker, "gitlab", gh),
            (PluginSlot::Tracker, "jira", on_github),
            (PluginSlot::Scm, "github", ServiceFacts::default()),
            (PluginSlot::Scm, "gitlab", requests),
            (PluginSlot::Scm, "gitea", ServiceFacts::default()),
        ];
        let missing = missing
            .map(|(slot, name, service)| PluginInfo { service, ..PluginInfo::missing(slot, name) })
            .to_vec();
        let pane = "a pane of a private tmux server";
        let tree = "a git worktree inside the repository";
        let held = "its own process, held by a small program that outlives the daemon";
        let issues = "issues in the daemon's store, or as files of the repository";
        let pulls = "pull requests and checks of the repository itself";
        let adapters = [
            Adapter::new("tmux", pane, AdapterMaker::Runtime(Tmux::ABILITIES, Arc::new(tmux))).needs("tmux"),
            Adapter::new("process", held, AdapterMaker::Runtime(Processes::ABILITIES, Arc::new(processes))),
            Adapter::new("worktree", tree, AdapterMaker::Workspace(Arc::new(worktrees))).needs("git"),
            Adapter::new("clone", "its own clone", AdapterMaker::Workspace(Arc::new(clones))).needs("git"),
            Adapter::new("local", issues, AdapterMaker::Tracker(Arc::new(local_tracker)))
                .takes(&[("keep", &["store", "files"])]),
            Adapter::new("local", pulls, AdapterMaker::Scm(Arc::new(local_scm)))
                .needs("git")
                .takes(&[])
                .runs_checks(),
        ];
        let channels = ao_notifier::PLUGINS.iter().map(Adapter::channel);
        let agents = ao_agent::known().into_iter().map(Adapter::agent);
        let mut registry = Registry { adapters: vec![], missing, catalog: Arc::default() };
        adapters.into_iter().chain(channels).chain(agents).for_each(|adapter| registry.add(adapter));
        registry
    }

    /// Adds an adapter. It replaces another one of the same slot and name.
    pub fn add(&mut self, adapter: Adapter) {
        let is_other = |info: &PluginInfo| (info.slot, &info.name) != (adapter.info.slot, &adapter.info.name);
        self.adapters.retain(|known| is_other(&known.info));
        self.missing.retain(is_other);
        self.adapters.push(adapter);
        let there = self.adapters.iter().map(|adapter| adapter.info.clone());
        self.catalog = Arc::new(PluginCatalog::new(there.chain(self.missing.iter().cloned())));
    }

    /// Returns the names and descriptions of all adapters.
    pub fn catalog(&self) -> Arc<PluginCatalog> {
        self.catalog.clone()
    }

    /// Returns the manifests of the agents, by their names.
    pub fn agents(&self) -> AgentsByName {
        let manifests = self.made(|maker, _| match maker {
            AdapterMaker::Agent(manifest, _) => Some((**manifest).clone()),
            _ => None,
        });
        manifests.collect()
    }

    /// Makes the agent of a manifest. One that only the configuration has is a program like any other.
    pub(crate) fn agent(&self, manifest: Options, ground: Ground) -> Result<Arc<dyn Agent>, OptionsError> {
        let own = |adapter: &Adapter| match adapter.maker {
            AdapterMaker::Agent(_, make) if adapter.info.name == manifest.name => Some(make),
            _ => None,
        };
        let make = self.adapters.iter().find_map(own).unwrap_or(command_agent);
        make(manifest, ground)
    }

    /// Returns the abilities of a runtime, if there is one of that name.
    pub fn runtime_abilities(&self, name: &str) -> Option<RuntimeAbilities> {
        let mut all = self.made(|maker, known| match maker {
            AdapterMaker::Runtime(abilities, _) if known == name => Some(*abilities),
            _ => None,
        });
        all.next().map(|(_, abilities)| abilities)
    }

    /// Returns the names of the runtimes that share files with this host.
    pub fn sharing_runtimes(&self) -> BTreeSet<String> {
        let sharing = self.made(|maker, _| match maker {
            AdapterMaker::Runtime(abilities, _) => abilities.shares_files.then_some(()),
            _ => None,
        });
        sharing.map(|(name, ())| name).collect()
    }

    pub(crate) fn runtimes(&self, deps: &HostDeps) -> ao_ports::Runtimes {
        let made = self.made(|maker, _| match maker {
            AdapterMaker::Runtime(_, make) => Some(make(deps)),
            _ => None,
        });
        made.map(|(_, runtime)| runtime).collect()
    }

    pub(crate) fn workspaces(&self, deps: &HostDeps) -> BTreeMap<String, Arc<dyn Workspace>> {
        let made = self.made(|maker, _| match maker {
            AdapterMaker::Workspace(make) => Some(make(deps)),
            _ => None,
        });
        made.collect()
    }

    pub(crate) fn tracker(&self, deps: &ProjectDeps) -> Option<ProjectAdapter<dyn Tracker>> {
        let mut made = self.made(|maker, name| match maker {
            AdapterMaker::Tracker(make) if name == deps.plugin.plugin => Some(make(deps.clone())),
            _ => None,
        });
        made.next().map(|(_, tracker)| tracker)
    }

    pub(crate) fn scm(&self, deps: &ProjectDeps) -> Option<ProjectAdapter<dyn Scm>> {
        let mut made = self.made(|maker, name| match maker {
            AdapterMaker::Scm(make) if name == deps.plugin.plugin => Some(make(deps.clone())),
            _ => None,
        });
        made.next().map(|(_, scm)| scm)
    }

    /// Opens a channel of a notifier.
    pub(crate) fn channel(
        &self,
        notifier: &str,
        deps: &ChannelDeps<'_>,
    ) -> Result<OpenChannel, ChannelError> {
        let mut made = self.made(|maker, name| match maker {
            AdapterMaker::Notifier(make) if name == notifier => Some(make(deps)),
            _ => None,
        });
        let missing = ChannelError::NoSuchPlugin { name: deps.name.to_owned(), plugin: notifier.to_owned() };
        made.next().map_or(Err(missing), |(_, channel)| channel)
    }

    fn made<'a, T>(
        &'a self,
        make: impl Fn(&'a AdapterMaker, &str) -> Option<T>,
    ) -> impl Iterator<Item = (String, T)> {
        self.adapters
            .iter()
            .filter_map(move |Adapter { info, maker }| Some((info.name.clone(), make(maker, &info.name)?)))
    }
}

impl Adapter {
    pub fn new(name: &str, about: &str, maker: AdapterMaker) -> Adapter {
        let slot = match &maker {
            AdapterMaker::Runtime(..) => PluginSlot::Runtime,
            AdapterMaker::Workspace(_) => PluginSlot::Workspace,
            AdapterMaker::Agent(..) => PluginSlot::Agent,
            AdapterMaker::Tracker(_) => PluginSlot::Tracker,
            AdapterMaker::Scm(_) => PluginSlot::Scm,
            AdapterMaker::Notifier(_) => PluginSlot::Notifier,
        };
        Adapter { info: PluginInfo::new(slot, name, about), maker }
    }

    /// Describes an agent by its manifest, which [`CommandAgent`] drives.
    pub fn agent(manifest: Options) -> Adapter {
        let Options { name, program, install, .. } = &manifest;
        let install = install.clone().unwrap_or_else(|| format!("install `{program}`"));
        let maker = AdapterMaker::Agent(Box::new(manifest.clone()), command_agent);
        let mut adapter = Adapter::new(name, &format!("runs `{program}`"), maker).needs(program);
        adapter.info.install = Some(install);
        adapter
    }

    fn channel(plugin: &'static ChannelPlugin) -> Adapter {
        let open = |deps: &ChannelDeps<'_>| {
            let channel = Channel::from_settings(deps.name, plugin.name, deps.settings, deps.env)?;
            let target = channel.target();
            Ok(OpenChannel { notifier: Arc::new(channel.with_dashboard(deps.page.clone())), target })
        };
        let mut adapter = Adapter::new(plugin.name, plugin.about, AdapterMaker::Notifier(Arc::new(open)));
        adapter.info.on_desktop = plugin.on_desktop;
        adapter
    }

    /// Adds the program that it needs.
    #[must_use]
    pub fn needs(mut self, program: &str) -> Adapter {
        self.info.program = Some(program.to_owned());
        self
    }

    /// Declares that the checks of its pull requests are those of the configuration.
    #[must_use]
    fn runs_checks(mut self) -> Adapter {
        self.info.service.runs_checks = true;
        self
    }

    /// Adds the options that it takes, each with its values. Without this, it checks them itself.
    #[must_use]
    pub fn takes(mut self, options: PluginOptions) -> Adapter {
        self.info.options = Some(options);
        self
    }
}

// ── the constructors ──

fn processes(deps: &HostDeps) -> Arc<dyn Runtime> {
    let shim = Shim { program: deps.program.clone(), args: vec![SHIM.into()] };
    let options = ao_runtime::Options {
        families: deps.families.clone(),
        keeper: deps.keeper.clone(),
        ..ao_runtime::Options::new(deps.data_dir.join("processes"), shim)
    };
    Arc::new(Processes::new(options, deps.clock.clone()))
}

fn tmux(deps: &HostDeps) -> Arc<dyn Runtime> {
    let helper = vec![deps.program.to_string_lossy().into_owned(), TMUX_HELPER.to_owned()];
    let options = tmux::Options {
        families: deps.families.clone(),
        keeper: deps.keeper.clone(),
        ..tmux::Options::new(deps.data_dir.join("tmux"), helper)
    };
    Arc::new(Tmux::new(options, deps.clock.clone()))
}

fn worktrees(deps: &HostDeps) -> Arc<dyn Workspace> {
    Arc::new(Worktrees::with(workspace_options(deps)))
}

fn clones(deps: &HostDeps) -> Arc<dyn Workspace> {
    Arc::new(Clones::new(deps.data_dir.join("clones"), workspace_options(deps)))
}

fn workspace_options(HostDeps { data_dir, keeper, queues, .. }: &HostDeps) -> ao_workspace::Options {
    ao_workspace::Options {
        provision: Some(provision::Options {
            keeper: keeper.clone(),
            data_dir: Some(data_dir.into()),
            ..provision::Options::new(data_dir.join("logs"))
        }),
        scratch: Some(data_dir.join("forecast").join("captures").into()),
        queues: queues.clone(),
        ..ao_workspace::Options::default()
    }
}

fn command_agent(manifest: Options, ground: Ground) -> Result<Arc<dyn Agent>, OptionsError> {
    Ok(Arc::new(CommandAgent::new(manifest, ground)?))
}

fn local_tracker(
    ProjectDeps { project, plugin, config, shared, .. }: ProjectDeps,
) -> ProjectAdapter<dyn Tracker> {
    let keep = match plugin.options.get("keep").and_then(|keep| keep.as_str()) {
        Some("files") => Keep::Files { root: config.repository },
        _ => Keep::Store,
    };
    let options = ao_tracker::Options { project, keep };
    let tracker: Arc<dyn Tracker> = Arc::new(LocalTracker::new(options, shared.records, shared.clock));
    Box::pin(ready(Ok(tracker)))
}

fn local_scm(ProjectDeps { project, config, shared, witness, .. }: ProjectDeps) -> ProjectAdapter<dyn Scm> {
    let ForgeDeps { records, runner, queues, clock } = shared;
    let options = ao_scm::local::Options {
        project,
        repository: config.repository,
        default_branch: config.default_branch,
        checks: config.checks,
        strategy: config.strategy,
        queues,
        settings: ao_git::Settings::default(),
        witness: Some(witness),
    };
    Box::pin(async move {
        let scm = LocalScm::open(options, records, Arc::new(runner), clock).await;
        Ok(Arc::new(scm.map_err(|err| err.to_string())?) as Arc<dyn Scm>)
    })
}

impl fmt::Debug for AdapterMaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AdapterMaker")
    }
}

debug_by!(HostDeps: data_dir, ForgeDeps: queues, ProjectDeps: project, ChannelDeps<'_>: name, OpenChannel: target);
