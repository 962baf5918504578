use std::fs;
use std::time::Instant;

use super::*;

const LONG: Duration = Duration::from_secs(30);

fn repository() -> (tempfile::TempDir, Git) {
    let dir = tempfile::tempdir().unwrap();
    let who = [("user.name", "Ann"), ("user.email", "ann@example.invalid"), ("commit.gpgsign", "false")];
    let who = who.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let git = Git::at(dir.path(), &Arc::new(who.to_vec())).with("GIT_CONFIG_GLOBAL", "/dev/null");
    (dir, git)
}

async fn committed() -> (tempfile::TempDir, Git) {
    let (dir, git) = repository();
    git.write(&["init", "--quiet", "-b", "main"]).await.unwrap();
    fs::write(dir.path().join("file"), "one\n").unwrap();
    git.write(&["add", "."]).await.unwrap();
    git.write(&["commit", "--quiet", "-m", "first"]).await.unwrap();
    (dir, git)
}

#[tokio::test]
async fn a_slow_git_is_ended_with_its_group_and_cleans_up() {
    let (dir, git) = committed().await;
    fs::write(dir.path().join("file"), "two\n").unwrap();
    let pid = dir.path().join("pid");
    let editor = format!("echo $$ > '{}'; exec sleep 600; :", pid.display());
    let slow = Git { within: Some(Duration::from_secs(2)), ..git.with("GIT_EDITOR", editor) };
    let err = slow.write(&["commit", "--all"]).await.unwrap_err();
    assert!(matches!(err, GitError::TooSlow { .. }), "{err}");
    assert!(err.to_string().contains("`git commit --all` was not done after 2 s"), "{err}");
    let pid = fs::read_to_string(&pid).expect("the editor was there").trim().to_owned();
    let begun = Instant::now();
    let lives = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
    };
    while lives() {
        assert!(begun.elapsed() < LONG, "what git had started goes on");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!dir.path().join(".git/index.lock").exists(), "it has left its lock behind");
    git.write(&["commit", "--quiet", "--all", "-m", "second"]).await.unwrap();
}

#[tokio::test]
async fn a_question_that_is_never_answered_ends_too() {
    let (_dir, git) = committed().await;
    let asks = Git { within: Some(Duration::from_millis(300)), ..git };
    let slow = ["-c", "alias.slow=!sleep 600", "slow"];
    assert!(matches!(asks.read(&slow).await, Err(GitError::TooSlow { .. })));
    assert!(matches!(asks.read_bytes(&slow, 10).await, Err(GitError::TooSlow { .. })));
}

/// The state between two system calls of `git worktree add`.
#[tokio::test]
async fn a_worktree_in_the_making_is_retried_and_a_broken_one_is_an_error() {
    let (dir, git) = committed().await;
    let side = dir.path().join("side").display().to_string();
    git.write(&["worktree", "add", "--quiet", "--detach", &side]).await.unwrap();
    let commondir = dir.path().join(".git/worktrees/side/commondir");
    let whole = fs::read(&commondir).unwrap();
    fs::write(&commondir, "").unwrap();
    let list = ["worktree", "list", "--porcelain"];
    let err = git.read(&list).await.unwrap_err();
    assert!(err.to_string().contains("commondir"), "{err}");

    fs::write(&commondir, "").unwrap();
    let asking = git.read(&list);
    let making = async {
        tokio::time::sleep(Duration::from_millis(60)).await;
        fs::write(&commondir, &whole).unwrap();
    };
    let (listed, ()) = tokio::join!(asking, making);
    assert!(listed.unwrap().contains("side"));
}

#[tokio::test]
async fn a_long_input_has_a_long_answer() {
    let (_dir, git) = committed().await;
    let input = "HEAD:none\n".repeat(20_000);
    let asked = git.read_with(&["cat-file", "--batch-check"], &input);
    let output = tokio::time::timeout(LONG, asked).await.expect("each waits for the other").unwrap();
    assert_eq!(output.lines().count(), 20_000);
}

#[tokio::test]
async fn only_who_looks_into_files_fetches_what_a_partial_clone_lacks() {
    let (dir, origin) = committed().await;
    origin.write(&["config", "uploadpack.allowFilter", "true"]).await.unwrap();
    origin.write(&["config", "uploadpack.allowAnySHA1InWant", "true"]).await.unwrap();
    let file = origin.read(&["rev-parse", "HEAD:file"]).await.unwrap();
    let (url, clone) = (format!("file://{}", dir.path().display()), dir.path().join("clone"));
    let to = clone.display().to_string();
    let args = ["clone", "--quiet", "--filter=blob:none", "--no-checkout", &url, &to];
    origin.write(&args).await.unwrap();
    let git = Git::plain(&clone);
    let version = git.read(&["version"]).await.unwrap();
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u32>().ok()).unwrap_or(0);
    let mut parts = version.trim_start_matches("git version ").split('.');
    // Older versions ignore the setting.
    if (number(parts.next()), number(parts.next())) >= (2, 45) {
        let is_here = git.read(&["rev-parse", "--verify", &format!("{file}^{{blob}}")]).await;
        assert!(is_here.is_err(), "it was fetched: {is_here:?}");
    }
    assert_eq!(git.read_bytes(&["cat-file", "blob", &file], 100).await.unwrap(), b"one\n");
}

/// Variables that git itself removes when it goes from one repository to another.
#[tokio::test]
async fn everything_that_misleads_git_is_taken_away() {
    let (_dir, git) = repository();
    let output = git.read(&["rev-parse", "--local-env-vars"]).await.unwrap();
    let left: Vec<&str> = output.lines().filter(|name| !MISLEADING.contains(name)).collect();
    assert_eq!(left, ["GIT_CONFIG_COUNT"], "which is kept on purpose");
}

#[test]
fn no_error_tells_a_token() {
    for (text, masked) in [
        ("clone https://ann:t0ken@host/x", "clone https://***@host/x"),
        ("fatal: 'https://t0ken@host': no", "fatal: 'https://***@host': no"),
        ("http://a:p@ss@h:80/x and ssh://git@h/y", "http://***@h:80/x and ssh://***@h/y"),
        ("https://host/a@b and c@d", "https://host/a@b and c@d"),
        ("plain text", "plain text"),
    ] {
        assert_eq!(without_userinfo(text), masked);
    }
}
