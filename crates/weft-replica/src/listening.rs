//! Is the writer of a directory heard: its announcement moves while somebody looks.
//!
//! ```text
//!   announced: epoch 6, beat 41, of another machine ─▶ look for 500 ms ─┬─ beat 42: it lives, keep off
//!                                                                        └─ beat 41: gone, or it hangs
//!   announced: closed; nothing; of this machine      ─▶ the lock of the directory knows
//! ```
//!
//! 1. A lock keeps nobody out where the file system does not know locks between machines. Within one machine it does.
//! 2. A writer that is not heard may hang, and write once more: who opens after it keeps apart from what that may be.

use std::path::Path;
use std::time::Duration;

use weft_env::Env;
use weft_format::{Code, Error, Result};
use weft_kernel::fault::active;
use weft_kernel::{writer_is_present, writer_of};

use crate::announcement::Announcement;
use crate::faults;
use crate::place::{Place, read_announcement};

/// A writer whose announcement has not moved for so long, five beats, does not live, or hangs.
const LISTEN: Duration = Duration::from_millis(500);
/// How often is looked meanwhile.
const LOOK: Duration = Duration::from_millis(10);

/// Listens for the writer of a directory, unless it is of this `machine` (0: whatever machine it is of). Whether one
/// has had the directory that is not heard and has not closed: it may hang ([`EngineOptions::apart`]).
///
/// # Errors
///
/// 57P03 when it is heard.
///
/// [`EngineOptions::apart`]: weft_kernel::EngineOptions::apart
pub fn listen(env: &Env, dir: &Path, machine: u32) -> Result<bool> {
    // Every look opens the file, whatever a thread that follows does at the time.
    let heard = || -> Option<Announcement> {
        let announced = read_announcement(&*Place::of(env, dir).announced_from().ok()??)?;
        // One that has closed, or has stopped, has let go of it.
        let lives = !announced.is_closed && writer_is_present(env, dir, announced.epoch).ok()?;
        lives.then_some(announced)
    };
    let Some(first) = heard().filter(|first| machine == 0 || first.machine != machine) else { return Ok(false) };
    let begun = env.clock.monotonic_nanos();
    while env.clock.monotonic_nanos().saturating_sub(begun) < LISTEN.as_nanos() as u64 {
        env.clock.sleep(LOOK);
        let moves = |now: Announcement| (now.opening, now.beat, now.lsn) != (first.opening, first.beat, first.lsn);
        if heard().is_some_and(moves) && !active(faults::PROMOTE_DEAF) {
            let writer = writer_of(env, dir).unwrap_or_else(|| format!("its epoch {}", first.epoch));
            let what = format!("the directory {} is in use by {writer}, which is heard", dir.display());
            return Err(Error::new(Code::CannotConnectNow, what).hint("stop that server first, or connect to it"));
        }
    }
    Ok(true)
}
