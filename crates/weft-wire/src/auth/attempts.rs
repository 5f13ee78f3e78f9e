//! Failed logins, by address: after a few of them an address must wait.

use std::collections::HashMap;
use std::net::IpAddr;

use weft_env::sync::Mutex;
use weft_format::{Code, Error, Result};

/// So many failures within [`WINDOW_NANOS`] and the address is refused until that time has passed.
const FAILURES_MAX: u32 = 10;
const WINDOW_NANOS: u64 = 60 * 1_000_000_000;
/// The most addresses remembered; beyond, the oldest go.
const ADDRESSES_MAX: usize = 10_000;

/// The failures of addresses.
#[derive(Default)]
pub struct Attempts {
    by_address: Mutex<HashMap<IpAddr, Failures>>,
}

struct Failures {
    count: u32,
    first_nanos: u64,
}

impl Attempts {
    /// An error when an address has failed too often.
    pub fn check(&self, address: IpAddr, now_nanos: u64) -> Result<()> {
        let mut known = self.by_address.lock();
        known.retain(|_, failures| now_nanos - failures.first_nanos < WINDOW_NANOS);
        match known.get(&address) {
            Some(failures) if failures.count >= FAILURES_MAX => {
                let message = "too many failed logins from this address";
                Err(Error::new(Code::InvalidAuthorization, message).hint("wait a minute"))
            }
            _ => Ok(()),
        }
    }

    /// Notes how a login went.
    pub fn note(&self, address: IpAddr, succeeded: bool, now_nanos: u64) {
        let mut known = self.by_address.lock();
        if succeeded {
            known.remove(&address);
            return;
        }
        if known.len() >= ADDRESSES_MAX
            && let Some(oldest) = known.iter().min_by_key(|(_, failures)| failures.first_nanos).map(|(ip, _)| *ip)
        {
            known.remove(&oldest);
        }
        known.entry(address).or_insert(Failures { count: 0, first_nanos: now_nanos }).count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_fails_often_must_wait() {
        let attempts = Attempts::default();
        let (one, other) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        for _ in 0..FAILURES_MAX {
            assert!(attempts.check(one, 1).is_ok());
            attempts.note(one, false, 1);
        }
        assert_eq!(attempts.check(one, 2).unwrap_err().code(), Code::InvalidAuthorization);
        assert!(attempts.check(other, 2).is_ok());
        assert!(attempts.check(one, 1 + WINDOW_NANOS).is_ok());
        attempts.note(one, false, 3 + WINDOW_NANOS);
        attempts.note(one, true, 4 + WINDOW_NANOS);
        assert!(attempts.by_address.lock().is_empty());
    }
}
