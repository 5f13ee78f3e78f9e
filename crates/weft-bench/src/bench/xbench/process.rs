//! What this process takes from the machine: memory and processor time, as Linux tells.

use std::time::Duration;

use crate::subcommand::Failure;

fn read(path: &str) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure::io(format!("cannot read {path}"), &error))
}

/// Bytes of memory that the process has now.
pub(super) fn resident_bytes() -> Result<u64, Failure> {
    let text = read("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.map(|kib| kib << 10).ok_or_else(|| Failure::Other("/proc/self/status tells no VmRSS".into()))
}

/// Processor time that all threads of the process took so far.
pub(super) fn processor_time() -> Result<Duration, Failure> {
    let text = read("/proc/self/stat")?;
    // The name in parentheses may have blanks; user and system time are the 12th and 13th field after it.
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: Option<u64> =
        fields.get(11..13).and_then(|both| both.iter().map(|field| field.parse::<u64>().ok()).sum());
    // SAFETY: sysconf reads a constant of the system.
    let per_second = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).unwrap_or(100).max(1);
    ticks
        .map(|ticks| Duration::from_micros(ticks * 1_000_000 / per_second))
        .ok_or_else(|| Failure::Other("/proc/self/stat tells no times".into()))
}
