//! Any bytes as the output of a failed check.
#![no_main]

use ao_scm::failure::{Options, extract};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u16, u8, &[u8])| {
    let (limit, items, log) = input;
    let options = Options {
        limit: usize::from(limit),
        items: usize::from(items),
        roots: vec!["/build/app".into()],
        ..Options::default()
    };
    let failure = extract(log, &options);
    assert!(failure.excerpt.len() <= options.limit);
    assert!(failure.items.len() <= options.items);
    assert!(failure.items.len() <= failure.count as usize);
    assert_eq!(failure.signature.len(), 16);
    assert!(!failure.excerpt.contains(['\0', '\r', '\x1b']));
});
