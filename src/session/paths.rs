//! Paths as text: nothing here looks at a disk.

use std::borrow::Cow;

/// A path as a checkpoint shows it and file lists compare it: relative inside the working
/// directory (`.` for the directory itself), unchanged outside. Pi's `@` prefix is dropped; what
/// would be read as another path without a `./` before it has one.
pub fn relative<'p>(path: &'p str, cwd: &str) -> Cow<'p, str> {
    let path = path.strip_prefix('@').filter(|rest| !rest.is_empty()).unwrap_or(path);
    let shown = inside(path, cwd);
    let means_another = shown.starts_with('@') || (shown.starts_with('~') && path != shown);
    if means_another { Cow::Owned(format!("./{shown}")) } else { shown }
}

fn inside<'p>(path: &'p str, cwd: &str) -> Cow<'p, str> {
    let cwd_root = cwd.trim_end_matches('/');
    if path.starts_with('/') {
        let normal = normalize(path);
        if cwd_root.is_empty() {
            return normal;
        }
        return match normal.strip_prefix(&*normalize(cwd_root)) {
            Some("") => Cow::Borrowed("."),
            Some(rest) if rest.starts_with('/') => {
                let begin = normal.len() - rest.len() + 1;
                match normal {
                    Cow::Borrowed(normal) => Cow::Borrowed(&normal[begin..]),
                    Cow::Owned(normal) => Cow::Owned(normal[begin..].to_owned()),
                }
            }
            _ => normal,
        };
    }
    if path.starts_with('~') || path.is_empty() {
        return Cow::Borrowed(path);
    }
    let normal = normalize(path);
    if normal.starts_with("..") && is_absolute(cwd_root) {
        // `../x` may lead back into the directory or out of it; the absolute form tells.
        let absolute = format!("{cwd_root}/{normal}");
        return Cow::Owned(inside(&normalize(&absolute), cwd).into_owned());
    }
    normal
}

pub fn is_absolute(path: &str) -> bool {
    path.starts_with('/')
}

/// Takes out `.`, `..` and double separators, by the letters alone.
fn normalize(path: &str) -> Cow<'_, str> {
    let absolute = path.starts_with('/');
    let mut inner = path.strip_prefix('/').unwrap_or(path).split('/');
    if inner.all(|part| !matches!(part, "" | "." | "..")) {
        return Cow::Borrowed(path);
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if absolute => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    Cow::Owned(match (absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    })
}

/// The working directory as `.` in a shell command, where it stands as a path of its own or as the
/// beginning of one.
pub fn abbreviate_cwd<'c>(command: &'c str, cwd: &str) -> Cow<'c, str> {
    let cwd = cwd.trim_end_matches('/');
    if cwd.is_empty() || !command.contains(cwd) {
        return Cow::Borrowed(command);
    }
    let mut out = String::with_capacity(command.len());
    let mut rest = command;
    while let Some(at) = rest.find(cwd) {
        let (before, from) = rest.split_at(at);
        let after = &from[cwd.len()..];
        out.push_str(before);
        let starts = !out.chars().next_back().is_some_and(is_path_character);
        let ends = after.chars().next().is_none_or(|c| c == '/' || !is_path_character(c));
        out.push_str(if starts && ends { "." } else { cwd });
        rest = after;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn is_path_character(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '~' | '+' | '%' | '@' | '\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_where_they_lie_inside() {
        for (path, shown) in [
            ("/home/dev/app/src/a.rs", "src/a.rs"),
            ("/home/dev/app", "."),
            ("/home/dev/app/", "."),
            ("/home/dev/apple/a.rs", "/home/dev/apple/a.rs"),
            ("./src//a.rs", "src/a.rs"),
            ("src/../b.rs", "b.rs"),
            ("../app/src/a.rs", "src/a.rs"),
            ("../other/a.rs", "/home/dev/other/a.rs"),
            ("/etc/../etc/hosts", "/etc/hosts"),
            ("@src/a.rs", "src/a.rs"),
            // A folder of that name: `@types/a.ts` would be the file `types/a.ts` to Pi.
            ("/home/dev/app/@types/a.ts", "./@types/a.ts"),
            ("./@types/a.ts", "./@types/a.ts"),
            ("@@types/a.ts", "./@types/a.ts"),
            ("/home/dev/app/~/a.ts", "./~/a.ts"),
            ("./~/a.ts", "./~/a.ts"),
            ("~/notes.md", "~/notes.md"),
            ("", ""),
        ] {
            assert_eq!(relative(path, "/home/dev/app"), shown, "{path}");
        }
        assert_eq!(relative("/etc/hosts", "/"), "/etc/hosts");
        // A session file can name any directory; outside of one that is nowhere a path stays.
        for cwd in ["..", "../..", "a/..", "."] {
            assert_eq!(relative("../x", cwd), "../x", "{cwd}");
        }
        assert_eq!(relative("/etc/hosts", ""), "/etc/hosts");
    }

    #[test]
    fn the_working_directory_is_abbreviated_at_path_borders_only() {
        for (command, shown) in [
            ("cd /w/app && ls", "cd . && ls"),
            ("cat '/w/app/a b.txt'", "cat './a b.txt'"),
            ("ls /w/apple /x/w/app", "ls /w/apple /x/w/app"),
            ("PATH=/w/app/bin:$PATH make -C /w/app", "PATH=./bin:$PATH make -C ."),
            ("ls /w/app;pwd", "ls .;pwd"),
        ] {
            assert_eq!(abbreviate_cwd(command, "/w/app"), shown);
        }
        assert_eq!(abbreviate_cwd("ls /", "/"), "ls /");
    }
}
