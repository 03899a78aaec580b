//! The ops that are there, by name.

use crate::op::OpDef;
use gristmill_types::{Error, Kind, Result};
use std::collections::BTreeMap;
use std::sync::RwLock;

static OPS: RwLock<BTreeMap<&'static str, &'static OpDef>> = RwLock::new(BTreeMap::new());

/// Makes ops known. Registering the same op twice is harmless.
pub fn register(ops: &[&'static OpDef]) {
    let mut table = OPS.write().unwrap_or_else(std::sync::PoisonError::into_inner);
    for op in ops {
        table.insert(op.name, op);
    }
}

/// The op of that name.
///
/// # Errors
/// `Unimplemented` naming the nearest op that is there.
pub fn lookup(name: &str) -> Result<&'static OpDef> {
    let table = OPS.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    table.get(name).copied().ok_or_else(|| {
        let last = name.rsplit('.').next().unwrap_or(name);
        let near: Vec<_> = table.keys().filter(|k| k.contains(last)).take(3).copied().collect();
        let e = Error::new(Kind::Unimplemented, format!("there is no op '{name}'"));
        if near.is_empty() { e } else { e.hint(format!("near: {}", near.join(", "))) }
    })
}

/// Every op, by name.
pub fn all() -> Vec<&'static OpDef> {
    OPS.read().unwrap_or_else(std::sync::PoisonError::into_inner).values().copied().collect()
}
