//! Converts runs of checks to wire types.

use ao_api::{CheckRunState, FailureItemKind};
use ao_ports::{CheckRun, FailureItem, FailureKind, FailureReport, LogPart, RunState};

use super::time;

pub(crate) fn check_run(run: &CheckRun) -> ao_api::CheckRun {
    ao_api::CheckRun {
        id: run.id.clone(),
        project_id: run.project.to_string(),
        pull: run.pull.as_ref().map(ToString::to_string),
        check: run.check.clone(),
        command: run.command.clone(),
        required: run.required,
        head: run.head.to_string(),
        base: run.base.as_ref().map(ToString::to_string),
        tree: run.tree.clone(),
        ahead: run.ahead.iter().map(ToString::to_string).collect(),
        state: same_name!(
            run.state, RunState => CheckRunState: Queued, Running, Passed, Failed, Skipped, Cancelled, Broken
        ),
        why: run.why.clone(),
        exit_code: run.exit_code,
        queued_at: time(run.queued_at),
        began_at: run.began_at.map(time),
        ended_at: run.ended_at.map(time),
        tries: run.tries,
        same_as: run.same_as.clone(),
        log: run.log.clone(),
        failure: run.failure.as_ref().map(failure),
    }
}

fn failure(failure: &FailureReport) -> ao_api::CheckFailure {
    let item = |item: &FailureItem| ao_api::FailureItem {
        kind: same_name!(item.kind, FailureKind => FailureItemKind: Test, Error),
        name: item.name.clone(),
        message: item.message.clone(),
        path: item.path.clone(),
        line: item.line,
    };
    ao_api::CheckFailure {
        signature: failure.signature.clone(),
        step: failure.step.clone(),
        excerpt: failure.excerpt.clone(),
        count: failure.count,
        items: failure.items.iter().map(item).collect(),
    }
}

/// Converts a part of a log to text. An incomplete character at its end is left for the next part.
pub(crate) fn check_log(part: LogPart) -> ao_api::CheckLog {
    let LogPart { mut bytes, mut next, ended } = part;
    if !ended {
        let open = unfinished(&bytes);
        // A part that consists of nothing else would never be passed.
        if open < bytes.len() {
            bytes.truncate(bytes.len() - open);
            next -= open as u64;
        }
    }
    ao_api::CheckLog { text: String::from_utf8_lossy(&bytes).into_owned(), next, ended }
}

/// Returns the number of bytes at the end that start an incomplete character.
fn unfinished(bytes: &[u8]) -> usize {
    let end = bytes.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
    let is_begun = std::str::from_utf8(end).is_err_and(|err| err.error_len().is_none());
    if is_begun { end.len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_is_not_torn_between_two_parts() {
        let text = "aé→😀z";
        for limit in 1..text.len() {
            let (mut from, mut read) = (0, String::new());
            while from < text.len() {
                let end = (from + limit).min(text.len());
                let bytes = text.as_bytes()[from..end].to_vec();
                let part = check_log(LogPart { bytes, next: end as u64, ended: end == text.len() });
                assert!(part.next as usize > from, "it goes on");
                from = part.next as usize;
                read.push_str(&part.text);
            }
            if limit >= 4 {
                assert_eq!(read, text, "{limit}");
            }
        }
        let odd = LogPart { bytes: vec![b'a', 0xff, 0x80, 0x80, 0x80], next: 5, ended: false };
        assert_eq!((check_log(odd.clone()).next, check_log(odd).text.chars().next()), (5, Some('a')));
    }
}
