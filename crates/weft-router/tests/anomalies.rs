//! The anomalies of `tests/anomalies`, each at every isolation level, by clients of the router: they see what the
//! writer's clients see, whether reads are on nodes or not.
//!
//! The files are those of weft's own test, which runs them in one process; what they say of a step is compared, but for
//! the numbers and names of transactions. `WEFT_ANOMALY=word` runs the files whose names hold the word.
//!
//! 1. A step is over when every session has answered or waits for a lock, and has waited for so long that a circle of
//!    waits would have been found.
//! 2. `own writes` promises nothing of what others have committed; there a step is over when the nodes show that.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    unreachable_pub,
    reason = "a test starts programs, and gives each session a thread"
)]

#[path = "../../weft/tests/anomalies/script.rs"]
mod script;
mod servers;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use script::{LEVELS, Script, Step};
use servers::{Company, ask, target};
use weft_wire::client::{Client, ResultSet, Target};

/// So many scripts run at a time.
const SIDE_BY_SIDE: usize = 6;
/// How often is looked who waits, and for how long all must.
const LOOK: Duration = Duration::from_millis(20);
const WAITS: Duration = Duration::from_millis(160);
/// A session that neither answers nor waits for so long hangs.
const HANGS: Duration = Duration::from_secs(60);

#[test]
fn clients_of_the_router_see_what_the_files_say() {
    let Some(company) = Company::start(|options| options.tell = true) else { return };
    let only = std::env::var("WEFT_ANOMALY").unwrap_or_default();
    let files: Vec<PathBuf> = files().into_iter().filter(|path| path.to_string_lossy().contains(&only)).collect();
    let tasks: Vec<(&PathBuf, &str)> =
        files.iter().flat_map(|path| ["latest", "own writes"].map(|freshness| (path, freshness))).collect();
    let (next, wrong, on_nodes) = (AtomicUsize::new(0), Mutex::new(Vec::new()), AtomicUsize::new(0));
    let work = || {
        while let Some((path, freshness)) = tasks.get(next.fetch_add(1, Ordering::SeqCst)) {
            let name = format!("{} with freshness {freshness}", path.file_stem().unwrap().to_string_lossy());
            match compare(&company, path, freshness, &on_nodes) {
                Ok(()) => {}
                Err(problem) => wrong.lock().unwrap().push(format!("{name}: {problem}")),
            }
        }
    };
    std::thread::scope(|scope| (0..SIDE_BY_SIDE).for_each(|_| drop(scope.spawn(work))));
    let (wrong, on_nodes) = (wrong.into_inner().unwrap(), on_nodes.into_inner());
    println!("{} scripts at {} levels; {on_nodes} statements ran on nodes", tasks.len(), LEVELS.len());
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(on_nodes > tasks.len() || !only.is_empty(), "many reads are on nodes");
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/anomalies");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|it| it == "txt")).collect();
    files.sort();
    assert!(files.len() > 20, "there are only {} files", files.len());
    files
}

/// Runs a file at all levels and compares what came of it with what it says.
fn compare(company: &Company, path: &Path, freshness: &str, on_nodes: &AtomicUsize) -> Result<(), String> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut script = Script::parse(&text)?;
    for level in LEVELS {
        let outcomes = run(company, &script, level, freshness, on_nodes).map_err(|it| format!("{level}: {it}"))?;
        script.set_transcript(level, outcomes);
    }
    let rendered = script.render();
    let (expected, found) = (by_level(&text), by_level(&rendered));
    for level in LEVELS {
        let (expected, found) = (&expected[level], &found[level]);
        let at = expected.iter().zip(found).take_while(|(a, b)| a == b).count();
        if at < expected.len().max(found.len()) {
            let (before, after) = (expected.get(at), found.get(at));
            let step = at.checked_sub(1).and_then(|at| expected.get(at));
            return Err(format!("at {level}, behind {step:?}\n  - {before:?}\n  + {after:?}"));
        }
    }
    Ok(())
}

/// The transcripts of a file, whichever levels share one.
fn by_level(text: &str) -> BTreeMap<&str, Vec<String>> {
    let sections = text.split("\n----").skip(1).map(|section| section.split_once('\n').unwrap_or((section, "")));
    sections.flat_map(|(levels, body)| levels.split(',').map(move |level| (level.trim(), plain(body)))).collect()
}

/// What is compared of a file: comments, what PostgreSQL does, and which transaction it was, are left out.
fn plain(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim_start().starts_with("PostgreSQL:"));
    lines.map(anonymous).collect()
}

/// A line without the numbers and names of transactions.
fn anonymous(line: &str) -> String {
    let mut pieces = line.split("transaction ");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let name = piece.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(piece.len());
        let is_name = name <= 1 || piece[..name].bytes().all(|byte| byte.is_ascii_digit());
        plain.push_str("transaction ");
        plain.push_str(if is_name { &piece[name..] } else { piece });
    }
    plain
}

/// Runs the steps at a level in a schema of their own; gives the lines that each step printed.
fn run(
    company: &Company,
    script: &Script,
    level: &str,
    freshness: &str,
    on_nodes: &AtomicUsize,
) -> Result<Vec<Vec<String>>, String> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let schema = format!("s{}", NUMBER.fetch_add(1, Ordering::SeqCst));
    let told = |error: weft_wire::client::ClientError| error.to_string();
    let mut first = company.connect();
    first.query(&format!("CREATE SCHEMA {schema}; SET search_path = {schema}")).map_err(told)?;
    for sql in &script.setup {
        first.query(sql).map_err(|error| format!("{sql}: {error}"))?;
    }
    let prologue = format!(
        "SET search_path = {schema}; SET freshness = '{freshness}'; SET default_transaction_isolation = '{level}'"
    );
    let looks = Client::connect(&target(company.options.writer.port)).map_err(told)?;
    let nodes = match freshness {
        "latest" => Vec::new(),
        _ => company.options.nodes.iter().map(|node| company.direct(node.port)).collect(),
    };
    let mut cast = Cast {
        target: company.target(),
        looks,
        nodes,
        prologue,
        schema,
        members: BTreeMap::new(),
        answers: channel(),
        busy: BTreeSet::new(),
    };
    let mut outcomes = Vec::new();
    for step in &script.steps {
        outcomes.push(match step {
            Step::Send { session, sql } => cast.send(*session, sql)?,
            Step::Await { session } => cast.answer_of(*session)?,
        });
    }
    on_nodes.fetch_add(cast.leave()?, Ordering::SeqCst);
    Ok(outcomes)
}

/// The sessions of a script.
struct Cast {
    target: Target,
    /// Looks who waits.
    looks: Client,
    /// Those that must show what the writer does when a step is over.
    nodes: Vec<Client>,
    prologue: String,
    /// Part of the sessions' application names.
    schema: String,
    members: BTreeMap<char, Member>,
    answers: (Sender<Answer>, Receiver<Answer>),
    /// Sessions without an answer to their last step.
    busy: BTreeSet<char>,
}

struct Member {
    steps: Sender<String>,
    thread: JoinHandle<usize>,
}

struct Answer {
    session: char,
    lines: Vec<String>,
}

impl Cast {
    fn send(&mut self, session: char, sql: &str) -> Result<Vec<String>, String> {
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
        let waits = if self.busy.contains(&session) { vec!["waits".to_owned()] } else { Vec::new() };
        Ok(report(session, answers, waits))
    }

    fn answer_of(&mut self, session: char) -> Result<Vec<String>, String> {
        let mut answers = Vec::new();
        if self.busy.contains(&session) {
            let answer = self.answers.1.recv_timeout(HANGS).map_err(|_| format!("{session} does not answer"))?;
            self.busy.remove(&answer.session);
            answers.push(answer);
            answers.extend(self.settle()?);
        }
        Ok(report(session, answers, Vec::new()))
    }

    /// Rolls back what is open, and ends the sessions; how many statements ran on nodes.
    fn leave(mut self) -> Result<usize, String> {
        let mut left: BTreeSet<char> = self.members.keys().copied().collect();
        while !left.is_empty() {
            let Some(&idle) = left.iter().find(|session| !self.busy.contains(session)) else {
                return Err(format!("at the end {:?} wait for each other", self.busy));
            };
            left.remove(&idle);
            self.send(idle, "rollback")?;
        }
        let mut on_nodes = 0;
        for (session, member) in std::mem::take(&mut self.members) {
            drop(member.steps);
            on_nodes += member.thread.join().map_err(|_| format!("the thread of {session} panicked"))?;
        }
        Ok(on_nodes)
    }

    fn member(&self, session: char) -> Result<Member, String> {
        let mut client = Client::connect(&self.target).map_err(|error| error.to_string())?;
        let prologue = format!("{}; SET application_name = '{} {session}'", self.prologue, self.schema);
        client.query(&prologue).map_err(|error| error.to_string())?;
        let (steps, statements) = channel::<String>();
        let answers = self.answers.0.clone();
        let work = move || {
            let mut on_nodes = 0;
            for sql in statements {
                let lines = play(&mut client, &sql);
                on_nodes += client.take_notices().iter().filter(|it| it.message().contains("the node")).count();
                if answers.send(Answer { session, lines }).is_err() {
                    break;
                }
            }
            on_nodes
        };
        let thread = std::thread::Builder::new().name(format!("session {session}")).spawn(work).unwrap();
        Ok(Member { steps, thread })
    }

    /// Waits until every busy session has answered or waits for a lock (anomalies 1).
    fn settle(&mut self) -> Result<Vec<Answer>, String> {
        let (mut answers, start) = (Vec::new(), Instant::now());
        let mut since: Option<Instant> = None;
        while !self.busy.is_empty() && since.is_none_or(|since| since.elapsed() < WAITS) {
            if let Ok(answer) = self.answers.1.recv_timeout(LOOK) {
                self.busy.remove(&answer.session);
                answers.push(answer);
                since = None;
                continue;
            }
            let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name";
            let looked = self.looks.query(&format!("{waiting} LIKE '{} _'", self.schema));
            let looked = looked.map_err(|error| error.to_string())?;
            let count = looked[0].rows[0][0].as_deref().and_then(|count| count.parse::<usize>().ok());
            since = if count == Some(self.busy.len()) { since.or(Some(Instant::now())) } else { None };
            if start.elapsed() > HANGS {
                return Err(format!("{:?} neither answer nor wait for a lock", self.busy));
            }
        }
        if !self.nodes.is_empty() {
            let shown = ask(&mut self.looks, "SELECT weft_published_commit()");
            for node in &mut self.nodes {
                node.query(&format!("SET freshness_token = '{shown}'; SELECT 1")).map_err(|error| error.to_string())?;
            }
        }
        Ok(answers)
    }
}

/// The lines of answers: those of the session whose step it is first, those of others with their names.
fn report(own: char, mut answers: Vec<Answer>, mut lines: Vec<String>) -> Vec<String> {
    answers.sort_by_key(|answer| (answer.session != own, answer.session));
    for answer in answers {
        let prefix = if answer.session == own { String::new() } else { format!("{}: ", answer.session) };
        lines.extend(answer.lines.iter().map(|line| format!("{prefix}{line}")));
    }
    lines
}

fn play(client: &mut Client, sql: &str) -> Vec<String> {
    match client.query(sql) {
        Ok(results) => results.iter().flat_map(|result| show(result, sql)).collect(),
        Err(error) => vec![anonymous(&format!("error {}: {}", error.sqlstate(), error.message()))],
    }
}

/// Rows, then the tag where it says more than the statement.
fn show(result: &ResultSet, sql: &str) -> Vec<String> {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "NULL".into());
    let row = |values: &Vec<Option<String>>| values.iter().map(text).collect::<Vec<_>>().join(" | ");
    let mut lines: Vec<String> = result.rows.iter().map(row).collect();
    match result.tag.as_str() {
        "SELECT 0" => lines.push("(0 rows)".into()),
        tag if tag.starts_with("SELECT ") || sql.to_uppercase().starts_with(tag) => {}
        tag => lines.push(tag.to_owned()),
    }
    lines
}
