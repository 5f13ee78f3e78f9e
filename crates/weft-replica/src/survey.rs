//! Who is there, for somebody who sees the directory and asks nobody: also when the writer is gone.
//!
//! ```text
//!   announced     epoch 7, durable to 90112 ─┐  look, wait five beats, look again
//!   berlin.node   position 90112             ├─▶ what moved lives, what stood still is silent
//!   oslo.node     position 81920             ┘
//! ```
//!
//! 1. It writes nothing, and needs no lock.
//! 2. Who says something new between two looks lives. Who closed, or hangs, or is on a machine that is gone, is silent.

use std::path::Path;
use std::time::Duration;

use weft_env::Env;
use weft_format::{Lsn, Result, Timestamp};
use weft_kernel::{writer_is_present, writer_of};

use crate::announcement::Announcement;
use crate::place::{Place, read_announcement};
use crate::registration::Registration;
use crate::standing::Phase;

/// Between two looks: five beats of a writer or node, as both usually beat.
const LISTEN: Duration = Duration::from_millis(500);
/// So many looks at most: a beat may be late where much is going on.
const LOOKS_MAX: u32 = 5;

/// The writer, as its announcement says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriterSurveyed {
    /// Who has the directory, as that one has said: its process, and where it listens.
    pub by: String,
    /// The epoch of its log.
    pub epoch: u32,
    /// How far its log is durable.
    pub durable: Lsn,
    /// Its last commit.
    pub last: Timestamp,
    /// It beat while somebody looked, and has the directory.
    pub is_heard: bool,
    /// It has closed, or stopped, and said so.
    pub is_closed: bool,
    /// How long ago it beat, by its clock and ours.
    pub silent: Duration,
}

/// A node, as it has registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSurveyed {
    /// What it is called.
    pub name: String,
    /// Where it listens; empty: it did not say.
    pub address: String,
    /// What it does.
    pub phase: Phase,
    /// How far it has read the log.
    pub position: Lsn,
    /// The last commit that it shows.
    pub published: Timestamp,
    /// Bytes of log behind what is announced.
    pub lag_bytes: u64,
    /// It said something while somebody looked.
    pub is_heard: bool,
    /// How long ago it said something, by its clock and ours.
    pub silent: Duration,
}

/// Who has written into the folder of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// None: nobody has announced anything.
    pub writer: Option<WriterSurveyed>,
    /// By name.
    pub nodes: Vec<NodeSurveyed>,
}

/// Looks at a directory's writer and nodes twice, half a second apart, and further times, two seconds in all, while
/// somebody is silent. A folder that is not there is one without any.
///
/// # Errors
///
/// 58030 when the folder cannot be read.
pub fn survey(env: &Env, dir: &Path) -> Result<Survey> {
    let first = Look::at(env, dir)?;
    let mut looks = 1;
    loop {
        env.clock.sleep(LISTEN);
        looks += 1;
        let survey = first.compare(Look::at(env, dir)?, (env, dir));
        let is_writer_silent = survey.writer.as_ref().is_some_and(|writer| !writer.is_heard && !writer.is_closed);
        if looks >= LOOKS_MAX || !is_writer_silent && survey.nodes.iter().all(|node| node.is_heard) {
            return Ok(survey);
        }
    }
}

/// What the files said at one moment.
struct Look {
    writer: Option<Announcement>,
    nodes: Vec<(String, Option<Registration>)>,
}

impl Look {
    fn at(env: &Env, dir: &Path) -> Result<Look> {
        let place = Place::of(env, dir);
        let writer = place.announced_from()?.and_then(|file| read_announcement(&*file));
        let mut nodes = place.registered()?;
        nodes.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(Look { writer, nodes })
    }

    /// What a later look says beside this one.
    fn compare(&self, later: Look, (env, dir): (&Env, &Path)) -> Survey {
        let now_micros = env.clock.wall_micros();
        // One that is torn just now said what it said before.
        let writer = later.writer.or(self.writer);
        let durable = writer.map_or(Lsn(0), |said| said.lsn);
        let writer = writer.map(|said| writer_surveyed(said, self.writer, now_micros, (env, dir)));
        let node = |(name, told): (String, Option<Registration>)| {
            let was = self.nodes.iter().find(|(known, _)| *known == name).and_then(|(_, told)| told.as_ref());
            // One that came in between has said something, too; one whose file nobody can read has not.
            let is_heard =
                told.as_ref().is_some_and(|told| was.is_none_or(|was| (was.life, was.beat) != (told.life, told.beat)));
            let told = told.or_else(|| was.cloned()).unwrap_or_default();
            NodeSurveyed {
                lag_bytes: durable.0.saturating_sub(told.position.0),
                silent: since(told.wall_micros, now_micros),
                address: told.address,
                phase: told.phase,
                position: told.position,
                published: told.published,
                name,
                is_heard,
            }
        };
        Survey { writer, nodes: later.nodes.into_iter().map(node).collect() }
    }
}

fn writer_surveyed(
    said: Announcement,
    before: Option<Announcement>,
    now_micros: i64,
    (env, dir): (&Env, &Path),
) -> WriterSurveyed {
    let moved = before.is_none_or(|was| (was.opening, was.beat) != (said.opening, said.beat));
    // Who was overtaken may write an announcement late, over that of its successor (announcement 2).
    let has_directory = writer_is_present(env, dir, said.epoch).unwrap_or(false);
    WriterSurveyed {
        by: writer_of(env, dir).unwrap_or_default(),
        epoch: said.epoch,
        durable: said.lsn,
        last: said.last,
        is_heard: moved && has_directory && !said.is_closed,
        is_closed: said.is_closed,
        silent: since(said.wall_micros, now_micros),
    }
}

fn since(micros: i64, now_micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(now_micros.saturating_sub(micros)).unwrap_or(0))
}
