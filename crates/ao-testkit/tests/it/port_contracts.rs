//! The contracts of the forge, tracker, workspace and notifier ports, on the fakes that the simulation uses.

mod scm {
    ao_testkit::scm_contract!(ao_testkit::SimPortBench::default());
}

mod notifier {
    ao_testkit::notifier_contract!(ao_testkit::SimPortBench::default());
}

mod tracker {
    ao_testkit::tracker_contract!(ao_testkit::SimPortBench::default());
}

mod workspace {
    ao_testkit::workspace_contract!(ao_testkit::SimPortBench::default());
}
