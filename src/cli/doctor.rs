//! `pi-stet doctor`: what a working installation needs, each part with its mend.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::output;
use crate::error::{Error, Result};
use crate::protocol::PROTOCOL;
use crate::text::visible_line;

/// The releases that the extension knows.
const OLDEST_PI: [u64; 2] = [0, 87];
const OLDEST_NODE: [u64; 2] = [22, 19];
/// Pi loads a good part of itself to print its version.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is larger is no settings file.
const SETTINGS_BYTES: u64 = 1 << 20;

pub fn run() -> Result<()> {
    let agent_dir = agent_dir();
    let findings = [
        binary(),
        version("node", OLDEST_NODE, "install Node.js from your package manager"),
        version("pi", OLDEST_PI, "npm install -g @earendil-works/pi-coding-agent"),
        extension(&agent_dir),
        chosen_binary(),
    ];
    let mut faults = 0;
    for finding in findings {
        match finding {
            Ok(text) => output::stdout(&format!("ok     {}\n", visible_line(&text)))?,
            Err((what, mend)) => {
                faults += 1;
                let what = visible_line(&what);
                output::stdout(&format!("fault  {what}\n       {mend}\n"))?;
            }
        }
    }
    match faults {
        0 => Ok(()),
        n => Err(Error::Faults(n)),
    }
}

type Finding = std::result::Result<String, (String, String)>;

fn binary() -> Finding {
    let path =
        std::env::current_exe().map_or_else(|_| "?".into(), |path| path.display().to_string());
    Ok(format!("binary     pi-stet {}, protocol {PROTOCOL}, {path}", env!("CARGO_PKG_VERSION")))
}

/// `program --version`, compared with the oldest release that works.
fn version(program: &str, oldest: [u64; 2], install: &str) -> Finding {
    let fault = |what: String| Err((format!("{program:<10} {what}"), install.to_owned()));
    let Some(text) = output_of(Command::new(program).arg("--version")) else {
        return fault("is not on PATH or does not answer".into());
    };
    let version = text.trim().trim_start_matches('v');
    let mut numbers = version.split('.').map_while(|part| part.parse::<u64>().ok());
    let found = [numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)];
    if found < oldest {
        return fault(format!("is {version}; {}.{} or newer is needed", oldest[0], oldest[1]));
    }
    Ok(format!("{program:<10} {version}"))
}

fn output_of(command: &mut Command) -> Option<String> {
    let mut child = command
        .env("PI_OFFLINE", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let start = Instant::now();
    while child.try_wait().ok()?.is_none() {
        if start.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let out = child.wait_with_output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).into_owned())
}

/// Pi's folder: `PI_CODING_AGENT_DIR`, else `~/.pi/agent`.
fn agent_dir() -> PathBuf {
    let given = std::env::var_os("PI_CODING_AGENT_DIR").filter(|dir| !dir.is_empty());
    given.map_or_else(
        || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".pi/agent"),
        PathBuf::from,
    )
}

/// Where Pi would load the extension from: the packages and extensions of its settings files.
fn extension(agent_dir: &Path) -> Finding {
    let places = [agent_dir.to_path_buf(), PathBuf::from(".pi")];
    for dir in &places {
        let settings = dir.join("settings.json");
        let Some(text) = small_file(&settings) else {
            continue;
        };
        let parsed: Value = serde_json::from_str(&text).map_err(|error| {
            (
                format!("extension  {} is no JSON: {error}", settings.display()),
                "mend the file".to_owned(),
            )
        })?;
        let named =
            ["packages", "extensions"].iter().flat_map(|key| parsed[*key].as_array()).flatten();
        for source in named.filter_map(source_of) {
            if let Some(text) = is_ours(&source, dir) {
                return Ok(format!("extension  {text} (named in {})", settings.display()));
            }
        }
    }
    Err((
        format!("extension  is in none of the settings of {}", agent_dir.display()),
        "pi install npm:pi-stet, or in a checkout: pi install \"$PWD/pi-extension\"".to_owned(),
    ))
}

/// The text of a settings file. The project's can be anything: a pipe, a device, without end.
fn small_file(path: &Path) -> Option<String> {
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(SETTINGS_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

/// An entry of `packages` is a text, or an object with `source`.
fn source_of(value: &Value) -> Option<String> {
    value.as_str().or_else(|| value["source"].as_str()).map(str::to_owned)
}

fn is_ours(source: &str, settings_dir: &Path) -> Option<String> {
    if let Some(package) = source.strip_prefix("npm:") {
        return (package.split('@').next() == Some(env!("CARGO_PKG_NAME")))
            .then(|| source.to_owned());
    }
    let path = settings_dir.join(source);
    let folder = if path.is_file() { path.parent()?.parent()?.to_path_buf() } else { path };
    let package = small_file(&folder.join("package.json"))?;
    let package: Value = serde_json::from_str(&package).ok()?;
    (package["name"].as_str() == Some(env!("CARGO_PKG_NAME"))).then(|| folder.display().to_string())
}

/// `PI_STET_BIN` overrules every other place; a wrong one silences us.
fn chosen_binary() -> Finding {
    let Some(path) = std::env::var_os("PI_STET_BIN").filter(|path| !path.is_empty()) else {
        return Ok("PI_STET_BIN is not set; the extension looks beside itself and on PATH".into());
    };
    let path = std::path::absolute(&path).unwrap_or_else(|_| PathBuf::from(path));
    let fault = |what: String| {
        let mend = "unset PI_STET_BIN, or set it to the pi-stet binary".to_owned();
        Err((format!("PI_STET_BIN names {}, which {what}", path.display()), mend))
    };
    if !path.is_file() {
        return fault("is no file".into());
    }
    let manifest = output_of(Command::new(&path).arg("manifest"));
    let manifest = manifest.and_then(|text| serde_json::from_str::<Value>(&text).ok());
    match manifest.map(|manifest| manifest["protocol"].clone()) {
        Some(protocol) if protocol == PROTOCOL => Ok(format!("PI_STET_BIN {}", path.display())),
        Some(Value::Number(other)) => {
            fault(format!("speaks protocol {other}; this one speaks {PROTOCOL}"))
        }
        _ => fault("prints no manifest when it is asked for one".into()),
    }
}
