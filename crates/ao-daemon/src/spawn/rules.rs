//! The rules that a project gives its agents in a file of its own. The file comes with the repository, so it is read with care.

use std::io::{Error, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;

use camino::Utf8Path;

/// The largest file of rules that goes into a prompt.
const RULES: u64 = 64 * 1024;

/// A file of rules in the project's own checkout. One that is not there, or is elsewhere, is no reason not to work.
pub(super) fn rules(project: &Utf8Path, file: &str) -> Option<String> {
    let path = project.join(file);
    let text = rules_in(project, &path)
        .inspect_err(|err| tracing::warn!(%path, %err, "no rules can be read"))
        .ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Reads a file of rules. It must be in the project after all links are followed, because agents send its content on.
fn rules_in(project: &Utf8Path, path: &Utf8Path) -> std::io::Result<String> {
    let path = path.canonicalize_utf8()?;
    if !path.starts_with(project.canonicalize_utf8()?) {
        return Err(Error::new(ErrorKind::PermissionDenied, "it is not in the project's folder"));
    }
    // Opening a pipe would wait for its writer.
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(&path)?;
    if !file.metadata()?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is no file"));
    }
    let mut bytes = Vec::new();
    file.take(RULES).read_to_end(&mut bytes)?;
    // What is cut off may have cut a letter in two.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_from_files_in_the_project_alone() {
        let home = tempfile::tempdir().unwrap();
        let home = Utf8Path::from_path(home.path()).unwrap();
        let project = home.join("app");
        std::fs::create_dir_all(project.join("docs")).unwrap();
        std::fs::write(home.join("secret"), "a key").unwrap();
        std::fs::write(project.join("docs/rules.md"), "Be kind.\n").unwrap();
        std::os::unix::fs::symlink("docs/rules.md", project.join("link.md")).unwrap();
        std::os::unix::fs::symlink("../secret", project.join("out.md")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            project.join("pipe").as_std_path(),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        let inside = project.join("docs/rules.md");
        for file in ["docs/rules.md", "docs/../link.md", inside.as_str()] {
            assert_eq!(rules(&project, file).as_deref(), Some("Be kind."), "{file}");
        }
        let outside = home.join("secret");
        for file in ["../secret", "out.md", outside.as_str(), "pipe", "docs", "none.md"] {
            assert_eq!(rules(&project, file), None, "{file}");
        }
    }
}
