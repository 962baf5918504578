//! Builds the command to run.

use std::path::PathBuf;

use ao_core::effect::LaunchPlan;
use ao_core::text::{sanitise, single_quoted};
use ao_ports::{AgentError, CommandFile, LaunchPreparation, ProgramCommand, RuntimeAbilities};

use super::base::failed;
use super::options::{Options, Prompt};
use super::places::{AgentPlaces, PlaceValues};

/// Passes a file to a program as its stdin, which therefore ends.
const FROM_FILE: &str = r#"file=$1; shift; exec "$@" <"$file""#;

/// The name of the file with the prompt.
const PROMPT: &str = "prompt.md";

/// Builds the command, with the prompt as a file if the program needs it there.
pub(super) fn prepare(
    options: &Options,
    places: &AgentPlaces,
    runtime: RuntimeAbilities,
    plan: &LaunchPlan,
) -> Result<LaunchPreparation, AgentError> {
    let mut args = match (&options.resume, plan.resume) {
        (_, false) => options.args.clone(),
        (None, true) => return Ok(LaunchPreparation::NothingToResume),
        (Some(_), true) if runtime.shares_files && is_gone(options, plan) => {
            return Ok(LaunchPreparation::NothingToResume);
        }
        (Some(args), true) => args.clone(),
    };
    let values = PlaceValues::of(places, &plan.path, runtime.shares_files).map_err(failed)?;
    let chosen: Vec<String> = options.choose(&plan.agent).iter().map(|arg| values.fill(arg)).collect();
    let place_of_options = args.iter().position(|arg| arg == "{options}");
    let range = place_of_options.map_or(0..0, |at| at..at + 1);
    args.splice(range, chosen);
    if plan.prompt.is_none() && options.one_turn() {
        return Err(AgentError::Unable { agent: options.name.clone(), wish: "start without a task".into() });
    }
    let conversation = args.iter().any(|arg| arg.contains("{conversation}"));
    place(&mut args, "{conversation}", plan.conversation.as_str());
    let mut program = options.program.clone();
    let mut files = vec![];
    if let Some(prompt) = &plan.prompt {
        // Clean already. But an argument cannot contain NUL, and the launch must not depend on that.
        let prompt = &sanitise(prompt);
        let file = CommandFile { name: PROMPT.to_owned(), contents: prompt.clone() };
        let in_file = file.placeholder();
        if options.needs_files(&args) {
            if !runtime.places_files {
                let wish = "be given its task in a file by this runtime".into();
                return Err(AgentError::Unable { agent: options.name.clone(), wish });
            }
            files.push(file);
        }
        let placed = place(&mut args, "{prompt_file}", &in_file) | place(&mut args, "{prompt}", prompt);
        match options.prompt {
            Prompt::Argument | Prompt::Typed if !placed => {
                // Only once: a second one would be an argument itself.
                let before = options.before_prompt(prompt).filter(|word| args.last() != Some(word));
                args.extend(before);
                args.push(prompt.clone());
            }
            Prompt::File if !placed => args.push(in_file),
            Prompt::Stdin => {
                let words = ["-c", FROM_FILE, "sh", &in_file, &program].map(str::to_owned);
                args = words.into_iter().chain(args).collect();
                program = "sh".into();
            }
            _ => {}
        }
    } else {
        // There is no prompt at launch, so its arguments are left out.
        args.retain(|arg| !arg.contains("{prompt}") && !arg.contains("{prompt_file}"));
    }
    if !options.after.is_empty() {
        let after: Vec<String> = options.after.iter().map(|word| single_quoted(&values.fill(word))).collect();
        // The exit code is the agent's unless it is 0; then a failure of the command after it does not fail the turn.
        let script = format!(r#""$@" || exit; {}; exit 0"#, after.join(" "));
        let words = ["-c".to_owned(), script, "sh".to_owned(), program];
        args = words.into_iter().chain(args).collect();
        program = "sh".into();
    }
    let env = options.env.iter().map(|(name, value)| (name.clone(), values.fill(value))).collect();
    let (pass, io) = (options.pass.clone(), options.io());
    let command = ProgramCommand { program, args, env, pass, secrets: vec![], files, io };
    Ok(LaunchPreparation::Run { command, conversation: conversation.then(|| plan.conversation.clone()) })
}

/// Returns true if the conversation to resume is known to be gone. Without a file to look for, only the agent knows.
fn is_gone(options: &Options, plan: &LaunchPlan) -> bool {
    let Some(template) = &options.conversation_file else { return false };
    let path = template
        .replace("{conversation}", plan.conversation.as_str())
        .replace("{path_dashes}", &plan.path.replace(['/', '.'], "-"))
        .replace("{path}", &plan.path);
    let path = match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(path),
    };
    // If it cannot be checked, it may well exist.
    matches!(path.try_exists(), Ok(false))
}

fn place(args: &mut [String], word: &str, value: &str) -> bool {
    let mut placed = false;
    for arg in args.iter_mut().filter(|arg| arg.contains(word)) {
        *arg = arg.replace(word, value);
        placed = true;
    }
    placed
}
