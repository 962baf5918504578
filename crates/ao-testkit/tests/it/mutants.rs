//! For everything that must hold, a bug that breaks it, and the simulation that sees it.

use ao_testkit::{Careless, Config, Invariant, Mutant, run};

/// Runs worlds with a planted bug until one violates the invariant, and fails if it takes more than `seeds` of them.
///
/// Each bug records its own number, about four times what it needed when it was planted: a simulation that finds a bug ever
/// later has lost sight of it.
fn caught(invariant: Invariant, seeds: u64, config: Config) {
    let config = Config { watching: Some(invariant), ..config };
    let found = (0..seeds).any(|seed| run(seed, &config).violation.is_some());
    assert!(found, "the bug survived {seeds} seeds: {invariant} was never violated");
}

fn rules(mutant: Mutant) -> Config {
    Config { mutant: Some(mutant), ..Config::default() }
}

fn fake(careless: Careless) -> Config {
    Config { careless, ..Config::default() }
}

macro_rules! caught {
    ($($name:ident: $invariant:ident within $seeds:literal, $config:expr;)*) => {
        $(
            #[test]
            fn $name() {
                caught(Invariant::$invariant, $seeds, $config);
            }
        )*

        #[test]
        fn every_invariant_has_a_bug_that_it_catches() {
            let covered = [$(Invariant::$invariant),*];
            for invariant in Invariant::ALL {
                assert!(covered.contains(&invariant), "plant a bug for {invariant}");
            }
        }
    };
}

caught! {
    a_forgotten_message_is_noticed: MessagesKept within 32, rules(Mutant::ForgetsMessages);
    a_write_taken_for_a_proof_is_noticed: MessagesKept within 32, rules(Mutant::BelievesWrites);
    a_text_typed_twice_is_noticed: AcceptedOnce within 32, fake(Careless::Agent);
    a_task_with_two_sessions_is_noticed: OneSessionPerTask within 32, rules(Mutant::SharesTasks);
    a_process_left_running_is_noticed: OneProcessPerSession within 32, fake(Careless::Runtime);
    a_shared_conversation_is_noticed: Unique within 32, rules(Mutant::SharesConversations);
    a_session_too_many_is_noticed: CapsHold within 32, rules(Mutant::OneTooMany);
    an_idle_agent_that_keeps_its_slot_is_noticed: IdleYield within 32, rules(Mutant::NeverYields);
    a_reset_count_of_tries_is_noticed: RetriesBounded within 32, rules(Mutant::ForgetsTries);
    a_reset_count_of_restarts_is_noticed: RetriesBounded within 32, rules(Mutant::ForgetsRestarts);
    a_second_escalation_is_noticed: EscalatedOnce within 32, rules(Mutant::TellsAgain);
    a_removal_past_the_gate_is_noticed: NothingDeleted within 400, fake(Careless::Workspace);
    a_lost_record_is_noticed: LogReplays within 32, fake(Careless::Store);
    a_change_that_is_not_written_down_is_noticed: LogReplays within 32, rules(Mutant::RemembersWrongly);
    an_end_without_a_reason_is_noticed: Understandable within 32, rules(Mutant::SaysNothing);
    a_session_that_is_stuck_is_noticed: Understandable within 32, rules(Mutant::DeafToEnds);
    a_shared_port_is_noticed: PortsApart within 32, rules(Mutant::SharesPorts);
    a_skipped_set_up_is_noticed: SetUpFirst within 32, rules(Mutant::SkipsSetUp);
    typing_over_a_person_is_noticed: NoRudeTyping within 32, rules(Mutant::TypesOverPeople);
    a_turn_beyond_the_budget_is_noticed: BudgetHolds within 32, rules(Mutant::IgnoresHolds);
    a_start_beyond_a_shared_budget_is_noticed: BudgetHolds within 32, rules(Mutant::IgnoresBudgets);
    a_start_on_a_refused_account_is_noticed: LimitsHeeded within 32, rules(Mutant::IgnoresLimits);
    a_session_that_goes_on_out_of_turn_is_noticed: LimitsHeeded within 32, rules(Mutant::GoesOnBackwards);
    an_act_without_a_decision_is_noticed: CommitFirst within 32, rules(Mutant::TidiesUp);
    a_merge_past_the_checks_is_noticed: CommitFirst within 32, rules(Mutant::SkipsChecks);
    a_missed_timer_is_noticed: TimeMoves within 32, rules(Mutant::Sleeps);
    a_failure_kept_from_people_is_noticed: PersonsTold within 32, rules(Mutant::Hushes);
    an_agent_out_of_reach_is_noticed: NobodyDeaf within 32, rules(Mutant::BlindToLostHolders);
    news_that_nobody_hears_is_noticed: NobodyDeaf within 32, rules(Mutant::DropsTheUnheard);
    waking_at_the_first_failure_is_noticed: NoFalseAlarm within 32, rules(Mutant::CriesWolf);
    waking_for_a_red_base_is_noticed: NoFalseAlarm within 400, rules(Mutant::BlindToBase);
    a_problem_without_a_next_step_is_noticed: NoDeadEnds within 32, rules(Mutant::ForgetsToAskAgain);
    a_red_test_taken_for_a_green_one_is_noticed: MainGreen within 32, rules(Mutant::SeesGreen);
    a_result_that_outlives_what_it_was_about_is_noticed: MainGreen within 32, rules(Mutant::KeepsResults);
    a_batch_whose_last_is_blamed_is_noticed: FairlyJudged within 32, rules(Mutant::BlamesTheLast);
    one_that_is_judged_before_those_ahead_of_it_is_noticed: FairlyJudged within 32, rules(Mutant::JudgesEarly);
    an_urgent_one_that_is_tested_last_is_noticed: LandsInOrder within 400, rules(Mutant::UrgentLast);
    a_queue_that_loses_its_place_is_noticed: NoDeadEnds within 32, rules(Mutant::LosesItsPlace);
    an_engine_that_falls_over_is_noticed: EngineLives within 32, rules(Mutant::FallsOver);
}
