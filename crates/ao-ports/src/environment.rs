//! The environment of programs that we start: what programs need to run, what the project configures, and nothing
//! else of the daemon's that might be a secret.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;

use ao_core::setup::{Environment, SecretRef, SecretSource};
use ao_core::{Attempt, ProjectId, SessionId};

use crate::runtime::RuntimeError;

/// Identify everything that a program starts as part of its session.
pub const SESSION: &str = "AO_SESSION";
pub const ATTEMPT: &str = "AO_ATTEMPT";
/// Set for set-up commands, never for an agent: their processes belong to the session, not to one attempt.
pub const SETUP: &str = "AO_SETUP";
/// Marks the processes of a command that runs beside an agent, by an id of that command.
pub const EXEC: &str = "AO_EXEC";
/// The data directory of the daemon that a program of ours belongs to.
pub const DATA_DIR: &str = "AO_DATA_DIR";
/// Set for a check: its name, its project, and the run, which identifies everything it starts.
pub const CHECK: &str = "AO_CHECK";
pub const CHECK_RUN: &str = "AO_CHECK_RUN";
pub const PROJECT: &str = "AO_PROJECT";
/// Set for a hook, or a command of a reaction: the event, the hook point if it is a hook, the session that it is
/// about, and the job, which identifies everything it starts.
pub const EVENT: &str = "AO_EVENT";
pub const HOOK: &str = "AO_HOOK";
pub const HOOK_SESSION: &str = "AO_HOOK_SESSION";
pub const JOB: &str = "AO_JOB";

const ALLOWED: [&str; 22] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TERM",
    "COLORTERM",
    // Without it an agent cannot push over ssh; it grants the use of a key, but not the key itself.
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
];

const ALLOWED_PREFIXES: [&str; 2] = ["LC_", "XDG_"];

/// The environment of a program, in addition to the common part.
#[derive(Debug, Clone, Copy)]
pub struct ProgramVariables<'a> {
    pub session: SessionId,
    pub attempt: Attempt,
    /// Names that are passed on.
    pub pass: &'a [String],
    pub set: &'a BTreeMap<String, String>,
    pub secrets: &'a [SecretRef],
}

/// The environment of a check, in addition to the common part.
#[derive(Debug, Clone, Copy)]
pub struct CheckVariables<'a> {
    pub check: &'a str,
    pub run: &'a str,
    pub project: &'a ProjectId,
    pub environment: &'a Environment,
}

/// The environment of a hook, in addition to the common part.
#[derive(Debug, Clone, Copy)]
pub struct HookVariables<'a> {
    pub event: &'a str,
    pub hook: Option<&'a str>,
    pub project: &'a ProjectId,
    pub session: Option<SessionId>,
    pub job: &'a str,
    /// The data directory of the daemon that runs it.
    pub data_dir: &'a str,
    pub environment: &'a Environment,
}

/// Composes the environment of a program: the allowed part of ours, the requested part, and our own ids last.
///
/// Later entries override earlier ones of the same name.
pub fn compose(
    wanted: ProgramVariables<'_>,
    ours: impl Iterator<Item = (OsString, OsString)>,
) -> Result<Vec<(OsString, OsString)>, RuntimeError> {
    let mut environment = allowed(wanted.pass, ours);
    environment.extend(project(wanted.set, wanted.secrets)?);
    environment.push((SESSION.into(), wanted.session.to_string().into()));
    environment.push((ATTEMPT.into(), wanted.attempt.to_string().into()));
    Ok(environment)
}

/// Composes the environment of a check: the allowed part of ours, `CI`, the requested part, and our own names last.
///
/// Later entries override earlier ones of the same name.
pub fn compose_check(
    wanted: CheckVariables<'_>,
    ours: impl Iterator<Item = (OsString, OsString)>,
) -> Result<Vec<(OsString, OsString)>, RuntimeError> {
    let mut environment = allowed(&wanted.environment.pass, ours);
    environment.push(("CI".into(), "1".into()));
    // No person is there to answer. Without this, git would wait for input until the time limit.
    environment.push(("GIT_TERMINAL_PROMPT".into(), "0".into()));
    environment.extend(project(&wanted.environment.set, &wanted.environment.secrets)?);
    environment.push((CHECK.into(), wanted.check.into()));
    environment.push((CHECK_RUN.into(), wanted.run.into()));
    environment.push((PROJECT.into(), wanted.project.as_str().into()));
    Ok(environment)
}

/// Composes the environment of a hook: the allowed part of ours, the requested part, and our own names last.
///
/// Later entries override earlier ones of the same name.
pub fn compose_hook(
    wanted: HookVariables<'_>,
    ours: impl Iterator<Item = (OsString, OsString)>,
) -> Result<Vec<(OsString, OsString)>, RuntimeError> {
    let mut environment = allowed(&wanted.environment.pass, ours);
    // No person is there to answer.
    environment.push(("GIT_TERMINAL_PROMPT".into(), "0".into()));
    environment.extend(project(&wanted.environment.set, &wanted.environment.secrets)?);
    environment.push((DATA_DIR.into(), wanted.data_dir.into()));
    environment.push((EVENT.into(), wanted.event.into()));
    environment.extend(wanted.hook.map(|hook| (HOOK.into(), hook.into())));
    environment.push((PROJECT.into(), wanted.project.as_str().into()));
    environment.extend(wanted.session.map(|session| (HOOK_SESSION.into(), session.to_string().into())));
    environment.push((JOB.into(), wanted.job.into()));
    Ok(environment)
}

/// Returns the variables of ours that may be passed on.
fn allowed(pass: &[String], ours: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let passes = |name: &str| is_allowed(name) || pass.iter().any(|passed| passed == name);
    ours.filter(|(name, _)| name.to_str().is_some_and(passes)).collect()
}

/// Returns the variables that a project has configured.
fn project(
    set: &BTreeMap<String, String>,
    secrets: &[SecretRef],
) -> Result<Vec<(OsString, OsString)>, RuntimeError> {
    let mut environment: Vec<(OsString, OsString)> =
        set.iter().map(|(name, value)| (name.into(), value.into())).collect();
    for secret in secrets {
        environment.push((secret.name.clone().into(), resolve(secret)?));
    }
    Ok(environment)
}

/// Reads a secret from its source.
fn resolve(secret: &SecretRef) -> Result<OsString, RuntimeError> {
    let failed = |from: String, why: String| RuntimeError::NoSecret { name: secret.name.clone(), from, why };
    match &secret.from {
        SecretSource::Env(name) => std::env::var_os(name)
            .ok_or_else(|| failed(format!("the variable `{name}`"), "it is not set".into())),
        SecretSource::File(path) => match fs::read_to_string(path) {
            Ok(text) => Ok(text.strip_suffix('\n').unwrap_or(&text).into()),
            Err(err) => Err(failed(format!("the file `{path}`"), err.to_string())),
        },
    }
}

/// Returns whether every program gets a variable of this name.
pub(crate) fn is_allowed(name: &str) -> bool {
    ALLOWED.contains(&name) || ALLOWED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn composed(pass: &[&str], secrets: &[SecretRef]) -> Result<Vec<String>, RuntimeError> {
        let ours =
            ["PATH", "LC_ALL", "XDG_RUNTIME_DIR", "https_proxy", "GITHUB_TOKEN", "LD_PRELOAD", "GIT_DIR"];
        let pass: Vec<String> = pass.iter().map(|name| (*name).to_owned()).collect();
        let set = BTreeMap::from([("PORT".to_owned(), "4000".to_owned())]);
        let wanted =
            ProgramVariables { session: SessionId(1), attempt: Attempt(2), pass: &pass, set: &set, secrets };
        let environment = compose(wanted, ours.into_iter().map(|name| (name.into(), "x".into())))?;
        Ok(environment.into_iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect())
    }

    #[test]
    fn only_what_programs_need_gets_through() {
        let all = ["PATH", "LC_ALL", "XDG_RUNTIME_DIR", "https_proxy", "PORT", "AO_SESSION", "AO_ATTEMPT"];
        assert_eq!(composed(&[], &[]).expect("nothing to look up"), all);
    }

    #[test]
    fn a_check_gets_what_programs_need_and_learns_what_it_is() {
        let set = BTreeMap::from([("CI".to_owned(), "yes".to_owned()), ("AO_CHECK".into(), "other".into())]);
        let environment = Environment { set, ..Environment::default() };
        let project = ProjectId::new("my-app");
        let wanted =
            CheckVariables { check: "unit", run: "run_1f", project: &project, environment: &environment };
        let ours = ["PATH", "GITHUB_TOKEN", "AO_TOKEN"].into_iter().map(|name| (name.into(), "x".into()));
        let composed: BTreeMap<_, _> =
            compose_check(wanted, ours).expect("nothing to look up").into_iter().collect();
        let told: Vec<String> =
            composed.iter().map(|(name, value)| format!("{}={}", name.display(), value.display())).collect();
        let all = [
            "AO_CHECK=unit",
            "AO_CHECK_RUN=run_1f",
            "AO_PROJECT=my-app",
            "CI=yes",
            "GIT_TERMINAL_PROMPT=0",
            "PATH=x",
        ];
        assert_eq!(told, all, "what a project sets wins over ours, but not over what a check is");
    }

    #[test]
    fn a_name_that_is_asked_for_gets_through_as_well() {
        let names = composed(&["GITHUB_TOKEN"], &[]).expect("nothing to look up");
        assert!(names.contains(&"GITHUB_TOKEN".to_owned()) && !names.contains(&"LD_PRELOAD".to_owned()));
    }

    #[test]
    fn a_secret_that_cannot_be_read_is_named_and_its_place_too() {
        let from = SecretSource::File("/nowhere/key".into());
        let err =
            composed(&[], &[SecretRef { name: "KEY".into(), from }]).expect_err("there is no such file");
        let text = err.to_string();
        assert!(text.contains("`KEY`") && text.contains("`/nowhere/key`"), "{text}");
    }
}
