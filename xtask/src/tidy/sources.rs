//! The input of the rules: the files of the repository and its crates.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::process::cargo;

/// All files that are tracked or about to be, by their path from the root. Only Rust and Markdown files have their
/// text.
#[derive(Debug, Default)]
pub(super) struct SourceTree {
    files: BTreeMap<String, String>,
}

impl SourceTree {
    pub(super) fn read(root: &Path) -> Result<SourceTree> {
        let output = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .output()
            .context("failed to start git")?;
        ensure!(
            output.status.success(),
            "`git ls-files` failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );

        let mut files = BTreeMap::new();
        for path in String::from_utf8(output.stdout)?.split('\0').filter(|path| !path.is_empty()) {
            let full = root.join(path);
            // Deleted but not yet committed.
            if !full.exists() {
                continue;
            }
            let text = if is(path, "rs") || is(path, "md") {
                std::fs::read_to_string(&full).with_context(|| format!("failed to read `{path}`"))?
            } else {
                String::new()
            };
            files.insert(path.to_owned(), text);
        }
        Ok(SourceTree { files })
    }

    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> SourceTree {
        SourceTree {
            files: files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect(),
        }
    }

    /// Returns path and text of all Rust files.
    pub(super) fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.ending("rs")
    }

    /// Returns path and text of all Markdown files.
    pub(super) fn markdown(&self) -> impl Iterator<Item = (&str, &str)> {
        self.ending("md")
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Returns `true` if there is such a file or folder. The root itself is the empty path.
    pub(super) fn has(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        path.is_empty() || self.files.keys().any(|file| file == path || file.starts_with(&folder))
    }

    fn ending(&self, extension: &str) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .filter(move |(path, _)| is(path, extension))
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }
}

fn is(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == extension)
}

/// The dependency graph: every crate with the crates it is built from, without dev-dependencies.
#[derive(Debug, Default)]
pub(super) struct PackageGraph {
    /// The crates of this repository.
    pub(super) ours: BTreeSet<String>,
    /// Dependencies by name; versions of one name are merged.
    pub(super) dependencies: BTreeMap<String, BTreeSet<String>>,
}

impl PackageGraph {
    pub(super) fn read() -> Result<PackageGraph> {
        let output = cargo("metadata --format-version 1").output().context("failed to start cargo")?;
        ensure!(
            output.status.success(),
            "`cargo metadata` failed\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        PackageGraph::parse(&serde_json::from_slice(&output.stdout)?)
            .context("`cargo metadata` has an unknown shape")
    }

    fn parse(metadata: &Value) -> Option<PackageGraph> {
        let mut names = BTreeMap::new();
        for package in metadata["packages"].as_array()? {
            names.insert(package["id"].as_str()?, package["name"].as_str()?);
        }
        let mut packages = PackageGraph::default();
        for id in metadata["workspace_members"].as_array()? {
            packages.ours.insert((*names.get(id.as_str()?)?).to_owned());
        }
        for node in metadata["resolve"]["nodes"].as_array()? {
            let name = *names.get(node["id"].as_str()?)?;
            let entry = packages.dependencies.entry(name.to_owned()).or_default();
            for dependency in node["deps"].as_array()? {
                let kinds = dependency["dep_kinds"].as_array()?;
                // The kind of a normal dependency is null.
                if kinds.iter().any(|kind| kind["kind"] != "dev") {
                    entry.insert((*names.get(dependency["pkg"].as_str()?)?).to_owned());
                }
            }
        }
        Some(packages)
    }

    #[cfg(test)]
    pub(super) fn of(dependencies: &[(&str, &[&str])]) -> PackageGraph {
        let mut packages = PackageGraph::default();
        for (name, uses) in dependencies {
            if name.starts_with("ao") {
                packages.ours.insert((*name).to_owned());
            }
            packages
                .dependencies
                .insert((*name).to_owned(), uses.iter().map(|used| (*used).to_owned()).collect());
        }
        packages
    }

    /// Returns all transitive dependencies of `name`.
    pub(super) fn reachable(&self, name: &str) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        let mut open = vec![name];
        while let Some(name) = open.pop() {
            for used in self.dependencies.get(name).into_iter().flatten() {
                if found.insert(used.as_str()) {
                    open.push(used);
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn dev_dependencies_do_not_count_and_build_dependencies_do() {
        let packages = PackageGraph::parse(&json!({
            "packages": [
                { "id": "a#1", "name": "ao-core" }, { "id": "b#1", "name": "serde" },
                { "id": "c#1", "name": "cc" }, { "id": "d#1", "name": "insta" },
            ],
            "workspace_members": ["a#1"],
            "resolve": { "nodes": [{ "id": "a#1", "deps": [
                { "pkg": "b#1", "dep_kinds": [{ "kind": null }] },
                { "pkg": "c#1", "dep_kinds": [{ "kind": "dev" }, { "kind": "build" }] },
                { "pkg": "d#1", "dep_kinds": [{ "kind": "dev" }] },
            ] }] },
        }))
        .unwrap();
        assert_eq!(packages.ours.iter().collect::<Vec<_>>(), ["ao-core"]);
        assert_eq!(packages.dependencies["ao-core"].iter().collect::<Vec<_>>(), ["cc", "serde"]);
    }

    #[test]
    fn what_is_reached_through_others_is_found() {
        let packages = PackageGraph::of(&[("ao", &["a"]), ("a", &["b"]), ("b", &["a", "c"])]);
        assert_eq!(packages.reachable("ao").into_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
    }
}
