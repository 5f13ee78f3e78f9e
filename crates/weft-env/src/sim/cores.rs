//! One core for each simulation.
//!
//! Of the threads of a simulation one runs at a time, and hands on to the next one. On one core that is a switch; from
//! core to core it is a wake-up, which takes longer than what most of them do then. So while a simulation runs its
//! threads stay on one core, another one than that of other simulations of the process. What they do is the same on
//! any.

/// Keeps the calling thread, and those that it starts, on one core until this is dropped; nothing where that cannot be.
pub(crate) struct OneCore {
    #[cfg(target_os = "linux")]
    taken: Option<(usize, libc::cpu_set_t)>,
}

#[cfg(target_os = "linux")]
mod linux {
    use std::sync::Mutex;

    use super::OneCore;

    /// How many simulations of this process run on each core. A lock of the machine's, not of a simulation.
    #[allow(clippy::disallowed_types, reason = "it is taken outside of simulations")]
    static TAKEN: Mutex<Vec<usize>> = Mutex::new(Vec::new());

    fn allowed() -> Option<libc::cpu_set_t> {
        // SAFETY: an all-zero set is a valid empty one, and the call writes no more than its size.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            let got = libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set);
            (got == 0).then_some(set)
        }
    }

    fn allow(set: &libc::cpu_set_t) -> bool {
        // SAFETY: the set is whole, and the call reads no more than its size.
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set) == 0 }
    }

    fn cores_of(set: &libc::cpu_set_t) -> Vec<usize> {
        // SAFETY: every number is below the size of a set.
        (0..libc::CPU_SETSIZE as usize).filter(|core| unsafe { libc::CPU_ISSET(*core, set) }).collect()
    }

    fn only(core: usize) -> libc::cpu_set_t {
        // SAFETY: an all-zero set is a valid empty one, and the core is one of a set.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(core, &mut set);
            set
        }
    }

    /// The core on which the calling thread runs now.
    fn current() -> Option<usize> {
        // SAFETY: it takes nothing.
        usize::try_from(unsafe { libc::sched_getcpu() }).ok()
    }

    impl OneCore {
        pub(crate) fn take() -> OneCore {
            let Some(before) = allowed() else { return OneCore { taken: None } };
            let cores = cores_of(&before);
            let mut taken = TAKEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let most = cores.last().map_or(0, |last| last + 1);
            if taken.len() < most {
                taken.resize(most, 0);
            }
            // The one where it is, if no other is freer: what other processes do is where they are.
            let here = current();
            let chosen = cores.iter().copied().min_by_key(|core| (taken[*core], Some(*core) != here));
            let chosen = chosen.filter(|core| cores.len() > 1 && allow(&only(*core)));
            if let Some(core) = chosen {
                taken[core] += 1;
            }
            OneCore { taken: chosen.map(|core| (core, before)) }
        }
    }

    impl Drop for OneCore {
        fn drop(&mut self) {
            let Some((core, before)) = self.taken.take() else { return };
            allow(&before);
            let mut taken = TAKEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            taken[core] -= 1;
        }
    }

    #[test]
    fn simulations_beside_each_other_have_cores_of_their_own() {
        let before = allowed().map(|set| cores_of(&set)).unwrap_or_default();
        let first = OneCore::take();
        let Some((core, _)) = first.taken else {
            assert!(before.len() <= 1, "a thread that may run anywhere can be kept on a core");
            return;
        };
        assert_eq!(cores_of(&allowed().expect("it can be asked")), [core]);
        // Others may run beside this test; with a core more than those there is a free one.
        let other = std::thread::spawn(|| OneCore::take().taken.map(|(core, _)| core)).join().expect("it ends");
        assert!(other.is_none_or(|other| before.contains(&other)));
        drop(first);
        assert_eq!(allowed().map(|set| cores_of(&set)), Some(before), "it may run anywhere again");
    }
}

#[cfg(not(target_os = "linux"))]
impl OneCore {
    pub(crate) fn take() -> OneCore {
        OneCore {}
    }
}
