//! For every invariant, a planted bug that the simulation detects.

use ao_testkit::{FakeBug, Invariant, Mutant, SimConfig, run};

use crate::parts::parts;

/// Runs worlds with a planted bug until one violates the invariant, and fails if it takes more than `seeds` of them.
///
/// Each bug records its own number: four times the most seeds in a row that it needed, over the first hundred of them, or
/// over 400 for a rare one. The first seed that catches it is mere luck. A simulation that needs more is losing its power.
fn caught(invariant: Invariant, seeds: u64, config: SimConfig) {
    let config = SimConfig { watching: Some(invariant), ..config };
    let found = (0..seeds).any(|seed| run(seed, &config, &parts()).violation.is_some());
    assert!(found, "the bug survived {seeds} seeds: {invariant} was never violated");
}

fn rules(mutant: Mutant) -> SimConfig {
    SimConfig { mutant: Some(mutant), ..SimConfig::default() }
}

fn fake(fake_bug: FakeBug) -> SimConfig {
    SimConfig { fake_bug, ..SimConfig::default() }
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
    a_forgotten_message_is_noticed: MessagesKept within 4, rules(Mutant::ForgetsMessages);
    a_write_that_counts_as_proof_is_noticed: MessagesKept within 16, rules(Mutant::TrustsWrites);
    a_text_typed_twice_is_noticed: AcceptedOnce within 24, fake(FakeBug::Agent);
    an_answer_that_is_taken_for_given_is_noticed: AnsweredOnce within 40, rules(Mutant::TrustsAnswers);
    a_forgotten_ask_is_noticed: AsksKept within 80, rules(Mutant::ForgetsAsks);
    a_task_with_two_sessions_is_noticed: OneSessionPerTask within 12, rules(Mutant::SharesTasks);
    a_process_left_running_is_noticed: OneProcessPerSession within 16, fake(FakeBug::Runtime);
    a_shared_conversation_is_noticed: UniqueOwner within 4, rules(Mutant::SharesConversations);
    a_session_beyond_the_cap_is_noticed: CapsHold within 32, rules(Mutant::ExceedsCap);
    an_idle_agent_that_keeps_its_slot_is_noticed: IdleYield within 52, rules(Mutant::NeverYields);
    a_reset_count_of_tries_is_noticed: RetriesBounded within 12, rules(Mutant::ResetsAttempts);
    a_reset_count_of_restarts_is_noticed: RetriesBounded within 56, rules(Mutant::ResetsRestarts);
    a_second_escalation_is_noticed: EscalatedOnce within 88, rules(Mutant::EscalatesAgain);
    a_removal_past_the_gate_is_noticed: NothingDeleted within 212, fake(FakeBug::Workspace);
    a_lost_record_is_noticed: LogReplays within 12, fake(FakeBug::Store);
    a_change_without_an_event_is_noticed: LogReplays within 4, rules(Mutant::ChangesStateSilently);
    an_end_without_a_reason_is_noticed: ReasonsShown within 24, rules(Mutant::OmitsExitReason);
    a_session_that_is_stuck_is_noticed: ReasonsShown within 4, rules(Mutant::IgnoresExits);
    a_shared_port_is_noticed: PortsApart within 8, rules(Mutant::SharesPorts);
    a_skipped_set_up_is_noticed: SetUpFirst within 4, rules(Mutant::SkipsSetUp);
    typing_over_a_person_is_noticed: NoIntrusiveTyping within 64, rules(Mutant::TypesOverPerson);
    a_turn_beyond_the_budget_is_noticed: BudgetHolds within 8, rules(Mutant::IgnoresHolds);
    a_start_beyond_a_shared_budget_is_noticed: BudgetHolds within 44, rules(Mutant::IgnoresBudgets);
    a_start_on_a_refused_account_is_noticed: LimitsRespected within 20, rules(Mutant::IgnoresLimits);
    a_session_that_resumes_out_of_order_is_noticed: LimitsRespected within 20, rules(Mutant::ResumesInReverse);
    an_effect_without_an_event_is_noticed: CommitFirst within 12, rules(Mutant::RemovesUnasked);
    a_merge_past_the_checks_is_noticed: CommitFirst within 40, rules(Mutant::SkipsChecks);
    a_missed_timer_is_noticed: TimeMoves within 4, rules(Mutant::IgnoresTimers);
    a_failure_without_a_notice_is_noticed: PersonsNotified within 48, rules(Mutant::HidesFailures);
    an_unreachable_agent_is_noticed: NewsEscalated within 104, rules(Mutant::IgnoresLostHolders);
    news_that_is_not_escalated_is_noticed: NewsEscalated within 136, rules(Mutant::DropsFailedNews);
    an_alarm_at_the_first_failure_is_noticed: NoFalseAlarm within 24, rules(Mutant::SkipsRerun);
    an_alarm_for_a_red_base_is_noticed: NoFalseAlarm within 372, rules(Mutant::AssumesGreenBase);
    a_problem_without_a_next_step_is_noticed: NoDeadEnds within 8, rules(Mutant::ForgetsDueTime);
    a_red_test_that_counts_as_green_is_noticed: MainGreen within 96, rules(Mutant::PassesRedTests);
    a_stale_result_is_noticed: MainGreen within 112, rules(Mutant::KeepsStaleResults);
    a_batch_whose_last_is_rejected_is_noticed: FairRejection within 148, rules(Mutant::RejectsLastOfBatch);
    a_rejection_before_those_ahead_are_tested_is_noticed: FairRejection within 132, rules(Mutant::RejectsTooEarly);
    an_urgent_pull_that_is_tested_last_is_noticed: LandsInOrder within 376, rules(Mutant::InvertsPriority);
    a_queue_that_skips_a_test_is_noticed: NoDeadEnds within 80, rules(Mutant::SkipsNextTest);
    a_hint_that_is_forgotten_during_a_look_is_noticed: ChangesSeen within 8, fake(FakeBug::Hints);
    looks_that_do_not_come_back_are_noticed: ChangesSeen within 8, fake(FakeBug::Looks);
    a_job_that_is_not_done_is_noticed: JobsDone within 20, fake(FakeBug::Jobs);
    an_engine_that_panics_is_noticed: EngineLives within 12, rules(Mutant::PanicsOnCrash);
}
