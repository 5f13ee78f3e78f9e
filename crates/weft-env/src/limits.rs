//! How many files the process may have open: the soft limit, which it may raise itself, and the hard one.

/// The soft and the hard limit of open files and sockets; none where the system does not say.
pub(crate) fn open_files() -> Option<(u64, u64)> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call writes one rlimit, to which the pointer leads.
    let failed = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0;
    (!failed).then_some((limit.rlim_cur, limit.rlim_max))
}

/// Raises the soft limit of open files and sockets to the hard one, as far as the system lets it; the soft limit now.
/// Programs call it first thing: the limit holds for the whole process, so a library leaves it alone.
pub fn raise_open_files() -> Option<u64> {
    let (soft, hard) = open_files()?;
    if soft < hard {
        let wanted = libc::rlimit { rlim_cur: hard, rlim_max: hard };
        // SAFETY: the call reads one rlimit, to which the pointer leads. A failure leaves the limit as it is.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const wanted) };
    }
    open_files().map(|(soft, _)| soft)
}
