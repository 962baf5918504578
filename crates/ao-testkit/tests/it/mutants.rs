//! For everything that must hold, a bug that breaks it, and the simulation that sees it.

use ao_testkit::{Careless, Config, Invariant, Mutant, run};

/// Runs worlds with a planted bug until it is seen, and fails if it is not.
fn caught(invariant: Invariant, config: Config) {
    let config = Config { watching: Some(invariant), ..config };
    let seen = (0..SEEDS).find_map(|seed| run(seed, &config).violation);
    let violation =
        seen.unwrap_or_else(|| panic!("{SEEDS} worlds, and nobody noticed that not: {invariant}"));
    assert_eq!(violation.invariant, invariant);
}

/// A bug that so many worlds do not show is as good as none.
const SEEDS: u64 = 400;

fn rules(mutant: Mutant) -> Config {
    Config { mutant: Some(mutant), ..Config::default() }
}

fn fake(careless: Careless) -> Config {
    Config { careless, ..Config::default() }
}

macro_rules! caught {
    ($($name:ident: $invariant:ident, $config:expr;)*) => {
        $(
            #[test]
            fn $name() {
                caught(Invariant::$invariant, $config);
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
    a_forgotten_message_is_noticed: MessagesKept, rules(Mutant::ForgetsMessages);
    a_write_taken_for_a_proof_is_noticed: MessagesKept, rules(Mutant::BelievesWrites);
    a_text_typed_twice_is_noticed: AcceptedOnce, fake(Careless::Agent);
    a_task_with_two_sessions_is_noticed: OneSessionPerTask, rules(Mutant::SharesTasks);
    a_process_left_running_is_noticed: OneProcessPerSession, fake(Careless::Runtime);
    a_shared_conversation_is_noticed: Unique, rules(Mutant::SharesConversations);
    a_session_too_many_is_noticed: CapsHold, rules(Mutant::OneTooMany);
    an_idle_agent_that_keeps_its_slot_is_noticed: IdleYield, rules(Mutant::NeverYields);
    a_reset_count_of_tries_is_noticed: RetriesBounded, rules(Mutant::ForgetsTries);
    a_reset_count_of_restarts_is_noticed: RetriesBounded, rules(Mutant::ForgetsRestarts);
    a_second_escalation_is_noticed: EscalatedOnce, rules(Mutant::TellsAgain);
    a_removal_past_the_gate_is_noticed: NothingDeleted, fake(Careless::Workspace);
    a_lost_record_is_noticed: LogReplays, fake(Careless::Store);
    a_change_that_is_not_written_down_is_noticed: LogReplays, rules(Mutant::RemembersWrongly);
    an_end_without_a_reason_is_noticed: Understandable, rules(Mutant::SaysNothing);
    a_session_that_is_stuck_is_noticed: Understandable, rules(Mutant::DeafToEnds);
    a_shared_port_is_noticed: PortsApart, rules(Mutant::SharesPorts);
    a_skipped_set_up_is_noticed: SetUpFirst, rules(Mutant::SkipsSetUp);
    typing_over_a_person_is_noticed: NoRudeTyping, rules(Mutant::TypesOverPeople);
    a_turn_beyond_the_budget_is_noticed: BudgetHolds, rules(Mutant::IgnoresHolds);
    a_start_beyond_a_shared_budget_is_noticed: BudgetHolds, rules(Mutant::IgnoresBudgets);
    a_start_on_a_refused_account_is_noticed: LimitsHeeded, rules(Mutant::IgnoresLimits);
    a_session_that_goes_on_out_of_turn_is_noticed: LimitsHeeded, rules(Mutant::GoesOnBackwards);
    an_act_without_a_decision_is_noticed: CommitFirst, rules(Mutant::TidiesUp);
    a_missed_timer_is_noticed: TimeMoves, rules(Mutant::Sleeps);
    a_failure_kept_from_people_is_noticed: PersonsTold, rules(Mutant::Hushes);
    an_agent_out_of_reach_is_noticed: NobodyDeaf, rules(Mutant::BlindToLostHolders);
    news_that_nobody_hears_is_noticed: NobodyDeaf, rules(Mutant::DropsTheUnheard);
    waking_at_the_first_failure_is_noticed: NoFalseAlarm, rules(Mutant::CriesWolf);
    waking_for_a_red_base_is_noticed: NoFalseAlarm, rules(Mutant::BlindToBase);
    a_problem_without_a_next_step_is_noticed: NoDeadEnds, rules(Mutant::ForgetsToAskAgain);
    a_red_test_taken_for_a_green_one_is_noticed: MainGreen, rules(Mutant::SeesGreen);
    a_result_that_outlives_what_it_was_about_is_noticed: MainGreen, rules(Mutant::KeepsResults);
    a_batch_whose_last_is_blamed_is_noticed: FairlyJudged, rules(Mutant::BlamesTheLast);
    one_that_is_judged_before_those_ahead_of_it_is_noticed: FairlyJudged, rules(Mutant::JudgesEarly);
    an_urgent_one_that_is_tested_last_is_noticed: LandsInOrder, rules(Mutant::UrgentLast);
    a_queue_that_loses_its_place_is_noticed: NoDeadEnds, rules(Mutant::LosesItsPlace);
    an_engine_that_falls_over_is_noticed: EngineLives, rules(Mutant::FallsOver);
}
