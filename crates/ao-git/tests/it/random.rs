//! Repositories with random branches.

use std::path::Path;

use fastrand::Rng;

use crate::story::{Files, Story, git};

/// Creates a repository with `main` and `count` branches `b0`, `b1`, … of random changes. Returns their tips.
pub(crate) fn repository(dir: &Path, rng: &mut Rng, branches: usize) -> Vec<String> {
    assert!(git(dir, &["init", "--quiet", "--initial-branch=main", "."]).1);
    let mut story = Story::default();
    let mut known: Vec<(String, Files)> = vec![];
    let mut main = first(rng);
    for round in 0..3 {
        if round > 0 {
            change(rng, &mut main);
        }
        story.commit("main", None, &main);
        story.branch(&format!("m{round}"), "main");
        known.push((format!("m{round}"), main.clone()));
    }
    for number in 0..branches {
        let (from, mut files) = known[rng.usize(..known.len())].clone();
        let name = format!("b{number}");
        story.branch(&name, &from);
        for _ in 0..rng.usize(1..3) {
            change(rng, &mut files);
            // Now and then another branch is merged, with or without conflicts.
            let other = (rng.u8(..6) == 0).then(|| known[rng.usize(..known.len())].0.clone());
            story.commit(&name, other.filter(|other| *other != from).as_deref(), &files);
        }
        known.push((name, files));
    }
    story.tell(dir);
    (0..branches).map(|number| git(dir, &["rev-parse", &format!("refs/heads/b{number}")]).0).collect()
}

fn first(rng: &mut Rng) -> Files {
    let names = ["a/one", "a/two", "a/c/three", "a/c/four", "b/five", "b/six", "seven", "eight"];
    names.into_iter().map(|name| (name.to_owned(), ("100644", text(rng, name)))).collect()
}

fn text(rng: &mut Rng, name: &str) -> String {
    (0..12).map(|line| format!("{name} line {line} {}\n", rng.u8(..3))).collect()
}

/// Something that people and agents do to a tree.
fn change(rng: &mut Rng, files: &mut Files) {
    let paths: Vec<String> = files.keys().cloned().collect();
    let Some(path) = rng.choice(&paths).cloned() else { return };
    let folders = ["a", "a/c", "b", "d", "d/e", "a/new"];
    let folder = folders[rng.usize(..folders.len())];
    match rng.u8(..12) {
        0..=3 => {
            let entry = files.get_mut(&path).unwrap();
            let at = rng.usize(..12);
            let edited = entry.1.lines().enumerate().map(|(nth, line)| match nth == at {
                true => format!("edited {}\n", rng.u16(..)),
                false => format!("{line}\n"),
            });
            entry.1 = edited.collect();
        }
        4 | 5 => {
            let name = format!("{folder}/new{}", rng.u8(..3));
            let text = text(rng, &name);
            put(files, name, ("100644", text));
        }
        6 => drop(files.remove(&path)),
        7 => {
            let file = files.remove(&path).unwrap();
            put(files, format!("{folder}/moved{}", rng.u8(..3)), file);
        }
        8 | 9 => {
            // A whole folder, or everything, goes somewhere else.
            let from = ["a/", "a/c/", "b/", ""][rng.usize(..4)];
            let to = ["d/", "e/", "b/", "x/y/"][rng.usize(..4)];
            let (moved, rest): (Files, Files) =
                std::mem::take(files).into_iter().partition(|(path, _)| path.starts_with(from));
            *files = rest;
            for (path, file) in moved {
                put(files, format!("{to}{}", &path[from.len()..]), file);
            }
        }
        10 => {
            // A file where a folder is, or a folder where a file is.
            let text = text(rng, "odd");
            match rng.bool() {
                true => put(files, folder.to_owned(), ("100644", text)),
                false => put(files, format!("{path}/inside"), ("100644", text)),
            }
        }
        _ => {
            let mode = ["100755", "120000"][rng.usize(..2)];
            files.get_mut(&path).unwrap().0 = mode;
        }
    }
}

/// Puts a file in its place, and removes what cannot exist beside it.
fn put(files: &mut Files, path: String, file: (&'static str, String)) {
    files.retain(|known, _| {
        !known.starts_with(&format!("{path}/")) && !path.starts_with(&format!("{known}/"))
    });
    files.insert(path, file);
}
