//! Giving freed memory back to the system.
#![allow(unsafe_code)]

/// Gives back what the allocator keeps of memory that was freed: glibc keeps up to 64 MB for every thread, which many
/// threads with large images would add up to gigabytes.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn release() {
    // SAFETY: the function has no preconditions and may be called from any thread.
    unsafe { libc::malloc_trim(0) };
}

/// Gives back what the allocator keeps of memory that was freed; other allocators do so themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn release() {}
