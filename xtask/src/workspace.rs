//! What cargo knows of the workspace.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The output of `cargo metadata` with these further arguments.
///
/// # Errors
///
/// When cargo does not start, fails, or prints something else than its JSON.
pub(crate) fn metadata(root: &Path, arguments: &[&str]) -> Result<Value, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1"])
        .args(arguments)
        .current_dir(root)
        .output()
        .map_err(|error| format!("cargo metadata does not start: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata printed no JSON: {error}"))
}
