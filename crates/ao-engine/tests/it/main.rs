//! The engine on a real log on a real disk, with adapters that do what the test says.

mod elsewhere;
mod failures;
mod feed;
mod forges;
mod house;
mod lasting;
mod notices;
mod restart;
