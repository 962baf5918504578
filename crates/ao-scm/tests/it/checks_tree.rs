//! Checkouts of repositories that are not as one would wish.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use ao_ports::RunState;

use crate::checks_support::{Bench, check, git, output};

#[tokio::test]
async fn spaces_quotes_and_line_ends_in_paths_do_no_harm() {
    for name in ["it's \"mine\" $HOME;", "-rf", "two\nlines", "ü ber.git"] {
        let bench = Bench::named(name);
        bench.commit("a 'b' \"c\"\n$d", "text\n");
        let runner = bench.runner().await;
        let run = bench.run(&runner, check("cat -- *c*; git log --oneline | wc -l")).await;
        assert_eq!(
            (run.state, output(&runner, &run.id).await.as_str()),
            (RunState::Passed, "text\n2\n"),
            "{name}"
        );
        bench.no_trees().await;
    }
}

#[tokio::test]
async fn a_checkout_is_removed_in_any_state_and_nothing_else_is() {
    let bench = Bench::new();
    let outside = bench.path("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept"), "kept").unwrap();
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o750)).unwrap();
    symlink(&outside, bench.repository().join("link")).unwrap();
    bench.commit("a", "");
    let runner = bench.runner().await;
    let repository = bench.repository();
    for command in [
        "mkdir -p ro/deep; touch ro/deep/file; ln -s ../../../link ro/deep/out; chmod -R a-w ro; chmod 0 ro/deep".into(),
        "rm -rf .git; git init --quiet".into(),
        "rm .git".into(),
        format!("rm .git; ln -s {repository}/.git .git"),
        format!("d=$PWD; cd ..; rm -rf \"$d\"; ln -s {outside} \"$d\""),
        "cd ..; rm -rf repo".into(),
        "git worktree unlock . && git checkout --quiet -b mine".into(),
    ] {
        let run = bench.run(&runner, check(&command)).await;
        assert_eq!(run.state, RunState::Passed, "{command}: {run:?} {}", output(&runner, &run.id).await);
        bench.no_trees().await;
        assert_eq!(fs::read_to_string(outside.join("kept")).unwrap(), "kept", "{command}");
        assert_eq!(fs::metadata(&outside).unwrap().permissions().mode() & 0o777, 0o750, "{command}");
        assert_eq!(bench.git(&["status", "--short"]), "", "{command}");
    }
}

#[tokio::test]
async fn the_users_hooks_and_sparse_checkout_have_no_part_in_it() {
    let bench = Bench::new();
    fs::create_dir(bench.repository().join("sub")).unwrap();
    bench.commit("sub/file", "here\n");
    let hook = bench.repository().join(".git/hooks/post-checkout");
    fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", bench.path("hooked"))).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    bench.git(&["sparse-checkout", "set", "--no-cone", "/README.md"]);
    assert!(!bench.repository().join("sub/file").exists());
    let runner = bench.runner().await;
    let run = bench.run(&runner, check("cat sub/file")).await;
    assert_eq!((run.state, output(&runner, &run.id).await.as_str()), (RunState::Passed, "here\n"));
    assert!(!bench.path("hooked").exists());
}

#[tokio::test]
async fn submodules_are_there_from_what_the_repository_has_of_them() {
    let (bench, inner, deepest) = (Bench::new(), Bench::new(), Bench::new());
    deepest.commit("deepest", "deepest\n");
    inner.git(&["submodule", "--quiet", "add", deepest.repository().as_str(), "deep er"]);
    inner.commit("inner", "inner\n");
    bench.git(&["submodule", "--quiet", "add", "--name", "odd name", inner.repository().as_str(), "in ner"]);
    bench.git(&["submodule", "--quiet", "update", "--init", "--recursive"]);
    bench.git(&["submodule", "--quiet", "add", inner.repository().as_str(), "absent"]);
    bench.git(&["commit", "--quiet", "-m", "submodules"]);
    fs::remove_dir_all(bench.repository().join(".git/modules/absent")).unwrap();
    let before = fs::read_to_string(bench.repository().join(".git/config")).unwrap();
    // Nothing is fetched: where they came from is gone, and there are commits that no branch of theirs has.
    drop((inner, deepest));
    let submodule = bench.repository().join("in ner");
    git(submodule.as_std_path(), &["commit", "--quiet", "--allow-empty", "-m", "detached"]);
    bench.git(&["add", "in ner"]);
    bench.git(&["commit", "--quiet", "-m", "bump"]);

    let runner = bench.runner().await;
    let command =
        "cat 'in ner/inner' 'in ner/deep er/deepest'; git -C 'in ner' log -1 --format=%s; ls absent | wc -l";
    let run = bench.run(&runner, check(command)).await;
    let text = output(&runner, &run.id).await;
    assert_eq!(run.state, RunState::Passed, "{run:?} {text}");
    assert!(
        text.ends_with("inner\ndeepest\ndetached\n0\n") && text.contains("`absent` is not here"),
        "{text}"
    );
    assert_eq!(fs::read_to_string(bench.repository().join(".git/config")).unwrap(), before);
    bench.no_trees().await;
}
