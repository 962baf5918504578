//! Replaced objects do not change what our git reports.

use std::fs;
use std::path::Path;
use std::process::Command;

use ao_git::Git;

fn git(dir: &Path, args: &[&str]) -> String {
    let who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.invalid"];
    let output = Command::new("git").args(who).args(args).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Three commits in a row on `main`, and one beside them.
fn repository(dir: &Path) -> [String; 4] {
    git(dir, &["init", "--quiet", "-b", "main"]);
    let commit = |text: &str| {
        fs::write(dir.join("file"), text).unwrap();
        git(dir, &["add", "."]);
        git(dir, &["commit", "--quiet", "-m", text]);
        git(dir, &["rev-parse", "HEAD"])
    };
    let (one, two, bad) = (commit("one\n"), commit("two\n"), commit("bad\n"));
    git(dir, &["checkout", "--quiet", "--detach", &two]);
    let good = commit("good\n");
    git(dir, &["checkout", "--quiet", "main"]);
    [one, two, bad, good]
}

/// acceptance: G1
#[tokio::test]
async fn a_replaced_commit_tree_or_file_is_what_its_id_says() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let [_, _, bad, good] = repository(dir);
    let tree = |commit: &str| git(dir, &["rev-parse", &format!("{commit}^{{tree}}")]);
    let file = |commit: &str| git(dir, &["rev-parse", &format!("{commit}:file")]);
    let (bad_tree, bad_file) = (tree(&bad), file(&bad));
    for (old, new) in [(&bad, &good), (&bad_tree, &tree(&good)), (&bad_file, &file(&good))] {
        git(dir, &["replace", old, new]);
        assert_eq!(git(dir, &["show", &format!("{bad}:file")]), "good", "it is replaced for git itself");
        let ours = Git::plain(dir);
        let read = async |args: &[&str]| ours.read(args).await.unwrap();
        assert_eq!(read(&["show", &format!("{bad}:file")]).await, "bad");
        assert_eq!(read(&["rev-parse", &format!("{bad}^{{tree}}")]).await, bad_tree);
        assert_eq!(read(&["cat-file", "blob", &bad_file]).await, "bad");
        assert!(read(&["diff", "main~1", "main"]).await.contains("+bad"));
        let isolated = ours.isolated(&dir.join(".git"), &bad).await.unwrap();
        assert_eq!(isolated.read(&["show", &format!("{bad}:file")]).await.unwrap(), "bad");
        git(dir, &["replace", "-d", old]);
    }
}

/// acceptance: G1
#[tokio::test]
async fn a_grafted_or_forged_history_is_not_believed() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let [one, two, bad, _] = repository(dir);
    let ours = Git::plain(dir);
    fs::write(dir.join(".git/info/grafts"), format!("{bad} {one}\n")).unwrap();
    assert_eq!(git(dir, &["rev-parse", "main~1"]), one, "it is grafted for git itself");
    assert_eq!(ours.read(&["rev-parse", "main~1"]).await.unwrap(), two);
    fs::remove_file(dir.join(".git/info/grafts")).unwrap();
    // A file that names parents and trees, and that git believes without reading the commits.
    let good_tree = git(dir, &["rev-parse", &format!("{one}^{{tree}}")]);
    git(dir, &["commit-graph", "write", "--reachable"]);
    let graph = dir.join(".git/objects/info/commit-graph");
    let mut bytes = fs::read(&graph).unwrap();
    let raw = |id: &str| -> Vec<u8> {
        (0..id.len()).step_by(2).map(|at| u8::from_str_radix(&id[at..at + 2], 16).unwrap()).collect()
    };
    let bad_tree = raw(&git(dir, &["rev-parse", &format!("{bad}^{{tree}}")]));
    let at = bytes.windows(20).position(|found| found == bad_tree).unwrap();
    bytes[at..at + 20].copy_from_slice(&raw(&good_tree));
    fs::remove_file(&graph).unwrap();
    fs::write(&graph, bytes).unwrap();
    let differs = ["rev-list", "--count", "main", "--", "file"];
    assert_eq!(git(dir, &["log", "-1", "--format=%T", "main"]), good_tree, "git itself believes it");
    assert_ne!(ours.read(&["log", "-1", "--format=%T", "main"]).await.unwrap(), good_tree);
    assert_eq!(ours.read(&differs).await.unwrap(), "3");
}

/// Programs from the user's settings for all repositories, and approved ones, still run.
#[tokio::test]
async fn programs_of_the_user_are_run() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    repository(dir);
    fs::write(dir.join(".git/info/attributes"), "file filter=mine\n").unwrap();
    let global = dir.join("global");
    fs::write(&global, "[filter \"mine\"]\n\tclean = tr a-z A-Z\n").unwrap();
    fs::write(dir.join("file"), "by me\n").unwrap();
    let hash = ["hash-object", "file"];
    let plain = Git::plain(dir).with("GIT_CONFIG_GLOBAL", "/dev/null");
    let unfiltered = plain.read(&hash).await.unwrap();
    let ours = Git::plain(dir).with("GIT_CONFIG_GLOBAL", &global);
    let filtered = ours.read(&hash).await.unwrap();
    assert_ne!(filtered, unfiltered);
    // A repository's own value does not replace it.
    git(dir, &["config", "filter.mine.clean", "tr a-z x"]);
    assert_eq!(ours.read(&hash).await.unwrap(), filtered);
    assert_eq!(plain.read(&hash).await.unwrap(), unfiltered);
    ao_git::approve([("filter.mine.clean".to_owned(), "tr a-z x".to_owned())]);
    assert_ne!(plain.read(&hash).await.unwrap(), unfiltered);
    git(dir, &["config", "filter.mine.clean", "tr a-z y"]);
    assert_eq!(plain.read(&hash).await.unwrap(), unfiltered, "one that came later is not");
}
