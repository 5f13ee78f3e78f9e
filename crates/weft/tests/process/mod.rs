//! Tests whose subject is a process: started again as a child that gives freed memory back, and asked for its peak.

use std::process::Command;

/// This test binary, to run one test of it, with the settings of malloc that the shell has under a memory limit.
pub(crate) fn child(test: &str) -> Command {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]);
    child.env("MALLOC_MMAP_THRESHOLD_", "131072").env("MALLOC_ARENA_MAX", "2");
    child
}

/// The most memory that the process had, bytes.
pub(crate) fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib << 10
}
