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
use clap::{CommandFactory, FromArgMatches, Parser};
use clap_complete::CompleteEnv;

use self::context::{Context, GlobalOptions};
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

subcommands! {
    Init(init::Args) => init::run,
    Start(start::Args) => start::run,
    Stop(stop::Args) => stop::run,
    Dashboard(dashboard::Args) => dashboard::run,
    Service(service::Args) => service::run,
    New(new::Args) => new::run,
    Spawn(spawn::Args) => spawn::run,
    BatchSpawn(batch_spawn::Args) => batch_spawn::run,
    #[command(alias = "ls")]
    List(list::Args) => list::run,
    Status(status::Args) => status::run,
    Attach(attach::Args) => attach::run,
    Logs(logs::Args) => logs::run,
    Open(open::Args) => open::run,
    Send(send::Args) => send::run,
    Asks(asks::Args) => asks::run,
    Answer(answer::Args) => answer::run,
    Wait(wait::Args) => wait::run,
    Explain(explain::Args) => explain::run,
    Why(why::Args) => why::run,
    Budget(budget::Args) => budget::run,
    Plan(plan::Args) => plan::run,
    Advise(advise::Args) => advise::run,
    Pause(pause::Args) => pause::run,
    Resume(resume::Args) => resume::run,
    Retry(retry::Args) => retry::run,
    Session(session::Args) => session::run,
    Issue(issue::Args) => issue::run,
    Pr(pr::Args) => pr::run,
    Policy(policy::Args) => policy::run,
    Approve(approve::Args) => approve::run,
    Queue(queue::Args) => queue::run,
    Check(check::Args) => check::run,
    Conflicts(conflicts::Args) => conflicts::run,
    Review(review::Args) => review::run,
    AddProject(add_project::Args) => add_project::run,
    RemoveProject(remove_project::Args) => remove_project::run,
    TrustProject(trust_project::Args) => trust_project::run,
    Config(config::Args) => config::run,
    ConfigHelp(config_help::Args) => config_help::run,
    Doctor(doctor::Args) => doctor::run,
    Notify(notify::Args) => notify::run,
    Reactions(reactions::Args) => reactions::run,
    Emit(emit::Args) => emit::run,
    Simulate(simulate::Args) => simulate::run,
    Hooks(hooks::Args) => hooks::run,
    ReviewCheck(review_check::Args) => review_check::run,
    Verify(verify::Args) => verify::run,
    Plugin(plugin::Args) => plugin::run,
    Api(api::Args) => api::run,
    Events(events::Args) => events::run,
    Completion(completion::Args) => completion::run,
    Man(man::Args) => man::run,
    Demo(demo::Args) => demo::run,
    #[command(hide = true)]
    Daemon(daemon::Args) => daemon::run,
    #[command(hide = true)]
    DemoAgent(demo_agent::Args) => demo_agent::run,
    #[command(hide = true)]
    Hook(hook::Args) => hook::run,
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
    command.run(&cx)
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
