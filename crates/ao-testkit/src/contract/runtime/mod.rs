//! The contract of [`Runtime`](ao_ports::Runtime): one story for each of its promises.
//!
//! An adapter provides a [`RuntimeBench`] and names it once:
//!
//! ```ignore
//! mod pipes {
//!     ao_testkit::runtime_contract!(crate::support::Pipes::new());
//! }
//! ```
//!
//! A runtime that holds programs in two ways runs the contract twice. A story skips abilities that the runtime does
//! not declare, and tests declared ones in full.

mod attach;
mod end;
mod exec;
mod life;
mod output;
mod reference;
mod screen;
mod start;
mod story;
mod streams;
mod write;

pub use attach::*;
pub use end::*;
pub use exec::*;
pub use life::*;
pub use output::*;
pub use reference::*;
pub use screen::*;
pub use start::*;
pub use story::{BOUND, RuntimeBench, Story, lives, until, until_ok};
pub use streams::*;
pub use write::*;

/// Expands to one test for each story, each on a bench of its own.
#[macro_export]
macro_rules! runtime_contract {
    ($bench:expr) => {
        $crate::runtime_contract!($bench; [
            a_second_start_returns_the_same_process,
            a_start_after_a_restart_returns_the_same_process,
            an_attempt_that_has_exited_is_not_started_again,
            an_attempt_that_was_ended_is_not_started_again,
            twenty_start_at_once,
            the_environment_is_what_was_asked_for_and_no_more,
            a_secret_is_in_no_argument_of_any_process,
            a_program_starts_in_its_folder,
            what_cannot_be_started_is_named_and_leaves_nothing,
            a_port_of_somebody_else_keeps_a_program_from_starting,
            a_port_of_the_sessions_own_set_up_does_not,
            a_way_of_holding_that_it_does_not_have_is_refused,
            bytes_arrive_exactly,
            a_long_text_arrives_whole,
            a_write_arrives_once_for_each_number,
            a_write_to_what_has_ended_is_an_error,
            output_is_read_by_offset_and_limit,
            a_look_at_output_does_not_wait_and_a_wait_has_its_bound,
            who_waits_for_output_is_woken_by_it_and_by_the_end,
            the_last_words_come_before_the_end_is_told,
            output_is_read_on_after_a_restart_where_it_stopped,
            a_long_output_has_no_gaps,
            a_program_without_input_finds_its_end,
            a_program_without_input_cannot_be_written_to,
            both_streams_are_in_the_log_in_their_order,
            the_log_of_what_has_ended_is_whole,
            a_secret_is_masked_on_both_streams,
            a_screen_shows_what_a_person_would_see,
            a_screen_knows_what_the_program_has_asked_for,
            a_program_on_pipes_has_no_screen,
            an_exit_is_reported_with_its_code,
            a_killed_program_is_seen,
            an_exit_that_no_daemon_saw_is_counted_with_its_code,
            a_look_tells_work_from_waiting,
            a_child_that_comes_and_goes_is_work,
            what_is_not_known_is_not_dead,
            the_folder_follows_the_program,
            programs_outlive_the_daemon,
            a_census_knows_all_after_a_restart,
            a_program_that_does_not_listen_is_killed,
            a_daemonised_server_is_ended_and_its_port_is_free,
            what_an_agent_has_left_anywhere_is_ended,
            what_a_set_up_has_started_is_left_alone,
            ending_again_and_ending_nothing_are_no_errors,
            ending_one_leaves_its_neighbours_alone,
            a_reference_is_the_same_wherever_it_comes_from,
            a_reference_of_another_runtime_is_refused,
            a_viewer_sees_what_is_put_out_before_and_after,
            one_viewer_at_a_time_has_control,
            a_command_runs_to_its_end_in_its_folder,
            what_a_command_starts_ends_with_it,
            the_files_of_a_command_are_placed_and_go_with_it,
        ]);
    };
    ($bench:expr; [$($story:ident),* $(,)?]) => {
        $(
            #[tokio::test]
            async fn $story() {
                let story = $crate::contract::runtime::Story::begin($bench).await;
                $crate::contract::runtime::$story(story).await;
            }
        )*
    };
}
