//! Repositories and words that nobody expects.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::commit;
use crate::fleet::git;
use crate::house::{House, Ran};

/// A project in a folder with this name and this default branch.
struct Place {
    house: House,
    repository: PathBuf,
    trunk: String,
}

impl Place {
    fn new(folder: &str, trunk: &str, checks: &str) -> Place {
        let house = House::bare();
        let repository = house.path(folder);
        fs::create_dir(&repository).unwrap();
        git(&repository, &["init", "--quiet", &format!("--initial-branch={trunk}")]);
        commit(&repository, "begin", &[("README.md", b"# app\n")]);
        let usual = house.usual_config("my-app");
        let project = format!("    sessionPrefix: app\n    defaultBranch: {trunk}\n{checks}");
        let config = usual.replacen("    sessionPrefix: app\n", &project, 1);
        fs::write(repository.join("agent-orchestrator.yaml"), config).unwrap();
        house.ao_in(&repository, &["start", "--port", "0"]).succeeds();
        Place { house, repository, trunk: trunk.to_owned() }
    }

    /// Nothing that a command says steers a terminal.
    #[track_caller]
    fn ao(&self, args: &[&str]) -> Ran {
        let ran = self.house.ao_in(&self.repository, args);
        let steers = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r');
        assert!(!ran.out.contains(steers) && !ran.err.contains(steers), "{args:?}: {ran:?}");
        ran
    }

    fn on_branch(&self, name: &str, work: impl FnOnce(&Path)) {
        git(&self.repository, &["switch", "--quiet", "-c", name]);
        work(&self.repository);
        git(&self.repository, &["add", "--all", "--", ".", ":!agent-orchestrator.yaml"]);
        git(&self.repository, &["commit", "--quiet", "-m", name]);
        git(&self.repository, &["switch", "--quiet", &self.trunk]);
    }

    /// Everything that is done with a pull request, from its beginning to its end.
    #[track_caller]
    fn goes_through(&self, branch: &str, title: &str) {
        let made = self.ao(&["pr", "create", "--head", branch, "--title", title, "--json"]).succeeds().json();
        assert_eq!(made["headBranch"], branch);
        let number = made["number"].to_string();
        self.ao(&["pr", "checks", &number, "--watch"]).succeeds();
        self.ao(&["pr", "show", &number]).succeeds();
        self.ao(&["pr", "list"]).succeeds();
        self.ao(&["pr", "diff", &number, "--stat"]).succeeds();
        self.ao(&["pr", "diff", &number, "--name-only"]).succeeds();
        self.ao(&["check", "list"]).succeeds();
        self.ao(&["pr", "comment", &number, title]).succeeds();
        self.ao(&["pr", "review", &number, "--comment", "-b", title]).succeeds();
        self.ao(&["pr", "merge", &number, "--delete-branch"]).succeeds();
        assert_eq!(git(&self.repository, &["branch", "--format=%(refname:short)"]), self.trunk);
        assert_eq!(git(&self.repository, &["status", "--porcelain"]), "?? agent-orchestrator.yaml");
    }

    /// No file of this name has come to be, wherever something was run.
    #[track_caller]
    fn has_no(&self, name: &str) {
        let mut folders = vec![self.house.path("")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                assert_ne!(entry.file_name(), name, "{}", entry.path().display());
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                }
            }
        }
    }
}

const LS: &str = "    checks: [{ name: \"it's; $(touch pwned)\", command: ls }]\n";

#[test]
fn odd_names_of_folders_branches_files_and_titles_do_no_harm() {
    let place = Place::new("it's \"my\" $(touch pwned) app", "trunk/é", LS);
    let names = [
        "feat/$(touch${IFS}pwned)",
        "a;touch${IFS}pwned",
        "it's\"quoted\"",
        "日本/тест",
        "`touch${IFS}pwned`",
    ];
    for (number, name) in names.iter().enumerate() {
        place.on_branch(name, |repository| {
            fs::create_dir_all(repository.join("a folder")).unwrap();
            for file in
                ["a folder/it's \"quoted\"", "new\nline", "-rf", "$(touch pwned)", "tab\t\u{1b}[31m\u{202e}x"]
            {
                fs::write(repository.join(format!("{file} {number}.txt")), "text \u{1b}[31m\n").unwrap();
            }
        });
        place.goes_through(
            name,
            &format!("{name}; touch pwned \u{1b}[31mred\u{1b}]0;owned\u{7} \u{9b}31m\n--all"),
        );
    }
    place.has_no("pwned");
    assert_eq!(fs::read_dir(place.repository.join("a folder")).unwrap().count(), names.len());
}

#[test]
fn an_agent_works_where_everything_is_odd() {
    let place = Place::new("it's \"my\" app", "trunk/é", LS);
    let said = place.house.path("tmp/said");
    let prompt = format!(
        "[[tool exec > {} 2>&1; echo x > 'a file' && git add . && git commit -qm 'X $(touch pwned)' && git push && \
         ao pr create; echo over=$?]]",
        said.display()
    );
    let made = place.ao(&["new", "It's; $(touch pwned)", "--prompt", &prompt, "--json"]).succeeds().json();
    let session = made["session"]["name"].as_str().unwrap();
    crate::house::until("its turn", || fs::read_to_string(&said).is_ok_and(|said| said.contains("over=")));
    let said = fs::read_to_string(&said).unwrap();
    assert!(said.ends_with("over=0\n"), "{said}");
    crate::house::until("its pull request", || {
        let listed = place.ao(&["pr", "list", "--json"]).succeeds().json();
        listed["pulls"][0]["session"] == session
    });
    assert_eq!(place.ao(&["pr", "show", "1", "--json"]).succeeds().json()["title"], "X $(touch pwned)");
    place.ao(&["pr", "merge", "1"]).succeeds();
    crate::house::until("its end", || {
        place.ao(&["status", session, "--json"]).succeeds().json()["status"]["state"] == "merged"
    });
    assert_eq!(fs::read_to_string(place.repository.join("a file")).unwrap(), "x\n");
    place.has_no("pwned");
}

#[test]
fn submodules_links_out_of_the_tree_binaries_and_line_ends_land_as_they_are() {
    let place =
        Place::new("my-app", "main", "    checks: [{ name: see, command: \"cat crlf.txt; ls -la\" }]\n");
    let (outside, other) = (place.house.path("outside"), place.house.path("other"));
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file.txt"), "outside\n").unwrap();
    crate::fleet::make_repository(&other);
    place.on_branch("first", |repository| {
        fs::write(repository.join("crlf.txt"), "one\r\ntwo\r\n").unwrap();
        fs::write(repository.join("logo.png"), b"\x89PNG\0\0\x01\x1b[31m\n\0").unwrap();
        symlink("../outside", repository.join("out")).unwrap();
        symlink("/etc/passwd", repository.join("passwd")).unwrap();
        let url = other.display().to_string();
        git(repository, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "sub"]);
    });
    // Git itself leaves the folder of a submodule behind when it switches away.
    fs::remove_dir_all(place.repository.join("sub")).unwrap();
    let made = place.ao(&["pr", "create", "--head", "first", "--json"]).succeeds().json();
    assert_eq!(made["files"].as_array().unwrap().len(), 6, "{made}");
    let diff = place.ao(&["pr", "diff", "1"]).succeeds().out;
    for part in ["+one\r\n+two\r\n", "logo.png differ", "+../outside\n", "+Subproject commit"] {
        assert!(diff.contains(part), "{part}: {diff}");
    }
    place.ao(&["pr", "checks", "1", "--watch"]).succeeds();
    place.ao(&["check", "logs", "see"]).succeeds().says("one\r\ntwo\r\n");
    place.ao(&["pr", "merge", "1", "--rebase"]).succeeds();
    assert_eq!(fs::read(place.repository.join("crlf.txt")).unwrap(), b"one\r\ntwo\r\n");
    assert_eq!(fs::read_link(place.repository.join("out")).unwrap(), Path::new("../outside"));

    // Where the link was, a folder with the same files as behind it comes to be. What is behind it is not touched.
    git(&place.repository, &["branch", "--quiet", "-D", "first"]);
    place.on_branch("second", |repository| {
        fs::remove_file(repository.join("out")).unwrap();
        fs::create_dir(repository.join("out")).unwrap();
        fs::write(repository.join("out/file.txt"), "inside\n").unwrap();
    });
    place.ao(&["pr", "create", "--head", "second", "--title", "Second"]).succeeds();
    place.ao(&["pr", "checks", "2", "--watch"]).succeeds();
    place.ao(&["pr", "merge", "2"]).succeeds();
    assert_eq!(fs::read_to_string(place.repository.join("out/file.txt")).unwrap(), "inside\n");
    assert_eq!(fs::read_to_string(outside.join("file.txt")).unwrap(), "outside\n");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn a_diff_of_twenty_megabytes_is_told_as_what_it_is() {
    let place = Place::new("my-app", "main", "");
    let line = "a line of a file that somebody has made by a program, and of which there are many more\n";
    let large = line.repeat(20_000_000 / line.len() + 1);
    place.on_branch("large", |repository| fs::write(repository.join("large.txt"), &large).unwrap());
    place.ao(&["pr", "create", "--head", "large", "--title", "Large"]).succeeds();
    let shown = place.ao(&["pr", "show", "1", "--json"]).succeeds().json();
    assert_eq!(shown["added"], large.lines().count());
    place.ao(&["pr", "show", "1"]).succeeds().says(&format!("+{}", large.lines().count()));
    // Whoever applies half of a change must not take it for all of it.
    let diff = place.ao(&["pr", "diff", "1"]).exits(1).says("too long");
    assert!(diff.out.len() > 100_000 && diff.out.len() < large.len(), "{}", diff.out.len());
    place.ao(&["pr", "merge", "1"]).succeeds();
    assert_eq!(fs::read_to_string(place.repository.join("large.txt")).unwrap(), large);
}
