//! The isolation checker: from what clients did and saw to the anomalies that their levels forbid.
//!
//! ```text
//!   T0 serializable   l5=[] l6=[]  l5+31   committed          T0 -rw(l6: 41 not seen)-> T1
//!   T1 serializable   l5=[] l6=[]  l6+41   committed    ──▶   T1 -rw(l5: 31 not seen)-> T0
//!   T2 serializable   l5=[31]  l6=[41]     committed          G2-item: forbidden (at REPEATABLE READ: permitted)
//!
//!   clients ─ recorder ─▶ history ─ facts ─ versions ─ reads ─┬─ realtime ──┐
//!   workload ┘            (codec)   who     the order  what   └─ graph ─────┴─ cycles (components) ─▶ report
//!   reference (store): a database to check the checker with, correct or broken; script: histories as text
//! ```
//!
//! Clients append unique elements to lists and write unique values to registers, at any level, with crashes and
//! restarts between. A list shows the order of all that was appended to it, so one read tells the versions of a list
//! and who wrote them; registers are ordered by the commits' timestamps, or by who read what before writing. From the
//! versions follow the dependencies (ww, wr, rw), from cycles among these the anomalies of Adya's thesis.
//!
//! ```
//! use weft_sim::checker::{Kind, Rules, check, parse};
//!
//! let skew = "T1 begin rr\nT1 l5=[]\nT1 l6=[]\nT2 begin rr\nT2 l5=[]\nT2 l6=[]\n\
//!             T1 l5+31\nT2 l6+41\nT1 commit\nT2 commit\n\
//!             T3 begin rr\nT3 l5=[31]\nT3 l6=[41]\nT3 commit";
//! let report = check(&parse(skew).unwrap(), Rules::default()).unwrap();
//! assert!(report.is_clean());
//! assert_eq!(report.permitted[0].kind, Kind::G2Item);
//! let report = check(&parse(&skew.replace("rr", "ser")).unwrap(), Rules::default()).unwrap();
//! assert_eq!(report.forbidden[0].kind, Kind::G2Item);
//! ```
//!
//! 1. Nothing is reported of a history that a correct database can produce, whatever the outcome of unknown
//!    transactions: an order is only used where a read, a timestamp or the client's own order proves it.
//! 2. With a last transaction that reads everything, and timestamps where registers are written blindly, all orders are
//!    known, and each forbidden cycle is found: the verdict is exact (tests compare with all serial orders).
//! 3. Reads of transactions that did not commit do not count: they promise nothing.
//!
//! Which cycles count among transactions of mixed levels: see [`forbidden`] and [`Mixing`]. A million transactions take
//! a few seconds and some hundred MB.
//!
//! Source: Adya, Weak Consistency (MIT 1999); Kingsbury and Alvaro, Elle (VLDB 2020), from which we differ in using
//! commit timestamps where they are told, and in deciding snapshot isolation exactly (Cerone and Gotsman, PODC 2016) by
//! one search over a doubled graph.

mod anomaly;
mod codec;
mod components;
mod cycles;
mod facts;
mod graph;
mod history;
mod op;
mod reads;
mod realtime;
mod recorder;
mod reference;
mod script;
mod store;
mod verdict;
mod versions;
mod workload;

#[cfg(test)]
mod tests;

pub use anomaly::{Anomaly, Kind, Mixing, Report, Rules, forbidden};
pub use history::{History, Level, Op, Status, Transaction};
pub use recorder::{Recorder, Savepoint, Sequence};
pub use reference::{Flaw, Reference};
pub use script::parse;
pub use verdict::check;
pub use workload::{COLD, Generator, Step, Workload};
