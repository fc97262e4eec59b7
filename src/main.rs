//! Arguments in, an exit status out.

use std::process::ExitCode;

fn main() -> ExitCode {
    pi_stet::cli::run()
}
