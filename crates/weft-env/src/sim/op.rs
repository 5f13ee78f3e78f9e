//! What a simulated thread is about to do.

use std::fmt;

/// An operation at a scheduling point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op<'a> {
    pub(crate) name: &'static str,
    /// A path or a thread's name.
    pub(crate) detail: &'a str,
    pub(crate) a: u64,
    pub(crate) b: u64,
}

impl<'a> Op<'a> {
    /// An operation without details.
    pub(crate) const fn plain(name: &'static str) -> Op<'static> {
        Op { name, detail: "", a: 0, b: 0 }
    }

    /// An operation on a path or a thread.
    pub(crate) const fn on(name: &'static str, detail: &'a str) -> Op<'a> {
        Op { name, detail, a: 0, b: 0 }
    }
}

impl fmt::Display for Op<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        if !self.detail.is_empty() {
            write!(f, " {}", self.detail)?;
        }
        if (self.a, self.b) != (0, 0) {
            write!(f, " {} {}", self.a, self.b)?;
        }
        Ok(())
    }
}
