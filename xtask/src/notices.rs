//! The licences of everything that the wheel and the binaries are made of, as one text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::workspace::metadata;

/// Where the text lies in the workspace; it is put into the wheel from there.
const FILE: &str = "THIRD-PARTY-NOTICES.txt";
/// The crates at the top: what they are linked from is what is given away.
const SHIPPED: &[&str] = &["gristmill-python", "gristmill-cli"];
/// How the files that tell a licence begin, in small letters.
const TELLING: &[&str] = &["license", "licence", "copying", "notice", "unlicense", "copyright", "readme.ijg"];

/// A crate of others.
struct Crate {
    title: String,
    licence: String,
    folder: PathBuf,
}

/// Writes the text.
///
/// # Errors
///
/// When cargo fails or a file cannot be read or written.
pub(crate) fn write(root: &Path) -> Result<Vec<String>, String> {
    let text = text(root)?;
    let path = root.join(FILE);
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(Vec::new())
}

/// Says whether the text is the one that the dependencies ask for.
///
/// # Errors
///
/// When cargo fails or a licence cannot be read.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let found = fs::read_to_string(root.join(FILE)).unwrap_or_default();
    if found == text(root)? {
        return Ok(Vec::new());
    }
    Ok(vec![format!("{FILE} does not fit Cargo.lock: run cargo run -p xtask -- notices")])
}

fn text(root: &Path) -> Result<String, String> {
    let crates = shipped(&metadata(root, &["--locked"])?);
    let mut out = String::from(
        "gristmill is given away under MIT or Apache-2.0. It is built from the software below, whose authors\n\
         and terms are these. Made from Cargo.lock; equal texts stand once.\n\n",
    );
    let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for one in &crates {
        writeln!(out, "{}: {}", one.title, one.licence).expect("strings take all that is written");
        for text in licences(&one.folder, 3)? {
            texts.entry(text).or_default().insert(one.title.clone());
        }
    }
    let mut texts: Vec<_> = texts.into_iter().map(|(text, titles)| (titles, text)).collect();
    texts.sort();
    for (titles, text) in texts {
        let titles: Vec<_> = titles.into_iter().collect();
        write!(out, "\n{}\n{}\n\n{}\n", "-".repeat(100), titles.join(", "), text)
            .expect("strings take all that is written");
    }
    Ok(out)
}

/// Crates of others that the shipped ones are linked from, by name and version.
fn shipped(metadata: &Value) -> Vec<Crate> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages: BTreeMap<String, Value> =
        list(&metadata["packages"]).into_iter().map(|p| (text(&p["id"]), p)).collect();
    let nodes: BTreeMap<String, Value> =
        list(&metadata["resolve"]["nodes"]).into_iter().map(|n| (text(&n["id"]), n)).collect();
    let mut open: Vec<String> = packages
        .iter()
        .filter(|(_, p)| SHIPPED.contains(&text(&p["name"]).as_str()))
        .map(|(id, _)| id.clone())
        .collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        if seen.insert(id.clone()) {
            let dependencies = nodes.get(&id).map(|n| list(&n["deps"])).unwrap_or_default();
            let linked = |d: &Value| list(&d["dep_kinds"]).iter().any(|k| k["kind"].is_null());
            open.extend(dependencies.iter().filter(|d| linked(d)).map(|d| text(&d["pkg"])));
        }
    }
    let mut crates: Vec<Crate> = seen
        .iter()
        .filter_map(|id| packages.get(id))
        .filter(|p| !p["source"].is_null())
        .map(|p| Crate {
            title: format!("{} {}", text(&p["name"]), text(&p["version"])),
            licence: text(&p["license"]),
            folder: Path::new(&text(&p["manifest_path"])).parent().map(Path::to_owned).unwrap_or_default(),
        })
        .collect();
    crates.sort_by(|a, b| a.title.cmp(&b.title));
    crates
}

/// The texts of the files that tell a licence in a crate's folder and, for software that it brings along, in
/// the folders below down to a depth.
fn licences(folder: &Path, depth: usize) -> Result<Vec<String>, String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .map_err(wrong)?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<_, _>>()
        .map_err(wrong)?;
    entries.sort();
    let mut out = Vec::new();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        if path.is_dir() && depth > 1 && !name.starts_with('.') {
            out.extend(licences(&path, depth - 1)?);
        } else if path.is_file()
            && TELLING.iter().any(|t| name.starts_with(t))
            && ![".rs", ".rtf", ".html"].iter().any(|end| name.ends_with(end))
            && let Ok(text) = fs::read_to_string(&path)
        {
            out.push(text.replace("\r\n", "\n").trim().to_owned());
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_linked_from_the_shipped_crates_counts() {
        let package = |name: &str, source: Value| {
            json!({"id": name, "name": name, "version": "1.0.0", "license": "MIT", "source": source,
                   "manifest_path": format!("/x/{name}/Cargo.toml")})
        };
        let dep = |name: &str, kind: Value| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let metadata = json!({
            "packages": [package("gristmill-cli", Value::Null), package("linked", json!("registry")),
                         package("below", json!("registry")), package("tested", json!("registry")),
                         package("other", json!("registry"))],
            "resolve": {"nodes": [
                {"id": "gristmill-cli", "deps": [dep("linked", Value::Null), dep("tested", json!("dev"))]},
                {"id": "linked", "deps": [dep("below", Value::Null), dep("other", json!("build"))]},
            ]},
        });
        let titles: Vec<_> = shipped(&metadata).into_iter().map(|c| c.title).collect();
        assert_eq!(titles, ["below 1.0.0", "linked 1.0.0"]);
    }
}
