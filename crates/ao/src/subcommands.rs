//! Subcommands and their functions, in one list.

/// Defines `Command` for clap, and its `run`, which calls the function of the chosen subcommand. With a `struct` before the
/// list, defines that as well, as the arguments of a command that has nothing but subcommands, and its `run`.
macro_rules! subcommands {
    ($(#[$attr:meta])* pub(crate) struct $args:ident; $($commands:tt)+) => {
        #[derive(Debug, clap::Args)]
        $(#[$attr])*
        pub(crate) struct $args {
            #[command(subcommand)]
            command: Command,
        }

        subcommands! { $($commands)+ }

        pub(crate) fn run(
            args: &$args,
            cx: &$crate::cli::context::Context,
        ) -> Result<(), $crate::error::CommandError> {
            args.command.run(cx)
        }
    };
    ($($(#[$attr:meta])* $name:ident($args:ty) => $run:path),+ $(,)?) => {
        #[derive(Debug, clap::Subcommand)]
        enum Command {
            $($(#[$attr])* $name($args),)+
        }

        impl Command {
            fn run(
                &self,
                cx: &$crate::cli::context::Context,
            ) -> Result<(), $crate::error::CommandError> {
                match self {
                    $(Command::$name(args) => $run(args, cx),)+
                }
            }
        }
    };
}
