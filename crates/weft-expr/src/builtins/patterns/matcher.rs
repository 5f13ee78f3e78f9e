//! Regular expressions for other rooms: whether a text matches one that is compiled once.

use std::rc::Rc;

use weft_format::Result;

use super::compiled::Pattern;
use super::options::Options;

/// What XQuery's flags say of a regular expression.
#[derive(Clone, Copy, Debug)]
pub(in crate::builtins) struct MatcherOptions {
    /// Without regard to case.
    pub(in crate::builtins) any_case: bool,
    /// A literal text; what is said of points and lines does not count then.
    pub(in crate::builtins) quoted: bool,
    /// Points take newlines.
    pub(in crate::builtins) dot_all: bool,
    /// `^` and `$` match at newlines too.
    pub(in crate::builtins) lines: bool,
}

/// A regular expression.
pub(in crate::builtins) struct Matcher(Rc<Pattern>);

impl Matcher {
    /// A regular expression of its text; an error if it is none.
    pub(in crate::builtins) fn new(pattern: &str, options: MatcherOptions) -> Result<Matcher> {
        let MatcherOptions { any_case, quoted, dot_all, lines } = options;
        let plain = Options { any_case, ..Options::ADVANCED };
        let options = if quoted {
            Options { extended: false, advanced: false, quoted, ..plain }
        } else {
            Options { stops_at_newline: !dot_all, anchors_at_newline: lines, ..plain }
        };
        Pattern::of(pattern, options).map(Matcher)
    }

    /// Whether it matches a part of a text.
    pub(in crate::builtins) fn is_match(&self, text: &str) -> Result<bool> {
        self.0.search(text).is_match()
    }
}
