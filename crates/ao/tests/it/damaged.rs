//! An event log that is damaged is noticed at the start and by `ao doctor`, and stays as it is.

use std::fs;

use crate::house::{House, until};

/// A house whose daemon has written some pages and was stopped, and the backup that was made meanwhile.
fn house() -> (House, String) {
    let house = House::new();
    house.start();
    let text = "something to remember ".repeat(400);
    for number in 0..12 {
        house.ao(&["issue", "add", &format!("Issue {number}"), "-b", &text]).succeeds();
    }
    let backup = house.path("backup.db").display().to_string();
    house.ao(&["events", "backup", &backup]).succeeds();
    house.ao(&["stop"]).succeeds();
    until("the log is closed", || !house.path("data/ao.db-wal").exists());
    (house, backup)
}

const PAGE: usize = 4096;

/// Pages that hold rows of a table or an index.
fn leaves(log: &mut [u8]) -> impl Iterator<Item = &mut [u8]> {
    log.chunks_mut(PAGE).skip(3).filter(|page| matches!(page[0], 10 | 13))
}

#[test]
fn a_damaged_log_is_refused_and_stays_as_it_is() {
    let (house, backup) = house();
    let path = house.path("data/ao.db");
    let whole = fs::read(&path).unwrap();
    assert!(whole.len() > 12 * PAGE, "{}", whole.len());
    house.ao(&["doctor"]).says("the event log is sound");

    type Damage = fn(&mut Vec<u8>);
    let damages: [(&str, Damage); 5] = [
        ("header", |log| log[..16].fill(0xAA)),
        ("page", |log| leaves(log).last().unwrap().fill(0xAA)),
        ("cells", |log| leaves(log).last().unwrap()[8..64].fill(0x7F)),
        ("list of free pages", |log| log[32..40].copy_from_slice(&[0, 0, 0x7F, 0xFF, 0, 0, 0, 9])),
        ("end", |log| log.truncate(log.len() / 2)),
    ];
    for (what, damage) in damages {
        let mut log = whole.clone();
        damage(&mut log);
        fs::write(&path, &log).unwrap();
        for command in [&["start", "--port", "0"][..], &["daemon", "--port", "0"]] {
            let ran = house.ao(command);
            assert_ne!(ran.code, 0, "{what}: {ran:?}");
            assert!(ran.err.contains("damaged"), "{what}: {}", ran.err);
            assert!(ran.err.contains(&backup), "it says where the last backup is: {}", ran.err);
            assert!(fs::read(&path).unwrap() == log, "{what}: the file has changed");
        }
        house.ao(&["doctor"]).exits(3).says("the event log is damaged").says(&backup);
        for beside in ["ao.db-wal", "ao.db-shm"] {
            let _ = fs::remove_file(house.path("data").join(beside));
        }
    }

    fs::write(&path, &whole).unwrap();
    let wal = house.path("data/ao.db-wal");
    fs::write(&wal, [0xAA; 3 * PAGE]).unwrap();
    house.ao(&["start", "--port", "0"]).exits(3).says("ao.db-wal");
    assert_eq!(fs::read(&wal).unwrap(), [0xAA; 3 * PAGE]);

    // As it says: all of the old one out of the way, and the backup in its place.
    for old in ["ao.db", "ao.db-wal"] {
        fs::remove_file(house.path("data").join(old)).unwrap();
    }
    let _ = fs::remove_file(house.path("data/ao.db-shm"));
    fs::copy(&backup, &path).unwrap();
    house.start();
    house.ao(&["issue", "show", "12"]).succeeds().says("Issue 11");
    house.ao(&["doctor"]).says("the event log is sound");
}
