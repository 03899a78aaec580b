//! Patterns over paths, by the rules of TensorFlow's `gfile.glob` and `list_files`.
//!
//! `*` matches any run of characters but `/`, hidden names too; `**` is no more than `*`; `?` one
//! character; `[abc]`, `[a-z]`, `[!a]` one of a set; a backslash takes the next character literally;
//! `{a,b}` means itself. Names are bytes; a character is a UTF-8 sequence, or a byte that is in none.
//! The result is sorted by bytes. A relative pattern whose first part has a wildcard gives paths that
//! begin with `./`.

use std::ffi::{OsStr, OsString};

use crate::error::{Result, StoreErrorKind};
use crate::store::{Store, from_bytes, join, sort_by_bytes};

/// Whether a path has characters that mean something in a pattern.
pub fn is_pattern(path: &OsStr) -> bool {
    path.as_encoded_bytes().iter().any(is_special)
}

fn is_special(byte: &u8) -> bool {
    matches!(byte, b'*' | b'?' | b'[' | b'\\')
}

/// Takes index files out of what a pattern found, unless the pattern itself speaks of `.idx`.
pub fn hide_indexes(pattern: &OsStr, paths: &mut Vec<OsString>) {
    let names_them = pattern.as_encoded_bytes().windows(4).any(|w| w == b".idx");
    if !names_them {
        paths.retain(|path| !path.as_encoded_bytes().ends_with(b".idx"));
    }
}

/// The default of [`Store::glob`]: walks down from the part of the pattern before its first wildcard.
pub(crate) fn glob<S: Store + ?Sized>(store: &S, pattern: &OsStr) -> Result<Vec<OsString>> {
    let bytes = pattern.as_encoded_bytes();
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let first = bytes.iter().position(is_special).unwrap_or(bytes.len());
    let base_end = bytes[..first].iter().rposition(|&b| b == b'/').map_or(0, |at| at + 1);
    let (base, rest) = bytes.split_at(base_end);
    let mut parts: Vec<&[u8]> = rest.split(|&b| b == b'/').filter(|p| !p.is_empty()).collect();
    let dirs_only = bytes.ends_with(b"/");
    let base = if base.is_empty() { &b"./"[..] } else { base };
    let Some(last) = parts.pop() else {
        let found = store.exists(pattern);
        return Ok(found.then(|| pattern.to_owned()).into_iter().collect());
    };
    let mut directories = vec![from_bytes(base)];
    for part in parts {
        let mut below = Vec::new();
        for directory in &directories {
            expand(store, directory, part, true, &mut below)?;
        }
        directories = below;
    }
    let mut found = Vec::new();
    for directory in &directories {
        expand(store, directory, last, dirs_only, &mut found)?;
    }
    sort_by_bytes(&mut found);
    Ok(found)
}

/// Appends what one part of a pattern matches in one directory.
fn expand<S: Store + ?Sized>(
    store: &S,
    directory: &OsStr,
    part: &[u8],
    dirs_only: bool,
    found: &mut Vec<OsString>,
) -> Result<()> {
    if !part.iter().any(is_special) {
        let path = join(directory, &from_bytes(part));
        if store.stat(&path).is_ok_and(|stat| stat.is_dir || !dirs_only) {
            found.push(path);
        }
        return Ok(());
    }
    let entries = match store.list_dir(directory) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind, StoreErrorKind::NotFound | StoreErrorKind::NotDirectory) => {
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    for entry in entries {
        if (entry.is_dir || !dirs_only) && matches(part, entry.name.as_encoded_bytes()) {
            found.push(join(directory, &entry.name));
        }
    }
    Ok(())
}

/// Whether a name (without `/`) matches one part of a pattern. At most `pattern * name` steps.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    // Where to go on when a guess of what the last star took was wrong.
    let mut retry: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&b'*') {
            p += 1;
            retry = Some((p, n));
            continue;
        }
        if let Some(next) = match_one(&pattern[p..], &name[n..]) {
            p += next.0;
            n += next.1;
            continue;
        }
        let Some((after_star, taken)) = retry else {
            return false;
        };
        let longer = taken + first_char(&name[taken..]).1;
        retry = Some((after_star, longer));
        (p, n) = (after_star, longer);
    }
    pattern[p..].iter().all(|&b| b == b'*')
}

/// Matches the first character of a name that is not empty; gives the bytes used of both.
fn match_one(pattern: &[u8], name: &[u8]) -> Option<(usize, usize)> {
    let (wanted, used) = first_char(name);
    match *pattern.first()? {
        b'?' => Some((1, used)),
        b'[' => match match_set(pattern, wanted) {
            Some((true, length)) => Some((length, used)),
            Some((false, _)) => None,
            // Never closed: a bracket like any other character.
            None => (wanted == u32::from(b'[')).then_some((1, used)),
        },
        b'\\' if pattern.len() > 1 => {
            let (literal, length) = first_char(&pattern[1..]);
            (literal == wanted).then_some((1 + length, used))
        }
        _ => {
            let (literal, length) = first_char(pattern);
            (literal == wanted).then_some((length, used))
        }
    }
}

/// Whether the set at the beginning of a pattern holds a character, and the bytes of the set; `None`
/// when the set is not closed.
fn match_set(pattern: &[u8], wanted: u32) -> Option<(bool, usize)> {
    let negated = matches!(pattern.get(1), Some(b'!' | b'^'));
    let start = if negated { 2 } else { 1 };
    let mut at = start;
    let mut held = false;
    let one = |at: &mut usize| {
        if pattern.get(*at) == Some(&b'\\') && *at + 1 < pattern.len() {
            *at += 1;
        }
        let rest = pattern.get(*at..).filter(|rest| !rest.is_empty())?;
        let (char, length) = first_char(rest);
        *at += length;
        Some(char)
    };
    loop {
        if *pattern.get(at)? == b']' && at > start {
            return Some((held != negated, at + 1));
        }
        let low = one(&mut at)?;
        let mut high = low;
        if pattern.get(at) == Some(&b'-') && pattern.get(at + 1).is_some_and(|&b| b != b']') {
            at += 1;
            high = one(&mut at)?;
        }
        held |= (low..=high).contains(&wanted);
    }
}

/// The first character of bytes that are not empty, and its length in bytes. A byte that is part of no
/// UTF-8 sequence counts as a character of its own, beyond all others.
fn first_char(bytes: &[u8]) -> (u32, usize) {
    let first = bytes[0];
    let length = match first {
        0..0x80 => return (u32::from(first), 1),
        0xc2..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf5 => 4,
        _ => 1,
    };
    let text = bytes.get(..length).and_then(|bytes| std::str::from_utf8(bytes).ok());
    match text.and_then(|text| text.chars().next()) {
        Some(char) => (u32::from(char), length),
        None => (0x11_0000 + u32::from(first), 1),
    }
}

#[cfg(test)]
mod tests;
