//! Runs many merges in one git process, without a checkout.

use super::ClashFile;
use crate::{Git, GitError, refs};

/// Most merges per process.
const BATCH: usize = 500;
/// Most files that are reported per clash; a branch that moved everything clashes with every other.
pub(super) const FILES: usize = 50;

/// Two commits to be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MergePair {
    /// The merge base, if it is known; otherwise git finds it.
    pub(super) base: Option<String>,
    pub(super) a: String,
    pub(super) b: String,
}

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct MergeResult {
    /// The merged tree. Its files contain conflict markers.
    pub(super) tree: String,
    pub(super) conflicts: Vec<FileConflict>,
}

/// A file on which two commits conflict.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct FileConflict {
    pub(super) path: String,
    /// True if the path is exactly git's bytes, and not a lossy conversion.
    pub(super) exact: bool,
    pub(super) kind: String,
    /// The blob of each side, if it is a regular file.
    pub(super) a: Option<String>,
    pub(super) b: Option<String>,
}

impl FileConflict {
    pub(super) fn file(&self) -> ClashFile {
        ClashFile { path: self.path.clone(), kind: self.kind.clone(), hunks: vec![] }
    }
}

/// Merges all pairs with the attributes of a commit. Returns for each the result, or the reason why it failed.
pub(super) async fn all(
    git: &Git,
    attributes: &str,
    questions: &[MergePair],
) -> Vec<Result<MergeResult, String>> {
    let mut answers = Vec::with_capacity(questions.len());
    let git = &match refs::common_dir(git.dir()) {
        Some(common_dir) => match git.isolated(&common_dir, attributes).await {
            Ok(git) => git,
            Err(err) => return questions.iter().map(|_| Err(err.to_string())).collect(),
        },
        None => git.clone(),
    };
    for questions in questions.chunks(BATCH) {
        let mut output = batch(git, questions).await;
        // Git before 2.40 always finds the base itself and rejects one that it is given.
        if output.as_ref().is_err_and(|err| err.stderr().contains("malformed input line")) {
            let plain = |question: &MergePair| MergePair { base: None, ..question.clone() };
            output = batch(git, &questions.iter().map(plain).collect::<Vec<_>>()).await;
        }
        match output {
            Ok(merged) => answers.extend(merged.into_iter().map(Ok)),
            // One pair makes the whole batch fail, so each is tried alone.
            Err(_) if questions.len() > 1 => {
                for question in questions {
                    let alone = batch(git, std::slice::from_ref(question)).await;
                    answers.push(alone.map(|mut all| all.remove(0)).map_err(|err| err.to_string()));
                }
            }
            Err(err) => answers.push(Err(err.to_string())),
        }
    }
    answers
}

async fn batch(git: &Git, questions: &[MergePair]) -> Result<Vec<MergeResult>, GitError> {
    let line = |question: &MergePair| match &question.base {
        Some(base) => format!("{base} -- {} {}\n", question.a, question.b),
        None => format!("{} {}\n", question.a, question.b),
    };
    let input: String = questions.iter().map(line).collect();
    // The objects are deleted soon, so compressing them well would be wasted.
    let settings = ["-c", "merge.conflictStyle=diff3", "-c", "core.looseCompression=0"];
    let args = [&settings[..], &["merge-tree", "--write-tree", "--stdin", "-z", "--messages"]].concat();
    let output = git.read_bytes_with(&args, &input).await?;
    let merged = parse(&output);
    if merged.len() == questions.len() {
        return Ok(merged);
    }
    let why = format!("it answered {} of {} merges", merged.len(), questions.len());
    Err(git.failure(args.join(" "), why))
}

/// Parses the output: each merge is `1` or `0`, its tree, the versions of files in conflict, an empty field, messages,
/// and an empty field. A message is a number of paths, the paths, a kind and a text.
fn parse(output: &[u8]) -> Vec<MergeResult> {
    let mut fields = output.split(|byte| *byte == 0);
    let mut all = vec![];
    while let (Some(status @ (b"0" | b"1")), Some(tree)) = (fields.next(), fields.next()) {
        let mut conflicts: Vec<FileConflict> = vec![];
        for entry in fields.by_ref().take_while(|entry| !entry.is_empty()) {
            version(&mut conflicts, entry);
        }
        while let Some(count) = fields.next().filter(|count| !count.is_empty()) {
            let count = std::str::from_utf8(count).ok().and_then(|count| count.parse().ok()).unwrap_or(0);
            let paths: Vec<&[u8]> = fields.by_ref().take(count).collect();
            let (kind, _text) = (fields.next(), fields.next());
            let kind = String::from_utf8_lossy(kind.unwrap_or_default());
            if let Some(kind) = kind.strip_prefix("CONFLICT (").and_then(|kind| kind.strip_suffix(')')) {
                named(&mut conflicts, kind, &paths);
            }
        }
        if status == b"1" {
            conflicts.clear();
        }
        conflicts.sort_by(|one, other| one.path.cmp(&other.path));
        conflicts.truncate(FILES);
        all.push(MergeResult { tree: String::from_utf8_lossy(tree).into_owned(), conflicts });
    }
    all
}

/// Parses a version of a file: its mode, its id, its side, and its path.
fn version(conflicts: &mut Vec<FileConflict>, entry: &[u8]) {
    let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else { return };
    let (about, path) = (String::from_utf8_lossy(&entry[..tab]), &entry[tab + 1..]);
    let mut about = about.split(' ');
    let (mode, id, stage) = (about.next(), about.next(), about.next());
    let at = find(conflicts, path);
    // Only regular files have lines.
    let id = id.filter(|_| mode.is_some_and(|mode| mode.starts_with("100"))).map(str::to_owned);
    match stage {
        Some("2") => conflicts[at].a = id,
        Some("3") => conflicts[at].b = id,
        _ => {}
    }
}

/// Sets the kind of a conflict, unless an earlier message has.
fn named(conflicts: &mut Vec<FileConflict>, kind: &str, paths: &[&[u8]]) {
    // The message is about the first path; the others explain how it came to that.
    let Some(path) = paths.first() else { return };
    let at = find(conflicts, path);
    if conflicts[at].kind.is_empty() {
        conflicts[at].kind = kind.to_owned();
    }
}

fn find(conflicts: &mut Vec<FileConflict>, path: &[u8]) -> usize {
    let text = String::from_utf8_lossy(path);
    if let Some(at) = conflicts.iter().position(|conflict| conflict.path == text) {
        return at;
    }
    let exact = std::str::from_utf8(path).is_ok() && !path.contains(&b'\n');
    conflicts.push(FileConflict { path: text.into_owned(), exact, ..FileConflict::default() });
    conflicts.len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_merges_are_parsed_one_after_another() {
        let output = [
            "0|aaa|100644 b0 1\te/f|100644 b2 2\te/f|100644 b3 3\te/f||",
            "1|e/f|Auto-merging|Auto-merging e/f\n|1|e/f|CONFLICT (contents)|CONFLICT (content): e/f\n||",
            "1|bbb|||1|ccc||1|g|Auto-merging|Auto-merging g\n||",
        ];
        let output = output.concat().replace('|', "\0");
        let merged = parse(output.as_bytes());
        assert_eq!(merged.len(), 3, "{merged:?}");
        let conflict = FileConflict {
            path: "e/f".into(),
            exact: true,
            kind: "contents".into(),
            a: Some("b2".into()),
            b: Some("b3".into()),
        };
        assert_eq!(merged[0], MergeResult { tree: "aaa".into(), conflicts: vec![conflict] });
        assert_eq!(merged[1].conflicts, []);
        assert_eq!(merged[2].tree, "ccc");
        assert!(parse(b"").is_empty());
    }
}
