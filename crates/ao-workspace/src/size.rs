//! Measures the disk usage of a folder like `du`, and deletes folders.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Returns how much the removal of these paths would free: the blocks of everything below them. Links are not followed,
/// and a file with another name elsewhere is not freed, so it does not count.
pub(crate) fn freed(paths: &[PathBuf]) -> u64 {
    let mut size = DiskUsage::default();
    for path in paths {
        if let Ok(metadata) = fs::symlink_metadata(path) {
            size.add(path, &metadata);
        }
    }
    size.bytes
}

/// Deletes a folder and everything in it, but not the targets of links. Succeeds if it is gone already.
pub(crate) async fn delete(folder: PathBuf) -> io::Result<()> {
    // A large one takes seconds, for which other tasks must not wait.
    let deleting = tokio::task::spawn_blocking(move || match fs::remove_dir_all(folder) {
        Err(err) if err.kind() != io::ErrorKind::NotFound => Err(err),
        _ => Ok(()),
    });
    deleting.await.map_err(io::Error::other)?
}

#[derive(Default)]
struct DiskUsage {
    bytes: u64,
    /// The number of names seen so far of files that have several.
    linked: HashMap<(u64, u64), u64>,
}

impl DiskUsage {
    fn add(&mut self, path: &Path, metadata: &Metadata) {
        let bytes = metadata.blocks() * 512;
        if metadata.is_dir() {
            self.bytes += bytes;
            // An unreadable folder cannot be removed either, so it frees nothing.
            for entry in fs::read_dir(path).into_iter().flatten().flatten() {
                if let Ok(metadata) = entry.metadata() {
                    self.add(&entry.path(), &metadata);
                }
            }
        } else if metadata.nlink() > 1 {
            let seen = self.linked.entry((metadata.dev(), metadata.ino())).or_default();
            *seen += 1;
            if *seen == metadata.nlink() {
                self.bytes += bytes;
            }
        } else {
            self.bytes += bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_count_only_if_their_file_would_go() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("inside"), dir.path().join("outside"));
        for folder in [&inside, &outside] {
            fs::create_dir(folder).unwrap();
        }
        let empty = freed(std::slice::from_ref(&inside));
        let text = vec![1; 1 << 20];
        fs::write(inside.join("one"), &text).unwrap();
        let one = freed(std::slice::from_ref(&inside));
        assert!(one - empty >= 1 << 20);
        fs::hard_link(inside.join("one"), inside.join("again")).unwrap();
        assert_eq!(freed(std::slice::from_ref(&inside)), one, "one file, two names");
        fs::hard_link(inside.join("one"), outside.join("kept")).unwrap();
        assert_eq!(freed(std::slice::from_ref(&inside)), empty, "it stays under its third name");
        fs::write(outside.join("large"), &text).unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
        assert!(freed(&[inside]) - empty <= 4096, "what a link leads to is not ours");
    }
}
