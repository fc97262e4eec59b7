//! What the project says of itself holds: its dependencies, the Rust it needs.

use std::fs;
use std::path::{Path, PathBuf};

fn at(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read(path: &str) -> String {
    fs::read_to_string(at(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The text of every Rust file in these folders, and below them.
fn code_in(folders: &[&str]) -> String {
    let mut folders: Vec<PathBuf> = folders.iter().map(|folder| at(folder)).collect();
    let mut code = String::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the project") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                code += &fs::read_to_string(&path).expect("a file of the project");
            }
        }
    }
    code
}

/// The dependencies of a manifest: the section, the name, whether a comment above says what for.
fn dependencies(manifest: &str) -> Vec<(&str, &str, bool)> {
    let (mut section, mut has_reason, mut found) = ("", false, Vec::new());
    for line in manifest.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        } else if line.starts_with('#') {
            has_reason = true;
            continue;
        } else if let Some((name, _)) = line.split_once(" = ")
            && section.ends_with("dependencies")
        {
            found.push((section, name, has_reason));
            // One reason may be of several crates in a row.
            continue;
        }
        has_reason = false;
    }
    found
}

/// As a path (`name::…`), or as a name in `use` and in an attribute.
fn is_named(code: &str, dependency: &str) -> bool {
    let name = dependency.replace('-', "_");
    code.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':')
        .any(|word| word.split("::").next() == Some(&name) && word != name)
        || code.contains(&format!("use {name};"))
}

#[test]
fn every_dependency_is_used_and_has_a_reason() {
    let manifest = read("Cargo.toml");
    let all = dependencies(&manifest);
    assert!(all.len() > 15, "{all:?}");
    let (of_the_crate, of_tests) =
        (code_in(&["src"]), code_in(&["src", "tests", "benches", "fuzz/targets"]));
    for (section, name, has_reason) in all {
        let code = if section.starts_with("dev-") { &of_tests } else { &of_the_crate };
        assert!(is_named(code, name), "{name} of [{section}] in Cargo.toml is used nowhere");
        assert!(has_reason, "Cargo.toml does not say what {name} is for");
    }
    let manifest = read("fuzz/Cargo.toml");
    let code = code_in(&["fuzz/targets", "fuzz/fuzz_targets"]);
    for (_, name, _) in dependencies(&manifest) {
        assert!(is_named(&code, name), "{name} of fuzz/Cargo.toml is used nowhere");
    }
    assert!(!is_named(&of_tests, "anyhow") && !is_named("let regex = 1;", "regex"));
}

#[test]
fn the_rust_that_is_needed_is_said_the_same_everywhere() {
    let manifest = read("Cargo.toml");
    let (_, version) = manifest.split_once("rust-version = \"").expect("rust-version");
    let (version, _) = version.split_once('"').expect("its end");
    for page in ["README.md", "docs/install.md"] {
        assert!(read(page).contains(&format!("Rust {version} or newer")), "{page}: {version}");
    }
}
