//! Enums: the labels of each, known to the whole process by a number that stands in its [`DataType`](crate::DataType).
//!
//! ```text
//!   mood (0x3f07a1c2b4d5)    'sad' 1 << 20    'ok' 2 << 20    'happy' 3 << 20
//!   ADD VALUE 'meh' BEFORE 'ok'       'meh' 3 << 19    between its neighbours: no stored value changes
//! ```
//!
//! A value is the code of its label, and codes are in the order of the labels: storage compares numbers. Who reads or
//! writes a label finds it here, whatever layer it is of.
//!
//! 1. A code means one label for ever: labels are added, and nothing else.
//! 2. Numbers are 48 random bits, so two databases seldom have one number. Copies of one database do: a number belongs
//!    to the first of them that is open, and another is refused unless its labels are the same.
//! 3. In Arrow an enum is a timestamp in seconds whose zone names it: of Arrow's numbers these alone carry a name,
//!    which plans keep. The zone is an offset from UTC, for the engine shows constants in theirs; beyond 2,879 enums of
//!    a process it is the number, and constant arrays of these cannot be shown. Which is whose is the process's own
//!    business: types of Arrow are stored nowhere.
//!
//! Concurrency: one lock for the map, held for a look; an entry is replaced as a whole.

use std::any::Any;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock, Weak};

use arrow_schema::{DataType as ArrowType, TimeUnit};
use weft_env::sync::RwLock;

use crate::error::{Code, Error, Result};

/// Codes of labels that are defined together are so far apart.
const SPACING: i64 = 1 << 20;
/// The most bytes of a label, as PostgreSQL has it.
const LABEL_BYTES_MAX: usize = 63;
/// What the names begin with that need no catalog.
const FIXED_NAME: &str = "weft.enum.";
/// Offsets from UTC by minutes, of both signs; -00:00 is none.
const SLOTS: usize = 2 * 24 * 60 - 1;

/// The number of an enum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EnumId(u64);

impl EnumId {
    /// Of the lower 48 of these bits.
    pub const fn new(bits: u64) -> EnumId {
        EnumId(bits & 0xffff_ffff_ffff)
    }

    /// Its bits.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// A name of its type that needs no catalog.
    pub fn fixed_name(self) -> String {
        format!("{FIXED_NAME}{:012x}", self.0)
    }

    /// The enum of such a name; none: it is another's.
    pub fn of_fixed_name(name: &str) -> Option<EnumId> {
        let digits = name.strip_prefix(FIXED_NAME).filter(|digits| digits.len() == 12)?;
        u64::from_str_radix(digits, 16).ok().map(EnumId::new)
    }

    /// The zone of its Arrow type, in this process (enums 3).
    pub fn zone(self) -> Arc<str> {
        if let Some(zone) = ZONES.read().of.get(&self) {
            return zone.clone();
        }
        let mut zones = ZONES.write();
        if let Some(zone) = zones.of.get(&self) {
            return zone.clone();
        }
        let zone: Arc<str> = match zones.ids.len() {
            SLOTS.. => self.fixed_name().into(),
            slot => offset(slot).into(),
        };
        zones.ids.push(self);
        zones.of.insert(self, zone.clone());
        zone
    }

    /// The enum of an Arrow type; none: it is another's.
    pub fn of_arrow(arrow: &ArrowType) -> Option<EnumId> {
        let ArrowType::Timestamp(TimeUnit::Second, Some(zone)) = arrow else { return None };
        slot_of(zone).and_then(|slot| ZONES.read().ids.get(slot).copied()).or_else(|| EnumId::of_fixed_name(zone))
    }
}

/// The labels of an enum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// The name of the type, as messages show it.
    pub name: String,
    /// By code.
    labels: Vec<(i64, Box<str>)>,
}

impl Labels {
    /// Labels in their order. Errors: one comes twice (23505), or is too long (42602).
    pub fn new<'a>(name: &str, labels: impl IntoIterator<Item = &'a str>) -> Result<Labels> {
        let mut made = Labels { name: name.to_owned(), labels: Vec::new() };
        for label in labels {
            // As PostgreSQL's catalog says of them.
            made.check_new(label).map_err(|error| match error.code() {
                Code::DuplicateObject => Error::new(Code::UniqueViolation, error.message().to_owned()),
                _ => error,
            })?;
            let code = SPACING * (made.labels.len() as i64 + 1);
            made.labels.push((code, label.into()));
        }
        Ok(made)
    }

    fn check_new(&self, label: &str) -> Result<()> {
        if label.len() > LABEL_BYTES_MAX {
            let message = format!("invalid enum label \"{label}\"");
            let hint = format!("labels have at most {LABEL_BYTES_MAX} bytes");
            return Err(Error::new(Code::InvalidName, message).hint(hint));
        }
        if self.code(label).is_some() {
            return Err(Error::new(Code::DuplicateObject, format!("enum label \"{label}\" already exists")));
        }
        Ok(())
    }

    /// The same with one label more: behind all others, or beside one of them.
    pub fn with(&self, label: &str, beside: Option<Beside<'_>>) -> Result<Labels> {
        self.check_new(label)?;
        let place = match beside {
            None => self.labels.len(),
            Some(beside) => {
                let (neighbour, offset) = match beside {
                    Beside::Before(neighbour) => (neighbour, 0),
                    Beside::After(neighbour) => (neighbour, 1),
                };
                let found = self.labels.iter().position(|(_, known)| **known == *neighbour);
                let missing = || {
                    let message = format!("\"{neighbour}\" is not an existing enum label");
                    Error::new(Code::InvalidParameterValue, message)
                };
                found.ok_or_else(missing)? + offset
            }
        };
        let before = place.checked_sub(1).map_or(0, |at| self.labels[at].0);
        let code = match self.labels.get(place) {
            Some((after, _)) if after - before < 2 => {
                let message = format!("there is no room for label \"{label}\" of enum {}", self.name);
                let hint = "make a new type with the labels in this order, and change the columns to it";
                return Err(Error::new(Code::ProgramLimit, message).hint(hint));
            }
            Some((after, _)) => before.midpoint(*after),
            None => before + SPACING,
        };
        let mut more = self.clone();
        more.labels.insert(place, (code, label.into()));
        Ok(more)
    }

    /// The code of a label.
    pub fn code(&self, label: &str) -> Option<i64> {
        self.labels.iter().find(|(_, known)| **known == *label).map(|(code, _)| *code)
    }

    /// The label of a code.
    pub fn label(&self, code: i64) -> Option<&str> {
        let at = self.labels.binary_search_by_key(&code, |(known, _)| *known).ok()?;
        Some(&self.labels[at].1)
    }

    /// Whether these are all labels of some others and perhaps more.
    fn has_all(&self, others: &Labels) -> bool {
        others.iter().all(|(code, label)| self.label(code) == Some(label))
    }

    /// All of them in their order, with their codes.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (i64, &str)> {
        self.labels.iter().map(|(code, label)| (*code, &**label))
    }

    /// As the catalog keeps it: a code and a label by line, with `\n` and `\\` written out.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (code, label) in self.iter() {
            let label = label.replace('\\', "\\\\").replace('\n', "\\n");
            writeln!(text, "{code} {label}").expect("a text takes all");
        }
        text
    }

    /// Reads what [`Labels::to_text`] wrote.
    pub fn from_text(name: &str, text: &str) -> Result<Labels> {
        let damaged = || Error::corrupt(format!("the labels of enum {name} are damaged"));
        let mut labels = Vec::new();
        // Not by `lines`: a label may end in what that takes away.
        for line in text.split_terminator('\n') {
            let (code, label) = line.split_once(' ').ok_or_else(damaged)?;
            let mut plain = String::new();
            let mut chars = label.chars();
            while let Some(one) = chars.next() {
                match one {
                    '\\' => plain.push(if chars.next() == Some('n') { '\n' } else { '\\' }),
                    one => plain.push(one),
                }
            }
            labels.push((code.parse().map_err(|_| damaged())?, plain.into()));
        }
        if !labels.is_sorted_by(|(a, _): &(i64, Box<str>), (b, _)| a < b) {
            return Err(damaged());
        }
        Ok(Labels { name: name.to_owned(), labels })
    }
}

/// Where a label is added.
#[derive(Clone, Copy, Debug)]
pub enum Beside<'a> {
    /// Before this one.
    Before(&'a str),
    /// Behind this one.
    After(&'a str),
}

/// Zones of Arrow types, by slot.
#[derive(Default)]
struct Zones {
    ids: Vec<EnumId>,
    of: HashMap<EnumId, Arc<str>>,
}

static ZONES: LazyLock<RwLock<Zones>> = LazyLock::new(RwLock::default);

/// The zone of a slot.
fn offset(slot: usize) -> String {
    let (sign, minutes) = if slot < 24 * 60 { ('+', slot) } else { ('-', slot - 24 * 60 + 1) };
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

/// The slot of a zone.
fn slot_of(zone: &str) -> Option<usize> {
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let minutes = hours.parse::<usize>().ok()? * 60 + minutes.parse::<usize>().ok()?;
    match zone.as_bytes()[0] {
        b'+' => Some(minutes),
        b'-' if minutes > 0 => Some(24 * 60 + minutes - 1),
        _ => None,
    }
}

/// Whose enum it is: what lives as long as the database is open.
pub type Owner = Arc<dyn Any + Send + Sync>;

struct Known {
    /// The number of the type in the catalog.
    oid: u32,
    labels: Arc<Labels>,
    /// The labels as the catalog has them.
    text: String,
    owner: Weak<dyn Any + Send + Sync>,
}

static KNOWN: LazyLock<RwLock<HashMap<EnumId, Known>>> = LazyLock::new(RwLock::default);

/// Makes an enum known, or what was added to it; `text` as of [`Labels::to_text`]. Errors: another database that is
/// open has the number (enums 2); the text is damaged.
pub fn note(id: EnumId, oid: u32, name: &str, text: &str, owner: &Owner) -> Result<()> {
    let is_own = |known: &Known| std::ptr::addr_eq(known.owner.as_ptr(), Arc::as_ptr(owner));
    let is_same = |known: &Known| (known.oid, &*known.labels.name, &*known.text) == (oid, name, text);
    if KNOWN.read().get(&id).is_some_and(|known| is_own(known) && is_same(known)) {
        return Ok(());
    }
    let mut labels = Labels::from_text(name, text)?;
    let mut all = KNOWN.write();
    if let Some(known) = all.get(&id).filter(|known| known.owner.strong_count() > 0) {
        if is_own(known) {
            // Snapshots from before an addition go on.
            if known.labels.has_all(&labels) {
                labels.labels.clone_from(&known.labels.labels);
            }
        } else if known.text == text {
            return Ok(());
        } else {
            let message = format!("enum {name} has the number of another open database's enum");
            return Err(Error::new(Code::FeatureNotSupported, message)
                .hint("open the two databases in two processes: they are copies of one, changed since"));
        }
    }
    let text = labels.to_text();
    all.insert(id, Known { oid, labels: Arc::new(labels), text, owner: Arc::downgrade(owner) });
    Ok(())
}

/// The labels of an enum.
pub fn known(id: EnumId) -> Option<Arc<Labels>> {
    KNOWN.read().get(&id).map(|known| known.labels.clone())
}

/// The number of an enum's type in the catalog; 0: nobody knows it.
pub fn oid_of(id: EnumId) -> u32 {
    KNOWN.read().get(&id).map_or(0, |known| known.oid)
}

/// The name of an enum.
pub fn name_of(id: EnumId) -> String {
    known(id).map_or_else(|| id.fixed_name(), |labels| labels.name.clone())
}

/// The label of a code; a code that nobody knows is shown as a number.
pub fn label_of(id: EnumId, code: i64) -> String {
    let labels = known(id);
    let label = labels.as_ref().and_then(|labels| labels.label(code));
    label.map_or_else(|| code.to_string(), str::to_owned)
}

/// The code of a label. Errors: there is none (22P02).
pub fn code_of(id: EnumId, label: &str) -> Result<i64> {
    let found = known(id).and_then(|labels| labels.code(label));
    found.ok_or_else(|| {
        let message = format!("invalid input value for enum {}: \"{label}\"", name_of(id));
        Error::new(Code::InvalidText, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(labels: &Labels) -> Vec<&str> {
        labels.iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn labels_keep_their_codes_when_others_come() {
        let mood = Labels::new("mood", ["sad", "ok", "happy"]).unwrap();
        let more = mood.with("meh", Some(Beside::Before("ok"))).unwrap();
        let more = more.with("glad", Some(Beside::After("happy"))).unwrap().with("best", None).unwrap();
        assert_eq!(order(&more), ["sad", "meh", "ok", "happy", "glad", "best"]);
        assert!(mood.iter().all(|(code, label)| more.label(code) == Some(label)));
        assert!(more.iter().is_sorted_by(|a, b| a.0 < b.0));
        assert!(more.with("ok", None).is_err() && more.with("x", Some(Beside::After("y"))).is_err());
        assert!(Labels::new("mood", ["a", "a"]).is_err() && Labels::new("mood", [&*"x".repeat(64)]).is_err());
        assert_eq!(Labels::from_text("mood", &more.to_text()).unwrap(), more);
        let odd = Labels::new("odd", ["a\nb", "c\\n", " d e", "f\r", "", "\r\n"]).unwrap();
        assert_eq!(Labels::from_text("odd", &odd.to_text()).unwrap(), odd);
    }

    #[test]
    fn room_between_labels_ends_with_an_error() {
        let mut labels = Labels::new("mood", ["a", "z"]).unwrap();
        let full = (0..64).find_map(|n| {
            let label = format!("b{n}");
            match labels.with(&label, Some(Beside::Before("z"))) {
                Ok(more) => {
                    labels = more;
                    None
                }
                Err(error) => Some((n, error)),
            }
        });
        let (count, error) = full.expect("there is an end");
        assert_eq!((count, error.code()), (20, Code::ProgramLimit));
    }

    #[test]
    fn what_is_known_grows_and_another_is_refused() {
        let id = EnumId::new(0x77_0000_0001);
        let (first, second): (Owner, Owner) = (Arc::new(1), Arc::new(2));
        let one = Labels::new("mood", ["sad", "ok"]).unwrap();
        let more = one.with("happy", None).unwrap();
        let note = |labels: &Labels, owner: &Owner| note(id, 16_400, "mood", &labels.to_text(), owner);
        note(&one, &first).unwrap();
        note(&one, &second).unwrap();
        note(&more, &first).unwrap();
        // A snapshot from before.
        note(&one, &first).unwrap();
        assert_eq!((code_of(id, "happy").unwrap(), label_of(id, SPACING)), (3 * SPACING, "sad".to_owned()));
        assert_eq!((oid_of(id), name_of(id)), (16_400, "mood".to_owned()));
        assert!(note(&one, &second).is_err(), "the copy does not have the label");
        drop(first);
        note(&one, &second).unwrap();
        assert_eq!(code_of(id, "happy").unwrap_err().code(), Code::InvalidText);
        assert_eq!(EnumId::of_fixed_name(&id.fixed_name()), Some(id));
        assert_eq!(["UTC", "weft.enum.1"].map(EnumId::of_fixed_name), [None, None]);
    }

    #[test]
    fn arrow_types_tell_enums_apart() {
        let ids = [1, 2, 1 << 40].map(EnumId::new);
        let types = ids.map(|id| ArrowType::Timestamp(TimeUnit::Second, Some(id.zone())));
        assert_eq!(types.each_ref().map(EnumId::of_arrow), ids.map(Some));
        assert_eq!(ids.map(EnumId::zone), ids.map(EnumId::zone), "a zone stays");
        assert!((0..SLOTS).all(|slot| slot_of(&offset(slot)) == Some(slot)));
        assert_eq!((offset(0), offset(SLOTS - 1)), ("+00:00".to_owned(), "-23:59".to_owned()));
        let others = ["UTC", "+00:00"].map(|zone| ArrowType::Timestamp(TimeUnit::Microsecond, Some(zone.into())));
        assert_eq!(others.each_ref().map(EnumId::of_arrow), [None, None]);
    }
}
