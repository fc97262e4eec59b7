//! Which files the tools read and changed, as their calls say. Pi looks at the same calls: `read`,
//! `write` and `edit` with a `path`, those that scripts made inside a tool included.

use super::paths;
use crate::json::Fields;
use crate::session::{NestedCall, ToolCall};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Read,
    Write,
    Edit,
}

impl Operation {
    pub fn of_tool(name: &str) -> Option<Operation> {
        match name {
            "read" => Some(Operation::Read),
            "write" => Some(Operation::Write),
            "edit" => Some(Operation::Edit),
            _ => None,
        }
    }

    pub fn changes_the_file(self) -> bool {
        self != Operation::Read
    }
}

/// An operation with what its call and its result say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileOperation {
    pub operation: Operation,
    /// Relative to the working directory where it lies inside.
    pub path: String,
    /// The entry that holds the call.
    pub entry: String,
    /// The call's result says that it failed.
    pub failed: bool,
}

/// The file that a call names, as a path relative to the working directory where it lies inside.
pub fn of_call(call: &ToolCall, cwd: &str) -> Option<(Operation, String)> {
    Operation::of_tool(&call.name)?;
    of_arguments(&call.name, &Fields::parse(&call.arguments)?, cwd)
}

/// The same where the arguments were read already.
pub fn of_arguments(tool: &str, arguments: &Fields, cwd: &str) -> Option<(Operation, String)> {
    let operation = Operation::of_tool(tool)?;
    let path = arguments.text("path").filter(|path| !path.is_empty())?;
    Some((operation, paths::relative(&path, cwd).into_owned()))
}

pub fn of_nested_call(call: &NestedCall, cwd: &str) -> Option<(Operation, String)> {
    let operation = Operation::of_tool(&call.name)?;
    let path = call.path.as_deref().filter(|path| !path.is_empty())?;
    Some((operation, paths::relative(path, cwd).into_owned()))
}
