//! Memory that was freed goes back to the system.
//!
//! ```text
//!   60 databases, one after the other     nothing of the last one is in use, and the process has
//!     left to malloc       77 MiB         pages between blocks that were freed at other times
//!     given back           6 MiB
//! ```
//!
//! glibc keeps freed blocks for later, in heaps whose pages it returns from the end only: up to eight heaps for each
//! core, and it raises the size from which blocks are mapped, and so returned, one by one. Two settings of the process
//! keep that small: blocks from 128 KiB on are always mapped by themselves, and there are few heaps
//! ([`keep_little_freed_memory`]). After much was freed at once, as when a database is closed, the pages in between can
//! be returned as well ([`return_freed_memory`]), and while one works ([`FreedMemory`]). Other C libraries see to that
//! by themselves, and a program with an allocator of its own has little in glibc's.

mod watch;

pub use watch::FreedMemory;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    use std::sync::OnceLock;

    /// Blocks from this size on are mapped one by one, bytes.
    const MMAP_THRESHOLD_BYTES: libc::c_int = 128 << 10;
    /// Heaps: one for so many cores, and within these bounds.
    const HEAP_CORES: usize = 2;
    const HEAPS_MIN: usize = 2;
    const HEAPS_MAX: usize = 8;

    /// Returns whole pages of freed memory, of all threads' heaps; some milliseconds.
    pub(super) fn trim() {
        // SAFETY: a function of the allocator itself, which any thread may call at any time.
        unsafe { libc::malloc_trim(0) };
    }

    /// Whether somebody else has decided: the variables that glibc reads when a process begins.
    fn is_decided(variable: &str) -> bool {
        let tunables = std::env::var_os("GLIBC_TUNABLES");
        let by_tunables = tunables.is_some_and(|text| text.to_string_lossy().contains("glibc.malloc."));
        by_tunables || std::env::var_os(variable).is_some()
    }

    pub(super) fn keep_little() {
        static ONCE: OnceLock<()> = OnceLock::new();
        ONCE.get_or_init(|| {
            let cores = std::thread::available_parallelism().map_or(HEAPS_MIN, usize::from);
            let heaps = (cores / HEAP_CORES).clamp(HEAPS_MIN, HEAPS_MAX) as libc::c_int;
            let settings = [
                ("MALLOC_MMAP_THRESHOLD_", libc::M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES),
                ("MALLOC_ARENA_MAX", libc::M_ARENA_MAX, heaps),
            ];
            for (variable, parameter, value) in settings {
                if !is_decided(variable) {
                    // SAFETY: a function of the allocator itself; it takes its own locks.
                    unsafe { libc::mallopt(parameter, value) };
                }
            }
        });
    }
}

/// Whether the C library is one that is told here.
fn is_ours() -> bool {
    cfg!(all(target_os = "linux", target_env = "gnu"))
}

/// Returns whole pages of freed memory, of all threads' heaps; some milliseconds.
pub fn return_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    glibc::trim();
}

/// From now on the process keeps little of what is freed, where the C library is glibc and neither `MALLOC_` variables
/// nor `GLIBC_TUNABLES` say otherwise. It holds for the whole process and cannot be taken back, so only who begins one
/// may call it: programs, and whoever opens a database with the option for it on. Heaps that threads have by then stay
/// theirs; called before threads are started it bounds them all. Called again it does nothing.
pub fn keep_little_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    glibc::keep_little();
}
