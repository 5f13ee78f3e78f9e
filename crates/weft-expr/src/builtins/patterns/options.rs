//! The options of a regular expression, and the errors of one.
//!
//! ```text
//!   'gi'     every match, without regard to case
//!   'e'      PostgreSQL means basic regular expressions by it, whatever its manual says; so do we
//!   'z'      22023 invalid regular expression option: "z"
//! ```

use weft_format::{Code, Error, Result};

/// What PostgreSQL calls `cflags`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Options {
    /// Extended or advanced regular expressions, else basic ones.
    pub(super) extended: bool,
    /// Advanced ones, if extended: with escapes, and quantifiers that prefer the shortest.
    pub(super) advanced: bool,
    /// A literal text.
    pub(super) quoted: bool,
    /// Without regard to case.
    pub(super) any_case: bool,
    /// White space and comments are ignored.
    pub(super) expanded: bool,
    /// `.` and `[^` take no newline.
    pub(super) stops_at_newline: bool,
    /// `^` and `$` match at newlines too.
    pub(super) anchors_at_newline: bool,
}

impl Options {
    /// Those of a call without options.
    pub(super) const ADVANCED: Options = Options {
        extended: true,
        advanced: true,
        quoted: false,
        any_case: false,
        expanded: false,
        stops_at_newline: false,
        anchors_at_newline: false,
    };

    /// The options of a function's argument, and whether `g` is among them.
    pub(super) fn parse(flags: &str) -> Result<(Options, bool)> {
        let mut options = Options::ADVANCED;
        let mut is_global = false;
        for flag in flags.chars() {
            match flag {
                'g' => is_global = true,
                'b' | 'e' => (options.extended, options.advanced, options.quoted) = (false, false, false),
                'q' => (options.extended, options.advanced, options.quoted) = (false, false, true),
                _ => {
                    if !options.set(flag) {
                        let message = format!("invalid regular expression option: \"{flag}\"");
                        return Err(Error::new(Code::InvalidParameterValue, message));
                    }
                }
            }
        }
        Ok((options, is_global))
    }

    /// Sets an option that is the same in an argument and in a pattern; false when it is none.
    pub(super) fn set(&mut self, flag: char) -> bool {
        match flag {
            'c' => self.any_case = false,
            'i' => self.any_case = true,
            'm' | 'n' => (self.stops_at_newline, self.anchors_at_newline) = (true, true),
            'p' => (self.stops_at_newline, self.anchors_at_newline) = (true, false),
            's' => (self.stops_at_newline, self.anchors_at_newline) = (false, false),
            't' => self.expanded = false,
            'w' => (self.stops_at_newline, self.anchors_at_newline) = (false, true),
            'x' => self.expanded = true,
            _ => return false,
        }
        true
    }

    /// Fails when options contradict each other.
    pub(super) fn check(&self) -> Result<()> {
        let is_plain = !(self.extended || self.expanded || self.stops_at_newline || self.anchors_at_newline);
        if self.quoted && !is_plain { Err(invalid("invalid argument to regex function")) } else { Ok(()) }
    }
}

/// The error of a pattern that is none.
pub(super) fn invalid(why: &str) -> Error {
    Error::new(Code::InvalidRegularExpression, format!("invalid regular expression: {why}"))
        .hint("correct the pattern; a backslash takes the next character as it is")
}

/// The error of a pattern that is too large.
pub(super) fn too_complex() -> Error {
    invalid("regular expression is too complex")
}
