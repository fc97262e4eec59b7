//! The command line: arguments, output for people, exit status.
//!
//! 0 done · 1 the answer is no · 2 bad use or input · 3 nothing to compact · 70 a defect.

mod compact;
mod doctor;
mod file;
mod input;
mod output;
mod recover;
mod report;
mod status;
mod verify;
mod watchdog;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::error::{Error, Result};
use crate::{manifest, protocol};

/// Compaction without a model for the Pi coding agent.
#[derive(Parser)]
#[command(name = "pi-stet", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Answer one event: an envelope on stdin, a reply on stdout
    Hook,
    /// Print what a compaction would give now: the checkpoint on stdout, figures on stderr
    Compact(CompactArgs),
    /// List the entries of a branch, oldest first
    List(ListArgs),
    /// Search a branch: by a regular expression, or by words that rank entries
    Grep(GrepArgs),
    /// Show entries whole
    Show(ShowArgs),
    /// Check every compaction on a branch against the raw entries
    Verify(VerifyArgs),
    /// Print what holds for a branch: method, cap, last and next compaction, what is retained
    Status(StatusArgs),
    /// Draw what happened to the context, as one page that opens in any browser
    Report(ReportArgs),
    /// Print what a host registers
    Manifest,
    /// Print the JSON Schema of the protocol's types
    Schema {
        /// Which of them
        #[arg(value_parser = protocol::schema_names())]
        name: String,
    },
    /// Check the installation and say what to do about each fault
    Doctor,
}

#[derive(Args)]
struct CompactArgs {
    /// A session file that Pi wrote (JSONL), or - for stdin
    session: PathBuf,
    /// The end of the branch [default: the file's last entry]
    #[arg(long, value_name = "ID")]
    leaf: Option<String>,
    /// The first entry that stays in the context
    #[arg(long, value_name = "ID", conflicts_with = "keep_recent_tokens")]
    first_kept: Option<String>,
    /// Let Pi's rule choose it: keep about so many tokens of recent conversation
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    keep_recent_tokens: u64,
    /// Make it of the conversation, or of the model's own checkpoint [default: as on the branch, or PI_STET_METHOD]
    #[arg(long, value_name = "METHOD", value_parser = ["verbatim", "checkpoint"])]
    method: Option<String>,
    /// Trim the conversation in the checkpoint: 25%, 80000c (characters), 20000t (tokens) or off [default: as on the branch, or PI_STET_MAX_…]
    #[arg(long, value_name = "BUDGET")]
    cap: Option<String>,
    /// The model's context window in tokens, for --cap N%
    #[arg(long, value_name = "N")]
    context_window: Option<u64>,
    /// Print {summary, firstKeptEntryId, tokensBefore, details} instead of the text
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct RecoverArgs {
    /// A session file that Pi wrote (JSONL), or - for stdin
    session: PathBuf,
    /// The end of the branch [default: the file's last entry]
    #[arg(long, value_name = "ID")]
    leaf: Option<String>,
    /// Page of the answer
    #[arg(long, value_name = "N", default_value_t = 1)]
    page: usize,
    /// Look at the record up to this entry only, so that pages stay the same
    #[arg(long, value_name = "ID")]
    through_entry: Option<String>,
    /// Print {found, page, pages, next, text}
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct ListArgs {
    #[command(flatten)]
    common: RecoverArgs,
    /// Only entries with such text: user, assistant, thinking, toolCall, toolResult, bash, custom, summary
    #[arg(long = "in", value_name = "KIND", value_delimiter = ',')]
    kinds: Vec<String>,
    /// Only calls and results of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
}

#[derive(Args)]
struct GrepArgs {
    #[command(flatten)]
    common: RecoverArgs,
    /// A regular expression (no look-around), tried line by line; newest match first, of many the most unusual
    pattern: Option<String>,
    /// Words, paths or names to rank by, in place of a pattern
    #[arg(long, value_name = "WORDS", conflicts_with = "pattern")]
    terms: Option<String>,
    /// Lines before each match
    #[arg(short = 'B', long, value_name = "N")]
    before: Option<usize>,
    /// Lines after each match
    #[arg(short = 'A', long, value_name = "N")]
    after: Option<usize>,
    /// List at most so many matches
    #[arg(long, value_name = "N")]
    max_matches: Option<usize>,
    /// Tell upper case from lower case
    #[arg(long)]
    case_sensitive: bool,
    /// Only in such text: user, assistant, thinking, toolCall, toolResult, bash, custom, summary
    #[arg(long = "in", value_name = "KIND", value_delimiter = ',')]
    kinds: Vec<String>,
    /// Only calls and results of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
}

#[derive(Args)]
struct ShowArgs {
    #[command(flatten)]
    common: RecoverArgs,
    /// One to eight entry ids
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

#[derive(Args)]
struct VerifyArgs {
    /// A session file that Pi wrote (JSONL), or - for stdin
    session: PathBuf,
    /// The end of the branch [default: the file's last entry]
    #[arg(long, value_name = "ID")]
    leaf: Option<String>,
}

#[derive(Args)]
struct StatusArgs {
    /// A session file that Pi wrote (JSONL), or - for stdin
    session: PathBuf,
    /// The end of the branch [default: the file's last entry]
    #[arg(long, value_name = "ID")]
    leaf: Option<String>,
    /// The model's context window in tokens, for a cap in per cent
    #[arg(long, value_name = "N")]
    context_window: Option<u64>,
    /// Tokens of recent conversation that a compaction keeps
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    keep_recent_tokens: u64,
}

#[derive(Args)]
struct ReportArgs {
    /// A session file that Pi wrote (JSONL), or - for stdin
    session: PathBuf,
    /// The page (HTML), or - for stdout; an earlier report is replaced, anything else never
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The end of the branch [default: the file's last entry]
    #[arg(long, value_name = "ID")]
    leaf: Option<String>,
}

/// Runs the command that the arguments name.
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return not_understood(&error),
    };
    let done = match cli.command {
        Command::Hook => return watchdog::hook(),
        Command::Compact(args) => compact::run(&args),
        Command::List(args) => recover::list(&args),
        Command::Grep(args) => recover::grep(&args),
        Command::Show(args) => recover::show(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Manifest => print_json(&manifest::manifest()),
        Command::Schema { name } => match protocol::schema(&name) {
            Some(schema) => output::stdout(schema),
            None => Err(Error::Usage(format!("no schema is named {name}"))),
        },
        Command::Doctor => doctor::run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn failed(error: &Error) -> ExitCode {
    let hint = match (error, command_asked()) {
        (Error::Usage(_), Some(command)) => {
            format!("`pi-stet {command} --help` shows its options")
        }
        _ => error.hint().to_owned(),
    };
    output::stderr(&format!("pi-stet: {}; {hint}\n", error.told()));
    ExitCode::from(error.exit_code())
}

/// The command that was meant, if the first argument is one.
fn command_asked() -> Option<String> {
    let asked = std::env::args_os().nth(1)?.into_string().ok()?;
    Cli::command().find_subcommand(&asked).map(|command| command.get_name().to_owned())
}

/// Help and version are no errors, and without a command the help is the answer. Everything else is
/// one line, like our own errors.
fn not_understood(error: &clap::Error) -> ExitCode {
    use clap::error::ErrorKind;
    let status = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => 0,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => 2,
        _ => {
            let text = error.to_string();
            let lines = text.lines().map(str::trim).take_while(|line| {
                !line.starts_with("Usage:") && !line.starts_with("For more information")
            });
            let text = lines.fold(String::new(), |text, line| match line {
                "" => text,
                _ if text.is_empty() => line.trim_start_matches("error: ").to_owned(),
                _ if line.starts_with("tip:") => format!("{text}; {line}"),
                _ => format!("{text} {line}"),
            });
            return failed(&Error::Usage(text));
        }
    };
    let _ = error.print();
    ExitCode::from(status)
}

fn print_json<T: serde::Serialize>(value: &T) -> Result<()> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Error::Defect(e.to_string()))?;
    output::stdout(&(text + "\n"))
}
