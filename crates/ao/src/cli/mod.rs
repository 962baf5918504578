//! The command line: its grammar, help, completion and reference.

mod command_aliases;
pub(crate) mod completers;
pub(crate) mod context;
pub(crate) mod duration_arg;
mod help_page;
pub mod reference;
pub(crate) mod text_input;

use std::ffi::OsString;

use ao_api::WireEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::CompleteEnv;

use self::context::{Context, GlobalOptions, outside_of_agents};
use crate::commands::*;
use crate::error::CommandError;

/// The variable by which a shell's completion script asks for candidates.
pub(crate) const COMPLETE: &str = "AO_COMPLETE";

/// Parses one of the values of the API.
pub(crate) fn choice<T: WireEnum + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let words = T::ALL.iter().map(ToString::to_string);
    PossibleValuesParser::new(words)
        .map(|typed| *T::ALL.iter().find(|value| value.to_string() == typed).expect("it is a possible value"))
}

/// Runs many AI coding agents in parallel, each in its own branch and workspace, and tracks what they do.
#[derive(Debug, Parser)]
#[command(
    name = "ao",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    infer_subcommands = false
)]
pub(crate) struct Cli {
    #[command(flatten)]
    global: GlobalOptions,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Args),
    Start(start::Args),
    Stop(stop::Args),
    Dashboard(dashboard::Args),
    Service(service::Args),
    New(new::Args),
    Spawn(spawn::Args),
    BatchSpawn(batch_spawn::Args),
    #[command(alias = "ls")]
    List(list::Args),
    Status(status::Args),
    Attach(attach::Args),
    Logs(logs::Args),
    Open(open::Args),
    Send(send::Args),
    Answer(answer::Args),
    Wait(wait::Args),
    Explain(explain::Args),
    Why(why::Args),
    Budget(budget::Args),
    Plan(plan::Args),
    Advise(advise::Args),
    Pause(pause::Args),
    Resume(resume::Args),
    Retry(retry::Args),
    Session(session::Args),
    Issue(issue::Args),
    Pr(pr::Args),
    Policy(policy::Args),
    Approve(approve::Args),
    Queue(queue::Args),
    Check(check::Args),
    Conflicts(conflicts::Args),
    Review(review::Args),
    AddProject(add_project::Args),
    RemoveProject(remove_project::Args),
    TrustProject(trust_project::Args),
    Config(config::Args),
    ConfigHelp(config_help::Args),
    Doctor(doctor::Args),
    Notify(notify::Args),
    Reactions(reactions::Args),
    Emit(emit::Args),
    Simulate(simulate::Args),
    Hooks(hooks::Args),
    ReviewCheck(review_check::Args),
    Verify(verify::Args),
    Plugin(plugin::Args),
    Api(api::Args),
    Events(events::Args),
    Completion(completion::Args),
    Man(man::Args),
    Demo(demo::Args),
    #[command(hide = true)]
    Daemon(daemon::Args),
    #[command(hide = true)]
    DemoAgent(demo_agent::Args),
    #[command(hide = true)]
    Hook(hook::Args),
}

/// Returns the clap command, with subcommands in groups.
pub(crate) fn command() -> clap::Command {
    help_page::in_groups(Cli::command())
}

pub(crate) fn run() -> Result<(), CommandError> {
    if std::env::var_os(COMPLETE).is_some() {
        // Answers a shell's completion request and exits, if this is one.
        CompleteEnv::with_factory(command).var(COMPLETE).complete();
    }
    let Cli { global, command } = parse()?;
    let cx = Context::new(global);
    match &command {
        Command::Init(args) => init::run(args, &cx),
        Command::Start(args) => start::run(args, &cx),
        Command::Stop(args) => stop::run(args, &cx),
        Command::Dashboard(args) => dashboard::run(args, &cx),
        Command::Service(args) => service::run(args, &cx),
        Command::New(args) => new::run(args, &cx),
        Command::Spawn(args) => spawn::run(args, &cx),
        Command::BatchSpawn(args) => batch_spawn::run(args, &cx),
        Command::List(args) => list::run(args, &cx),
        Command::Status(args) => status::run(args, &cx),
        Command::Attach(args) => attach::run(args, &cx),
        Command::Logs(args) => logs::run(args, &cx),
        Command::Open(args) => open::run(args, &cx),
        Command::Send(args) => send::run(args, &cx),
        Command::Answer(args) => answer::run(args, &cx),
        Command::Wait(args) => wait::run(args, &cx),
        Command::Explain(args) => explain::run(args, &cx),
        Command::Why(args) => why::run(args, &cx),
        Command::Budget(args) => budget::run(args, &cx),
        Command::Plan(args) => plan::run(args, &cx),
        Command::Advise(args) => advise::run(args, &cx),
        Command::Pause(args) => pause::run(args, &cx),
        Command::Resume(args) => resume::run(args, &cx),
        Command::Retry(args) => retry::run(args, &cx),
        Command::Session(args) => session::run(args, &cx),
        Command::Issue(args) => issue::run(args, &cx),
        Command::Pr(args) => pr::run(args, &cx),
        Command::Policy(args) => policy::run(args, &cx),
        Command::Approve(args) => approve::run(args, &cx),
        Command::Queue(args) => queue::run(args, &cx),
        Command::Check(args) => check::run(args, &cx),
        Command::Conflicts(args) => conflicts::run(args, &cx),
        Command::Review(args) => review::run(args, &cx),
        Command::AddProject(args) => add_project::run(args, &cx),
        Command::RemoveProject(args) => remove_project::run(args, &cx),
        Command::TrustProject(args) => trust_project::run(args, &cx),
        Command::Config(args) => config::run(args, &cx),
        Command::ConfigHelp(args) => config_help::run(args, &cx),
        Command::Doctor(args) => doctor::run(args, &cx),
        Command::Notify(args) => notify::run(args, &cx),
        Command::Reactions(args) => reactions::run(args, &cx),
        Command::Emit(args) => emit::run(args, &cx),
        Command::Simulate(args) => simulate::run(args, &cx),
        Command::Hooks(args) => hooks::run(args, &cx),
        Command::ReviewCheck(args) => review_check::run(args, &cx),
        Command::Verify(args) => verify::run(args, &cx),
        Command::Plugin(args) => plugin::run(args, &cx),
        Command::Api(args) => api::run(args, &cx),
        Command::Events(args) => events::run(args, &cx),
        Command::Completion(args) => completion::run(args, &cx),
        Command::Man(args) => man::run(args, &cx),
        Command::Demo(args) => demo::run(args),
        Command::Daemon(args) => {
            outside_of_agents("no daemon is started").and_then(|()| daemon::run(args, &cx))
        }
        Command::DemoAgent(args) => demo_agent::run(args),
        Command::Hook(args) => hook::run(args),
    }
}

/// Parses the arguments. Help is built only on request.
fn parse() -> Result<Cli, CommandError> {
    let args: Vec<OsString> = std::env::args_os().collect();
    let asks = args.len() < 2 || args.iter().any(|arg| arg == "-h" || arg == "--help" || arg == "help");
    let command = if asks { command() } else { Cli::command() };
    let mut matches = match command.try_get_matches_from(&args) {
        Ok(matches) => matches,
        Err(err) => {
            return Err(command_aliases::meant(&err, &args, &Cli::command()).unwrap_or_else(|| err.exit()));
        }
    };
    Ok(Cli::from_arg_matches_mut(&mut matches).unwrap_or_else(|err| err.format(&mut Cli::command()).exit()))
}
