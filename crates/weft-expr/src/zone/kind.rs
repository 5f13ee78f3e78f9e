//! What clocks show: how far from UTC, and what that is called.

/// What clocks of a zone show for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) east_seconds: i32,
    pub(super) is_dst: bool,
    pub(super) abbreviation: Box<str>,
}

/// An offset from UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset<'a> {
    /// Seconds that clocks are ahead of UTC.
    pub east_seconds: i32,
    /// Whether it is daylight saving time.
    pub is_dst: bool,
    /// What people call it: `CEST`, `-03`.
    pub abbreviation: &'a str,
}

impl Kind {
    /// The same for people.
    pub(super) fn offset(&self) -> Offset<'_> {
        Offset { east_seconds: self.east_seconds, is_dst: self.is_dst, abbreviation: &self.abbreviation }
    }
}
