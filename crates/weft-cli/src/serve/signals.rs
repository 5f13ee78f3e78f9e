//! Signals: SIGTERM and SIGINT end the server, SIGHUP makes it read its configuration again.

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The server's end.
    End,
    /// The configuration again, and a new file of the log.
    Reload,
}

/// Ends this process as SIGTERM does.
pub(super) fn end() {
    // SAFETY: it takes no pointers.
    unsafe { libc::kill(libc::getpid(), libc::SIGTERM) };
}

/// The signals, kept from ending the process.
pub(crate) struct Signals {
    set: libc::sigset_t,
}

impl Signals {
    /// Keeps them from ending the process, in this thread and in those that it starts.
    pub(crate) fn block() -> Signals {
        // SAFETY: the set is filled by sigemptyset before it is read, and both calls take pointers to it that are valid
        // for their duration.
        let set = unsafe {
            let mut set = std::mem::zeroed::<libc::sigset_t>();
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, libc::SIGTERM);
            libc::sigaddset(&mut set, libc::SIGINT);
            libc::sigaddset(&mut set, libc::SIGHUP);
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
            set
        };
        Signals { set }
    }

    /// Waits for one of them.
    pub(crate) fn wait(&self) -> Asked {
        let mut signal = 0;
        // SAFETY: both pointers are valid for the call.
        while unsafe { libc::sigwait(&self.set, &mut signal) } != 0 {}
        if signal == libc::SIGHUP { Asked::Reload } else { Asked::End }
    }
}
