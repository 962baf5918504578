//! The stand-in for the model APIs as a program; see `ao_testkit::standin`.

use std::io::{self, Read, Write};
use std::process::ExitCode;

use ao_testkit::standin::{StandinOptions, StandinServer};

const USAGE: &str = "usage: ao-model-standin [--port N] [--log FILE] [--bodies FOLDER] [--until-eof]

Prints its base URL and serves until it is killed.

  --port N          the port [default: a free one]
  --log FILE        append each request to this file, as a line of JSON
  --bodies FOLDER   write the whole body of each request into this folder
  --until-eof       serve until stdin is closed";

fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("ao-model-standin: {why}\n{USAGE}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> Result<(), String> {
    let mut options = StandinOptions::default();
    let mut until_eof = false;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--port" => options.port = value()?.parse().map_err(|_| "the port is not a number")?,
            "--log" => options.log = Some(value()?.into()),
            "--bodies" => options.bodies = Some(value()?.into()),
            "--until-eof" => until_eof = true,
            _ => return Err(format!("unknown argument `{arg}`")),
        }
    }
    let server = StandinServer::start_with(&options).map_err(|err| err.to_string())?;
    writeln!(io::stdout().lock(), "{}", server.url()).map_err(|err| err.to_string())?;
    if until_eof {
        io::stdin().lock().read_to_end(&mut Vec::new()).map_err(|err| err.to_string())?;
    } else {
        loop {
            std::thread::park();
        }
    }
    Ok(())
}
