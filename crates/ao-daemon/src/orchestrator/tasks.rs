//! From a goal to tasks.

use ao_core::ProjectId;
use async_trait::async_trait;

/// A goal as a person wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanGoal {
    pub title: String,
    pub body: String,
}

/// The first line is the title.
impl From<&str> for PlanGoal {
    fn from(text: &str) -> PlanGoal {
        let (title, body) = text.trim().split_once('\n').unwrap_or((text.trim(), ""));
        PlanGoal { title: title.trim().to_owned(), body: body.trim().to_owned() }
    }
}

/// One piece of work for one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedTask {
    pub project: ProjectId,
    /// A short title: lists show it, and names and branches are made from it.
    pub title: String,
    /// The prompt of the agent.
    pub prompt: String,
}

/// Makes tasks of a goal.
#[async_trait]
pub trait TaskPlanner: Send + Sync {
    async fn plan(&self, project: &ProjectId, goal: &PlanGoal) -> Result<Vec<PlannedTask>, PlanError>;
}

/// The reason why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no plan was made: {0}")]
pub struct PlanError(pub String);

/// The default planner: each item of the list in the goal's body is a task, with the title and the text before the
/// list as its context. Without a list, the goal is one task. It guesses nothing else.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListPlanner;

#[async_trait]
impl TaskPlanner for ListPlanner {
    async fn plan(&self, project: &ProjectId, goal: &PlanGoal) -> Result<Vec<PlannedTask>, PlanError> {
        if goal.title.is_empty() {
            return Err(PlanError("the goal is empty".into()));
        }
        let task = |title: &str, prompt: String| PlannedTask {
            project: project.clone(),
            title: title.to_owned(),
            prompt,
        };
        let items: Vec<&str> = goal.body.lines().filter_map(item).collect();
        if items.is_empty() {
            let prompt = format!("{}\n\n{}", goal.title, goal.body);
            return Ok(vec![task(&goal.title, prompt.trim_end().to_owned())]);
        }
        let context: Vec<&str> = goal.body.lines().take_while(|line| item(line).is_none()).collect();
        let context = format!("This is a part of: {}\n{}", goal.title, context.join("\n"));
        let of = |item: &&str| task(item, format!("{item}\n\n{}", context.trim_end()));
        Ok(items.iter().map(of).collect())
    }
}

/// The text of an item that is still to be done; `- [x]` is done.
fn item(line: &str) -> Option<&str> {
    // Deeper items belong to the one above them.
    let numbered = || {
        let (number, text) = line.split_once(". ")?;
        (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
    };
    let text = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).or_else(numbered)?;
    if text.starts_with("[x]") || text.starts_with("[X]") {
        return None;
    }
    let text = text.strip_prefix("[ ]").unwrap_or(text).trim();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn titles(goal: &str) -> Vec<String> {
        let tasks = ListPlanner.plan(&ProjectId::new("app"), &goal.into()).await.unwrap();
        tasks.into_iter().map(|task| task.title).collect()
    }

    #[tokio::test]
    async fn each_open_item_of_a_list_is_a_task() {
        let goal =
            "Ship it\nSoon.\n\n- [ ] write\n  - not a task of its own\n- [x] was done\n* test\n1. release";
        assert_eq!(titles(goal).await, ["write", "test", "release"]);
        let tasks = ListPlanner.plan(&ProjectId::new("app"), &goal.into()).await.unwrap();
        assert_eq!(tasks[1].prompt, "test\n\nThis is a part of: Ship it\nSoon.");
    }

    #[tokio::test]
    async fn a_goal_without_a_list_is_one_task() {
        assert_eq!(titles("Fix the login\nIt fails at 3. o'clock").await, ["Fix the login"]);
        let empty = ListPlanner.plan(&ProjectId::new("app"), &"".into()).await;
        assert_eq!(empty.unwrap_err().to_string(), "no plan was made: the goal is empty");
    }
}
