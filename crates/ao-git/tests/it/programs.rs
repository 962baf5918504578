//! Everything that a process with write access to a repository can make git run, row by row: plain git runs it, and our
//! git does not.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use ao_git::{Git, Settings};

/// The program, in settings and texts.
const MARK: &str = "MARK";

/// One way to have git run a program.
struct Row {
    what: &'static str,
    /// Settings of the repository.
    config: &'static [(&'static str, &'static str)],
    /// Files below `.git`.
    files: &'static [(&'static str, &'static str)],
    args: &'static [&'static str],
    input: &'static str,
    /// True if the installed git runs it. Some versions do not support it yet, and some no longer do.
    real: Real,
}

#[derive(PartialEq)]
enum Real {
    Runs,
    /// Not by itself, or not in every version.
    Unsure,
}

const fn row(
    what: &'static str,
    config: &'static [(&'static str, &'static str)],
    args: &'static [&'static str],
) -> Row {
    Row { what, config, files: &[], args, input: "", real: Real::Runs }
}

impl Row {
    const fn files(mut self, files: &'static [(&'static str, &'static str)]) -> Row {
        self.files = files;
        self
    }

    const fn input(mut self, input: &'static str) -> Row {
        self.input = input;
        self
    }

    const fn unsure(mut self) -> Row {
        self.real = Real::Unsure;
        self
    }
}

const X: &[(&str, &str)] = &[("info/attributes", "* filter=x diff=x merge=x\n")];
const HOST: &str = "protocol=https\nhost=example.invalid\nusername=ann\n\n";

fn rows() -> Vec<Row> {
    let hook = |name: &'static str, args| {
        let files: &'static [(&str, &str)] = Box::leak(Box::new([(name, "#!/bin/sh\nMARK\n")]));
        row(name, &[], args).files(files)
    };
    vec![
        row("core.fsmonitor", &[("core.fsmonitor", MARK)], &["status"]),
        row("core.hooksPath", &[("core.hooksPath", ".git/other")], &["commit", "--allow-empty", "-m", "x"])
            .files(&[("other/pre-commit", "#!/bin/sh\nMARK\n")]),
        hook("hooks/pre-commit", &["commit", "--allow-empty", "-m", "x"]),
        hook("hooks/post-commit", &["commit", "--allow-empty", "-m", "x"]),
        hook("hooks/post-checkout", &["checkout", "--quiet", "-f", "side"]),
        hook("hooks/post-index-change", &["reset", "--quiet", "--hard"]),
        hook("hooks/post-merge", &["merge", "--quiet", "--no-edit", "calm"]),
        hook("hooks/post-rewrite", &["commit", "--quiet", "--amend", "-m", "y"]),
        hook("hooks/reference-transaction", &["update-ref", "refs/heads/new", "HEAD"]),
        hook("hooks/pre-push", &["push", "--quiet", "origin", "HEAD:refs/heads/new"]),
        row("hooks/pre-auto-gc", &[("gc.auto", "1")], &["gc", "--auto"])
            .files(&[("hooks/pre-auto-gc", "#!/bin/sh\nMARK\n")])
            .unsure(),
        row(
            "hook.x.command",
            &[("hook.x.command", MARK), ("hook.x.event", "pre-commit")],
            &["commit", "--allow-empty", "-m", "x"],
        )
        .unsure(),
        row("filter.x.clean", &[("filter.x.clean", MARK)], &["add", "a.txt"]).files(X),
        row("filter.x.clean of a name with dots", &[("filter.x.y.clean", MARK)], &["add", "a.txt"])
            .files(&[("info/attributes", "* filter=x.y\n")]),
        row("filter.x.smudge", &[("filter.x.smudge", MARK)], &["checkout", "--quiet", "-f", "side"]).files(X),
        row("filter.x.process", &[("filter.x.process", MARK)], &["add", "a.txt"]).files(X),
        row(
            "filter.x.process, required",
            &[("filter.x.process", MARK), ("filter.x.required", "true")],
            &["checkout", "--quiet", "-f", "side"],
        )
        .files(X),
        row("merge.x.driver", &[("merge.x.driver", "MARK %A %O %B")], &["merge", "--no-edit", "side"])
            .files(X),
        row(
            "merge.x.driver, without a checkout",
            &[("merge.x.driver", "MARK %A %O %B")],
            &["merge-tree", "--write-tree", "main", "side"],
        )
        .files(X),
        row(
            "merge.default",
            &[("merge.x.driver", "MARK %A"), ("merge.default", "x")],
            &["merge-tree", "--write-tree", "main", "side"],
        ),
        row("diff.external", &[("diff.external", MARK)], &["diff"]),
        row("diff.x.command", &[("diff.x.command", MARK)], &["diff", "main", "side"]).files(X),
        row("diff.x.textconv", &[("diff.x.textconv", MARK)], &["diff"]).files(X),
        row("diff.x.textconv of a log", &[("diff.x.textconv", MARK)], &["log", "-p"]).files(X),
        row("diff.x.textconv of a commit", &[("diff.x.textconv", MARK)], &["show", "side"]).files(X),
        row("diff.external of plumbing", &[("diff.external", MARK)], &["diff-tree", "-p", "main", "side"])
            .unsure(),
        row("core.sshCommand", &[("core.sshCommand", MARK)], &["ls-remote", "ssh://example.invalid/x"]),
        row("core.gitProxy", &[("core.gitProxy", MARK)], &["ls-remote", "git://example.invalid/x"]),
        row("core.askPass", &[("core.askPass", MARK)], &["credential", "fill"]).input(HOST),
        row("credential.helper", &[("credential.helper", "!MARK")], &["credential", "fill"]).input(HOST),
        row(
            "credential.<url>.helper",
            &[("credential.https://example.invalid.helper", "!MARK")],
            &["credential", "fill"],
        )
        .input(HOST),
        row("remote.<name>.uploadpack", &[("remote.origin.uploadpack", MARK)], &["fetch", "origin"]),
        row(
            "remote.<name>.receivepack",
            &[("remote.origin.receivepack", MARK)],
            &["push", "origin", "HEAD:refs/heads/new"],
        ),
        row(
            "remote.<name>.vcs",
            &[("remote.evil.vcs", "ext"), ("remote.evil.url", MARK), ("protocol.ext.allow", "always")],
            &["fetch", "evil"],
        ),
        row("protocol.ext.allow", &[("protocol.ext.allow", "always")], &["ls-remote", "ext::MARK"]),
        row("protocol.allow", &[("protocol.allow", "always")], &["ls-remote", "ext::MARK"]),
        row(
            "url.<base>.insteadOf",
            &[("protocol.ext.allow", "always"), ("url.ext::MARK.insteadOf", "https://example.invalid/x")],
            &["ls-remote", "https://example.invalid/x"],
        ),
        row(
            "remote.<name>.promisor",
            &[
                ("extensions.partialClone", "evil"),
                ("core.repositoryFormatVersion", "1"),
                ("remote.evil.url", "."),
                ("remote.evil.promisor", "true"),
                ("remote.evil.uploadpack", MARK),
            ],
            &["cat-file", "blob", "0123456789012345678901234567890123456789"],
        ),
        row("gpg.program", &[("gpg.program", MARK)], &["commit", "--allow-empty", "-S", "-m", "x"]),
        row(
            "gpg.openpgp.program",
            &[("gpg.openpgp.program", MARK)],
            &["commit", "--allow-empty", "-S", "-m", "x"],
        ),
        row(
            "gpg.x509.program",
            &[("gpg.format", "x509"), ("gpg.x509.program", MARK)],
            &["commit", "--allow-empty", "-S", "-m", "x"],
        ),
        row(
            "gpg.ssh.program",
            &[("gpg.format", "ssh"), ("gpg.ssh.program", MARK), ("user.signingKey", "key")],
            &["commit", "--allow-empty", "-S", "-m", "x"],
        ),
        row(
            "gpg.ssh.defaultKeyCommand",
            &[("gpg.format", "ssh"), ("gpg.ssh.defaultKeyCommand", MARK)],
            &["commit", "--allow-empty", "-S", "-m", "x"],
        ),
        row(
            "log.showSignature",
            &[("gpg.program", MARK), ("log.showSignature", "true")],
            &["log", "-1", "signed"],
        ),
        row("core.editor", &[("core.editor", MARK)], &["commit", "--allow-empty"]),
        row("sequence.editor", &[("sequence.editor", MARK)], &["rebase", "--autostash", "-i", "HEAD~1"]),
        row("core.pager", &[("core.pager", MARK), ("pager.log", MARK)], &["--paginate", "log"]).unsure(),
        row("alias", &[("alias.status", "!MARK"), ("alias.log", "!MARK")], &["status"]).unsure(),
        row("core.alternateRefsCommand", &[("core.alternateRefsCommand", MARK)], &["fetch", "origin"])
            .files(&[("objects/info/alternates", "ORIGIN/.git/objects\n")]),
        row("gc.recentObjectsHook", &[("gc.recentObjectsHook", MARK)], &["prune", "--expire=now"]).unsure(),
        row(
            "uploadpack.packObjectsHook",
            &[("uploadpack.packObjectsHook", MARK)],
            &["fetch", ".", "side:refs/heads/new"],
        )
        .unsure(),
        row("trailer.x.command", &[("trailer.x.command", MARK)], &["interpret-trailers", "--trailer", "x=1"])
            .input("subject\n"),
        row("trailer.x.cmd", &[("trailer.x.cmd", MARK)], &["interpret-trailers", "--trailer", "x=1"])
            .input("subject\n"),
        row(
            "submodule.<name>.update",
            &[("submodule.sub.update", "!MARK"), ("submodule.sub.url", "ORIGIN")],
            &["submodule", "update", "--init"],
        ),
        row("settings of a submodule", &[], &["status"])
            .files(&[("modules/inner/config", "[core]\n\tworktree = ../../../inner\n\tfsmonitor = MARK\n")]),
        row("filters of a submodule", &[("submodule.inner.ignore", "none")], &["status"]).files(&[
            ("modules/inner/config", "[core]\n\tworktree = ../../../inner\n[filter \"x\"]\n\tclean = MARK\n"),
            ("modules/inner/info/attributes", "* filter=x\n"),
        ]),
        row("submodule.recurse", &[("submodule.recurse", "true")], &["reset", "--hard", "HEAD~1"]).files(&[
            (
                "modules/inner/config",
                "[core]\n\tworktree = ../../../inner\n[filter \"x\"]\n\tsmudge = MARK\n",
            ),
            ("modules/inner/info/attributes", "* filter=x\n"),
        ]),
        row("include.path", &[("include.path", "more")], &["add", "a.txt"])
            .files(&[("info/attributes", "* filter=x\n"), ("more", "[filter \"x\"]\n\tclean = MARK\n")]),
        row("includeIf", &[("includeIf.onbranch:main.path", "more")], &["add", "a.txt"])
            .files(&[("info/attributes", "* filter=x\n"), ("more", "[filter \"x\"]\n\tclean = MARK\n")]),
        row("extensions.worktreeConfig", &[("extensions.worktreeConfig", "true")], &["add", "a.txt"]).files(
            &[("info/attributes", "* filter=x\n"), ("config.worktree", "[filter \"x\"]\n\tclean = MARK\n")],
        ),
    ]
}

/// A repository with one commit on each of two branches, an uncommitted change, and an origin.
struct Repository {
    dir: tempfile::TempDir,
}

impl Repository {
    fn new() -> Repository {
        let repository = Repository { dir: tempfile::tempdir().unwrap() };
        let git = |dir: &str, args: &[&str]| repository.git(dir, args);
        let root = repository.dir.path();
        fs::create_dir(root.join("origin")).unwrap();
        git("origin", &["init", "--quiet", "-b", "main"]);
        git("origin", &["commit", "--quiet", "--allow-empty", "-m", "of origin"]);
        fs::create_dir(root.join("here")).unwrap();
        git("here", &["init", "--quiet", "-b", "main"]);
        git("here", &["remote", "add", "origin", "../origin"]);
        let here = root.join("here");
        let commit = |text: &str| {
            fs::write(here.join("a.txt"), text).unwrap();
            git("here", &["add", "a.txt"]);
            git("here", &["commit", "--quiet", "-m", text]);
        };
        commit("one\n");
        git("here", &["checkout", "--quiet", "-b", "side"]);
        commit("side\n");
        git("here", &["checkout", "--quiet", "-b", "calm", "main"]);
        git("here", &["commit", "--quiet", "--allow-empty", "-m", "calm"]);
        git("here", &["checkout", "--quiet", "main"]);
        commit("main\n");
        let tree = git("here", &["rev-parse", "HEAD^{tree}"]);
        let signed = format!(
            "tree {tree}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\ngpgsig -----BEGIN PGP SIGNATURE-----\n \
             \n x\n -----END PGP SIGNATURE-----\n\nsigned\n"
        );
        fs::write(root.join("signed"), signed).unwrap();
        let signed = git("here", &["hash-object", "-t", "commit", "-w", "../signed"]);
        git("here", &["update-ref", "refs/heads/signed", &signed]);
        let origin = git("origin", &["rev-parse", "HEAD"]);
        fs::write(here.join(".gitmodules"), "[submodule \"sub\"]\n\tpath = sub\n\turl = ./x\n").unwrap();
        git("here", &["update-index", "--add", "--cacheinfo", &format!("160000,{origin},sub")]);
        git("here", &["add", ".gitmodules"]);
        git("here", &["commit", "--quiet", "-m", "with a submodule"]);
        // A submodule with two commits and an uncommitted change.
        let inner = here.join("inner");
        fs::create_dir(&inner).unwrap();
        fs::create_dir(here.join(".git/modules")).unwrap();
        git("here/inner", &["init", "--quiet", "--separate-git-dir", "../.git/modules/inner"]);
        for text in ["one\n", "two\n"] {
            fs::write(inner.join("b.txt"), text).unwrap();
            git("here/inner", &["add", "."]);
            git("here/inner", &["commit", "--quiet", "-m", text]);
            fs::write(here.join(".gitmodules"), "[submodule \"inner\"]\n\tpath = inner\n\turl = ./x\n[submodule \"sub\"]\n\tpath = sub\n\turl = ./x\n").unwrap();
            git("here", &["add", ".gitmodules", "inner"]);
            git("here", &["commit", "--quiet", "-m", "inner"]);
        }
        fs::write(inner.join(".git"), "gitdir: ../.git/modules/inner\n").unwrap();
        git("here", &["config", "submodule.inner.active", "true"]);
        fs::write(inner.join("b.txt"), "six\n").unwrap();
        fs::write(here.join("a.txt"), "changed\n").unwrap();
        repository
    }

    /// Adds the settings and files of one row.
    fn of(&self, row: &Row) -> Repository {
        let repository = Repository { dir: tempfile::tempdir().unwrap() };
        let all = self.dir.path().join(".");
        let copied = Command::new("cp").arg("-a").arg(all).arg(repository.dir.path()).status().unwrap();
        assert!(copied.success());
        let program = repository.program();
        let script = format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\nexit 1\n", repository.ran().display());
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        for (key, value) in row.config {
            repository.git("here", &["config", &repository.filled(key), &repository.filled(value)]);
        }
        for (name, text) in row.files {
            fs::remove_file(repository.here().join(".git").join(name)).ok();
            let file = repository.here().join(".git").join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, repository.filled(text)).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        repository
    }

    fn here(&self) -> PathBuf {
        self.dir.path().join("here")
    }

    fn program(&self) -> PathBuf {
        self.dir.path().join("program")
    }

    fn ran(&self) -> PathBuf {
        self.dir.path().join("ran")
    }

    fn filled(&self, text: &str) -> String {
        let origin = self.dir.path().join("origin");
        text.replace(MARK, &self.program().display().to_string())
            .replace("ORIGIN", &origin.display().to_string())
    }

    fn git(&self, dir: &str, args: &[&str]) -> String {
        let output = plain(&self.dir.path().join(dir)).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

fn plain(dir: &Path) -> Command {
    let mut command = Command::new("git");
    command.args([
        "-c",
        "user.name=Ann",
        "-c",
        "user.email=ann@example.invalid",
        "-c",
        "protocol.file.allow=always",
    ]);
    command.current_dir(dir).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_TERMINAL_PROMPT", "0");
    command.env_remove("GIT_EDITOR").env_remove("GIT_PAGER").env_remove("GIT_SEQUENCE_EDITOR");
    command
}

fn ours(dir: &Path) -> Git {
    let settings: Settings = Arc::new(
        [("user.name", "Ann"), ("user.email", "ann@example.invalid"), ("protocol.file.allow", "always")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .to_vec(),
    );
    Git::at(dir, &settings).with("GIT_CONFIG_GLOBAL", "/dev/null")
}

fn run_plain(dir: &Path, args: &[String], input: &str) {
    let mut command = plain(dir);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).ok();
    child.wait().unwrap();
}

/// acceptance: G2
#[tokio::test]
async fn nothing_that_a_repository_names_is_run() {
    let mut wrong = vec![];
    let template = Repository::new();
    for row in rows() {
        let args = |repository: &Repository| -> Vec<String> {
            row.args.iter().map(|arg| repository.filled(arg)).collect()
        };
        let plain = template.of(&row);
        run_plain(&plain.here(), &args(&plain), row.input);
        if row.real == Real::Runs && !plain.ran().exists() {
            wrong.push(format!("{}: git itself does not run it", row.what));
        }
        let guarded = template.of(&row);
        let git = ours(&guarded.here());
        // The output does not matter: much of it fails without the program.
        git.write_with(&args(&guarded), Some(row.input)).await.ok();
        if let Ok(ran) = fs::read_to_string(guarded.ran()) {
            wrong.push(format!("{}: ours runs it: {ran}", row.what));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
