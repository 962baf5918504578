//! The fakes that are contracts' subjects, and the scripted agent.

mod agent_contract;
mod port_contracts;
mod pty_contract;
#[cfg(feature = "standin")]
mod real_agents;
mod scripted;
