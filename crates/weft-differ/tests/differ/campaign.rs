//! Many seeds on several threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use weft_differ::case::Case;
use weft_differ::compare::{Answer, Verdict, compare};
use weft_differ::explained::{Explained, explanation};
use weft_differ::generate;
use weft_differ::open::{class, may_be_open};
use weft_differ::shrink::shrink;

use crate::postgres::{Connection, Postgres};
use crate::report::{Failure, Report};
use crate::weft_engines::{Way, Weft};

/// Statements of one seed, over one set of tables.
const STATEMENTS: usize = 100;
/// How often a case that differs is asked again to make it smaller.
const ATTEMPTS: usize = 600;

/// What is run.
pub(crate) struct Campaign {
    pub(crate) queries: usize,
    pub(crate) seed: u64,
    pub(crate) seconds: u64,
}

impl Campaign {
    pub(crate) fn run(&self, postgres: &Postgres) -> Report {
        let begun = Instant::now();
        let (next, report) = (AtomicUsize::new(0), Mutex::new(Report::default()));
        let threads = std::thread::available_parallelism().map_or(2, usize::from).min(8);
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (next, report) = (&next, &report);
                scope.spawn(move || {
                    let mut engines = Engines::new(postgres, &format!("thread{thread}"));
                    loop {
                        let done = next.fetch_add(1, Ordering::Relaxed);
                        if done * STATEMENTS >= self.queries || begun.elapsed().as_secs() >= self.seconds {
                            return;
                        }
                        let statements = STATEMENTS.min(self.queries - done * STATEMENTS);
                        engines.seed(self.seed + done as u64, statements, report);
                    }
                });
            }
        });
        let mut report = report.into_inner().unwrap();
        report.seconds = begun.elapsed().as_secs_f64();
        report.failures.sort_by_key(|failure| failure.place);
        report
    }
}

/// Both databases.
struct Engines {
    weft: Weft,
    postgres: Connection,
}

impl Engines {
    fn new(postgres: &Postgres, name: &str) -> Engines {
        Engines { weft: Weft::new(), postgres: postgres.connect(name, "") }
    }

    fn seed(&mut self, seed: u64, statements: usize, report: &Mutex<Report>) {
        let tables = generate::tables(seed);
        for number in 0..statements {
            let case = generate::case(seed, number, &tables);
            let expected = self.postgres.ask(&case);
            let ways = Weft::ways(&case);
            for way in ways {
                let found = self.weft.ask(&case, way);
                let verdict = compare(&case, &expected, &found);
                report.lock().unwrap().count(way, &verdict, &expected, (seed, number));
                let Verdict::Differs(what) = verdict else { continue };
                self.place(&case, way, what, (seed, number), report, explanation(&case, &expected, &found));
                break;
            }
        }
    }

    /// Counts a difference where it belongs: explained, open or new.
    fn place(
        &mut self,
        case: &Case,
        way: Way,
        what: String,
        place: (u64, usize),
        report: &Mutex<Report>,
        explained: Option<&'static Explained>,
    ) {
        if let Some(explained) = explained {
            return report.lock().unwrap().count_explained(explained.name);
        }
        // Only its smallest form says whether a difference is of an open class.
        let small = may_be_open(&what).then(|| self.small(case, way, what.clone(), place));
        if let Some(open) = small.as_ref().and_then(|small| class(&what, &small.statement)) {
            return report.lock().unwrap().count_open(open.name);
        }
        let is_shown = report.lock().unwrap().count_new(&what);
        if is_shown {
            let small = small.unwrap_or_else(|| self.small(case, way, what, place));
            report.lock().unwrap().failures.push(small);
        }
    }

    /// The case made small.
    fn small(&mut self, case: &Case, way: Way, what: String, place: (u64, usize)) -> Failure {
        let small = shrink(case, ATTEMPTS, &mut |case| {
            let expected = self.postgres.ask(case);
            let found = self.weft.ask(case, way);
            explanation(case, &expected, &found).is_none()
                && compare(case, &expected, &found) == Verdict::Differs(what.clone())
        });
        let (expected, found) = (self.postgres.ask(&small), self.weft.ask(&small, way));
        Failure { what, way, place, statement: small.statement.sql(), script: small.script(), expected, found }
    }
}

/// One statement with all answers.
pub(crate) fn show(postgres: &Postgres, seed: u64, number: usize) {
    let mut engines = Engines::new(postgres, "shown");
    let tables = generate::tables(seed);
    let case = generate::case(seed, number, &tables);
    println!("{}", case.script());
    let expected = engines.postgres.ask(&case);
    println!("PostgreSQL: {}", text(&expected));
    for way in Weft::ways(&case) {
        let found = engines.weft.ask(&case, way);
        println!("{way:?}: {:?}\n{}", compare(&case, &expected, &found), text(&found));
    }
}

/// An answer to be read.
pub(crate) fn text(answer: &Answer) -> String {
    let row = |row: &Vec<Option<String>>| {
        let values: Vec<&str> = row.iter().map(|value| value.as_deref().unwrap_or("-")).collect();
        format!("({})", values.join(", "))
    };
    match answer {
        Answer::Error { code, message } => format!("{code} {message}"),
        Answer::Rows { types, rows, tables } => {
            let mut text = format!("[{}] {} rows:", types.join(" "), rows.len());
            rows.iter().take(12).for_each(|r| text.push_str(&format!(" {}", row(r))));
            for table in tables {
                text.push_str(&format!("\n    table of {}:", table.len()));
                table.iter().take(12).for_each(|r| text.push_str(&format!(" {}", row(r))));
            }
            text
        }
    }
}
