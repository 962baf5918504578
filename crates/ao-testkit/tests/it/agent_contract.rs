//! The simulated agent keeps the promises of the port, whether it reports its asks by their ids or not.

mod with_ids {
    ao_testkit::agent_contract!(ao_testkit::SimAgentBench::launch(true).await);
}

mod without_ids {
    ao_testkit::agent_contract!(ao_testkit::SimAgentBench::launch(false).await; [
        nothing_is_delivered_while_an_ask_is_open,
        an_answer_reaches_its_ask_once,
        an_answer_to_another_ask_is_not_given,
        an_ask_stays_open_over_a_restart,
    ]);
}
