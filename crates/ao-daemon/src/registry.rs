//! The registry of adapters: one entry for each, with its name, what it is, what it needs, and how it is made.
//!
//! Everything else derives from it: the names that a configuration may have, `ao plugin list`, `ao init`, `ao doctor`, and
//! the adapters that a daemon makes. To add an adapter, write it and add its entry to [`Registry::built_in`]; a program
//! that embeds the daemon adds entries of its own with [`Registry::add`].

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use ao_config::catalog::{PluginCatalog, PluginInfo, PluginOptions, PluginSlot, ServiceFacts};
use ao_config::shape::Plugin;
use ao_core::ProjectId;
use ao_git::Queues;
use ao_notifier::{Channel, ChannelError, ChannelPlugin, Page};
use ao_ports::{
    CheckSpec, Clock, LandingStrategy, Notifier, Records, Runtime, RuntimeAbilities, Scm, Tracker, Workspace,
};
use ao_process::Keeper;
use ao_runtime::tmux::{self, Tmux};
use ao_runtime::{Families, Processes, Shim};
use ao_scm::checks::Runner;
use ao_scm::local::{LocalScm, Witness};
use ao_tracker::{Keep, LocalTracker};
use ao_workspace::{Clones, Worktrees, provision};
use camino::Utf8PathBuf;
use futures::future::BoxFuture;

use crate::config::apply::AgentsByName;
use crate::daemon::{SHIM, TMUX_HELPER};

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
#[derive(Clone)]
pub struct Adapter {
    info: PluginInfo,
    maker: AdapterMaker,
}

/// The constructor of an adapter, by its slot.
#[derive(Clone)]
enum AdapterMaker {
    Runtime(RuntimeAbilities, Maker<HostDeps, Arc<dyn Runtime>>),
    Workspace(Maker<HostDeps, Arc<dyn Workspace>>),
    /// Agents are programs, described by manifests.
    Agent(Box<ao_agent::Options>),
    Tracker(ProjectMaker<dyn Tracker>),
    Scm(ProjectMaker<dyn Scm>),
    Notifier(Arc<dyn Fn(&ChannelDeps<'_>) -> Result<OpenChannel, ChannelError> + Send + Sync>),
}

type Maker<D, T> = Arc<dyn Fn(&D) -> T + Send + Sync>;
/// Makes an adapter of one project, or returns the reason why that is not possible.
pub type ProjectMaker<T> = Maker<ProjectDeps, BoxFuture<'static, Result<Arc<T>, String>>>;

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
    pub repository: Utf8PathBuf,
    pub default_branch: String,
    pub checks: Vec<CheckSpec>,
    pub strategy: LandingStrategy,
    pub records: Arc<dyn Records>,
    pub runner: Runner,
    pub queues: Arc<Queues>,
    pub clock: Arc<dyn Clock>,
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
        let held = "its own process, held by a small program that outlives the daemon";
        let issues = "issues in the daemon's store, or as files of the repository";
        let pulls = "pull requests and checks of the repository itself";
        let adapters = [
            Adapter::runtime("tmux", "a pane of a private tmux server", Tmux::ABILITIES, tmux).needs("tmux"),
            Adapter::runtime("process", held, Processes::ABILITIES, processes),
            Adapter::workspace("worktree", "a git worktree inside the repository", worktrees).needs("git"),
            Adapter::workspace("clone", "its own clone", clones).needs("git"),
            Adapter::tracker("local", issues, local_tracker).takes(&[("keep", &["store", "files"])]),
            Adapter::scm("local", pulls, local_scm).needs("git").takes(&[]),
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
        let manifests = self.adapters.iter().filter_map(|adapter| match &adapter.maker {
            AdapterMaker::Agent(manifest) => Some((manifest.name.clone(), (**manifest).clone())),
            _ => None,
        });
        manifests.collect()
    }

    /// Returns the abilities of a runtime, if there is one of that name.
    pub fn runtime_abilities(&self, name: &str) -> Option<RuntimeAbilities> {
        self.adapters.iter().find_map(|adapter| match &adapter.maker {
            AdapterMaker::Runtime(abilities, _) if adapter.info.name == name => Some(*abilities),
            _ => None,
        })
    }

    pub(crate) fn runtimes(&self, deps: &HostDeps) -> ao_ports::Runtimes {
        let made = self.adapters.iter().filter_map(|adapter| match &adapter.maker {
            AdapterMaker::Runtime(_, make) => Some(make(deps)),
            _ => None,
        });
        made.collect()
    }

    pub(crate) fn workspaces(&self, deps: &HostDeps) -> BTreeMap<String, Arc<dyn Workspace>> {
        let made = self.adapters.iter().filter_map(|adapter| match &adapter.maker {
            AdapterMaker::Workspace(make) => Some((adapter.info.name.clone(), make(deps))),
            _ => None,
        });
        made.collect()
    }

    pub(crate) fn tracker(&self, name: &str) -> Option<&ProjectMaker<dyn Tracker>> {
        self.adapters.iter().find_map(|adapter| match &adapter.maker {
            AdapterMaker::Tracker(make) if adapter.info.name == name => Some(make),
            _ => None,
        })
    }

    pub(crate) fn scm(&self, name: &str) -> Option<&ProjectMaker<dyn Scm>> {
        self.adapters.iter().find_map(|adapter| match &adapter.maker {
            AdapterMaker::Scm(make) if adapter.info.name == name => Some(make),
            _ => None,
        })
    }

    /// Opens a channel of a notifier.
    pub(crate) fn channel(
        &self,
        notifier: &str,
        deps: &ChannelDeps<'_>,
    ) -> Result<OpenChannel, ChannelError> {
        let made = self.adapters.iter().find_map(|adapter| match &adapter.maker {
            AdapterMaker::Notifier(make) if adapter.info.name == notifier => Some(make(deps)),
            _ => None,
        });
        let missing =
            || ChannelError::NoSuchPlugin { name: deps.name.to_owned(), plugin: notifier.to_owned() };
        made.unwrap_or_else(|| Err(missing()))
    }
}

impl Adapter {
    pub fn runtime(
        name: &str,
        about: &str,
        abilities: RuntimeAbilities,
        make: impl Fn(&HostDeps) -> Arc<dyn Runtime> + Send + Sync + 'static,
    ) -> Adapter {
        Adapter::new(PluginSlot::Runtime, name, about, AdapterMaker::Runtime(abilities, Arc::new(make)))
    }

    pub fn workspace(
        name: &str,
        about: &str,
        make: impl Fn(&HostDeps) -> Arc<dyn Workspace> + Send + Sync + 'static,
    ) -> Adapter {
        Adapter::new(PluginSlot::Workspace, name, about, AdapterMaker::Workspace(Arc::new(make)))
    }

    pub fn tracker<F>(
        name: &str,
        about: &str,
        make: impl Fn(ProjectDeps) -> F + Send + Sync + 'static,
    ) -> Adapter
    where
        F: Future<Output = Result<Arc<dyn Tracker>, String>> + Send + 'static,
    {
        let make: ProjectMaker<dyn Tracker> = Arc::new(move |deps| Box::pin(make(deps.clone())));
        Adapter::new(PluginSlot::Tracker, name, about, AdapterMaker::Tracker(make))
    }

    pub fn scm<F>(name: &str, about: &str, make: impl Fn(ProjectDeps) -> F + Send + Sync + 'static) -> Adapter
    where
        F: Future<Output = Result<Arc<dyn Scm>, String>> + Send + 'static,
    {
        let make: ProjectMaker<dyn Scm> = Arc::new(move |deps| Box::pin(make(deps.clone())));
        Adapter::new(PluginSlot::Scm, name, about, AdapterMaker::Scm(make))
    }

    pub fn notifier(
        name: &str,
        about: &str,
        open: impl Fn(&ChannelDeps<'_>) -> Result<OpenChannel, ChannelError> + Send + Sync + 'static,
    ) -> Adapter {
        Adapter::new(PluginSlot::Notifier, name, about, AdapterMaker::Notifier(Arc::new(open)))
    }

    pub fn agent(manifest: ao_agent::Options) -> Adapter {
        let about = format!("runs `{}`", manifest.program);
        let info = PluginInfo {
            program: Some(manifest.program.clone()),
            install: Some(
                manifest.install.clone().unwrap_or_else(|| format!("install `{}`", manifest.program)),
            ),
            ..PluginInfo::new(PluginSlot::Agent, &manifest.name, about)
        };
        Adapter { info, maker: AdapterMaker::Agent(Box::new(manifest)) }
    }

    fn channel(plugin: &'static ChannelPlugin) -> Adapter {
        let mut adapter = Adapter::notifier(plugin.name, plugin.about, |deps| {
            let ChannelDeps { name, settings, env, page } = deps;
            let channel = Channel::from_settings(name, plugin.name, settings, env)?;
            let target = channel.target();
            Ok(OpenChannel { notifier: Arc::new(channel.with_dashboard(page.clone())), target })
        });
        adapter.info.on_desktop = plugin.on_desktop;
        adapter
    }

    fn new(slot: PluginSlot, name: &str, about: &str, maker: AdapterMaker) -> Adapter {
        Adapter { info: PluginInfo::new(slot, name, about), maker }
    }

    /// Adds the program that it needs.
    #[must_use]
    pub fn needs(mut self, program: &str) -> Adapter {
        self.info.program = Some(program.to_owned());
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

async fn local_tracker(deps: ProjectDeps) -> Result<Arc<dyn Tracker>, String> {
    let keep = match deps.plugin.options.get("keep").and_then(|keep| keep.as_str()) {
        Some("files") => Keep::Files { root: deps.repository },
        _ => Keep::Store,
    };
    let options = ao_tracker::Options { project: deps.project, keep };
    Ok(Arc::new(LocalTracker::new(options, deps.records, deps.clock)))
}

async fn local_scm(deps: ProjectDeps) -> Result<Arc<dyn Scm>, String> {
    let options = ao_scm::local::Options {
        project: deps.project,
        repository: deps.repository,
        default_branch: deps.default_branch,
        checks: deps.checks,
        strategy: deps.strategy,
        queues: deps.queues,
        settings: ao_git::Settings::default(),
        witness: Some(deps.witness),
    };
    let scm = LocalScm::open(options, deps.records, Arc::new(deps.runner), deps.clock).await;
    Ok(Arc::new(scm.map_err(|err| err.to_string())?))
}

impl fmt::Debug for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.info.slot, self.info.name)
    }
}

/// Shows a type by the one field that identifies it.
macro_rules! debug_by {
    ($($type:ty: $field:ident),+) => {$(
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($type)).field(stringify!($field), &self.$field).finish_non_exhaustive()
            }
        }
    )+};
}

debug_by!(HostDeps: data_dir, ProjectDeps: project, ChannelDeps<'_>: name, OpenChannel: target);
