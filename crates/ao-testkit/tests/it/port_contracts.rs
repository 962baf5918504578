//! The contracts of the forge, tracker, workspace, runtime and notifier ports, on the fakes that the simulation uses.

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

/// Simulated processes run no program: those stories that need its output, its input, its files or its children are left
/// to the runtimes that have them.
mod runtime {
    ao_testkit::runtime_contract!(ao_testkit::SimRuntimeBench::default(); [
        a_second_start_returns_the_same_process,
        a_start_after_a_restart_returns_the_same_process,
        an_attempt_that_has_exited_is_not_started_again,
        an_attempt_that_was_ended_is_not_started_again,
        an_exit_is_reported_with_its_code,
        an_exit_that_no_daemon_saw_is_counted_with_its_code,
        what_is_not_known_is_not_dead,
        a_census_knows_all_after_a_restart,
        ending_again_and_ending_nothing_are_no_errors,
        ending_one_leaves_its_neighbours_alone,
        a_reference_is_the_same_wherever_it_comes_from,
        a_reference_of_another_runtime_is_refused,
    ]);
}
