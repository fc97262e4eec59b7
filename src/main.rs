//! Arguments in, an exit status out.

use std::process::ExitCode;

// The part of GCC's runtime that unwinds: inside of the binary, each start has one library less to load.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[link(name = "gcc_eh", kind = "static", modifiers = "-bundle")]
unsafe extern "C" {}

fn main() -> ExitCode {
    pi_stet::cli::run()
}
