//! `ao pr create`: opens a pull request for a branch.

use ao_api::client::Client;
use ao_api::{NewPull, PullChecks, PullStatus};
use camino::Utf8PathBuf;

use crate::cli::completers;
use crate::cli::context::Context;
use crate::cli::text_input::BodyArgs;
use crate::client::project_choice::{project, project_or_all};
use crate::client::retry::CallRetry;
use crate::error::CommandError;
use crate::git::branch_proposal::BranchProposal;
use crate::repository::GitRepository;
use crate::{show, ui};

/// Open a pull request for the current branch
///
/// By default, the title is that of the newest commit and the text lists the commits. Run by an agent in its
/// workspace, the pull request belongs to its session.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao pr create
  ao pr create --title \"Remember the user\" --body-file notes.md --label bug
  ao pr create --draft --base my-other-branch   stands on another pull request
  ao pr create --dry-run")]
pub(crate) struct Args {
    /// The title [default: the title of the newest commit]
    #[arg(long, short)]
    title: Option<String>,
    #[command(flatten)]
    body: BodyArgs,
    /// The branch to merge [default: the current branch]
    #[arg(long, value_name = "BRANCH")]
    head: Option<String>,
    /// The base branch; the branch of another pull request makes a stack [default: the project's default branch]
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,
    /// Open it as a draft, which is not merged
    #[arg(long, short)]
    draft: bool,
    /// Labels, separated by commas
    #[arg(long, short, value_delimiter = ',', value_name = "LABEL")]
    label: Vec<String>,
    /// The session that owns it [default: yours, if you are an agent]
    #[arg(long, short, add = completers::sessions())]
    session: Option<String>,
    /// Only show what would be opened
    #[arg(long, short = 'n')]
    dry_run: bool,
    /// The project it belongs to [default: the project of the current folder]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let body = args.body.read()?;
    cx.call(async |client| {
        let (new, proposal) = proposed(args, client, body).await?;
        if proposal.uncommitted > 0 {
            let files = ui::count(proposal.uncommitted as u64, "file");
            ui::note(format_args!("{files} with uncommitted changes, which are not included"));
        }
        if args.dry_run {
            return dry(&new, &proposal, cx);
        }
        // Opening a pull request twice finds the first one, so this call needs no key.
        let answer = CallRetry::default().call(async || client.open_pull(&new).reply().await).await?;
        if cx.json() {
            return Ok(ui::raw(answer.json())?);
        }
        let pull = &answer.value.pull;
        let (title, id) = (ui::TITLE, show::plain(&pull.id));
        ui::line(format_args!("{title}{id}{title:#}: {}", show::plain(&pull.title)))?;
        let (head, base) = (show::plain(&pull.head_branch), show::plain(&pull.base_branch));
        match pull.checks {
            _ if pull.state == PullStatus::Merged => {
                ui::note(format_args!(
                    "{head} → {base}; this change was merged already, so nothing was opened"
                ));
            }
            PullChecks::None => ui::note(format_args!("{head} → {base}; `ao pr show {id}` shows its state")),
            _ => ui::note(format_args!("{head} → {base}; `ao pr checks {id} --watch` waits for its checks")),
        }
        Ok(())
    })
}

/// Returns what would be opened, as far as it is known here.
async fn proposed(
    args: &Args,
    client: &Client,
    body: Option<String>,
) -> Result<(NewPull, BranchProposal), CommandError> {
    let folder = std::env::current_dir()
        .map_err(|err| CommandError::environment(format!("the current folder cannot be read: {err}")))?;
    let folder = Utf8PathBuf::from_path_buf(folder)
        .map_err(|folder| CommandError::user(format!("`{}` is not UTF-8", folder.display())))?;
    // Reports why a folder is no checkout.
    GitRepository::at(&folder).await?;
    let named = match (&args.session, &args.project) {
        // A session determines its project.
        (Some(_), None) => project_or_all(client, None).await?,
        (_, named) => project(client, named.as_deref()).await?,
    };
    let project = match &named {
        Some(named) => client.projects().await?.projects.into_iter().find(|project| project.id == *named),
        None => None,
    };
    let default = project.as_ref().map(|project| project.default_branch.as_str());
    let base = args.base.as_deref().or(default);
    let proposal = BranchProposal::at(&folder, args.head.as_deref(), base).await?;
    let head = &proposal.head;
    if base == Some(head.as_str()) {
        let error = format!("`{head}` is the base branch, so it cannot be merged into itself");
        return Err(
            CommandError::user(error).hint("move the work to its own branch: `git switch -c my-change`")
        );
    }
    if proposal.commits.as_ref().is_some_and(Vec::is_empty) {
        let base = base.unwrap_or_default();
        let error = format!("there is nothing to merge: `{head}` has no commits that `{base}` lacks");
        let hint = match proposal.uncommitted {
            0 => "commit something first, or choose another base with `--base`",
            _ => "commit what you have changed: `git commit -a`",
        };
        return Err(CommandError::user(error).hint(hint));
    }
    let new = NewPull {
        project_id: named,
        head: Some(head.clone()),
        base: args.base.clone(),
        title: args.title.clone().or_else(|| proposal.title().map(str::to_owned)),
        body: body.unwrap_or_else(|| proposal.body()),
        draft: args.draft,
        labels: args.label.clone(),
        session: args.session.clone(),
    };
    Ok((new, proposal))
}

fn dry(new: &NewPull, proposal: &BranchProposal, cx: &Context) -> Result<(), CommandError> {
    if cx.json() {
        return Ok(ui::json(new)?);
    }
    let title = ui::TITLE;
    let named = new.title.as_deref().unwrap_or("(the title of the newest commit)");
    ui::line(format_args!("{title}{}{title:#}", show::plain(named)))?;
    let base = new.base.as_deref().unwrap_or("the default branch");
    let commits = proposal.commits.as_ref().map(|commits| ui::count(commits.len() as u64, "commit"));
    let commits = commits.map_or_else(String::new, |commits| format!(", {commits}"));
    ui::line(format_args!("{} → {base}{commits}", proposal.head))?;
    if !new.body.trim().is_empty() {
        ui::text(format_args!("\n{}\n", show::diff::safe_lines(new.body.trim_end())))?;
    }
    Ok(())
}
