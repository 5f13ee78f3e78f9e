//! The words after `weft demo`: the main job, the history, or one side of the kill test.
//!
//! ```text
//!   demo --quick                  load ─ replay ─ report ─ verify
//!   demo history                  the board of each minute of the year, read again
//!   demo --kill-test 20           the parent, which starts and kills
//!   demo --kill-child 0:3:6:0     the child: which event each writer begins with
//! ```

use std::path::Path;

use weft::{Database, Options};

use super::plan::Plan;
use super::{history, kill, load, replay, report, verify};
use crate::directory;
use crate::subcommand::{Arguments, Failure};

/// Runs the demo, or one of its other forms: the history, the parent or the child of the kill test.
pub fn run(mut arguments: Arguments) -> Result<(), Failure> {
    let is_history = arguments.first_is("history");
    let at = if is_history { arguments.option("--at")? } else { None };
    let kills = arguments.number("--kill-test", 0)?;
    let child = arguments.option("--kill-child")?;
    let seed = arguments.number("--seed", u64::from(std::process::id()))?;
    let plan = Plan::new(&mut arguments)?;
    arguments.finish()?;
    if is_history && (kills > 0 || child.is_some()) {
        return Err(Failure::Usage("demo history has no kill test".to_owned()));
    }
    if let Some(starts) = child {
        return kill::run_child(&plan, &starts);
    }
    let dir = plan.dir.clone().unwrap_or_else(|| directory::temporary("demo"));
    if dir.join("CURRENT").exists() {
        return Err(Failure::Other(format!("{} holds a database already; name another directory", dir.display())));
    }
    let result = match kills {
        _ if is_history => history::run(&plan, &dir, at.as_deref()),
        0 => main_job(&plan, &dir),
        kills => kill::run_parent(&plan, &dir, kills, seed),
    };
    if plan.dir.is_none() {
        directory::remove(&dir);
    } else {
        println!("The database is in {0}; look at it with `weft {0}`.", dir.display());
    }
    result
}

fn main_job(plan: &Plan, dir: &Path) -> Result<(), Failure> {
    let options = Options { durability: plan.durability, ..Options::default() };
    let database = Database::open_with(dir, options)?;
    let flights = load::load(&database, plan)?;
    let replay = replay::run(&database, plan, &flights)?;
    report::print(&database, plan, &replay)?;
    let good = verify::run(&database, &flights, &replay)?;
    database.close()?;
    if good { Ok(()) } else { Err(Failure::Reported) }
}
