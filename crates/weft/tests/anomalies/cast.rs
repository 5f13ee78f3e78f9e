//! The sessions of a script, each on a thread of its own, and who of them waits for a lock.
//!
//! ```text
//!   send(b, "update ...") ──▶ thread b ──▶ answers                                 UPDATE 1
//!                                      └─▶ the lock table has one waiter more      waits
//! ```
//!
//! 1. A step is over when every session has answered or waits in the lock table, and no circle of waits is left for the
//!    engine to find: no clock decides what the transcript says.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use weft::{Database, Outcome, Session, Tag, value_text};
use weft_kernel::Engine;
use weft_kernel::lock::LockState;

/// How often the lock table is looked at.
const LOOK: Duration = Duration::from_millis(2);
/// How many looks in a row must show that all wait.
const LOOKS: u32 = 15;
/// A session that neither answers nor waits for so long hangs.
const HANGS: Duration = Duration::from_secs(60);

/// The sessions.
pub(crate) struct Cast {
    database: Database,
    engine: Arc<Engine>,
    /// What each session runs first.
    prologue: String,
    members: BTreeMap<char, Member>,
    answers: (Sender<Answer>, Receiver<Answer>),
    /// Sessions without an answer to their last step.
    busy: BTreeSet<char>,
    /// Whose transactions were seen waiting.
    parties: HashMap<u64, char>,
}

struct Member {
    steps: Sender<String>,
    thread: JoinHandle<()>,
}

struct Answer {
    session: char,
    lines: Vec<String>,
}

impl Cast {
    /// No session yet; each runs `prologue` before its first step.
    pub(crate) fn new(database: &Database, prologue: &str) -> Result<Cast, String> {
        let session = database.session().map_err(|error| error.to_string())?;
        Ok(Cast {
            database: database.clone(),
            engine: Arc::clone(session.database().kernel()),
            prologue: prologue.to_owned(),
            members: BTreeMap::new(),
            answers: channel(),
            busy: BTreeSet::new(),
            parties: HashMap::new(),
        })
    }

    /// Gives a statement to a session; the lines of everything that came of it.
    pub(crate) fn send(&mut self, session: char, sql: &str) -> Result<Vec<String>, String> {
        if self.busy.contains(&session) {
            return Ok(vec![format!("not sent: {session} still waits")]);
        }
        if !self.members.contains_key(&session) {
            let member = self.member(session)?;
            self.members.insert(session, member);
        }
        self.busy.insert(session);
        self.members[&session].steps.send(sql.to_owned()).map_err(|_| format!("the thread of {session} is gone"))?;
        let answers = self.settle()?;
        let mut lines = Vec::new();
        if self.busy.contains(&session) {
            lines.push("waits".to_owned());
        }
        Ok(self.report(session, answers, lines))
    }

    /// Waits until a session has answered, for a reason of its own such as a timeout.
    pub(crate) fn answer_of(&mut self, session: char) -> Result<Vec<String>, String> {
        let mut answers = Vec::new();
        if self.busy.contains(&session) {
            let answer = self.answers.1.recv_timeout(HANGS).map_err(|_| format!("{session} does not answer"))?;
            self.busy.remove(&answer.session);
            answers.push(answer);
            answers.extend(self.settle()?);
        }
        Ok(self.report(session, answers, Vec::new()))
    }

    /// Rolls back what is open, and ends the sessions.
    pub(crate) fn leave(mut self) -> Result<(), String> {
        let mut left: BTreeSet<char> = self.members.keys().copied().collect();
        while !left.is_empty() {
            let Some(&idle) = left.iter().find(|session| !self.busy.contains(session)) else {
                return Err(format!("at the end {:?} wait for each other", self.busy));
            };
            left.remove(&idle);
            self.send(idle, "rollback")?;
        }
        for (session, member) in std::mem::take(&mut self.members) {
            drop(member.steps);
            member.thread.join().map_err(|_| format!("the thread of {session} panicked"))?;
        }
        Ok(())
    }

    fn member(&self, session: char) -> Result<Member, String> {
        let mut connection = self.database.session().map_err(|error| error.to_string())?;
        connection.execute(&self.prologue).map_err(|error| error.to_string())?;
        let (steps, statements) = channel::<String>();
        let answers = self.answers.0.clone();
        let work = move || {
            for sql in statements {
                let lines = play(&mut connection, &sql);
                if answers.send(Answer { session, lines }).is_err() {
                    break;
                }
            }
        };
        let thread = std::thread::Builder::new().name(format!("session {session}")).spawn(work).unwrap();
        Ok(Member { steps, thread })
    }

    /// Waits until every busy session has answered or waits for a lock (cast 1).
    fn settle(&mut self) -> Result<Vec<Answer>, String> {
        let (mut answers, mut looks, start) = (Vec::new(), 0, Instant::now());
        while !self.busy.is_empty() && looks < LOOKS {
            if let Ok(answer) = self.answers.1.recv_timeout(LOOK) {
                self.busy.remove(&answer.session);
                answers.push(answer);
                looks = 0;
                continue;
            }
            let locks = self.engine.locks();
            let waiting = waiters(&locks);
            looks = if waiting.len() == self.busy.len() && !has_circle(&locks) { looks + 1 } else { 0 };
            self.learn(&waiting);
            if start.elapsed() > HANGS {
                return Err(format!("{:?} neither answer nor wait for a lock; locks: {locks:?}", self.busy));
            }
        }
        Ok(answers)
    }

    /// Who waits for the first time is the session that just began to.
    fn learn(&mut self, waiting: &BTreeSet<u64>) {
        let known: BTreeSet<char> = waiting.iter().filter_map(|txn| self.parties.get(txn)).copied().collect();
        let strangers: Vec<u64> = waiting.iter().copied().filter(|txn| !self.parties.contains_key(txn)).collect();
        let unknown: Vec<char> = self.busy.difference(&known).copied().collect();
        if let ([stranger], [session]) = (&strangers[..], &unknown[..]) {
            self.parties.insert(*stranger, *session);
        }
    }

    /// The lines of answers: those of the session whose step it is first, those of others with their names.
    fn report(&self, own: char, mut answers: Vec<Answer>, mut lines: Vec<String>) -> Vec<String> {
        answers.sort_by_key(|answer| (answer.session != own, answer.session));
        for answer in answers {
            let prefix = if answer.session == own { String::new() } else { format!("{}: ", answer.session) };
            let named = answer.lines.iter().map(|line| name_parties(line, answer.session, &self.parties));
            lines.extend(named.map(|line| format!("{prefix}{line}")));
        }
        lines
    }
}

fn waiters(locks: &[LockState]) -> BTreeSet<u64> {
    locks.iter().flat_map(|lock| &lock.waiters).map(|(txn, _)| txn.0).collect()
}

/// Whether transactions wait for each other in a circle.
fn has_circle(locks: &[LockState]) -> bool {
    let mut blockers: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for lock in locks {
        for (place, (txn, mode)) in lock.waiters.iter().enumerate() {
            let ahead = lock.holders.iter().chain(&lock.waiters[..place]);
            let in_the_way = ahead.filter(|(other, held)| other != txn && !held.compatible(*mode));
            blockers.entry(txn.0).or_default().extend(in_the_way.map(|(other, _)| other.0));
        }
    }
    // Who waits for nobody that waits is taken out until nothing changes; a circle stays.
    loop {
        let before = blockers.len();
        let waiting: BTreeSet<u64> = blockers.keys().copied().collect();
        blockers.retain(|_, blockers| !blockers.is_disjoint(&waiting));
        if blockers.len() == before {
            return before > 0;
        }
    }
}

fn play(session: &mut Session, sql: &str) -> Vec<String> {
    match session.execute(sql) {
        Ok(outcomes) => outcomes.iter().flat_map(|outcome| show(outcome, sql)).collect(),
        Err(error) => vec![format!("error {}: {}", error.sqlstate(), error.message())],
    }
}

/// Rows, then the tag where it says more than the statement.
fn show(outcome: &Outcome, sql: &str) -> Vec<String> {
    let text = |(value, column): (&weft::Value, &weft::OutputColumn)| {
        value_text(value, column.data_type).unwrap_or_else(|| "NULL".into())
    };
    let row =
        |values: Vec<weft::Value>| values.iter().zip(outcome.columns.iter()).map(text).collect::<Vec<_>>().join(" | ");
    let mut lines: Vec<String> = outcome.rows.iter().map(row).collect();
    match outcome.tag {
        Tag::Select(0) => lines.push("(0 rows)".into()),
        Tag::Select(_) => {}
        Tag::Done(words) if sql.to_uppercase().starts_with(words) => {}
        tag => lines.push(tag.to_string()),
    }
    lines
}

/// `transaction 7` as `transaction a`; a number that nobody was seen waiting with is the session's own.
fn name_parties(line: &str, own: char, parties: &HashMap<u64, char>) -> String {
    let mut pieces = line.split("transaction ");
    let mut named = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digits = piece.len() - piece.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
        named.push_str("transaction ");
        match piece[..digits].parse::<u64>() {
            Ok(txn) => named.push(*parties.get(&txn).unwrap_or(&own)),
            Err(_) => named.push_str(&piece[..digits]),
        }
        named.push_str(&piece[digits..]);
    }
    named
}
