//! Renders the plan: as text, round by round with dependencies, and as a Mermaid graph.

use std::collections::BTreeMap;
use std::fmt::Write;

use ao_api::{Plan, Planned};

use super::table::{TableCell, TextTable};
use super::{Canvas, words};
use crate::ui;

/// Renders the rounds, then what waits.
pub fn plan(plan: &Plan, canvas: Canvas) -> String {
    if plan.running.is_empty() && plan.next.is_empty() && plan.waiting.is_empty() {
        return "Nothing runs and nothing waits. `ao spawn ISSUE` starts an agent; with `autoAssign: true` a project assigns its issues automatically.\n"
            .into();
    }
    let title = ui::TITLE;
    let mut drawn = format!("{title}Running{title:#} ({} of {} slots)\n", plan.taken, plan.slots);
    drawn += &table(&plan.running, canvas);
    let mut rounds: BTreeMap<u32, Vec<&Planned>> = BTreeMap::new();
    for planned in &plan.next {
        rounds.entry(planned.round.unwrap_or_default()).or_default().push(planned);
    }
    for (round, planned) in rounds {
        let when = match round {
            0 | 1 => "Next".to_owned(),
            round => format!("Then, round {round}"),
        };
        let _ = writeln!(drawn, "\n{title}{when}{title:#}");
        drawn += &table(planned, canvas);
    }
    if !plan.waiting.is_empty() {
        let _ = writeln!(drawn, "\n{title}Waiting for something else{title:#}");
        drawn += &table(&plan.waiting, canvas);
    }
    drawn
}

fn table<'a>(list: impl IntoIterator<Item = &'a Planned>, canvas: Canvas) -> String {
    let mut table = TextTable::new(&["WORK", "AGENT?", "TITLE", "WHY"]);
    for planned in list {
        table.row(vec![
            TableCell::new(name(planned)),
            TableCell::or_dash(planned.agent.as_deref()),
            TableCell::new(words::plain(&planned.title)),
            TableCell::styled(words::plain(&why(planned)), ui::FAINT),
        ]);
    }
    table.draw(canvas.width)
}

/// Describes the dependencies, or else the reason to wait.
fn why(planned: &Planned) -> String {
    let after = planned.blocked_by.join(", ");
    match (planned.blocked_by.is_empty(), planned.round) {
        (_, Some(0)) => String::new(),
        (false, Some(_)) => format!("after {after}"),
        (false, None) => planned.why.clone().unwrap_or_else(|| format!("after {after}")),
        (true, _) => planned.why.clone().unwrap_or_default(),
    }
}

fn name(planned: &Planned) -> &str {
    planned.session.as_deref().or(planned.issue.as_deref()).unwrap_or(&planned.project_id)
}

/// Renders a graph of the rounds and dependencies.
pub fn plan_graph(plan: &Plan) -> String {
    let mut graph = "graph LR\n".to_owned();
    let mut ids: BTreeMap<&str, usize> = BTreeMap::new();
    let all = plan.running.iter().chain(&plan.next).chain(&plan.waiting);
    let mut groups: BTreeMap<(u32, String), Vec<(usize, &Planned)>> = BTreeMap::new();
    for (n, planned) in all.clone().enumerate() {
        if let Some(issue) = &planned.issue {
            ids.insert(issue, n);
        }
        let group = match planned.round {
            Some(0) => (0, "running".to_owned()),
            Some(round) => (round, format!("round {round}")),
            None => (u32::MAX, "waiting".to_owned()),
        };
        groups.entry(group).or_default().push((n, planned));
    }
    for (number, ((_, group), members)) in groups.iter().enumerate() {
        let _ = writeln!(graph, "  subgraph g{number}[\"{group}\"]");
        for (n, planned) in members {
            let why = planned.why.as_ref().filter(|_| planned.round.is_none());
            let why = why.map(|why| format!("<br/><i>{}</i>", quoted(why))).unwrap_or_default();
            let (name, title) = (quoted(name(planned)), quoted(&planned.title));
            let _ = writeln!(graph, "    n{n}[\"{name}: {title}{why}\"]");
        }
        graph.push_str("  end\n");
    }
    let mut outside = BTreeMap::new();
    for (n, planned) in all.enumerate() {
        for blocker in &planned.blocked_by {
            let from = match ids.get(blocker.as_str()) {
                Some(known) => format!("n{known}"),
                None => {
                    let next = outside.len();
                    format!("x{}", outside.entry(blocker.as_str()).or_insert(next))
                }
            };
            let _ = writeln!(graph, "  {from} --> n{n}");
        }
    }
    for (issue, n) in outside {
        let _ = writeln!(graph, "  x{n}[\"{}\"]", quoted(issue));
    }
    graph
}

/// Escapes a text for a node of the graph.
fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    for c in words::plain(text).chars().take(120) {
        match c {
            '"' | '<' | '>' | '&' | '#' | '`' | '[' | ']' | '{' | '}' | '|' | '\\' | ';' => {
                let _ = write!(quoted, "#{};", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(issue: &str, round: Option<u32>, blocked_by: &[&str]) -> Planned {
        Planned {
            project_id: "app".into(),
            issue: Some(issue.into()),
            session: None,
            title: format!("do \"{issue}\""),
            agent: None,
            chosen: None,
            priority: 0,
            round,
            reason: None,
            why: round.is_none().then(|| "eve may not set agents to work".into()),
            blocked_by: blocked_by.iter().map(|issue| (*issue).to_owned()).collect(),
        }
    }

    fn some() -> Plan {
        Plan {
            taken: 1,
            slots: 4,
            running: vec![planned("app#1", Some(0), &[])],
            next: vec![planned("app#2", Some(1), &["app#1"]), planned("app#3", Some(2), &["app#2", "app#9"])],
            waiting: vec![planned("app#4", None, &[])],
        }
    }

    #[test]
    fn a_plan_is_told_round_by_round() {
        let drawn = plan(&some(), Canvas { width: None, ..Canvas::here() });
        let drawn = anstream::adapter::strip_str(&drawn).to_string();
        insta::assert_snapshot!(drawn.lines().map(str::trim_end).collect::<Vec<_>>().join("\n"), @r#"
        Running (1 of 4 slots)
        WORK   AGENT  TITLE
        app#1  -      do "app#1"

        Next
        WORK   AGENT  TITLE       WHY
        app#2  -      do "app#2"  after app#1

        Then, round 2
        WORK   AGENT  TITLE       WHY
        app#3  -      do "app#3"  after app#2, app#9

        Waiting for something else
        WORK   AGENT  TITLE       WHY
        app#4  -      do "app#4"  eve may not set agents to work
        "#);
    }

    #[test]
    fn a_graph_has_an_arrow_from_each_blocker_and_no_markup_of_others() {
        let mut hostile = some();
        hostile.waiting[0].title = "x\"]; click n0 \"javascript:alert(1)\"\n<b>".into();
        insta::assert_snapshot!(plan_graph(&hostile), @r#"
        graph LR
          subgraph g0["running"]
            n0["app#35;1: do #34;app#35;1#34;"]
          end
          subgraph g1["round 1"]
            n1["app#35;2: do #34;app#35;2#34;"]
          end
          subgraph g2["round 2"]
            n2["app#35;3: do #34;app#35;3#34;"]
          end
          subgraph g3["waiting"]
            n3["app#35;4: x#34;#93;#59; click n0 #34;javascript:alert(1)#34; #60;b#62;<br/><i>eve may not set agents to work</i>"]
          end
          n0 --> n1
          n1 --> n2
          x0 --> n2
          x0["app#35;9"]
        "#);
    }
}
