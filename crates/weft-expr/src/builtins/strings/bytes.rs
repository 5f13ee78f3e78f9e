//! Bits and bytes of bytea.
//!
//! ```text
//!   get_bit('\x1234567890', 30)          1           bit 0 is the lowest of the first byte
//!   set_byte('\x1234567890', 4, 64)      \x1234567840
//!   position('\x5678', '\x1234567890')   3           the function's own order: position(haystack, needle)
//! ```

use weft_format::{Code, DataType, Error, Result, Value};

use super::super::builtin::Call;
use super::letters::overlaid;
use crate::builtins::limits::check_pieces;

fn bytes(bytes: impl Into<Vec<u8>>) -> Result<Value> {
    Ok(Value::Bytes(bytes.into().into()))
}

/// A place among so many bits or bytes.
fn place(at: i64, count: usize) -> Result<usize> {
    usize::try_from(at).ok().filter(|at| *at < count).ok_or_else(|| {
        let last = count as i64 - 1;
        Error::new(Code::ArraySubscript, format!("index {at} out of valid range, 0..{last}"))
    })
}

pub(super) fn get_bit(call: &Call<'_>) -> Result<Value> {
    let of = call.bytes(0);
    let at = place(call.int(1), of.len() * 8)?;
    Ok(Value::Int((of[at / 8] >> (at % 8) & 1).into()))
}

pub(super) fn set_bit(call: &Call<'_>) -> Result<Value> {
    let mut of = call.bytes(0).to_vec();
    let at = place(call.int(1), of.len() * 8)?;
    let bit = match call.int(2) {
        bit @ (0 | 1) => bit as u8,
        _ => return Err(Error::new(Code::InvalidParameterValue, "new bit must be 0 or 1")),
    };
    of[at / 8] = of[at / 8] & !(1 << (at % 8)) | bit << (at % 8);
    bytes(of)
}

pub(super) fn get_byte(call: &Call<'_>) -> Result<Value> {
    let of = call.bytes(0);
    Ok(Value::Int(of[place(call.int(1), of.len())?].into()))
}

pub(super) fn set_byte(call: &Call<'_>) -> Result<Value> {
    let mut of = call.bytes(0).to_vec();
    let at = place(call.int(1), of.len())?;
    // The lowest eight bits count, as in PostgreSQL.
    of[at] = call.int(2) as u8;
    bytes(of)
}

pub(super) fn bit_count(call: &Call<'_>) -> Result<Value> {
    Ok(Value::Int(call.bytes(0).iter().map(|byte| i64::from(byte.count_ones())).sum()))
}

fn trimmed<'a>(call: &'a Call<'_>, start: bool, end: bool) -> &'a [u8] {
    let mut set = [false; 256];
    call.bytes(1).iter().for_each(|byte| set[usize::from(*byte)] = true);
    let mut of = call.bytes(0);
    while let [first, rest @ ..] = of
        && start
        && set[usize::from(*first)]
    {
        of = rest;
    }
    while let [rest @ .., last] = of
        && end
        && set[usize::from(*last)]
    {
        of = rest;
    }
    of
}

pub(super) fn btrim(call: &Call<'_>) -> Result<Value> {
    bytes(trimmed(call, true, true))
}

pub(super) fn ltrim(call: &Call<'_>) -> Result<Value> {
    bytes(trimmed(call, true, false))
}

pub(super) fn rtrim(call: &Call<'_>) -> Result<Value> {
    bytes(trimmed(call, false, true))
}

pub(super) fn overlay(call: &Call<'_>) -> Result<Value> {
    let (of, new) = (call.bytes(0), call.bytes(1));
    let count = if call.count() > 3 { call.int(3) } else { new.len() as i64 };
    let (before, end) = overlaid(call.int(2), count)?;
    let within = |at: i64| usize::try_from(at).unwrap_or(usize::MAX).min(of.len());
    let (head, tail) = (&of[..within(before)], &of[within(end)..]);
    check_pieces([head, new, tail].map(<[u8]>::len))?;
    bytes([head, new, tail].concat())
}

/// `position(haystack, needle)`, counted from 1; 0 where there is none.
pub(super) fn position(call: &Call<'_>) -> Result<Value> {
    let at = find(call.bytes(0), call.bytes(1));
    let at = at.map_or(Ok(0), |at| i32::try_from(at + 1));
    Ok(Value::Int(at.map_err(|_| crate::arithmetic::out_of_range(DataType::Integer))?.into()))
}

/// The first place of bytes within others, in time that grows with their sum: for each place of the needle the length
/// of its longest beginning that ends there tells where the search goes on (Knuth, Morris and Pratt).
fn find(of: &[u8], needle: &[u8]) -> Option<usize> {
    if needle.is_empty() {
        return Some(0);
    }
    if needle.len() > of.len() {
        return None;
    }
    let step = |borders: &[usize], mut matched: usize, byte: u8| {
        while matched > 0 && (matched == needle.len() || needle[matched] != byte) {
            matched = borders[matched - 1];
        }
        matched + usize::from(needle[matched] == byte)
    };
    let mut borders = vec![0];
    for at in 1..needle.len() {
        let border = step(&borders, borders[at - 1], needle[at]);
        borders.push(border);
    }
    let mut matched = 0;
    for (at, byte) in of.iter().enumerate() {
        matched = step(&borders, matched, *byte);
        if matched == needle.len() {
            return Some(at + 1 - matched);
        }
    }
    None
}
