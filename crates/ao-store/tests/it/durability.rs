//! An acknowledged event is on disk, regardless of what happens next.

use std::io::{BufRead, BufReader};

use ao_ports::{EventStore, Records};

use crate::child;
use crate::support::{DataDir, block_on};

#[test]
fn a_killed_writer_loses_nothing_it_has_acknowledged() {
    const ROUNDS: usize = 8;
    let dir = DataDir::new();
    let mut before = 0;
    for round in 0..ROUNDS {
        let mut writer = child::command("append", &dir).spawn().unwrap();
        let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines().map(Result::unwrap);

        // Killed in the middle of work: after a random number of answers, at whatever instant that is.
        let enough = fastrand::usize(1..300);
        let mut acknowledged: Vec<u64> =
            lines.by_ref().filter_map(|line| child::said(&line)?.parse().ok()).take(enough).collect();
        writer.kill().unwrap();
        writer.wait().unwrap();
        // The lines that it had written before it died and that we had not read yet. The last one may be truncated.
        let rest: Vec<String> = lines.collect();
        let whole = rest.len().saturating_sub(1);
        acknowledged.extend(rest[..whole].iter().filter_map(|line| child::said(line)?.parse::<u64>().ok()));

        let store = dir.open();
        let last = block_on(store.last_seq()).unwrap();
        let report = store.check().unwrap();
        assert!(report.is_ok(), "round {round}: {report:?}");
        assert_eq!((report.first, report.events), (1, last), "round {round}");
        let highest = *acknowledged.iter().max().unwrap();
        assert!(highest <= last, "round {round}: {highest} was acknowledged, the log ends at {last}");
        assert!(acknowledged.iter().all(|seq| *seq > before), "round {round}: a position was used twice");
        before = last;
    }
}

#[test]
fn a_killed_writer_loses_no_document_and_leaves_none_by_halves() {
    const ROUNDS: usize = 6;
    let dir = DataDir::new();
    for round in 0..ROUNDS {
        let mut writer = child::command("keep", &dir).spawn().unwrap();
        let lines = BufReader::new(writer.stdout.take().unwrap()).lines().map(Result::unwrap);
        let acknowledged: Vec<(u64, u64)> = lines
            .filter_map(|line| {
                let (producer, n) = child::said(&line)?.split_once(' ')?;
                Some((producer.parse().ok()?, n.parse().ok()?))
            })
            .take(fastrand::usize(1..200))
            .collect();
        writer.kill().unwrap();
        writer.wait().unwrap();

        let store = dir.open();
        let kept = block_on(store.list("count", "", None, usize::MAX)).unwrap();
        assert_eq!(block_on(store.list("double", "", None, usize::MAX)).unwrap(), kept, "round {round}");
        for (producer, n) in acknowledged {
            let found = kept.iter().find(|(key, _)| *key == producer.to_string());
            let found: u64 = found.expect("it was acknowledged").1.parse().unwrap();
            assert!(n <= found, "round {round}: {n} was acknowledged, {found} is kept");
        }
        assert!(store.check().unwrap().is_ok(), "round {round}");
    }
}
