//! Deliberate bugs of documents: each must be caught by a named test. They are compiled into this crate's own tests
//! only.
//!
//! ```text
//!   plant(Some(Fault::NullAsMissing))    {"a": null} is shredded as {}     `planted_faults_are_noticed`
//! ```
//!
//! They are the classes of bugs that the implementation of the paper's format had (AsterixDB, 2022 to 2026).

/// What is done wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The front counts a value too few before a row.
    WrongSkips,
    /// A null at a path with values of other kinds is taken for nothing.
    NullAsMissing,
    /// The end of an array is not noted where an element has ended without a value.
    ForgetEnd,
    /// Bounds are those of the first values.
    StaleBounds,
}

#[cfg(test)]
thread_local! {
    static PLANTED: std::cell::Cell<Option<Fault>> = const { std::cell::Cell::new(None) };
}

/// Plants a bug in this thread, or none.
#[cfg(test)]
pub(crate) fn plant(fault: Option<Fault>) {
    PLANTED.set(fault);
}

/// Whether a bug is planted.
#[inline]
pub(crate) fn active(fault: Fault) -> bool {
    #[cfg(test)]
    return PLANTED.get() == Some(fault);
    #[cfg(not(test))]
    {
        let _ = fault;
        false
    }
}
