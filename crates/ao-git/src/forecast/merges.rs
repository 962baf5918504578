//! Many merges by one git, without a checkout.

use super::ClashFile;
use crate::{Git, GitError, refs};

/// How many merges one git is asked for.
const BATCH: usize = 500;
/// So many files of one clash are told; a branch that moved everything clashes with everybody.
pub(super) const FILES: usize = 50;

/// Two commits to be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    /// Where they parted, if git need not find out.
    pub(super) base: Option<String>,
    pub(super) a: String,
    pub(super) b: String,
}

/// What merging gives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Merged {
    /// With the marks of conflicts in its files.
    pub(super) tree: String,
    pub(super) conflicts: Vec<Conflict>,
}

/// A file that two commits do not agree on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Conflict {
    pub(super) path: String,
    /// Whether the path is the text that git knows it by.
    pub(super) exact: bool,
    pub(super) kind: String,
    /// What each side has there.
    pub(super) a: Option<String>,
    pub(super) b: Option<String>,
}

impl Conflict {
    pub(super) fn file(&self) -> ClashFile {
        ClashFile { path: self.path.clone(), kind: self.kind.clone(), hunks: vec![] }
    }
}

/// Merges all of them by the attributes of a commit, or says of each why it cannot be told.
pub(super) async fn all(git: &Git, attributes: &str, questions: &[Question]) -> Vec<Result<Merged, String>> {
    let mut answers = Vec::with_capacity(questions.len());
    let git = &match refs::common_dir(git.dir()) {
        Some(common_dir) => match git.isolated(&common_dir, attributes).await {
            Ok(git) => git,
            Err(err) => return questions.iter().map(|_| Err(err.to_string())).collect(),
        },
        None => git.clone(),
    };
    for questions in questions.chunks(BATCH) {
        let mut told = batch(git, questions).await;
        // Git before 2.40 finds the base itself and takes no other word for it.
        if told.as_ref().is_err_and(|err| err.stderr().contains("malformed input line")) {
            let plain = |question: &Question| Question { base: None, ..question.clone() };
            told = batch(git, &questions.iter().map(plain).collect::<Vec<_>>()).await;
        }
        match told {
            Ok(merged) => answers.extend(merged.into_iter().map(Ok)),
            // One of them spoils it for the rest, so each is asked for alone.
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

async fn batch(git: &Git, questions: &[Question]) -> Result<Vec<Merged>, GitError> {
    let line = |question: &Question| match &question.base {
        Some(base) => format!("{base} -- {} {}\n", question.a, question.b),
        None => format!("{} {}\n", question.a, question.b),
    };
    let input: String = questions.iter().map(line).collect();
    // What it writes is thrown away soon, so that packing it well would be for nobody.
    let settings = ["-c", "merge.conflictStyle=diff3", "-c", "core.looseCompression=0"];
    let args = [&settings[..], &["merge-tree", "--write-tree", "--stdin", "-z", "--messages"]].concat();
    let told = git.read_bytes_with(&args, &input).await?;
    let merged = parse(&told);
    match merged.len() == questions.len() {
        true => Ok(merged),
        false => Err(GitError::Failed {
            command: args.join(" "),
            dir: git.dir().to_owned(),
            stderr: format!("it told {} of {} merges", merged.len(), questions.len()),
        }),
    }
}

/// Each merge is `1` or `0`, its tree, the versions of files in conflict, nothing, what there is to say, and nothing. What
/// there is to say is a number of paths, the paths, a word for it and the words.
fn parse(told: &[u8]) -> Vec<Merged> {
    let mut fields = told.split(|byte| *byte == 0);
    let mut all = vec![];
    while let (Some(status @ (b"0" | b"1")), Some(tree)) = (fields.next(), fields.next()) {
        let mut conflicts: Vec<Conflict> = vec![];
        for entry in fields.by_ref().take_while(|entry| !entry.is_empty()) {
            version(&mut conflicts, entry);
        }
        while let Some(count) = fields.next().filter(|count| !count.is_empty()) {
            let count = std::str::from_utf8(count).ok().and_then(|count| count.parse().ok()).unwrap_or(0);
            let paths: Vec<&[u8]> = fields.by_ref().take(count).collect();
            let (kind, _said) = (fields.next(), fields.next());
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
        all.push(Merged { tree: String::from_utf8_lossy(tree).into_owned(), conflicts });
    }
    all
}

/// A version of a file: its mode, its id, whose it is, and its path.
fn version(conflicts: &mut Vec<Conflict>, entry: &[u8]) {
    let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else { return };
    let (about, path) = (String::from_utf8_lossy(&entry[..tab]), &entry[tab + 1..]);
    let mut about = about.split(' ');
    let (mode, id, stage) = (about.next(), about.next(), about.next());
    let at = find(conflicts, path);
    // Only files have lines.
    let id = id.filter(|_| mode.is_some_and(|mode| mode.starts_with("100"))).map(str::to_owned);
    match stage {
        Some("2") => conflicts[at].a = id,
        Some("3") => conflicts[at].b = id,
        _ => {}
    }
}

/// The first word that there is for a conflict is the one that is kept.
fn named(conflicts: &mut Vec<Conflict>, kind: &str, paths: &[&[u8]]) {
    // The first path is the one that it is about, the others say how it came to that.
    let Some(path) = paths.first() else { return };
    let at = find(conflicts, path);
    if conflicts[at].kind.is_empty() {
        conflicts[at].kind = kind.to_owned();
    }
}

fn find(conflicts: &mut Vec<Conflict>, path: &[u8]) -> usize {
    let text = String::from_utf8_lossy(path);
    if let Some(at) = conflicts.iter().position(|conflict| conflict.path == text) {
        return at;
    }
    let exact = std::str::from_utf8(path).is_ok() && !path.contains(&b'\n');
    conflicts.push(Conflict { path: text.into_owned(), exact, ..Conflict::default() });
    conflicts.len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_merges_are_told_one_after_another() {
        let told = [
            "0|aaa|100644 b0 1\te/f|100644 b2 2\te/f|100644 b3 3\te/f||",
            "1|e/f|Auto-merging|Auto-merging e/f\n|1|e/f|CONFLICT (contents)|CONFLICT (content): e/f\n||",
            "1|bbb|||1|ccc||1|g|Auto-merging|Auto-merging g\n||",
        ];
        let told = told.concat().replace('|', "\0");
        let merged = parse(told.as_bytes());
        assert_eq!(merged.len(), 3, "{merged:?}");
        let conflict = Conflict {
            path: "e/f".into(),
            exact: true,
            kind: "contents".into(),
            a: Some("b2".into()),
            b: Some("b3".into()),
        };
        assert_eq!(merged[0], Merged { tree: "aaa".into(), conflicts: vec![conflict] });
        assert_eq!(merged[1].conflicts, []);
        assert_eq!(merged[2].tree, "ccc");
        assert!(parse(b"").is_empty());
    }
}
