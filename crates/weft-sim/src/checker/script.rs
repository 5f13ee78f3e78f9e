//! Histories as text, for examples and tests: one step a line, in the order in which the steps happened.
//!
//! ```text
//!   T1 begin rc | rr | ser      T1 commit      T1 commit 17 (its timestamp)      T1 abort      T1 unknown
//!   T1 l5+31                    append 31 to list 5
//!   T1 l5=[31,32]               read list 5
//!   T1 r7.0:=9                  write register 7, column 0
//!   T1 r7.0=9    T1 r7.0=nil    read it
//!   T1 l1..9=[5,7]              the range 1 to 9 of lists held exactly the keys 5 and 7; their reads follow
//!   T1 r1..9.0=[7]              the same for a column of registers
//!   T1 savepoint    T1 rollback to    (the last one)
//! ```
//!
//! Empty lines and what follows `#` do not count.

use std::collections::BTreeMap;

use super::history::{History, Level, Op};
use super::recorder::{Recorder, Savepoint, Sequence};

/// The history that a script describes, or the line that cannot be read.
pub fn parse(script: &str) -> Result<History, String> {
    let sequence = Sequence::default();
    let mut clients: BTreeMap<u32, (Recorder, Option<Savepoint>)> = BTreeMap::new();
    for (number, line) in script.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let complaint = || format!("line {}: \"{line}\" is no step; see the forms in checker/script.rs", number + 1);
        let (name, step) = line.split_once(' ').ok_or_else(complaint)?;
        let client: u32 = name.strip_prefix('T').and_then(|id| id.parse().ok()).ok_or_else(complaint)?;
        let (recorder, savepoint) = clients.entry(client).or_insert_with(|| (sequence.recorder(client), None));
        take(recorder, savepoint, step.trim()).ok_or_else(complaint)?;
    }
    Ok(Sequence::merge(clients.into_values().map(|client| client.0)))
}

fn take(recorder: &mut Recorder, savepoint: &mut Option<Savepoint>, step: &str) -> Option<()> {
    if let Some(level) = step.strip_prefix("begin ") {
        let level = match level.trim() {
            "rc" => Level::ReadCommitted,
            "rr" => Level::RepeatableRead,
            "ser" => Level::Serializable,
            _ => return None,
        };
        return (!recorder.is_open()).then(|| recorder.begin(level));
    }
    if !recorder.is_open() {
        return None;
    }
    match step {
        "commit" => recorder.commit(None),
        "abort" => recorder.abort(),
        "unknown" => recorder.unknown(),
        "savepoint" => *savepoint = Some(recorder.savepoint()),
        "rollback to" => recorder.rollback_to(savepoint.take()?),
        _ => match step.strip_prefix("commit ") {
            Some(ts) => recorder.commit(Some(ts.trim().parse().ok()?)),
            None => operation(recorder, step)?,
        },
    }
    Some(())
}

fn operation(recorder: &mut Recorder, step: &str) -> Option<()> {
    if let Some((place, value)) = step.split_once(":=") {
        let (key, column) = register(place)?;
        recorder.write_register(key, column, value.trim().parse().ok()?);
    } else if let Some((place, value)) = step.split_once('=') {
        read(recorder, place.trim(), value.trim())?;
    } else {
        let (key, element) = step.strip_prefix('l')?.split_once('+')?;
        recorder.append(key.parse().ok()?, element.trim().parse().ok()?);
    }
    Some(())
}

fn read(recorder: &mut Recorder, place: &str, value: &str) -> Option<()> {
    if let Some((low, rest)) = place.split_once("..") {
        let keys = list(value)?;
        let low_key = low.get(1..)?.parse().ok()?;
        let (high, column) = match rest.split_once('.') {
            Some((high, column)) => (high.parse().ok()?, Some(column.parse().ok()?)),
            None => (rest.parse().ok()?, None),
        };
        (low.starts_with('r') == column.is_some()).then_some(())?;
        recorder.push(Op::ReadRange { low: low_key, high, column, keys: &keys });
    } else if let Some(key) = place.strip_prefix('l') {
        recorder.read_list(key.parse().ok()?, &list(value)?);
    } else {
        let (key, column) = register(place)?;
        let value = if value == "nil" { None } else { Some(value.parse().ok()?) };
        recorder.read_register(key, column, value);
    }
    Some(())
}

fn register(place: &str) -> Option<(u64, u16)> {
    let (key, column) = place.trim().strip_prefix('r')?.split_once('.')?;
    Some((key.parse().ok()?, column.parse().ok()?))
}

fn list(text: &str) -> Option<Vec<u64>> {
    let inside = text.strip_prefix('[')?.strip_suffix(']')?;
    inside.split(',').map(str::trim).filter(|part| !part.is_empty()).map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_make_no_sense_are_named() {
        for step in ["T1 l5+1", "T1 begin fast", "x", "T1", "Tx commit"] {
            assert!(parse(step).unwrap_err().starts_with("line 1"), "{step}");
        }
        for step in ["l5+", "l5=31", "r7:=1", "r7.0=x", "l1..r9=[]", "r1..9=[]", "rollback to", "begin rc"] {
            assert!(parse(&format!("T1 begin rc\nT1 {step}")).unwrap_err().starts_with("line 2"), "{step}");
        }
        assert_eq!(parse("T1 begin rc # one\n\nT1 l1..9=[5,7]\nT1 r1..9.0=[]").unwrap().transactions().len(), 1);
    }
}
