//! `ao events backup`

use camino::Utf8PathBuf;

use crate::error::{CommandError, Kind};
use crate::paths::DataDir;
use crate::ui;

/// Copy the event log to a new file, and check the copy
///
/// Can be used while ao runs. To restore it, stop ao and put the file into the data directory as `ao.db`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  ao events backup ~/ao-backup.db")]
pub(crate) struct Args {
    #[command(flatten)]
    data_dir: DataDir,
    /// Where to; it must not exist yet
    file: Utf8PathBuf,
}

pub(super) fn run(args: &Args) -> Result<(), CommandError> {
    let dir = args.data_dir.path()?;
    if args.file.exists() {
        return Err(CommandError::new(
            Kind::User,
            format!("`{}` is already there and is left as it is", args.file),
        )
        .hint("choose another name for the backup"));
    }
    super::open(&dir)?.backup(&args.file)?;
    ui::line(format_args!("{}: a whole copy of the event log in `{dir}`", args.file))?;
    Ok(())
}
