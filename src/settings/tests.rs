use super::*;

fn with(variables: &[(&str, &str)], given: Value) -> Settings {
    let environment = |name: &str| {
        variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    };
    let given = given.as_object().cloned().unwrap();
    Settings::resolve(&Sources { given: &given, environment: &environment }, None).unwrap()
}

#[test]
fn characters_beat_the_percentage_and_the_envelope_beats_both() {
    let both = [("PI_STET_MAX_SUMMARY_CHARS", "9000"), ("PI_STET_MAX_SUMMARY_PERCENT", "30")];
    assert_eq!(with(&both, json!({})).cap.budget, Budget::Chars(9000));
    let cap = json!({"cap": {"mode": "on", "budget": {"unit": "tokens", "value": 5}}});
    assert_eq!(with(&both, cap).cap.to_string(), "on 5t");
}

#[test]
fn names_of_the_older_extension_are_taken_and_ours_win() {
    let older = [("MECH_COMPACT_MAX_SUMMARY_PERCENT", "12.5")];
    assert_eq!(with(&older, json!({})).cap.budget, Budget::Percent(12.5));
    let both =
        [("MECH_COMPACT_MAX_SUMMARY_PERCENT", "12.5"), ("PI_STET_MAX_SUMMARY_PERCENT", "30")];
    assert_eq!(with(&both, json!({})).cap.budget, Budget::Percent(30.0));
}

#[test]
fn an_age_has_a_unit() {
    for (text, seconds) in [("90s", 90), ("45m", 2700), ("12h", 43_200), ("2d", 172_800)] {
        let settings = with(&[("PI_STET_CHECKPOINT_MAX_AGE", text)], json!({}));
        assert_eq!((settings.checkpoint_max_age_seconds, settings.problems.len()), (seconds, 0));
    }
    for bad in ["12", "h", "-1h", "1.5h", "1w", "99999999999999999999d", "1h30m"] {
        let settings = with(&[("PI_STET_CHECKPOINT_MAX_AGE", bad)], json!({}));
        assert_eq!((settings.checkpoint_max_age_seconds, settings.problems.len()), (43_200, 1));
    }
}

#[test]
fn a_checkpoint_is_kept_in_its_method_and_where_it_is_switched_on() {
    for (method, on, keeps) in [
        ("checkpoint", false, true),
        ("checkpoint", true, true),
        ("verbatim", false, false),
        ("verbatim", true, true),
        ("summary", true, false),
    ] {
        let settings = with(&[], json!({ "method": method, "checkpoint": on }));
        assert_eq!(settings.keeps_checkpoint(), keeps, "{method} {on}");
    }
}

#[test]
fn a_bad_value_is_named_once_and_the_default_used() {
    for bad in ["0", "-1", "100.1", "words", "Infinity", "25%", "NaN"] {
        let settings = with(&[("PI_STET_MAX_SUMMARY_PERCENT", bad)], json!({}));
        assert_eq!(settings.cap, Cap::default(), "{bad}");
        assert_eq!(settings.problems.len(), 1, "{bad}");
    }
    for bad in ["80000abc", "1e5", "-5", "0", "1.5"] {
        let settings = with(&[("PI_STET_MAX_SUMMARY_CHARS", bad)], json!({}));
        assert_eq!(settings.cap, Cap::default(), "{bad}");
        assert_eq!(settings.problems.len(), 1, "{bad}");
    }
    let settings = with(&[("PI_STET_METHOD", "magic")], json!({"cap": 5, "method": "none"}));
    assert_eq!((settings.method, settings.problems.len()), (Method::Verbatim, 3));
}
