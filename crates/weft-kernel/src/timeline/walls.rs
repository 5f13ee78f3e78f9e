//! When commits were made: the wall clock of each commit timestamp, and back.
//!
//! ```text
//!   commit   41           42           43           44
//!   wall     10:00:00.7   10:00:00.9   10:00:03.2   10:00:03.200001      the clock stood still, or was set back
//!
//!   at 10:00:02    → 42      and no later commit gets a wall at or before 10:00:02
//!   at 10:00:03.2  → 43      a commit is there from its own wall on
//! ```
//!
//! Of the last commits every pair is known; of older ones the last before each full second, then minute, then hour.
//!
//! 1. Walls rise strictly with the timestamps: each is above the one before, whatever the clock says. So a wall names
//!    one commit.
//! 2. A moment that was asked for is behind all walls that are given later: it never has two answers. A wall is given
//!    and noted under one lock, which whoever asks takes.
//! 3. What is left out answers no differently from what was known: a moment between several commits that are not told
//!    apart any more is an error.
//!
//! Crash: the commit record carries its wall, and the image of the catalog the pairs up to its cut; the log begins
//! there or before. A moment that was asked for is not logged: after a crash followed by a clock that is set back
//! beyond it, a commit may get a wall before it.
//!
//! Source: XTDB (its issue 3864) and DuckLake came to the same rule; docs/decisions has the argument.

mod codec;

use std::collections::VecDeque;

use weft_env::sync::{Mutex, MutexGuard};
use weft_format::{Code, Error, Result, Timestamp};

use super::said::said;

pub(crate) use codec::{put_walls, read_walls};

/// A commit and its wall, microseconds since 1970-01-01 UTC.
pub(crate) type Pair = (Timestamp, i64);

/// What is known up to a commit: the pairs of each level, the newest level first.
pub(crate) type WallImage = [Vec<Pair>; LEVELS.len()];

const SECOND: i64 = 1_000_000;

/// Of each level how many pairs it has at most, and the grid in microseconds: the last pair at or before each multiple
/// is kept.
const LEVELS: [(usize, i64); 4] =
    [(1 << 16, 1), (1 << 14, SECOND), (1 << 14, 60 * SECOND), (usize::MAX, 3600 * SECOND)];

/// See above.
#[derive(Default)]
pub(crate) struct Walls {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The newest pairs first; each level is ascending, and older than the one before.
    levels: [VecDeque<Pair>; LEVELS.len()],
    /// Every wall that is given from now on is above this.
    passed: Option<i64>,
}

/// A wall that is being given: nobody asks for a moment meanwhile (walls 2).
pub(crate) struct NextWall<'a> {
    state: MutexGuard<'a, State>,
    wall: i64,
}

impl NextWall<'_> {
    /// The wall.
    pub(crate) fn micros(&self) -> i64 {
        self.wall
    }

    /// The commit that has it is in the log. Dropped without this, the wall was never given.
    pub(crate) fn note(mut self, ts: Timestamp) {
        let wall = self.wall;
        self.state.note((ts, wall));
    }
}

impl Walls {
    /// The wall of the next commit, by a clock. The caller holds the sequencing latch.
    pub(crate) fn next(&self, clock_micros: i64) -> NextWall<'_> {
        let state = self.state.lock();
        let wall = state.passed.map_or(clock_micros, |passed| clock_micros.max(passed.saturating_add(1)));
        NextWall { state, wall }
    }

    /// What was known at the cut of the catalog's image, before anything else is.
    pub(crate) fn restore(&self, image: WallImage) {
        let mut state = self.state.lock();
        assert!(state.newest().is_none(), "the image comes before what the log has");
        state.levels = image.map(VecDeque::from);
        state.passed = state.newest().map(|(_, wall)| wall);
        state.check();
    }

    /// A commit of the log was made then. Those of the image are left alone.
    pub(crate) fn recover(&self, pair: Pair) {
        let mut state = self.state.lock();
        if state.newest().is_none_or(|newest| newest.0 < pair.0) {
            state.note(pair);
        }
    }

    /// The last commit that was made at or before a moment; 0 when none is known. From then on no commit is.
    ///
    /// # Errors
    /// [`Code::InvalidParameterValue`] of a moment that is to come by the clock; [`Code::SnapshotTooOld`] where commits
    /// are not told apart any more (walls 3).
    pub(crate) fn at(&self, micros: i64, clock_micros: i64) -> Result<Timestamp> {
        let mut state = self.state.lock();
        let last = state.newest().map_or(i64::MIN, |newest| newest.1);
        if micros > clock_micros.max(last) {
            let message = format!("{} is in the future", said(micros));
            return Err(Error::new(Code::InvalidParameterValue, message).hint("name a moment up to now()"));
        }
        state.passed = state.passed.max(Some(micros));
        state.find(micros)
    }

    /// The same where nobody gives walls: a moment behind the last known commit may get one yet.
    pub(crate) fn at_known(&self, micros: i64) -> Result<Timestamp> {
        let state = self.state.lock();
        let last = state.newest();
        if last.is_none_or(|last| micros > last.1) {
            let message = format!("{} is behind the last commit that has arrived here", said(micros));
            let known = last.map_or("no commit has".into(), |(ts, wall)| format!("that is {ts}, of {}", said(wall)));
            return Err(Error::new(Code::InvalidParameterValue, message).hint(known));
        }
        state.find(micros)
    }

    /// The last commit that was made at or before a moment, for who keeps from there on: it may be an older one.
    pub(crate) fn before(&self, micros: i64) -> Timestamp {
        let state = self.state.lock();
        state.last_before(micros).map_or(Timestamp(0), |(ts, _)| ts)
    }

    /// When a commit was made; none when that is not known.
    pub(crate) fn of(&self, ts: Timestamp) -> Option<i64> {
        let state = self.state.lock();
        let level = state.levels.iter().find(|level| level.front().is_some_and(|first| first.0 <= ts))?;
        level.binary_search_by_key(&ts, |pair| pair.0).ok().map(|at| level[at].1)
    }

    /// The first known moment at which a commit, and all before it, were made.
    pub(crate) fn since(&self, ts: Timestamp) -> Option<i64> {
        let state = self.state.lock();
        let level = state.levels.iter().rev().find(|level| level.back().is_some_and(|last| last.0 >= ts))?;
        level.get(level.partition_point(|pair| pair.0 < ts)).map(|pair| pair.1)
    }

    /// Forgets the commits before the last one that is at or before a timestamp.
    pub(crate) fn forget_before(&self, ts: Timestamp) {
        let mut state = self.state.lock();
        for at in (0..LEVELS.len()).rev() {
            let is_covered = state.levels[..at].iter().any(|level| level.front().is_some_and(|first| first.0 <= ts));
            let level = &mut state.levels[at];
            let kept =
                if is_covered { level.len() } else { level.partition_point(|pair| pair.0 <= ts).saturating_sub(1) };
            level.drain(..kept);
        }
        state.check();
    }

    /// What is known up to a timestamp.
    pub(crate) fn image(&self, ts: Timestamp) -> WallImage {
        let state = self.state.lock();
        state.levels.each_ref().map(|level| level.iter().take_while(|pair| pair.0 <= ts).copied().collect())
    }
}

impl State {
    fn newest(&self) -> Option<Pair> {
        self.levels.iter().find_map(|level| level.back().copied())
    }

    fn note(&mut self, pair: Pair) {
        let (ts, wall) = pair;
        assert!(self.newest().is_none_or(|(last, at)| last < ts && at < wall), "walls rise with commits (walls 1)");
        self.passed = self.passed.max(Some(wall));
        self.levels[0].push_back(pair);
        let mut at = 0;
        while self.levels[at].len() > LEVELS[at].0
            && let Some(oldest) = self.levels[at].pop_front()
        {
            let (grid, next) = (LEVELS[at + 1].1, &mut self.levels[at + 1]);
            if next.back().is_some_and(|last| cell(last.1, grid) == cell(oldest.1, grid)) {
                next.pop_back();
            }
            next.push_back(oldest);
            at += 1;
        }
    }

    /// The last known pair at or before a moment, and its level.
    fn place(&self, micros: i64) -> Option<(usize, usize)> {
        let at = self.levels.iter().position(|level| level.front().is_some_and(|first| first.1 <= micros))?;
        Some((at, self.levels[at].partition_point(|pair| pair.1 <= micros) - 1))
    }

    fn last_before(&self, micros: i64) -> Option<Pair> {
        self.place(micros).map(|(level, at)| self.levels[level][at])
    }

    fn find(&self, micros: i64) -> Result<Timestamp> {
        let place = self.place(micros);
        let ts = place.map_or(Timestamp(0), |(level, at)| self.levels[level][at].0);
        let Some((level, next, wall)) = self.behind(place) else { return Ok(ts) };
        // What was left out lies in the cell of the pair that was kept.
        let grid = LEVELS[level].1;
        if next == ts.next() || cell(wall, grid) != cell(micros, grid) || micros.rem_euclid(grid) == 0 {
            return Ok(ts);
        }
        let message = format!("the commits around {} are not told apart any more", said(micros));
        let full = micros.div_euclid(grid) * grid;
        Err(Error::new(Code::SnapshotTooOld, message).hint(format!("ask for {} or {}", said(full), said(wall))))
    }

    /// The first known pair behind a place, and its level.
    fn behind(&self, place: Option<(usize, usize)>) -> Option<(usize, Timestamp, i64)> {
        let (newer, here) = match place {
            Some((level, at)) => (level, self.levels[level].get(at + 1).map(|pair| (level, pair))),
            None => (LEVELS.len(), None),
        };
        let next = |level: usize| self.levels[level].front().map(|pair| (level, pair));
        here.or_else(|| (0..newer).rev().find_map(next)).map(|(level, &(ts, wall))| (level, ts, wall))
    }

    fn check(&self) {
        let mut pairs = self.levels.iter().rev().filter_map(|level| Some((*level.front()?, *level.back()?)));
        let rises = |a: &(Pair, Pair), b: &(Pair, Pair)| a.1.0 < b.0.0 && a.1.1 < b.0.1;
        let first = pairs.next();
        debug_assert!(
            pairs
                .try_fold(first, |before, next| before.is_none_or(|b| rises(&b, &next)).then_some(Some(next)))
                .is_some(),
            "each level is older than the one before (walls 1)"
        );
    }
}

/// Which multiple of the grid is the first at or behind a moment.
fn cell(micros: i64, grid: i64) -> i64 {
    micros.div_euclid(grid) + i64::from(micros.rem_euclid(grid) != 0)
}

#[cfg(test)]
mod tests;
