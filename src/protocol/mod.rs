//! The types of protocol 1, and nothing else. Names on the wire are camelCase, as Pi's are.

pub mod envelope;
pub mod manifest;
pub mod reply;

/// The version that this binary speaks.
pub const PROTOCOL: u64 = 1;

/// The published JSON Schemas by the name `pi-stet schema NAME` takes; a payload goes by its event's
/// name. They are made from the types, by a test that holds both together: what makes them would be
/// a twentieth of the binary.
const SCHEMAS: [(&str, &str); 9] = [
    ("envelope", include_str!("../../protocol/schema/envelope.schema.json")),
    ("reply", include_str!("../../protocol/schema/reply.schema.json")),
    ("manifest", include_str!("../../protocol/schema/manifest.schema.json")),
    (
        "session_before_compact",
        include_str!("../../protocol/schema/session_before_compact.schema.json"),
    ),
    ("session_compact", include_str!("../../protocol/schema/session_compact.schema.json")),
    (
        "session_compact_failed",
        include_str!("../../protocol/schema/session_compact_failed.schema.json"),
    ),
    ("context_with_system", include_str!("../../protocol/schema/context_with_system.schema.json")),
    ("command", include_str!("../../protocol/schema/command.schema.json")),
    ("tool", include_str!("../../protocol/schema/tool.schema.json")),
];

/// The names of the schemas.
pub fn schema_names() -> [&'static str; SCHEMAS.len()] {
    SCHEMAS.map(|(name, _)| name)
}

/// The JSON Schema of that name, as text.
pub fn schema(name: &str) -> Option<&'static str> {
    SCHEMAS.iter().find(|(other, _)| *other == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use schemars::{JsonSchema, schema_for};
    use snapbox::{Assert, Data, data::DataFormat};

    use super::*;

    const RENEW: &str = "SNAPSHOTS=overwrite cargo test --lib protocol";

    /// `SNAPSHOTS=overwrite` renews the files.
    #[test]
    fn schemas_are_those_of_the_types() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("protocol/schema");
        for name in schema_names() {
            let made = match name {
                "envelope" => of_type::<envelope::Envelope>(),
                "reply" => of_type::<reply::Reply>(),
                "manifest" => of_type::<manifest::Manifest>(),
                "session_before_compact" => of_type::<envelope::BeforeCompact>(),
                "session_compact" => of_type::<envelope::Compacted>(),
                "session_compact_failed" => of_type::<envelope::CompactFailed>(),
                "context_with_system" => of_type::<envelope::ContextWithSystem>(),
                "command" => of_type::<envelope::Command>(),
                "tool" => of_type::<envelope::ToolCall>(),
                other => panic!("no type is named {other}"),
            };
            let path = folder.join(format!("{name}.schema.json"));
            let there = Data::read_from(&path, Some(DataFormat::Text)).raw();
            let made = Data::text(made).raw();
            if let Err(difference) = Assert::new().action_env("SNAPSHOTS").try_eq(None, made, there)
            {
                panic!("{difference}\nIf that is meant, renew the file: {RENEW}");
            }
        }
        let files = std::fs::read_dir(folder).expect("the folder").count();
        assert_eq!(files, SCHEMAS.len(), "protocol/schema holds a file that no type has");
    }

    fn of_type<T: JsonSchema>() -> String {
        serde_json::to_string_pretty(&schema_for!(T)).expect("JSON") + "\n"
    }
}
