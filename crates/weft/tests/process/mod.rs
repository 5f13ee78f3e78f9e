//! Tests whose subject is a process: started again as a child of its own, and asked for its peak.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::Command;

/// Set for a child.
const CHILD: &str = "WEFT_TEST_CHILD";

/// Whether this process is a child.
#[allow(dead_code, reason = "tests whose children have roles ask for these")]
pub(crate) fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// This test binary, to run one test of it. Nothing tells malloc anything: opening a database does.
pub(crate) fn child(test: &str) -> Command {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]);
    child.env(CHILD, "1").env_remove("MALLOC_MMAP_THRESHOLD_").env_remove("MALLOC_ARENA_MAX");
    child
}

/// Has all of the program in memory, so that the peak beyond an empty database is of data, and not also of code that
/// ran for the first time: some 30 of 110 MiB are needed by an empty database, the rest as statements need it.
pub(crate) fn load_program() {
    const PAGE_BYTES: usize = 4096;
    let (maps, memory) = (std::fs::read_to_string("/proc/self/maps").unwrap(), File::open("/proc/self/mem").unwrap());
    let program = std::env::current_exe().unwrap();
    for line in maps.lines().filter(|line| line.ends_with(program.to_str().unwrap())) {
        let range = line.split_whitespace().next().unwrap();
        let (first, end) = range.split_once('-').unwrap();
        let [first, end] = [first, end].map(|text| u64::from_str_radix(text, 16).unwrap());
        for page in (first..end).step_by(PAGE_BYTES) {
            memory.read_exact_at(&mut [0], page).unwrap();
        }
    }
}

/// The most memory that the process had, bytes.
pub(crate) fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib << 10
}
