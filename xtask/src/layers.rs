//! Which crate may depend on which: lower floors never see higher ones, siblings never each other.

use std::path::Path;

use serde_json::Value;

use crate::workspace::metadata;

/// Each crate with the crates of this workspace that it may use. A crate that is not listed is an error, so that
/// every new one gets its place here.
const ALLOWED: &[(&str, &[&str])] = &[
    ("gristmill-types", &[]),
    ("gristmill-record", &["gristmill-types"]),
    ("gristmill-example", &["gristmill-types"]),
    ("gristmill-storage", &["gristmill-types"]),
    ("gristmill-jpeg", &[]),
    ("gristmill-image", &["gristmill-types", "gristmill-jpeg"]),
    ("gristmill-plan", &["gristmill-types"]),
    (
        "gristmill-ops",
        &["gristmill-types", "gristmill-example", "gristmill-storage", "gristmill-image", "gristmill-plan"],
    ),
    ("gristmill-runtime", &["gristmill-types", "gristmill-record", "gristmill-storage", "gristmill-plan"]),
    (
        "gristmill-tools",
        &["gristmill-types", "gristmill-record", "gristmill-example", "gristmill-storage", "gristmill-image"],
    ),
    ("gristmill", BELOW_FACADE),
    ("gristmill-interop", BELOW_FACADE),
    ("gristmill-cli", &["gristmill", "gristmill-tools", "gristmill-types"]),
    ("gristmill-python", &["gristmill", "gristmill-tools", "gristmill-cli", "gristmill-types"]),
    ("gristmill-testkit", BELOW_TESTKIT),
    ("gristmill-bench", BELOW_TESTKIT),
    ("xtask", &[]),
];

const BELOW_FACADE: &[&str] = &[
    "gristmill-types",
    "gristmill-record",
    "gristmill-example",
    "gristmill-storage",
    "gristmill-image",
    "gristmill-plan",
    "gristmill-ops",
    "gristmill-runtime",
];

const BELOW_TESTKIT: &[&str] = &[
    "gristmill-types",
    "gristmill-record",
    "gristmill-example",
    "gristmill-storage",
    "gristmill-image",
    "gristmill-plan",
    "gristmill-ops",
    "gristmill-runtime",
    "gristmill",
];

/// Crates of others that one floor keeps to itself.
const RESERVED: &[(&str, &str)] = &[
    ("pyo3", "gristmill-python"),
    ("numpy", "gristmill-python"),
    ("tokio", "gristmill-storage"),
    ("object_store", "gristmill-storage"),
    ("clap", "gristmill-cli"),
    ("turbojpeg-sys", "gristmill-image"),
];

/// Crates at the top, on which not even tests may depend.
const TOP: &[&str] = &["gristmill-cli", "gristmill-python", "xtask"];

/// Says which dependencies of the workspace at `root` break the floors.
///
/// # Errors
///
/// When `cargo metadata` fails or prints something else than its JSON.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let metadata = metadata(root, &["--no-deps"])?;
    Ok(broken(&metadata))
}

/// The broken floors in the output of `cargo metadata`, one sentence each.
fn broken(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    let mut problems = Vec::new();
    for package in packages {
        let name = text(&package["name"]);
        let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| *known == name) else {
            problems.push(format!("{name} has no floor: give it one in xtask/src/layers.rs"));
            continue;
        };
        let dependencies = package["dependencies"].as_array().map_or(&[][..], Vec::as_slice);
        for dependency in dependencies {
            let used = text(&dependency["name"]);
            let for_tests = dependency["kind"] == "dev";
            if let Some(problem) = judge(name, allowed, used, for_tests) {
                problems.push(problem);
            }
        }
    }
    problems
}

/// What is wrong with `name` using `used`, if anything.
fn judge(name: &str, allowed: &[&str], used: &str, for_tests: bool) -> Option<String> {
    if let Some((_, owner)) = RESERVED.iter().find(|(reserved, _)| *reserved == used) {
        return (*owner != name).then(|| format!("{name} uses {used}, which belongs to {owner} alone"));
    }
    if !ALLOWED.iter().any(|(known, _)| *known == used) {
        return None;
    }
    if for_tests {
        return TOP.contains(&used).then(|| format!("tests of {name} use {used}, which is at the top"));
    }
    (!allowed.contains(&used)).then(|| format!("{name} uses {used}, it may use only {allowed:?}"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn workspace(name: &str, dependency: &str, kind: Option<&str>) -> Value {
        json!({"packages": [{"name": name, "dependencies": [{"name": dependency, "kind": kind}]}]})
    }

    #[test]
    fn lower_floors_and_siblings_are_closed() {
        for (name, used) in [
            ("gristmill-types", "gristmill-record"),
            ("gristmill-record", "gristmill-storage"),
            ("gristmill-ops", "gristmill-runtime"),
            ("gristmill-runtime", "gristmill-ops"),
            ("gristmill-cli", "gristmill-runtime"),
            ("gristmill", "gristmill-testkit"),
        ] {
            let problems = broken(&workspace(name, used, None));
            assert_eq!(problems.len(), 1, "{name} -> {used}");
            assert!(problems[0].starts_with(&format!("{name} uses {used}")), "{problems:?}");
        }
    }

    #[test]
    fn floors_below_are_open() {
        assert!(broken(&workspace("gristmill-ops", "gristmill-plan", None)).is_empty());
        assert!(broken(&workspace("gristmill-python", "gristmill", None)).is_empty());
        assert!(broken(&workspace("gristmill-plan", "half", None)).is_empty());
    }

    #[test]
    fn tests_may_look_up_but_not_to_the_top() {
        assert!(broken(&workspace("gristmill-plan", "gristmill-testkit", Some("dev"))).is_empty());
        assert_eq!(broken(&workspace("gristmill-plan", "gristmill-cli", Some("dev"))).len(), 1);
        assert_eq!(broken(&workspace("gristmill-plan", "gristmill-testkit", Some("build"))).len(), 1);
    }

    #[test]
    fn reserved_crates_and_unknown_members_are_told() {
        assert_eq!(
            broken(&workspace("gristmill-plan", "tokio", None)),
            ["gristmill-plan uses tokio, which belongs to gristmill-storage alone"]
        );
        assert!(broken(&workspace("gristmill-new", "half", None))[0].contains("has no floor"));
    }

    #[test]
    fn every_allowed_crate_is_a_crate_with_a_floor() {
        for (name, allowed) in ALLOWED {
            for used in *allowed {
                assert!(ALLOWED.iter().any(|(known, _)| known == used), "{name} lists {used}");
            }
        }
    }
}
