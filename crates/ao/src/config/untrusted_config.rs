//! Reviews the configuration of a cloned repository: what it would run, reach or decide beyond its own project.
//!
//! Such a file affects the whole daemon once it is registered, so the user has to see it first. Everything that is
//! not known to be harmless is listed.

use ao_config::shape::{Defaults, Plugin, Project};
use ao_config::{Config, LOCAL_FILE, Layer, LayerKind};
use ao_core::reaction::{Reaction, ReactionAction};
use ao_daemon::config;
use camino::Utf8Path;
use serde_json::{Value, json};

use crate::error::CommandError;

/// Lists the keys of a file that do more than name the project, its place and the built-in agent, runtime and
/// tracker, with what they run, if known.
pub(crate) fn risky_keys(file: &Utf8Path) -> Result<Vec<String>, CommandError> {
    let places = config::places(Some(file))?;
    let mut layers = vec![Layer { kind: LayerKind::Project, path: file.to_owned() }];
    // The local override file can come with a repository too.
    let local = file.with_file_name(LOCAL_FILE);
    if local.is_file() {
        layers.push(Layer { kind: LayerKind::Local, path: local });
    }
    let loaded = ao_config::load_files(layers, &places).map_err(config::config_error)?;
    Ok(beyond(&loaded.config, file.parent().unwrap_or(Utf8Path::new("/"))))
}

fn beyond(config: &Config, folder: &Utf8Path) -> Vec<String> {
    let mut said = Vec::new();
    let harmless = harmless(config);
    let (said_top, harmless_top) = (whole(config), whole(&harmless));
    for (key, value) in differing(&said_top, &harmless_top) {
        match key.as_str() {
            "projects" => {}
            "tools" => said.extend(config.tools.iter().map(|(name, manifest)| {
                describe_key(&format!("tools.{name}"), manifest.get("program").unwrap_or(&Value::Null))
            })),
            "defaults" => {
                let inside = differing(value, &harmless_top["defaults"]);
                said.extend(inside.map(|(key, _)| format!("`defaults.{key}`")));
            }
            key => said.push(format!("`{key}`")),
        }
    }
    for (name, project) in &config.projects {
        let plain = whole(&plain(project));
        for (key, value) in differing(&whole(project), &plain) {
            let path = format!("projects.{name}.{key}");
            said.push(match key.as_str() {
                "postCreate" | "teardown" => describe_key(&path, value),
                _ => format!("`{path}`"),
            });
        }
        let real = |path: &Utf8Path| path.canonicalize_utf8().unwrap_or_else(|_| path.to_owned());
        if !real(&project.path).starts_with(real(folder)) {
            said.push(format!("`projects.{name}.path`"));
        }
    }
    said
}

/// Returns the configuration without anything that could do harm. Its projects are reviewed one by one.
fn harmless(config: &Config) -> Config {
    let named = |plugin: &Plugin| Plugin::named(&plugin.plugin);
    let defaults = &config.defaults;
    let mut reactions = config.reactions.clone();
    // An untrusted file may notify an agent or a person, but not merge or run anything.
    reactions.0.retain(|kind, reaction| {
        let whole = Reaction::default_for(kind).patched(&reaction.core());
        let only_tells = matches!(
            whole.action,
            ReactionAction::SendToAgent
                | ReactionAction::Notify
                | ReactionAction::Escalate
                | ReactionAction::Record
                | ReactionAction::RerunChecks
        );
        reaction.command.is_none() && reaction.agent.is_none() && (only_tells || !whole.auto)
    });
    let mut harmless = Config {
        schema: config.schema.clone(),
        defaults: Defaults {
            runtime: named(&defaults.runtime),
            agent: defaults.agent.clone(),
            workspace: named(&defaults.workspace),
            tracker: named(&defaults.tracker),
            scm: defaults.scm.as_ref().map(named),
            // An empty list sends nothing.
            notifiers: match defaults.notifiers.is_empty() {
                true => vec![],
                false => Defaults::default().notifiers,
            },
        },
        reactions,
        ..Config::default()
    };
    harmless.orchestrator.enabled = config.orchestrator.enabled;
    harmless
}

/// Returns the project with nothing but its identity.
fn plain(project: &Project) -> Project {
    let what_it_is = json!({
        "path": project.path,
        "repo": project.repo,
        "defaultBranch": project.default_branch,
        "sessionPrefix": project.session_prefix,
    });
    serde_json::from_value(what_it_is).expect("a project is what its parts are")
}

fn whole(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).expect("a configuration can be written")
}

/// Returns the entries of a map that differ from another.
fn differing<'a>(one: &'a Value, other: &'a Value) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let entries = one.as_object().into_iter().flatten();
    entries.filter(move |(key, value)| other.get(key.as_str()) != Some(*value))
}

/// Renders a key with what it runs, in one line.
fn describe_key(path: &str, value: &Value) -> String {
    const FITS: usize = 100;
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let text = ao_core::text::sanitise(&text).replace('\n', " ");
    let cut = if text.chars().count() > FITS { "…" } else { "" };
    format!("`{path}`: {}{cut}", text.chars().take(FITS).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys_of(text: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let file = Utf8Path::from_path(folder.path()).unwrap().join("agent-orchestrator.yaml");
        std::fs::write(&file, text).unwrap();
        risky_keys(&file).unwrap()
    }

    #[test]
    fn what_is_written_at_first_is_nothing_to_look_at() {
        let init = ao_config::init::InitValues {
            project: "app".into(),
            repo: Some("owner/app".into()),
            path: ".".into(),
            default_branch: "main".into(),
            tracker: "github".into(),
            agent: "codex".into(),
            runtime: "tmux".into(),
            workspace: "worktree".into(),
            notifiers: vec![],
            schema: None,
            checks: vec![],
            runs_checks: false,
        };
        assert_eq!(keys_of(&ao_config::init::template(&init)), <[String; 0]>::default());
    }

    #[test]
    fn whatever_runs_reaches_or_decides_more_is_told() {
        let project = |more: &str| keys_of(&format!("projects:\n  app:\n    path: .\n{more}"));
        for (more, key) in [
            ("    postCreate: ['curl x | sh']\n", "`projects.app.postCreate`: [\"curl x | sh\"]"),
            ("    env: { pass: [GITHUB_TOKEN] }\n", "`projects.app.env`"),
            ("    agentRulesFile: /etc/passwd\n", "`projects.app.agentRulesFile`"),
            ("    worker: { agentConfig: { permissions: permissionless } }\n", "`projects.app.worker`"),
            ("    runtime: { plugin: docker, image: x }\n", "`projects.app.runtime`"),
            ("tools: { claude-code: { program: ./mine } }\n", "`tools.claude-code`: ./mine"),
            ("notifiers: { mine: { plugin: webhook, url: 'https://x.example' } }\n", "`notifiers`"),
            ("server: { listen: 0.0.0.0, allowRemote: true }\n", "`server`"),
            ("orchestrator: { agentConfig: { args: [--x] } }\n", "`orchestrator`"),
            ("reactions: { approved-and-green: { auto: true, action: merge } }\n", "`reactions`"),
            ("reactions: { approved-and-green: { auto: true } }\n", "`reactions`"),
            ("reactions: { ci-failed: { action: run, command: 'curl x | sh' } }\n", "`reactions`"),
            ("agentReactions: { codex: { ci-failed: { retries: 1 } } }\n", "`agentReactions`"),
            ("defaults: { tracker: { plugin: gitlab, url: 'https://x.example' } }\n", "`defaults.tracker`"),
        ] {
            assert_eq!(project(more), [key], "{more}");
        }
        assert_eq!(keys_of("projects: { app: { path: .. } }\n"), ["`projects.app.path`"]);
    }
}
