//! The few things that only the operating system knows or does.
#![allow(unsafe_code)]

use gristmill_types::{Error, Kind, Result};

/// Makes the calling thread give way to the one that trains.
pub(crate) fn lower_priority() {
    #[cfg(target_os = "linux")]
    // SAFETY: setpriority takes plain numbers; 0 names the calling thread, and failure is harmless.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, 5);
    }
}

/// Page faults of the calling thread that needed no reading from a disk; 0 where the system does not tell.
pub(crate) fn page_faults() -> u64 {
    #[cfg(target_os = "linux")]
    return u64::try_from(thread_usage().ru_minflt).unwrap_or(0);
    #[cfg(not(target_os = "linux"))]
    0
}

/// How often the calling thread has given the processor away because it had to wait; where the system does not tell,
/// more often than before.
pub(crate) fn sleeps() -> u64 {
    #[cfg(target_os = "linux")]
    return u64::try_from(thread_usage().ru_nvcsw).unwrap_or(0);
    #[cfg(not(target_os = "linux"))]
    {
        static MORE: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        MORE.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    }
}

#[cfg(target_os = "linux")]
fn thread_usage() -> libc::rusage {
    // SAFETY: all zero is a valid rusage, and getrusage writes one to the address given.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    }
}

/// CPU seconds of the process so far; 0 where the system does not tell.
pub(crate) fn process_seconds() -> f64 {
    #[cfg(unix)]
    return clock(libc::CLOCK_PROCESS_CPUTIME_ID);
    #[cfg(not(unix))]
    0.0
}

/// CPU seconds of the calling thread so far; 0 where the system does not tell.
pub(crate) fn thread_seconds() -> f64 {
    #[cfg(unix)]
    return clock(libc::CLOCK_THREAD_CPUTIME_ID);
    #[cfg(not(unix))]
    0.0
}

#[cfg(unix)]
fn clock(which: libc::clockid_t) -> f64 {
    // SAFETY: all zero is a valid timespec, and clock_gettime writes one to the address given.
    let time = unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(which, &raw mut time);
        time
    };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// 64 bits from the operating system.
///
/// # Errors
/// `Unknown` if it has none to give.
pub fn entropy() -> Result<u64> {
    let mut bytes = [0; 8];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut f| std::io::Read::read_exact(&mut f, &mut bytes))
        .map_err(|e| Error::new(Kind::Unknown, format!("cannot read random numbers of the system: {e}")))?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Lets the pool of free buffers keep no more than an eighth of the memory that the process may use.
pub(crate) fn bound_free_memory() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        gristmill_types::buffer::keep_at_most(usize::try_from(memory_limit() / 8).unwrap_or(usize::MAX));
    });
}

/// Memory that the process may use in bytes: the cgroup's limit or the machine's memory.
pub(crate) fn memory_limit() -> u64 {
    static LIMIT: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *LIMIT.get_or_init(|| {
        let number = |path: &str| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
        let machine = std::fs::read_to_string("/proc/meminfo")
            .ok()
            .and_then(|text| {
                text.lines().find_map(|l| {
                    l.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
                })
            })
            .map_or(4 << 30, |kb| kb * 1024);
        ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
            .iter()
            .filter_map(|p| number(p))
            .fold(machine, u64::min)
    })
}
