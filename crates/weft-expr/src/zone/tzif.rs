//! The binary form of the IANA database's zones (RFC 8536): a header, transitions, kinds, abbreviations, and behind
//! them a POSIX string for the years after the last transition. Only the second part, with times of 64 bits, is read.

use super::kind::Kind;
use super::posix;
use super::rules::Rules;

const HEADER_BYTES: usize = 44;

/// Reads a zone; none when the bytes are none.
pub(super) fn parse(name: &str, bytes: &[u8]) -> Option<Rules> {
    let first = Header::parse(bytes)?;
    let bytes = bytes.get(HEADER_BYTES + first.body_bytes(4)?..)?;
    let header = Header::parse(bytes)?;
    let body = bytes.get(HEADER_BYTES..)?;
    let (times, rest) = body.split_at_checked(header.transitions * 8)?;
    let (indices, rest) = rest.split_at_checked(header.transitions)?;
    let (kinds, rest) = rest.split_at_checked(header.kinds * 6)?;
    let abbreviations = rest.get(..header.abbreviation_bytes)?;
    let kind = |entry: &[u8]| {
        let text = abbreviations.get(usize::from(entry[5])..)?;
        let end = text.iter().position(|byte| *byte == 0)?;
        Some(Kind {
            east_seconds: i32::from_be_bytes(entry[..4].try_into().ok()?),
            is_dst: entry[4] != 0,
            abbreviation: std::str::from_utf8(&text[..end]).ok()?.into(),
        })
    };
    let kinds = kinds.chunks_exact(6).map(kind).collect::<Option<Vec<Kind>>>()?;
    let moment = |at: &[u8]| Some(i64::from_be_bytes(at.try_into().ok()?));
    let times = times.chunks_exact(8).map(moment).collect::<Option<Vec<i64>>>()?;
    let transitions: Vec<(i64, u8)> = times.into_iter().zip(indices.iter().copied()).collect();
    let is_sound = !kinds.is_empty()
        && transitions.is_sorted_by_key(|(at, _)| *at)
        && transitions.iter().all(|(_, kind)| usize::from(*kind) < kinds.len());
    if !is_sound {
        return None;
    }
    let footer = body.get(header.body_bytes(8)?..)?;
    let footer = std::str::from_utf8(footer).ok()?.trim_matches('\n');
    // A zone without rules for the future ends in its last kind.
    let tail = posix::parse(footer).and_then(|(_, _, tail)| tail);
    Some(Rules { name: name.into(), kinds, transitions, tail })
}

struct Header {
    transitions: usize,
    kinds: usize,
    abbreviation_bytes: usize,
    leap_seconds: usize,
    flags: usize,
}

impl Header {
    fn parse(bytes: &[u8]) -> Option<Header> {
        let header = bytes.get(..HEADER_BYTES)?;
        if &header[..4] != b"TZif" || header[4] < b'2' {
            return None;
        }
        let count = |at: usize| usize::try_from(u32::from_be_bytes(header[at..at + 4].try_into().ok()?)).ok();
        Some(Header {
            flags: count(20)? + count(24)?,
            leap_seconds: count(28)?,
            transitions: count(32)?,
            kinds: count(36)?,
            abbreviation_bytes: count(40)?,
        })
    }

    fn body_bytes(&self, time_bytes: usize) -> Option<usize> {
        let transitions = self.transitions.checked_mul(time_bytes + 1)?;
        let leaps = self.leap_seconds.checked_mul(time_bytes + 4)?;
        Some(transitions + self.kinds * 6 + self.abbreviation_bytes + leaps + self.flags)
    }
}
