//! The simulation's trace as scripts show it: what changes the disk, and the named steps.
//!
//! ```text
//!   12000 main write db/log-0 512 64        write log-0 512 64
//!   13000 main lock                         (left out: as are reads, waits and times)
//!   14000 b step commit: durable            [b] -- commit: durable
//! ```
//!
//! Writes that continue each other are one line: `write log-0 576 130496 (2 writes)`. A file goes by its present name;
//! the simulation's trace has the one with which it was opened.

use std::collections::HashMap;

use crate::tables::DIR;

const SHOWN: [&str; 8] = ["write", "set_len", "sync_data", "create", "rename", "remove", "create_dir_all", "sync_dir"];

/// The lines worth showing of those from `seen` on; the ones before tell the names of files.
pub(super) fn shown(trace: &[String], seen: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut last: Option<Write> = None;
    let mut renamed: HashMap<String, String> = HashMap::new();
    for (number, line) in trace.iter().enumerate() {
        let Some(mut event) = Event::parse(line) else { continue };
        event.note_names(&mut renamed);
        if number < seen {
            continue;
        }
        let write = event.write();
        if let (Some(before), Some(next)) = (&mut last, &write)
            && before.continued_by(next)
        {
            before.bytes += next.bytes;
            before.count += 1;
            *lines.last_mut().expect("a write was shown before") = before.show();
            continue;
        }
        lines.push(write.as_ref().map_or_else(|| event.show(), Write::show));
        last = write;
    }
    lines
}

struct Event<'a> {
    thread: &'a str,
    name: &'a str,
    /// Paths without the directory, numbers, or the name of a step.
    rest: String,
}

struct Write {
    prefix: String,
    path: String,
    offset: u64,
    bytes: u64,
    count: u64,
}

impl<'a> Event<'a> {
    /// `12000 main write db/log-0 512 64`; none when it is not shown. Threads of scripts have names without spaces.
    fn parse(line: &'a str) -> Option<Event<'a>> {
        let (_, line) = line.split_once(' ')?;
        let (thread, line) = line.split_once(' ')?;
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        if name == "step" {
            return Some(Event { thread, name, rest: rest.trim_start_matches(STEP_PREFIX).to_owned() });
        }
        // "write lock" is a lock.
        let shown = SHOWN.contains(&name) && !(name == "write" && rest == "lock");
        shown.then(|| Event { thread, name, rest: rest.replace(&format!("{DIR}/"), "") })
    }

    /// Calls the file by its present name: what is done by a handle tells of the name that it was opened with.
    fn note_names(&mut self, renamed: &mut HashMap<String, String>) {
        if self.name == "step" {
            return;
        }
        if let Some((from, to)) = self.rest.split_once(" to ").filter(|_| self.name == "rename") {
            renamed.values_mut().filter(|name| *name == from).for_each(|name| to.clone_into(name));
            renamed.insert(from.to_owned(), to.to_owned());
            return;
        }
        let (path, numbers) = self.rest.split_once(' ').unwrap_or((&self.rest, ""));
        if self.name == "create" {
            renamed.remove(path);
        } else if matches!(self.name, "write" | "set_len" | "sync_data")
            && let Some(name) = renamed.get(path)
        {
            self.rest = format!("{name} {numbers}");
        }
    }

    fn prefix(&self) -> String {
        if self.thread == "main" { String::new() } else { format!("[{}] ", self.thread) }
    }

    fn show(&self) -> String {
        let name = if self.name == "step" { "--" } else { self.name };
        format!("{}{name} {}", self.prefix(), self.rest).trim_end().to_owned()
    }

    fn write(&self) -> Option<Write> {
        let mut words = self.rest.split(' ');
        let path = words.next().filter(|_| self.name == "write")?.to_owned();
        let offset = words.next()?.parse().ok()?;
        Some(Write { prefix: self.prefix(), path, offset, bytes: words.next()?.parse().ok()?, count: 1 })
    }
}

impl Write {
    fn continued_by(&self, next: &Write) -> bool {
        self.prefix == next.prefix && self.path == next.path && self.offset + self.bytes == next.offset
    }

    fn show(&self) -> String {
        let Write { prefix, path, offset, bytes, count } = self;
        let count = if *count > 1 { format!(" ({count} writes)") } else { String::new() };
        format!("{prefix}write {path} {offset} {bytes}{count}")
    }
}

/// Before the names of steps that scripts themselves make.
pub(super) const STEP_PREFIX: &str = "golden: ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_the_disk_is_shown() {
        let trace = [
            "1 main lock",
            "2 main write db/log-0 512 64",
            "3 main read db/log-0 0 9",
            "4 main write db/log-0 576 100",
            "5 main write db/log-0 999 1",
            "6 b step golden: acknowledged",
            "7 b rename db/a.tmp to db/a",
            "8 main sync_dir db",
            "9 main write lock",
            "10 main sync_data db/a.tmp",
        ];
        let trace: Vec<String> = trace.iter().map(|line| (*line).to_owned()).collect();
        let expected = [
            "write log-0 512 164 (2 writes)",
            "write log-0 999 1",
            "[b] -- acknowledged",
            "[b] rename a.tmp to a",
            "sync_dir db",
            "sync_data a",
        ];
        assert_eq!(shown(&trace, 0), expected);
        assert_eq!(shown(&trace, 8), ["sync_data a"]);
    }
}
