//! Reactions in all layers, and mistakes in them.

use std::time::Duration;

use ao_core::incident::IncidentKind;
use ao_core::notice::NoticeLevel;
use ao_core::reaction::{ReactionAction, ReactionPatch};

use super::support::{read, wrong_with};

fn patch(text: &str, kind: &str) -> ReactionPatch {
    let loaded = read(text).unwrap_or_else(|err| panic!("{err}"));
    assert_eq!(loaded.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(), [""; 0], "{text}");
    loaded.config.settings().reactions[&kind.parse::<IncidentKind>().unwrap()].clone()
}

#[test]
fn every_field_reaches_the_core_by_all_its_names() {
    let minutes = |n: u64| Some(Duration::from_secs(n * 60));
    for (said, meant) in [
        ("auto: false", ReactionPatch { auto: Some(false), ..ReactionPatch::default() }),
        ("auto_respond: true", ReactionPatch { auto: Some(true), ..ReactionPatch::default() }),
        ("max_retries: 4", ReactionPatch { attempts: Some(4), ..ReactionPatch::default() }),
        ("escalateAfter: 20m", ReactionPatch { escalate_after: minutes(20), ..ReactionPatch::default() }),
        (
            "require_approval_after: 2",
            ReactionPatch { attempts: Some(2), most: Some(2), ..ReactionPatch::default() },
        ),
        ("threshold: 10m", ReactionPatch { threshold: minutes(10), ..ReactionPatch::default() }),
        ("cooldown: 1h", ReactionPatch { cooldown: minutes(60), ..ReactionPatch::default() }),
        ("priority: urgent", ReactionPatch { level: Some(NoticeLevel::Urgent), ..ReactionPatch::default() }),
        (
            "priority: critical",
            ReactionPatch { level: Some(NoticeLevel::Urgent), ..ReactionPatch::default() },
        ),
        ("priority: high", ReactionPatch { level: Some(NoticeLevel::Action), ..ReactionPatch::default() }),
        ("priority: medium", ReactionPatch { level: Some(NoticeLevel::Warning), ..ReactionPatch::default() }),
        ("priority: low", ReactionPatch { level: Some(NoticeLevel::Info), ..ReactionPatch::default() }),
        ("channel: slack", ReactionPatch { channel: Some("slack".into()), ..ReactionPatch::default() }),
        (
            "prompt: 'see {{errors}}'",
            ReactionPatch { message: Some("see {{errors}}".into()), ..ReactionPatch::default() },
        ),
        (
            "condition: pr.draft",
            ReactionPatch { condition: Some("pr.draft".into()), ..ReactionPatch::default() },
        ),
        ("agent: codex", ReactionPatch { agent: Some("codex".into()), ..ReactionPatch::default() }),
        ("rerun: 2", ReactionPatch { rerun: Some(2), ..ReactionPatch::default() }),
        ("resolve_threads: true", ReactionPatch { resolve: Some(true), ..ReactionPatch::default() }),
        (
            "{ action: run, command: './tell.sh ${X}', timeout: 5m }",
            ReactionPatch {
                action: Some(ReactionAction::Run),
                command: Some("./tell.sh ${X}".into()),
                timeout: minutes(5),
                ..ReactionPatch::default()
            },
        ),
    ] {
        let body = if said.starts_with('{') { said.to_owned() } else { format!("{{ {said} }}") };
        assert_eq!(patch(&format!("reactions: {{ ci-failed: {body} }}\n"), "ci-failed"), meant, "{said}");
    }
}

#[test]
fn every_action_is_known_by_all_its_spellings() {
    for (word, action) in [
        ("send-to-agent", ReactionAction::SendToAgent),
        ("send_to_agent", ReactionAction::SendToAgent),
        ("spawn-agent", ReactionAction::SpawnAgent),
        ("spawn_agent", ReactionAction::SpawnAgent),
        ("notify", ReactionAction::Notify),
        ("merge", ReactionAction::Merge),
        ("auto-merge", ReactionAction::Merge),
        ("rerun-checks", ReactionAction::RerunChecks),
        ("rebase", ReactionAction::Rebase),
        ("escalate", ReactionAction::Escalate),
        ("record", ReactionAction::Record),
    ] {
        let text = format!("reactions: {{ merge-conflict: {{ action: {word} }} }}\n");
        assert_eq!(patch(&text, "merge-conflicts").action, Some(action), "{word}");
    }
}

#[test]
fn a_name_of_ones_own_is_an_event_of_ones_own() {
    let own = patch(
        "reactions: { deploy_failed: { action: send-to-agent, message: 'on {{ data.env }}' } }\n",
        "deploy-failed",
    );
    assert_eq!(
        (own.action, own.message.as_deref()),
        (Some(ReactionAction::SendToAgent), Some("on {{ data.env }}"))
    );
}

#[test]
fn agents_and_specialists_have_their_own_word() {
    let text = "\
agents:
  - { id: ui, tool: codex, config: { reactions: { ci-failed: { retries: 1 } } } }
agentReactions:
  codex: { ci-failed: { retries: 5, escalateAfter: 10m } }
  ui: { ci-failed: { retries: 9, message: mine } }
";
    let settings = read(text).unwrap_or_else(|err| panic!("{err}")).config.settings();
    let of = |agent: &str| settings.agent_reactions[agent][&IncidentKind::CiFailed].clone();
    assert_eq!(of("codex").attempts, Some(5));
    assert_eq!((of("ui").attempts, of("ui").message.as_deref()), (Some(1), Some("mine")));
}

/// All settings here have an effect.
#[test]
fn a_projects_own_reactions_are_no_warning() {
    let text = "projects: { a: { path: /a, reactions: { ci-failed: { retries: 1 } } } }\n";
    assert!(read(text).unwrap().warnings.is_empty());
}

#[test]
fn what_is_wrong_is_told_at_its_place_with_what_would_be_right() {
    for (said, error) in [
        (
            "ci-failed: { message: 'see {{ error }}' }",
            "2:26: `message` is not a valid template: there is no variable `error` / did you mean `errors`?",
        ),
        (
            "ci-failed: { prompt: '{{ pr.titel }}' }",
            "2:25: `message` is not a valid template: there is no attribute `pr.titel` / did you mean `pr.title`?",
        ),
        (
            "ci-failed: { message: '{{ errors | uper }}' }",
            "2:26: `message` is not a valid template: there is no filter `uper` / did you mean `upper`?",
        ),
        (
            "ci-failed: { message: '{{ errors' }",
            "2:26: `message` is not a valid template: syntax error: unexpected end of input, expected end of variable block",
        ),
        (
            "label-added: { condition: lable == 'x' }",
            "2:30: `condition` is not a valid condition: there is no variable `lable` / did you mean `label`?",
        ),
        (
            "label-added: { condition: label }",
            "2:30: `condition` is not a valid condition: it returns a string instead of `true` or `false` / \
             write one such as `label == 'needs-tests'`, and combine several with `&&` or `||`",
        ),
        (
            "deploy-failed: { message: hello }",
            "2:4: unknown key `deploy-failed` in `reactions` / a custom event needs an `action`; known names: ",
        ),
        (
            "ci-falied: { action: notify }",
            "2:4: unknown key `ci-falied` in `reactions` / \
             did you mean `ci-failed`? a custom event needs a name less like it, and an `action`",
        ),
        (
            "review-coments: { auto: true }",
            "2:4: unknown key `review-coments` in `reactions` / \
             did you mean `changes-requested`? a custom event needs a name less like it, and an `action`",
        ),
        (
            "Deploy: { action: notify }",
            "2:4: `Deploy` is not a valid event name: use at most 40 lower-case letters, digits and `-`, starting with a letter",
        ),
        (
            "ci-failed: { action: run }",
            "2:25: `run` needs a `command` / add one, such as `command: ./scripts/notify.sh`",
        ),
        (
            "agent-idle: { action: rebase }",
            "2:26: `agent-idle` is not about a pull request, so this action is not possible / \
             use `send-to-agent`, `notify`, `run` or `escalate` here",
        ),
        ("ci-failed: { agent: codx }", "2:24: there is no agent called `codx` / did you mean `codex`?"),
        ("ci-failed: { channel: slak }", "2:26: there is no notifier called `slak` / did you mean `slack`?"),
        ("ci-failed: { rerun: 11 }", "2:24: `rerun` can be at most 10, but is 11"),
    ] {
        let text = wrong_with(&format!("reactions:\n   {said}\n"));
        let shown: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("ao.yaml:").or_else(|| line.trim().strip_prefix("hint: ")))
            .collect();
        let shown = shown.join(" / ");
        assert!(shown.starts_with(error), "{said}\n  is   {shown}\n  want {error}");
    }
}

#[test]
fn an_agent_that_nobody_knows_has_no_reactions() {
    let text = wrong_with("agentReactions:\n  codx: { ci-failed: { retries: 1 } }\n");
    assert!(
        text.contains("there is no agent called `codx`") && text.contains("did you mean `codex`?"),
        "{text}"
    );
}

/// The examples on the page are valid, and it lists everything.
#[test]
fn the_page_about_reactions_can_be_relied_on() {
    let page = include_str!("../../../../docs/reactions.md");
    let blocks = page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
    let mut read = 0;
    for block in blocks {
        if let Some(conditions) = block.strip_prefix("condition: ") {
            for condition in conditions.split("condition: ") {
                let text = format!("reactions: {{ label-added: {{ condition: {} }} }}\n", condition.trim());
                assert_eq!(wrong_with(&text), "nothing", "{condition}");
            }
        } else {
            assert_eq!(wrong_with(block), "nothing", "{block}");
            read += 1;
        }
    }
    assert!(read >= 5);
    let has = |word: &str| page.contains(&format!("`{word}`"));
    for kind in IncidentKind::ours() {
        assert!(has(kind.word()), "{kind}");
    }
    for (name, value) in ao_core::reaction::sample().as_object().unwrap() {
        assert!(has(name), "{name}");
        let inside: Vec<&str> =
            value.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        let row = page.lines().find(|line| line.starts_with(&format!("| `{name}` | `"))).unwrap_or_default();
        for part in &inside {
            assert!(row.split([' ', '`']).any(|word| word == *part), "{name}.{part}: {row}");
        }
    }
    for filter in ao_core::reaction::words::FILTERS {
        assert!(page.contains(filter), "{filter}");
    }
}
