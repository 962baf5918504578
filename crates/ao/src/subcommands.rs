//! Subcommands and their functions, in one list.

/// Defines `Command` for clap, and its `run`, which calls the function of the chosen subcommand.
macro_rules! subcommands {
    ($($(#[$attr:meta])* $name:ident($args:ty) => $run:path),+ $(,)?) => {
        #[derive(Debug, clap::Subcommand)]
        enum Command {
            $($(#[$attr])* $name($args),)+
        }

        impl Command {
            fn run(&self, cx: &Context) -> Result<(), CommandError> {
                match self {
                    $(Command::$name(args) => $run(args, cx),)+
                }
            }
        }
    };
}
