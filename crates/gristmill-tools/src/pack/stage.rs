//! The folder `.gristmill-pack` within the target, in which a data set grows, and how it becomes visible.
//!
//! Everything is written there first: the plan, then each shard under a temporary name, renamed when whole, then the
//! shard's account (size, checksum, counts), which marks it as finished. When all are finished they are renamed into
//! the target, `dataset.json` follows last, and the folder goes away. So whatever moment a process dies at:
//!
//! - before the plan is there: nothing was begun; the next run starts anew;
//! - before a shard's account is there: that shard is made again, over the old file;
//! - afterwards: its checksum is verified and it is kept;
//! - between the renames: a shard is found in the target, by the size and checksum of its account, and is kept;
//! - before `dataset.json` is there: it is written again, with the same bytes;
//! - after it: the target is complete, and the next run of the same job only removes the folder.
//!
//! A lock on a file within, which the system drops when its holder dies, keeps a second process out.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use gristmill_storage::AtomicFile;
use gristmill_types::{Error, Kind, Result};
use serde::{Deserialize, Serialize};

use super::job::Job;
use super::options::Recorded;
use super::report::shown;
use super::shard::{Finished, publish, store_error, sum, write_error};

/// The folder's name; hidden, so that no pattern for record files finds what is not finished.
pub(crate) const FOLDER: &str = ".gristmill-pack";
const PLAN: &str = "plan.json";
const LOCK: &str = "lock";
/// The description of a finished data set.
pub(crate) const DATASET: &str = "dataset.json";

/// What an unfinished job is known by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Plan {
    /// Version of gristmill: another one may encode images differently.
    gristmill: String,
    name: String,
    options: Recorded,
    files: u64,
    bytes: u64,
    listing: String,
    times: String,
    /// Whether other files may be replaced, and those of the data set that this one replaces.
    overwrite: bool,
    replaces: Vec<String>,
    created_target: bool,
}

/// The locked folder of a job.
pub(crate) struct Stage {
    target: PathBuf,
    folder: PathBuf,
    plan: Plan,
    durable: bool,
    _lock: File,
}

fn here(path: &Path) -> String {
    shown(path.as_os_str().as_encoded_bytes())
}

impl Plan {
    fn new(job: &Job, replaces: Vec<String>, created_target: bool) -> Self {
        Self {
            gristmill: env!("CARGO_PKG_VERSION").to_owned(),
            name: job.name.clone(),
            options: job.recorded.clone(),
            files: job.listing.len() as u64,
            bytes: job.listing.bytes(),
            listing: job.identity.clone(),
            times: job.listing.times(),
            overwrite: job.options.overwrite,
            replaces,
            created_target,
        }
    }

    /// What differs from an earlier plan.
    fn differences(&self, earlier: &Self) -> Vec<String> {
        let mut found = self.options.differences(&earlier.options);
        if self.name != earlier.name {
            found.push(format!("name is {}, was {}", self.name, earlier.name));
        }
        if self.gristmill != earlier.gristmill {
            found.push(format!("gristmill is {}, was {}", self.gristmill, earlier.gristmill));
        }
        if self.listing != earlier.listing {
            found.push(source_differs((self.files, self.bytes), (earlier.files, earlier.bytes)));
        } else if self.times != earlier.times {
            found.push("files of the source were modified".to_owned());
        }
        found
    }
}

/// Words for a source that is another one.
pub(crate) fn source_differs(now: (u64, u64), then: (u64, u64)) -> String {
    if now == then {
        return "names, labels or sizes of the source's files differ".to_owned();
    }
    format!("the source has {} files of {} bytes, had {} of {}", now.0, now.1, then.0, then.1)
}

/// Takes the lock of the folder; makes the folder where there is none.
fn lock(target: &Path, folder: &Path) -> Result<File> {
    let path = folder.join(LOCK);
    for _ in 0..100 {
        match fs::create_dir(folder) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(write_error(folder, &e)),
            _ => {}
        }
        let opened = File::options().create(true).truncate(false).write(true).open(&path);
        let file = match opened {
            // Another process removed the folder at its end.
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            other => other.map_err(|e| write_error(&path, &e))?,
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::new(
                    Kind::FailedPrecondition,
                    "another process is packing into this folder",
                )
                .in_file(here(target))
                .hint("wait for it to end, or choose another folder"));
            }
            // Some network file systems have no locks.
            Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(e)) => return Err(write_error(&path, &e)),
        }
        // The lock may be on a file that another process removed in between.
        if same_file(&file, &path) {
            return Ok(file);
        }
    }
    Err(Error::new(Kind::FailedPrecondition, "another process keeps packing into this folder")
        .in_file(here(target)))
}

#[cfg(unix)]
fn same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn same_file(_: &File, path: &Path) -> bool {
    path.exists()
}

fn read_json<T: for<'a> Deserialize<'a>>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

impl Stage {
    /// Makes target and folder, takes the lock, and goes on with what an earlier run of the same job left.
    ///
    /// # Errors
    /// What the system reports; `FailedPrecondition` when another process packs there or another job is unfinished;
    /// `AlreadyExists` when files would be replaced that must not be.
    pub(crate) fn open(target: &Path, job: &Job, replaces: Option<Vec<String>>) -> Result<Self> {
        let created_target = !target.exists();
        fs::create_dir_all(target).map_err(|e| write_error(target, &e))?;
        let folder = target.join(FOLDER);
        let made = (created_target, !folder.exists());
        let lock = lock(target, &folder).inspect_err(|_| {
            // Only while empty: it may be another process's.
            let _ = fs::remove_dir(&folder);
            undo(target, &folder, (created_target, false));
        })?;
        Self::begin(target, &folder, job, replaces, created_target, lock)
            .inspect_err(|_| undo(target, &folder, made))
    }

    fn begin(
        target: &Path,
        folder: &Path,
        job: &Job,
        replaces: Option<Vec<String>>,
        created_target: bool,
        lock: File,
    ) -> Result<Self> {
        let earlier: Option<Plan> = read_json(&folder.join(PLAN));
        let mut plan = Plan::new(job, replaces.clone().unwrap_or_default(), created_target);
        let mut differences = earlier.as_ref().map(|earlier| plan.differences(earlier));
        if job.options.overwrite && differences.as_ref().is_some_and(|d| !d.is_empty()) {
            differences = None;
        }
        match (&differences, earlier) {
            (Some(differences), Some(earlier)) if differences.is_empty() => {
                plan.overwrite |= earlier.overwrite;
                plan.created_target = earlier.created_target;
                plan.replaces = if plan.replaces.is_empty() { earlier.replaces } else { plan.replaces };
            }
            (Some(_), Some(_)) if replaces.is_some() => return Err(exists(&target.join(DATASET))),
            (Some(differences), _) => {
                return Err(Error::new(
                    Kind::FailedPrecondition,
                    format!(
                        "the folder holds the unfinished pack of another job: {}",
                        differences.join("; ")
                    ),
                )
                .in_file(here(target))
                .hint("run that job again to finish it; overwrite=True starts anew"));
            }
            _ => clear(folder)?,
        }
        if replaces.is_some() && !plan.overwrite {
            return Err(exists(&target.join(DATASET)));
        }
        let stage = Self {
            target: target.to_owned(),
            folder: folder.to_owned(),
            plan,
            durable: job.options.durable,
            _lock: lock,
        };
        stage.sweep(job)?;
        if differences.is_none() {
            stage.check_free(job)?;
        }
        stage.write_json(PLAN, &stage.plan)?;
        Ok(stage)
    }

    /// Where shards are written.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes what is neither plan nor finished: temporary files of killed processes.
    fn sweep(&self, job: &Job) -> Result<()> {
        let known: std::collections::BTreeSet<_> = job.shards.iter().map(|s| s.file.as_str()).collect();
        for entry in fs::read_dir(&self.folder).map_err(|e| write_error(&self.folder, &e))? {
            let entry = entry.map_err(|e| write_error(&self.folder, &e))?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_known = known.contains(name.strip_suffix(".json").unwrap_or(&name));
            if !is_known && name != PLAN && name != LOCK {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Refuses to replace files of others before any work is done.
    fn check_free(&self, job: &Job) -> Result<()> {
        let taken = job.shards.iter().map(|s| self.target.join(&s.file)).find(|path| path.exists());
        match taken {
            Some(path) if !self.plan.overwrite => Err(exists(&path)),
            _ => Ok(()),
        }
    }

    fn write_json(&self, name: &str, value: &impl Serialize) -> Result<()> {
        let path = self.folder.join(name);
        let mut text = serde_json::to_string_pretty(value).map_err(|e| Error::internal(e.to_string()))?;
        text.push('\n');
        let mut file = AtomicFile::create(path.as_os_str()).map_err(store_error)?;
        file.write_all(text.as_bytes()).map_err(|e| write_error(&path, &e))?;
        publish(file, self.durable)
    }

    /// The account of a shard that is there and whole.
    pub(crate) fn finished(&self, shard: &str) -> Option<Finished> {
        let account: Finished = read_json(&self.folder.join(format!("{shard}.json")))?;
        let whole = |folder: &Path| {
            let path = folder.join(shard);
            let size = fs::metadata(&path).ok().map(|m| m.len());
            size == Some(account.bytes) && sum(&path).is_ok_and(|s| s == (account.bytes, account.crc32c))
        };
        (account.file == shard && (whole(&self.folder) || whole(&self.target))).then_some(account)
    }

    /// Marks a shard as finished.
    pub(crate) fn account(&self, finished: &Finished) -> Result<()> {
        self.write_json(&format!("{}.json", finished.file), finished)
    }

    /// Makes everything visible: shards, then `dataset.json`; then the folder goes away.
    pub(crate) fn publish(&self, shards: &[Finished], dataset: &impl Serialize) -> Result<()> {
        let new = |name: &str| shards.iter().any(|s| s.file == name);
        let staged: Vec<_> = shards.iter().filter(|s| self.folder.join(&s.file).exists()).collect();
        if !self.plan.overwrite
            && let Some(taken) = staged.iter().map(|s| self.target.join(&s.file)).find(|path| path.exists())
        {
            return Err(exists(&taken));
        }
        if self.plan.overwrite {
            // The old description first: it must never stand beside files that are not its own.
            remove(&self.target.join(DATASET))?;
            for old in self.plan.replaces.iter().filter(|old| is_plain(old) && !new(old)) {
                remove(&self.target.join(old))?;
            }
        }
        for shard in staged {
            let to = self.target.join(&shard.file);
            fs::rename(self.folder.join(&shard.file), &to).map_err(|e| write_error(&to, &e))?;
        }
        self.write_json(DATASET, dataset)?;
        let to = self.target.join(DATASET);
        fs::rename(self.folder.join(DATASET), &to).map_err(|e| write_error(&to, &e))?;
        if self.durable {
            // The names are in place either way.
            let _ = File::open(&self.target).and_then(|folder| folder.sync_all());
        }
        self.discard()
    }

    /// Removes the folder and all that is in it.
    pub(crate) fn discard(&self) -> Result<()> {
        fs::remove_dir_all(&self.folder).map_err(|e| write_error(&self.folder, &e))
    }

    /// After an error: removes everything, also a target that this job made, unless finished shards are worth keeping.
    pub(crate) fn abandon(&self, keep: bool) -> usize {
        let accounts = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let finished =
            accounts.filter(|e| e.file_name().to_string_lossy().ends_with(".tfrecord.json")).count();
        if keep && finished > 0 {
            return finished;
        }
        // The error that led here is the one to tell.
        let _ = self.discard();
        if self.plan.created_target {
            let _ = fs::remove_dir(&self.target);
        }
        0
    }
}

/// Removes the folder of an earlier run whose data set turned out to be complete.
pub(crate) fn tidy(target: &Path) -> Result<()> {
    let folder = target.join(FOLDER);
    if folder.exists() {
        let _lock = lock(target, &folder)?;
        fs::remove_dir_all(&folder).map_err(|e| write_error(&folder, &e))?;
    }
    Ok(())
}

/// Takes back what was made before an error; what is not empty stays.
fn undo(target: &Path, folder: &Path, made: (bool, bool)) {
    if made.1 {
        let _ = fs::remove_dir_all(folder);
    }
    if made.0 {
        let _ = fs::remove_dir(target);
    }
}

fn clear(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(|e| write_error(folder, &e))? {
        let entry = entry.map_err(|e| write_error(folder, &e))?;
        if entry.file_name() != LOCK {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// Removes a file that may not be there.
fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(write_error(path, &e)),
        _ => Ok(()),
    }
}

/// Whether a name has no parts that lead elsewhere: descriptions come from files.
fn is_plain(name: &str) -> bool {
    Path::new(name).file_name().is_some_and(|file| file == name)
}

fn exists(path: &Path) -> Error {
    Error::new(Kind::AlreadyExists, format!("{} is there already", here(path)))
        .in_file(here(path))
        .hint("overwrite=True replaces it; or choose another folder")
}
