//! The contract of the tracker port, on both ways of keeping issues.

mod in_the_store {
    ao_testkit::tracker_contract!(crate::support::Bench::store());
}

mod in_files {
    ao_testkit::tracker_contract!(crate::support::Bench::files());
}
